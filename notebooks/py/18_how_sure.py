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
# The first figure below shows nine language models of one family, Pythia. $S$ counts the parameters of a model, without the tables that turn *tokens* (words or parts of words) into numbers and back. $\mathrm{RBP}_k$ is the share of positions in a text at which the true next token is among the model's first $k$ guesses, and $-\ln \mathrm{RBP}_k$ is the *loss*. The paper ([Yue et al.](https://arxiv.org/abs/2510.20387)) publishes 16 such losses for each Pythia: on four texts, for $k$ = 1, 10, 50 and 100. We take the mean of their logarithms, so each model has one point.
#
# The points are close to a straight line. There is a tenth Pythia, with 12 billion parameters (12B).

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # of what was measured; empty: whatever is there
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
ks = [1, 10, 50, 100]  # k of the measured models
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %% tags=["hide-input"]
# Import what the notebook needs
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import PercentFormatter
from scipy.stats import chi2
from scipy.stats import t as student

from rbpkit import InputError, fit_power_law, fit_rbp_law, load_summaries, paper, plots
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.stats.bootstrap import resample
from rbpkit.stats.curves import models_of, published_curves
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, sealed
from rbpkit_pocket.paths import SUMMARIES

check_parameters(globals())

# %% [markdown]
# `published_curves` has the paper's points for one $k$, and `curve_points` puts them into a table: text (`corpus`), family, model, quantity, $S$ and loss.

# %%
tables = []
for k in [1, 10, 50, 100]:
    curves = published_curves(k)
    tables.append(plots.curve_points("published", curves.values()))
published = pd.concat(tables)


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
nine = pythia[:9]
tenth = pythia.iloc[9]
line = fit_power_law(nine.S, nine.loss)
by_line = line.predict(tenth.S)
no_change = nine.loss.iloc[-1]  # the loss of Pythia-6.9B

# %% tags=["hide-input"]
# Draw nine Pythias and two predictions of the tenth


def draw_pythias(axes, colour):
    """Nine Pythias, their line, and two predictions of the tenth (hollow)."""
    axes.plot(nine.S, line.predict(nine.S).loss, color=colour, lw=1.2)
    axes.plot(nine.S, nine.loss, "^", color=colour, ms=7)
    reach = np.array([nine.S.iloc[-1], tenth.S])
    axes.plot(reach, line.predict(reach).loss, ":", color=OTHER, lw=1.5)
    axes.plot(reach, [no_change, no_change], ":", color=OTHER, lw=1.5)
    axes.set(xscale="log", yscale="log", xlabel="$S$ (parameters)", ylabel="mean loss")
    predictions = [by_line.loss, no_change]
    axes.axvline(tenth.S, color=CONTEXT, lw=1.2, ls="--", zorder=0)
    axes.plot([tenth.S, tenth.S], predictions, "o", color=OTHER, mfc="white", ms=7)
    for loss, name in zip(predictions, ["A: the line", "B: the same as 6.9B"], strict=True):
        axes.annotate(name, (tenth.S, loss), (9, 0), textcoords="offset points", va="center")


colour = plots.ink_of("Pythia").colour
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.6), layout="constrained")
draw_pythias(axes, colour)
axes.set(xlim=(8e5, 2e10), ylim=(0.85 * by_line.loss, 1.15 * nine.loss.iloc[0]))
plots.log_ticks(axes)
axes.text(tenth.S * 0.85, nine.loss.iloc[0], "12B: ?", ha="right", va="center")
axes.set_title("Nine Pythias, and two guesses for the tenth", loc="left")
plots.show(figure)

# %% [markdown]
# **Guess first.** Which prediction of the 12B model is nearer to the truth: A, the line through nine models, or B, the same loss as the model before it, 6.9B (*no change*)?

# %%
error_of_line = 100 * (by_line.loss / tenth.loss - 1)
error_of_no_change = 100 * (no_change / tenth.loss - 1)
print(f"A, the line:      {error_of_line:+.1f}%")
print(f"B, same as 6.9B:  {error_of_no_change:+.1f}%")

