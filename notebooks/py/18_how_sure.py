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
# # How sure is an exponent, and how far ahead does the line predict?
#
# **The question.** The paper draws lines through four to ten models and prints slopes without intervals. How well do so few points fix an exponent? And if you knew the small models only, would the line tell you how good the large ones are?
#
# > **The paper.** "Scaling laws aim to accurately predict model performance across different scales" (Abstract)
#
# **Guess first.** For GPT2 the paper's Table 1 prints lines through four models with $R^2 = 0.98$. How wide is the 95% interval of such an exponent: plus or minus 2%, 10% or 40%?
#
# **The surprise.** A straight line does not guarantee a good prediction. The lines through the small Pythias have a median $R^2$ of 0.995. Still both models far beyond them are worse than predicted, on each of the four corpora that the paper plots.
#
# [Glossary](../docs/glossary.md)

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
ks = [1, 10, 50, 100]  # k of the measured models
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import chi2
from scipy.stats import t as student

from rbpkit import InputError, fit_power_law, fit_rbp_law, load_summaries, paper, plots
from rbpkit.stats.bootstrap import resample
from rbpkit.stats.curves import models_of, published_curves
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, sealed
from rbpkit_pocket.paths import DATA, SUMMARIES

check_parameters(globals())
mine = "measured" if records_dir else "pocket models"
summaries = load_summaries(records_dir or SUMMARIES)

# %% [markdown]
# ## What $R^2$ says about an exponent
#
# Suppose that the models of a family scatter independently about their line, with a normal distribution. Then Student's $t$ gives the 95% interval of the exponent. As a share of the exponent, half of that interval depends on $R^2$ and on the number $n$ of models alone:
#
# $$\frac{\Delta\alpha}{\alpha} = t_{n-2}\sqrt{\frac{1/R^2 - 1}{n - 2}}.$$
#
# So Table 1, which prints no intervals, still says how well each exponent is known.

# %%
table1 = paper.table1().query("slope != 0")  # a slope that is printed as 0 has no relative width
n = table1["family"].map(paper.models().groupby("family").size())
width = student.ppf(0.975, n - 2) * np.sqrt((1 / table1["r2"] - 1) / (n - 2))
widths = table1.assign(n=n, width=width)

guess = student.ppf(0.975, 2) * np.sqrt((1 / 0.98 - 1) / 2)
print(f"four models with R2 = 0.98: plus or minus {guess:.0%}\n")
small_k = widths[widths["k"].isin(["1", "10", "100"])]
print("half the 95% interval over the exponent, k = 1 to 100, six corpora")
print(small_k.groupby(["family", "n"])["width"].agg(["min", "median", "max"]).round(2))

# %% tags=["hide-input"]
order = list(dict.fromkeys(widths["k"]))
with plots.style():
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for place, family in enumerate(paper.FAMILIES):
        part, ink = widths[widths["family"] == family], plots.ink_of(family)
        x = part["k"].map(order.index) + 0.18 * (place - 1.5)
        axes.plot(x, part["width"], ink.marker, color=ink.colour, ms=5, mec="white", mew=0.5)
    axes.axhline(1, color="black", lw=0.8)
    axes.set(yscale="log", yticks=[0.03, 0.1, 0.3, 1, 3, 10, 30])
    axes.set_yticklabels(["3%", "10%", "30%", "100%", "300%", "1,000%", "3,000%"])
    axes.set_xticks(range(len(order)), [k if k == "CE" else f"{int(k):,}" for k in order])
    axes.grid(axis="x", visible=False)
    axes.set(xlabel="CE, and $k$ of $-\\log\\,\\mathrm{RBP}_k$", ylabel=r"$\Delta\alpha/\alpha$")
    handles = plots.family_marks(paper.FAMILIES)
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
plots.save(figure, widths.drop(columns="slope"), figures_dir, "18_widths")

# %% [markdown]
# *Half the 95% interval of each exponent in Table 1, as a share of the exponent. A marker is a corpus. Above the black line the interval contains zero.*
#
# The number of models matters most. Ten Pythias fix an exponent to 7% (median), and to 15% in the worst case. Four GPT-2 models leave it open by about 40%, although their lines look straight.
#
# **Exercise 1.** Table 1 prints $R^2 = 0.947$ for one line of GPT2, which has four models. How wide is half the 95% interval, as a share of the exponent? Give two decimals.
#
# <details><summary>Hint</summary>$t_2 = 4.303$.</details>

