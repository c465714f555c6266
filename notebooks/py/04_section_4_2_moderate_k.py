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
# # Section 4.2: the law at moderate $k$
#
# **The question.** Now let a model make not one guess but $k$ guesses for the next token. Does the law of Section 4.1 hold for $k = 10$, 50 and 100 as well, and how exact is it?
#
# > **The paper.** "The fitted curves achieve R2 ≥ 0.97 across all datasets" (Section 4.2, of Figure 4)
# >
# > $$-\log \mathrm{RBP}_k \propto S^{-\alpha_k}$$
#
# $\mathrm{RBP}_k = \Pr(R \le k)$ is the share of a text's tokens whose rank $R$ is at most $k$. $S$ is the number of non-embedding parameters.
#
# **Guess first.** At $k = 100$, Pythia's line on Wikipedia has $R^2 = 0.995$ and its line on HumanEval 0.968. Scoring a limited number of tokens leaves a sampling error in each point. On which text do the points miss their line by more of these errors?
#
# *[Glossary](../docs/glossary.md). Published points are the paper's own; pocket models are the small ones that come with `rbpkit`. Logarithms are natural.*

# %% tags=["parameters", "hide-input"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
ks = [1, 10, 50, 100]  # k of RBP_k to show of what was measured; 1 is notebook 03's
records_dir = ""  # a folder of your own records; empty: the pocket models
figures_dir = ""  # where to write figures and their points; empty: nowhere

# %% tags=["hide-input"]
import numpy as np
import pandas as pd
import seaborn as sns

from rbpkit import fit_curves, load_summaries, paper, plots
from rbpkit.stats.curves import measured_curves, published_curves
from rbpkit.study.params import check_parameters
from rbpkit.tools.claims import claims_table
from rbpkit.tools.exercises import check, sealed
from rbpkit_pocket.paths import SUMMARIES

check_parameters(globals())
ours = "your models" if records_dir else "pocket models"

# %% [markdown]
# ## The points
#
# At $k = 10$ a token counts as a success if it is anywhere among the model's first ten. More tokens succeed, so the loss $-\log \mathrm{RBP}_k$ falls as $k$ grows. We take the points of Figure 4 and those of the pocket models, and fit each family on each corpus with the line that notebook 03 derives.

# %%
summaries = load_summaries(records_dir or SUMMARIES)
sources = {("published", k): published_curves(k) for k in (10, 50, 100)}
missing = []
for k in [k for k in ks if k > 1]:
    found = measured_curves(summaries, corpus_names, families, lambda s, k=k: s.rbp(k), f"RBP_{k}")
    missing += found.missing
    if found.curves:
        sources["measured", k] = found.curves
print("\n".join(dict.fromkeys(missing)) or "all that was asked for was measured")

parts, fits = [], []
for (source, k), curves in sources.items():
    row = f"{source}, k = {k}"
    parts.append(plots.curve_points(source, curves.values()).assign(row=row, k=k))
    fits.append(fit_curves(curves.values()).table.assign(source=source, k=k))
points = pd.concat(parts, ignore_index=True)
fits = pd.concat(fits, ignore_index=True).assign(alpha=lambda fit: -fit["slope"])

# %% tags=["hide-input"]
table1 = paper.table1().rename(columns={"dataset": "corpus", "r2": "R2"})
printed = table1[table1["k"].isin(["10", "100"])].astype({"k": int})
pythia = paper.fit_by_k().query("k == 50").rename(columns={"dataset": "corpus"})
pythia = pythia.pivot(index=["corpus", "k"], columns="quantity", values="value").reset_index()
printed = pd.concat([printed, pythia.assign(family="Pythia")])
off = fits.query("source == 'published'").merge(
    printed, on=["corpus", "family", "k"], suffixes=("", " printed")
)
assert len(off) == 36 and (off["slope"] - off["slope printed"]).abs().max() < 6e-4
assert (off["R2"] - off["R2 printed"]).abs().max() < 6e-4
print("These lines agree with Table 1 (k = 10, 100) and Figure 6 (k = 50, Pythia) as printed.")

# %%
columns = ["row", "source", "corpus", "family", "model", "quantity", "S", "value", "loss"]
drawn = points.query("source == 'published'")
panel = "$k$ = " + drawn["k"].astype(str) + ": " + drawn["corpus"]
figure = plots.law_grid(drawn.assign(panel=panel), panel="panel", size=(3.4, 2.2))
plots.save(figure, drawn[columns], figures_dir, "figure_4")

# %% [markdown]
# *Figure 4 of the paper, from its published points: first $k = 10$, then 50, then 100. Both axes are logarithmic, and each panel has its own range. The lines get steeper as $k$ grows, except that of GPT-2 on HumanEval.*
#
# Which of these lines fall short of 0.97?