# %% tags=["hide-input"]
# Draw the tenth Pythia
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.6), layout="constrained")
draw_pythias(axes, colour)
axes.plot([tenth.S, tenth.S], [by_line.low, by_line.high], color=CONTEXT, lw=8, zorder=0)
axes.plot(tenth.S, tenth.loss, "^", color=INK, ms=9)
axes.text(tenth.S * 1.15, tenth.loss, "12B", va="center")
axes.text(tenth.S * 0.95, by_line.low, "95%", ha="right", va="bottom", color=OTHER)
axes.set(xlim=(1.9e9, 4e10), ylim=(0.95 * by_line.low, 1.05 * nine.loss.iloc[7]))
plots.log_ticks(axes)
axes.set_xticks([2e9, 5e9, 1e10, 2e10], ["2B", "5B", "10B", "20B"])
axes.xaxis.minorticks_off()
axes.set_title("The tenth is nearer to \u201cno change\u201d", loc="left")
points = pythia.assign(predicted=line.predict(pythia.S).loss)
plots.save(figure, points, figures_dir, "18_tenth")

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
    fewest = max(3, len(series) // 2)
    for n in range(fewest, len(series)):
        small = series[:n]
        larger = series[n:].assign(n=n)
        line = fit_power_law(small.S, small.loss)
        promised = line.predict(larger.S)
        larger["decades"] = np.log10(larger.S / small.S.iloc[-1])
        # Below zero: the prediction is too low, so the model is worse than predicted
        larger["error"] = promised.loss / larger.loss - 1
        larger["low"] = promised.low / larger.loss - 1
        larger["high"] = promised.high / larger.loss - 1
        larger["no_change"] = small.loss.iloc[-1] / larger.loss - 1
        parts.append(larger)
    return pd.concat(parts)


# %% tags=["hide-input"]
# Add the pocket models, or yours, to the paper's points
mine = "yours" if records_dir else "pocket"
summaries = load_summaries(records_dir or SUMMARIES, checkpoint="last", say=print)
asked_families = families or sorted({summary.manifest.family for summary in summaries})
asked_corpora = corpus_names or sorted({summary.manifest.corpus for summary in summaries})
rows, absent = [], []
for corpus in asked_corpora:
    for family in asked_families:
        of_family = models_of(summaries, corpus, family)
        if not of_family:
            absent.append(f"{family} on {corpus}")
        for summary in of_family:
            for k in ks:
                with np.errstate(divide="ignore"):
                    loss = -np.log(summary.rbp(k))
                point = summary.manifest.model, summary.manifest.S
                rows.append((mine, corpus, family, f"RBP_{k}", *point, loss))
measured = pd.DataFrame(rows, columns="source corpus family quantity model S loss".split())
# An RBP of 1 or 0 has no place on the line
measured = measured.astype({"loss": float})  # without rows it would be of no type
measured = measured[(measured.loss > 0) & np.isfinite(measured.loss)]
losses = pd.concat([published, measured]) if len(measured) else published
if absent:
    print(f"Not measured: {', '.join(absent)}.")
series_of, too_few = {}, []
for key, points in losses.groupby(["source", "family"], sort=False):
    series = mean_series(points)
    try:
        fit_power_law(series.S[:3], series.loss[:3])
    except InputError:
        too_few.append(f"{key[1]} ({key[0]})")
        continue
    if len(series) < 4:
        too_few.append(f"{key[1]} ({key[0]})")
    else:
        series_of[key] = series
if too_few:
    print(f"Fewer than four sizes with a line, so nothing to predict: {', '.join(too_few)}.")

# %% [markdown]
# `series_of` has the mean series of each source (published or pocket) and family.

# %%
parts = []
for (source, family), series in series_of.items():
    part = ahead(series)
    parts.append(part.assign(source=source, family=family))
forecasts = pd.concat(parts, ignore_index=True)

# The largest model of each family, from all the others
most = forecasts.groupby(["source", "family"]).n.transform("max")
largest = forecasts[forecasts.n == most]
line_error = largest.error.abs()
no_change_error = largest.no_change.abs()
nearer = (no_change_error < line_error).sum()
print(f"no change is nearer in {nearer} of {len(largest)} series")

# %% tags=["hide-input"]
# Draw both errors in every series
shown = largest.assign(line=100 * line_error, no_change=100 * no_change_error)
shown = shown.sort_values("line", ascending=True).reset_index(drop=True)
with plots.style():
    figure, axes = plt.subplots(
        figsize=(plots.WIDTH, 0.36 * len(shown) + 1.4), layout="constrained"
    )
for row in shown.itertuples():
    axes.plot([row.line, row.no_change], [row.Index, row.Index], color=CONTEXT, lw=3, zorder=0)
    axes.plot(row.line, row.Index, "o", color=INK, ms=8)
    axes.plot(row.no_change, row.Index, "s", color=OTHER, ms=7)
names = shown.family.map(plots.name_of) + ", " + shown.source
axes.set_yticks(shown.index, names)
axes.text(shown.line[0], -0.75, "↑ line", ha="center", va="center")
axes.text(shown.no_change[0], -0.75, "↑ no change", ha="center", va="center", color=OTHER)
axes.set(
    xlim=(0, None),
    ylim=(-1.2, len(shown) - 0.5),
    xlabel="size of the error for the largest model (%)",
)
axes.set_title(f"No change is nearer in {nearer} of {len(shown)} series", loc="left")
columns = ["source", "family", "n", "model", "decades", "error", "low", "high", "no_change"]
plots.save(figure, largest[columns], figures_dir, "18_largest")

# %% [markdown]
# *Each row: the largest model of a family, predicted from all the others.*
#
# **In six of eight series the line is nearer than "no change", mostly by far. In two it is not, and both are Pythia.**
#
# ## How sure could we have been?
#
# The fewer points a line has, and the less they span, the less we know its slope. Small changes of four points turn the line much; small changes of nine points turn it little.

# %% tags=["hide-input"]
# Draw the idea: nine points and four, with the same scatter
off = np.array([0.3, -0.4, 0.1, 0.35, -0.3, -0.1, 0.4, -0.35, 0.1]) * 0.09
with plots.style():
    figure, grid = plt.subplots(1, 2, figsize=(plots.WIDTH, 2.6), sharey=True, layout="constrained")
for axes, chosen in zip(grid, [np.arange(9), np.arange(4) * 2 + 2], strict=True):
    x = chosen.astype(float)
    idea = fit_power_law(np.exp(x), np.exp(-0.1 * x + off[chosen]))
    reach = np.linspace(x.max(), 11, 30)
    beam = idea.predict(np.exp(reach))
    axes.fill_between(reach, np.log(beam.low), np.log(beam.high), color=CONTEXT)
    axes.plot([0, 11], np.log(idea.predict(np.exp([0.0, 11.0])).loss), color=OTHER, lw=1)
    axes.plot(x, -0.1 * x + off[chosen], "o", color=INK, ms=6)
    axes.set(xticks=[], yticks=[], ylim=(-1.75, 0.25), xlabel="$\\log S$")
    axes.set_title(f"{len(chosen)} models", loc="left")
grid[0].set_ylabel("$\\log$ loss")
plots.show(figure)

# %% [markdown]
# *A sketch with invented points, equally scattered. Pale: where one more model should lie (95%).*
#
# The line is a *power law*, $\text{loss} = C\,S^{-\alpha}$, and $\alpha$ is its *exponent*. Suppose that models scatter independently about it. Then the 95% interval of the exponent is $\alpha \pm \Delta\alpha$. The formula below gives $\Delta\alpha$, with $t_{n-2}$ the 97.5% quantile of Student's $t$. Two numbers decide its relative width: the number $n$ of models, and $R^2$, the share of the variance of $\ln$ loss that the line explains:
#
# $$\frac{\Delta\alpha}{\alpha} = t_{n-2}\sqrt{\frac{1/R^2 - 1}{n - 2}}.$$
#
# So Table 1 of the paper, which has $R^2$ but no intervals, still says how well each exponent is known.

# %%
# Table 1 prints one slope as 0, which has no relative width
table1 = paper.table1().query("slope != 0")
sizes_of_family = paper.models().groupby("family").size()
n = table1.family.map(sizes_of_family)
t = student.ppf(0.975, n - 2)
width = t * np.sqrt((1 / table1.r2 - 1) / (n - 2))
widths = table1.assign(n=n, width=width)

# %%
small_k = widths[widths.k.isin(["1", "10", "100"])]
by_family = small_k.groupby(["family", "n"])["width"]
print("half the 95% interval over the exponent, k = 1 to 100, six texts")
print(by_family.agg(["min", "median", "max"]).round(2).to_string())

# %% tags=["hide-input"]
# Draw the widths of Table 1 for small k
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.4), layout="constrained")
AXIS_END = 1.2
place_of_k = {"1": -0.22, "10": 0, "100": 0.22}
for place, family in enumerate(paper.FAMILIES):
    ink = plots.ink_of(family)
    for k, shift in place_of_k.items():
        part = small_k[(small_k.family == family) & (small_k.k == k)]
        x = place + shift
        median = part.width.median()
        axes.plot([x - 0.08, x + 0.08], [median, median], color=ink.colour, lw=2)
        seen = part.width[part.width < AXIS_END]
        axes.plot([x] * len(seen), seen, ink.marker, color=ink.colour, ms=4, mec="white", mew=0.4)
        for beyond in part.width[part.width >= AXIS_END]:
            arrow = {"arrowstyle": "->", "color": ink.colour}
            axes.annotate("", (x, 1.2), (x, 1.08), arrowprops=arrow)
            axes.text(x + 0.05, 1.14, f"{beyond:.0%}", va="center", color=ink.colour)
        axes.text(x, -0.02, k, ha="center", va="top")
