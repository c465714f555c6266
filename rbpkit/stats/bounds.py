"""What cross-entropy forces on ranks (Section 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbpkit.errors import InputError


def ce_bound(ce: ArrayLike, k: ArrayLike) -> NDArray[np.float64] | float:
    """The least RBP_k that a cross-entropy allows: max(0, 1 - ce / log(k + 1)).

    ce: nats, of the same tokens and the same distribution that ranks them. ce and k broadcast.
    At least R tokens are as likely as the target, so R p(t) <= 1 and -log p(t) >= log R; Markov's
    inequality gives Pr(R >= k + 1) <= E[log R] / log(k + 1) <= CE / log(k + 1). The bound is
    sharp, and there is none from above.
    Raises InputError for a CE that is negative or not finite, and for k < 1.
    """
    ce, k = np.asarray(ce, dtype=float), np.asarray(k, dtype=float)
    if not (np.isfinite(ce) & (ce >= 0)).all():
        raise InputError("CE must be a finite number of nats, not below 0")
    if not (k >= 1).all():
        raise InputError("k must be at least 1")
    bound = np.maximum(0.0, 1 - ce / np.log1p(k))
    return float(bound) if bound.ndim == 0 else bound
