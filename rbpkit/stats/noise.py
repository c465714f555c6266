"""How many missed tokens a line needs, and the largest k that has them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rbpkit.errors import InputError
from rbpkit.fit import fit_rbp_law
from rbpkit.stats.curves import models_of
from rbpkit.summary import Summary

SMALL_K = 100  # up to here the law is taken to be at its best


def misses_needed(alpha: float, S: np.ndarray, r2: float = 0.9) -> float:
    """Misses of each model below which sampling alone brings R2 of the line under `r2`.

    A line of slope -alpha at the sizes S (n,) explains alpha^2 sum (ln S - mean)^2; n models with
    m misses each leave about (n - 2) / m, tokens taken for independent. So
    m = (n - 2) r2 / ((1 - r2) alpha^2 sum (ln S - mean)^2). Raises InputError for fewer than three
    sizes, an alpha of 0 and an r2 outside (0, 1).
    """
    x = np.log(np.asarray(S, float))
    if x.size < 3 or not alpha or not 0 < r2 < 1 or not np.ptp(x):
        raise InputError("misses needed: give three sizes, an exponent and an R2 in (0, 1)")
    explained = alpha**2 * ((x - x.mean()) ** 2).sum()
    return float((x.size - 2) * r2 / ((1 - r2) * explained))


def trusted_k(ks: np.ndarray, misses: np.ndarray, needed: float) -> float:
    """The k up to which the harmonic mean of the models' misses is `needed` or more.

    ks (K,) ascending; misses (K, n) of n models, falling with k. Between two k by a straight line
    in the logarithms of both; NaN if even the first k has too few, inf if the last has enough.
    """
    mean = 1 / (1 / np.maximum(misses, 0.5)).mean(axis=1)
    if not (mean < needed).any():
        return float("inf")
    if mean[0] < needed:
        return float("nan")
    at = np.flatnonzero(mean < needed)[0]
    ends = np.log(mean[[at, at - 1]]), np.log(np.asarray(ks, float)[[at, at - 1]])
    return float(np.exp(np.interp(np.log(needed), *ends)))


def trust_lines(summaries: Iterable[Summary]) -> list[str]:
    """A line a family and corpus with a law at k = 100 or the largest k <= SMALL_K of its grid:
    the k up to which its models miss as many tokens as `misses_needed` asks (`trusted_k`).
    Left out: fewer than three models, and what cannot be fitted.
    """
    every, lines = list(summaries), []
    for corpus, family in sorted({(one.manifest.corpus, one.manifest.family) for one in every}):
        models = models_of(every, corpus, family)
        S = np.array([one.manifest.S for one in models], dtype=np.float64)
        grid = np.array(sorted(set.intersection(*(set(one.k_grid.tolist()) for one in models))))
        rbp = np.array([one.rbp(grid) for one in models]).T
        at = max((grid <= SMALL_K).sum() - 1, 0)
        try:
            needed = misses_needed(fit_rbp_law(S, rbp[at]).alpha, S)
        except InputError:
            continue
        k = trusted_k(grid, (1 - rbp) * np.array([one.tokens for one in models]), needed)
        upto = "no k" if np.isnan(k) else f"k up to {k:,.0f}" if np.isfinite(k) else "every k"
        lines.append(
            f"{family} on {corpus}: with {models[0].tokens:,} tokens and these {S.size} sizes trust"
            f" {upto} (R2 of 0.9 needs {needed:,.0f} misses a model)"
        )
    return lines
