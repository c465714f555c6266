"""What notebook 04 (Section 4.2) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from rbpkit import paper, plots
from rbpkit.fit import Curve, fit_power_law, rbp_curve
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.stats.curves import measured_curves
from rbpkit_notebooks.choices import Study
from rbpkit_notebooks.choices import read_study as read_study
from rbpkit_notebooks.claims_04 import claims as claims
from rbpkit_notebooks.exercises import Mistake, checker, sealed

MISTAKES: dict[int, list[Mistake]] = {
    1: [
        (lambda a: 1 / a, "The loss is divided by this. By which number is it multiplied?"),
        (lambda a: a / 100, "Give the factor, not percent."),
        (lambda a: 1 - a, "This share of the loss is lost. Which factor is left?"),
        (lambda a: 10**a, "This is the slope. Raise 10 to it."),
    ],
    2: [
        (lambda a: np.log10(a), "This is the number of parameters. Give its power of ten."),
        (lambda a: a / np.log(10), "This is the natural logarithm. Give the power of ten."),
    ],
    3: [
        (lambda a: 100 * a, "Give percent."),
        (lambda a: 10**a, "Use natural logarithms."),
    ],
}
ANSWERS = {
    1: sealed("04bd088b", digits=2),
    2: sealed("a35e6e7a", digits=1),
    3: sealed("a97b042d", digits=1, within=0),
}
check = checker(ANSWERS, MISTAKES)

LINE = ["source", "corpus", "family", "k"]
COLUMNS = ["source", "corpus", "family", "model", "quantity", "S", "value", "loss", "k"]
LOSS = r"$-\log\,\mathrm{RBP}_k$, nats"


@contextmanager
def _side_by_side(
    A: pd.DataFrame, B: pd.DataFrame, y: str, titles: Sequence[str]
) -> Iterator[tuple[Any, Any]]:
    """A figure with the points of two lines against S, and its two panels."""
    with plots.panels(3.2, plots.WIDTH, ncols=2, sharex=True, sharey=True) as (figure, panels):
        for axes, points, title in zip(panels, (A, B), titles, strict=True):
            ink = plots.ink_of(points["family"].iloc[0])
            axes.plot(points["S"], points[y], ink.marker, color=ink.colour, ms=6, zorder=3)
            axes.set(xscale="log", xlabel=plots.SIZE, title=title)
        panels[0].set_xticks([1e6, 1e8, 1e10], minor=False)
        panels[0].minorticks_off()
        yield figure, panels


def two_lines(line_A: Curve, line_B: Curve, figures_dir: str) -> None:
    """Two of the 48 lines of Figure 4, side by side."""
    titles = ("A: GPT-2, HumanEval, $k$ = 100", "B: Pythia, AusLegal, $k$ = 10")
    A, B = (plots.curve_points("published", [line]) for line in (line_A, line_B))
    with _side_by_side(A, B, "loss", titles) as (figure, panels):
        for axes, line in zip(panels, (line_A, line_B), strict=True):
            law = fit_power_law(line.S, line.loss)
            axes.plot(line.S, law.predict(line.S).loss, color=INK, linewidth=1.2)
            axes.text(0.95, 0.9, f"$R^2$ = {law.r2:.3f}", transform=axes.transAxes, ha="right")
        panels[0].set(yscale="log", ylabel=LOSS)
        plots.log_ticks(panels[0])
    plots.save(figure, pd.concat([A, B]), figures_dir, "figure_4_two_lines")


def figure_4(wiki: Mapping[int, Curve], figures_dir: str) -> None:
    """Pythia's lines on Wiki at several k."""
    ink = plots.ink_of("Pythia")
    with plots.panel("Steeper with more guesses", "ten Pythias on Wikipedia", 3.8) as axes:
        ends = []
        for k, line in wiki.items():
            law = fit_power_law(line.S, line.loss)
            fitted = np.asarray(law.predict(line.S).loss)
            axes.plot(line.S, fitted, color=INK, linewidth=1.2)
            axes.plot(line.S, line.loss, ink.marker, color=ink.colour, markersize=6)
            ends.append((line.S[-1], fitted[-1], rf"$k$ = {k}: $\alpha$ = {law.alpha:.3f}", INK))
        axes.set(xscale="log", yscale="log", xlabel=plots.SIZE, ylabel=LOSS)
        plots.log_ticks(axes)
        plots.label_ends(axes, ends)
    plots.save(axes, plots.curve_points("published", wiki.values()), figures_dir, "figure_4")


def ruler(figures_dir: str) -> None:
    """The idea: one distance from a line, measured in sampling errors of two sizes."""
    distance = 1.9
    rulers = pd.DataFrame({"bottom": [1.9, 0.0], "unit": [0.19, 0.95]})
    rulers["text"] = [
        "many tokens, short units: the point is ten sampling errors off",
        "few tokens, long units: the point is two sampling errors off",
    ]
    title = "The same distance, two rulers"
    with plots.panel(title, "a sketch; a box is one sampling error", 2.7, plots.WIDTH) as axes:
        axes.set(xlim=(-0.4, 4.1), ylim=(-0.2, 3.5))
        axes.set_axis_off()
        for row in rulers.itertuples():
            for step in range(round(3.8 / row.unit)):
                face = CONTEXT if step % 2 == 0 else "white"
                look: dict[str, Any] = {"facecolor": face, "edgecolor": OTHER}
                axes.add_patch(Rectangle((step * row.unit, row.bottom), row.unit, 0.35, **look))
            height = row.bottom + 0.65
            axes.vlines(0, row.bottom - 0.15, height + 0.2, color=INK)
            axes.text(-0.07, height, "line", ha="right", va="center")
            axes.hlines(height, 0, distance, color=INK, linestyle=":")
            axes.plot(distance, height, "o", color=INK, markersize=8)
            axes.text(0, height + 0.35, row.text)
    plots.save(axes, rulers.assign(distance=distance), figures_dir, "figure_4_ruler")


