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
# # Appendix B: Table 1, every fit on $S$
#
# **Claim.** For six corpora and four families, $-\log \mathrm{RBP}_k$ is a power law in $S$ from $k = 1$ to $k = 10{,}000$. The exponent grows with $k$, and that of CE is near that of $\mathrm{RBP}_1$. Table 1 prints $R^2$ and slope of all 168 fits (in the ICLR version it is Table 2).
#
# **Answer.** In the 54 cells of 168 whose points are published, Table 1 agrees with the points to its last digit. The exponent grows with $k$ in all 24 families and corpora from $k = 1$ to 10, in 22 to 100, and rarely further. In the table of the shipped models the exponent grows with $k$ at every step, but there $\mathrm{RBP}_1$ is the steeper law, not CE, and a smaller share of the fits reaches an $R^2$ of 0.97.
#
# ![Slopes and R2 of the 168 cells of Table 1 as coloured grids, by corpus, family and k](../figures/table_1.png)
#
# *Table 1 of the paper as a picture: slopes on top, $R^2$ below.*
#
# *Reading time: 10 minutes; it runs in seconds, and no model is run.* The section "Where both tables agree, and where not" may be skipped at a first reading. Each printed cell stands beside what other **published** numbers give for it; then the same table is made of the models that were **measured**. $S$ counts non-embedding parameters.

# %% tags=["parameters"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]
records_dir = ""  # a folder of records of your own; empty: the summaries that ship with rbpkit
figures_dir = ""  # where to write tables and pictures; empty: nowhere

# %%
import numpy as np
import pandas as pd
from scipy import stats

import rbpkit
from rbpkit import paper
from rbpkit.fit import fit_curves
from rbpkit.pocket import recipes
from rbpkit.records import load_summaries
from rbpkit.sections import b_table1
from rbpkit.stats.curves import table1_curves
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, close

check_parameters(globals())
print("rbpkit", rbpkit.__version__)

# %% [markdown]
# ## One cell
#
# A cell belongs to a corpus, to CE or a $k$, and to a family. The ten Pythias on Wiki at $k = 100$:

# %%
curves = table1_curves()
curve, source = curves["Wiki", "100", "Pythia"]
S, L = curve.S, -np.log(curve.value)  # L = -log RBP_100
print(f"{source}: {S.size} models, L from {L.max():.2f} to {L.min():.2f}")

# %% [markdown]
# The loss $L$ is $-\log \mathrm{RBP}_k$ or CE, and the cell's slope, $-\alpha$, is that of the least-squares line
#
# $$\log L = \log c - \alpha \log S .$$

# %%
x, y = np.log(S), np.log(L)
dx, dy = x - x.mean(), y - y.mean()
slope = dx @ dy / (dx @ dx)  # -alpha
log_c = y.mean() - slope * x.mean()
e = y - (log_c + slope * x)  # the residuals
R2 = 1 - e @ e / (dy @ dy)

row = fit_curves([curve]).table.iloc[0]
assert np.allclose([slope, log_c, R2], row[["slope", "intercept", "R2"]].astype(float))

# %% [markdown]
# The paper prints no intervals. Ours are 95%, by Student's $t$ with $n - 2$ degrees of freedom: with residuals $e_i$,
#
# $$\mathrm{slope} \pm t_{0.975,\,n-2}\; \mathrm{se}, \qquad \mathrm{se}^2 = \frac{\sum_i e_i^2}{(n - 2) \sum_i (\log S_i - \overline{\log S})^2}.$$

# %%
n = S.size
se = np.sqrt(e @ e / ((n - 2) * (dx @ dx)))
half = stats.t.ppf(0.975, n - 2) * se
assert np.allclose([slope - half, slope + half], row[["low", "high"]].astype(float))
print(f"{source}: slope {slope:.3f} [{slope - half:.3f}, {slope + half:.3f}], R2 {R2:.3f}, n {n}")

