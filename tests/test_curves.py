"""The paper's curves and the measured ones: which there are, and what is missing and why."""

import pytest

from rbpkit import curves, paper
from rbpkit.fit import fit_power_law


@pytest.mark.parametrize(("k", "lines"), [(1, 16), (100, 16), (30_000, 9), (78, 16)])
def test_published_curves_are_the_plotted_points(k, lines):
    found = curves.published_curves(k)
    assert len(found) == lines
    for (corpus, family), curve in found.items():
        assert (curve.corpus, curve.family, curve.quantity) == (corpus, family, f"RBP_{k}")
        assert (curve.S[1:] > curve.S[:-1]).all()


def test_the_points_of_table_1_give_its_printed_cells():
    """54 cells of 168; three decimals are printed (0.0005), and RBP values have six."""
    printed = paper.table1().set_index(["dataset", "k", "family"])
    found = curves.table1_curves()
    assert len(found) == 54
    for cell, (curve, _) in found.items():
        line = fit_power_law(curve.S, curve.loss)
        expected = printed.loc[cell, ["slope", "r2"]]
        assert (line.slope, line.r2) == pytest.approx(expected, abs=6e-4)


def test_measured_curves_and_what_is_missing(shipped):
    found, missing = curves.measured_curves(shipped, ["pocket:code", "Wiki"], ["Pythia"], 1)
    assert list(found) == [("pocket:code", "Pythia")]
    assert missing == ["not measured: Pythia on Wiki"]
    of_CE, _ = curves.measured_curves(shipped, ["pocket:code"], ["Pythia"], None)
    assert of_CE["pocket:code", "Pythia"].quantity == "CE"

    code = [one for one in shipped if one.manifest.corpus == "pocket:code"]
    two_sizes = [one for one in code if one.manifest.family == "Pythia"][:2]
    for summaries, k in ((two_sizes, 1), (code, 4096)):  # RBP_4096 is 1
        found, [reason] = curves.measured_curves(summaries, ["pocket:code"], ["Pythia"], k)
        assert found == {}
        assert reason.startswith(f"no fit: Pythia, pocket:code, RBP_{k}: ")