def in_errors(points_A: pd.DataFrame, points_B: pd.DataFrame, figures_dir: str) -> None:
    """The points of A and B above their lines, in sampling errors."""
    titles = ("A: $R^2$ = 0.947, near its line", "B: $R^2$ = 0.994, far from it")
    with _side_by_side(points_A, points_B, "in_errors", titles) as (figure, panels):
        for axes in panels:
            axes.axhspan(-1, 1, color=CONTEXT)
            axes.axhline(0, color=INK, linewidth=1.2)
        panels[0].set_ylabel("sampling errors above the line")
        panels[0].text(1e6, 3, "grey: one sampling error", color=OTHER)
    columns = [*LINE, "model", "S", "distance", "chance", "in_errors"]
    plots.save(figure, pd.concat([points_A, points_B])[columns], figures_dir, "figure_4_in_errors")


def scatter(lines: pd.DataFrame, A: int, B: int, figures_dir: str) -> None:
    """R2 against the typical distance in sampling errors, a mark for each line."""
    line = "all 48 lines; hollow: HumanEval, which has the fewest tokens"
    with plots.panel("A high $R^2$ does not make a line exact", line, 4.2) as axes:
        axes.axhline(1, color=OTHER, linewidth=1)
        for row in lines.itertuples():
            ink = plots.ink_of(row.family)
            is_named = row.Index in (A, B)
            colour = ink.colour if is_named else OTHER
            fill = "white" if row.corpus == "HumanEval" else colour
            look: dict[str, Any] = {"color": colour, "markerfacecolor": fill}
            axes.plot(row.R2, row.ratio, ink.marker, **look, ms=8 if is_named else 5)
        axes.set(yscale="log", xlim=(0.943, 1.0), xlabel="$R^2$ of the line")
        axes.set_ylabel("typical distance, sampling errors")
        plots.ticks(axes.yaxis, [0.3, 1, 3, 10])
        axes.text(0.944, 0.95, "an exact law, moved by chance alone", color=OTHER, va="top")
        for letter, row in (("A: GPT-2, HumanEval", A), ("B: Pythia, AusLegal", B)):
            mark = (lines["R2"][row], lines["ratio"][row])
            place = (-5, 12) if row == A else (-9, 0)
            side = "left" if row == A else "right"
            axes.annotate(letter, mark, place, textcoords="offset points", va="center", ha=side)
    saved = lines[[*LINE, "n", "R2", "scatter", "chance", "ratio"]]
    plots.save(axes, saved, figures_dir, "figure_4_scatter")


def all_exponents(lines: pd.DataFrame, points: pd.DataFrame, figures_dir: str) -> None:
    """The exponents of all 48 lines against k, by text; saves the points of Figure 4."""
    with plots.panels(3, plots.WIDTH, ncols=4, sharey=True) as (figure, panels):
        for axes, corpus in zip(panels, paper.PLOTTED_CORPORA, strict=True):
            for family, line in lines[lines["corpus"] == corpus].groupby("family", sort=False):
                ink = plots.ink_of(str(family))
                axes.plot(line["k"], line["alpha"], marker=ink.marker, color=ink.colour)
            axes.set(xscale="log", xlabel="$k$", title=corpus)
            plots.ticks(axes.xaxis, [10, 50, 100])
        panels[0].set_ylabel(r"$\alpha_k$")
        handles = plots.family_marks(paper.FAMILIES)
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
    plots.save(figure, points[COLUMNS], figures_dir, "figure_4_all")


def measured_points(study: Study, ks: Sequence[int], figures_dir: str) -> pd.DataFrame:
    """The points of what was measured and has a line, with the number of tokens of each.

    Draws all points, and says which have no line.
    """
    drawn, with_line = [], []
    for k in ks:
        if k == 1:  # notebook 03's
            continue
        curves, missing = measured_curves(study.summaries, study.corpora, study.families, k)
        for line in missing:
            print(line)
        with_line.append(plots.curve_points("measured", curves.values()).assign(k=k))
        each = [rbp_curve([one], k) for one in study.shown()]
        drawn.append(plots.curve_points("measured", each).assign(k=k))
    if not drawn or drawn[0].empty:
        print("Nothing was measured at a k above 1.")
        return pd.DataFrame(columns=[*COLUMNS, "tokens"])
    points = pd.concat(drawn, ignore_index=True).sort_values("corpus", kind="stable")
    panel = points["corpus"].map(plots.short) + ", $k$ = " + points["k"].astype(str)
    look: dict[str, Any] = {"columns": 3, "size": (2.0, 1.9), "xlabel": "$S$", "ylabel": LOSS}
    figure = plots.law_grid(points.assign(panel=panel), panel="panel", **look)
    plots.save(figure, points[COLUMNS], figures_dir, "figure_4_measured")
    names = [(one.manifest.corpus, one.manifest.model, one.tokens) for one in study.summaries]
    tokens = pd.DataFrame(names, columns=["corpus", "model", "tokens"])
    return pd.concat(with_line, ignore_index=True).merge(tokens, on=["corpus", "model"])