# %%
answer_1 = None  # a share, such as 0.35
print(check(1, answer_1, sealed("209c9aa4", digits=2)))

# %% [markdown]
# ## Other models, or other text?
#
# An exponent can be uncertain in two ways.
#
# - **Other models** of the family might scatter differently about the line. That is the $t$ interval above.
# - **Other text** of the same kind might give the same models other points. That is the bootstrap: draw the documents again, with replacement, and fit the line to each draw.
#
# The pocket corpora were split by source module, and documents of one module are alike, so `resample` draws whole modules. All models share each draw. For the published points we have no documents, so they have no interval of the second kind.

# %%
rows, missing = [], []
for corpus in corpus_names:
    for family in families:
        models = models_of(summaries, corpus, family)
        for k in ks:
            try:
                fit = fit_rbp_law(
                    [one.manifest.S for one in models], [one.rbp(k) for one in models]
                )
                L = resample(models, [k]).loss[:, :, 0]  # (draws, n): -log RBP_k
            except InputError as error:
                missing.append(f"{family} on {corpus}, k = {k}: {error}")
                continue
            x = np.log([one.manifest.S for one in models]) - fit.mean_log_S
            alphas = -np.log(L) @ x / (x @ x)  # an exponent for each draw
            text = np.quantile(alphas, [0.025, 0.975])
            row = (corpus, family, k, fit.n, fit.alpha, *fit.alpha_interval, *text)
            rows.append((*row, fit.slope_se, alphas.std(ddof=1)))
names = "corpus family k n alpha models_low models_high text_low text_high models_SE text_SE"
exponents = pd.DataFrame(rows, columns=names.split())
print("\n".join(missing[:4]) or "nothing is missing")

