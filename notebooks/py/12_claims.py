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
from rbpkit.check import check_parameters
from rbpkit_notebooks import notebook_12 as draw
from rbpkit_notebooks.claims import VERDICTS

check_parameters(globals())

# %%
claims = draw.tables(figures_dir)
main_claims = claims[claims["main"]]

# %% [markdown]
# **Guess.** How many of the main claims hold as they are written: about a third, about two thirds, or nearly all? How many do not hold at all?
#
# A verdict judges the paper's own words by the points that the paper published, or by mathematics.
#
# - *Holds*: every case that the words speak of agrees.
# - *Holds in part*: some cases do. The table says how many.
# - *Does not hold*: none or hardly any do.
# - *Cannot be told*: the published numbers do not decide.

# %%
by_verdict = main_claims["verdict"].value_counts()
# A verdict that no claim has gets a zero
by_verdict = by_verdict.reindex(VERDICTS, fill_value=0)
by_verdict

# %%
draw.boxes(claims, "A third hold as written, most hold in part", figures_dir)

# %% [markdown]
# **About a third of the main claims hold as they are written, more than half hold in part, and hardly any do not hold at all.** Four of those that hold are premises or describe the set-up: two on the sizes of the models (notebook 01), one on ranks and probabilities (02), and one on what Table 1 reports (09).
#
# ## Seven claims, one line each

# %%
draw.headlines(claims)

# %% [markdown]
# The pocket models, the small ones that we trained, get the same tests. They never decide a verdict: models that saw 12 million tokens cannot contradict a sentence about the paper's models.
#
# ## How to read a single failure
#
# Cases of one table share models and text. So a count such as "22 of 24" describes the data. It is not a number of independent trials. It is also strict to ask that every case agrees. Suppose that 16 lines follow an exact law, that each is tested at the 2.5% level, and that the tests are independent. Then at least one line fails with this probability:

# %%
one_passes = 1 - 0.025
# Independent tests all pass with the product of their probabilities
all_pass = one_passes**16
round(1 - all_pass, 2)

# %% [markdown]
# So a single failing line says little against a claim. It changes the verdict from *holds* to *holds in part*, and the table says how many lines fail.
#
# We chose most thresholds, such as $R^2 \ge 0.97$ at $k = 1$, after seeing the data. Those that were fixed before a computation are in [docs/margins.md](../docs/margins.md).
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
