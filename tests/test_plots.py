"""Saved figures: the same bytes each time, and points to six digits."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from rbpkit import plots
from rbpkit.writing import as_csv


def test_a_csv_has_six_digits_and_counts_have_all():
    table = pd.DataFrame({"S": [11327027200.0, np.nan], "loss": [1 / 3, 2e-7 / 3], "n": [3, 10**9]})
    assert as_csv(table) == "S,loss,n\n11327027200,0.333333,3\n,6.66667e-08,1000000000\n"


@pytest.mark.parametrize(("form", "begins"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_a_figure_is_the_same_bytes_each_time(form, begins, tmp_path, monkeypatch):
    monkeypatch.setenv(plots.FORMAT_VARIABLE, form)
    for folder in ("once", "again"):
        with plots.style():
            figure, axes = plots.plt.subplots()
            axes.set_title("$R^2$ of a line")
        plots.save(figure, pd.DataFrame({"k": [1]}), str(tmp_path / folder), "one")
    once, again = ((tmp_path / folder / f"one.{form}").read_bytes() for folder in ("once", "again"))
    assert once == again and once.startswith(begins)


def test_labels_at_line_ends_do_not_overlap():
    with plots.style():
        figure, axes = plots.plt.subplots()
        axes.plot([0, 1], [0, 1])
        plots.label_ends(axes, [(1, y, f"line {y}", "black") for y in (0.50, 0.51, 0.52, 0.9)])
        figure.canvas.draw()
        boxes = sorted((text.get_window_extent() for text in axes.texts), key=lambda box: box.y0)
    assert all(below.y1 <= above.y0 for below, above in pairwise(boxes))
