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
# # Appendix B: the law in $k$
#
# **Claim.** For one model, $-\log \mathrm{RBP}_k$ is also a power law in $k$, for $k$ from 1 to 100. This stands in an appendix of the ICLR version only (its Figure 9 and its Table 1); the arXiv version does not have it.
#
# Published points and our own are set side by side; then we ask how sure the exponent is, whether the line is a line, and how much larger a model must be to gain what a doubled $k$ gains. Nothing is run on a model; documents are drawn anew a thousand times, which takes some seconds. $S$ counts non-embedding parameters everywhere.

# %% tags=["parameters"]
families = ["GPT2", "OPT", "Pythia", "Qwen"]  # families to show of what was measured
corpus_names = ["pocket:prose", "pocket:code", "pocket:qa", "pocket:legal"]
records_dir = ""  # a folder of records of your own; empty: the summaries that ship with rbpkit
figures_dir = ""  # where to write the figures and their points; empty: nowhere

# %%
import numpy as np
import pandas as pd

import rbpkit
from rbpkit import figures, figures_tables, klaw, paper, pocket
from rbpkit.errors import InputError
from rbpkit.exercises import check, close
from rbpkit.fit import fit_rbp_law
from rbpkit.store import load_summaries

print("rbpkit", rbpkit.__version__)

# %% [markdown]
# ## One model
#
# The regression of the main text, with $k$ in the place of $S$:
#
# $$\log(-\log \mathrm{RBP}_k) = \log c - \beta \log k .$$

# %%
published = klaw.published_points()
one = published.query("corpus == 'Wiki' and model == 'pythia-12b'")
line = fit_rbp_law(one["k"], one["rbp"])
print(f"beta {line.alpha:.3f}, R2 {line.r2:.4f}, n {line.n}")
one[["k", "rbp", "loss"]].round(3).reset_index(drop=True)

# %% [markdown]
# ## Figure 9, published
#
# Sixteen models, four corpora, eleven $k$: $1, 2, 3, 5, 7, 10, 18, 30, 50, 78, 100$. We draw a row a family and a panel a corpus; larger models are darker.

# %%
picture = figures_tables.k_panels(published, "published")
figures.save(picture, published, figures_dir, "figure_9")

# %% [markdown]
# ## The table
#
# The ICLR version's Table 1 prints slope and $R^2$ for 24 models. Figure 9 shows the points of 64 of its 96 cells; the other 32 rest on the printed table alone.

# %%
table = klaw.published_lines()
shown = table[table["slope"].notna()]
gaps = shown[["slope_difference", "R2_difference"]].abs().max()
print(f"{len(shown)} of {len(table)} cells have points;", end=" ")
print(f"off by at most {gaps['slope_difference']:.4f} (slope), {gaps['R2_difference']:.4f} (R2)")
columns = ["corpus", "family", "model", "slope_printed", "slope", "R2_printed", "R2"]
shown[columns].round(3).reset_index(drop=True).head(8)

# %%
printed = table.groupby(["corpus", "family"], sort=False).agg(
    models=("model", "size"),
    shallowest=("slope_printed", "max"),
    steepest=("slope_printed", "min"),
    lowest_R2=("R2_printed", "min"),
)
printed

# %% [markdown]
# All 64 agree within the rounding of the printed digits. $R^2$ is 0.993 or more in all 96 cells, and $\beta$ runs from 0.246 to 0.729: largest on HumanEval, smallest on HotpotQA, and as a rule larger for larger models.
#
# ## Measured here
#
# The same eleven $k$ on our own ranks. Our $V$ is 4,096, so $k = 100$ is the share of $V$ that 1,228 is of Pythia's 50,304: we look further into the tail than the paper does.

# %%
summaries = load_summaries(records_dir or pocket.summaries_root())
measured, missing = klaw.measured_points(summaries, corpus_names, families)
for line_missing in missing:
    print(line_missing)
ours = klaw.lines(measured)
by_size = ours.groupby(["corpus", "family"], sort=False)
by_size.agg(
    models=("model", "size"),
    smallest_model=("slope", "first"),
    largest_model=("slope", "last"),
    shallowest=("slope", "max"),
    steepest=("slope", "min"),
    lowest_R2=("R2", "min"),
).round(3)

