"""The law in k: printed cells from points, planted exponents found, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from made_summaries import made

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import fit_rbp_law
from rbpkit.sections import b_law_in_k

# The table prints three decimals (half a unit: 0.0005); the rest is for six-decimal RBP values.
TOLERANCE = 0.0006


@pytest.fixture(scope="module")
def planted() -> list:
    """Four models with Pr(R <= k) = exp(-1.2 (S / 1e5)^-0.1 k^-0.4), the law in both S and k."""
    u = np.random.default_rng(3).random(60_000)
    models = []
    for S in (10_000, 30_000, 100_000, 300_000):
        rank = np.ceil((-np.log(u) / (1.2 * (S / 1e5) ** -0.1)) ** (-1 / 0.4))
        models.append(made(S, np.clip(rank, 1, 4096)))
    return models


# ---- the law in k


def test_64_of_96_cells_from_figure_9():
    lines = b_law_in_k.lines(b_law_in_k.published_points())
    printed = paper.table_k_law().rename(columns={"dataset": "corpus", "slope": "printed"})
    both = printed.merge(lines, on=["corpus", "family", "model"])
    assert (len(printed), len(both)) == (96, 64) and (both["n"] == 11).all()
    assert (both["slope"] - both["printed"]).abs().max() <= TOLERANCE
    assert (both["R2"] - both["r2"]).abs().max() <= TOLERANCE


def test_both_exponents_are_recovered(planted):
    points, missing = b_law_in_k.measured_points(planted, ["c"], ["f"])
    assert not missing and len(points) == 44
    assert b_law_in_k.lines(points)["slope"].to_numpy() == pytest.approx(-0.4, abs=0.02)
    found, _ = b_law_in_k.trades(points, planted, draws=200)
    row = found.iloc[0]
    assert (row["alpha"], row["beta"]) == pytest.approx((0.1, 0.4), abs=0.01)
    assert row["gamma"] == pytest.approx(0, abs=0.005)
    assert row["bootstrap_low"] < row["factor"] < row["bootstrap_high"]
    assert row["factor"] == pytest.approx(2 ** (row["beta"] / row["alpha"]))


def test_the_trade_at_a_point():
    S, k = (axis.ravel() for axis in np.meshgrid([1e6, 1e7, 1e8, 1e9], [1, 3, 10, 30, 100]))
    x, z = np.log(S / 1e7), np.log(k)
    loss = np.exp(0.3 - 0.06 * x - 0.4 * z - 0.02 * x * z)
    noise = np.random.default_rng(0).normal(0, 1e-3, S.size)
    at_1, at_100 = (b_law_in_k.trade(S, k, loss * np.exp(noise), at_k=at) for at in (1, 100))
    assert at_1.alpha == pytest.approx(0.06, abs=1e-3)
    assert at_100.alpha == pytest.approx(0.06 + 0.02 * math.log(100), abs=1e-3)
    assert at_1.gamma == pytest.approx(0.02, abs=1e-3)
    expected = 0.4 + 0.02 * math.log(at_1.at_S / 1e7)
    assert (at_1.beta, at_100.beta) == pytest.approx((expected, expected), 0.01)
    assert at_1.low < at_1.factor < at_1.high
    # the interval is the spread of the factor over many noises
    rng = np.random.default_rng(1)
    drawn = [
        b_law_in_k.trade(S, k, loss * np.exp(rng.normal(0, 1e-3, S.size)), at_k=1).exchange
        for _ in range(400)
    ]
    half = (math.log2(at_1.high) - math.log2(at_1.low)) / 2 / 2.12  # t, 16 degrees of freedom
    assert half == pytest.approx(np.std(drawn), rel=0.35)


def test_the_error_of_independent_tokens():
    """token_se is the spread of the slope over samples of tokens."""
    k, T = np.array([1, 3, 10, 30, 100]), 20_000
    rbp = np.exp(-1.2 * k**-0.4)
    cells = np.diff([0, *rbp, 1])
    drawn = np.cumsum(np.random.default_rng(0).multinomial(T, cells, 2000), axis=1)[:, :-1] / T
    slopes = [fit_rbp_law(k, row).slope for row in drawn]
    assert b_law_in_k.token_se(k, rbp, T) == pytest.approx(np.std(slopes), rel=0.05)


def test_the_bootstrap_draws_documents():
    ranks = np.concatenate([np.full(10, r) for r in [1, 2, 5, 20, 60, 300] * 20])
    whole = made(10_000, ranks)  # every document has one rank: the error is that of 120 tokens
    points, _ = b_law_in_k.measured_points([whole], ["c"], ["f"])
    errors = b_law_in_k.sampling([whole], points, draws=2000).iloc[0]
    assert errors["se_documents"] == pytest.approx(math.sqrt(10) * errors["se_tokens"], rel=0.1)
    assert errors["bootstrap_low"] < errors["slope"] < errors["bootstrap_high"]
    again = b_law_in_k.sampling([whole], points, draws=2000).iloc[0]
    assert again.equals(errors)


def test_what_has_no_line_in_k_is_named():
    perfect = made(10_000, np.ones(50))
    points, missing = b_law_in_k.measured_points([perfect], ["c", "d"], ["f"])
    assert points.empty and len(missing) == 2
    assert "m10000 on c" in missing[0] and missing[1] == "not measured: f on d"
    assert b_law_in_k.lines(points).empty and b_law_in_k.sampling([perfect], points).empty
    assert b_law_in_k.trades(points, [perfect])[0].empty


def test_bad_input_of_the_law_in_k():
    S, k = np.repeat([1e6, 1e7, 1e8], 3), np.tile([1, 10, 100], 3)
    for given, says in (
        ((S[:6], k[:6], np.ones(6)), "three sizes and three k"),
        ((S, k, np.zeros(9)), "positive and finite"),
        ((S, k, S**0.1 / k), "does not fall with S"),
    ):
        with pytest.raises(InputError, match=says):
            b_law_in_k.trade(*given)
    with pytest.raises(InputError, match="too few documents"):
        b_law_in_k.bootstrap([made(10_000, np.repeat([1, 500], 10))])


def test_nothing_to_draw_is_said():
    none = pd.DataFrame(columns=["slope", "R2"])
    for draw, *words in (
        (b_law_in_k.k_panels, "measured"),
        (b_law_in_k.slope_errors,),
    ):
        with pytest.raises(InputError, match="nothing to draw"):
            draw(none, *words)


def test_families_of_ones_own_are_drawn(planted):
    points, _ = b_law_in_k.measured_points(planted, ["c"], ["f"])
    assert len(b_law_in_k.k_panels(points, "mine").axes[0].lines) == 8
    assert b_law_in_k.slope_errors(b_law_in_k.sampling(planted, points, draws=50))