# %% [markdown]
# ## All 168 cells
#
# Points of 54 cells are published: 48 in Figures 3 and 4, two more among the authors' own results for GPT-2 on Wiki, and four for Pythia on Wiki, where Figure 8a shows CE and Figure 7, at $N = 1$, shows $\mathrm{RBP}_k$ at $k = 500$, 2,500 and 10,000.
#
# For twelve more Pythia cells Figure 6 shows the paper's own slope (and, except for CE, its $R^2$). That is the same fit printed a second time, so it is no independent check. The rest cannot be recomputed.

# %%
published = b_table1.table1_recomputed()
by_source = published.groupby("source").agg(
    **{
        "cells": ("k", "size"),
        "largest slope difference": ("slope_difference", lambda d: d.abs().max()),
        "largest R2 difference": ("R2_difference", lambda d: d.abs().max()),
    }
)
by_source.round(4)

# %% [markdown]
# Rounding to three decimals allows differences of 0.0005, and all recomputed cells are within 0.0006. So where there are points, Table 1 agrees with them. The next output is the whole table in the paper's layout: the printed value, and in brackets the recomputed one. A cell without brackets cannot be recomputed: all of C4 and Github, and on the other four corpora most of the rows CE and $k \ge 500$.

# %%
layout = {"slope text": "slope", "R2 text": "R2"}
published_wide = b_table1.to_wide(b_table1.as_text(published), layout)
published_wide

# %% [markdown]
# The same as a picture. Red means that the loss falls with $S$, blue that it rises. A dot marks the cells with a recomputed slope.

# %%
picture = b_table1.heat_maps(published, "published", "slope_printed", "R2_printed")
b_table1.save_table(picture, published, published_wide, figures_dir, "table_1")

# %% [markdown]
# ## What the table says
#
# **How straight.** $R^2$ of the 24 cells of each row. `holds 0` counts the cells whose 95% interval of the slope contains zero: there the table does not show whether larger models do better. The interval of a printed cell follows from its digits, if all models of the family are in the fit, because slope, $R^2$ and $n$ give
#
# $$\mathrm{se} = |\mathrm{slope}| \sqrt{\frac{1/R^2 - 1}{n - 2}}.$$

# %%
from_print = abs(slope) * np.sqrt((1 / R2 - 1) / (n - 2))
assert np.isclose(from_print, se)
assert np.allclose(b_table1.slope_interval(slope, R2, n), [slope - half, slope + half])