# %% tags=["hide-input"]
if len(exponents):
    shown = list(dict.fromkeys(exponents["corpus"]))
    there = list(dict.fromkeys(exponents["family"]))
    with plots.style():
        height = -(-len(shown) // 2)
        figure, grid = plt.subplots(
            height, 2, figsize=(7, 2.2 * height + 0.5), sharey=True, squeeze=False
        )
        for axes, corpus in zip(grid.flat, shown, strict=False):
            for place, family in enumerate(there):
                part = exponents.query("corpus == @corpus and family == @family")
                ink = plots.ink_of(family)
                x = part["k"].map(ks.index) + 0.18 * (place - (len(there) - 1) / 2)
                models = plots.whiskers(part, "alpha", "models")
                text = plots.whiskers(part, "alpha", "text")
                axes.errorbar(
                    x, part["alpha"], text, fmt="none", ecolor=ink.colour, alpha=0.4, lw=6
                )
                axes.errorbar(
                    x, part["alpha"], models, fmt="none", ecolor=ink.colour, lw=1, capsize=2
                )
                axes.plot(
                    x, part["alpha"], ink.marker, color=ink.colour, ms=4, mec="white", mew=0.4
                )
            axes.set_xticks(range(len(ks)), [f"{k:,}" for k in ks])
            top = min(exponents["models_high"].max(), 1.5 * exponents["alpha"].max())
            axes.set(title=plots.short(corpus), xlabel="$k$", ylim=(0, 1.05 * top))
            axes.grid(axis="x", visible=False)
        for axes in grid[:, 0]:
            axes.set_ylabel(r"exponent $\alpha_k$")
        for axes in grid.flat[len(shown) :]:
            axes.set_visible(False)
        bars = [
            plt.Line2D([], [], color="black", lw=1, label="other models"),
            plt.Line2D([], [], color="0.7", lw=6, label="other text"),
        ]
        figure.set_layout_engine("constrained")
        handles = [*plots.family_marks(there), *bars]
        figure.legend(handles=handles, loc="outside lower center", ncols=6)
    plots.save(figure, exponents, figures_dir, "18_exponents")

# %% [markdown]
# *Exponents of the pocket models with two kinds of 95% interval. Thin bars: other models of the family, by $t$. Thick pale bars: other modules of text, by bootstrap. Where a thick bar is longer than a thin one, the text limits what we know.*
#
# Would more text help? Compare the two standard errors of an exponent, family by family.

# %%
ratio = (exponents["text_SE"] / exponents["models_SE"]).groupby(exponents["family"], sort=False)
print("standard error of alpha: other text / other models, over corpora and k")
print(ratio.agg(["min", "median", "max"]).round(2))
if len(exponents):
    df = exponents["n"].min() - 2
    low, high = np.sqrt(df / chi2.ppf([0.975, 0.025], df))
    print(
        f"scatter of {df + 2} models: 95% interval from {low:.1f} to {high:.1f} times what is seen"
    )

# %% [markdown]
# For OPT, Pythia and Qwen the models' scatter is the larger error. More text would hardly narrow their intervals, and more models would. GPT2 is different: its five models are so close to their lines that in half of the cells the text is the larger error. But the scatter of five models is itself poorly known, as the last line shows: the true one may be almost four times what is seen. For GPT2, which of the two limits the exponent is undecided.
#
# **Exercise 2.** Change the cell above the figure so that each model gets its own draws: give `resample` one model at a time, each with another `seed`. The standard error from the text doubles or trebles. Why?
#
# <details><summary>Hint</summary>A module that is hard for one model is hard for all. What does that do to a slope?</details>
#
# ## Does the line predict a larger model?
#
# Fit the line to the smaller models of a family. With $x = \log S$ and residual standard deviation $s$, the 95% interval for the loss $L$ of one new model is
#
# $$\log \hat L \pm t_{n-2}\, s \sqrt{1 + \frac1n + \frac{(x - \bar x)^2}{\sum_i (x_i - \bar x)^2}}.$$
#
# `fit.predict` computes it. We ask it for every larger model, from each set of smallest models that has at least three models and half the family.

# %%
rows = [
    ("published", curve.corpus, curve.family, k, *point)
    for k in (1, 10, 50, 100)
    for curve in published_curves(k).values()
    for point in zip(curve.models, curve.S, curve.loss, strict=True)
]
for corpus in corpus_names:
    for family in families:
        for one in models_of(summaries, corpus, family):
            point = one.manifest.model, one.manifest.S
            rows += [(mine, corpus, family, k, *point, -np.log(one.rbp(k))) for k in ks]
losses = pd.DataFrame(rows, columns="source corpus family k model S loss".split())
losses = losses[losses["loss"] > 0]  # an RBP of 1 has no place on the line


def ahead(models: pd.DataFrame) -> pd.DataFrame:
    """Each larger model of a family predicted from the n smallest; errors as shares of its loss."""
    models, rows = models.sort_values("S"), []
    S, loss = models["S"].to_numpy(float), models["loss"].to_numpy()
    for n in range(max(3, len(S) // 2), len(S)):
        try:
            fit = fit_power_law(S[:n], loss[:n])
        except InputError:  # equal losses: there is no line
            continue
        for new in range(n, len(S)):
            line = fit.predict(S[new])
            rows.append(
                {
                    "n": n,
                    "model": models["model"].iloc[new],
                    "decades": np.log10(S[new] / S[n - 1]),
                    "error": line.loss / loss[new] - 1,
                    "low": line.low / loss[new] - 1,
                    "high": line.high / loss[new] - 1,
                    "no_gain": loss[n - 1] / loss[new] - 1,
                    "R2": fit.r2,
                }
            )
    return pd.DataFrame(rows)


keys, parts = ["source", "family", "corpus", "k"], []
for (source, family, corpus, k), one in losses.groupby(keys, sort=False):
    parts.append(ahead(one).assign(source=source, family=family, corpus=corpus, k=k))
cells = pd.concat(parts, ignore_index=True)
cells["inside"] = (cells["low"] <= 0) & (cells["high"] >= 0)
cells["holds the last too"] = cells["no_gain"].between(cells["low"], cells["high"])
cells["worse"] = cells["error"] < 0

# %% [markdown]
# First the usual test: predict the largest model from all the others, for each corpus and $k$.

# %%
most = cells.groupby(keys)["n"].transform("max")
largest = cells[cells["n"] == most].groupby(["source", "family"], sort=False)
table = largest.agg(cells=("n", "size"), inside=("inside", "sum"))
table["holds the last too"] = largest["holds the last too"].sum()
table["worse"] = largest["worse"].sum()
table

# %% [markdown]
# *inside: cells (a corpus and a k) whose interval holds the largest model's loss. holds the last too: those whose interval also holds the loss of the largest model that was fitted. worse: those in which the model is worse than predicted.*
#
# Nearly all are inside, which sounds like a success. But nearly all intervals of the published GPT2 and OPT are so wide that they hold the last fitted model too, so they could not have told the two models apart. Among the published families only Pythia's intervals can always tell. There the largest model is worse than predicted in every cell, although it is mostly still inside.
#
# The cells are not independent trials: a model that is off its line at one $k$ is off at the others. So we make one series per family. If every cell follows a line in $\log S$, so does the mean of the logarithms over all $C$ cells:
#
# $$\frac1C \sum_c \log L_c = \bar a - \bar\alpha \log S.$$

# %%
series = []
for (source, family), one in losses.groupby(["source", "family"], sort=False):
    every = one.pivot_table(index=["S", "model"], columns=["corpus", "k"], values="loss")
    mean = np.exp(np.log(every.dropna(axis="columns")).mean(axis="columns"))
    series.append(ahead(mean.rename("loss").reset_index()).assign(source=source, family=family))
pooled = pd.concat(series, ignore_index=True)
pooled = pooled[["source", "family", *pooled.columns.drop(["source", "family"])]]

best = pooled[pooled["n"] == pooled.groupby(["source", "family"])["n"].transform("max")]
columns = ["source", "family", "n", "model", "decades", "error", "low", "high", "no_gain"]
(best[columns].set_index(["source", "family", "model"]) * [1, 1, 100, 100, 100, 100]).round(1)

# %% [markdown]
# *The largest model of each family, predicted from all the others. error, low, high: predicted loss and its interval over the measured loss, less one, in percent. no_gain: the same if the model were no better than the last one that was fitted.*
#
# That is one statement per family. Published Pythia: worse than predicted, at the edge of the interval. Qwen2.5-14B: as predicted, and the interval excludes "no gain". Published GPT2 and OPT: too few models to tell. The pocket families are inside their intervals, and three of the four are worse than predicted.
#
# Now all horizons. In the next picture every larger model is predicted, from every set of smaller ones.

# %% tags=["hide-input"]
sources = list(dict.fromkeys(pooled["source"]))
there = [family for family in paper.FAMILIES if family in set(pooled["family"])]
there += sorted(set(pooled["family"]) - set(there))
with plots.style():
    figure, grid = plt.subplots(
        len(sources), 1, figsize=(7, 2.9 * len(sources) + 0.5), squeeze=False, layout="constrained"
    )
    for axes, source in zip(grid[:, 0], sources, strict=True):
        axes.axhline(0, color="black", lw=1, zorder=1)
        for family, n in pooled[["family", "n"]].drop_duplicates().itertuples(index=False):
            part = pooled[pooled[["source", "family", "n"]].eq([source, family, n]).all(axis=1)]
            x, y, ink = part["decades"], 100 * part["error"], plots.ink_of(family)
            bars = 100 * np.abs(part[["low", "high"]].to_numpy().T - part["error"].to_numpy())
            axes.errorbar(x, y, bars, fmt="none", ecolor=ink.colour, elinewidth=2, alpha=0.3)
            look = {"color": ink.colour, "ms": 5.5, "mec": "white", "mew": 0.5}
            axes.plot(x, y, ink.marker, ls="-", lw=0.8, **look)
        axes.set(
            title=source, ylabel="predicted / measured - 1 (%)", ylim=(-32, 32), xlim=(0, None)
        )
    axes.set_xlabel("decades of $S$ beyond the largest model fitted")
    figure.legend(handles=plots.family_marks(there), loc="outside lower center", ncols=5)
plots.save(figure, pooled, figures_dir, "18_horizon")

# %% [markdown]
# *Each line joins the predictions made from one set of smaller models, for the mean over corpora and k. Pale bars: 95% prediction intervals; some leave the panel. Below zero the model is worse than predicted.*
#
# All published Pythias are below zero. Beyond half a decade they are so by up to 13%, and half of the intervals miss zero. The bars are narrow because the small models follow their line closely. What these models cannot show is a bend that comes later. The pocket Pythias do the same, as strongly. GPT2 and OPT of the pocket models are mostly below zero too, by about 4% at most. Qwen, published or pocket, stays within 3% of its line.
#
# Is the line still worth having? We compare it with the guess that size brings no gain at all.

# %%
steps = [0, 0.25, 0.5, 1, 2]
far = pooled.assign(decades=pd.cut(pooled["decades"], steps), line=pooled["error"].abs())
far = far.groupby(["source", "family", "decades"], sort=False, observed=True)
medians = far[["line", "no_gain"]].median().sort_index().assign(predictions=far.size())
(medians * [100, 100, 1]).round(1)

# %% [markdown]
# *Median size of the error in percent, by distance from the largest model fitted.*
#
# Within a quarter of a decade the line can be as wrong as no gain at all, or more so. Beyond half a decade its error is smaller than that of no gain in every family that has such a prediction, mostly by half or more. So the line is useful as a forecast that tends to be too hopeful. Do not trust its interval far ahead.
#
# The same can be counted cell by cell, for the longest look ahead that the paper's points allow:

# %%
longest = cells.query("source == 'published' and n >= 6 and n <= 8 and decades > 0.5")
print(f"R2 of the lines: median {longest['R2'].median():.3f}")
print(
    f"Pythia from its 6 to 8 smallest, over half a decade ahead: {len(longest)} predictions;",
    f"\nworse than predicted: {longest['worse'].sum()}; inside the interval:",
    longest["inside"].sum(),
)

# %% [markdown]
# This is one finding about two large models, and not eighty findings. They are Pythia-6.9B and 12B, each predicted from up to three sets of small models. Why the large Pythias fall behind, the points do not tell. All Pythias saw the same number of training tokens, so text may be what the large ones lack.
#
# **Exercise 3.** Fit the published Pythias on Wiki at $k = 1$ without the largest two. By how many percent does the line miss the loss of the 12B model? Give one decimal, negative if the prediction is too low.
#
# <details><summary>Hint</summary>`curve = paper.points("Wiki", "Pythia", 1)` has `S` and `loss`; `fit_power_law(...).predict(...)` has `.loss`.</details>

# %%
answer_3 = None  # percent
print(check(3, answer_3, sealed("bcb1e823", digits=1)))

# %% [markdown]
# **Exercise 4.** Let the line start from three models in every family (`range(3, len(S))`). What do the three or four smallest Pythias predict for the middle sizes, and what for 12B? Which assumption of the $t$ interval does that speak against?
#
# <details><summary>Hint</summary>Look at the signs of the errors as the distance grows. Independent scatter would give signs without a pattern.</details>
#
# ## What 16 bits do to an exponent
#
# Many programs run models in 16 bits. [Notebook 02](02_section_3_metric.ipynb) shows that this makes ties. Here is what it does to the exponents of the pocket models, on 100 documents of two corpora.

# %%
bits = pd.read_csv(DATA / "tables" / "precision.csv")
alpha = bits.groupby(["setting", "corpus", "family", "k"], sort=False).apply(
    lambda one: fit_rbp_law(one["S"], one["pessimistic"]).alpha, include_groups=False
)
change = alpha.unstack("setting").div(alpha["float32"], axis=0) - 1
print("largest change of an exponent, in percent:")
print((100 * change.abs()).max()[bits["setting"].unique()].round(1).to_string())

# %% [markdown]
# *body: only the network ran in 16 bits. logits: the logits were rounded, too.*
#
# Rounding moves no exponent by more than 1.3%. Even the narrowest interval above is twice as wide, on either side. So an exponent survives 16 bits, although single ranks do not.
#
# ## What we found
#
# - **An exponent from few models is rough.** In Table 1 ten models fix it to about 7% and four to about 40% (medians), if the scatter about the line is random. This is arithmetic from the printed $R^2$.
# - **More models help more than more text, for three of four pocket families.** For GPT2 it is undecided, since the scatter of five models is hardly known.
# - **The line promises too much for Pythia.** Both models far ahead are worse than predicted. This is one family with one recipe. GPT2, OPT and Qwen have too few published models for such a look ahead.
# - **Beyond half a decade the line beats "no gain" in every family that reaches so far.** Its 95% interval is too narrow there for Pythia, because it takes the line to go on straight. These are a few predictions per family, and they share models.
# - **16 bits change exponents by 1.3% at most**, on small models. Large models were not tried.
