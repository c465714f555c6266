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
# # Beyond the paper: one law for every $k$, and what to use where the theory fails
#
# **Answer.** No law with few numbers gives $\mathrm{RBP}_k(S)$ within 0.01 everywhere. On the paper's models the nearest is the paper's own power law in $S$, with an exponent linear in $\ln k$ and a level cubic in $\ln k$: six numbers, off by 0.011 in the median, where a separate line at each $k$ is off by 0.009. On the shipped models both err more, by 0.019 and 0.014.
#
# Windows up to 20 tokens follow from those of 5 if a run of hits makes the next hit likelier.
#
# **Claims to be tested.** The paper fits one line at each $k$ (Section 4), and says that ranks are lognormal (Section 5.2) and that the tokens of a window are independent (Section 5.1, Eq. 6). Which distribution of ranks gives all $k$ at once? Which law gives windows?
#
# ![The largest error in RBP_k of fifteen laws and of a line at each k, a point a ladder, published and shipped](../figures/17_contest.png)
#
# *The largest error of each law, a point a ladder; black bars are medians, and the dashed line is the margin of 0.01.*
#
# *Reading time: 18 minutes; no model is run, and it takes about a minute.* The sections on windows and on calibration stand alone and may be skipped at a first reading. `published` is what the paper plots, `pocket` the models of notebook 13.

# %% tags=["parameters"]
figures_dir = ""  # where to write the figures and their points; empty: nowhere
corpus_names = ["pocket:prose", "pocket:code", "pocket:humaneval"]

# %%
import numpy as np
import pandas as pd
from IPython.display import display
from scipy.optimize import least_squares

import rbpkit
from rbpkit import paper, plots
from rbpkit.audit.calibration import expected_calibration_error
from rbpkit.audit.tables import load_tables
from rbpkit.fit import fit_power_law
from rbpkit.pocket import recipes
from rbpkit.records import load_summaries
from rbpkit.sections import one_law, one_law_figures
from rbpkit.stats import windows as window_laws
from rbpkit.stats.bootstrap import resample
from rbpkit.stats.curves import models_of
from rbpkit.stats.noise import binomial_covariance
from rbpkit.stats.published_models import load
from rbpkit.study.params import check_parameters
from rbpkit.tools.exercises import check, close

check_parameters(globals())
print("rbpkit", rbpkit.__version__)
summaries = load_summaries(recipes.SUMMARIES)
there = list(dict.fromkeys(one.manifest.corpus for one in summaries))
if not set(there) & set(corpus_names):
    print("the shipped models were measured on none of these corpora: all of theirs are shown")
corpus_names = [name for name in corpus_names if name in there] or there
summaries = [one for one in summaries if one.manifest.corpus in corpus_names]
published = one_law.published_law_points()
measured = one_law.measured_law_points(summaries)
ladder_of = ["source", "corpus", "family"]
for points in (published, measured):
    count = points.groupby(ladder_of).ngroups
    print(f"{points['source'].iloc[0]}: {count} ladders, {len(points)} values of RBP_k")

# %% [markdown]
# ## A law in $S$ and $k$
#
# A law gives the distribution function of the rank, $\mathrm{RBP}_k(S) = F(k)/F(V)$, from a few parameters, each constant or linear in $\ln S$. All are fitted to $\mathrm{RBP}_k$ by least squares. The last but one in the table below is the paper's law in $S$ with an exponent linear in $\ln k$ and a level cubic in $\ln k$:
#
# $$-\log F(k) = \exp\big(a_0 + a_1 u + a_2 u^2 + a_3 u^3\big)\, S^{-(\alpha_0 + \alpha_1 u)}, \qquad u = \ln k.$$

# %%
one = published.query("corpus == 'Wiki' and family == 'Pythia'")
law = one_law.fit_law(one_law.WINNER, one["k"], one["S"], one["rbp"], 50_304)
a_0, minus_alpha_0, a_1, minus_alpha_1, a_2, a_3 = law.values
u, z = np.log(one["k"]), np.log(one["S"] / law.S_unit)
end = np.log(50_304)


def log_loss(u, z):
    return a_0 + minus_alpha_0 * z + (a_1 + minus_alpha_1 * z) * u + a_2 * u**2 + a_3 * u**3


F, F_V = np.exp(-np.exp(log_loss(u, z))), np.exp(-np.exp(log_loss(end, z)))
assert np.allclose(F / F_V, law.rbp(one["k"], one["S"]))
off = np.abs(F / F_V - one["rbp"])
print(f"ten Pythias on Wiki: alpha(k) = {-minus_alpha_0:.3f} + {-minus_alpha_1:.3f} ln k;", end=" ")
print(f"largest error {off.max():.3f} over {len(one)} values, k = 1 to 30,000")

