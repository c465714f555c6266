# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix A: what six digits tell
#
# $$\Large 0.194617$$
#
# You read a paper, and a figure shows points on a straight line. Some of them lie a little off it. Is that the law, or too short a text? For this you need to know how many tokens stand behind each point, and the paper does not print it.
#
# All you have is a number such as the one above, from a file of the paper's authors. Pythia-14M, the smallest model of the study, read a text called HotpotQA. Before each token (a word or a piece of a word) it lined up all tokens it knows, the most probable first. The true token's place in this queue is its *rank*. The number is $\mathrm{RBP}_1$, the share of tokens with rank 1; $\mathrm{RBP}_k$ is the share with a rank of at most $k$ ([notebook 00](00_quickstart.ipynb)). How many tokens were counted? The paper only gives a lower bound:
#
# > **The paper.** "Each data point is obtained by averaging over at least $5 \cdot 10^5$ tokens to ensure statistical stability." (Appendix A)
#
# ## From tokens to Table 1
#
# *[What this notebook draws](../notebooks/rbpkit_notebooks/notebook_01.py).*
#
# Four steps lead from a text to the paper's Table 1. The second gives a *data point*:

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured; []: all
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]  # []: all
records_dir = ""  # a folder of records of your own; empty: the pocket models
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd

from rbpkit import fit_power_law, paper
from rbpkit.check import check_parameters
from rbpkit.corpora import HUB_CORPORA
from rbpkit.curves import published_curves
from rbpkit_notebooks import notebook_01 as draw
from rbpkit_notebooks.claims import Verdicts, span

check_parameters(globals())
study = draw.read_study(records_dir, families, corpus_names)

# %%
published = published_curves(1)  # (text, family) -> the points of the paper's Figure 3
hotpot = published["HotpotQA", "Pythia"]
law = fit_power_law(hotpot.S, hotpot.loss)
print(f"14M: {hotpot.value[0]:.6f}; the ten Pythias: slope {law.slope:.3f}, R2 {law.r2:.3f}")
draw.to_table_1(hotpot, law, figures_dir)

# %% [markdown]
# *Size $S$ counts a model's parameters without its embeddings. The seven measures are cross-entropy and $-\log \mathrm{RBP}_k$ at six $k$. [Notebook 03](03_section_4_1_k1.ipynb) explains slopes and $R^2$.*
#
# Everything in Table 1 rests on step 1. The authors' program takes 1,000 documents of a text (HumanEval has only 164). It cuts each into tokens with the model's own tokenizer and keeps the first 512 tokens. The first token has nothing before it, so of a full document 511 tokens get a rank.
#
# **Exercise 1.** The pocket models, our own small ones, keep only 256 tokens of a document. How many ranks can 1,000 documents give at most?
#
# <details><summary>Hint</summary>What happens to the first token of each document?</details>

# %%
answer_1 = None  # a number of ranks
draw.check(1, answer_1)

# %% [markdown]
# **Guess first.** A document of HotpotQA is a question with its answer, and there are 1,000 of them. How many tokens did Pythia-14M rank: 25,000, 250,000 or 500,000?
#
# ## A share betrays its count
#
# A teacher says: "0.714 of my pupils passed." How many pupils are there? The number who passed is whole, and so is the number of pupils. Few pairs of whole numbers give 0.714.

# %%
draw.pupils(0.714, figures_dir)

# %% [markdown]
# *A mark is a share that a class of that size can give. (14 pupils can give 0.714 too.)*
#
# **Exercise 2.** Two shares of one class are 0.4615 and 0.7692, rounded to four digits. How many pupils does it have at least?
#
# <details><summary>Hint</summary>For 2, 3, 4 and more pupils: multiply, round to a whole number of pupils, divide again.</details>

# %%
answer_2 = None  # a number of pupils
draw.check(2, answer_2)

# %% [markdown]
# ## The sieve
#
# Let $T$ be the number of tokens. A *hit* is a token with a rank of at most $k$, so $\mathrm{RBP}_k = c/T$ for a whole number of hits $c$. The authors stored it with six digits. So $T$ fits only if some $c/T$ is at most half a millionth away from the published value. All Pythias share one tokenizer, so they share one $T$, and every published value must fit it.
#
# `paper` holds the published numbers. We take its two tables with one row for each model, text and $k$. `sieve` starts with every $T$ that 1,000 documents allow. Each published value then removes the counts that do not fit it.

# %%
values = pd.concat([paper.table("rbp_by_size"), paper.table("rbp_by_k")])
shares_of = values.groupby(["dataset", "family"])["rbp"].unique()

# %%
HALF_A_DIGIT = 0.5000001e-6  # and a little for the computer's own rounding


