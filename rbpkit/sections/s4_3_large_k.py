"""What notebook 04 still takes from here; the counts themselves are in `stats.misses`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.stats.misses import (
    Misses,
    curves_at_share,
    k_at_share,
    measured_misses,
    published_misses,
)

__all__ = ["Misses", "curves_at_share", "k_at_share", "measured_misses", "published_misses"]

DRAWS = 10_000
# Two R2 that differ by less are equal: another processor's last digits are no difference.
EQUAL_R2 = 1e-9


def noise_only(misses: Misses, *, draws: int = DRAWS, seed: int = 0) -> np.ndarray:
    """R2 that sampling noise alone leaves: the law taken for exact, the counts drawn again.

    Returns (m,), m <= draws: a draw in which a model misses no token, or all, cannot be fitted.
    Every model lies on the fitted line, and its misses are binomial: tokens independent of one
    another, and models of one another. The models share their text, which moves their points
    together and scatters them less than this; tokens of one document are alike, which scatters
    them more. Raises InputError where the curve itself cannot be fitted, for draws < 1, and where
    no draw can be fitted.
    """
    if draws < 1:
        raise InputError(f"draws must be at least 1, not {draws}")
    curve, tokens = misses.curve, misses.tokens
    fitted = fit_power_law(curve.S, curve.loss, labels=curve.models)
    share = -np.expm1(-fitted.predict(curve.S).loss)  # 1 - RBP_k on the line
    drawn = np.random.default_rng(seed).binomial(tokens, share, (draws, tokens.size))
    drawn = drawn[((drawn > 0) & (drawn < tokens)).all(axis=1)]
    loss = -np.log1p(-drawn / tokens)
    loss = loss[np.ptp(loss, axis=1) > 0]
    if not len(loss):
        raise InputError("no drawn set of counts can be fitted; score more tokens")
    x, y = np.log(curve.S), np.log(loss)
    dx, dy = x - x.mean(), y - y.mean(axis=1, keepdims=True)
    return (dy @ dx) ** 2 / (dx @ dx) / (dy**2).sum(axis=1)


def noise_table(every: Iterable[Misses], *, draws: int = DRAWS, seed: int = 0) -> pd.DataFrame:
    """`noise_only` of each, a row each.

    Columns: corpus, family, quantity, n, misses (of the models, by S), R2 seen, noise median,
    noise low, noise high (95% of the simulated R2), seen above (share of them below the R2 seen).
    """
    rows = []
    for one in every:
        curve = one.curve
        seen = fit_power_law(curve.S, curve.loss, labels=curve.models).r2
        r2 = noise_only(one, draws=draws, seed=seed)
        low, median, high = np.quantile(r2, [0.025, 0.5, 0.975])
        row = (curve.corpus, curve.family, curve.quantity, curve.S.size)
        below = np.mean(r2 < seen - EQUAL_R2)
        rows.append((*row, " ".join(map(str, one.missed)), seen, median, low, high, below))
    names = ["corpus", "family", "quantity", "n", "misses", "R2 seen", "noise median"]
    names += ["noise low", "noise high", "seen above"]
    return pd.DataFrame(rows, columns=names)