# %% [markdown]
# ### The contest
#
# *Fitted*: every second $k$, every size but the largest, and (pocket) one half of the documents, cut between source modules. *Judged*: the $k$ between, the largest model, the other half. A law **holds** for a ladder where its largest error in $\mathrm{RBP}_k$, over all $k$ and sizes of the fitted text, is at most 0.01. This margin was set before any fit.
#
# The forms with a cubic were added after a look at three ladders: Pythia on Wiki, and two of other pocket models. The other 27 ladders here had no part in choosing them.

# %%
every = pd.concat([published, measured], ignore_index=True)
contest = one_law.contest(every)
standing = contest.groupby(["source", "law"], sort=False).agg(
    numbers=("numbers", "max"),
    holds=("worst", lambda worst: (worst <= one_law.MARGIN).sum()),
    median=("worst", "median"),
    worst=("worst", "max"),
    documents=("documents", "median"),
)
standing.round(3)

# %%
figure = one_law_figures.contest_panels(contest)
plots.save(figure, contest, figures_dir, "17_contest")


# %%
def six_numbers(part: pd.DataFrame, like: one_law.Fitted | None = None) -> one_law.Fitted:
    V = int(part["V"].iloc[0])
    return one_law.fit_law(one_law.WINNER, part["k"], part["S"], part["rbp"], V, like=like)


panels = {}
for corpus, family in (
    ("Wiki", "Pythia"),
    ("AusLegal", "Pythia"),
    (corpus_names[0], "Pythia"),
    (corpus_names[-1], "Qwen"),
):
    part = every[(every["corpus"] == corpus) & (every["family"] == family)]
    fitted = six_numbers(part[part["S"] < part["S"].max()])
    panels[f"{corpus.removeprefix('pocket:')}, {family}"] = part, fitted
figure = one_law_figures.error_panels(panels)
points = pd.concat(
    part.assign(law=fitted.rbp(part["k"], part["S"])) for part, fitted in panels.values()
)
plots.save(figure, points.drop(columns="other"), figures_dir, "17_errors")

# %%
near = contest[contest["law"].isin([one_law.WINNER, one_law.LINES])]
wide = near.pivot_table(
    index=["source", "corpus"], columns="law", values=["worst", "size", "documents"], aggfunc="max"
)
wide[("text", "")] = contest.groupby(["source", "corpus"])["text"].max()
wide.round(3)

# %%
both = near.pivot(index=ladder_of, columns="law", values="worst")
print(
    f"six numbers hold in {(both[one_law.WINNER] <= one_law.MARGIN).sum()} of {len(both)},", end=" "
)
print(f"a line at each k in {(both[one_law.LINES] <= one_law.MARGIN).sum()};", end=" ")
print(f"medians {both[one_law.WINNER].median():.3f} and {both[one_law.LINES].median():.3f}")
both.groupby(level=["source", "family"]).median().round(3)

# %% [markdown]
# `numbers` is how many the law takes. `worst` is the largest error on the fitted text, `size` that of the largest model, `documents` that on the other half of the documents; `text` is by how much the two halves themselves differ.
#
# - On the published ladders six numbers do nearly what 22 to 32 do: medians 0.011 and 0.009. On the pocket ladders they are at 0.019, and a line at each $k$, with 58 numbers, at 0.014.
# - The line in $S$ itself makes most of the pocket error. Families differ: in the median a line at each $k$ is within 0.01 on GPT-2 and OPT and misses by 0.02 on Pythia and 0.03 on Qwen, whose models lie farther from their lines ([notebook 13](13_pocket_ladders.ipynb)). The ten published Pythias miss by 0.02, too.
# - In the other half of the documents six numbers are off by 0.031, a line at each $k$ by 0.026, and the halves themselves differ by up to 0.018 to 0.027: there the text matters as much as the law.
# - The discrete Weibull and the lognormal, with parameters linear in $\ln S$, miss by 0.03 (published) and 0.05 to 0.06 (pocket) in the median, Zipf-Mandelbrot by 0.02 and 0.03.
# - Of the laws with four numbers the power with product is the nearest on both.
# - A seventh number, for a bend in $\ln S$, brings the pocket median to 0.011, the least of all laws, though one ladder to 0.057; on the published ladders it harms.
#
# ### To be fair to the lognormal
#
# Two numbers for *each* size, fitted to Pythia on Wiki at $k \le 100$, and the largest error there:

# %%
few = one[one["k"] <= 100]
rows = []
for S, at in few.groupby("S"):
    row = {"S": S}
    for name in ("discrete Weibull", "lognormal, rounded", "log-logistic", "Zipf-Mandelbrot"):
        form = one_law.LAWS[name]

        def errors_of(t, form=form, at=at):
            with np.errstate(all="ignore"):
                found = form.mass(at["k"].to_numpy(float), t) / form.mass(50_304.0, t)
            return np.nan_to_num(found - at["rbp"].to_numpy(), nan=9.0)

        best = min((least_squares(errors_of, start) for start in form.starts), key=lambda f: f.cost)
        row[name] = np.abs(best.fun).max()
        if name == "discrete Weibull":
            row["c"] = best.x[1]
    rows.append(row)