axes.axhline(1, color=OTHER, lw=0.8)
axes.text(3.45, 1.02, "above: the interval contains 0", ha="right", va="bottom", color=OTHER)
names = [f"{plots.name_of(f)}, {sizes_of_family[f]} models" for f in paper.FAMILIES]
axes.set_xticks(range(4), names)
axes.tick_params(axis="x", pad=16, length=0)
axes.text(-0.5, -0.02, "$k$", ha="center", va="top")
axes.set(xlim=(-0.5, 3.5), ylim=(0, AXIS_END), ylabel=r"$\Delta\alpha/\alpha$")
axes.yaxis.set_major_formatter(PercentFormatter(1))
axes.set_title("Ten models fix an exponent, four do not", loc="left")
plots.save(figure, widths.drop(columns="slope"), figures_dir, "18_widths")

# %% [markdown]
# *$\Delta\alpha/\alpha$ of each line in Table 1 with $k$ = 1, 10 or 100. A mark is a text, a bar the median of six.*
#
# **For $k$ up to 100, ten Pythias fix an exponent to 7% (median; 15% at worst), and four GPT-2 models to about 40%, although their lines look straight.**
#
# **Exercise 1.** Table 1 prints $R^2 = 0.947$ for one line of GPT-2. How wide is half the 95% interval, as a share of the exponent? Give two decimals.
#
# <details><summary>Hint</summary>Four models, and $t_2 = 4.303$.</details>

