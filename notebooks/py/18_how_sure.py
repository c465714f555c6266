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
# # How sure is a line? The tenth Pythia
#
# You have trained nine models, and the next one is the most expensive. You would like to know beforehand how good it will be. A straight line through the nine seems to tell you.
#
# The first figure below shows such a case: nine language models of one family, Pythia. $S$ counts the parameters of a model, without the tables that turn *tokens* (words or parts of words) into numbers and back. $\mathrm{RBP}_k$ is the share of positions in a text at which the true next token is among the model's first $k$ guesses, and $-\log \mathrm{RBP}_k$, in natural logarithms, is the *loss*. The paper ([Yue et al.](https://arxiv.org/abs/2510.20387)) publishes 16 such losses for each Pythia: on four texts, for $k$ = 1, 10, 50 and 100. We take the mean of their logarithms, so each model has one point.
#
# The points are close to a straight line. There is a tenth Pythia, with 12 billion parameters (12B).

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # of what was measured; empty: whatever is there
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
ks = [1, 10, 50, 100]  # k of the measured models
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd
from scipy.stats import t

from rbpkit import fit_power_law, paper, plots
from rbpkit.check import check_parameters
from rbpkit.curves import published_curves
from rbpkit_notebooks import notebook_18 as draw
from rbpkit_notebooks import tables_18 as tables

check_parameters(globals())

# %% [markdown]
# `published_curves` has the paper's points for one $k$, and `curve_points` puts them into a table: text (`corpus`), family, model, quantity, $S$ and loss.
#
# *[What this notebook draws](../notebooks/rbpkit_notebooks/notebook_18.py).*

# %%
parts = []
for k in [1, 10, 50, 100]:
    curves = published_curves(k)
    parts.append(plots.curve_points("published", curves.values()))
published = pd.concat(parts)


# %%
def mean_series(losses):
    """One loss for each size: exp of the mean logarithm over texts and k."""
    curves = ["corpus", "quantity"]
    by_size = losses.pivot_table("loss", index=["S", "model"], columns=curves)
    # Your own records may lack a size on some text
    complete = by_size.dropna(axis="columns")
    mean = np.log(complete).mean(axis="columns")
    return np.exp(mean).rename("loss").reset_index()


# %%
pythia = mean_series(published[published.family == "Pythia"])
nine = pythia[:9]  # by rising size
tenth = pythia.iloc[9]
line = fit_power_law(nine.S, nine.loss)
by_line = line.predict(tenth.S)
no_change = nine.loss.iloc[-1]  # the loss of Pythia-6.9B

draw.guess(nine, tenth, line, no_change)

# %% [markdown]
# **Guess first.** Which prediction of the 12B model is nearer to the truth: A, the line through nine models, or B, the same loss as the model before it, 6.9B (*no change*)?

# %%
error_of_line = 100 * (by_line.loss / tenth.loss - 1)
error_of_no_change = 100 * (no_change / tenth.loss - 1)
print(f"A, the line:      {error_of_line:+.1f}%")
print(f"B, same as 6.9B:  {error_of_no_change:+.1f}%")

draw.answer(pythia, line, no_change, figures_dir)

# %% [markdown]
# *The right end of the figure above, enlarged. The pale bar is the line's 95% interval for one more model.*
#
# **For Pythia-12B the line through nine Pythias is 8.7% too low, and "no change" is only 4.3% too high.** The tenth model is just inside the line's interval. Is "no change" nearer in other families, too?
#
# ## Is a line worth having?
#
# In every family a line through the $n$ smallest models predicts each larger one. We begin with half of the models (at least three), and end with all except the largest. The paper has four families. The *pocket models*, small models that we trained ourselves, are four more.
#
# An error is predicted over measured loss, less 1. It is positive if the prediction is too high, and negative if it is too low.