# %%
steeper = by_size["slope"].last() < by_size["slope"].first()
print(f"largest model steeper than smallest: {steeper.sum()} of {steeper.size}")
print(f"at every step in S: {by_size['slope'].agg(lambda s: s.is_monotonic_decreasing).sum()}")

# %%
if len(measured):
    picture = figures_tables.k_panels(measured, "measured")
    figures.save(picture, measured, figures_dir, "figure_9_measured")

# %% [markdown]
# ## Is it a line?
#
# $R^2$ says little here. $\mathrm{RBP}_k$ is one distribution function, read at eleven places: it can only rise, and smoothly, so that any such curve lies close to some line. Three other looks:
#
# - the largest distance from the line (`worst`, % of the loss), beside that of another smooth curve with two numbers: a *lognormal* over ranks, fitted to the same eleven points. It is no power law; which $R^2$ would it have?
# - the sign of the residuals along $k$. Independent residuals of eleven points would change sign about five times.
# - the slope between neighbouring $k$, which a power law has the same everywhere.


# %%
def straightness(points: pd.DataFrame, lines: pd.DataFrame) -> dict[str, str]:
    other = []
    for _, line in points.groupby(["corpus", "model"], sort=False):
        rbp = klaw.lognormal(line["k"], line["rbp"])
        away = 100 * np.abs(np.log(rbp) / -line["loss"].to_numpy() - 1).max()
        other.append((fit_rbp_law(line["k"], rbp).r2, away))
    r2, away = np.array(other).T
    turns = lines["steepest"] / lines["shallowest"]
    return {
        "lines": f"{len(lines)}",
        "R2, lowest and median": f"{lines['R2'].min():.3f}, {lines['R2'].median():.3f}",
        "R2 of a lognormal, lowest and median": f"{r2.min():.3f}, {np.median(r2):.3f}",
        "points off the line, median, most": f"{lines['worst'].median():.1f}%, {lines['worst'].max():.1f}%",
        "points off the lognormal, median, most": f"{np.median(away):.1f}%, {away.max():.1f}%",
        "sign changes, median, most": f"{lines['sign changes'].median():.0f}, {lines['sign changes'].max()}",
        "steepest / shallowest slope, median": f"{turns.median():.2f}",
    }


paper_lines = klaw.lines(published)
looks = {"published": straightness(published, paper_lines)}
if len(measured):
    looks["measured"] = straightness(measured, ours)
pd.DataFrame(looks)

# %% [markdown]
# A published point lies 3% from its line at the median and 14% at most; from the lognormal 12% and 25%. So with two numbers the power law is the better description, although a lognormal, which is none, has an $R^2$ of 0.986 or more as well: an $R^2$ of 0.99 proves little here. And the residuals are no noise: at the median they change sign twice, not five times. The same bend shows in the slope between neighbouring $k$, averaged over models:

# %%
from_k, to_k = klaw.KS[:-1], klaw.KS[1:]


def local_slopes(points: pd.DataFrame) -> pd.DataFrame:
    loss = points.pivot(index=["corpus", "model"], columns="k", values="loss")
    slopes = np.log(loss).diff(axis=1) / np.diff(np.log([1, *loss.columns]))
    slopes = slopes[list(to_k)].set_axis(
        [f"{a} to {b}" for a, b in zip(from_k, to_k, strict=True)], axis=1
    )
    return slopes.groupby("corpus", sort=False).mean()


pd.concat([local_slopes(published), *([local_slopes(measured)] if len(measured) else [])]).T.round(
    3
)

# %% [markdown]
# The published slope is shallowest in the middle and steepens toward $k = 100$; only on HumanEval it is steepest at $k = 1$ to 2. Does the line go on past 100? For Pythia on Wiki, Figure 7 shows $\mathrm{RBP}_k$ (its $N = 1$) at $k = 1, 5, 10, 50, 100$ and then at 500, 2,500 and 10,000. Fitted on the first five, the line says of the last three, as the ratio of the loss seen to the loss promised:

