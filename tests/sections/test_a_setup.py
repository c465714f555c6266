"""Appendix A: the figures."""

import itertools

import pandas as pd
import pytest

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.sections import a_setup


def test_figure_A1_is_drawn_of_both_sources():
    points = paper.models().assign(source="paper")[["source", "family", "model", "S"]]
    ours = points.query("family == 'Pythia'").assign(source="pocket", S=points["S"] // 1000)
    (axes,) = a_setup.ladders(pd.concat([points, ours])).axes
    drawn = sorted(S for line in axes.lines for S in line.get_xdata())
    assert drawn == sorted([*points["S"], *ours["S"]])


def test_figure_A2_takes_several_families_and_unknown_ones():
    corpora = ["Wiki", "HumanEval", "HotpotQA", "AusLegal"]
    every = itertools.product(corpora, ["Pythia"], range(5, 11), ["smallest", "largest", ""])
    table = pd.DataFrame(every, columns=["corpus", "family", "n", "choice"])
    table["R2"] = 0.98 + 0.001 * table["n"]
    table.loc[table["n"] == 10, "choice"] = "all"
    ours = [table.query("n > 8").assign(source="measured", family=f) for f in ("OPT", "Mine")]
    figure = a_setup.r2_panels(pd.concat([table.assign(source="published"), *ours]))
    assert len(figure.axes) == 8
    with pytest.raises(InputError, match="nothing to draw"):
        a_setup.r2_panels(table.iloc[:0].assign(source="measured"))