# %%
published = fits.query("source == 'published'")
short = published[published["R2"] < 0.97]
print(
    f"{len(published) - len(short)} of {len(published)} lines have an R2 of at least 0.97; not so:"
)
short[["corpus", "family", "k", "n", "alpha", "R2"]].round(3)

# %% [markdown]
# The paper's sentence is true except for these three. OPT and Pythia are just below 0.97, GPT-2 is clearly below. All three are on one text, HumanEval, at $k = 100$.

# %% [markdown]
# **Exercise 1.** By the fitted line, by which factor does Pythia's $-\log \mathrm{RBP}_{100}$ on Wiki change if $S$ grows tenfold? To two decimals.
#
# <details><summary>Hint</summary>The exponent is in <code>fits</code>. A power law multiplies the loss by the same factor at each tenfold step.</details>

# %%
answer_1 = None
print(check(1, answer_1, sealed("04bd088b", digits=2)))

# %% [markdown]
# **Exercise 2.** By its line at $k = 10$, how many parameters would a Pythia need until $\mathrm{RBP}_{10}$ on Wiki reaches 0.9? Give the power of ten, to one decimal, and say how far this is beyond the largest model.
#
# <details><summary>Hint</summary>Solve log(-log 0.9) = intercept + slope log S for S.</details>

# %%
answer_2 = None
print(check(2, answer_2, sealed("a35e6e7a", digits=1)))

# %% [markdown]
# ## How exact is a line with $R^2 = 0.97$?
#
# $R^2$ compares the residuals $e_i$ of the line with the whole spread of the losses. A family that spans four decades of $S$ has a large spread, so its $R^2$ is near 1 even if the points miss the line. Two other numbers do not depend on the spread. The first is the scatter about the line,
#
# $$\hat\sigma = \sqrt{\frac{1}{n - 2} \sum_i e_i^2}\,,$$
#
# where 0.03 means 3% of the loss. The second is the scatter that chance would leave if the law were exact. A share $p$ counted on $T$ independent tokens has the standard error $\sqrt{p(1 - p)/T}$, so the log of the loss $-\log p$ has the standard error
#
# $$s_i \approx \frac{1}{-\log p_i} \sqrt{\frac{1 - p_i}{p_i\, T}}\,.$$
#
# If nothing but chance moves the points, the ratio $\sqrt{\sum_i (e_i / s_i)^2 / (n - 2)}$ is about 1.

# %%
counts = paper.token_counts().set_index(["dataset", "family"])["tokens"].to_dict()
tokens_of = {(s.manifest.corpus, s.manifest.model): s.manifest.tokens for s in summaries}
points["T"] = [
    counts[one.corpus, one.family]
    if one.source == "published"
    else tokens_of[one.corpus, one.model]
    for one in points.itertuples()
]
p = points["value"]
points["s"] = np.sqrt((1 - p) / (p * points["T"])) / points["loss"]
key = ["source", "corpus", "family", "k"]
laws = points[key].merge(fits, on=key)
points["e"] = np.log(points["loss"]) - laws["intercept"] - laws["slope"] * np.log(points["S"])

lines = points.groupby(key, sort=False).agg(
    n=("S", "size"),
    scatter=("e", lambda e: np.sqrt((e**2).sum() / (len(e) - 2))),
    chance=("s", lambda s: np.sqrt((s**2).mean())),
)
squares = (points["e"] / points["s"]).pow(2).groupby([points[name] for name in key]).sum()
lines["ratio"] = np.sqrt(squares / (lines["n"] - 2))
lines = lines.reset_index().merge(fits[[*key, "R2"]], on=key)
lines.query("source == 'published' and family == 'Pythia' and k == 100").round(3)

# %% tags=["hide-input"]
shown = lines.replace({"source": {"measured": ours}})
shown[["chance", "scatter"]] *= 100
inks = {family: plots.ink_of(family) for family in shown["family"]}
ticks = [0.3, 1, 3, 10]
with plots.style():
    grid = sns.relplot(
        shown, x="chance", y="scatter", col="source", hue="family", style="family",
        palette={family: ink.colour for family, ink in inks.items()},
        markers={family: ink.marker for family, ink in inks.items()},
        height=3.1, aspect=1.05, facet_kws={"despine": False},
    )  # fmt: skip
    grid.set(xscale="log", yscale="log", xlim=(0.2, 15), ylim=(0.2, 15))
    grid.set(xticks=ticks, xticklabels=ticks, yticks=ticks, yticklabels=ticks)
    grid.set_axis_labels("sampling error, % of the loss", "scatter about the line, %")
    grid.set_titles("{col_name}")
    for axes in grid.axes.flat:
        axes.axline((1, 1), (10, 10), color="black", linewidth=1)
        axes.minorticks_off()
    low = shown.query("source == 'published' and R2 < 0.97")
    ring = {"marker": "o", "facecolor": "none", "edgecolor": "black", "s": 120}
    grid.axes.flat[0].scatter(low["chance"], low["scatter"], **ring)
    sns.move_legend(grid, "upper center", bbox_to_anchor=(0.5, 0), ncols=len(inks), title=None)
    grid.figure.tight_layout()
