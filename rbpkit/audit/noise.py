"""How much of the scatter about the law is sampling noise, k by k (Section 4.3).

The scatter of n models about their line has two parts. Sampling: other documents would have given
other points. Model: with endless text the points would still be off the line. The first part is
known from the counts, the second is what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rbpkit.errors import InputError
from rbpkit.fit import MIN_POINTS, Curve, fit_power_law, fit_rbp_law, rbp_curve
from rbpkit.sections import one_law, s4_3_large_k
from rbpkit.sections.s4_3_large_k import Misses
from rbpkit.stats.bootstrap import DRAWS, resample
from rbpkit.stats.curves import models_of, published_curves
from rbpkit.summary import Summary

LARGE_KS = (20_000, 30_000)  # Figure 5
PUBLISHED_KS = (1, 10, 50, 100, *LARGE_KS)
TREND_Z = 2.0  # a trend of fewer standard errors counts as none
SMALL_K = 100  # up to here the law is taken to be at its best
_COLUMNS = ["corpus", "family", "k", "n", "missed", "residual", "sampling", "model", "p", "R2"]
_COLUMNS += ["noise low", "noise high"]


@dataclass(frozen=True)
class Split:
    """The residual variance of log loss about the line in two parts, and what noise alone leaves.

    residual: residual sum of squares / (n - 2). sampling: the part that sampling noise is expected
    to make of it. residual - sampling estimates the model part, and may come out below 0.
    p: chance that noise alone leaves as much as `residual`. r2: of the line; r2_low, r2_high: the
    2.5% and 97.5% quantiles of what noise alone about the same line leaves.
    """

    residual: float
    sampling: float
    p: float
    r2: float
    r2_low: float
    r2_high: float

    @property
    def model(self) -> float:
        return self.residual - self.sampling


def split_residual(
    S: np.ndarray, loss: np.ndarray, covariance: np.ndarray, draws: int = 2000, seed: int = 0
) -> Split:
    """Split the residual variance, given the sampling covariance (n, n) of log loss (n,).

    Least squares leaves M y of y, with M projecting on what no line can follow. Noise of covariance
    C makes an expected residual variance of trace(M C) / (n - 2); what all models share, and
    whatever moves along a line, is projected out. p and the quantiles take the noise for normal.
    Raises InputError as `fit_power_law`, and for a covariance that is not finite.
    """
    fit = fit_power_law(S, loss)
    if covariance.shape != (fit.n, fit.n) or not np.isfinite(covariance).all():
        raise InputError(f"the sampling covariance of {fit.n} models must be finite, n by n")
    x = np.log(S) - fit.mean_log_S
    away = np.eye(fit.n) - 1 / fit.n - np.outer(x, x) / (x @ x)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    noise = np.random.default_rng(seed).standard_normal((draws, fit.n)) @ root.T
    left = ((noise @ away) ** 2).sum(axis=1)
    explained = ((fit.slope * x + noise) @ x) ** 2 / (x @ x)
    r2 = explained / (explained + left)
    residual = fit.residual_sd**2
    low, high = np.quantile(r2, [0.025, 0.975])
    return Split(
        residual=residual,
        sampling=float(np.trace(away @ covariance) / (fit.n - 2)),
        p=float(np.mean(left >= residual * (fit.n - 2))),
        r2=fit.r2,
        r2_low=float(low),
        r2_high=float(high),
    )


def binomial_covariance(loss: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Sampling covariance (n, n) of log(-log RBP_k), tokens and models taken for independent.

    To first order: var log L = (1 - p) / (T p L^2) with L = -log p; near p = 1 it is 1 / misses.
    Rough below some ten misses. Too small where the tokens of a document are alike, and too large
    for residuals where models miss the same tokens.
    """
    p = np.exp(-loss)
    return np.diag((1 - p) / (tokens * p * loss**2))


def published_split(ks: Sequence[int] = PUBLISHED_KS) -> pd.DataFrame:
    """The split of every published line, by binomial counts.

    Columns: corpus, family, k, n, missed (of the largest model), residual, sampling, model (all
    variances of log loss), p, R2, noise low, noise high.
    """
    rows = []
    for k in ks:
        for curve in published_curves(k).values():
            misses = s4_3_large_k.published_misses(curve)
            covariance = binomial_covariance(curve.loss, misses.tokens)
            split = split_residual(curve.S, curve.loss, covariance)
            rows.append(_row(curve, k, misses.missed[-1], split))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _row(curve: Curve, k: int, missed: int, split: Split) -> tuple:
    about = (curve.corpus, curve.family, k, curve.S.size, int(missed))
    parts = (split.residual, split.sampling, split.model)
    return (*about, *parts, split.p, split.r2, split.r2_low, split.r2_high)


