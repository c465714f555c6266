"""Foretelling a larger model: how often intervals hold it, and what the paper's points say."""

from __future__ import annotations

import numpy as np
import pytest

from rbpkit import paper
from rbpkit.audit import prediction
from rbpkit.errors import InputError
from rbpkit.fit import Curve, fit_power_law

SIZES = np.geomspace(1e6, 1e9, 5)


def a_curve(loss, S=SIZES, corpus="c", family="f", quantity="RBP_1") -> Curve:
    loss = np.asarray(loss, dtype=float)
    value = loss if quantity == "CE" else np.exp(-loss)
    return Curve(corpus, family, quantity, tuple(f"m{i}" for i in range(loss.size)), S, value)


@pytest.fixture(scope="module")
def published():
    return prediction.published_losses()


# -- one law at a time -------------------------------------------------------------------------


@pytest.mark.parametrize("quantity", ["RBP_1", "CE"])
def test_a_power_law_foretells_its_largest(quantity):
    row = prediction.held_out([a_curve(5 * SIZES**-0.1, quantity=quantity)]).iloc[0]
    assert row["predicted"] == pytest.approx(5 * 1e9**-0.1, rel=1e-12)
    assert (row["n"], row["model"], row["S"]) == (4, "m4", 1e9)
    assert row["decades"] == pytest.approx(0.75)


def test_error_is_negative_where_the_law_promised_too_much():
    loss = 5 * SIZES**-0.1 * [1, 1.01, 0.99, 1, 1.2]
    row = prediction.held_out([a_curve(loss)]).iloc[0]
    assert row["above"] and not row["inside"] and row["error"] == pytest.approx(-0.17, abs=0.02)
    fit = fit_power_law(SIZES[:4], loss[:4])
    assert row["predicted"] == pytest.approx(fit.predict(1e9).loss)


def test_too_few_points_are_left_out():
    assert prediction.held_out([a_curve(5 * SIZES[:3] ** -0.1, S=SIZES[:3])]).empty
    assert prediction.held_out_pooled([a_curve(5 * SIZES**-0.1)]).empty  # one corpus
    with pytest.raises(InputError, match="two corpora"):
        prediction.pool_slopes([a_curve(5 * SIZES**-0.1)])


def test_interval_holds_the_largest_at_its_rate():
    """Residuals independent and normal, as the t interval takes them: 95%, and 50%."""
    rng = np.random.default_rng(0)
    curves = [a_curve(5 * SIZES**-0.1 * np.exp(rng.normal(0, 0.02, 5))) for _ in range(1500)]
    for level in (0.95, 0.5):
        found = prediction.held_out(curves, level)
        error = 4 * np.sqrt(level * (1 - level) / 1500)
        assert found["inside"].mean() == pytest.approx(level, abs=error)
    assert found["above"].mean() == pytest.approx(0.5, abs=0.06)


# -- slopes pooled over corpora ----------------------------------------------------------------


def a_family(rng, between: float, sd: float, shared: float = 0.0, corpora: int = 4, S=SIZES[:4]):
    """A family on several corpora; slopes about -0.1; `shared` moves a model on all corpora."""
    own = rng.normal(0, shared, S.size)
    return [
        a_curve(
            np.exp(2 + rng.normal(-0.1, between) * np.log(S) + own + rng.normal(0, sd, S.size)),
            S=S,
            corpus=f"c{i}",
            quantity="CE",
        )
        for i in range(corpora)
    ]


def test_pooling_ends_are_the_mean_and_the_slopes_themselves():
    rng = np.random.default_rng(0)
    noisy = prediction.pool_slopes(a_family(rng, 0, 0.05))
    assert noisy.between == 0 and np.allclose(noisy.pooled, noisy.mean)
    clean = prediction.pool_slopes(a_family(rng, 0.03, 1e-6))
    assert np.allclose(clean.pooled, clean.slopes, atol=1e-6)
    assert clean.between == pytest.approx(clean.slopes.std(ddof=1), rel=1e-3)
    assert clean.free == 8


def test_between_corpora_sd_is_found():
    rng = np.random.default_rng(0)
    found = [prediction.pool_slopes(a_family(rng, 0.03, 0.02)).between ** 2 for _ in range(400)]
    assert np.sqrt(np.mean(found)) == pytest.approx(0.03, rel=0.1)
    none = [prediction.pool_slopes(a_family(rng, 0, 0.02)).between for _ in range(400)]
    assert np.mean(np.array(none) == 0) > 0.5


