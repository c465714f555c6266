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
# # Section 3: the metric
#
# **Claim.** Cross-entropy looks at the probability that a model gives to the correct token. The relative-based probability $\mathrm{RBP}_k$ looks at its **rank** among all tokens. The two see different things (Figures 1 and 2 of the paper).
#
# **Answer.** They do: one loss can go with several ranks, and one set of ranks with many losses. They still constrain each other: a cross-entropy gives every $\mathrm{RBP}_k$ with $k > e^{\mathrm{CE}} - 1$ a lower bound. Among the shipped models the two metrics agree on which of two is better in at least 97% of the pairs.
#
# ![A Python function with every token coloured by its rank under a small and a larger model](../figures/figure_2_sentence.png)
#
# *The tokens of a function, coloured by their rank under two of the shipped models; white: a rank above 10.*
#
# *Reading time: 12 minutes; it runs in under half a minute.* The section "The four ladders" may be skipped at a first reading. The notebook computes Eqs. 2 to 4 on small examples of our own, then on a small model that ships with `rbpkit`. $S$ leaves out token and position embeddings and the output head.

# %% tags=["parameters"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
ks = [1, 10, 50, 100]  # k of RBP_k
records_dir = ""  # a folder of records of your own; empty: the summaries that ship with rbpkit
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
import itertools

import numpy as np
import pandas as pd
import torch

import rbpkit
from rbpkit import load_corpus, load_model, load_summaries, logit_ranks, paper, plots
from rbpkit.pocket import recipes
from rbpkit.ranking import NonFiniteError
from rbpkit.sections import s3_metric
from rbpkit.sections.s3_metric import Prediction, ce_bound
from rbpkit.study.params import check_parameters
from rbpkit.summary import Histogram, Summary
from rbpkit.tools.exercises import check, close, sealed
from rbpkit.tools.explorers import explore

check_parameters(globals())
torch.set_num_threads(1)
print("rbpkit", rbpkit.__version__)

# %% [markdown]
# ## Two views of one prediction
#
# The paper's Figure 1 shows a toy distribution in which the correct token $A$ has $p_A = 0.227$. The paper prints that value and no logits, so the logits below are ours: those of five competitors are chosen, and $A$'s is solved for,
#
# $$\ell_A = \log \frac{p_A}{1 - p_A} + \log \sum_{v \ne A} e^{\ell_v} .$$
#
# Two contexts: one in which a competitor is ahead of $A$, and one in which none is.

# %%
tokens = tuple("ABCDEF")
competitors = {
    "a rival ahead": [2.1, 1.0, 0.4, -0.3, -1.0],
    "no rival ahead": [0.9, 0.8, 0.7, 0.5, 0.2],
}
p_A = 0.227
cases = []
for title, others in competitors.items():
    l_A = np.log(p_A / (1 - p_A)) + np.log(np.exp(others).sum())
    logits = np.array([l_A, *others])
    p = np.exp(logits) / np.exp(logits).sum()
    scored = logit_ranks(torch.tensor(logits[None]).float(), torch.tensor([0]))
    assert np.isclose(p[0], p_A) and np.isclose(np.exp(-float(scored.nll)), p_A)
    cases.append(Prediction(title, tokens, p, target=0))
    print(f"{title}: l_A = {l_A:.3f}, p_A = {p[0]:.3f}, R(A) = {cases[-1].rank}")

# %%
figure = s3_metric.figure_1(cases)
plots.save(figure, s3_metric.prediction_points(cases), figures_dir, "figure_1")