def pocket_split(
    summaries: Iterable[Summary],
    corpora: Sequence[str],
    families: Sequence[str],
    ks: Sequence[int] | None = None,
    draws: int = DRAWS,
) -> pd.DataFrame:
    """The split of every measured line at every k of the summaries' grid, by resampled text.

    Columns as `published_split`, and binomial: the sampling part that independent tokens would
    give. The sampling covariance of the models of a family is that of one paired bootstrap. ks:
    some k of the grid; None is all. What was not measured is left out, and so is a k at which a
    model, or a resample of one, has an RBP_k of 0 or 1.
    """
    every, rows = list(summaries), []
    for corpus in corpora:
        for family in families:
            chosen = models_of(every, corpus, family)
            if len(chosen) < MIN_POINTS:
                continue
            grid = [int(k) for k in chosen[0].k_grid if ks is None or k in ks]
            with np.errstate(divide="ignore"):
                drawn = np.log(resample(chosen, grid, draws).loss)
            tokens = np.array([one.tokens for one in chosen])
            for place, k in enumerate(grid):
                if not np.isfinite(drawn[:, :, place]).all():
                    continue
                curve = rbp_curve(chosen, k, corpus, family)
                try:
                    covariance = np.cov(drawn[:, :, place], rowvar=False)
                    split = split_residual(curve.S, curve.loss, covariance)
                    binomial = binomial_covariance(curve.loss, tokens)
                    alone = split_residual(curve.S, curve.loss, binomial, draws=1)
                except InputError:
                    continue  # equal points: there is no line
                missed = tokens[-1] - chosen[-1].ranks.at_most(k)
                rows.append((*_row(curve, k, missed, split), alone.sampling))
    return pd.DataFrame(rows, columns=[*_COLUMNS, "binomial"])


def by_k(split: pd.DataFrame) -> pd.DataFrame:
    """A row a k of a split table: k, cells, medians over the cells of the SD of the residuals, of
    the sampling part (and of the binomial one, where it is there) and of sampling / residual
    variance ("share"), and "enough": cells in which noise alone leaves as much (p >= 0.05).
    """
    table = split.assign(share=split["sampling"] / split["residual"], enough=split["p"] >= 0.05)
    groups = table.groupby("k")
    found = groups.size().rename("cells").to_frame()
    for part in ("residual", "sampling", "binomial"):
        if part in table:
            found[f"{part} SD"] = groups[part].median() ** 0.5
    return found.join(groups.agg({"share": "median", "enough": "sum"})).reset_index()


def noise_floor(split: pd.DataFrame) -> pd.DataFrame:
    """The k at which noise reaches the scatter at small k; of either split table.

    Columns: corpus, family, scatter (root mean square residual SD for k <= 100), needed (misses
    below which 1 / sqrt(misses) is beyond it), floor (the k at which the largest model misses no
    more than that: between two k of the table by a straight line in logs of k and misses, so rough
    where they are far apart), sampled (first k of the table at which the sampling part of the
    residual variance is beyond the square of the scatter). A floor is missing where no k of the
    table reaches it; at the first k of the table it says "there or below".
    """
    rows = []
    for (corpus, family), cell in split.groupby(["corpus", "family"], sort=False):
        cell = cell.sort_values("k")
        small = cell[cell["k"] <= SMALL_K]
        if small.empty:
            continue
        variance = small["residual"].mean()
        needed, k = 1 / variance, cell["k"].to_numpy()
        floor = _where_reached(k, cell["missed"].to_numpy(), needed)
        beyond = np.flatnonzero(cell["sampling"] >= variance)
        sampled = float(k[beyond[0]]) if beyond.size else float("nan")
        rows.append((corpus, family, variance**0.5, needed, floor, sampled))
    return pd.DataFrame(rows, columns=["corpus", "family", "scatter", "needed", "floor", "sampled"])


