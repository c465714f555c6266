"""Appendix A: lines by the number of sizes, the figures."""

import itertools
import math

import matplotlib
import numpy as np
import pandas as pd
import pytest

from rbpkit import paper
from rbpkit.curves import Curve, Curves, published_curves
from rbpkit.errors import InputError
from rbpkit.sections import a_setup

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def pythia() -> Curves:
    curves = published_curves(1)
    return {key: curve for key, curve in curves.items() if key[1] == "Pythia"}


@pytest.fixture(scope="module")
def by_sizes(pythia) -> pd.DataFrame:
    return a_setup.r2_by_sizes(pythia)


# -- lines by the number of sizes ------------------------------------------------------------


def test_every_choice_of_five_or_more(by_sizes):
    wiki = by_sizes.query("corpus == 'Wiki'")
    assert wiki.groupby("n").size().to_dict() == {n: math.comb(10, n) for n in range(5, 11)}
    ends = wiki["choice"].value_counts().to_dict()
    assert ends == {"": 627, "smallest": 5, "largest": 5, "all": 1}


def test_r2_is_that_of_numpy(pythia, by_sizes):
    curve = pythia["Wiki", "Pythia"]
    x, y = np.log(curve.S), np.log(curve.loss)
    expected = [
        np.corrcoef(x[list(chosen)], y[list(chosen)])[0, 1] ** 2
        for n in range(5, 11)
        for chosen in itertools.combinations(range(10), n)
    ]
    np.testing.assert_allclose(by_sizes.query("corpus == 'Wiki'")["R2"], expected, atol=1e-9)


def test_few_models_give_no_line_and_none_is_no_error():
    few = Curve("c", "f", "RBP_1", ("a", "b", "c"), np.array([1e3, 1e4, 1e5]), np.full(3, 0.5))
    empty = a_setup.r2_by_sizes({("c", "f"): few})
    assert not len(empty)
    with pytest.raises(InputError, match="3 points"):
        a_setup.r2_by_sizes({}, least=2)
    with pytest.raises(InputError, match="nothing to draw"):
        a_setup.r2_panels(empty.assign(source="measured"))


# -- the figures' points ---------------------------------------------------------------------


def test_figure_A1_is_drawn_of_both_sources():
    points = paper.models().assign(source="paper")[["source", "family", "model", "S"]]
    ours = points.query("family == 'Pythia'").assign(source="pocket", S=points["S"] // 1000)
    (axes,) = a_setup.ladders(pd.concat([points, ours])).axes
    drawn = sorted(S for line in axes.lines for S in line.get_xdata())
    assert drawn == sorted([*points["S"], *ours["S"]])


def test_figure_A2_takes_several_families_and_unknown_ones(by_sizes):
    ours = [by_sizes.query("n > 8").assign(source="measured", family=f) for f in ("OPT", "Mine")]
    figure = a_setup.r2_panels(pd.concat([by_sizes.assign(source="published"), *ours]))
    assert len(figure.axes) == 8
    every = by_sizes.query("choice == 'all'").set_index("corpus")["R2"]
    printed = paper.table1().query("k == '1' and family == 'Pythia'").set_index("dataset")["r2"]
    assert len(every) == 4 and (every - printed.loc[every.index]).abs().max() <= 0.0006
