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
# Three language models read the same Python function, piece by piece. A piece is called a **token**: a word, a part of a word, or a sign. Before each token, a model says which token it expects.
#
# *[What this notebook draws](../notebooks/rbpkit_notebooks/notebook_00.py).*

# %% tags=["parameters", "hide-input"]
ks = [1, 10, 50, 100]  # k of RBP_k
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd

from rbpkit import fit_rbp_law, load_corpus, load_model, load_summaries, logit_ranks, measure
from rbpkit.check import check_parameters
from rbpkit.fit import models_of
from rbpkit.tools.rank_view import look
from rbpkit_notebooks import notebook_00 as draw
from rbpkit_pocket import paths

check_parameters(globals())

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
smallest = load_model(paths.MODELS / "pythia-w32-l2", device="cpu")
largest = load_model(paths.MODELS / "pythia-w192-l7", device="cpu")

# `look` ranks every token of a text under a model
looks = [look(smallest, text), look(largest, text)]
looks += draw.smollm2(text)  # a real model, ranked beforehand
for one in looks:
    print(f"S = {one.S:,}: {one.ranks.count(1)} of {len(one.ranks)} tokens in first place")
draw.function(looks, figures_dir)

# %% [markdown]
# *Above, the smallest pocket model; below, the largest. A white token was the model's first guess. The darker a token, the later its place in the model's queue of guesses. The first token is not predicted.*
#
# Size $S$ is the number of a model's parameters without its embeddings (the tables that turn tokens into numbers and back). The first two models are **pocket models**: small models that we trained on Python packages and run here. Their design is that of Pythia, a family of real models. The third, SmolLM2-135M-Instruct, is real and saw far more text, so only the first two can be compared by size. Change `text` and run the cells again. [Glossary](../docs/glossary.md)
#
# Move through ten models yourself:

# %%
draw.explorable("tokens")

# %% [markdown]
# ## A place in a queue
#
# Before each token the model lines up its whole **vocabulary**, the list of all $V$ tokens it knows, the most probable first. The **rank** $R$ of the true token is its place in that queue.

# %%
draw.queue(looks[1], figures_dir)

# %% [markdown]
# *The queue of the largest pocket model before "True" in the second line, with probabilities.*
#
# You can find a rank without sorting. Let $p(v)$ be the probability of token $v$, and let $t$ be the true token. Count the tokens that are at least as probable as $t$, itself included. (Equations are numbered as in the paper that this project reproduces.)
#
# $$R = \sum_{v=1}^{V} \mathbf 1\,[\,p(v) \ge p(t)\,]. \tag{3}$$

# %%
tokenizer = smallest.tokenizer  # cuts a text into tokens, as numbers
ids = tokenizer(text, return_tensors="pt")["input_ids"][:, :256]  # as many as a model can read
true_tokens = ids[0, 1:]  # the first token has nothing before it
i = min(10, len(true_tokens) - 1)  # " True", the token in the picture; try other places
t = true_tokens[i]

for model in (smallest, largest):
    logits = model.logits(ids)[0]  # at each place, a score of every token for the next place
    p = logits[i].softmax(dim=0)  # scores become probabilities
    R = (p >= p[t]).sum()  # Eq. 3
    print(f"S = {model.S:,}: rank {R} of {model.V:,}")

# %% [markdown]
# `logit_ranks` does this for all tokens at once. It compares the scores themselves, because softmax does not change their order. `.rank()` gives $R$ at each place. Which token is the hardest, the one with the largest rank?

# %%
logits = smallest.logits(ids)[0, :-1]  # after the last token nothing comes
ranks = logit_ranks(logits, true_tokens).rank()
hardest = ranks.argmax()
word = tokenizer.decode(true_tokens[hardest])
print(f"under the smallest model, {word!r} has rank {ranks[hardest]}")

# %% [markdown]
# **Exercise 1.** Which rank does the largest model give this token?
#
# <details><summary>Hint</summary>Take the logits of <code>largest</code>, but keep <code>hardest</code> as it is.</details>

# %%
answer_1 = None  # a rank
draw.check(1, answer_1, text)

# %% [markdown]
# ## A share of tokens
#
# $\mathrm{RBP}_k$ is the share of tokens whose rank is at most $k$, and its negative natural logarithm is the **loss**:
#
# $$\mathrm{RBP}_k = \Pr(R \le k), \qquad \text{loss} = -\log \mathrm{RBP}_k . \tag{4}$$