# %%
def by_row(table: pd.DataFrame, slope: str, r2: str) -> pd.DataFrame:
    fitted = table[table[slope].notna()]
    rows = {
        row: {
            "cells": len(cells),
            "R2 0.97 or more": (cells[r2] >= 0.97).sum(),
            "R2 over 0.9": (cells[r2] > 0.9).sum(),
            "lowest R2": cells[r2].min(),
            "median R2": cells[r2].median(),
            "smallest alpha": -cells[slope].max(),
            "median alpha": -cells[slope].median(),
            "largest alpha": -cells[slope].min(),
            "holds 0": ((cells["low"] <= 0) & (cells["high"] >= 0)).sum(),
        }
        for row, cells in fitted.groupby("k", sort=False)
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("k")


published_rows = by_row(published, "slope_printed", "R2_printed")
published_rows.round(3)

# %% [markdown]
# $R^2$ falls as $k$ rises: at $k = 10$, 23 of 24 cells reach 0.97, at $k = 10{,}000$ nine. One version of the paper says that $R^2$ is above 0.9 for $k < 1000$, the other that it is so for $k$ "typically under 100". These cells are not above 0.9:

# %%
below_1000 = published[published["k"].isin(["1", "10", "100", "500"])]
weak = below_1000[below_1000["R2_printed"] <= 0.9]
print(f"{len(weak)} of {len(below_1000)} cells with k < 1000")
weak[["dataset", "k", "family", "R2_printed", "slope_printed"]].reset_index(drop=True)

# %% [markdown]
# Three of the five are GPT-2 on Github, whose CE is no power law either ($R^2 = 0.091$). So large $k$ is not the reason there, and no points are published that would show the reason.
#
# **How steep.** Each row is compared with the row before it, within a family and corpus. `steeper` counts the slopes that became more negative. Where both cells have points, the change gets an interval of its own from the slope of the log of their ratio, in which common scatter cancels:
#
# $$\log \frac{-\log \mathrm{RBP}_{k'}}{-\log \mathrm{RBP}_k} = \mathrm{const} - (\alpha_{k'} - \alpha_k) \log S.$$
#
# `with interval` counts these cells, and `surely` those whose interval lies wholly on the steeper side.

# %%
before, after = (curves["Wiki", k, "Pythia"][0] for k in ("10", "100"))
change = stats.linregress(np.log(after.S), np.log(after.loss / before.loss))
assert np.isclose(b_table1.slope_difference(after, before).slope, change.slope)
print(f"Pythia on Wiki, k = 10 to 100: the slope changes by {change.slope:.3f}")


# %%
def by_step(changes: pd.DataFrame) -> pd.DataFrame:
    rows = {
        step: {
            "families x corpora": len(change),
            "steeper": (change["change"] < 0).sum(),
            "median change": change["change"].median(),
            "with interval": change["low"].notna().sum(),
            "surely steeper": (change["high"] < 0).sum(),
            "surely shallower": (change["low"] > 0).sum(),
        }
        for step, change in changes.groupby("step", sort=False)
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("step")


points_only = {cell: points for cell, (points, _) in curves.items()}
published_steps = b_table1.steps(published, points_only, slope="slope_printed")
by_step(published_steps).round(3)

# %%
in_k = published_steps[published_steps["step"] != "CE to 1"]
always = in_k.groupby(["dataset", "family"])["change"].max() < 0
alpha_1, alpha_100 = (-published.loc[published["k"] == k, "slope_printed"] for k in ("1", "100"))
print(f"steeper at every step from 1 to 10,000: {always.sum()} of {always.size}")
print(f"alpha_1 {alpha_1.min():.3f} to {alpha_1.max():.3f}, over 0.1: {(alpha_1 > 0.1).sum()}")
print(f"alpha_100 {alpha_100.min():.3f} to {alpha_100.max():.3f}, median {alpha_100.median():.3f}")

# %% [markdown]
# From $k = 1$ to 10 the exponent $\alpha_k$ grows in all 24, to 100 in 22, and less often at larger $k$; in 14 of 24 it grows at every step. The text of Section 4.4 is right that it grows. Its caption says "decreases", which is right for the slope $-\alpha_k$.
#
# $\alpha_1$ is "less than 0.1" in 20 of 24 cells. That $\alpha_{100}$ is "close to 0.2" is a loose summary for all cells (the paper says it of Pythia): the values spread by a factor of nearly four, and their median is 0.15.
#
# **One cell is no fit.** HumanEval, Qwen, $k = 10{,}000$ prints $R^2 = 1.000$ and slope $0.000$. If the loss differs between models, it differs by whole tokens. At $k = 100$ the five models miss 209 to 398 of 30,655 scored tokens (that count is inferred from the digits of Figure 4), so at $k = 10{,}000$ they miss no more than that.
#
# If two of the models differed there by a single token, the spread of $\log(-\log \mathrm{RBP})$ would exceed what a slope below 0.0005 can explain with $R^2 \ge 0.9995$:

# %%
qwen = paper.points("HumanEval", "Qwen", 100)
counts = paper.token_counts().query("dataset == 'HumanEval' and family == 'Qwen'")
tokens = int(counts["tokens"].iloc[0])
missed = np.rint((1 - qwen.value) * tokens)
x = np.log(qwen.S) - np.log(qwen.S).mean()
most = 0.0005**2 * (x @ x) / 0.9995  # the largest sum of squares about the mean that is printed so
least = np.log(missed.max() / (missed.max() - 1)) ** 2 / 2  # the smallest, if two models differ
print("missed at k = 100:", missed.astype(int))
print(
    f"sum of squares: at most {1e6 * most:.2f}e-6; if two models differ, over {1e6 * least:.2f}e-6"
)

# %% [markdown]
# So all five models miss the same number of tokens, most likely none. The line goes through five equal values, and its $R^2$ is not defined (0/0). `rbpkit` refuses such a fit. The row $k = 10{,}000$ has 23 fits.
#
# **CE beside $\mathrm{RBP}_1$.** Is the slope of CE inside the 95% interval of the slope of $\mathrm{RBP}_1$? The difference is the slope of $\mathrm{RBP}_1$ minus the slope of CE, in all 24 printed pairs.


# %%
def ce_beside_rbp1(table: pd.DataFrame, slope: str) -> pd.DataFrame:
    keys = ["dataset", "family"]
    one = table[table["k"] == "1"].set_index(keys)
    pair = one[[slope, "low", "high"]].rename(columns={slope: "RBP_1"})
    pair.insert(0, "CE", table[table["k"] == "CE"].set_index(keys)[slope])
    pair["difference"] = pair["RBP_1"] - pair["CE"]
    pair["CE inside"] = (pair["CE"] >= pair["low"]) & (pair["CE"] <= pair["high"])
    return pair.dropna().reset_index()


published_ce = ce_beside_rbp1(published, "slope_printed")
published_ce.round(3)

# %%
relative = (published_ce["difference"] / published_ce["CE"]).abs()
print(f"CE inside the interval of RBP_1: {published_ce['CE inside'].sum()} of {len(published_ce)}")
print(f"RBP_1 steeper than CE: {(published_ce['difference'] < 0).sum()}")
print(f"|difference| / |CE slope|: median {relative.median():.2f}, largest {relative.max():.2f}")
paired = published_steps[(published_steps["step"] == "CE to 1") & published_steps["low"].notna()]
paired.round(3)

# %% [markdown]
# In 16 of 24 pairs it is, but most of those intervals are wide, with four or five models. In 17 pairs CE is steeper; on HotpotQA $\mathrm{RBP}_1$ is steeper in all four families. Where both have points, the paired difference is more precise: for Pythia on Wiki it is 0.007, with an interval that does not contain zero. The two exponents are near each other and not equal.
#
# ## The pocket Table 1
#
# The same table for the models that were measured. The vocabulary of the shipped models has 4,096 entries, Pythia's output matrix mostly 50,304 rows. So a $k$ of the paper can be carried over in two ways: as the same number of ranks (1, 10, 100) or as the same share of $V$. The shares of 4, 8, 32 and 410 are near those of the paper's 50, 100, 400 and 5,000. The exact shares:

# %%
summaries = load_summaries(records_dir or recipes.SUMMARIES)
our_curves = b_table1.measured_curves(summaries, corpus_names, families)
manifests = sorted((s.manifest for s in summaries), key=lambda m: -m.S)
V = {(m.corpus, m.family): m.V for m in manifests}  # of the smallest model, the last
ours = b_table1.pocket_table1(our_curves, V, corpus_names, families)
for line in sorted(
    {f"{c.family} on {c.dataset}: {c.reason}" for c in ours.itertuples() if c.reason}
):
    print(line)
shares = ours.dropna(subset="share_of_V")[["k", "share_of_V", "paper_k_of_same_share"]]
shares.drop_duplicates().round({"share_of_V": 5, "paper_k_of_same_share": 1}).reset_index(drop=True)

# %%
ours_wide = b_table1.to_wide(b_table1.as_text(ours), layout)
ours_wide

# %% [markdown]
# As a picture. Its colour scales differ from those of the published table, because $R^2$ and slopes span less.

# %%
fitted_here = ours["slope"].notna().any()
if fitted_here:
    picture = b_table1.heat_maps(ours, "measured")
    b_table1.save_table(picture, ours, ours_wide, figures_dir, "pocket_table_1")

# %% [markdown]
# The next table has the number of scored tokens behind a point. `humaneval` has the fewest, about a third of the others', so sampling noise is largest there.

# %%
manifests = [m for m in manifests if m.corpus in corpus_names]
counts = pd.DataFrame(
    [(m.corpus, m.family, m.tokens) for m in manifests if m.family in families],
    columns=["corpus", "family", "tokens"],
)
counts.groupby(["corpus", "family"])["tokens"].agg(models="size", fewest="min", most="max")

# %% [markdown]
# ## Where both tables agree, and where not (may be skipped)
#
# First the rows: how straight, how steep.

# %%
our_rows = by_row(ours, "slope", "R2")
our_rows.round(3)

# %% [markdown]
# Then the steps in $k$, each with a paired interval.

# %%
our_steps = b_table1.steps(ours, our_curves)
by_step(our_steps).round(3)

# %% [markdown]
# The same steps by corpus, from $k = 1$ on:

# %%
our_in_k = our_steps[our_steps["step"] != "CE to 1"]
signs = pd.DataFrame(
    {
        "steeper": our_in_k["change"] < 0,
        "surely steeper": our_in_k["high"] < 0,
        "surely shallower": our_in_k["low"] > 0,
    }
)
by_corpus = signs.groupby(our_in_k["dataset"], sort=False).sum()
by_corpus.insert(0, "steps", our_in_k.groupby("dataset", sort=False).size())
by_corpus

# %% [markdown]
# By which factor does the exponent grow? $k = 10$ and 100 are the same numbers of ranks in both tables; $k = 8$ of the shipped models is the same share of $V$ as the paper's $k = 100$.


# %%
def growth(table: pd.DataFrame, slope: str, k: str) -> pd.Series:
    by_k = table.pivot(index=["dataset", "family"], columns="k", values=slope)
    return (by_k[k] / by_k["1"]).agg(["min", "median", "max"])


pd.DataFrame(
    {
        "alpha_10 / alpha_1, paper": growth(published, "slope_printed", "10"),
        "alpha_10 / alpha_1, here": growth(ours, "slope", "10"),
        "alpha_100 / alpha_1, paper": growth(published, "slope_printed", "100"),
        "alpha_100 / alpha_1, here": growth(ours, "slope", "100"),
        "alpha_8 / alpha_1, here": growth(ours, "slope", "8"),
    }
).T.round(2)

# %% [markdown]
# Last, CE beside $\mathrm{RBP}_1$. The second table is the paired difference, the slope of $\mathrm{RBP}_1$ minus the slope of CE.

# %%
our_ce = ce_beside_rbp1(ours, "slope")
our_ce.round(3)

# %%
our_paired = our_steps[our_steps["step"] == "CE to 1"]
our_paired.drop(columns="step").reset_index(drop=True).round(3)

# %%
surely = (our_paired["high"] < 0).sum()
print(f"RBP_1 surely steeper than CE: {surely} of {len(our_paired)}")
(our_ce["difference"] / our_ce["CE"]).groupby(our_ce["dataset"], sort=False).agg(
    ["min", "median", "max"]
).round(2)

# %% [markdown]
# How precise is a single cell? `decades of S` is the span of a family; `half` is half the width of a slope's 95% interval, as a share of the slope, over all cells of the family.

# %%
fitted = ours.dropna(subset="slope")
half = (fitted["high"] - fitted["low"]) / 2 / fitted["slope"].abs()
reach = pd.DataFrame(
    [(m.family, np.log10(m.S)) for m in manifests if m.family in families],
    columns=["family", "log S"],
).groupby("family", sort=False)["log S"]
limits = half.groupby(fitted["family"], sort=False).agg(["median", "max"]).add_prefix("half, ")
limits.insert(0, "decades of S", reach.max() - reach.min())
limits.insert(0, "n", fitted.groupby("family", sort=False)["n"].max())
limits.round(2)

# %% [markdown]
# Summed up, as "paper says" (all of the printed Table 1) and "we get":


# %%
def share(which: pd.Series) -> str:
    return f"{int(which.sum())} of {len(which)}"


def summed_up(table: pd.DataFrame, slope: str, r2: str, changes, pair) -> dict[str, str]:
    fitted = table[table[slope].notna()]
    small = fitted[fitted["k"].isin(["1", "10", "100"])]
    in_k = changes[changes["step"] != "CE to 1"]
    monotone = in_k.groupby(["dataset", "family"])["change"].max() < 0
    alpha_1 = -fitted.loc[fitted["k"] == "1", slope]
    return {
        "loss falls with S": share(fitted[slope] < 0),
        "k = 1, 10, 100: R2 of 0.97 or more": share(small[r2] >= 0.97),
        "steps in k that are steeper": share(in_k["change"] < 0),
        "steeper at every step in k": share(monotone),
        "alpha_1 under 0.1": share(alpha_1 < 0.1),
        "CE inside the interval of RBP_1": share(pair["CE inside"]),
        "RBP_1 steeper than CE": share(pair["difference"] < 0),
    }


pd.DataFrame(
    {
        "paper says": summed_up(
            published, "slope_printed", "R2_printed", published_steps, published_ce
        ),
        "we get": summed_up(ours, "slope", "R2", our_steps, our_ce),
    }
)

# %% [markdown]
# ## What holds, and what does not
#
# **What these data cannot show.** The lines of the shipped models have 5 to 8 models over 1.6 to 2.1 decades of $S$; on so short a range other falling curves have a high $R^2$ too. The 12 columns are not 12 experiments: the same 25 models were scored on all three corpora, and each size was trained once.
#
# All saw the same 12 million tokens, too few for the exponents to settle ([notebook 13](13_pocket_ladders.ipynb)), and GPT-2 and OPT got a quarter of Pythia's learning rate. So families differ in more than their architecture.
#
# **In short.**
#
# - *The table agrees with its points.* All 54 cells that can be recomputed agree with it within 0.0006; for 102 of the 168 the paper gives no points.
# - *The exponent grows from $k = 1$ to 10* in all 24 families and corpora; beyond 100 it often does not.
# - *CE and $\mathrm{RBP}_1$ are near, not equal.* CE is the steeper one in 17 of 24 pairs.
# - *The shipped models have the other order.* $\mathrm{RBP}_1$ is the steeper one in all 12 pairs, surely so in 11.
# - *Their lines are less straight.* At $k$ = 1, 10 and 100, 23 of 36 fits reach an $R^2$ of 0.97 (in the paper 65 of 72). The least is 0.818, of Qwen on HumanEval.
#
# ## Exercises
#
# 1. In the printed table, which family and corpus has the largest exponent of all, and at which $k$? A tuple (corpus, $k$ as text, family).
# 2. Take the points of Figure 3 for OPT on Wiki and leave out the largest model. What is the slope now? To three decimals. (`curves["Wiki", "1", "OPT"]` and `rbpkit.fit.fit_power_law`.)
# 3. GPT-2 has four models. Which $R^2$ must its fit exceed for the 95% interval of the slope to leave out zero? To two decimals. (`rbpkit.sections.b_table1.slope_interval`.)

# %%
answer_1 = None  # for example ("Wiki", "CE", "OPT")
answer_2 = None  # a number
answer_3 = None  # a number

steepest = published.loc[published["slope_printed"].idxmin(), ["dataset", "k", "family"]]
opt = curves["Wiki", "1", "OPT"][0]
line = np.polyfit(np.log(opt.S[:-1]), np.log(opt.loss[:-1]), 1)
bound = 1 / (1 + 2 / stats.t.ppf(0.975, 2) ** 2)  # where se times t is the slope
print(check(1, answer_1, lambda answer: tuple(map(str, answer)) == tuple(steepest)))
print(check(2, answer_2, close(line[0], 0.0006)))
print(check(3, answer_3, close(bound, 0.006)))
