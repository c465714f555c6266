"""The k of another vocabulary that is the same share of it (Section 4.3)."""

from __future__ import annotations

import numpy as np

from rbpkit import paper
from rbpkit.errors import InputError


def k_at_share(k: int, V: int, of: int = paper.PAPER_V) -> int:
    """The k that is the same share of V as `k` is of `of`: max(1, floor(k V / of + 1/2)).

    Raises InputError unless all three are whole numbers of at least 1.
    """
    for name, value in (("k", k), ("V", V), ("of", of)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise InputError(f"{name} must be a whole number of at least 1, not {value!r}")
    return max(1, (2 * int(k) * int(V) + int(of)) // (2 * int(of)))
