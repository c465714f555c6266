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
# # The law in five minutes
#
# *Relative-Based Scaling Law for Neural Language Models* (arXiv 2510.20387) asks how a language model's **ranking** improves with its size: not how probable the right token is, but how many tokens the model prefers to it.
#
# **Claim.** With $S$ the number of non-embedding parameters and $\mathrm{RBP}_k$ the probability that the correct token is among the model's top $k$,
#
# $$-\log \mathrm{RBP}_k \;\propto\; S^{-\alpha}, \qquad \alpha > 0 .$$
#
# This notebook fits that law to six small models that ship with `rbpkit`, then takes two of them, ranks every token of a text here and now, and puts the result on the line. No network; under a minute on two CPU cores.

# %% tags=["parameters"]
ks = [1, 10, 50, 100]  # k of RBP_k
batch_tokens = 8192  # most tokens of one forward pass
threads = 1  # of torch; more are faster while nothing else runs
figures_dir = ""  # where to write the figure and its points; empty: nowhere

# %%
import math
import tempfile

import pandas as pd
import torch

import rbpkit
from rbpkit import figures, pocket
from rbpkit.corpora import load_corpus
from rbpkit.curves import fits, rbp_curve, table
from rbpkit.measure import measure
from rbpkit.models import load_model
from rbpkit.ranking import logit_ranks
from rbpkit.records import Records
from rbpkit.store import load_summaries

torch.set_num_threads(threads)
print("rbpkit", rbpkit.__version__)

# %% [markdown]
# ## One token, by hand
#
# The model reads *some* text and gives every token $v$ of its vocabulary (of size $V$) a score, its logit. The **rank** of the token $t$ that really comes next is Eq. 3 of the paper: how many tokens score at least as high, itself included,
#
# $$R(t) = \sum_{v=1}^{V} \mathbf 1\,[\,p(v) \ge p(t)\,].$$
#
# Softmax keeps the order, so the logits will do.

# %%
family, corpus = "Pythia", "pocket:code"
small, large = pocket.model_folder(family, 0), pocket.model_folder(family, 4)
model = load_model(large, device="cpu")
words = 'def mean(values):\n    """Return the arithmetic mean of the values."""\n    return sum('
ids = torch.tensor([model.tokenizer(words)["input_ids"]])
logits = model.logits(ids)[0, :-1]  # what is predicted at each position but the last
ranks = logit_ranks(logits, ids[0, 1:]).rank()

tail = 12
pd.DataFrame(
    {
        "after": model.tokenizer.convert_ids_to_tokens(ids[0, -tail - 1 : -1]),
        "comes": model.tokenizer.convert_ids_to_tokens(ids[0, -tail:]),
        "rank": ranks[-tail:].numpy(),
    }
)

# %% [markdown]
# (`Ġ` stands for a space, `Ċ` for a newline.) $\mathrm{RBP}_k$ is the share of tokens with a rank of at most $k$, Eq. 4:
#
# $$\mathrm{RBP}_k = \Pr(R \le k).$$
#
# Over a whole corpus that is one number for each $k$. A **summary** holds the histogram of all ranks, so every $k$ comes from one pass over the text.

# %%
summaries = load_summaries(pocket.summaries_root())
chosen = [s for s in summaries if (s.manifest.family, s.manifest.corpus) == (family, corpus)]
table(chosen, ks).drop(columns=["corpus", "family", "documents", "max_length"]).round(3)

# %% [markdown]
# ## The law
#
# Take logarithms on both sides: $\log(-\log \mathrm{RBP}_k) = \log c - \alpha \log S$. A least-squares line then gives the slope $-\alpha$, as in the paper. `low` and `high` bound the slope at 95% by the scatter of the points about the line (Student's $t$ with $n - 2$ degrees of freedom).

# %%
fits(chosen, ks).table.drop(columns=["family", "corpus", "intercept"]).round(3)

# %% [markdown]
# ## Measured here and now
#
# Two models, the smallest and the fifth, rank every scored token of the same text. Each document is cut into the model's own tokens and truncated at its context; no padding is ever scored.

# %%
text = load_corpus(corpus)
print(f"{text.id}: {len(text.documents)} documents")
same_text = text.fingerprint == chosen[0].manifest.fingerprint
print("the text that the stored numbers were computed on:", same_text)

live = []
with tempfile.TemporaryDirectory() as out:
    for folder in (small, large):
        one = load_model(folder, device="cpu")
        done = measure(one, text, out, batch_tokens=batch_tokens)
        live.append(Records.load(done.path))

stored = {s.manifest.model: s for s in chosen}
rows = []
for now in live:
    row = {"model": now.manifest.model, "S": now.manifest.S, "tokens": now.tokens}
    for k in (1, 10):
        row[f"RBP_{k} now"] = now.rbp(k)
        if same_text:  # another text is not compared
            row[f"RBP_{k} stored"] = stored[now.manifest.model].rbp(k)
    rows.append(row)
pd.DataFrame(rows).round(3)

# %%
curves = [rbp_curve(chosen, k, corpus, family) for k in (1, 10)]
lively = [rbp_curve(live, k, corpus, family) for k in (1, 10)]
figure = figures.live_on_line(curves, lively if same_text else [])
points = [figures.curve_points("stored", curves), figures.curve_points("measured now", lively)]
figures.save(figure, pd.concat(points), figures_dir, "quickstart_law")

# %% [markdown]
# ## What it means, and what it does not
#
# - The points lie close to a straight line in log-log: a power law *over this span of $S$*, which is 1.6 decades for these models; in the paper it is 4.0 for Pythia and 1.2 to 1.9 for the other families.
# - The exponent grows with $k$: larger models gain more on the tokens that small ones all but got right.
# - These models are tiny and saw 6 million tokens of Python packages' documentation and code. That the same form shows here is evidence for the form, not for the paper's exponents.
#
# Section 4.1 of the paper, with its own points beside ours, is in `03_section_4_1_k1`.
#
# ## Exercises
#
# 1. $\mathrm{RBP}_1$ of a model is 0.30. What is its loss, $-\log \mathrm{RBP}_1$?
# 2. With $\alpha = 0.08$, by what factor must $S$ grow to halve that loss?

# %%
answer_1 = None  # your number, to two decimals
answer_2 = None  # your factor; to 10% is near enough


def check(number: int, answer: float | None, right: float, tolerance: float) -> str:
    if answer is None:
        return f"{number}: not answered yet"
    return f"{number}: {'right' if abs(answer - right) <= tolerance else 'not yet'}"


print(check(1, answer_1, -math.log(0.30), 0.006))
print(check(2, answer_2, 2 ** (1 / 0.08), 0.1 * 2 ** (1 / 0.08)))