each = pd.DataFrame(rows).set_index("S")
each.round(3)

# %% [markdown]
# `c` is the Weibull's, nearly constant at 0.26 to 0.30, and the lognormal is as near as the Weibull: 0.02 to 0.035, a third or half of what the paper's own parameters for it miss (0.07 to 0.08). The log-logistic is nearer than both at every size, 0.006 to 0.020, and so is Zipf-Mandelbrot's at most. So a rank is closer to log-logistic than to lognormal.
#
# ### Does its shape carry over?

# %%
rows = []
for source, corpus in (("published", "Wiki"), ("pocket", corpus_names[0])):
    shape = six_numbers(every[(every["corpus"] == corpus) & (every["family"] == "Pythia")])
    for about, part in every[every["source"] == source].groupby(ladder_of, sort=False):
        fits = six_numbers(part, like=shape), six_numbers(part)
        off = (np.abs(fit.rbp(part["k"], part["S"]) - part["rbp"]).max() for fit in fits)
        rows.append((*about, *off))
carried = pd.DataFrame(rows, columns=[*ladder_of, "two numbers fitted", "six"])
carried.pivot(
    index=["source", "corpus"], columns="family", values=["two numbers fitted", "six"]
).round(3)

# %% [markdown]
# No: taken from Wiki, with only level and exponent fitted anew, the shape misses by up to 0.12 on other text, where six numbers of their own miss by 0.02 at most. Taken from `prose` it misses by up to 0.044 on the pocket corpora, against 0.035: there little is lost on some ladders, and up to fourfold the error on others.
#
# ## The exponent that a law implies
#
# With $-\log F = A(k)\, S^{-\alpha(k)}$ the exponent is $\alpha_0 + \alpha_1 \ln k$: on Pythia's four corpora it grows by 0.02 to 0.07 for each tenfold $k$. A discrete Weibull, $1 - F = e^{-b k^c}$ with $b$ linear in $\ln S$ at the rate $\beta$, has $-\log F \approx e^{-b k^c} \sim S^{-\beta k^c}$ for large $k$: its exponent grows as a *power* of $k$. A lognormal's grows nearly as $\ln k$.
#
# Figure 6b decides. The laws are fitted to the plotted $\mathrm{RBP}_k$, not to its slopes; the table has how far the slopes that they imply are from the printed ones.

# %%
compared = ["discrete Weibull, c const", "lognormal, rounded", "log-logistic", one_law.WINNER]
printed = paper.fit_by_k().query("quantity == 'slope'")
tables = []
for corpus in paper.PLOTTED_CORPORA:
    part = published.query("corpus == @corpus and family == 'Pythia'")
    slopes = printed[printed["dataset"] == corpus]
    row = pd.DataFrame(
        {"corpus": corpus, "k": slopes["k"].astype(int), "printed": -slopes["value"]}
    )
    for name in compared:
        fitted = one_law.fit_law(name, part["k"], part["S"], part["rbp"], 50_304)
        row[name] = fitted.exponents(row["k"], np.sort(part["S"].unique()))
    tables.append(row)
exponents = pd.concat(tables, ignore_index=True)
away = exponents[compared].sub(exponents["printed"], axis=0).abs()
up_to_100 = exponents["k"] <= 100
pd.DataFrame(
    {
        "k <= 100, largest": away[up_to_100].max(),
        "median": away[up_to_100].median(),
        "k > 100, largest": away[~up_to_100].max(),
    }
).round(3)

# %%
figure = one_law_figures.exponent_panels(exponents, compared)
plots.save(figure, exponents, figures_dir, "17_exponents")

# %%
table1 = paper.table1()
table1 = table1[~table1["k"].isin(["CE"]) & table1["dataset"].isin(paper.PLOTTED_CORPORA)]
rows = []
for (corpus, family), cells in table1.groupby(["dataset", "family"], sort=False):
    part = published[(published["corpus"] == corpus) & (published["family"] == family)]
    fitted = six_numbers(part)
    implied = fitted.exponents(cells["k"].astype(int), np.sort(part["S"].unique()))
    rows.append(
        pd.DataFrame({"k": cells["k"].astype(int), "off": implied + cells["slope"].to_numpy()})
    )