def sieve(shares):
    """The counts that can give all of these shares, and how many were left after each."""
    T = np.arange(1, 1000 * 511 + 1)
    left = [len(T)]
    for RBP in shares:
        c = np.rint(RBP * T)  # the nearest whole number of hits
        off = abs(RBP - c / T)
        T = T[off < HALF_A_DIGIT]
        left.append(len(T))
    return T, left


# %%
T, left = sieve(shares_of["HotpotQA", "Pythia"])
print("left after 1, 2, 3 values:", left[1:4])
is_multiple = T % T[0] == 0  # T[0] is the smallest
print(f"{len(T)} left: {is_multiple.sum()} are multiples of {T[0]:,}; also {T[~is_multiple]}")
draw.sieve(left, figures_dir)

# %% [markdown]
# *Pythia on HotpotQA.*
#
# Which of the 21 is it? A multiple of a possible count always fits too: 10 of 14 is the same share as 5 of 7. But suppose that the true count were twice 24,782. Then 24,782 could fit only if all 86 numbers of hits were even. That does not happen by chance, so we rule out the multiples. One more count is left, 504,360. It is 1,000,000 less the twentieth multiple, and it fits only because that multiple fits (exercise 3). So we rule it out too.
#
# So each point rests on 24,782 tokens, about 25 for each question.

# %%
counts = {}
for cell in shares_of.index:
    counts[cell], _ = sieve(shares_of[cell])

# `paper` has what we concluded: one count, and the other one if two fit
known = paper.table("token_counts").set_index(["dataset", "family"])
for cell, T in counts.items():
    assert set(known.loc[cell].dropna()) <= set(T)

# %%
largest = known.max(axis=1)  # in the paper's favour
enough = largest >= 500_000
where = enough[enough].index.unique("dataset").to_list()
print(f"{enough.sum()} of {len(enough)} counts can be half a million, all on {where}")
draw.counts(known["tokens"], figures_dir)

# %% [markdown]
# *On AusLegal two counts fit for each family; the larger is drawn.*
#
# **HotpotQA's points rest on a twentieth of half a million tokens. Of the four texts only AusLegal can reach that number.** On HumanEval, a small and free text, we can check this. A test (`tests/test_corpora.py`) cuts it with the real tokenizers, and gets exactly the counts that the digits gave: 42,400 for GPT-2 and 33,233 for Pythia.
#
# With so few tokens, the points are noisier than the paper says. The noise is largest at large $k$, because few tokens have a rank above it. [Notebook 04](04_section_4_2_moderate_k.ipynb) measures it.
#
# On AusLegal the digits alone do not decide:
#
# family | counts that fit | the true one
# ---|---|---
# GPT-2 | 498,514 or 501,486 | **501,486**
# OPT | 499,464 or 500,536 | **500,536**
# Pythia | 499,125 or 500,875 | open
# Qwen | 499,447 or 500,553 | open
#
# OPT cuts text as GPT-2 does, but begins each document with a start sign, which takes one of the 512 places. So OPT has fewer tokens than GPT-2, by at most one per document. Of the four ways to pair a count of GPT-2 with one of OPT, only 501,486 and 500,536 differ like this.
#
# **Exercise 3**, to discuss. On AusLegal the two counts of each family add up to 1,000,000. Why? (The answer is in `docs/solutions/01_appendix_A_setup.md`.)
#
# <details><summary>Hint</summary>The stored values are whole multiples of one millionth. Compare c/T with (1,000,000 r - c)/(1,000,000 - T) for a stored value r.</details>
#
# ## Further questions
#
# <details><summary>What does S count, and why is it 1.2 million for a model called 14M?</summary>
#
# The layers, without the tables that read and write tokens. With $L$ layers of width $d$, GPT-2, Pythia and most OPT models have $S = L\,(12 d^2 + 13 d) + 2 d$. (Each layer has $4d^2 + 4d$ parameters in the attention, $8d^2 + 5d$ in the MLP and $4d$ in two normalisations; the last $2d$ are one more normalisation.) Pythia-14M has two tables of 6.4 million parameters each. That the paper's $S$ leaves them out can be checked: a line through the sizes without them has the slope of Table 1, and a line through the sizes with them has not.
#
# </details>

# %%
L, d = 6, 128  # of Pythia-14M
print(f"layers: {L * (12 * d**2 + 13 * d) + 2 * d:,}; each of two tables: {50_304 * d:,}")

# %%
printed = paper.table("table1").query("k == '1'").set_index(["dataset", "family"])["slope"]
in_tables = paper.table("models").set_index("model")["embedding_params"]
off_without, off_with = [], []
for cell, curve in published.items():
    tables = in_tables[list(curve.models)].to_numpy()
    without = fit_power_law(curve.S, curve.loss).slope
    with_tables = fit_power_law(curve.S + tables, curve.loss).slope
    off_without.append(abs(without - printed[cell]))
    off_with.append(abs(with_tables - printed[cell]))
