"""What notebook 20 (beyond cross-entropy) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from rbpkit import plots
from rbpkit.palette import CONTEXT, GREYS, INK, OTHER
from rbpkit.records import load_summaries
from rbpkit.summary import Summary
from rbpkit_pocket import contrasts, paths
from rbpkit_pocket.ablations import ABLATION_FAMILIES, Totals, load_totals
from rbpkit_pocket.companions.exercises import checker, sealed

check = checker({1: sealed("c144de0e", digits=1), 3: sealed("32209ccb", digits=1)})

Pair = tuple[str, str]  # the changed run, and the one that it is compared with


def read_runs() -> tuple[list[Summary], dict[tuple[str, str], Totals]]:
    """The 25 pocket models on each text, and all runs by model and text."""
    runs = {}
    for path in (paths.GRID, paths.ABLATIONS, paths.CONTRASTS):
        for run in load_totals(path):
            runs[run.manifest.model, run.manifest.corpus] = run
    return load_summaries(paths.SUMMARIES), runs


def pairs_of(contrast: str) -> list[Pair]:
    """The pairs with one seed, "smoothed" or "deep", smallest first."""
    if contrast == "smoothed":
        names = [run.name for run in ABLATION_FAMILIES["Pythia, smoothed"]]
        return [(name, name.removesuffix("-smoothing0.1")) for name in names]
    deep, wide = ABLATION_FAMILIES["Pythia, deep"], ABLATION_FAMILIES["Pythia, wide"]
    return [(one.name, other.name) for one, other in zip(deep, wide, strict=True)]


def first_pairs() -> list[tuple[str, str, str]]:
    """The contrast, the changed run and the unchanged one, of all pairs with one seed."""
    return [(contrast, *pair) for contrast in ("smoothed", "deep") for pair in pairs_of(contrast)]


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
        every: list[Any] = [*models, *pair]
        line = [(run.ce(), np.exp(log_loss_on_line(run, k))) for run in every]
        axes.plot(*zip(*sorted(line), strict=True), color=INK, lw=1.2)
        for run, name, above in zip(pair, ("deep", "wide"), (16, -16), strict=True):
            loss, on_line = -np.log(run.rbp(k)), np.exp(log_loss_on_line(run, k))
            axes.plot([run.ce()] * 2, [on_line, loss], color=INK, lw=6, alpha=0.35)
            axes.plot(run.ce(), loss, "s", color=INK, ms=7)
            label = f"{name}: {np.log(loss / on_line):+.1%}".replace("-", "\u2212")
            look: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "center"}
            axes.annotate(label, (run.ce(), loss), (0, above), **look)
        losses = [-np.log(run.rbp(k)) for run in pair]
        low, high = min(run.ce() for run in pair), max(run.ce() for run in pair)
        axes.set(xlim=(0.96 * low, 1.04 * high), ylim=(0.88 * min(losses), 1.12 * max(losses)))
        axes.set(xscale="log", yscale="log", xlabel="CE, nats a token")
        axes.set_ylabel(rf"$-\log\,\mathrm{{RBP}}_{{{k}}}$")
        plots.ticks(axes.xaxis, [4.2, 4.4, 4.6, 4.8])
        plots.log_ticks(axes)
    plots.show(axes)


def by_k(beyond: pd.DataFrame, means: pd.DataFrame, figures_dir: str) -> None:
    """The difference of excesses of both contrasts by k, in percent, and their means."""
    title = "Deep models: better at k = 1\nthan their CE says, worse at k = 100"
    line = "rank loss beyond CE, changed run minus unchanged one"
    with plots.panel(title, line, 4) as axes:
        axes.axhspan(-1, 1, color=CONTEXT, zorder=0)
        axes.text(50, 0, "within 1%", color=OTHER, size=10, va="center", ha="center")
        places = {
            "deep": (7, 5, "deep\nagainst wide"),
            "smoothed": (40, -3.5, "smoothed targets"),
        }
        for contrast, dashes in (("deep", "-"), ("smoothed", "--")):
            part = beyond[beyond["contrast"] == contrast]
            for _, run in part.groupby("run"):
                axes.plot(run["k"], run["difference"], dashes, color=GREYS[0], lw=0.8)
            axes.plot(means.index, means[contrast], dashes, color=INK, lw=2.5)
            x, y, words = places[contrast]
            axes.text(x, y, words, ha="center", va="center", weight="bold")
        axes.set(xscale="log", xlim=(0.9, 550), xlabel="$k$")
        axes.set_ylabel("worse than CE says, upwards (%)")
        plots.ticks(axes.xaxis, [1, 10, 100, 500])
    saved = beyond.assign(difference=beyond["difference"] / 100)
    order = saved["k"].map({k: i for i, k in enumerate(means.index)})
    plots.save(axes, saved.loc[order.sort_values(kind="stable").index], figures_dir, "20_beyond")


def verdicts(test: pd.DataFrame, verdict: pd.Series) -> None:
    """Print a row for each contrast: means with intervals, a star, and the verdict."""
    for curve in ("line", "parabola"):
        rows = {}
        for contrast in contrasts.PAIRS:
            row = {}
            for k in (1, 10, 100):
                cell = test.loc[(curve, contrast, k)]
                star = "*" if cell["outside"] else ""
                interval = f"[{cell['low']:+.1f}, {cell['high']:+.1f}]"
                row[f"k = {k}"] = f"{cell['mean']:+.1f} {interval}{star}"
            rows[contrast] = {**row, "verdict": verdict[(curve, contrast)]}
        print(f"with a {curve}")
        print(pd.DataFrame(rows).T.to_string())
