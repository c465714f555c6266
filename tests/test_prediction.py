"""What the fitted laws predict for new sizes, and how far out these are."""

from dataclasses import replace

import numpy as np
import pytest

from rbpkit.errors import InputError
from rbpkit.fit import Curve, fit_power_law
from rbpkit.prediction import predict_sizes

SIZES = np.geomspace(1e6, 1e9, 5)


def a_curve(loss, quantity="RBP_1") -> Curve:
    loss = np.asarray(loss, dtype=float)
    value = loss if quantity == "CE" else np.exp(-loss)
    return Curve("c", "f", quantity, tuple("abcde"), SIZES, value)


def test_predictions_are_the_fits_and_say_how_far_out_they_are():
    curve = a_curve(5 * SIZES**-0.1 * [1, 1.01, 0.99, 1, 1.01])
    found = predict_sizes([curve, a_curve(np.ones(5))], [1e11, 1e7, 1e5], 0.9)
    assert len(found.table) == 3 and "the loss is 1 at all 5 points" in found.refused[0]
    assert found.table["decades"].tolist() == pytest.approx([2, 0, -1])
    line = fit_power_law(SIZES, curve.loss).predict(1e11, level=0.9)
    row = found.table.iloc[0]
    assert (row["loss"], row["loss_low"], row["loss_high"]) == (line.loss, line.low, line.high)
    assert row["RBP_low"] == pytest.approx(np.exp(-line.high))
    assert row["RBP_low"] < row["RBP"]
    assert row["RBP"] < row["RBP_high"]
    of_ce = a_curve(5 * SIZES**-0.1, quantity="CE")
    assert predict_sizes([of_ce], [1e7]).table["RBP"].isna().all()


WIGGLE = np.array([1, 1.2, 0.9, 1.1, 1])
NO_TREND = a_curve(WIGGLE)
WRONG_TREND = a_curve(SIZES**0.1 * WIGGLE**0.1)
LAW = a_curve(SIZES**-0.1 * WIGGLE**0.01, "RBP_10")


def with_tokens(tokens: int) -> Curve:
    return replace(LAW, tokens=np.full(5, tokens))


@pytest.mark.parametrize(
    ("curve", "note"),
    [
        (NO_TREND, "alpha may be 0"),
        (WRONG_TREND, "alpha is below 0"),
        (with_tokens(1), "few misses"),
        (with_tokens(10**6), ""),
        (LAW, ""),
    ],
)
def test_a_law_in_doubt_says_so_and_reaches_one_decade(curve, note):
    near, above = SIZES[-1] * 9.9, SIZES[-1] * 11
    below = SIZES[0] / 11
    found = predict_sizes([curve], [near, above, below])
    assert found.table["note"].str.partition(" (")[0].unique() == [note]
    assert len(found.table) == (1 if note else 3)
    for refusal in found.refused:
        assert note in refusal and "1.04 decades" in refusal and "--force" in refusal
    forced = predict_sizes([curve], [near, above, below], force=True)
    assert len(forced.table) == 3 and not forced.refused


def test_the_smallest_size_that_a_float_holds():
    [row] = predict_sizes([a_curve(5 * SIZES**-0.1)], [5e-324]).table.itertuples()
    assert row.decades == pytest.approx(-323.306 - 6, abs=1e-3) and row.RBP == 0


@pytest.mark.parametrize("size", [0, -1, float("nan"), float("inf")])
def test_a_size_that_is_no_size_is_refused(size):
    with pytest.raises(InputError, match="size"):
        predict_sizes([], [size])