saved = lines[[*key, "n", "R2", "scatter", "chance", "ratio"]]
plots.save(grid.figure, saved, figures_dir, "figure_4_scatter")

# %% [markdown]
# *One marker per line, at $k = 10$, 50 and 100. On the black line the scatter is what sampling alone leaves. Circled: the three published lines with $R^2$ below 0.97.*
#
# Here is the surprise. The three circled lines scatter a lot, but HumanEval is a short text, so more of their scatter can be chance. Pythia's line on Wiki has the higher $R^2$, and yet it misses its points by more sampling errors than the line on HumanEval does. Its scatter is less than half as large, but its sampling error is a fifth.
#
# How far are they from exact? We pool the lines of a family into one number.

# %%
shown.groupby(["source", "family"], sort=False)["ratio"].apply(
    lambda ratio: np.sqrt((ratio**2).mean())
).unstack("source").round(1)

# %% [markdown]
# *Scatter about the line in sampling errors, root mean square over the lines of a family. An exact law gives 1.*
#
# So the law is a good summary, to about 3% of the loss on the median line and to 12% on the worst. It is not exact. Something besides size and sampling moves the models off their line, and a high $R^2$ does not rule it out.

# %% [markdown]
# **Exercise 3.** Fit only the five largest Pythias on Wiki at $k = 100$. What happens to $R^2$ and to the scatter, and why do they not change alike?
#
# <details><summary>Hint</summary>Use <code>fit_power_law(S, loss)</code> from <code>rbpkit</code>; its <code>r2</code> and <code>residual_sd</code> are the two numbers.</details>

# %% [markdown]
# ## The pocket models

# %% tags=["hide-input"]
drawn = points.query("source == 'measured'")
if len(drawn):
    panel = "$k$ = " + drawn["k"].astype(str) + ": " + drawn["corpus"].map(plots.short)
    figure = plots.law_grid(
        drawn.assign(panel=panel), panel="panel", size=(2.3, 2.1), columns=drawn["corpus"].nunique(),
        xlabel="$S$", hollow=("OPT", "Qwen"),
    )  # fmt: skip
    plots.save(figure, drawn[columns], figures_dir, "figure_4_measured")
else:
    print("nothing measured to draw")

# %% [markdown]
# *The same for the pocket models, a row for each $k$. GPT-2's and OPT's lines are the straightest. Pythia's points bend the same way everywhere. On every text Qwen's second size is below its line and the third above.*
#
# ## What the paper says, and what we get

# %%
R2 = fits.set_index("source")["R2"]
of_source = lines.groupby("source")
middle = 100 * of_source["scatter"].median()
misses = of_source["ratio"].apply(lambda ratio: np.sqrt((ratio**2).mean()))


def enough(source):
    return (
        f"{(R2[[source]] >= 0.97).sum()} of {len(R2[[source]])}; smallest {R2[[source]].min():.3f}"
    )


def exact(source):
    return f"{misses[source]:.1f} sampling errors; median scatter {middle[source]:.1f}% of the loss"


there = "measured" in R2
claims_table(
    "04",
    [
        dict(
            claim="The fitted curves achieve R2 ≥ 0.97 across all datasets",
            where="Section 4.2",
            test="lines of Figure 4 (k = 10, 50, 100) with R2 of at least 0.97",
            published=enough("published"),
            measured=enough("measured") if there else "not measured",
            verdict="holds" if (R2["published"] >= 0.97).all() else "holds in part",
            main=True,
        ),
        dict(
            claim="RBPk follows a precise power-law relationship with model size",
            where="Section 4, Eq. 5",
            test="scatter about the lines of Figure 4, pooled: about 1 sampling error if the law is exact",
            published=exact("published"),
            measured=exact("measured") if there else "not measured",
            verdict="holds" if misses["published"] < 1.5 else "holds in part",
            main=True,
        ),
    ],
    records_dir,
    figures_dir,
)

# %% [markdown]
# **What this cannot show.** Our sampling error treats tokens as independent. Tokens of one document are alike, which makes the true error larger. The models of a family are scored on the same text, which moves their points together and makes the scatter smaller. The pocket models were trained once each, on the same number of tokens, so their bend may come from short training. Notebook 05 takes chance further, to $k$ near the size of the vocabulary.
#
# **Related work.** Besiroglu et al. (2024, arXiv 2404.10102) likewise recover points from a published figure and refit them.