def _where_reached(k: np.ndarray, misses: np.ndarray, needed: float) -> float:
    """The k at which misses, (K,) falling with k, come down to `needed`: between two k by a
    straight line in the logarithms of both; the first k where they start there, NaN for never."""
    few = np.flatnonzero(misses <= needed)
    if not few.size or not few[0]:
        return float(k[0]) if few.size else float("nan")
    at = few[0]
    before, after = misses[at - 1], max(misses[at], 0.5)
    part = np.log(before / needed) / np.log(before / after)
    return float(k[at - 1] * (k[at] / k[at - 1]) ** part)


def misses_needed(alpha: float, S: np.ndarray, r2: float = 0.9, cluster: float = 1.0) -> float:
    """Misses of each model below which sampling alone brings R2 of the line under `r2`.

    A line of slope -alpha at the sizes S (n,) explains alpha^2 sum (ln S - mean)^2; n models with
    m misses each leave about (n - 2) cluster / m, so m = (n - 2) cluster r2 / ((1 - r2) alpha^2
    sum (ln S - mean)^2). cluster: variance by documents over binomial variance (1: independent
    tokens). InputError for fewer than three sizes, an alpha of 0 and an r2 outside (0, 1).
    """
    x = np.log(np.asarray(S, float))
    if x.size < 3 or not alpha or not 0 < r2 < 1 or not np.ptp(x):
        raise InputError("the noise floor needs three sizes, an exponent and an R2 in (0, 1)")
    explained = alpha**2 * ((x - x.mean()) ** 2).sum()
    return float((x.size - 2) * cluster * r2 / ((1 - r2) * explained))


def trusted_k(
    ks: np.ndarray, misses: np.ndarray, alpha: float, S: np.ndarray, r2: float = 0.9, cluster=1.0
) -> float:
    """The k up to which the harmonic mean of the models' misses stays at `misses_needed` or more.

    ks (K,) ascending; misses (K, n) of n models of sizes S. Between two k by a straight line in the
    logarithms; NaN where even the first k has too few, inf where the last has enough.
    """
    ks, misses = np.asarray(ks, float), np.asarray(misses, float)
    needed = misses_needed(alpha, S, r2, cluster)
    mean = 1 / (1 / np.maximum(misses, 0.5)).mean(axis=1)
    if mean[0] < needed:
        return float("nan")
    return _where_reached(ks, mean, needed) if (mean < needed).any() else float("inf")


def trust_lines(summaries: Iterable[Summary]) -> list[str]:
    """A line a family and corpus with a law at k = 100 or the largest k <= SMALL_K of its grid:
    the k up to which its models miss as many tokens as `misses_needed` asks (`trusted_k`, tokens
    taken for independent). Left out: fewer than MIN_POINTS models, and what cannot be fitted.
    """
    every, lines = list(summaries), []
    for corpus, family in sorted({(one.manifest.corpus, one.manifest.family) for one in every}):
        models = models_of(every, corpus, family)
        S = np.array([one.manifest.S for one in models], dtype=np.float64)
        grid = sorted(set.intersection(*(set(one.k_grid.tolist()) for one in models)))
        rbp = np.array([one.rbp(np.array(grid)) for one in models]).T
        at = max((i for i, k in enumerate(grid) if k <= SMALL_K), default=0)
        try:
            alpha = fit_rbp_law(S, rbp[at]).alpha
            needed = misses_needed(alpha, S)
        except InputError:
            continue
        misses = (1 - rbp) * np.array([one.tokens for one in models])
        k = trusted_k(np.array(grid), misses, alpha, S)
        upto = "no k" if np.isnan(k) else f"k up to {k:,.0f}" if np.isfinite(k) else "every k"
        lines.append(
            f"{family} on {corpus}: with {models[0].tokens:,} tokens and these {S.size} sizes trust"
            f" {upto} (R2 of 0.9 needs {needed:,.0f} misses a model)"
        )
    return lines


