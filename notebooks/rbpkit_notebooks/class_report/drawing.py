"""A class's exponents as pictures."""

from __future__ import annotations

import io
import warnings
from typing import NamedTuple

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rbpkit.palette import CONTEXT, FAMILY_COLOURS, INK, OTHER
from rbpkit_notebooks.class_report.hand_ins import label_of
from rbpkit_notebooks.class_report.reading import cut


class Panel(NamedTuple):
    """A picture (SVG) of what some students found, and how many they are."""

    title: str
    students: int
    svg: str


def panels(slopes: pd.DataFrame) -> list[Panel]:
    """A panel for each family, text and number of training tokens; all own texts share one."""
    placed = slopes.fillna({"trained": ""}).assign(alpha=-slopes["slope"])
    placed["k"] = slopes["quantity"].str.extract(r"RBP_(\d+)")[0].astype(float)
    is_own = ~placed["corpus"].str.startswith("pocket:")
    text = placed["corpus"].str.removeprefix("pocket:").where(~is_own, "a text of one's own")
    found = []
    for (family, corpus, trained), rows in placed.groupby(["family", text, "trained"]):
        title = f"{family} on {corpus}"
        if trained:
            title += f", {trained.removesuffix('m')} million training tokens"
        of_reference = set(rows["reference_text"]) - set(rows["corpus"])
        if of_reference and rows["reference"].notna().any():
            title += f"; mark: {', '.join(sorted(of_reference)).removeprefix('pocket:')}"
        students = rows["file"].nunique()
        figure = Figure(figsize=(5, 1.1 + 0.22 * students), layout="constrained")
        FigureCanvasAgg(figure)  # can tell where labels are
        draw_panel(figure.subplots(), rows)
        found.append(Panel(cut(title, 200), students, _svg(figure)))
    return found


def draw_panel(axes: Axes, rows: pd.DataFrame) -> None:
    """A row for each study, by rising exponent: dot and interval, upright reference, grey paper.

    The exponent is that at k = 1, or else at the k that most of these studies have. A study without
    it has its first k, which its label names. An exponent beyond the axis is an open triangle.
    """
    at_k = rows.dropna(subset="k")
    usual = 1.0 if (at_k["k"] == 1).any() else at_k["k"].mode()[0]
    first = at_k.sort_values("k").assign(other=at_k["k"] != usual)
    shown = first.sort_values("other", kind="stable").drop_duplicates("file").sort_values("alpha")
    known = -shown[["slope", "low", "high", "reference", "paper_from", "paper_to"]].stack()
    left, right = np.clip([known.min(), known.max()], -0.2, 1)
    margin = 0.05 * (right - left) + 0.01
    axes.set_xlim(left - margin, right + margin)
    labels = []
    for place, row in enumerate(shown.itertuples()):
        colour = FAMILY_COLOURS.get(row.family, OTHER)
        axes.plot([-row.paper_to, -row.paper_from], [place, place], color=CONTEXT, lw=9, zorder=0)
        axes.plot([-row.high, -row.low], [place, place], color=colour, lw=1.5)
        inside = np.clip(row.alpha, *axes.get_xlim())
        mark = "o" if inside == row.alpha else ">" if inside < row.alpha else "<"
        fill = colour if inside == row.alpha else "white"
        axes.plot(inside, place, mark, ms=6, color=colour, mfc=fill, clip_on=False)
        axes.plot(-row.reference, place, "|", ms=11, mew=2, color=INK)
        name = cut(label_of(row.file), 24)
        labels.append(f"{name}, k = {row.k:.0f}" if row.other else name)
    axes.set_yticks(range(len(labels)), labels, parse_math=False)  # a $ is a $
    axes.set_ylim(-0.6, len(labels) - 0.4)
    axes.set_xlabel(f"exponent \u03b1 at k = {usual:.0f}")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _svg(figure: Figure) -> str:
    file = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters that its font lacks
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    svg = file.getvalue()
    return svg[svg.index("<svg") :]