# %%
answer_1 = None  # a share, such as 0.35

# %% tags=["hide-input"]
# Check exercise 1
mistakes = [
    (lambda answer: answer / 2, "Nearly: this is the whole interval; give half of it."),
    (lambda answer: answer * 4.303, "Nearly: multiply by the quantile of Student's t."),
]
print(check(1, answer_1, sealed("209c9aa4", digits=2), mistakes))

# %% [markdown]
# ## And further ahead?
#
# > **The paper.** "Scaling laws aim to accurately predict model performance across different scales" (Abstract)
#
# With $x = \ln S$, mean $\bar x$ and residual standard deviation $s$, the 95% interval for one new model is
#
# $$\ln \hat L \pm t_{n-2}\, s \sqrt{1 + \frac1n + \frac{(x - \bar x)^2}{\sum_i (x_i - \bar x)^2}}.$$
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

# %% tags=["hide-input"]
# Draw every prediction of a larger published model
with plots.style():
    figure, axes = plt.subplots(figsize=(plots.WIDTH, 4.0), layout="constrained")
axes.axhline(0, color=INK, lw=1, zorder=1)
for family, part in paper_only.groupby("family", sort=False):
    ink = plots.ink_of(family)
    low, high = 100 * part.low.clip(lower=-0.32), 100 * part.high.clip(upper=0.2)
    if family == "Pythia":  # the others' intervals, from 3 or 4 models, leave the panel
        axes.vlines(part.decades, low, high, color=CONTEXT, lw=5, zorder=0)
    zorder = 2 if family == "Pythia" else 3  # so that Pythia hides none
    look = {"color": ink.colour, "ms": 7, "mec": "white", "mew": 0.5, "zorder": zorder}
    axes.plot(part.decades, 100 * part.error, ink.marker, **look)
