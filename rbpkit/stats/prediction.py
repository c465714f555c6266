"""What the laws fitted to measured models predict for a new model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import pandas as pd

from rbpkit.errors import InputError
from rbpkit.fit import Curve, Fits, fit_power_law


def predict_sizes(curves: Iterable[Curve], sizes: Sequence[float], level: float = 0.95) -> Fits:
    """What each law predicts for ONE new model of each size, in non-embedding parameters.

    Columns: corpus, family, quantity, n, S, decades (outside the measured sizes: positive beyond
    the largest, negative below the smallest, 0 between), loss, loss_low, loss_high (prediction
    interval), RBP, RBP_low, RBP_high (exp of minus the loss; missing for CE). Raises InputError
    for a size that is not positive and finite, and for a level not between 0 and 1.
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
            line = fit.predict(size, level=level)
            beyond = max(size / fit.S_max, 1) * min(size / fit.S_min, 1)
            row = {"corpus": curve.corpus, "family": curve.family, "quantity": curve.quantity}
            row |= {"n": fit.n, "S": float(size), "decades": math.log10(beyond)}
            row |= {"loss": line.loss, "loss_low": line.low, "loss_high": line.high}
            if curve.quantity != "CE":  # a larger loss is a smaller RBP: the ends change places
                row |= {"RBP": math.exp(-line.loss), "RBP_low": math.exp(-line.high)}
                row |= {"RBP_high": math.exp(-line.low)}
            rows.append(row)
    names = ["corpus", "family", "quantity", "n", "S", "decades", "loss", "loss_low", "loss_high"]
    names += ["RBP", "RBP_low", "RBP_high"]
    return Fits(pd.DataFrame(rows, columns=names), tuple(refused))