# %% [markdown]
# The left column is all that cross-entropy sees: 0.227, a loss of 1.483 nats, in both contexts. The right column is all that a rank sees: second place in one context, first in the other. A model that decodes greedily is right in the second only.
#
# Conversely, the ranks can stay while the loss changes. A temperature divides all logits by one number. It changes every probability and no rank: cross-entropy can get worse while no prediction changes its place.
#
# ## Eqs. 2 to 4
#
# Cross-entropy is the mean loss over the $T$ scored tokens,
#
# $$\mathrm{CE} = -\frac1T \sum_{i=1}^{T} \log p(t_i) \tag{2}$$
#
# in nats. The rank of a token counts all that the model finds at least as likely, itself included,
#
# $$R(t) = \sum_{v=1}^{V} \mathbf 1\,[\,p(v) \ge p(t)\,] \tag{3}$$
#
# and the relative-based probability is the share of tokens with a rank of at most $k$:
#
# $$\mathrm{RBP}_k = \Pr(R \le k). \tag{4}$$
#
# Figure 2 of the paper works this out for three tokens. In the arXiv version it gives $\mathrm{RBP}_2 = 1/3$, in the ICLR version $\mathrm{RBP}_3 = 1/3$: one of the three tokens ranks within $k$. Again only the result is printed; these three rows of logits are ours, and satisfy both.

# %%
logits = np.array(
    [
        [1.2, 0.9, 0.3, -0.2, -0.8, -1.5],
        [0.9, 2.0, 0.5, 1.6, 1.1, -0.3],
        [0.6, 1.3, -1.0, 1.5, -0.4, 1.2],
    ]
)
targets = np.array([1, 2, 0])
p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)  # (T, V)
p_target = p[np.arange(3), targets][:, None]
CE = -np.log(p_target).mean()  # Eq. 2
R = (p >= p_target).sum(axis=1)  # Eq. 3
RBP = {k: (R <= k).mean() for k in range(1, 7)}  # Eq. 4

scored = logit_ranks(torch.tensor(logits).float(), torch.tensor(targets))  # never holds all of p
assert np.isclose(float(scored.nll.mean()), CE) and scored.rank().tolist() == R.tolist()
assert np.allclose(Histogram.of(np.bincount(R)).share(np.arange(1, 7)), list(RBP.values()))
print(f"CE = {CE:.3f} nats; R = {R.tolist()}")
print("; ".join(f"RBP_{k} = {share:.3f}" for k, share in RBP.items()))

# %%
three = [Prediction(f"token {i}", tokens, p[i - 1], int(targets[i - 1])) for i in (1, 2, 3)]
figure = s3_metric.figure_2(three, ks=(2, 3))
plots.save(figure, s3_metric.prediction_points(three), figures_dir, "figure_2")

# %%
# The temperature from above: other losses, the same ranks.
rows = []
for temperature in (0.5, 1.0, 2.0):
    divided = torch.tensor(logits / temperature, dtype=torch.float32)
    scored = logit_ranks(divided, torch.tensor(targets))
    assert scored.rank().tolist() == R.tolist()
    rows.append((temperature, float(scored.nll.mean()), scored.rank().tolist()))
pd.DataFrame(rows, columns=["temperature", "CE", "R"]).round(3)

# %% [markdown]
# ## Ties
#
# Eq. 3 counts $p(v) \ge p(t)$: a token that ties with the correct one stands before it. That is the **pessimistic** rule, and the default here. The authors' program counts logits that are *greater* than the correct one's, plus one: the **optimistic** rule. With real numbers this would not matter. With numbers of few bits it can.

# %%
tied = torch.tensor([[2.0, 2.0, 2.0, 1.0]])
scored = logit_ranks(tied, torch.tensor([0]))
print({rule: int(scored.rank(rule)) for rule in ("pessimistic", "optimistic")})

# %% [markdown]
# How many targets tie depends on the precision of the logits. A shipped model reads a few documents, its logits are fp32; we round them to the two 16-bit formats and rank again. (This shows the rounding alone. A model that runs in 16 bits also computes other logits.)

# %%
model = load_model(recipes.model_folder("Pythia", 4), device="cpu")
text = load_corpus("pocket:code")
parts, wanted = [], []
for document in text.documents[:24]:
    ids = model.tokenizer(document, truncation=True, max_length=model.context)["input_ids"]
    ids = torch.tensor([ids])
    parts.append(model.logits(ids)[0, :-1])  # what is predicted at each position but the last
    wanted.append(ids[0, 1:])
logits, targets = torch.cat(parts), torch.cat(wanted)
print(f"{model.name}: S = {model.S:,}, V = {model.V:,}; {len(targets):,} scored tokens")


