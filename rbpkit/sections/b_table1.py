"""How sure a slope is, from the R2 and n that a table prints (arXiv 2510.20387, Table 1)."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from rbpkit.errors import InputError


def relative_half_width(r2: float | np.ndarray, n: int | np.ndarray, level: float = 0.95):
    """Half the t interval of an exponent over the exponent, from R2 and the n of the line.

    t sqrt((1 / R2 - 1) / (n - 2)), exact for one regressor. 1 or more: the interval holds zero.
    Floats or arrays. Raises InputError for n < 3, or R2 outside 0 to 1 (0 gives inf, 1 gives 0).
    """
    r2, n = np.asarray(r2, dtype=np.float64), np.asarray(n)
    if n.size == 0 or n.min() < 3 or not ((r2 >= 0) & (r2 <= 1)).all():
        raise InputError("R2 must be 0 to 1, and n at least 3")
    with np.errstate(divide="ignore"):
        found = stdtrit(n - 2, (1 + level) / 2) * np.sqrt((1 / r2 - 1) / (n - 2))
    return float(found) if found.ndim == 0 else found