# %%
windows = paper.emergence().query("N == 1")
beyond = {}
for model, points in windows.groupby("model", sort=False):
    near, far = points[points["k"] <= 100], points[points["k"] > 100]
    promised = fit_rbp_law(near["k"], near["p"]).predict(far["k"]).loss
    beyond[model] = dict(zip(far["k"], -np.log(far["p"]) / promised, strict=True))
pd.DataFrame.from_dict(beyond, orient="index").rename_axis("model").round(3)

# %%
FAR = (200, 500, 2048)
rows = []
for s in summaries:
    m = s.manifest
    if (m.corpus, m.model) in set(zip(measured["corpus"], measured["model"], strict=True)):
        line = fit_rbp_law(klaw.KS, s.rbp(np.array(klaw.KS)))
        seen = -np.log(s.rbp(np.array(FAR)))
        rows.append((m.corpus, m.family, *(seen / line.predict(FAR).loss)))
far = pd.DataFrame(rows, columns=["corpus", "family", *(f"k = {k}" for k in FAR)])
far.groupby(["corpus", "family"]).mean().round(3)

# %% [markdown]
# The loss falls below the line beyond $k = 100$ for every published Pythia: to about three quarters of it at 500, a third at 2,500, a tenth or less at 10,000. It must fall, for $-\log \mathrm{RBP}_k$ is zero at $k = V$ and a power of $k$ is not. The law in $k$ is a description of two decades, not an asymptote.
#
# ## How sure is $\beta$?
#
# The regression gives an interval, as if the eleven points had errors of their own. They have not: successive $k$ count mostly the same tokens. Two kinds of error are to be told apart.
#
# - *Another text.* Had other documents been scored, all eleven points would have moved, and together. We draw the documents anew, with replacement, and refit: `se_documents`. `se_tokens` takes single tokens for independent, from $\mathrm{Cov}(\mathrm{RBP}_j, \mathrm{RBP}_k) = \mathrm{RBP}_j (1 - \mathrm{RBP}_k)/T$ for $j \le k$: a lower bound, and all that the published numbers allow.
# - *Another form.* The residuals of the line are its bend; `se_regression` measures this bend and takes it for noise.

# %%
errors = []
tokens = paper.token_counts().set_index(["dataset", "family"])["tokens"]
for (corpus, family, _), points in published.groupby(["corpus", "family", "model"], sort=False):
    se = fit_rbp_law(points["k"], points["rbp"]).slope_se
    T = tokens[corpus, family]
    errors.append((corpus, family, se, klaw.token_se(points["k"], points["rbp"], T)))
errors = pd.DataFrame(errors, columns=["corpus", "family", "se_regression", "se_tokens"])
errors["ratio"] = errors["se_regression"] / errors["se_tokens"]
errors.groupby("corpus", sort=False).mean(numeric_only=True).round(4)

# %%
sampled = pd.DataFrame()
try:
    sampled = klaw.sampling(summaries, measured)
except InputError as error:
    print("no bootstrap:", error)
if len(sampled):
    ratios = {
        "neighbours' correlation": sampled["correlation"],
        "documents / tokens": sampled["se_documents"] / sampled["se_tokens"],
        "documents / unlinked": sampled["se_documents"] / sampled["se_unlinked"],
        "regression / documents": sampled["se_regression"] / sampled["se_documents"],
    }
    grouped = pd.DataFrame(ratios).groupby(sampled["corpus"], sort=False)
    print(grouped.mean().round(2).to_string())

# %% [markdown]
# Each measured model: in grey the regression's interval, in colour that of the bootstrap over documents.

# %%
if len(sampled):
    picture = figures_tables.slope_errors(sampled)
    figures.save(picture, sampled, figures_dir, "figure_9_errors")

