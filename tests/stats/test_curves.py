"""The paper's curves and the measured ones: which there are, and what is missing and why."""

import pytest

from rbpkit import paper
from rbpkit.fit import fit_power_law
from rbpkit.stats import curves


@pytest.mark.parametrize(("k", "lines"), [(1, 16), (100, 16), (30_000, 9), (78, 16)])
def test_published_curves_are_the_plotted_points(k, lines):
    found = curves.published_curves(k)
    assert len(found) == lines
    for (corpus, family), curve in found.items():
        assert (curve.corpus, curve.family, curve.quantity) == (corpus, family, f"RBP_{k}")
        assert curve.figure and (curve.S[1:] > curve.S[:-1]).all()
    assert [c for c, _ in found] == sorted((c for c, _ in found), key=paper.CORPORA.index)


def test_the_points_of_table_1_give_its_printed_cells():
    """54 cells of 168; three decimals are printed (0.0005), and RBP values have six."""
    printed = paper.table1().set_index(["dataset", "k", "family"])
    found = curves.table1_curves()
    assert len(found) == 54
    for cell, (curve, _) in found.items():
        line = fit_power_law(curve.S, curve.loss)
        assert (line.slope, line.r2) == pytest.approx(printed.loc[cell, ["slope", "r2"]], abs=6e-4)


def test_measured_curves_and_what_is_missing(shipped):
    found = curves.measured_curves(
        shipped, ["pocket:code", "Wiki"], ["Pythia"], lambda one: one.rbp(1), "RBP_1"
    )
    assert list(found.curves) == [("pocket:code", "Pythia")]
    assert found.curves["pocket:code", "Pythia"].quantity == "RBP_1"
    assert found.missing == ("not measured: Pythia on Wiki",)


def test_what_cannot_be_fitted_is_missing_with_the_reason(shipped):
    ladder = [s for s in shipped if s.manifest.family == "Pythia"]
    few = [s for s in ladder if s.manifest.corpus == "pocket:code"][:2]
    asked = (["pocket:code"], ["Pythia"])
    found = curves.measured_curves(few, *asked, lambda one: one.ce(), "CE")
    assert found.curves == {}
    assert len(found.missing) == 1
    assert found.missing[0].startswith("no fit: Pythia, pocket:code, CE: ")
    certain = curves.measured_curves(ladder, *asked, lambda one: one.rbp(4096), "RBP_4096")
    assert certain.curves == {} and "RBP_4096" in certain.missing[0]
