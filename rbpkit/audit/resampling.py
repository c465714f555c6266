"""Bootstrap over documents: the unit that was sampled is a document, not a token.

Tokens of one document are alike, so an interval that counts tokens as independent is too narrow.
Every model of a comparison takes the same draws (paired): what is common to them cancels.
"""

from __future__ import annotations

import numpy as np

from rbpkit.errors import InputError

DRAWS = 1000


def document_weights(documents: int, draws: int = DRAWS, seed: int = 0) -> np.ndarray:
    """How often each document is in each resample: (draws, documents) int64, rows adding up to D.

    The same (documents, draws, seed) gives the same resamples: use one array for all models that
    are compared. InputError for fewer than two documents, or draws < 1.
    """
    if documents < 2:
        raise InputError(f"a bootstrap over documents needs at least two of them, not {documents}")
    if draws < 1:
        raise InputError(f"draws must be at least 1, not {draws}")
    rng = np.random.default_rng(seed)
    return rng.multinomial(documents, np.full(documents, 1 / documents), size=draws)


def interval(draws: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The percentile interval of (draws,) finite values. InputError where a value is not finite."""
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise InputError("an interval needs a flat array of finite resampled values")
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
