"""What `rank_findings` says about large k: the trend of the misses, and whether noise suffices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from rbpkit.sections.s4_3_large_k import noise_table
from rbpkit.stats.curves import published_curves
from rbpkit.stats.misses import Misses, curves_at_share, measured_misses, published_misses
from rbpkit.summary import Summary

LARGE_KS = (20_000, 30_000)  # Figure 5
TREND_Z = 2.0  # a trend of fewer standard errors counts as none


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
    noise low, noise high (`noise_only`: binomial), mechanism.
    """
    every = list(every)
    table = noise_table(every).drop(columns="seen above")
    table.insert(5, "trend z", [trend_z(one) for one in every])
    cells = zip(table["trend z"], table["R2 seen"], table["noise low"], strict=True)
    return table.assign(mechanism=[mechanism(*cell) for cell in cells])


def published_large_k() -> list[Misses]:
    """The counts of the paper's cells at k = 20,000 and 30,000 (Figure 5)."""
    return [published_misses(c) for k in LARGE_KS for c in published_curves(k).values()]


def pocket_large_k(
    summaries: Iterable[Summary], corpora: Sequence[str], families: Sequence[str]
) -> list[Misses]:
    """The counts of the pocket models at the same shares of V."""
    every = list(summaries)
    curves = [curves_at_share(every, corpora, families, k).curves for k in LARGE_KS]
    return [measured_misses(every, c) for found in curves for c in found.values()]
