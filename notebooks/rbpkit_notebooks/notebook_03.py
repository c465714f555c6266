"""What notebook 03 (Section 4.1) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rbpkit import paper, plots
from rbpkit.curves import Curves, measured_curves
from rbpkit.fit import Array, Curve, curve_of, fit_power_law
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit_notebooks.choices import Study
from rbpkit_notebooks.choices import read_study as read_study
from rbpkit_notebooks.exercises import check_of
from rbpkit_notebooks.explorables import explorable as explorable

check = check_of("03")

Laws = Mapping[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]]
PYTHIA = plots.ink_of("Pythia")
LOSS = r"loss, $-\log\,\mathrm{RBP}_1$, in nats"


def _axes(axes: Axes, lowest: float) -> None:
    axes.set(xscale="log", yscale="log", xlim=(6e5, 2e11), ylim=(lowest, 1.4))
    axes.set_xlabel(plots.SIZE)
    ticks = [tick for tick in (0.2, 0.5, 0.7, 1) if tick > lowest]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


def puzzle(pythia: Curve, figures_dir: str) -> None:
    """The two smallest Pythias, and three places for the largest."""
    title = "Where is the largest: at A, B or C?"
    with plots.panel(title, f"Pythia on Wikipedia; {LOSS}", 3.3) as axes:
        _axes(axes, 0.13)
        axes.plot(pythia.S[:2], pythia.loss[:2], PYTHIA.marker, color=PYTHIA.colour, ms=8)
        axes.text(1.5e6, 1.15, "14M", color=PYTHIA.colour)
        axes.text(6e6, 1.03, "31M", color=PYTHIA.colour)
        axes.axvline(pythia.S[-1], color=CONTEXT, linewidth=14, zorder=0)
        axes.text(2e10, 1.2, "12B", color=PYTHIA.colour)
        for letter, loss in (("A", 0.84), ("B", 0.547), ("C", 0.19)):
            axes.text(pythia.S[-1], loss, letter, size=14, ha="center", va="center", weight="bold")
    plots.save(axes, plots.curve_points("published", [pythia])[:2], figures_dir, "figure_3_puzzle")


def figure_3(published: Curves, study: Study, figures_dir: str) -> None:
    """The paper's families on Wikipedia with their lines; the points saved are all there are."""
    with plots.panel("Straight, and very flat", f"four families on Wikipedia; {LOSS}", 3.8) as axes:
        _axes(axes, 0.4)
        ends = []
        for family in paper.FAMILIES:
            curve, ink = published["Wiki", family], plots.ink_of(family)
            line = fit_power_law(curve.S, curve.loss).predict(curve.S).loss
            axes.plot(curve.S, line, color=ink.colour)
            axes.plot(curve.S, curve.loss, ink.marker, color=ink.colour, ms=5)
            ends.append((curve.S[-1], curve.loss[-1], plots.name_of(family), ink.colour))
        pythia = published["Wiki", "Pythia"]
        (left, right), (top, bottom) = pythia.S[[0, -1]], pythia.loss[[0, -1]]
        arrow = {"arrowstyle": "<->", "color": INK, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (left, bottom), (left, top * 0.96), arrowprops=arrow)
        axes.annotate("", (left, 0.46), (right, 0.46), arrowprops=arrow)
        axes.text(left * 1.3, 0.64, "half the loss")
        axes.text(1e8, 0.45, "10,000 times the parameters", ha="center", va="top")
        plots.label_ends(axes, ends, gap=1.05)
    own = [curve_of([one], 1) for one in study.shown()]
    parts = [plots.curve_points("published", published.values())]
    parts.append(plots.curve_points("measured", own))
    plots.save(axes, pd.concat(parts), figures_dir, "figure_3")


def laws(pythia: Curve, laws: Laws, figures_dir: str) -> None:
    """RBP_1 of the Pythias, and the curve of each law through them, extended beyond the largest."""
    S: Array = np.geomspace(pythia.S[0], 3e13, 200)
    points = pd.DataFrame({"S": S})
    line = r"$\mathrm{RBP}_1$ of ten Pythias on Wikipedia; grey bar: the largest"
    with plots.panel("Five laws, one set of points", line, 3.8) as axes:
        ends: list[tuple[float, float, str, str]] = []
        for law, (to_line, back) in laws.items():
            fitted = np.polyfit(np.log(pythia.S), to_line(pythia.value), 1)
            on_line = np.asarray(np.polyval(fitted, np.log(S)), dtype=float)
            points[law] = back(on_line)
            is_paper = len(ends) == 0
            axes.plot(S, points[law], color=INK if is_paper else OTHER, lw=2 if is_paper else 1)
            ends.append((S[-1], points[law].iloc[-1], law, INK if is_paper else OTHER))
        axes.plot(pythia.S, pythia.value, PYTHIA.marker, color=PYTHIA.colour, zorder=3)
        axes.axvline(pythia.S[-1], color=CONTEXT, linewidth=3, zorder=0)
        axes.set(xscale="log", ylim=(0.3, 1), xlabel=plots.SIZE)
        plots.label_ends(axes, ends)
    plots.save(axes, points, figures_dir, "figure_3_laws")


def residuals(
    published: Curves, off_others: Callable[[Curve], tuple[Array, Array]], figures_dir: str
) -> None:
    """How far the Pythias are above the line through all but the largest, on each text."""
    parts, ends = [], []
    line = "loss above the line of the nine smaller (%); hollow: not fitted"
    with plots.panel("Pythia-12B lies above the line of the others", line, 3.6) as axes:
        axes.axhline(0, color=INK, linewidth=1.2)
        for corpus in paper.PLOTTED_CORPORA:
            curve = published[corpus, "Pythia"]
            off, reach = off_others(curve)
            axes.plot(curve.S, off, PYTHIA.marker + "-", color=PYTHIA.colour, linewidth=0.8, ms=5)
            axes.plot(curve.S[-1], off[-1], PYTHIA.marker, color=PYTHIA.colour, mfc="white", ms=7)
            ends.append((curve.S[-1], off[-1], corpus, INK))
            parts.append(plots.curve_points("published", [curve]).assign(off=off, reach=reach))
        axes.set(xscale="log", xlim=(6e5, 6e11), xlabel=plots.SIZE)
        plots.label_ends(axes, ends)
    plots.save(axes, pd.concat(parts), figures_dir, "figure_3_residuals")


def with_lines(study: Study) -> Curves:
    """The measured curves that a line can be fitted to; says which have none."""
    curves, missing = measured_curves(study.summaries, study.corpora, study.families, 1)
    for line in missing:
        print(line)
    return curves


def measured(study: Study, figures_dir: str) -> None:
    """Every model of the study, a panel for each text, with a line through three models or more."""
    if not study.shown():
        print("None of these families was measured on these texts.")
        return
    points = plots.curve_points("measured", [curve_of([one], 1) for one in study.shown()])
    points["panel"] = points["corpus"].map(plots.short)
    look: dict[str, Any] = {"columns": 3, "size": (2.0, 3.4), "xlabel": "$S$", "ylabel": LOSS}
    figure = plots.law_figure(points, panel="panel", **look)
    line = "a panel for each text; lines go through three models or more"
    plots.headed_row(figure, f"The law of {study.ours}, $k$ = 1", line)
    plots.save(figure, points, figures_dir, "figure_3_measured")
