"""The cluster bootstrap: other text like the text that was scored, with the models held fixed.

What is resampled is what was sampled. Documents of one unit (a module, an author) are alike, so
whole units (clusters) are drawn, and a document is a unit by itself if nothing else is known.
Tokens are never drawn: those of one document are alike too.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from rbpkit.errors import InputError

SEED = 42
DRAWS = 1000

# The most weights that are held at a time: 128 MB. A thousand draws of 16,000 documents fit.
BLOCK = 2**24

# Weights that are kept for the next call, 32 MB: all models of a text have the same units.
KEPT = 2**22


def weight_blocks(units: np.ndarray, draws: int = DRAWS) -> Iterator[np.ndarray]:
    """The rows of `resample_weights`, some at a time, (rows, D) each; read-only.

    Raises InputError as `resample_weights`.
    """
    units = np.unique(units, return_inverse=True)[1]
    count = int(units.max(initial=-1)) + 1
    if count < 2:
        raise InputError(f"a bootstrap needs at least two documents or units, not {count}")
    if draws < 1:
        raise InputError(f"draws must be at least 1, not {draws}")
    if draws * units.size <= KEPT:
        yield _kept_block(units.astype(np.int64).tobytes(), draws)
    else:
        yield from _drawn_blocks(units, draws)


@functools.lru_cache(maxsize=2)
def _kept_block(units: bytes, draws: int) -> np.ndarray:
    [block] = _drawn_blocks(np.frombuffer(units, np.int64), draws)
    block.flags.writeable = False
    return block


def _drawn_blocks(units: np.ndarray, draws: int) -> Iterator[np.ndarray]:
    """units: (D,) from 0, without gaps."""
    count = int(units.max()) + 1
    random = np.random.default_rng(SEED)
    rows = max(1, BLOCK // units.size)
    for start in range(0, draws, rows):
        size = min(rows, draws - start)
        drawn = random.multinomial(count, np.full(count, 1 / count), size=size)
        # As floats, so that sums are made by BLAS; they are whole numbers, so sums of counts with
        # these weights are exact.
        yield drawn[:, units].astype(np.float64)


def resample_weights(units: np.ndarray, draws: int = DRAWS) -> np.ndarray:
    """How often each document is in each resample: (draws, D) float64 of whole numbers.

    units: (D,) the unit of each document, any numbers. Each resample draws as many units as there
    are, with replacement, and takes every document of a unit drawn. The same arguments give the
    same draws. Raises InputError for fewer than two units, and for draws < 1.
    """
    return np.concatenate(list(weight_blocks(units, draws)))


def interval(draws: np.ndarray) -> tuple[float, float]:
    """The 95% percentile interval of (draws,) finite values.

    InputError if a value is not finite.
    """
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise InputError("an interval needs a flat array of finite resampled values")
    low, high = np.quantile(values, [(1 - 0.95) / 2, (1 + 0.95) / 2])
    return float(low), float(high)