table1_off = pd.concat(rows).assign(off=lambda t: t["off"].abs()).groupby("k")["off"]
print("Table 1, |implied - printed|, sixteen ladders:")
print(table1_off.agg(["median", "max"]).round(3).T.to_string())
in_k = paper.table_k_law()
ks = np.unique(paper.rbp_by_k()["k"])
rows = []
for (corpus, family), cells in in_k.groupby(["dataset", "family"]):
    part = published[(published["corpus"] == corpus) & (published["family"] == family)]
    fitted = six_numbers(part)
    S = part.drop_duplicates("model").set_index("model")["S"]
    for cell in cells.itertuples():
        rows.append(fit_power_law(ks, -np.log(fitted.rbp(ks, S[cell.model]))).slope - cell.slope)
off_k = np.abs(rows)
print(
    f"law in k, {len(off_k)} models: slope off by {np.median(off_k):.3f} in the median, {off_k.max():.3f} at most"
)

# %% [markdown]
# Up to $k = 100$ every law has the exponents to 0.004 in the median or so, and the largest misses are all on HumanEval, where the exponent stops rising at $k = 30$. Beyond, the Weibull's exponents are refuted on all four corpora: 0.34 to 1.05 at $k$ = 10,000, where 0.16 to 0.37 is printed. The lognormal's are right on two corpora and half as large again or twice as large on the others.
#
# Table 1's slopes follow to 0.007 at $k = 1$ and 10, and the paper's law *in* $k$ (its ICLR version) follows to 0.004 in the median: both laws are cuts through one surface.
#
# ## How far may one extrapolate?
#
# Pythia, largest model held out, with ever fewer sizes: largest error in $\mathrm{RBP}_k$ of the joint law (all $k$) and of lines at $k$ = 1, 10, 50, 100.

# %%
rows = []
for corpus in paper.PLOTTED_CORPORA:
    part = published.query("corpus == @corpus and family == 'Pythia'")
    S = np.sort(part["S"].unique())
    top = part[part["S"] == S[-1]]
    for n in range(5, S.size):
        seen = part[part["S"] <= S[n - 1]]
        joint = one_law.fit_law(one_law.WINNER, seen["k"], seen["S"], seen["rbp"], 50_304)
        lines = []
        for k in (1, 10, 50, 100):
            at = seen[seen["k"] == k]
            predicted = np.exp(-fit_power_law(at["S"], -np.log(at["rbp"])).predict(S[-1]).loss)
            lines.append(abs(predicted - top.loc[top["k"] == k, "rbp"].iloc[0]))
        worst = np.abs(joint.rbp(top["k"], top["S"]) - top["rbp"]).max()
        rows.append((np.log10(S[-1] / S[n - 1]), n, corpus, worst, max(lines)))
beyond = pd.DataFrame(rows, columns=["decades", "sizes fitted", "corpus", "law", "lines"])
beyond.pivot(index=["decades", "sizes fitted"], columns="corpus", values=["law", "lines"]).round(3)

# %% [markdown]
# Over a factor of 2 to 40 in size the error is 0.006 to 0.039, with no clear growth in the distance: what counts is whether the line bends on that text. It is always far above the sampling error.
#
# ## Windows
#
# $p_{N,k}$ is the share of windows of $N$ tokens whose ranks are all $\le k$. Eq. 6 says $p_N = p_1^N$; notebook 12 found the tokens dependent. Five laws, each fitted to $N \le 5$ only:
#
# - *$N^\gamma$ tokens*: $\log p_N = N^\gamma \log p_1$;
# - *beta-binomial of documents*: each document has its chance $\theta$, as spread as the documents are;
# - the same *and a chain* of pairs in each document: $\mathrm{E}[\theta\,(\theta + \lambda(1-\theta))^{N-1}]$, from the documents' spread or from $p_2$ and $p_5$;
# - *reinforced runs*: after $n$ hits in a row the next has the chance $(a + n)/(a + b + n)$, as in Pólya's urn.
#
# The last has no documents in it, only that a run speaks for what follows. It was added after the others had failed on the published windows, so its errors there are somewhat optimistic:
#
# $$p_N = p_1 \prod_{n=1}^{N-1} \frac{a + n}{a + b + n} \;\sim\; N^{-b} \quad \text{for large } N.$$

# %%
counted = window_laws.published_windows()
twelve = counted.query("model == 'pythia-12b' and k == 10").set_index("N")["p"]
a, b = window_laws.reinforced_of(twelve[1], twelve[2], twelve[5])
n = np.arange(1, 20)
p_20 = twelve[1] * np.prod((a + n) / (a + b + n))
assert np.isclose(p_20, window_laws.reinforced(twelve[1], a, b, 20))
print(
    f"Pythia-12B, k = 10: a = {a:.2f}, b = {b:.2f}; p_20 = {p_20:.3f}, counted {twelve[20]:.3f}, Eq. 6 {twelve[1] ** 20:.3f}"
)