# %%
def by_precision(logits: torch.Tensor, targets: torch.Tensor, source: str) -> list[dict]:
    rows = []
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        scored = logit_ranks(logits.to(dtype), targets)
        row = {"logits": source, "precision": str(dtype).removeprefix("torch.")}
        row["tied targets, %"] = 100 * float((scored.n_equal > 0).float().mean())
        for k in (1, 10):
            for rule in ("optimistic", "pessimistic"):
                row[f"RBP_{k} {rule}"] = float((scored.rank(rule) <= k).float().mean())
        rows.append(row)
    return rows


# A vocabulary of the paper's size: random logits, with a spread that gives a loss of some 4 nats,
# and targets drawn by their softmax.
generator = torch.Generator().manual_seed(0)
drawn = 4.0 * torch.randn((512, 50_304), generator=generator)
drawn_targets = torch.multinomial(drawn.softmax(1), 1, generator=generator)[:, 0]
precision = pd.DataFrame(
    by_precision(logits, targets, f"model, V = {model.V:,}")
    + by_precision(drawn, drawn_targets, "random, V = 50,304")
)
precision.round({"tied targets, %": 0}).round(3)

# %% [markdown]
# In fp32 almost no target ties, and the two rules agree. In bfloat16, which keeps eight binary digits of a logit, 14% of the model's targets tie with something, 45% of the random ones, and the choice of the rule moves $\mathrm{RBP}_k$. How large a share depends on the vocabulary and on how close the logits lie; the random logits only show that a vocabulary of the paper's size does not make ties rare.
#
# So RBP should be taken from fp32 logits, as here, and a program that ranks 16-bit logits should say which rule it follows.
#
# A strict comparison has another trap. Nothing is greater than NaN, so a broken logit scores rank 1, a perfect guess. `rbpkit` stops instead, with an error that names the token.

# %%
broken, at = logits[:1].clone(), targets[:1]
broken[0, at] = torch.nan
print("logits > target, plus one:", 1 + int((broken > broken[0, at]).sum()))
try:
    logit_ranks(broken, at)
except NonFiniteError as error:
    print("rbpkit:", error)

# %% [markdown]
# ## $\mathrm{RBP}_k$ is a distribution function
#
# Over all $k$, $\mathrm{RBP}_k$ is the distribution function of the rank: a staircase from $\mathrm{RBP}_1$ to $\mathrm{RBP}_V = 1$. Cross-entropy is one number; this is a curve, and a larger model may lift its parts by different amounts. Top: what the paper plots against $k$ (ICLR version, Figure 9, eleven $k$; lines only guide the eye). Bottom: ours at all $k$, from summaries. Solid the largest model of a family, dashed the smallest.

# %%
summaries = load_summaries(records_dir or recipes.SUMMARIES)
names = ["source", "corpus", "family", "model", "S", "k", "rbp"]
published = paper.rbp_by_k().rename(columns={"dataset": "corpus"}).assign(source="published")
asked = []
for corpus, family in itertools.product(corpus_names, families):
    here = [s for s in summaries if (s.manifest.corpus, s.manifest.family) == (corpus, family)]
    asked += sorted(here, key=lambda one: one.manifest.S)
    if not here:
        print(f"not measured: {family} on {corpus}")
rows = []
for one in asked:
    of = one.manifest
    for k in np.unique(np.geomspace(1, of.V, 80).astype(int)):
        rows.append(("measured", of.corpus, of.family, of.model, of.S, k, one.rbp(k)))
points = pd.concat([published[names], pd.DataFrame(rows, columns=names)])
figure = s3_metric.staircases(points)
plots.save(figure, points, figures_dir, "figure_2_staircase")

# %% [markdown]
# The next figure has the staircase of the tokens scored above and reads it at one $k$. In JupyterLab or Jupyter Notebook the next cell shows a slider for $k$; elsewhere a still picture at the `ks` of this notebook.

