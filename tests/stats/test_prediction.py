"""What the fitted laws predict for new sizes, and how far out these are."""

from __future__ import annotations

import numpy as np
import pytest

from rbpkit.errors import InputError
from rbpkit.fit import Curve, fit_power_law
from rbpkit.stats.prediction import predict_sizes

SIZES = np.geomspace(1e6, 1e9, 5)


def a_curve(loss, quantity="RBP_1") -> Curve:
    loss = np.asarray(loss, dtype=float)
    value = loss if quantity == "CE" else np.exp(-loss)
    return Curve("c", "f", quantity, tuple(f"m{i}" for i in range(5)), SIZES, value)


def test_predictions_are_the_fits_and_say_how_far_out_they_are():
    curve = a_curve(5 * SIZES**-0.1 * [1, 1.01, 0.99, 1, 1.01])
    found = predict_sizes([curve, a_curve([1, 1, 1, 1, 1])], [1e11, 1e7, 1e5], 0.9)
    assert len(found.table) == 3 and "the loss is 1 at all 5 points" in found.refused[0]
    assert found.table["decades"].tolist() == pytest.approx([2, 0, -1])
    line = fit_power_law(SIZES, curve.loss).predict(1e11, level=0.9)
    row = found.table.iloc[0]
    assert (row["loss"], row["loss_low"], row["loss_high"]) == (line.loss, line.low, line.high)
    assert row["RBP_low"] == pytest.approx(np.exp(-line.high))
    assert row["RBP_low"] < row["RBP"] < row["RBP_high"]
    ce = predict_sizes([a_curve(5 * SIZES**-0.1, quantity="CE")], [1e7]).table.iloc[0]
    assert np.isnan(ce["RBP"])


@pytest.mark.parametrize("size", [0, -1, float("nan"), float("inf")])
def test_a_size_that_is_none_is_refused(size):
    with pytest.raises(InputError, match="a size must be a positive number"):
        predict_sizes([], [size])