# %%
ours, _ = window_laws.measured_windows(
    summaries,
    sorted({s.manifest.corpus for s in summaries}),
    paper.FAMILIES,
    (5, 10, 20, 50, 100),
    (1, 10, 100),
)
both = {"published": counted[counted["k"].isin((1, 10, 100, 500, 10_000))], "pocket": ours}
windows = pd.concat(window_laws.law_predictions(t).assign(source=name) for name, t in both.items())
windows = windows[
    ~((windows["source"] == "published") & windows["law"].isin(["documents", "chained"]))
]
by = windows.groupby(["source", "law", "N"], sort=False)["ratio"]
table = by.agg(["size", "median", "min", "max"]).unstack()
table.rename(index=window_laws.LAWS).round(2)

# %%
medians = windows[windows["k"].isin((1, 10, 100))].groupby(["source", "k", "law", "N"], sort=False)[
    "ratio"
]
medians = medians.agg(["size", "median", "min", "max"]).reset_index()
medians = medians.sort_values(["source", "k"], ascending=[False, True], kind="stable")
shown = {
    name: window_laws.LAWS[name]
    for name in ("independent", "power_5", "documents", "both", "reinforced")
}
figure = one_law_figures.window_panels(medians, shown)
plots.save(figure, medians, figures_dir, "17_windows")

# %% [markdown]
# `ratio` is $\log p_N$ by the law over $\log p_N$ as counted (1 is right; above 1 the share is too small); `size` counts models and $k$. Shares from fewer than five separate runs are left out.
#
# Eq. 6 is off by a factor of 1.2 to 2.5 in the logarithm, $N^\gamma$ by up to 2.0. Documents that differ explain a part, a chain of pairs almost nothing more. Reinforced runs are within 2% at $N = 10$ and 7% at 20 in the median (single models up to 30% off), 10 to 19% at 50 and 23 to 30% at 100. No law holds at $N = 100$ for all $k$: at $k = 10$ it promises too little, at $k \ge 100$ too much.
#
# Published windows of 32 *memorised* tokens (notebook 16), in $-\log p$:

# %%
memorised = load("models").query("group == 'memorised windows'")
singles = counted[counted["k"] == 1]
rows = []
for S, at in singles.groupby("S"):
    p = at.set_index("N")["p"]
    shares = memorised.loc[memorised["S"] == S, "share"]
    if len(shares):
        three = p[1], p[2], p[5]
        gamma = window_laws.tokens_exponent((2, 5), three[1:], p[1])
        laws = (
            p[1] ** 32,
            p[1] ** (32**gamma),
            window_laws.reinforced(p[1], *window_laws.reinforced_of(*three), 32),
        )
        rows.append((S, *-np.log([*laws, shares.max(), p[20], p[50]])))
names = ["S", "Eq. 6", "N^gamma", "reinforced", "memorised p_32", "Wiki p_20", "Wiki p_50"]
p_32 = pd.DataFrame(rows, columns=names).set_index("S")
p_32.round(2)

# %% [markdown]
# From Wiki's $p_1, p_2, p_5$ reinforced runs give 10 to 6.5, Eq. 6 gives 29 to 18, and 5.8 to 4.1 was counted. The rest is no fault of the law alone: memorised text is repeated text, and 50 tokens of Wiki, at 8.4 to 5.5, also lie below what three short windows promise for 32.
#
# ### How wide is the climb?
#
# If $-\log p_{N,k}$ is a power of $S$ with exponent $\alpha$, the climb from 10 to 90% takes $1.34/\alpha$ decades of $S$. By Eq. 8 that is the same for all $N$. With the counted windows:

# %%
rows = []
for k in (1, 10, 100, 10_000):
    for N in (1, 10, 20, 50, 100):
        at = counted[(counted["k"] == k) & (counted["N"] == N)]
        if (at["runs_low"] < window_laws.MIN_RUNS).any():
            continue
        fit = fit_power_law(at["S"], -np.log(at["p"]))
        width = np.log10(np.log(0.1) / np.log(0.9)) / fit.alpha
        rows.append((k, N, fit.alpha, fit.r2, width))
climb = pd.DataFrame(rows, columns=["k", "N", "alpha", "R2", "width"]).set_index(["k", "N"])
climb.round({"alpha": 3, "R2": 3, "width": 1})

# %% [markdown]
# Long windows at small $k$ climb *more slowly* than Eq. 8 says: at $k = 100$ over 14 decades for $N = 100$, where one token takes 7. Long runs of hits come from easy and repeated text, which small models have, too. Only at $k$ = 10,000 does $N$ sharpen the climb, from 4.4 to 3.7 decades. Sharp, within one decade, would need $\alpha = 1.34$, four times the largest exponent in the paper: no $N$ and no $k$ does it.
#
# ## How many tokens for an exponent?
#
# Notebook 05 says how many *missed* tokens a line needs. The tokens that an exponent needs are another number.

