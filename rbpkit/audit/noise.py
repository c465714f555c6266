"""How much of the scatter about the law is sampling noise, k by k (Section 4.3).

The scatter of n models about their line has two parts. Sampling: other documents would have given
other points. Model: with endless text the points would still be off the line. The first part is
known from the counts, the second is what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rbpkit import largek
from rbpkit.audit.missed import LARGE_KS, TREND_Z, mechanisms, pocket_large_k, published_large_k
from rbpkit.audit.resampling import document_weights
from rbpkit.audit.verdicts import Finding
from rbpkit.curves import Curve, ladder, rbp_curve
from rbpkit.errors import InputError
from rbpkit.fit import MIN_POINTS, fit_power_law
from rbpkit.largek import Misses
from rbpkit.sources import published_curves
from rbpkit.summary import Summary

PUBLISHED_KS = (1, 10, 50, 100, *LARGE_KS)
SMALL_K = 100  # up to here the law is taken to be at its best
DRAWS = 1000
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
            misses = largek.published_misses(curve)
            split = split_residual(
                curve.S, curve.loss, binomial_covariance(curve.loss, misses.tokens)
            )
            rows.append(_row(curve, k, int(misses.missed[-1]), split))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _row(curve: Curve, k: int, missed: int, split: Split) -> dict[str, object]:
    row = {"corpus": curve.corpus, "family": curve.family, "k": k, "n": curve.S.size}
    row |= {"missed": missed, "residual": split.residual, "sampling": split.sampling}
    row |= {"model": split.model, "p": split.p, "R2": split.r2}
    return row | {"noise low": split.r2_low, "noise high": split.r2_high}


def resampled_log_loss(summaries: Sequence[Summary], weights: np.ndarray) -> np.ndarray:
    """log(-log RBP_k) of each resample: (n, draws, K) for n summaries of the same documents.

    weights: (draws, D), see `document_weights`; K is the summaries' k grid. A value is not finite
    where a resample has RBP_k of 0 or 1. Raises InputError where the documents are not the same.
    """
    first, found = summaries[0], []
    for one in summaries:
        alike = np.array_equal(one.document, first.document)
        if not alike or not np.array_equal(one.document_tokens, first.document_tokens):
            raise InputError(
                f"{one.manifest.model} and {first.manifest.model} were scored on different"
                " documents; a paired bootstrap needs the same ones"
            )
        rbp = (weights @ one.document_hits) / (weights @ one.document_tokens)[:, None]
        with np.errstate(divide="ignore"):
            found.append(np.log(-np.log(rbp)))
    return np.stack(found)


def pocket_split(
    summaries: Iterable[Summary],
    corpora: Sequence[str],
    families: Sequence[str],
    ks: Sequence[int] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> pd.DataFrame:
    """The split of every measured line at every k of the summaries' grid, by documents, paired.

    Columns as `published_split`, and binomial: the sampling part that independent tokens would
    give. The sampling covariance of the models of a family comes from one bootstrap over documents
    for all of them. ks: some k of the grid; None is all. What was not measured is left out, and so
    is a k at which a model, or a resample of one, has an RBP_k of 0 or 1.
    """
    every, rows = list(summaries), []
    for corpus in corpora:
        for family in families:
            chosen = ladder(every, corpus, family)
            if len(chosen) < MIN_POINTS:
                continue
            weights = document_weights(chosen[0].document.size, draws, seed)
            drawn = resampled_log_loss(chosen, weights.astype(np.float64))
            tokens = np.array([one.tokens for one in chosen])
            for place, k in enumerate(map(int, chosen[0].k_grid)):
                if (ks is not None and k not in ks) or not np.isfinite(drawn[:, :, place]).all():
                    continue
                curve = rbp_curve(chosen, k, corpus, family)
                try:
                    split = split_residual(curve.S, curve.loss, np.cov(drawn[:, :, place]))
                    binomial = binomial_covariance(curve.loss, tokens)
                    alone = split_residual(curve.S, curve.loss, binomial, draws=1)
                except InputError:
                    continue  # equal points: there is no line
                missed = int(tokens[-1] - chosen[-1].ranks.at_most(k))
                rows.append(_row(curve, k, missed, split) | {"binomial": alone.sampling})
    return pd.DataFrame(rows, columns=[*_COLUMNS, "binomial"])


def by_k(split: pd.DataFrame) -> pd.DataFrame:
    """A row a k of a split table: k, cells, medians over the cells of the SD of the residuals, of
    the sampling part (and of the binomial one, where it is there) and of sampling / residual
    variance ("share"), and "enough": cells in which noise alone leaves as much (p >= 0.05).
    """
    rows = []
    for k, cell in split.groupby("k"):
        row = {"k": k, "cells": len(cell), "residual SD": cell["residual"].median() ** 0.5}
        row["sampling SD"] = cell["sampling"].median() ** 0.5
        if "binomial" in cell:
            row["binomial SD"] = cell["binomial"].median() ** 0.5
        row["share"] = (cell["sampling"] / cell["residual"]).median()
        rows.append(row | {"enough": int((cell["p"] >= 0.05).sum())})
    return pd.DataFrame(rows)


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
        few = np.flatnonzero(cell["missed"] <= needed)
        floor = float("nan")
        if few.size:
            at = int(few[0])
            floor = float(k[at])
            if at:
                m0, m1 = cell["missed"].iloc[[at - 1, at]]
                part = np.log(m0 / needed) / np.log(m0 / max(m1, 0.5))
                floor = float(k[at - 1] * (k[at] / k[at - 1]) ** part)
        beyond = np.flatnonzero(cell["sampling"] >= variance)
        sampled = float(k[beyond[0]]) if beyond.size else float("nan")
        rows.append((corpus, family, variance**0.5, needed, floor, sampled))
    return pd.DataFrame(rows, columns=["corpus", "family", "scatter", "needed", "floor", "sampled"])


def findings_noise(
    summaries: Iterable[Summary], corpora: Sequence[str], families: Sequence[str]
) -> list[Finding]:
    """large-k-is-noise, on the published cells and on the measured ones if there are any."""
    every = list(summaries)
    told = "sampling noise is binomial, from token counts inferred from the digits"
    found = [_finding("published", mechanisms(published_large_k()), told)]
    misses = pocket_large_k(every, corpora, families)
    if misses:
        found.append(_finding("pocket", mechanisms(misses), _by_documents(every, misses)))
    return found


def _by_documents(summaries: Sequence[Summary], misses: Sequence[Misses]) -> str:
    """The same count, noise from documents, at the nearest k of the summaries' grid."""
    grid = summaries[0].k_grid
    asked = {int(one.curve.quantity.removeprefix("RBP_")) for one in misses}
    ks = sorted({int(grid[np.abs(np.log(grid / k)).argmin()]) for k in asked})
    corpora = list(dict.fromkeys(one.curve.corpus for one in misses))
    families = list(dict.fromkeys(one.curve.family for one in misses))
    split = pocket_split(summaries, corpora, families, ks)
    enough = int((split["R2"] >= split["noise low"]).sum())
    told = "binomial noise; with noise from a paired bootstrap over documents, at k = "
    return told + " and ".join(f"{k:,}" for k in ks) + f": {enough} of {len(split)}"


