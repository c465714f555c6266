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
# **The question.** A language model predicts each token of a text before it sees it. How often does it rank another token above the true one, and how does this change with the model's size?
#
# The size is $S$, the number of the model's parameters without its embeddings. Logarithms are natural: $\log$ means $\ln$.

# %% tags=["parameters", "hide-input"]
ks = [1, 10, 50, 100]  # k of RBP_k
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %% tags=["hide-input"]
import numpy as np
import pandas as pd
import torch

from rbpkit import fit_curves, load_corpus, load_model, load_summaries, logit_ranks, measure, plots
from rbpkit.fit import rbp_curve
from rbpkit.stats.curves import models_of
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, sealed
from rbpkit.tools.look import look
from rbpkit.tools.sentence import explore_sentence, rank_points
from rbpkit_pocket import paths, recipes

check_parameters(globals())
torch.set_num_threads(1)

# %%
text = '''def is_prime(n):
    """Return True if n is a prime number."""
    if n < 2:
        return False
    for i in range(2, n):
        if n % i == 0:
            return False
    return True
'''
models = [load_model(recipes.model_folder("Pythia", size), device="cpu") for size in range(8)]
looks = [look(model, text) for model in models]
S = [model.S for model in models]
still = explore_sentence(looks, [S[0], S[1], S[3], S[7]])  # in Jupyter: a slider over S
if still is not None:
    plots.save(still, rank_points(looks), figures_dir, "quickstart_sentence")

# %% [markdown]
# *One function under Pythia-like models of growing size $S$. Green: the model's first guess was right. From yellow to dark red: the rank was larger. The first token is not predicted.*
#
# These are **pocket models**, small models that we trained on Python packages and ship with this project. They run here, without a GPU or a network. Change `text` and run the cell again. [Glossary](../docs/glossary.md)
#
# > **The paper.** "As models grow, a greater proportion of correct tokens are placed among the top predictions, and this improvement follows a power-law trend." (*Relative-Based Scaling Law for Neural Language Models*, arXiv 2510.20387, Section 1)
# >
# > $$-\log \mathrm{RBP}_k \propto S^{-\alpha}, \qquad \alpha > 0 \tag{1}$$
#
# **Guess first.** The largest of these models, `models[7]`, has about 120 times the $S$ of the smallest, `models[0]`. By which factor does that lower the loss $-\log \mathrm{RBP}_1$: 1.6, 12 or 120?
#
# ## The rank of one token
#
# The model gives every token $v$ of its vocabulary (of size $V$) a score, the logit $\ell(v)$, and softmax turns scores into probabilities. The **rank** of the token $t$ that really comes next counts the tokens that are at least as probable, itself included:
#
# $$p(v) = \frac{e^{\ell(v)}}{\sum_{u=1}^{V} e^{\ell(u)}}, \qquad R = \sum_{v=1}^{V} \mathbf 1\,[\,p(v) \ge p(t)\,]. \tag{3}$$
#
# Here is the word "True" in the documentation line, under the smallest model.

# %%
small, medium = models[0], models[4]
ids = torch.tensor([small.tokenizer(text)["input_ids"]])
logits = small.logits(ids)[0, :-1]  # (T, V): what is predicted at each position but the last
targets = ids[0, 1:]  # (T,): what comes next

spelt = [small.tokenizer.decode(t) for t in targets]
i = spelt.index(" True")
p = np.exp(logits[i].double().numpy())
p /= p.sum()
R = (p >= p[targets[i]]).sum()
print(f"{spelt[i]!r}: {R} of {small.V:,} tokens are at least as probable")

# %% [markdown]
# `logit_ranks` counts the same for every position at once. Softmax keeps the order, so it can compare logits.

# %%
ranks = logit_ranks(logits, targets).rank()
assert ranks[i] == R
print(ranks.tolist())

# %% [markdown]
# **Exercise 1.** `spelt` has the tokens of this text. Change the cell above so that it prints the one with the largest rank (`argmax` finds its place). Under the largest model, is it still the same token?
#
# ## RBP
#
# A single sentence is a matter of luck, so we average over a corpus. $\mathrm{RBP}_k$ is the share of tokens with a rank of at most $k$:
#
# $$\mathrm{RBP}_k = \Pr(R \le k). \tag{4}$$
#
# For each pocket model we keep a **summary** of its ranks on functions that it was not trained on: every rank that occurred, and how often.