# %%
def ahead(series):
    """Every larger model, predicted from the n smallest; errors as shares of its loss."""
    parts = []
    fewest = max(3, len(series) // 2)  # two points are on any line
    for n in range(fewest, len(series)):
        small = series[:n]
        larger = series[n:].assign(n=n)
        line = fit_power_law(small.S, small.loss)
        promised = line.predict(larger.S)
        largest_fitted = small.iloc[-1]
        larger["decades"] = np.log10(larger.S / largest_fitted.S)
        # Below zero: the prediction is too low, so the model is worse than predicted
        larger["error"] = promised.loss / larger.loss - 1
        larger["low"] = promised.low / larger.loss - 1
        larger["high"] = promised.high / larger.loss - 1
        larger["no_change"] = largest_fitted.loss / larger.loss - 1
        parts.append(larger)
    return pd.concat(parts)


# %% [markdown]
# `losses` has the published losses and those of the pocket models. `series_of` has the mean series of each source (published or pocket) and family.

# %%
# Yours, if you have named a folder of records
study = tables.read_study(records_dir, families, corpus_names)
measured = tables.read_losses(study, ks)
losses = pd.concat([published, measured])
series_of = tables.long_enough(losses, ["source", "family"], mean_series)

# %%
parts = []
for (source, family), series in series_of.items():
    # Each family on its own: another one may lie higher
    part = ahead(series)
    parts.append(part.assign(source=source, family=family))
forecasts = pd.concat(parts, ignore_index=True)

# The largest model of each family, from all the others
most = forecasts.groupby(["source", "family"]).n.transform("max")
largest = forecasts[forecasts.n == most]
# Too high or too low does not matter here
line_error = largest.error.abs()
no_change_error = largest.no_change.abs()
nearer = (no_change_error < line_error).sum()
print(f"no change is nearer in {nearer} of {len(largest)} series")

draw.largest(largest, figures_dir)

# %% [markdown]
# *Each row: the largest model of a family, predicted from all the others.*
#
# **In six of eight series the line is nearer than "no change", mostly by far. In two it is not, and both are Pythia.**
#
# ## How sure could we have been?
#
# The fewer points a line has, and the less they span, the less we know its slope. Small changes of four points turn the line much; small changes of nine points turn it little.

# %%
draw.idea()

# %% [markdown]
# *A sketch with invented points, equally scattered. Pale: where one more model should lie (95%).*
#
# The line is a *power law*, $\text{loss} = C\,S^{-\alpha}$, and $\alpha$ is its *exponent*. Suppose that the true law is straight, and that models scatter independently about it. Then the 95% interval of the exponent is $\alpha \pm \Delta\alpha$. The formula below gives $\Delta\alpha$, with $t_{n-2}$ the 97.5% quantile of Student's $t$. Two numbers decide its relative width: the number $n$ of models, and $R^2$, the share of the variance of $\log$ loss that the line explains:
#
# $$\frac{\Delta\alpha}{\alpha} = t_{n-2}\sqrt{\frac{1/R^2 - 1}{n - 2}}.$$
#
# So from Table 1 of the paper, which has $R^2$ but no intervals, we get the intervals, *if the line is straight*.

# %%
# Table 1 prints one slope as 0, which has no relative width
table1 = paper.table("table1").query("slope != 0")
sizes_of_family = paper.table("models").groupby("family").size()
n = table1.family.map(sizes_of_family)
# n models fix two numbers of the line, so n - 2 are left for the scatter
quantile = t.ppf(0.975, n - 2)
unexplained = 1 / table1.r2 - 1
width = quantile * np.sqrt(unexplained / (n - 2))
widths = table1.assign(n=n, width=width)

# %%
small_k = widths[widths.k.isin(["1", "10", "100"])]
by_family = small_k.groupby(["family", "n"])["width"]
print("half the 95% interval over the exponent, k = 1 to 100, six texts")
print(by_family.agg(["min", "median", "max"]).round(2))

draw.widths(widths, small_k, sizes_of_family, figures_dir)

# %% [markdown]
# *$\Delta\alpha/\alpha$ of each line in Table 1 with $k$ = 1, 10 or 100. A mark is a text, a bar the median of six.*
#
# **If the lines were straight, ten Pythias would fix an exponent to 7% (median; 15% at worst), and four GPT-2 models only to about 40%, for $k$ up to 100.**
#
# **Exercise 1.** Table 1 prints $R^2 = 0.947$ for one line of GPT-2. How wide is half the 95% interval, as a share of the exponent? Give two decimals.
#
# <details><summary>Hint</summary>Four models, and $t_2 = 4.303$.</details>

# %%
answer_1 = None  # a share, such as 0.35
draw.check(1, answer_1)

# %% [markdown]
# ## But is the line straight?
#
# If it is, the five larger Pythias have the exponent of the five smaller ones. We look at the mean series, and leave out each model in turn.

# %%
parts = {"all ten": pythia, "smaller five": pythia[:5], "larger five": pythia[5:]}
for name, part in parts.items():
    fit = fit_power_law(part.S, part.loss)
    low, high = fit.alpha_interval
    print(f"{name:12} exponent {fit.alpha:.3f}, interval {low:.3f} to {high:.3f}")

# %%
# Does one model make the difference?
middle = pythia.S[4]
ratios = []
for one in pythia.index:
    others = pythia.drop(one)
    larger = others[others.S > middle]
    of_larger = fit_power_law(larger.S, larger.loss)
    of_all = fit_power_law(others.S, others.loss)
    ratios.append(of_larger.alpha / of_all.alpha)
print(f"larger over all, one left out: {min(ratios):.2f} to {max(ratios):.2f}")

# %% [markdown]
# **It is not straight: the larger five have an exponent of 0.086, a third smaller than the 0.128 of all ten, and the intervals of the two halves do not overlap.** No single model makes the difference. So 7% is how well ten models would fix the exponent of a straight line, and not how well we know that of Pythia.
#
# ## And further ahead?
#
# > **The paper.** "Scaling laws aim to accurately predict model performance across different scales" (Abstract)
#
# With $x = \log S$, mean $\bar x$ and residual standard deviation $s$, the 95% interval for one new model is
#
# $$\log \hat L \pm t_{n-2}\, s \sqrt{1 + \frac1n + \frac{(x - \bar x)^2}{\sum_i (x_i - \bar x)^2}}.$$
#
# `ahead` has it for every larger model. The next figure has all predictions of published models, up to 1.6 *decades* (powers of ten) of $S$ beyond the models that were fitted.

# %%
paper_only = forecasts[forecasts.source == "published"]
far = paper_only[paper_only.decades > 0.5]
pythia_far = far[far.family == "Pythia"]
missed = (pythia_far.high < 0).sum()  # even the upper end is too low
worst = -100 * pythia_far.error.min()
print(f"Pythia, over half a decade ahead: {len(pythia_far)} predictions,")
print(f"too low by up to {worst:.0f}%; {missed} intervals miss the truth")

draw.horizon(forecasts, figures_dir)

# %% [markdown]
# *One mark for each larger model and each set of smaller ones that predicts it. Pale: 95% intervals of Pythia. The marks are not independent, since the same models occur in many of them.*
#
# **More than half a decade ahead, the line's predictions for Pythia are up to 13% too low, and five of nine intervals miss the truth.** All five are predictions of 6.9B or 12B. These intervals assume a straight line, and Pythia's bends. Still, the line is the better forecast. Beyond half a decade its median error is smaller than that of "no change" in every family that reaches so far, and in most no more than half of it.
#
# **Exercise 2.** Fit the published Pythias on Wiki at $k$ = 1 without the two largest. What is the line's error for the 12B model, in percent? Give one decimal.
#
# <details><summary>Hint</summary><code>curve = published_curves(1)["Wiki", "Pythia"]</code> has <code>S</code> and <code>loss</code>; <code>fit_power_law(...).predict(...)</code> has <code>.loss</code>.</details>

# %%
answer_2 = None  # percent
draw.check(2, answer_2)

# %% [markdown]
# **Exercise 3, to discuss.** Let the line start from three models in every family (`range(3, len(series))`). What do the three or four smallest Pythias predict for the middle sizes, and what for 12B? Which assumption of the $t$ interval is then wrong?
#
# <details><summary>Hint</summary>Look at the signs of the errors as the distance grows. Independent scatter would give signs without a pattern.</details>
#
# ## Further questions
#
# <details><summary>How sure are the exponents of larger k, and of CE?</summary>
#
# Exponents of large $k$ are less sure: at $k$ = 10,000 half the interval is 11% of Pythia's exponent (median), and more than GPT-2's whole one. Those of CE (the mean of $-\log p$, with $p$ the probability of the true token) are about as sure as those of small $k$, except for GPT-2.
#
# </details>

# %%
by_quantity = widths.groupby(["k", "family"], sort=False).width
print(by_quantity.median().unstack("family").round(2))

# %% [markdown]
# <details><summary>From which distance on is the line better than "no change"?</summary>
#
# From half a decade on, in every family. Nearer, "no change" is sometimes better. From a quarter to half a decade its error for pocket Pythia is 6.1%, and the line's 7.5%. The line is too low for the large pocket Pythias, as for the published ones.
#
# </details>

# %%
# How far ahead, in decades of S
steps = pd.cut(forecasts.decades, [0, 0.25, 0.5, 1, 2])
sizes = 100 * forecasts[["error", "no_change"]].abs()
by_distance = sizes.groupby([forecasts.family, forecasts.source, steps], observed=True)
print(by_distance.median().round(1))

# %% [markdown]
# ## What to keep
#
# **A line is a useful forecast, and an interval that assumes a straight line is too narrow. The larger five Pythias have an exponent a third smaller than all ten, so the line is too low for the next one.**
#
# **What stays open.** This is one family with one recipe. All Pythias read equally many tokens, so the large ones may need more text; [notebook 16](16_published_models.ipynb) has more series that bend. More than half a decade ahead, the paper's GPT-2, OPT and Qwen have one prediction or none.
#
# **Related.** [Besiroglu et al.](https://arxiv.org/abs/2404.10102) find the printed intervals of Hoffmann et al.'s scaling law far too narrow. [Notebook 09](09_appendix_B_table1.ipynb) has all cells of Table 1.
#
# [Glossary](../docs/glossary.md)