def _finding(source: str, table: pd.DataFrame, note: str) -> Finding:
    enough = table["R2 seen"] >= table["noise low"]
    rising, falling = table["trend z"] >= TREND_Z, table["trend z"] <= -TREND_Z
    law = enough & falling
    counts = f"{enough.sum()} of {len(table)} lines pass:"
    counts += f" {law.sum()} fall with S, {(enough & rising).sum()} rise,"
    counts += f" {(enough & ~rising & ~falling).sum()} have no trend"
    return Finding(
        claim="large-k-is-noise",
        source=source,
        value=float(enough.mean()),
        n=len(table),
        of="cells",
        when=_named(table, law),
        note=f"{counts}; misses rise with S in {rising.sum()}; {note}",
    )


def _named(table: pd.DataFrame, chosen: pd.Series) -> str:
    """The chosen lines by name; where that is shorter, all but the others."""
    lists = []
    for wanted in (chosen, ~chosen):
        cells = table[wanted].groupby(["quantity", "corpus"], sort=False)["family"]
        lists.append(
            "; ".join(
                f"{', '.join(names)} on {corpus.removeprefix('pocket:')}"
                f" (k = {int(quantity.removeprefix('RBP_')):,})"
                for (quantity, corpus), names in cells
            )
        )
    if chosen.all():
        return "all lines"
    return lists[0] if len(lists[0]) <= len(lists[1]) and lists[0] else f"all but {lists[1]}"