# %%
chosen = models_of(load_summaries(paths.SUMMARIES), "pocket:code", "Pythia")
table = pd.DataFrame({"model": [one.manifest.model for one in chosen], "S": S})
for k in ks:
    table[f"RBP_{k}"] = [
        one.ranks.counts[one.ranks.values <= k].sum() / one.tokens for one in chosen
    ]
table.round(3)

# %% [markdown]
# ## Why $-\log \mathrm{RBP}_k$?
#
# A perfect model has $\mathrm{RBP}_k = 1$, and $-\log \mathrm{RBP}_k$ measures how far a model is from that: when misses are rare, it is close to the share of misses, $1 - \mathrm{RBP}_k$. Cross-entropy is the mean of $-\log p(t)$; ours is $-\log$ of a share. Both are in nats, and both are 0 for a perfect model. That makes it natural to plot them side by side.
#
# **Exercise 2.** A model has $\mathrm{RBP}_1 = 0.30$. What is its loss $-\log \mathrm{RBP}_1$, to two decimals?
#
# <details><summary>Hint</summary>Remember which logarithm this is.</details>

# %%
answer_2 = None  # a number
print(check(2, answer_2, sealed("77ac319b", digits=2)))

# %% [markdown]
# ## The law
#
# A power law is a straight line in logarithms. As in the paper, least squares gives its slope, $-\alpha$:
#
# $$\log(-\log \mathrm{RBP}_k) = \log C - \alpha \log S .$$

# %%
rows = []
for k in ks:
    loss = -np.log(table[f"RBP_{k}"])
    if (loss > 0).all():  # an RBP_k of 1 has no second logarithm
        minus_alpha, log_C = np.polyfit(np.log(S), np.log(loss), 1)
        rows.append({"k": k, "alpha": -minus_alpha, "C": np.exp(log_C)})
law = pd.DataFrame(rows)
law.round(3)

# %% tags=["hide-input"]
fitted = fit_curves(rbp_curve(chosen, int(k)) for k in law["k"]).table
assert np.allclose(fitted["slope"], -law["alpha"])

# %% [markdown]
# At $k = 1$ the exponent is about 0.1. So from the smallest model to the largest the loss falls by a factor of 1.6 only. The larger $k$ is, the larger the exponent, so the faster the loss falls as models grow.
#
# **Exercise 3.** Follow the line at $k = 10$ beyond the largest model. At which $S$ does it reach $\mathrm{RBP}_{10} = 0.8$? Give $S$ in millions, to one decimal.
#
# <details><summary>Hint</summary>The table above has alpha and C. Solve C S^-alpha = -log 0.8 for S.</details>

# %%
answer_3 = None  # millions
print(check(3, answer_3, sealed("32209ccb", digits=1)))

# %% [markdown]
# ## Measured here and now
#
# Are the stored numbers right? `measure` lets two of the models rank every token of the same corpus again.

# %%
corpus = load_corpus("pocket:code")
live = [measure(model, corpus).summary for model in (small, medium)]
again = pd.DataFrame({"model": [one.manifest.model for one in live]})
for k in (1, 10):
    again[f"RBP_{k}"] = [one.rbp(k) for one in live]
again.round(3)

# %% tags=["hide-input"]
lines = plots.curve_points("stored", [rbp_curve(chosen, k) for k in (1, 10)])
now = plots.curve_points("measured now", [rbp_curve(live, k) for k in (1, 10)])
same_text = corpus.fingerprint == chosen[0].manifest.fingerprint
k = "$k$ = " + lines["quantity"].str.removeprefix("RBP_")
titled = lines.assign(panel="Pythia on code", k=k)
figure = plots.law_grid(titled, panel="panel", hue="k", size=(5.4, 3.8))
if same_text:  # another text is not compared
    ring = {"markersize": 12, "markerfacecolor": "none", "markeredgecolor": "black"}
    figure.axes[0].plot(now["S"], now["loss"], "o", linestyle="none", **ring)
plots.save(figure, pd.concat([lines, now]), figures_dir, "quickstart_law")

# %% [markdown]
# *The loss of eight models against their size, both axes logarithmic. Open circles: the two models measured again. Each lies on its stored point, so the stored numbers are right. The points bend a little: both ends are above their line.*
#
# ## What this cannot show
#
# - These models span two decades of $S$. A bent curve can look straight over so short a range. The paper's Pythias span four decades.
# - A power law describes these points roughly. The points are off their line by about ten times the error that comes from scoring a limited number of tokens.
# - The models are tiny and saw few tokens. They say nothing about the paper's exponents.
#
# Next: [the metric](02_section_3_metric.ipynb) in detail, or the paper's own points in [Section 4.1](03_section_4_1_k1.ipynb).