@pytest.mark.parametrize(
    ("family", "least", "most"),
    [
        # 95% less what estimating `between` from four corpora costs
        ({"between": 0.0, "sd": 0.02}, 0.89, 0.98),
        ({"between": 0.01, "sd": 0.02}, 0.89, 0.98),
        # what the docstring warns of, at the worst: the same residuals on all four corpora
        ({"between": 0.0, "sd": 0.001, "shared": 0.02}, 0.0, 0.85),
    ],
)
def test_pooled_interval_holds_the_largest_at_its_rate_if_residuals_are_independent(
    family, least, most
):
    rng = np.random.default_rng(0)
    inside = [
        prediction.held_out_pooled(a_family(rng, **family))["inside"].mean() for _ in range(300)
    ]
    assert least <= np.mean(inside) <= most


# -- new sizes ---------------------------------------------------------------------------------


def test_predict_sizes_gives_the_fit_and_says_how_far_out_it_is():
    curve = a_curve(5 * SIZES**-0.1 * [1, 1.01, 0.99, 1, 1.01])
    found = prediction.predict_sizes([curve, a_curve([1, 1, 1, 1, 1])], [1e11, 1e7, 1e5], 0.9)
    assert len(found.table) == 3 and "the loss is 1 at all 5 points" in found.refused[0]
    assert found.table["decades"].tolist() == pytest.approx([2, 0, -1])
    line = fit_power_law(SIZES, curve.loss).predict(1e11, level=0.9)
    row = found.table.iloc[0]
    assert (row["loss"], row["loss_low"], row["loss_high"]) == (line.loss, line.low, line.high)
    assert row["RBP_low"] == pytest.approx(np.exp(-line.high))
    assert row["RBP_low"] < row["RBP"] < row["RBP_high"]
    ce = prediction.predict_sizes([a_curve(5 * SIZES**-0.1, quantity="CE")], [1e7]).table.iloc[0]
    assert np.isnan(ce["RBP"])


@pytest.mark.parametrize("size", [0, -1, float("nan"), float("inf")])
def test_predict_sizes_refuses(size):
    with pytest.raises(InputError, match="a size must be a positive number"):
        prediction.predict_sizes([], [size])


# -- the paper's points, and ours --------------------------------------------------------------


def test_published_losses_are_the_papers(published):
    assert len(published) == 4 * 4 * 4 + 2
    ce = {one.family: one for one in published if one.quantity == "CE"}
    printed = paper.ce_and_rbp1_fits().query("kind == 'empirical' and series == 'CE'")
    fit = fit_power_law(ce["Pythia"].S, ce["Pythia"].loss)
    assert abs(fit.slope) == pytest.approx(abs(printed["slope_printed"].item()), abs=6e-4)
    assert fit_power_law(ce["GPT2"].S, ce["GPT2"].loss).slope == pytest.approx(-0.058, abs=6e-4)


# -- by horizon --------------------------------------------------------------------------------


def test_horizons_are_every_larger_model_from_every_smaller_set():
    curve = a_curve(5 * SIZES**-0.1 + 0.3)
    table = prediction.horizons([curve], least=3)
    assert list(zip(table["n"], table["model"], strict=True)) == [
        (3, "m3"), (3, "m4"), (4, "m4"),
    ]  # fmt: skip
    assert table["decades"].tolist() == pytest.approx([0.75, 1.5, 0.75])
    last = table.iloc[-1]
    assert last["floor"] == pytest.approx(0, abs=1e-4)  # the law that was planted
    assert last["no_gain"] == pytest.approx(curve.loss[3] / curve.loss[4] - 1)
    assert np.isnan(table["floor"].iloc[0]) and (table["above"]).all()
    with_all = prediction.horizons([curve], least=4)
    held = prediction.held_out([curve]).iloc[0]
    assert with_all.iloc[-1]["predicted"] == held["predicted"]


def test_an_interval_that_holds_the_last_model_too_is_counted():
    flat = a_curve(5 * SIZES**-0.01 * [1, 1.05, 0.95, 1.05, 1])
    row = prediction.held_out([flat]).iloc[0]
    assert row["inside"] and row["last_inside"] and row["last"] == flat.loss[3]
    steep = prediction.held_out([a_curve(5 * SIZES**-0.3)]).iloc[0]
    assert not steep["last_inside"]
