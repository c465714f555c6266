"""What the laws fitted to measured models predict for a new model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from rbpkit.errors import InputError
from rbpkit.fit import Curve, Fits, fit_power_law

# How many decades outside of the measured sizes a law in doubt is still used.
DOUBTFUL_DECADES = 1.0
_COLUMNS = (
    *("corpus", "family", "quantity", "n", "S", "decades"),
    *("loss", "loss_low", "loss_high", "RBP", "RBP_low", "RBP_high", "note"),
)


def predict_sizes(
    curves: Iterable[Curve],
    sizes: Sequence[float],
    level: float = 0.95,
    force: bool = False,
) -> Fits:
    """What each law predicts for ONE new model of each size, in non-embedding parameters.

    Of a law in CE (`fit.curves_in_ce`) the sizes are losses in nats a token.

    force: use a law in doubt for any size, and not only up to DOUBTFUL_DECADES outside.

    The table's columns, one row for each curve and size:

    - corpus, family, quantity, n (points of the fit), S
    - decades: how far S is outside the measured sizes; positive beyond the largest, negative below
      the smallest, 0 between
    - loss, loss_low, loss_high: with the prediction interval
    - RBP, RBP_low, RBP_high: exp of minus the loss; missing for CE
    - note: why the law is in doubt, or ""

    Raises InputError for a size that is not positive and finite, and for a level not between 0
    and 1.
    """
    for size in sizes:
        if not (math.isfinite(size) and size > 0):
            raise InputError(f"a size or a CE must be a positive number, not {size:g}")
    rows, refused = [], []
    for curve in curves:
        try:
            fit = fit_power_law(curve.S, curve.loss, labels=curve.models)
        except InputError as error:
            refused.append(f"{curve.title}: {error}")
            continue
        doubt = curve.doubts(fit)
        for size in sizes:
            nearest = min(max(size, fit.S_min), fit.S_max)  # of the measured range
            decades = math.log10(size) - math.log10(nearest)
            if doubt and abs(decades) > DOUBTFUL_DECADES and not force:
                far = f"{size:.6g} is {abs(decades):.2f} decades outside of the sizes measured"
                refused.append(
                    f"{curve.title}: {doubt}, and {far}; --force (force=True) predicts it"
                )
                continue
            predicted = fit.predict(size, level=level)
            losses = np.array([predicted.loss, predicted.low, predicted.high])
            # A larger loss is a smaller RBP, so the ends change places.
            rbp = np.full(3, np.nan) if curve.quantity == "CE" else np.exp(-losses[[0, 2, 1]])
            about = (curve.corpus, curve.family, curve.quantity, fit.n, float(size), decades)
            rows.append((*about, *losses, *rbp, doubt))
    return Fits(pd.DataFrame(rows, columns=list(_COLUMNS)), tuple(refused))