# %%
rows = []
for corpus in sorted({s.manifest.corpus for s in summaries}):
    for family in paper.FAMILIES:
        models = models_of(summaries, corpus, family)
        S = np.array([s.manifest.S for s in models], float)
        x, T = np.log(S) - np.log(S).mean(), models[0].tokens
        for k in (1, 10, 100):
            loss = -np.log([s.rbp(k) for s in models])
            line = fit_power_law(S, loss)
            drawn = -(np.log(resample(models, (k,), 300).loss[:, :, 0]) @ x) / (x @ x)
            binomial = binomial_covariance(loss, np.full(S.size, T))
            alone = np.sqrt(x @ binomial @ x) / (x @ x)
            text, enough = drawn.std(), T * (1.96 * drawn.std() / 0.01) ** 2
            rows.append((corpus, k, line.alpha, line.slope_se, text, (text / alone) ** 2, enough))
names = ["corpus", "k", "alpha", "scatter", "text", "D", "tokens for 0.01"]
errors = pd.DataFrame(rows, columns=names).groupby(["corpus", "k"]).median()
errors.round({"alpha": 3, "scatter": 4, "text": 4, "D": 1, "tokens for 0.01": -3})

# %% [markdown]
# Medians over four families. `text` is the standard error of $\alpha$ that comes from the text (bootstrap by module), `scatter` that from the models' distance from the line; `tokens for 0.01` would make the text's 95% interval $\pm 0.01$. Seven to forty thousand tokens suffice. With the thirty to a hundred thousand of these corpora the scatter is the larger part in the median: then more sizes help, not more text. GPT-2 is an exception on `code` and `humaneval` (notebook 05).
#
# ## Calibration: CE and $\mathrm{RBP}_1$ as readings of one distribution
#
# Let $p_{\max}$ be the largest probability of a prediction and $H$ its entropy. For a *calibrated* model, one whose targets are distributed as it predicts,
#
# $$\mathrm{RBP}_1 = \mathrm{E}[p_{\max}], \qquad \mathrm{CE} = \mathrm{E}[H].$$
#
# Then CE and all $\mathrm{RBP}_k$ are functionals of one object, the sorted predictive distribution: its entropy, and the mass of its first $k$. That is a reason for the paper's "peculiar coincidence" that both follow similar laws, as far as models are calibrated.

# %%
first = summaries[0]  # by document: sums over its tokens
E_p_max, E_H = (
    first.document_p_max.sum() / first.tokens,
    first.document_entropy.sum() / first.tokens,
)
calibration = one_law.calibration(summaries)
both_sides = [first.rbp(1), E_p_max, first.ce(), E_H]
assert np.allclose(calibration.loc[0, ["RBP_1", "p_max", "CE", "entropy"]].tolist(), both_sides)

figure = one_law_figures.calibration_panels(calibration)
plots.save(figure, calibration, figures_dir, "17_calibration")
print(f"{len(calibration)} models and corpora, float32;", end=" ")
print(f"CE {calibration['CE'].min():.1f} to {calibration['CE'].max():.1f}; the gaps:")
gaps = calibration.groupby("corpus")[["gap_1", "gap_CE"]].agg(["min", "median", "max"])
gaps[("apart from 0", "")] = [
    f"{((g['gap_1_low'] > 0) | (g['gap_1_high'] < 0)).sum()}, "
    f"{((g['gap_CE_low'] > 0) | (g['gap_CE_high'] < 0)).sum()} of {len(g)}"
    for _, g in calibration.groupby("corpus")
]
gaps.round(3)

# %% [markdown]
# `gap_1` is $\mathrm{RBP}_1 - \mathrm{E}[p_{\max}]$, `gap_CE` is $\mathrm{CE} - \mathrm{E}[H]$ in nats; *apart from 0* counts 95% intervals (bootstrap by module) of the first and of the second. The identities are met nearly, not exactly: to 0.03 in $\mathrm{RBP}_1$, to 0.3 nats of 2.5 to 4.6 in CE. On `prose` and `code` every model is *underconfident*: right more often, and less surprised, than it says. On `humaneval` every model is more surprised than it says, and most are right less often.
#
# **Bin by bin.** A mean gap can hide opposite ones. With the tokens in ten bins of $p_{\max}$, the expected calibration error (Guo et al. 2017) is
#
# $$\mathrm{ECE} = \sum_b \frac{T_b}{T}\,\Big|\frac{\text{hits}_b}{T_b} - \overline{p_{\max}}_b\Big|.$$

# %%
tables = load_tables(one.manifest for one in summaries)
bins = tables.get("calibration")
if bins is None:
    print("no table of p_max by bin for these records: rbpkit audit makes it")
