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
# # The paper's claims on one page
#
# Notebooks 01 to 11 test what the paper, *Relative-Based Scaling Law for Neural Language Models*, says, one section after the other. Each ends with a table: the paper's words, our test, and a verdict. This page collects these tables. The paper's subject is $\mathrm{RBP}_k$, the share of true next tokens among a language model's first $k$ guesses. It studies how the loss $-\log \mathrm{RBP}_k$ falls with the size $S$ of the model.
#
# *[What this notebook draws](../notebooks/rbpkit_notebooks/notebook_12.py).*

# %% tags=["parameters", "hide-input"]
records_dir = ""  # a folder of records of your own; empty: the pocket models
figures_dir = ""  # where this run's notebooks wrote their tables; empty: the committed tables

# %%
import pandas as pd

from rbpkit.check import check_parameters
from rbpkit_notebooks import notebook_12 as draw
from rbpkit_notebooks.claims import VERDICTS

check_parameters(globals())

# %%
claims = draw.tables(figures_dir)

# %% [markdown]
# **Guess.** How many of the paper's sentences hold as they are written: about a fifth, about a half, or nearly all? How many do not hold?
#
# A verdict judges the paper's own words by the points that the paper published, or by mathematics.
#
# - *Holds*: by the plainest reading of the whole sentence. The table says in how many cases.
# - *Holds in part*: a part that the sentence itself names holds, and another does not.
# - *Does not hold*: neither.
# - *Cannot be told*: the published numbers do not decide.
#
# A sentence is a claim if it says something that numbers or mathematics can contradict: about the models and the texts, a line, an exponent or a derivation. We chose them ourselves, while we read, and many after seeing the data. So the count depends on the choice. Here are three:
#
# - all of them, details included;
# - the first choice, without details: sentences that readers missed later are left out;
# - the sentences that the paper argues for: no details, no premises (what the models are) and no assumptions.

# %%
is_detail = claims["kind"] == "detail"
rules = {
    "all": claims,
    "the first choice": claims[~claims["added"] & ~is_detail],
    "what it argues for": claims[claims["kind"] == "main"],
}
counts = pd.DataFrame({name: chosen["verdict"].value_counts() for name, chosen in rules.items()})
# A verdict that no claim has gets a zero
counts = counts.reindex(VERDICTS).fillna(0).astype(int)
counts

# %%
draw.boxes(rules, "About half hold as written, about a quarter do not", figures_dir)

# %% [markdown]
# **By each of the three rules, 40 to 51% of the claims hold as they are written, and 26 to 28% do not hold.** The rest hold in part.
#
# How firm is that? A second column of the tables says what turns a verdict: another denominator, a rounding, one family left out.

# %%
is_robust = claims["robust"] == "robust"
print(f"{is_robust.sum()} of {len(claims)} verdicts are robust")

# %% [markdown]
# ## Seven claims, one line each

# %%
draw.headlines(claims)

# %% [markdown]
# The pocket models, the small ones that we trained, get the same tests. They never decide a verdict: models that saw 12 million tokens cannot contradict a sentence about the paper's models.
#
# ## How to read a count
#
# Cases of one table share models and text. So a count such as "15 of 16" describes the data. It is not a number of independent trials.
#
# To ask that every case agrees is strict if each case is a test that errs by chance. Suppose that 16 lines follow an exact law, that each is tested at the 2.5% level, and that the tests are independent. Then at least one line fails with this probability:

# %%
one_passes = 1 - 0.025
# Independent tests all pass with the product of their probabilities
all_pass = one_passes**16
round(1 - all_pass, 2)

# %% [markdown]
# Only the 18 lines of notebook 05 are tested at such a level, and there 11 fail, far more than chance lets fail. The other counts compare a number with a threshold, such as $R^2 \ge 0.97$ at $k = 1$. No level is known for these, so they have no such excuse.
#
# We chose most thresholds after seeing the data. Those that were fixed before a computation are in [docs/margins.md](../docs/margins.md).
#
# **Exercise 1.** Let each of 24 lines follow an exact law and be tested at the 2.5% level, independently. With which probability does at least one fail? To two decimals.
#
# <details><summary>Hint</summary>First find the probability that none fails.</details>

# %%
answer_1 = None  # a probability
draw.check(1, answer_1)

# %% [markdown]
# **Exercise 2, to discuss** (no check; see [the solutions](../docs/solutions/12_claims.md)). The lines of one family share their models, and those of one corpus share their text. Does this sharing make the probability of Exercise 1 larger or smaller? Why?
#
# <details><summary>Hint</summary>Think of the extreme case in which all lines are copies of one.</details>
#
# ## All claims, section by section
#
# The tables of notebooks 01 to 11:

# %%
draw.sections(claims)
