"""The figure of `rbpkit fit`: what is drawn of a law, and of one that may be flat."""

import numpy as np

from rbpkit.fit import Curve
from rbpkit.palette import FAMILY_COLOURS, OTHER
from rbpkit.plots import curve_points, law_figure

S = np.geomspace(1e5, 1e9, 5)
WIGGLE = np.array([1, 1.1, 0.95, 1.05, 1])


def curve(loss, quantity="RBP_1") -> Curve:
    return Curve("c", "Pythia", quantity, tuple("abcde"), S, np.exp(-np.asarray(loss)))


def test_a_line_that_may_be_flat_is_grey_and_dashed():
    law, flat = curve(3 * S**-0.1 * WIGGLE**0.1), curve(WIGGLE, "RBP_10")
    hit_by_all = curve(np.zeros(5), "RBP_4096")
    points = curve_points("measured", [law, flat, hit_by_all])
    first, second, no_points = law_figure(points, panel="quantity", detailed=True).axes
    assert "no line" in no_points.texts[0].get_text()
    for axes, colour, style in ((first, FAMILY_COLOURS["Pythia"], "-"), (second, OTHER, "--")):
        points, line = axes.lines
        assert (line.get_color(), line.get_linestyle()) == (colour, style)
        assert points.get_color() == FAMILY_COLOURS["Pythia"]
        band = axes.collections[0].get_datalim(axes.transData)
        assert band.ymin < line.get_ydata().min() < line.get_ydata().max() < band.ymax
    assert "which may be 0" not in first.texts[0].get_text()
    assert "which may be 0" in second.texts[0].get_text()