labelled = {"GPT2": (-44, -4), "OPT": (8, -4), "Pythia": (-4, -22), "Qwen": (6, 5)}
for family, shift in labelled.items():
    end = paper_only[paper_only.family == family].nlargest(1, "decades").iloc[0]
    axes.annotate(
        plots.name_of(family), (end.decades, 100 * end.error), shift,
        textcoords="offset points", color=plots.ink_of(family).colour,
    )  # fmt: skip
of_pythia = paper_only[paper_only.family == "Pythia"]
for size, name in {nine.S.iloc[-1]: "6.9B", tenth.S: "12B"}.items():
    for row in of_pythia[of_pythia.S == size].itertuples():
        place = row.decades, 100 * row.error
        axes.annotate(name, place, (6, 0), textcoords="offset points", va="center")
axes.text(0.02, 15, "prediction too high", color=OTHER)
axes.text(0.02, -28, "prediction too low", color=OTHER)
axes.set(xlim=(0, 1.75), ylim=(-30, 18), xlabel="decades of $S$ beyond the largest model fitted")
axes.set_ylabel("predicted / measured, less 1 (%)")
axes.set_title("The line is too low for every larger Pythia", loc="left")
plots.save(figure, forecasts, figures_dir, "18_horizon")

# %% [markdown]
# *One mark for each larger model and each set of smaller ones that predicts it. Pale: 95% intervals of Pythia. The marks are not independent, since the same models occur in many of them.*
#
# **More than half a decade ahead, the line's predictions for Pythia are up to 13% too low, and five of nine intervals miss the truth.** All five are predictions of 6.9B or 12B. The intervals are too narrow because they assume that the losses stay on the line. Still, the line is the better forecast. Beyond half a decade its median error is smaller than that of "no change" in every family that reaches so far, and in most no more than half of it.
#
# **Exercise 2.** Fit the published Pythias on Wiki at $k$ = 1 without the two largest. What is the line's error for the 12B model, in percent? Give one decimal.
#
# <details><summary>Hint</summary>`curve = paper.points("Wiki", "Pythia", 1)` has `S` and `loss`; `fit_power_law(...).predict(...)` has `.loss`.</details>

# %%
answer_2 = None  # percent

# %% tags=["hide-input"]
# Check exercise 2
mistakes = [
    (
        lambda answer: -100 * answer / (100 + answer),
        "Nearly: divide the prediction by the measured loss, not the other way round.",
    ),
]
print(check(2, answer_2, sealed("bcb1e823", digits=1), mistakes))