print(f"off the printed slope: without them at most {max(off_without):.4f}")
print(f"with them at least {min(off_with):.3f}")

# %% [markdown]
# <details><summary>Which models are there, and how far do their sizes reach?</summary>
#
# Four families with 24 models, over four decades (factors of ten) of $S$. Only Pythia has four decades by itself; the others have less than two.
#
# </details>

# %%
S_of = paper.table("models").groupby("family")["S"]
print("decades of S:", np.log10(S_of.max() / S_of.min()).round(2).to_dict())
draw.sizes(study, figures_dir)

# %% [markdown]
# <details><summary>Which texts, and how were they prepared?</summary>
#
# The figures show the first four of these six; C4 and Github are in Table 1 only. Documents are shuffled with seed 42 (C4 comes in its own order) and the first 1,000 are taken. Of Github the program takes documents of more than 512 characters.
#
# </details>

# %%
texts = pd.DataFrame([vars(hub) for hub in HUB_CORPORA.values()], index=list(HUB_CORPORA))
texts[["path", "split", "fields"]]

# %% [markdown]
# ## What to keep
#
# A share that is printed with six digits tells how many tokens were counted. At least twelve of the 16 counts are below half a million, those of HotpotQA by a factor of twenty. How far does so short a text move the points off their lines? [Notebook 04](04_section_4_2_moderate_k.ipynb) asks that. The counts of C4 and Github stay unknown, since the paper prints only their slopes, and the sieve assumes one count for all models of a family.
#
# ## The paper says, we get

# %%
verdicts = Verdicts("01", records_dir, figures_dir)


def decades(values):
    return np.log10(max(values) / min(values))


models = paper.table("models")
all_parameters = models["S"] + models["embedding_params"]
own = study.models()["S"]
verdicts.add(
    "01.1",
    holds=decades(models["S"]) > 4,
    published=f"{decades(models['S']):.2f} decades of S",
    measured=f"{decades(own):.1f} decades" if len(own) else "not measured",
    turns_if={"embeddings are counted": decades(all_parameters) > 4},
)

# %%
ROUNDING = 0.0006  # slopes are printed with three decimals
verdicts.add(
    "01.2",
    holds=max(off_without) < ROUNDING,
    count=sum(np.array(off_without) < ROUNDING),
    of=len(off_without),
    published="slopes agree within rounding",
    turns_if={"embeddings are counted": min(off_with) > ROUNDING},
)

# %%
smaller = known.min(axis=1) >= 500_000
tokens = [summary.manifest.tokens for summary in study.shown()]
verdicts.add(
    "01.3",
    holds=enough.all(),
    count=enough.sum(),
    of=len(enough),
    published=f"{largest.min():,} to {largest.max():,} tokens",
    measured=span(tokens, ","),
    turns_if={"the smaller of two counts is taken": smaller.all()},
)

# %%
every_k = pd.concat(
    [paper.table("rbp_by_size")["k"], paper.table("fit_by_k")["k"].dropna()]
).astype(int)
lowest, highest = np.log10([min(models["S"]), max(models["S"])]).astype(int)
powers_of_S = highest - lowest + 1  # 10^6, 10^7, ..., 10^10
verdicts.add(
    "01.4",
    holds=min(decades(models["S"]), decades(every_k)) >= 5,
    published=f"{decades(models['S']):.2f} decades of S, {decades(every_k):.2f} of k",
    turns_if={"powers of ten from the least to the largest are counted": powers_of_S >= 5},
)

# %%
V = models["vocab_rows"]
above_7B = models["model"].map(paper.FOOTNOTE_V_ABOVE_7B)
footnote = above_7B.fillna(models["family"].map(paper.FOOTNOTE_V))
exact = footnote == V
of_family = exact.groupby(models["family"]).all()
near = abs(footnote / V - 1) < 0.01
verdicts.add(
    "01.5",
    holds=exact.all(),
    part=of_family["OPT"] and of_family["GPT2"],  # two of the three families that it names
    count=exact.sum(),
    of=len(exact),
    published="not of Pythia, whose rows are padded",
    measured=span({summary.manifest.V for summary in study.summaries}, ","),
    turns_if={"1% is near enough": near.all()},
)
verdicts.table()

# %% [markdown]
# **Related work.** Kaplan et al. (2020) left embeddings out because their lines became straighter; Hoffmann et al. (2022) found other exponents. Pearce and Song (2024) and Porian et al. (2024) explain part of this difference by which parameters were counted.
