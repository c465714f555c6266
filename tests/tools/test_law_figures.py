"""The figure of `rbpkit fit`: what is drawn of a law, and of one that may be flat."""

import numpy as np

from rbpkit.fit import Curve
from rbpkit.palette import FAMILY_COLOURS, OTHER
from rbpkit.plots import law_figure

S = np.geomspace(1e5, 1e9, 5)
WIGGLE = np.array([1, 1.1, 0.95, 1.05, 1])


def curve(loss, quantity="RBP_1") -> Curve:
    names = tuple(f"runs/{letter}/checkpoint-300" for letter in "abcde")
    return Curve("c", "Pythia", quantity, names, S, np.exp(-np.asarray(loss)))


def test_a_line_that_may_be_flat_is_grey_and_dashed_and_points_are_named():
    law, flat = curve(3 * S**-0.1 * WIGGLE**0.1), curve(WIGGLE, "RBP_10")
    hit_by_all = curve(np.zeros(5), "RBP_4096")
    first, second = law_figure([law, flat, hit_by_all]).axes  # and no panel without points
    for axes, colour, style in ((first, FAMILY_COLOURS["Pythia"], "-"), (second, OTHER, "--")):
        points, line = axes.lines
        assert (line.get_color(), line.get_linestyle()) == (colour, style)
        assert points.get_color() == FAMILY_COLOURS["Pythia"]
        named = {text.get_text() for text in axes.texts}
        assert {f"runs/{letter}" for letter in "abcde"} < named
        band = axes.collections[0].get_datalim(axes.transData)
        assert band.ymin < line.get_ydata().min() < line.get_ydata().max() < band.ymax
    assert "which may be 0" not in first.texts[0].get_text()
    assert "which may be 0" in second.texts[0].get_text()