# %%
scored = logit_ranks(logits, targets)
R, nll = scored.rank().numpy(), scored.nll.double().numpy()
rbp = np.bincount(R, minlength=model.V + 1)[1:].cumsum() / len(R)  # Eq. 4 at k = 1, ..., V
shown = [k for k in ks if k <= model.V]
options = sorted({*shown, *np.geomspace(1, model.V, 60).astype(int).tolist()})
still = explore(lambda axes, k: s3_metric.read_at(axes, rbp, k), [(k,) for k in shown], k=options)
if still is not None:  # None where the slider is shown
    # Three decimals: one token of these, tied but for a processor's last bit, moves the fourth.
    points = pd.DataFrame({"k": options, "rbp": rbp[np.array(options) - 1].round(3)})
    plots.save(still, points, figures_dir, "figure_2_slider")

# %% [markdown]
# The same on a sentence of your own: put it into the cell. Tokens with a rank of at most $k$ are coloured by it, the others are white; the first token has no rank. (The smallest and the largest Pythia.)

# %%
from rbpkit.tools.look import look
from rbpkit.tools.sentence_explorer import explore_sentence, rank_points

sentence = (
    'def mean(values):\n    """Return the arithmetic mean of the values."""\n'
    "    return sum(values) / len(values)\n"
)
pair = [
    load_model(recipes.model_folder("Pythia", size), device="cpu")
    for size in (0, len(recipes.SHAPES["Pythia"]) - 1)
]
looks = [look(one, sentence, name="sentence") for one in pair]
still = explore_sentence(looks, [10, *ks])  # None where the slider is shown
if still is not None:
    plots.save(still, rank_points(looks), figures_dir, "figure_2_sentence")

# %% [markdown]
# ## What cross-entropy does say about ranks
#
# The paper sets RBP apart as something that cannot be deduced from cross-entropy. Its value cannot: Figure 1 has two ranks at one loss. But it is not free either. $R$ tokens have a probability of at least $p(t)$, and the probabilities of the whole vocabulary sum to one. So $R\,p(t) \le 1$ and, token by token,
#
# $$-\log p(t) \;\ge\; \log R .$$
#
# Hence $\mathrm E[\log R] \le \mathrm{CE}$, and by Markov's inequality on $\log R \ge \log(k+1)$,
#
# $$\mathrm{RBP}_k \;\ge\; 1 - \frac{\mathrm{CE}}{\log(k+1)} .$$
#
# A low cross-entropy forces most ranks to be small. Read the other way, ranks bound the loss from below: $\mathrm{CE} \ge (1 - \mathrm{RBP}_k)\log(k+1)$.

# %%
slack = nll - np.log(R)
print(f"-log p(t) is at least log R in {(slack > -1e-6).sum():,} of {len(R):,} tokens")
CE = nll.mean()
print(f"CE = {CE:.3f} nats, mean of log R = {np.log(R).mean():.3f}")
k = np.arange(1, model.V + 1)
bound = 1 - CE / np.log(k + 1)
print("the bound holds at every k:", bool((rbp >= bound).all()))
print(f"it is above zero from k = {k[bound > 0][0]:,} on")
assert np.allclose(np.maximum(bound, 0), ce_bound(CE, k))
figure = s3_metric.bounds(R, nll, rbp, model.name)
grid = np.unique(np.geomspace(1, model.V, 80).astype(int))
points = pd.DataFrame({"k": grid, "rbp": rbp[grid - 1], "bound": ce_bound(CE, grid)})
plots.save(figure, points, figures_dir, "figure_2_bounds")

# %% [markdown]
# The same for the published values of the four GPT-2 models on Wiki. `free` is 1 - bound, the range in which $\mathrm{RBP}_k$ may still lie: where it is 1, cross-entropy says nothing.

# %%
gpt2 = paper.gpt2_wiki_metrics()[["model", "k", "ce", "p_N1"]]
gpt2 = gpt2.rename(columns={"ce": "CE", "p_N1": "RBP_k"})
gpt2["bound"] = ce_bound(gpt2["CE"], gpt2["k"])
gpt2["free"] = 1 - gpt2["bound"]
gpt2[gpt2["model"].isin(("gpt2", "gpt2-xl"))].reset_index(drop=True).round(3)

