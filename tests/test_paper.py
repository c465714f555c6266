"""paper.py: the shipped points give the numbers that the paper prints."""

import pandas as pd
import pytest

from rbpkit import fit_power_law, fit_rbp_law, paper
from rbpkit.curves import published_curves, table1_curves

# The tables print three decimals (half a unit: 0.0005); the rest is for six-decimal RBP values.
TOLERANCE = 0.0006


def printed(table: pd.DataFrame, **cell) -> pd.Series:
    for column, value in cell.items():
        table = table[table[column] == value]
    assert len(table) == 1, cell
    return table.iloc[0]


def assert_cell(fit, cell: pd.Series) -> None:
    assert fit.slope == pytest.approx(cell["slope"], abs=TOLERANCE)
    assert fit.r2 == pytest.approx(cell["r2"], abs=TOLERANCE)


# ---- a file


# ---- the tables follow from the points


def test_the_points_of_table_1_give_its_printed_cells():
    """54 cells of 168; three decimals are printed (0.0005), and RBP values have six."""
    printed = paper.table("table1").set_index(["dataset", "k", "family"])
    found = table1_curves()
    assert len(found) == 54
    for cell, (curve, _) in found.items():
        line = fit_power_law(curve.S, curve.loss)
        expected = printed.loc[cell, ["slope", "r2"]]
        assert (line.slope, line.r2) == pytest.approx(expected, abs=6e-4)


def test_table_k_law_from_figure_9():
    """64 of ICLR Table 1's cells: the law in k, with k in the place of S."""
    cells = 0
    for (family, model, dataset), line in paper.table("rbp_by_k").groupby(
        ["family", "model", "dataset"]
    ):
        cell = printed(paper.table("table_k_law"), family=family, model=model, dataset=dataset)
        assert_cell(fit_rbp_law(line["k"], line["rbp"]), cell)
        cells += 1
    assert cells == 64


@pytest.mark.parametrize("dataset", paper.PLOTTED_CORPORA)
@pytest.mark.parametrize("k", [1, 10, 50, 100])
def test_figure_6_from_figures_3_and_4(dataset, k):
    line = published_curves(k)[dataset, "Pythia"]
    fit = fit_rbp_law(line.S, line.value)
    read = paper.table("fit_by_k")
    r2 = printed(read, quantity="R2", dataset=dataset, k=k)["value"]
    slope = printed(read, quantity="slope", dataset=dataset, k=k)["value"]
    assert (fit.r2, fit.slope) == pytest.approx((r2, slope), abs=1e-6)


def test_figure_8_lines_from_its_points():
    for (figure, series), line in paper.table("ce_and_rbp1").groupby(["figure", "series"]):
        fit = fit_power_law(line["S"], line["value"])
        label = printed(paper.table("ce_and_rbp1_fits"), figure=figure, series=series)
        assert_cell(fit, label.rename({"slope_printed": "slope", "r2_printed": "r2"}))