else:
    order = {name: place for place, name in enumerate(corpus_names)}
    bins = bins.sort_values("corpus", key=lambda name: name.map(order), kind="stable")
    error = (bins["hits"] / bins["tokens"] - bins["p_max"]).abs() * bins["tokens"]
    job = [bins["corpus"], bins["model"]]
    ece = error.groupby(job).sum() / bins["tokens"].groupby(job).sum()
    first = bins[(bins["corpus"] == ece.index[0][0]) & (bins["model"] == ece.index[0][1])]
    assert np.isclose(ece.iloc[0], expected_calibration_error(first))
    figure = one_law_figures.reliability_panels(bins)
    plots.save(figure, bins, figures_dir, "17_reliability")
    sure = bins[bins["low"].notna()]
    apart = (sure["low"] > sure["p_max"]) | (sure["high"] < sure["p_max"])
    print(f"{len(sure)} bins of 50 tokens or more; share with p_max outside the 95% interval:")
    print((apart.groupby(sure["corpus"], sort=False).mean()).round(2).to_string(header=False))
    display(ece.groupby("corpus").agg(["min", "median", "max"]).round(3))
    largest = bins[bins["S"] == bins.groupby(["corpus", "family"])["S"].transform("max")]
    largest = largest.assign(rank_1=largest["hits"] / largest["tokens"])
    largest["above"] = largest["rank_1"] - largest["p_max"]
    print("the largest models: rank 1 less p_max over all bins; rank 1 in the bin 0.8 to 0.9:")
    of_bins = largest.groupby("corpus", sort=False)["above"].agg(["min", "max"])
    ninth = largest[largest["bin"] == 8].groupby("corpus")["rank_1"].agg(["min", "max"])
    both = {"rank 1 less p_max": of_bins, "rank 1": ninth}
    print(pd.concat(both, axis=1).round(2).to_string())

# %% [markdown]
# On `prose` and `code` the largest models stay within 0.04 of the diagonal in every bin, mostly a little above it. On `humaneval` they are overconfident where they are confident, by up to 0.15: of the tokens with $p_{\max}$ between 0.8 and 0.9, 0.75 to 0.78 have rank 1. Such tokens are few there, so the ECE is small all the same.
#
# **Beyond $k = 1$.** Let $p_{(1)} \ge p_{(2)} \ge \dots$ be the sorted probabilities of a prediction. A calibrated model has
#
# $$\mathrm{RBP}_k = \mathrm{E}\Big[\sum_{i \le k} p_{(i)}\Big] \quad \text{for every } k.$$
#
# Drawn targets show it: the model below is calibrated because its targets are drawn from what it predicts.

# %%
rng = np.random.default_rng(0)
z = 2 * rng.standard_normal((5000, 400))  # logits of 5,000 predictions
p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
target = (p.cumsum(axis=1) > rng.random((5000, 1))).argmax(axis=1)  # drawn as predicted
rank = (p >= p[np.arange(5000), target][:, None]).sum(axis=1)  # Eq. 3
mass = np.sort(p, axis=1)[:, ::-1].cumsum(axis=1)  # of the k largest, at k - 1
for k in (1, 10, 100):
    gap = (rank <= k) - mass[:, k - 1]
    print(f"k = {k}: RBP_k {(rank <= k).mean():.3f}, mean mass {mass[:, k - 1].mean():.3f}")
    assert abs(gap.mean()) < 4 * gap.std() / 5000**0.5

# %% [markdown]
# The shipped models, on the first 100 documents of each corpus: the gap $\mathrm{RBP}_k - \mathrm{E}[\sum_{i \le k} p_{(i)}]$ (for CE: $\mathrm{CE} - \mathrm{E}[H]$, nats), with weights and hidden states in float32; then what 16 bits change.

# %%
predicted = tables.get("predicted")
if predicted is None:
    print("no table of predicted ranks for these models: rbpkit audit --models makes it")
else:
    full = predicted[predicted["dtype"] == "float32"]
    apart = (full["low"] > 0) | (full["high"] < 0)
    gaps = full.assign(apart=apart).groupby(["quantity", "corpus"], sort=False)
    gaps = gaps.agg(
        least=("gap", "min"), median=("gap", "median"), most=("gap", "max"),
        models=("gap", "size"), apart=("apart", "sum"),
    )  # fmt: skip
    display(gaps.round(3))
    gap = predicted.pivot(index=["corpus", "model", "quantity"], columns="dtype", values="gap")
    moved = gap.drop(columns="float32").sub(gap["float32"], axis=0).abs()
    print("the gap moves at most by:")
    print(moved.groupby("quantity", sort=False).max().round(3).to_string())
    rows = []
    for about, part in full[full["quantity"] != "CE"].groupby(["corpus", "family", "quantity"]):
        both = (fit_power_law(part["S"], -np.log(part[x])) for x in ("measured", "predicted"))
        rows.append((*about, *(line.alpha for line in both)))
    slopes = pd.DataFrame(rows, columns=["corpus", "family", "RBP_k", "measured", "predicted"])
    slopes["ratio"] = slopes["predicted"] / slopes["measured"]
    print("alpha of the predicted mass over alpha measured:")
    print(slopes.groupby("RBP_k")["ratio"].agg(["min", "median", "max"]).round(2).to_string())