# %% [markdown]
# **Exercise 3, to discuss.** Let the line start from three models in every family (`range(3, len(series))`). What do the three or four smallest Pythias predict for the middle sizes, and what for 12B? Which assumption of the $t$ interval is then wrong?
#
# <details><summary>Hint</summary>Look at the signs of the errors as the distance grows. Independent scatter would give signs without a pattern.</details>
#
# ## Further questions
#
# <details><summary>How sure are the exponents of larger k, and of CE?</summary>
#
# Exponents of large $k$ are less sure: at $k$ = 10,000 half the interval of one Pythia line is 56% of the exponent. Those of CE (the mean of $-\ln p$, with $p$ the probability of the true token) are about as sure as those of small $k$, except for GPT-2.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Table: half the interval over the exponent, for every quantity of Table 1
by_quantity = widths.groupby(["family", "k"], sort=False).width
every_k = by_quantity.agg(["median", "max"]).unstack("family")
print("half the 95% interval over the exponent: median and largest of six texts")
print(every_k.round(2).to_string())

# %% [markdown]
# <details><summary>Would more text help, or more models?</summary>
#
# For OPT, Pythia and Qwen more models would help. Other models might scatter differently (we use $t$), and the text is a sample (we resample its source modules). For these families the first makes an exponent less sure than the second. For GPT-2 the text is the larger error in half of the cases. But five models do not tell their scatter well: the true one may be almost four times what is seen. So this is undecided. All models share each draw of modules. With separate draws the text's error would double or treble, because a hard module raises all losses together.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Figure and table: two kinds of intervals of an exponent
rows, refused = [], []
for corpus in asked_corpora:
    for family in asked_families:
        of_family = models_of(summaries, corpus, family)
        if not of_family:
            continue
        for k in ks:
            sizes = [summary.manifest.S for summary in of_family]
            try:
                fit = fit_rbp_law(sizes, [summary.rbp(k) for summary in of_family])
                draws = resample(of_family, [k]).loss[:, :, 0]  # (draws, n): -log RBP_k
            except InputError as error:
                refused.append(f"{family} on {corpus}, k = {k}: {error}")
                continue
            x = np.log(sizes) - fit.mean_log_S
            alphas = -np.log(draws) @ x / (x @ x)  # an exponent for each draw
            text = np.quantile(alphas, [0.025, 0.975])
            row = (corpus, family, k, fit.n, fit.alpha, *fit.alpha_interval, *text)
            rows.append((*row, fit.slope_se, alphas.std(ddof=1)))
names = "corpus family k n alpha models_low models_high text_low text_high models_SE text_SE"
exponents = pd.DataFrame(rows, columns=names.split())
if refused:
    print(f"No exponent in {len(refused)} cases; the first: {refused[0]}")
if len(exponents):
    ratio = exponents.text_SE / exponents.models_SE
    print("standard error of alpha: other text / other models, over texts and k")
    by_family = ratio.groupby(exponents.family, sort=False)
    print(by_family.agg(["min", "median", "max"]).round(2).to_string())
    df = exponents.n.min() - 2
    low, high = np.sqrt(df / chi2.ppf([0.975, 0.025], df))
    print(f"scatter of {df + 2} models: 95% from {low:.1f} to {high:.1f} times what is seen")

    first = exponents[exponents.k == exponents.k.min()].reset_index(drop=True)
    with plots.style():
        height = 0.28 * len(first) + 1.3
        figure, axes = plt.subplots(figsize=(plots.WIDTH, height), layout="constrained")
    for row in first.itertuples():
        ink = plots.ink_of(row.family)
        axes.plot([row.text_low, row.text_high], [row.Index] * 2, color=CONTEXT, lw=9, zorder=0)
        axes.plot([row.models_low, row.models_high], [row.Index] * 2, color=ink.colour, lw=1.4)
        axes.plot(row.alpha, row.Index, ink.marker, color=ink.colour, ms=6)
    labels = first.family.map(plots.name_of) + ", " + first.corpus.map(plots.short)
    axes.set_yticks(first.index, labels)
    left = max(0, first.models_low.min() - 0.01)
    right = min(first.models_high.max(), 2 * first.alpha.max()) + 0.01
    axes.set(xlim=(left, right), ylim=(len(first) - 0.5, -0.5))
    axes.set_xlabel(f"exponent at $k$ = {first.k[0]:,} (line: other models; pale: other text)")
    axes.set_title("Two reasons to be unsure of an exponent", loc="left")
    plots.save(figure, exponents, figures_dir, "18_exponents")

