"""What notebook 04 (Section 4.2) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.ticker import MultipleLocator

from rbpkit import plots
from rbpkit.curves import measured_curves
from rbpkit.fit import Curve, PowerLawFit, curve_of
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit_notebooks.choices import Study
from rbpkit_notebooks.choices import read_study as read_study
from rbpkit_notebooks.exercises import check_of

check = check_of("04")

LINE = ["source", "corpus", "family", "k"]
COLUMNS = ["source", "corpus", "family", "model", "quantity", "S", "value", "loss", "k"]
LOSS = r"$-\log\,\mathrm{RBP}_k$, nats"


def one_line(line: Curve, law: PowerLawFit, figures_dir: str) -> None:
    """The five OPTs of one line of Figure 4."""
    ink = plots.ink_of(line.family)
    subtitle = "five OPTs on HumanEval, $k$ = 100"
    with plots.panel("One point is off the line", subtitle, 3.4) as axes:
        axes.plot(line.S, np.asarray(law.predict(line.S).loss), color=INK, linewidth=1.2)
        axes.plot(line.S, line.loss, ink.marker, color=ink.colour, markersize=7)
        axes.text(0.95, 0.9, f"$R^2$ = {law.r2:.3f}", transform=axes.transAxes, ha="right")
        axes.set(xscale="log", yscale="log", xlabel=plots.SIZE, ylabel=LOSS)
        plots.log_ticks(axes)
        place = (line.S[1], line.loss[1])
        axes.annotate("OPT-350m", place, (9, 6), textcoords="offset points")
    plots.save(axes, plots.curve_points("published", [line]), figures_dir, "figure_4")


def distances(
    points: pd.DataFrame, families: Sequence[str], figures_dir: str, name: str, k: int = 100
) -> None:
    """How far each model is from its line, on each text: a panel for each family."""
    shown = points[points["family"].isin(families) & (points["k"] == k)]
    width = plots.NARROW if len(families) == 1 else plots.WIDTH
    look: dict[str, Any] = {"ncols": len(families), "squeeze": False}
    with plots.panels(3.7, width, sharex=True, sharey=True, **look) as (figure, panels):
        for axes, family in zip(panels[0], families, strict=True):
            ink = plots.ink_of(family)
            axes.axhline(0, color=INK, linewidth=1.2)
            ends = []
            for corpus, line in shown[shown["family"] == family].groupby("corpus"):
                line = line.sort_values("S")
                percent = 100 * line["distance"]
                axes.plot(line["S"], percent, color=CONTEXT, linewidth=1.5, zorder=1)
                axes.plot(line["S"], percent, ink.marker, color=ink.colour, markersize=5)
                ends.append((line["S"].iloc[-1], percent.iloc[-1], str(corpus), OTHER))
            axes.set(xscale="log", xlabel=plots.SIZE)
            axes.yaxis.set_major_locator(MultipleLocator(5))
            if len(families) > 1:
                axes.set_title(plots.name_of(family))
            plots.label_ends(axes, ends)
        panels[0, 0].set_ylabel("above the line, % of the loss")
        one_family = len(families) == 1
        title = "The same model on each text" if one_family else "The larger Pythias move together"
        plots.headed_row(figure, title, f"distance from the line; a grey line is a text; $k$ = {k}")
    plots.save(figure, shown[[*LINE, "model", "S", "distance"]], figures_dir, name)


def left_out(lines: pd.DataFrame, without: pd.DataFrame, figures_dir: str) -> None:
    """The median scatter of each family's lines, with all models and without each in turn."""
    all_models = 100 * lines.groupby("family")["scatter"].median()
    one_out = 100 * without.groupby(["family", "left_out"])["scatter"].median()
    subtitle = "median of 12 lines; black: all models; else: one left out"
    with plots.panel("Without OPT-350m OPT's scatter is half", subtitle, 3.0) as axes:
        for height, family in enumerate(["Qwen", "Pythia", "GPT2", "OPT"]):
            ink = plots.ink_of(family)
            scatters = one_out[family]
            look: dict[str, Any] = {"color": ink.colour, "ms": 6, "alpha": 0.8}
            axes.plot(scatters, [height] * len(scatters), ink.marker, **look)
            axes.plot(all_models[family], height, "|", color=INK, ms=24, mew=2)
        for height, family, model, text in (
            (3, "OPT", "opt-350m", "without OPT-350m"),
            (2, "GPT2", "gpt2", "without GPT-2 small"),
        ):
            place = (one_out[family, model], height)
            look = {"textcoords": "offset points", "fontsize": 10}
            axes.annotate(text, place, (-9, 9), **look)
        axes.set(xlim=(0, 5.5), ylim=(-0.6, 3.6), xlabel="scatter, % of the loss")
        axes.set_yticks(range(4), ["Qwen", "Pythia", "GPT-2", "OPT"])
    saved = one_out.rename("percent").reset_index()
    plots.save(axes, saved, figures_dir, "figure_4_left_out")


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
        each = [curve_of([one], k) for one in study.shown()]
        drawn.append(plots.curve_points("measured", each).assign(k=k))
    if not drawn or drawn[0].empty:
        print("Nothing was measured at a k above 1.")
        return pd.DataFrame(columns=[*COLUMNS, "tokens"])
    points = pd.concat(drawn, ignore_index=True).sort_values("corpus", kind="stable")
    panel = points["corpus"].map(plots.short) + ", $k$ = " + points["k"].astype(str)
    look: dict[str, Any] = {"columns": 3, "size": (2.0, 1.9), "xlabel": "$S$", "ylabel": LOSS}
    figure = plots.law_figure(points.assign(panel=panel), panel="panel", **look)
    plots.save(figure, points[COLUMNS], figures_dir, "figure_4_measured")
    names = [(one.manifest.corpus, one.manifest.model, one.tokens) for one in study.summaries]
    tokens = pd.DataFrame(names, columns=["corpus", "model", "tokens"])
    return pd.concat(with_line, ignore_index=True).merge(tokens, on=["corpus", "model"])