# %% [markdown]
# The predictions alone, without a single target, give $\mathrm{RBP}_k$ to 0.05 in every model, corpus and $k$, on `prose` and `code` always too low.
#
# They give its exponent less well: the predicted one is 1.10, 0.95 and 0.78 times the measured one in the median at $k$ = 1, 10 and 100, because a gap of 0.02 weighs more where $-\log \mathrm{RBP}_k$ is small. Weights in 16 bits move the gap by 0.001 at most, and by 0.005 nats: calibration is a matter of the text and the model, not of the arithmetic.
#
# Does miscalibration make $\alpha_1$ and $\alpha_{\mathrm{CE}}$ differ? Fit both to what the models *predict* of themselves:

# %%
rows = []
for about, part in calibration.groupby(["corpus", "family"]):
    values = (-np.log(part["RBP_1"]), -np.log(part["p_max"]), part["CE"], part["entropy"])
    rows.append((*about, *(fit_power_law(part["S"], value).alpha for value in values)))
names = ["corpus", "family", "RBP_1", "E[p_max]", "CE", "E[H]"]
alphas = pd.DataFrame(rows, columns=names).set_index(["corpus", "family"])
alphas["measured ratio"] = alphas["RBP_1"] / alphas["CE"]
alphas["predicted ratio"] = alphas["E[p_max]"] / alphas["E[H]"]
for name in ("measured ratio", "predicted ratio"):
    ratio = alphas[name]
    print(f"{name}: median {ratio.median():.2f}, {ratio.min():.2f} to {ratio.max():.2f}")
larger = (alphas["predicted ratio"] > alphas["measured ratio"]).sum()
print(f"the predicted ratio is the larger in {larger} of {len(alphas)} ladders")
alphas.round(3)

# %% [markdown]
# No. In the models' own predictions the ratio of the two exponents is above 1 in all 12 ladders, and in all of them larger than what is measured. $-\log$ of the top mass and the entropy are two functionals of one distribution, and they scale differently; miscalibration brings the exponents *closer* together. So calibration explains why both quantities follow laws of one form, and the shape of the distribution why their exponents are not one. What a theory must give is how the sorted predictive distribution changes with $S$.

# %% [markdown]
# ## What others have found
#
# - The discrete Weibull is Nakagawa and Osaki's (1975). The rank-frequency laws of Zipf and Mandelbrot are about word counts; here they are tried for ranks of predictions.
# - Schaeffer et al. (2023, arXiv 2304.15004): emergent abilities appear with metrics that are non-linear or discontinuous in the error of a token, such as exact match over many tokens. Section 5.1 of the paper is of this kind.
# - Hu et al. (2023, arXiv 2310.03262) fit $\log(-\log p)$ of task success against size, the form used here for windows.
# - Guo et al. (2017, arXiv 1706.04599): modern classifiers are miscalibrated, and one temperature mends most of it. Braverman et al. (2019, arXiv 1906.05664): the entropy rate of language models' generations drifts upwards. Liu et al. (2024, arXiv 2406.11345) measure calibration over the whole vocabulary.
#
# ## What holds
#
# - No law within 0.01 everywhere. The best in few numbers on published ladders: a power of $S$ with an exponent linear in $\ln k$, six numbers, 0.011 in the median and 0.023 at worst (16 ladders). On the 12 pocket ladders it has 0.019 and 0.040; a line at each $k$ has 0.014 and 0.033.
# - The exponent grows with $\ln k$; a Weibull's power of $k$ is refuted by Figure 6b. With two numbers a size the rank is log-logistic, not lognormal.
# - Windows: reinforced runs give $\log p_N$ at $N$ = 10 and 20 from $N \le 5$ to 2 and 7% in the median; no law gives $N = 100$.
# - The climb is no sharper for longer windows, but at $k$ = 10,000.
# - CE and $\mathrm{RBP}_k$ are, nearly, entropy and top mass of one predicted distribution ($\mathrm{RBP}_k$ within 0.05 for $k \le 100$); these scale with different exponents.
#
# Limits: ladders of four to ten sizes; the cubic was chosen with one of them in view; $k$ between 100 and 20,000 is published for Wiki's Pythias only; text in English and Python.
#
# ## Exercises
#
# 1. At which $k$ does $\alpha_0 + \alpha_1 \ln k$ of the ten Pythias on Wiki reach 0.15? (From `law`.)

# %%
answer_1 = None  # a whole number

reached = np.exp((0.15 + minus_alpha_0) / -minus_alpha_1)
print(check(1, answer_1, close(reached, 1.5)))