# %% [markdown]
# For these models the bound says nothing at $k = 1$ and $10$. At $k = 100$ it guarantees GPT-2 an $\mathrm{RBP}_k$ of 0.26, and GPT-2 has 0.86; at $k = 10{,}000$ it guarantees 0.63, and GPT-2 has 0.996. The bound is correct but far below the published values.
#
# The published numbers also show that the two need not move together: from GPT-2 to GPT-2 XL the cross-entropy falls, and $\mathrm{RBP}_{10{,}000}$ falls too.

# %%
at_10000 = gpt2[gpt2["k"] == 10_000].set_index("model")
missed = (1 - at_10000["RBP_k"]) * 317_414
pd.DataFrame(
    {"CE": at_10000["CE"], "RBP_10000": at_10000["RBP_k"], "tokens that rank lower": missed}
).round({"CE": 3, "RBP_10000": 4, "tokens that rank lower": 0})

# %% [markdown]
# ## The four ladders (may be skipped)
#
# The shipped models share one tokenizer, so on one corpus all of them are scored on the same tokens and can be compared. First the largest model of each family: its loss, $\mathrm{RBP}_k$, and what the bound promises. The line above the table says how often the optimistic rule changes $\mathrm{RBP}_k$ at the `ks`, over all models.

# %%
rows = []
for one in asked:
    row = {"corpus": one.manifest.corpus, "family": one.manifest.family, "S": one.manifest.S}
    row["CE"] = one.ce()
    for k in (ks[0], ks[-1]):
        row |= {f"RBP_{k}": one.rbp(k), f"bound {k}": ce_bound(one.ce(), k)}
    by_ties = [round((one.rbp(k, "optimistic") - one.rbp(k)) * one.tokens) for k in ks]  # tokens
    row |= {"changed": np.count_nonzero(by_ties), "tokens": max(by_ties)}
    rows.append(row)
ladders = pd.DataFrame(rows)
if len(ladders):
    print(f"{len(ladders)} measurements; the tie rule changes {ladders['changed'].sum()}", end=" ")
    print(f"of {len(ladders) * len(ks)} RBP_k, by at most {ladders['tokens'].max()} token", end="")
    print("; the bound is kept:", end=" ")
    kept = [(ladders[f"RBP_{k}"] >= ladders[f"bound {k}"]).all() for k in (ks[0], ks[-1])]
    print(bool(all(kept)))
    largest = ladders.sort_values("S").groupby(["corpus", "family"]).tail(1)
    print(
        largest.drop(columns=["changed", "tokens"])
        .sort_values(["corpus", "family"])
        .round(3)
        .to_string()
    )

# %% [markdown]
# Then: how often do the two metrics disagree on which of two models is the better? All pairs of models on a corpus, of one family or of two. `clear` are the pairs in which both differences, of CE and of $\mathrm{RBP}_k$, exceed two standard errors. The standard errors take documents as independent, and both models are scored on the same documents.


# %%
def difference(a: Summary, b: Summary, sums: str, column: int | None = None) -> tuple:
    """The mean over tokens of a less that of b, and its standard error by documents."""
    d = getattr(a, sums).astype(float) - getattr(b, sums)
    d, n = (d if column is None else d[:, column]), a.document_tokens
    mean = d.sum() / n.sum()
    return mean, np.sqrt(((d - mean * n) ** 2).sum()) / n.sum()


rows = []
for a, b in itertools.combinations(asked, 2):
    same = a.manifest.corpus == b.manifest.corpus
    if not same or not np.array_equal(a.document_tokens, b.document_tokens):
        continue
    ce, ce_error = difference(a, b, "document_nll")
    for k in ks:
        if k in a.k_grid:
            rbp_gap, error = difference(a, b, "document_hits", int((a.k_grid == k).argmax()))
            clear = abs(ce) > 2 * ce_error and abs(rbp_gap) > 2 * error
            rows.append(
                (a.manifest.corpus, k, True, ce * rbp_gap > 0, clear, clear and ce * rbp_gap > 0)
            )
pairs = pd.DataFrame(rows, columns=["corpus", "k", "pairs", "disagree", "clear", "clear, disagree"])
if len(pairs):
    print(pairs.groupby(["corpus", "k"]).sum().to_string())
    print(pairs.drop(columns="corpus").groupby("k").sum().to_string())