# %%
for one in looks:
    RBP_1 = np.mean(np.array(one.ranks) <= 1)
    print(f"S = {one.S:,}: RBP_1 = {RBP_1:.2f}, loss {-np.log(RBP_1):.2f}")

# %% [markdown]
# So 17 of 53 tokens in first place give a loss of 1.14, and 30 of 53 give 0.57. A perfect model has loss 0. A model that misses 5% has $\mathrm{RBP}_k = 0.95$ and loss 0.051: for few misses, the loss is nearly the share of misses.
#
# **Exercise 2.** A model has $\mathrm{RBP}_1 = 0.30$. What is its loss, to two decimals?
#
# <details><summary>Hint</summary>Which logarithm is it?</details>

# %%
answer_2 = None  # a number
draw.check(2, answer_2)

# %% [markdown]
# **Guess first.** By how much is the loss at $k = 1$ lower for a model of twice the size: by half, by a quarter, or by less than a tenth?
#
# ## The law
#
# One function is too few to judge a model, so we take many: `pocket:code`, Python functions that the models were not trained on. A *summary* holds the ranks of all its tokens under one model. `load_summaries` reads those that come with the models, and `models_of` chooses one text and one family, the smallest model first.

# %%
every_summary = load_summaries(paths.SUMMARIES)
summaries = models_of(every_summary, "pocket:code", "Pythia")
table = pd.DataFrame({"S": [summary.manifest.S for summary in summaries]})
for k in ks:
    table[f"RBP_{k}"] = [summary.rbp(k) for summary in summaries]
table.round(3)

# %% [markdown]
# Are these stored numbers right? `measure` lets one of the models, the fifth, rank all tokens again.

# %%
fifth = load_model(paths.MODELS / "pythia-w96-l4", device="cpu")
again = measure(fifth, load_corpus("pocket:code")).summary
print(f"S = {fifth.S:,}: RBP_1 = {again.rbp(1):.3f}, RBP_10 = {again.rbp(10):.3f}")

# %% [markdown]
# A power law, loss $= C\,S^{-\alpha}$, is a straight line in logarithms: $\log \text{loss} = \log C - \alpha \log S$. Least squares gives its slope, $-\alpha$.

# %%
S = table["S"]
alpha, C = {}, {}
for k in ks:
    RBP = table[f"RBP_{k}"]
    if RBP.max() == 1:
        continue  # a loss of 0 has no logarithm
    log_loss = np.log(-np.log(RBP))
    slope, log_C = np.polyfit(np.log(S), log_loss, 1)
    alpha[k] = -slope
    C[k] = np.exp(log_C)
    assert np.isclose(alpha[k], fit_rbp_law(S, RBP).alpha)  # the package's own fit

# %%
draw.law(summaries, alpha, C, figures_dir)

# %% [markdown]
# *Eight models on code, at two of the four $k$; both axes are logarithmic.*

# %%
law = pd.DataFrame({"alpha": alpha, "C": C})
law["% less at 2 S"] = 100 * (1 - 2 ** -law["alpha"])
ratio = S.max() / S.min()
print(f"{ratio:.0f} times the size is {np.log2(ratio):.1f} doublings")
law.rename_axis("k").round(3)

# %% [markdown]
# **Twice the size lowers the loss at $k = 1$ by 7%. The largest model has 122 times the size of the smallest, which is seven doublings: $0.932^7 = 0.61$, so its loss is 39% lower.** The larger $k$ is, the faster the loss falls. The paper found this for real models:
#
# > "As models grow, a greater proportion of correct tokens are placed among the top predictions, and this improvement follows a power-law trend." (*Relative-Based Scaling Law for Neural Language Models*, arXiv 2510.20387, Section 1)
# >
# > $$-\log \mathrm{RBP}_k \propto S^{-\alpha}, \qquad \alpha > 0 \tag{1}$$
#
# **Exercise 3.** Follow the line at $k = 10$. At which $S$ does the line reach $\mathrm{RBP}_{10} = 0.8$? Answer in millions, to one decimal.
#
# <details><summary>Hint</summary>The table has alpha and C. Solve C S^-alpha = -log 0.8 for S.</details>

# %%
answer_3 = None  # millions
draw.check(3, answer_3)

# %% [markdown]
# ## What this cannot show
#
# - The points bend: both ends lie above their line. So the law is a rough description here.
# - These models span two decades (factors of ten) of $S$; the paper's own Pythia models span four.
# - The models are tiny and saw little text. They say nothing about the paper's exponents.
#
# Next: [notebook 03](03_section_4_1_k1.ipynb) on the law at $k = 1$, or first [notebook 02](02_section_3_metric.ipynb) on the metric.