# %% [markdown]
# How to read the two tables. Points that share their tokens move together (`neighbours' correlation`), which shifts the line; where `documents / unlinked` is near 1, it hardly turns it, so the dependence alone does not make the error of $\beta$ much larger than that of eleven points with the same spread and no link between them. Where `regression / documents` is above 1, the regression's interval is wider than another text would need, since it takes the bend for noise; below 1 it is too narrow. `documents / tokens` is what documents add to independent tokens.
#
# On the published corpora the regression's error is 5.5 times that of independent tokens on AusLegal and 2.5 times on Wiki, but no larger than it on HumanEval and HotpotQA (1.1 and 1.0 times), where far fewer tokens were scored. Whatever documents add there, the published numbers cannot tell; it makes the printed line of those two corpora less sure than its own interval says. And on no corpus is the regression's interval one for *the* exponent: the slopes between neighbouring $k$ lie far outside of it.
#
# ## The trade of $k$ against $S$
#
# If $-\log \mathrm{RBP}_k \propto S^{-\alpha} k^{-\beta}$, a doubled $k$ gains what a model larger by the factor
#
# $$2^{\beta/\alpha}$$
#
# gains. But the exponent $\alpha_k$ grows with $k$ (Section 4.4), so the two powers do not separate. We fit
#
# $$\log(-\log \mathrm{RBP}_k) = \mathrm{const} - \alpha \log S - \beta \log k - \gamma \log S \log k$$
#
# to all points of a family on a corpus, both logarithms measured from a centre: $\alpha$ and $\beta$ are the exponents there. $\gamma > 0$ says at once that $\alpha$ grows with $k$ and that $\beta$ grows with $S$: one fact, seen from two sides. `low` and `high` carry the regression's errors, and the covariance of both exponents, into the factor. They take residuals for independent, with the reservation above.

# %%
shown_columns = ["corpus", "family", "alpha", "beta", "gamma", "r2", "factor", "low", "high"]
plain, _ = klaw.trades(published, product=False)
crossed, _ = klaw.trades(published)


def with_ends(trades: pd.DataFrame, points: pd.DataFrame) -> pd.DataFrame:
    for k in (1, 100):
        at_k = klaw.trades(points, at_k=k)[0].reindex(columns=["corpus", "family", "factor"])
        trades = trades.merge(at_k.rename(columns={"factor": f"at k = {k}"}), how="left")
    return trades


compared = with_ends(crossed[shown_columns], published)
compared.insert(6, "r2, gamma 0", plain["r2"])
compared.round({"factor": 1, "low": 1, "high": 1, "at k = 1": 0, "at k = 100": 1}).round(3)

# %% [markdown]
# In the middle of the range ($k \approx 11$), a doubled $k$ is worth a model 5 to 27 times as large. The factor is no constant of a family: it falls with $k$ in all sixteen cases, since $\alpha_k$ grows (for GPT-2 on HumanEval hardly). Over the sixteen:

# %%
for name in ("at k = 1", "factor", "at k = 100"):
    f = compared[name]
    print(f"{name}: {f.min():.1f} to {f.max():.1f}, median {f.median():.1f}")
print("gamma > 0:", (crossed["gamma"] > 0).sum(), "of", len(crossed))

# %% [markdown]
# Measured, with a third interval: documents drawn anew, the same for all models of a family (`bootstrap`).

# %%
our_trades, no_trade = klaw.trades(measured, summaries)
for line_missing in no_trade:
    print(line_missing)
our_columns = [*shown_columns, "bootstrap_low", "bootstrap_high"]
our_compared = with_ends(our_trades.reindex(columns=our_columns), measured)
factors = [*our_columns[6:], "at k = 1", "at k = 100"]
our_compared.round(dict.fromkeys(factors, 1)).round(3)

# %%
if len(our_trades):
    S = measured.groupby(["corpus", "family"])["S"]
    span = (S.max() / S.min()).rename("largest S / smallest S").reset_index()
    spanned = our_compared.merge(span)
    outside = spanned["factor"] > spanned["largest S / smallest S"]
    print(f"largest / smallest model: {span.iloc[:, -1].min():.1f} to {span.iloc[:, -1].max():.1f}")
    print(f"factor larger than the whole ladder: {outside.sum()} of {outside.size}")
    for name in ("at k = 1", "factor", "at k = 100"):
        f = our_compared[name]
        print(f"{name}: {f.min():.1f} to {f.max():.1f}, median {f.median():.1f}")

# %% [markdown]
# ## Paper says, we get