# %% [markdown]
# <details><summary>How often is the largest model inside the interval?</summary>
#
# Nearly always, and that proves little: nearly all intervals of the published GPT-2 and OPT also hold "no change", so they cannot tell the two apart. Pythia's can, and there the line is too low in all 16 cases. Of 80 predictions of 6.9B and 12B from six to eight smaller Pythias (median $R^2$ 0.995), all are too low, and 38 intervals hold the truth. That is one finding about two models.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Table: each text and k by itself
keys = ["source", "family", "corpus", "quantity"]
parts = []
for key, points in losses.groupby(keys, sort=False):
    one_series = points.sort_values("S")[["S", "model", "loss"]]
    try:
        parts.append(ahead(one_series).assign(**dict(zip(keys, key, strict=True))))
    except (InputError, ValueError):  # no line, or no larger model
        continue
cells = pd.concat(parts, ignore_index=True)
cells["inside"] = (cells.low <= 0) & (cells.high >= 0)
cells["holds no change"] = cells.no_change.between(cells.low, cells.high)
cells["too low"] = cells.error < 0
last = cells[cells.n == cells.groupby(keys).n.transform("max")]
last = last.groupby(["source", "family"], sort=False)
table = last[["inside", "holds no change", "too low"]].sum()
table.insert(0, "cells", last.size())
print("the largest model from all the others, for each text and k")
print(table.to_string())
longest = cells[(cells.source == "published") & cells.n.between(6, 8) & (cells.decades > 0.5)]
print(
    f"Pythia from its 6 to 8 smallest, over half a decade ahead: {len(longest)} predictions;",
    end=" ",
)
too_low = longest["too low"].sum()
print(f"too low: {too_low}; inside: {longest.inside.sum()}")

# %% [markdown]
# <details><summary>From which distance on is the line better than "no change"?</summary>
#
# From half a decade on, in every family. Nearer, "no change" is sometimes better. From a quarter to half a decade its error for pocket Pythia is 6.1%, and the line's 7.5%. The line is too low for the large pocket Pythias, as for the published ones.
#
# </details>

# %% tags=["hide-input", "hide-output"]
# Table: median size of the error, by distance
steps = pd.cut(forecasts.decades, [0, 0.25, 0.5, 1, 2]).rename("distance")
sizes = forecasts.assign(
    line=100 * forecasts.error.abs(), no_change=100 * forecasts.no_change.abs()
)
by_distance = sizes.groupby(["source", "family", steps], observed=True)
medians = by_distance[["line", "no_change"]].median().assign(predictions=by_distance.size())
print("median error in percent, by decades beyond the largest model fitted")
print(medians.round(1).to_string())

# %% [markdown]
# ## The paper says, and we get
#
# A line is a useful forecast, and tends to be too low. That it is too low for large Pythias is one finding about one recipe. All Pythias read equally many tokens, so the large ones may need more text ([notebook 16](16_published_models.ipynb)). More than half a decade ahead, the paper's GPT-2, OPT and Qwen have one prediction or none.
#
# **Related.** [Besiroglu et al.](https://arxiv.org/abs/2404.10102) find the printed intervals of Hoffmann et al.'s scaling law far too narrow. [Notebook 09](09_appendix_B_table1.ipynb) has all cells of Table 1.
#
# [Glossary](../docs/glossary.md)
