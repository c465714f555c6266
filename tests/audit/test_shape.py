"""A floor or a bend is found where it was planted, and not where it was not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import least_squares

from rbpkit.audit import shape
from rbpkit.audit.prediction import published_losses
from rbpkit.errors import InputError
from rbpkit.fit import Curve

S = np.geomspace(1e6, 1e10, 10)
Z = np.log(S) - np.log(S).mean()


def a_curve(loss, S=S) -> Curve:
    models = tuple(f"m{i}" for i in range(len(loss)))
    return Curve("c", "f", "CE", models, S, np.asarray(loss, dtype=float))


def noise(rng, sd, n=10):
    return np.exp(rng.normal(0, sd, n))


def test_finds_a_planted_floor_exactly():
    found = shape.fit_floor(S, 0.7 + 20 * S**-0.2)
    assert found.L_inf == pytest.approx(0.7, rel=1e-4) and found.alpha == pytest.approx(
        0.2, rel=1e-3
    )
    assert found.predict(1e12) == pytest.approx(0.7 + 20 * 1e12**-0.2, rel=1e-4)


def test_finds_a_planted_bend_exactly():
    (_, slope, c), rss, _ = shape.fit_bend(S, np.exp(1 - 0.1 * Z + 0.004 * Z**2))
    assert (slope, c) == pytest.approx((-0.1, 0.004)) and rss < 1e-20


def test_floor_is_as_good_as_a_general_optimizer_from_many_starts():
    for curve in [one for one in published_losses() if one.S.size >= shape.LEAST][::4]:
        size, loss = np.asarray(curve.S, dtype=float), curve.loss
        z, top = np.log(size) - np.log(size).mean(), 0.999 * loss.min()
        best = math.inf
        for share in (0, 0.3, 0.6, 0.9):
            start = [share * loss.min(), np.log(loss.mean() - share * loss.min()), 0.1]
            found = least_squares(
                lambda q, z=z, loss=loss: np.log(loss) - np.log(q[0] + np.exp(q[1] - q[2] * z)),
                start,
                bounds=([0, -20, -5], [top, 20, 5]),
                xtol=1e-12,
                ftol=1e-12,
            )
            best = min(best, 2 * found.cost)
        assert shape.fit_floor(size, loss).rss <= best * (1 + 1e-6)


@pytest.mark.slow
def test_a_pure_power_law_is_beaten_no_more_often_than_stated():
    """Ten points: AICc wants n log(rss / rss') >= 8 for a win by 2, so F(1, 7) >= 8.58: 2.2% for
    the bend, and the floor's wins are mostly the bend's."""
    rng = np.random.default_rng(0)
    curves = [a_curve(20 * S**-0.1 * noise(rng, 0.02)) for _ in range(250)]
    said = shape.shape_table(curves).apply(shape.describe, axis=1)
    assert (said != "neither wins").mean() == pytest.approx(0.022, abs=0.022)


@pytest.mark.slow
def test_floor_and_bend_win_where_they_are():
    rng = np.random.default_rng(0)
    floor = [a_curve((0.7 + 20 * S**-0.2) * noise(rng, 0.005)) for _ in range(30)]
    table = shape.shape_table(floor)
    assert (table["floor_wins"] >= shape.WINS).mean() > 0.95
    truth = 0.7 / min(0.7 + 20 * S**-0.2)
    assert table["floor"].median() == pytest.approx(truth, abs=0.02)
    assert (table["error_floor"].abs() < table["error_line"].abs()).mean() > 0.9
    bent = [a_curve(np.exp(-0.1 * Z - 0.004 * Z**2) * noise(rng, 0.005)) for _ in range(30)]
    table = shape.shape_table(bent)  # curved the other way: no floor can follow
    assert (table["bend_wins"] >= shape.WINS).mean() > 0.95
    assert (table["floor_wins"] < shape.WINS).all()


@pytest.mark.slow
def test_ranges_hold_the_truth_at_their_rate():
    """F of (1, n - 3): exact for the bend; for the floor to first order."""
    rng = np.random.default_rng(0)
    curves = [a_curve((0.7 + 20 * S**-0.2) * noise(rng, 0.01)) for _ in range(150)]
    table = shape.shape_table(curves)
    truth = 0.7 / np.array([one.loss.min() for one in curves])
    step = 0.02  # of the grid of floors
    held = (table["floor_low"] - step <= truth) & (truth <= table["floor_high"] + step)
    assert 0.92 <= held.mean() <= 0.995
    straight = [a_curve(20 * S**-0.1 * noise(rng, 0.02)) for _ in range(150)]
    table = shape.shape_table(straight)
    held = (table["bend_low"] <= 0) & (0 <= table["bend_high"])
    assert held.mean() == pytest.approx(0.95, abs=0.05)


def test_few_points_cannot_tell():
    rng = np.random.default_rng(0)
    few = S[::2]
    row = shape.shape_table([a_curve(20 * few**-0.1 * noise(rng, 0.02, 5), few)]).iloc[0]
    assert row["floor_low"] == 0 and math.isnan(row["floor_wins"])
    assert shape.describe(row) == "these points cannot tell"
    assert shape.shape_table([a_curve([3, 2, 1], S[:3])]).empty
    with pytest.raises(InputError, match="takes four sizes"):
        shape.fit_floor(S[:3], np.array([3.0, 2, 1]))


def test_range_is_unbounded_where_any_floor_will_do():
    row = shape.shape_table([a_curve([2.0, 1.9, 1.97, 1.89], S[:4])]).iloc[0]
    assert (row["floor_low"], row["floor_high"]) == (0, math.inf)


def test_a_floor_of_zero_is_the_line():
    loss = np.exp(-0.1 * Z - 0.004 * Z**2)  # curved the other way: the best floor is zero
    row = shape.shape_table([a_curve(loss)]).iloc[0]
    assert row["floor"] == 0 and row["error_floor"] == pytest.approx(row["error_line"], rel=1e-9)
