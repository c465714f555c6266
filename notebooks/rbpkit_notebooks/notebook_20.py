"""What notebook 20 (beyond cross-entropy) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns

from rbpkit import plots
from rbpkit.palette import CONTEXT, GREYS, INK, OTHER
from rbpkit.plots import NARROW, headed_row
from rbpkit.records import load_summaries
from rbpkit.summary import Summary
from rbpkit_notebooks.exercises import checker, sealed
from rbpkit_pocket import paths
from rbpkit_pocket.ablations import ABLATION_FAMILIES, Totals, load_totals

check = checker({1: sealed("c144de0e", digits=1), 3: sealed("32209ccb", digits=1)})


def read_runs() -> tuple[list[Summary], dict[tuple[str, str], Totals]]:
    """The 25 pocket models on each text, and all runs by model and text."""
    runs = {}
    for path in (paths.GRID, paths.ABLATIONS, paths.CONTRASTS):
        for run in load_totals(path):
            runs[run.manifest.model, run.manifest.corpus] = run
    return load_summaries(paths.SUMMARIES), runs


def pairs_of(contrast: str) -> list[tuple[str, str]]:
    """The changed run and the unchanged one of each pair with one seed, smallest first."""
    if contrast == "smoothed":
        names = [run.name for run in ABLATION_FAMILIES["Pythia, smoothed"]]
        return [(name, name.removesuffix("-smoothing0.1")) for name in names]
    deep, wide = ABLATION_FAMILIES["Pythia, deep"], ABLATION_FAMILIES["Pythia, wide"]
    return [(one.name, other.name) for one, other in zip(deep, wide, strict=True)]


def ruler(
    ordinary: Sequence[Summary],
    pair: Sequence[Totals],
    log_loss_on_line: Callable[[Any, int], float],
    k: int,
) -> None:
    """The line of the ordinary models on one text, and the excess of a deep and a wide run."""
    text = pair[0].manifest.corpus
    models = [model for model in ordinary if model.manifest.corpus == text]
    models.sort(key=lambda model: model.ce())
    title = "The excess: how far above the line"
    with plots.panel(title, f"{plots.short(text)}, k = {k}; dots: ordinary models", 3.6) as axes:
        for model in models:
            axes.plot(model.ce(), -np.log(model.rbp(k)), "o", color=OTHER, ms=5)
        ends: list[Any] = [models[0], pair[0]]
        line = [np.exp(log_loss_on_line(run, k)) for run in ends]
        axes.plot([run.ce() for run in ends], line, color=INK, lw=1.2)
        for run, name, above in zip(pair, ("deep", "wide"), (16, -16), strict=True):
            loss, on_line = -np.log(run.rbp(k)), np.exp(log_loss_on_line(run, k))
            axes.vlines(run.ce(), on_line, loss, color=INK, lw=6, alpha=0.35)
            axes.plot(run.ce(), loss, "s", color=INK, ms=7)
            label = f"{name}: {np.log(loss / on_line):+.1%}".replace("-", "\u2212")
            look: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "center"}
            axes.annotate(label, (run.ce(), loss), (0, above), **look)
        deep, wide = pair
        axes.set(xscale="log", yscale="log", xlabel="CE, nats a token")
        axes.set(xlim=(0.96 * wide.ce(), 1.04 * deep.ce()))
        axes.set(ylim=(-0.88 * np.log(wide.rbp(k)), -1.12 * np.log(deep.rbp(k))))
        axes.set_ylabel(rf"$-\log\,\mathrm{{RBP}}_{{{k}}}$")
        plots.ticks(axes.xaxis, [4.2, 4.4, 4.6, 4.8])
        plots.log_ticks(axes)
    plots.show(axes)


def by_k(beyond: pd.DataFrame, figures_dir: str) -> None:
    """The difference of excesses of both contrasts by k, in percent, and their means."""
    title = "Deep models: better at k = 1\nthan their CE says, worse at k = 100"
    with plots.panel(title, "rank loss, changed run minus unchanged one", 4) as axes:
        axes.axhspan(-1, 1, color=CONTEXT, zorder=0)
        axes.text(50, 0, "within 1%", color=OTHER, size=10, va="center", ha="center")
        columns: dict[str, Any] = {"x": "k", "y": "difference", "style": "contrast"}
        look: dict[str, Any] = {"style_order": ["deep", "smoothed"], "legend": False, "ax": axes}
        each: dict[str, Any] = {"units": "run", "estimator": None, "color": GREYS[0], "lw": 0.8}
        sns.lineplot(beyond, **columns, **each, **look)
        sns.lineplot(beyond, **columns, errorbar=None, color=INK, lw=2.5, **look)
        axes.text(7, 5, "deep\nagainst wide", ha="center", va="center", weight="bold")
        axes.text(40, -3.5, "smoothed targets", ha="center", va="center", weight="bold")
        axes.set(xscale="log", xlim=(0.9, 550), xlabel="$k$", ylabel="beyond CE (%), up = worse")
        plots.ticks(axes.xaxis, [1, 10, 100, 500])
    plots.save(axes, beyond, figures_dir, "20_beyond")


def intervals(tests: pd.DataFrame, title: str, figures_dir: str, name: str) -> None:
    """Mean and 95% interval of two tests, in percent, a panel for each contrast that both have.

    tests: columns test, contrast, k, mean, low, high.
    """
    first, second = tests["test"].unique()
    shown = tests.loc[tests["test"] == second, "contrast"].unique()
    with plots.panels(3.4, NARROW + 0.4, ncols=len(shown), sharey=True) as (figure, grid):
        for axes, contrast in zip(grid, shown, strict=True):
            axes.axhspan(-1, 1, color=CONTEXT, zorder=0)
            for test, shift, colour, mark in ((first, -0.15, INK, "o"), (second, 0.15, OTHER, "s")):
                part = tests[(tests["test"] == test) & (tests["contrast"] == contrast)]
                half = part["high"] - part["mean"]
                places = np.arange(len(part)) + shift
                axes.errorbar(places, part["mean"], half, fmt=mark, color=colour, ms=5, lw=1.5)
            axes.set(xlim=(-0.5, len(part) - 0.5), xlabel="$k$", title=contrast)
            axes.set_xticks(range(len(part)), part["k"])
        grid[0].set_ylabel("beyond CE (%), up = worse")
        line = f"95% intervals; dots: {first}, squares: {second}; band: within 1%"
        headed_row(figure, title, line)
    plots.save(figure, tests, figures_dir, name)