# %%
def summed_up(slopes: pd.Series, r2: pd.Series, trades: pd.DataFrame) -> dict[str, str]:
    grows = (trades["gamma"] > 0).sum() if len(trades) else 0
    return {
        "lines": f"{len(slopes)}",
        "beta": f"{-slopes.max():.3f} to {-slopes.min():.3f}",
        "lowest R2": f"{r2.min():.3f}",
        "R2 of 0.99 or more": f"{(r2 >= 0.99).sum()} of {len(r2)}",
        "beta grows with S (gamma > 0)": f"{grows} of {len(trades)}",
    }


both = {"paper says": summed_up(table["slope_printed"], table["R2_printed"], crossed)}
if len(measured):
    both["we get"] = summed_up(ours["slope"], ours["R2"], our_trades)
pd.DataFrame(both)

# %% [markdown]
# ## What holds, and what does not
#
# **What holds.** Two numbers describe $-\log \mathrm{RBP}_k$ from $k = 1$ to 100 within a few percent, for all 16 models that Figure 9 shows; the printed table follows from its points.
#
# **What does not, or not quite.** $R^2$ is no test of it, its points being one smooth curve. The line bends, always in the same way but on HumanEval, and breaks down beyond 100. The interval of the regression is neither the error of another text nor a bound on the local slope. The exponents in $S$ and in $k$ are not two separate constants.
#
# **What our four ladders show.** The same picture, with more bend. $\beta$ is 0.329 to 0.418, inside the printed range, and the largest model of a ladder is steeper than the smallest in all 16 families and corpora, by little: the change is often smaller than one regression interval. $R^2$ is 0.99 or more on 75 of 80 lines and 0.988 at least. But a point lies 6.6% from its line at the median, twice as far as in the paper, and the lognormal does hardly worse (8.8%). The slope between neighbouring $k$ is $-0.29$ to $-0.35$ where it is shallowest and $-0.52$ to $-0.55$ at $k = 78$ to 100, averaged over the models of a corpus; on `legal` it is shallowest at the very start. Beyond 100 the loss falls below the line sooner: to half of it at $k = 500$. Our $k = 100$ is a larger share of $V$, which may be the reason; the data do not separate the two. So for these models the law in $k$ is a rough description.
#
# The regression's interval is 1.8 to 4.2 times as wide as the text's sampling error: the bend again. In the trade of $k$ against $S$, $\gamma$ is positive in all 16, so the factor falls with $k$ here too; it is larger than in the paper (at the centre 16.5 to 102.8, against 5.2 to 26.9), since our $\alpha$ are smaller. In 7 of 16 it exceeds the whole ladder's span in $S$, and is then an extrapolation; on `legal` (22,618 scored tokens, few texts) the interval of GPT-2's runs from 30 to 348. The bootstrap's intervals are narrower, but they know only of other documents, not of the bend, nor of another training of the same model. With 4 to 6 models over 1.4 to 1.6 decades of $S$, all trained on the same text, families should not be ranked by these factors.
#
# ## Exercises
#
# 1. Which of the 96 printed cells has the largest $\beta$? A tuple (model, corpus).
# 2. Fit Pythia-12B on Wiki again with $k \le 10$ only. What is $\beta$? To three decimals. (`one`, above.)
# 3. By which factor must $k$ grow for GPT-2 on Wiki, at the centre of its range, to gain what a model ten times as large gains? To two decimals. (`crossed` has $\alpha$ and $\beta$.)

# %%
answer_1 = None  # for example ("gpt2", "Wiki")
answer_2 = None  # a number
answer_3 = None  # a number

largest = table.loc[table["slope_printed"].idxmin(), ["model", "corpus"]]
few = one[one["k"] <= 10]
gpt2 = crossed.query("corpus == 'Wiki' and family == 'GPT2'").iloc[0]
print(check(1, answer_1, lambda answer: tuple(answer) == tuple(largest)))
print(check(2, answer_2, close(-np.polyfit(np.log(few["k"]), np.log(few["loss"]), 1)[0], 0.0006)))
print(check(3, answer_3, close(10 ** (1 / gpt2["exchange"]), 0.006)))
