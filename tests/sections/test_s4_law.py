"""Figures 4, 5 and 6: their points are the paper's, and ours as they were measured."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.sections import s4_3_large_k, s4_law
from rbpkit.stats.curves import measured_curves, published_curves

CORPORA = ["pocket:prose", "pocket:humaneval"]


@pytest.fixture(scope="module")
def shipped(shipped):
    return [one for one in shipped if one.manifest.family == "Pythia"]


def printed_points(ks) -> pd.DataFrame:
    table = paper.rbp_by_size().rename(columns={"dataset": "corpus"})
    table = table[table["k"].isin(ks)].assign(quantity=lambda t: "RBP_" + t["k"].astype(str))
    return table.set_index(["quantity", "corpus", "model"])["rbp"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ks", "draw", "made", "count"),
    [
        ((10, 50, 100), s4_law.figure_4, dict, 3 * 4 * 24),
        (
            (20_000, 30_000), s4_law.figure_5,
            lambda curves: [s4_3_large_k.published_misses(one) for one in curves.values()],
            2 * 3 * 19,
        ),
    ],
)  # fmt: skip
def test_figures_4_and_5_hold_the_published_points(ks, draw, made, count):
    _, points = draw({f"published, k = {k:,}": made(published_curves(k)) for k in ks})
    assert set(points["source"]) == {"published"}
    gap = points.set_index(["quantity", "corpus", "model"])["value"] - printed_points(ks)
    assert len(points) == len(gap) == count and gap.abs().max() <= 1e-6 and gap.notna().all()


def test_measured_figures_4_and_5(shipped):
    curves = measured_curves(shipped, CORPORA, ["Pythia"], lambda one: one.rbp(10), "RBP_10").curves
    assert s4_law.row_name("measured", curves) == "measured, k = 10"
    _, points = s4_law.figure_4({"measured, k = 10": curves, "none": {}})
    assert len(points) == sum(len(one.S) for one in curves.values())
    assert set(points["source"]) == {"measured"}
    at_share = s4_3_large_k.curves_at_share(shipped, CORPORA, ["Pythia"], 30_000).curves
    misses = [s4_3_large_k.measured_misses(shipped, curve) for curve in at_share.values()]
    _, points = s4_law.figure_5({"measured": misses})
    assert points["missed"].tolist() == [int(m) for one in misses for m in one.missed]
    mixed = {1: curves[CORPORA[0], "Pythia"]} | at_share
    assert s4_law.row_name("measured", mixed) == "measured, various k"


@pytest.mark.parametrize("quantity", ["R2", "slope"])
def test_figure_6_holds_the_published_values(quantity, shipped):
    ours = s4_law.fits_by_k(shipped, CORPORA, ["Pythia"])
    _, points = s4_law.figure_6(quantity, ours, CORPORA, ["Pythia"])
    points["k"] = points["k"].astype(float)
    published = points.query("source == 'published'")
    printed = paper.fit_by_k().rename(columns={"dataset": "corpus"})
    printed = printed[(printed["quantity"] == "R2") == (quantity == "R2")]
    keys = ["corpus", "quantity", "k"]
    both = published.merge(printed.astype({"k": "float"}), on=keys, suffixes=("", "_printed"))
    assert len(both) == len(printed) == len(published)
    assert (both["value"] - both["value_printed"]).abs().max() <= 1e-6
    measured = points.query("source == 'measured'")
    assert measured["k"].max() == (2443 if quantity == "R2" else 814)
    assert measured["k"].isna().sum() == (0 if quantity == "R2" else 2)


def test_figure_6_without_anything_measured():
    empty = s4_law.fits_by_k([], ["mine"], ["llama"])
    _, points = s4_law.figure_6("R2", empty, ["mine"], ["llama"])
    assert len(points) == 4 * 22


def test_figures_refuse_nothing_and_unknown():
    for draw in (s4_law.figure_4, s4_law.figure_5):
        with pytest.raises(InputError, match="nothing to draw"):
            draw({"measured": {}})
    with pytest.raises(InputError, match="R2 or slope"):
        s4_law.figure_6("alpha", pd.DataFrame(), [], [])


@pytest.mark.parametrize(("low", "high"), [(1e-4, 5e-3), (2e-4, 6e-4), (0.9, 4.2), (1.05, 1.9)])
def test_a_loss_axis_has_four_ticks_or_more(low, high):
    axes = plt.figure().add_subplot(yscale="log", ylim=(low, high))
    s4_law._log_ticks(axes)
    axes.figure.canvas.draw()
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert len(shown) >= 4 and all(shown) and len(set(shown)) == len(shown)