def floor_table(points: pd.DataFrame, tokens: Mapping[tuple[str, str], int]) -> pd.DataFrame:
    """Where sampling must bring R2 under 0.9, from counts alone; a row a (source, corpus, family).

    points: source, corpus, family, S, k, V, rbp; tokens: scored, by (corpus, family). Columns: n,
    tokens, decades of S, alpha (at the largest k <= SMALL_K), needed (`misses_needed`), floor
    (`trusted_k` by the misses that the law of notebook 17, fitted to k <= SMALL_K, expects),
    counted (by the misses counted; NaN where k is not dense), last_good and first_bad (the largest
    k up to which every R2 is 0.9 or more, and the next one counted; NaN where none is).
    """
    rows = []
    for about, part in points.groupby(["source", "corpus", "family"], sort=False):
        few = part[part["k"] <= SMALL_K]
        last = few[few["k"] == few["k"].max()]
        S, V, T = np.sort(part["S"].unique()), int(part["V"].iloc[0]), tokens[about[1:]]
        alpha = fit_power_law(last["S"], -np.log(last["rbp"])).alpha
        law = one_law.fit_law(one_law.WINNER, few["k"], few["S"], few["rbp"], V)
        grid = np.unique(np.geomspace(1, V - 1, 400).astype(int))
        expected = T * (1 - law.rbp(grid[:, None], S[None]))
        wide = part.pivot(index="k", columns="S", values="rbp").dropna()
        dense = wide.index.to_series().pct_change().max() < 1.5
        counted = trusted_k(wide.index, T * (1 - wide.to_numpy()), alpha, S) if dense else np.nan
        r2 = r2_by_k(part)
        bad = r2.index[~(r2 >= 0.9)]
        good = r2.index[r2.index < bad[0]] if len(bad) else r2.index
        row = (*about, S.size, T, np.log10(S[-1] / S[0]), alpha, misses_needed(alpha, S))
        row += (trusted_k(grid, expected, alpha, S), counted)
        rows.append((*row, good[-1] if len(good) else np.nan, bad[0] if len(bad) else np.nan))
    names = "source corpus family n tokens decades alpha needed floor counted last_good first_bad"
    return pd.DataFrame(rows, columns=names.split())


def r2_by_k(part: pd.DataFrame) -> pd.Series:
    """R2 of the line in S at each k of one family and corpus that all of its models were counted
    at; NaN where a model misses no token or the line rises."""
    wide = part.pivot(index="k", columns="S", values="rbp").dropna()
    found = {}
    for k, rbp in wide.iterrows():
        found[k] = np.nan
        if (rbp < 1).all() and rbp.nunique() > 1:
            fit = fit_power_law(wide.columns.to_numpy(float), -np.log(rbp.to_numpy()))
            found[k] = fit.r2 if fit.alpha > 0 else np.nan
    return pd.Series(found, dtype=float)


# -- what acts where k nears V ---------------------------------------------------------------


def trend_z(misses: Misses) -> float:
    """z of a trend of the share of misses with log S over all models (Cochran and Armitage).

    Positive where larger models miss more. Tokens and models are taken for independent. nan where
    no model, or every one, misses all.
    """
    T, x = misses.tokens.astype(np.float64), np.log(misses.curve.S)
    pooled = misses.missed.sum() / T.sum()
    if pooled in (0, 1):
        return float("nan")
    centred = x - (T @ x) / T.sum()
    variance = pooled * (1 - pooled) * (T @ centred**2)
    return float(centred @ (misses.missed - T * pooled) / np.sqrt(variance))


def mechanism(z: float, seen: float, low: float) -> str:
    """In words, what a cell shows: its trend, and whether R2 is below what noise leaves."""
    if not abs(z) >= TREND_Z:
        return "no trend to fit"
    scatter = "noise is enough" if seen >= low else "scatter beyond noise"
    return f"rising, {'no law' if seen >= low else scatter}" if z > 0 else f"falling, {scatter}"


def mechanisms(every: Iterable[Misses]) -> pd.DataFrame:
    """A row a cell: corpus, family, quantity, n, misses (by S), trend z, R2 seen, noise median,
    noise low, noise high (`s4_3_large_k.noise_only`: binomial), mechanism.
    """
    every = list(every)
    table = s4_3_large_k.noise_table(every).drop(columns="seen above")
    table.insert(5, "trend z", [trend_z(one) for one in every])
    cells = zip(table["trend z"], table["R2 seen"], table["noise low"], strict=True)
    return table.assign(mechanism=[mechanism(*cell) for cell in cells])


def published_large_k() -> list[Misses]:
    """The counts of the paper's cells at k = 20,000 and 30,000 (Figure 5)."""
    return [
        s4_3_large_k.published_misses(c) for k in LARGE_KS for c in published_curves(k).values()
    ]


def pocket_large_k(
    summaries: Iterable[Summary], corpora: Sequence[str], families: Sequence[str]
) -> list[Misses]:
    """The counts of the pocket models at the same shares of V."""
    every = list(summaries)
    curves = [s4_3_large_k.curves_at_share(every, corpora, families, k).curves for k in LARGE_KS]
    return [s4_3_large_k.measured_misses(every, c) for found in curves for c in found.values()]
