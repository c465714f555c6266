"""The resolution limit: how many missed tokens a line needs, and the largest k that has them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from rbpkit.errors import InputError
from rbpkit.fit import corpus_and_family, fit_rbp_law, models_of
from rbpkit.summary import Summary

SMALL_K = 100  # up to here the law is taken to be at its best


def misses_needed(alpha: float, S: np.ndarray, r2: float = 0.9) -> float:
    """Misses of each model below which sampling alone brings R2 of the line under `r2`.

    A line of slope -alpha at the sizes S (n,) explains alpha^2 sum (ln S - mean)^2; n models with
    m misses each leave about (n - 2) / m, tokens taken for independent. So
    m = (n - 2) r2 / ((1 - r2) alpha^2 sum (ln S - mean)^2). Raises InputError for fewer than three
    sizes, an alpha of 0 and an r2 outside (0, 1).
    """
    log_S = np.log(np.asarray(S, float))
    if log_S.size < 3 or not alpha or not 0 < r2 < 1 or not np.ptp(log_S):
        raise InputError("misses needed: give three sizes, an exponent and an R2 in (0, 1)")
    explained = alpha**2 * ((log_S - log_S.mean()) ** 2).sum()
    return float((log_S.size - 2) * r2 / ((1 - r2) * explained))


def largest_resolved_k(ks: np.ndarray, misses: np.ndarray, needed: float) -> float:
    """The k up to which the harmonic mean of the models' misses is `needed` or more.

    ks (K,) ascending; misses (K, n) of n models, falling with k. Between two k the mean is
    interpolated by a straight line in the logarithms of both. NaN if even the first k has too few
    misses, inf if the last has enough.
    """
    # Half a miss in the place of none: the harmonic mean stays finite.
    mean = 1 / (1 / np.maximum(misses, 0.5)).mean(axis=1)
    too_few = np.flatnonzero(mean < needed)
    if not too_few.size:
        return float("inf")
    first = too_few[0]
    if first == 0:
        return float("nan")
    between = [first, first - 1]  # np.interp wants its x to rise, and the misses fall with k
    log_k = np.interp(np.log(needed), np.log(mean[between]), np.log(ks[between]))
    return float(np.exp(log_k))


class Resolution(NamedTuple):
    """The resolution limit of a law: the largest k (NaN for none, inf for every), and why."""

    k: float
    words: str


def resolution_of_all(summaries: Iterable[Summary]) -> dict[tuple[str, str], Resolution]:
    """The resolution limit of the law of each corpus and family.

    That is the k up to which its models miss as many tokens as `misses_needed` asks
    (`largest_resolved_k`), with the law at k = 100 or the largest k <= SMALL_K of the summaries'
    grid. If the interval of that law's exponent reaches down to 0, there is none. Left out: fewer
    than three models, and what cannot be fitted.
    """
    summaries = list(summaries)
    found = {}
    for corpus, family in sorted({corpus_and_family(summary) for summary in summaries}):
        models = models_of(summaries, corpus, family)
        with suppress(InputError):
            k, words = _resolution(models)
            found[corpus, family] = Resolution(k, f"{family} on {corpus}: {words}")
    return found


def _resolution(models: Sequence[Summary]) -> tuple[float, str]:
    """The resolution limit of the law of one family's models, and its words."""
    grids = [set(model.k_grid.tolist()) for model in models]
    ks = np.array(sorted(set.intersection(*grids)))

    S = np.array([model.manifest.S for model in models], dtype=np.float64)
    tokens = np.array([model.tokens for model in models])
    rbp = np.array([model.rbp(ks) for model in models]).T  # (K, n)

    small = max((ks <= SMALL_K).sum() - 1, 0)  # the place of the largest k <= SMALL_K
    law = fit_rbp_law(S, rbp[small])
    low, high = law.alpha_interval
    if low <= 0:
        fault = f"the 95% interval of alpha at k = {ks[small]}"
        fault += " contains 0" if high >= 0 else " is below 0"
        words = (
            f"no k can be trusted, because these {len(models)} models do not show that the losses"
            f" fall with size ({fault})"
        )
        return math.nan, words
    needed = misses_needed(law.alpha, S)
    k = largest_resolved_k(ks, (1 - rbp) * tokens, needed)
    upto = f"k up to {k:,.0f}"
    if np.isnan(k):
        upto = "no k"
    elif np.isinf(k):
        upto = "every k"
    words = (
        f"with {models[0].tokens:,} tokens and these {len(models)} sizes trust {upto}"
        f" (with alpha as at k = {ks[small]}, an R2 of 0.9 needs {needed:,.0f} misses a model)"
    )
    return k, words
