"""What the laws fitted to measured models predict for a new model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import pandas as pd

from rbpkit.errors import InputError
from rbpkit.fit import Curve, Fits, PowerLawFit, fit_power_law

_COLUMNS = (
    *("corpus", "family", "quantity", "n", "S", "decades"),
    *("loss", "loss_low", "loss_high", "RBP", "RBP_low", "RBP_high"),
)


def predict_sizes(curves: Iterable[Curve], sizes: Sequence[float], level: float = 0.95) -> Fits:
    """What each law predicts for ONE new model of each size, in non-embedding parameters.

    The table's columns, one row for each curve and size:

    - corpus, family, quantity, n (points of the fit), S
    - decades: how far S is outside the measured sizes; positive beyond the largest, negative below
      the smallest, 0 between
    - loss, loss_low, loss_high: with the prediction interval
    - RBP, RBP_low, RBP_high: exp of minus the loss; missing for CE

    Raises InputError for a size that is not positive and finite, and for a level not between 0
    and 1.
    """
    for size in sizes:
        if not (math.isfinite(size) and size > 0):
            raise InputError(f"a size must be a positive number of parameters, not {size:g}")
    rows, refused = [], []
    for curve in curves:
        try:
            fit = fit_power_law(curve.S, curve.loss, labels=curve.models)
        except InputError as error:
            refused.append(f"{curve.family}, {curve.corpus}, {curve.quantity}: {error}")
            continue
        for size in sizes:
            rows.append(_row(curve, fit, size, level))
    return Fits(pd.DataFrame(rows, columns=list(_COLUMNS)), tuple(refused))


def _row(curve: Curve, fit: PowerLawFit, size: float, level: float) -> dict[str, object]:
    above = max(size / fit.S_max, 1)
    below = min(size / fit.S_min, 1)
    predicted = fit.predict(size, level=level)
    row: dict[str, object] = {
        "corpus": curve.corpus,
        "family": curve.family,
        "quantity": curve.quantity,
        "n": fit.n,
        "S": float(size),
        "decades": math.log10(above * below),  # one of the two is 1
        "loss": predicted.loss,
        "loss_low": predicted.low,
        "loss_high": predicted.high,
    }
    if curve.quantity == "CE":
        return row
    row["RBP"] = math.exp(-predicted.loss)
    # A larger loss is a smaller RBP, so the ends change places.
    row["RBP_low"] = math.exp(-predicted.high)
    row["RBP_high"] = math.exp(-predicted.low)
    return row
