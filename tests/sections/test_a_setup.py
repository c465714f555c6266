"""Appendix A: what the digits tell of token counts, lines by the number of sizes, the figures."""

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


def shares(T, counts):
    return [round(count / T, 6) for count in counts]


# -- token counts from digits ----------------------------------------------------------------


def test_compatible_counts_are_those_of_a_naive_search():
    values = shares(317, [3, 50, 120, 211, 300])
    naive = [
        T
        for T in range(1, 2001)
        if all(any(round(c / T, 6) == value for c in range(T + 1)) for value in values)
    ]
    assert a_setup.compatible_counts(values, 2000).tolist() == naive
    assert 317 in naive and 634 in naive


@pytest.mark.parametrize("T", [24_141, 317_414, 501_486])
def test_a_known_count_is_recovered(T):
    counts = np.random.default_rng(0).integers(T // 10, T, 60)
    found = a_setup.compatible_counts(shares(T, counts))
    # Beside T there can be its multiples, and the mirror image of T or of a multiple.
    known = {m * T for m in range(1, 22)} | {1_000_000 - m * T for m in range(1, 42)}
    assert T in found and set(found.tolist()) <= known


def test_values_of_two_counts_fit_none():
    counts = np.arange(5_000, 9_000, 97)
    values = shares(24_141, counts) + shares(33_233, counts)
    assert a_setup.compatible_counts(values, 100_000).size == 0


def test_all_plotted_values_leave_the_shipped_counts():
    steps = a_setup.narrowing()
    by_cell = steps.groupby(["corpus", "family"])
    assert (by_cell["compatible"].first() == a_setup.CEILING).all()
    assert (by_cell["compatible"].diff().dropna() <= 0).all()
    table = by_cell.last()
    shipped = paper.token_counts().set_index(["dataset", "family"])
    assert len(table) == 16
    legal = table.loc["AusLegal"]
    # All of AusLegal is ambiguous by its digits alone, by a mirror image.
    assert (legal["compatible"] == 2).all() and (legal["smallest"] + legal["largest"] == 1e6).all()
    for key, row in table.iterrows():
        tokens, also = shipped.loc[key, ["tokens", "also_admissible"]]
        ends = {row["smallest"], row["largest"]}
        if key[0] == "AusLegal":
            assert tokens in ends and (pd.isna(also) or {tokens, also} == ends)
        else:
            assert tokens == row["smallest"]
    assert (table.loc["Wiki", "compatible"] == 1).all()
    large = shipped.index[shipped["tokens"] >= a_setup.AT_LEAST].get_level_values(0)
    assert set(large) == {"AusLegal"}


@pytest.mark.parametrize(
    ("values", "ceiling", "said"),
    [
        ([], 100, "0 values"),
        ([0.5], 0, "ceiling 0"),
        ([0.1234567], 100, "0.1234567 is no share of tokens in six decimals"),
        ([0.5, 1.5], 100, "1.5 is no share"),
        ([0.5, float("nan")], 100, "nan is no share"),
    ],
)
def test_bad_values_are_refused(values, ceiling, said):
    with pytest.raises(InputError, match=said):
        a_setup.compatible_counts(values, ceiling)


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