# %% [markdown]
# On one text the two metrics nearly always agree on which model is better: of 900 pairs they disagree on 26 at $k = 1$, on 7 at $k = 10$, on 9 at $k = 50$ and on 17 at $k = 100$. Few of these are beyond the noise: of the pairs that are clear in both metrics 7 of 863 at $k = 1$, none of 866 at $k = 10$, 1 of 858 at $k = 50$, 2 of 857 at $k = 100$.
#
# So disagreement exists, as the paper says, and is rare among these models. These models were trained on the same tokens; models that differ more may disagree more, which these data cannot show. With 3,600 comparisons some of the clear cases may still be chance.
#
# The bound holds in all 75 measurements and is weak. At $k = 1$ it says nothing. At $k = 100$ it guarantees the largest models 0.16 to 0.46, and they have 0.83 to 0.92. The rule for ties changes two of the 300 $\mathrm{RBP}_k$, each by one token: with logits in fp32 it is rare that a tie decides whether a target is within $k$.
#
# ## What holds, and what does not

# %%
by_k = pairs.drop(columns="corpus").groupby("k").sum()
disagreed = ", ".join(str(n) for n in by_k["disagree"])
disagreed += (
    f" of {by_k['pairs'].max()} (k = {', '.join(str(k) for k in by_k.index)})"
    if len(by_k)
    else "none"
)
at_100 = gpt2.query("model == 'gpt2' and k == 100").iloc[0]
pd.DataFrame(
    [
        ("Figure 1: p_A", "0.227", f"{cases[0].p[0]:.3f}, at R = 1 and at R = 2 (our logits)"),
        ("Figure 2: RBP_2 (arXiv)", "1/3", f"{RBP[2]:.3f} (our logits)"),
        ("Figure 2: RBP_3 (ICLR)", "1/3", f"{RBP[3]:.3f} (our logits)"),
        (
            "RBP against CE",
            "cannot be deduced",
            f"bounded: GPT-2, k = 100: over {at_100['bound']:.2f}",
        ),
        ("our pairs: CE and RBP_k disagree", "", disagreed),
        ("ties", "before t (Eq. 3), behind t (program)", "before t, on fp32 logits; both are kept"),
    ],
    columns=["", "paper says", "we get"],
)

# %% [markdown]
# - *The two views differ.* A token of probability 0.227 can have rank 1 or rank 2.
# - *On the shipped models they nearly always agree.* On the same text they disagree on which model is better in at most 2.9% of the pairs.
# - *The loss bounds the rank.* A cross-entropy sets a floor under every $\mathrm{RBP}_k$; at $k = 100$ it is at most 0.46 for the largest shipped models, far below what they have.
# - *Ties.* Eq. 3 and the authors' program differ on them; with logits in fp32 this changes two of the 300 $\mathrm{RBP}_k$ by one token each, with bfloat16 it matters.
# - *The examples are ours.* The paper prints only $p_A$, $\mathrm{RBP}_2$ and $\mathrm{RBP}_3$; any other logits with these values would do.
#
# ## Exercises
#
# 1. A token has probability 0.04. Which is the largest rank that it can have?
# 2. A model has $\mathrm{CE} = 2$ nats. From which $k$ on does the bound promise $\mathrm{RBP}_k \ge 0.5$? (A whole number.)
# 3. Five logits, the correct one first: 1.5, 1.5, 0.2, 1.7, 1.5. Its rank by Eq. 3, and by the optimistic rule?

# %%
answer_1 = None  # a rank
answer_2 = None  # a k
answer_3 = None  # two ranks: (Eq. 3, optimistic)

exercise = logit_ranks(torch.tensor([[1.5, 1.5, 0.2, 1.7, 1.5]]), torch.tensor([0]))
rules = [int(exercise.rank(rule)) for rule in ("pessimistic", "optimistic")]
reached = int(np.argmax(ce_bound(2.0, np.arange(1, 1000)) >= 0.5)) + 1
print(check(1, answer_1, sealed("b7a56873", digits=0, within=0)))
print(check(2, answer_2, close(reached, 0)))
print(check(3, answer_3, lambda answer: list(answer) == rules))
