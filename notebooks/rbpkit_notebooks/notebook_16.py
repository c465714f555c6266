"""What notebook 16 (published models) draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rbpkit import plots
from rbpkit.fit import Prediction, fit_power_law
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.plots import NARROW, SIZE, headed
from rbpkit_notebooks.exercises import check_of

check = check_of("16")

LOSS = r"$-\log$ accuracy on LAMBADA"


def _draw_series(
    axes: Axes, series: pd.DataFrame, colour: str, marker: str = "o"
) -> tuple[float, float, Prediction]:
    """A series, the line through all but its largest model, dotted."""
    series = series.sort_values("S")
    S = series.S.to_numpy(float)
    line = fit_power_law(S[:-1], series.loss[:-1])
    axes.plot(S, line.predict(S).loss, ":", color=colour, lw=1.2)
    axes.plot(S[:-1], series.loss[:-1], marker, color=colour, ms=6, mec="white", mew=0.6)
    axes.plot(S[-1], series.loss.iloc[-1], marker, color=colour, mfc="white", ms=7)
    return S[-1], series.loss.iloc[-1], line.predict(S[-1])


def gpt3(series: pd.DataFrame) -> None:
    """GPT-3 and the line through all but its largest model."""
    line = "eight models; the line goes through the seven filled ones"
    with plots.panel("The largest GPT-3 is far above the line", line, 3.8) as axes:
        S, loss, promised = _draw_series(axes, series, INK)
        on_line, low, high = (float(x) for x in (promised.loss, promised.low, promised.high))
        axes.plot([S, S], [low, high], color=CONTEXT, lw=9, zorder=0)
        arrow = {"arrowstyle": "->", "color": INK}
        axes.annotate("", (S * 1.3, loss), (S * 1.3, on_line), arrowprops=arrow)
        words = f"+{100 * (loss / on_line - 1):.0f}%"
        axes.text(S * 1.45, np.sqrt(loss * on_line), words, va="center", weight="bold")
        axes.text(S * 0.8, low * 1.02, "95% interval", ha="right", color=OTHER)
        axes.set(xscale="log", yscale="log", xlim=(5e7, 9e11), ylim=(0.12, 0.95))
        plots.log_ticks(axes)
        axes.set(xlabel=SIZE, ylabel=LOSS)
    plots.show(axes)


def bend(
    models: pd.DataFrame,
    fit_constant: Callable[[Any, Any], Any],
    curve: Callable[..., Any],
    figures_dir: str,
) -> None:
    """Three series on LAMBADA with a line and with E + A S^-a, through all but the largest model.

    fit_constant, curve: the notebook's law with a constant, of S in billions
    """
    looks = {"GPT-3": ("v", INK), "BLOOM": ("p", OTHER), "Cerebras-GPT": ("X", OTHER)}
    points = []
    line = "solid: E + A S$^{-a}$; dotted: a line; hollow: not fitted"
    with plots.panel("Laws that bend come near the largest", line, 4.0) as axes:
        axes.set(xscale="log", yscale="log", ylim=(0.16, 2.1), xlim=(5e7, 2e12))
        ends = []
        for name, (marker, colour) in looks.items():
            series = models[models.series == name].sort_values("S")
            S, loss, _ = _draw_series(axes, series, colour, marker)
            law = fit_constant(series.S[:-1], series.loss[:-1])
            sizes = np.geomspace(series.S.min(), S, 60)
            axes.plot(sizes, np.exp(curve(np.log(sizes / 1e9), *law)), color=colour, lw=1.5)
            if name == "Cerebras-GPT":  # at its left end, since other marks are near the right one
                S, loss = 8e7, 1.75
            ends.append((S, loss, name, colour))
            points.append(series.assign(constant=np.exp(curve(np.log(series.S / 1e9), *law))))
        plots.log_ticks(axes)
        axes.set(xlabel=SIZE, ylabel=LOSS)
        plots.label_ends(axes, ends)
    names = ["series", "model", "S", "tokens", "share", "source", "constant"]
    plots.save(axes, pd.concat(points)[names], figures_dir, "16_bend")


def idea() -> None:
    """The part of a loss that is left by too little reading: it stays, or falls with size."""
    log_size = np.linspace(0, 3, 50)
    too_small = 10 ** (-0.35 * log_size)
    left = {"all sizes read the same": 0.25 + 0 * log_size, "larger ones read more": too_small / 4}
    with plots.panels(2.8, NARROW + 0.6, ncols=2, sharey=True) as (figure, grid):
        for axes, (title, too_little) in zip(grid, left.items(), strict=True):
            loss = too_little + too_small
            axes.plot(log_size, np.transpose([too_small, too_little]), ":", color=OTHER, lw=1.5)
            axes.plot(log_size, loss, color=INK, lw=2)
            axes.text(1.5, 1.25 * loss[25], "loss: the sum", va="bottom")
            axes.text(0.08, 0.8 * too_little[18], "read too little", color=OTHER, va="top")
            axes.text(2.95, 0.8 * too_small[-1], "too small", color=OTHER, ha="right", va="top")
            axes.set(yscale="log", ylim=(0.012, 2.2), xlabel=r"$\log$ size", xticks=[], yticks=[])
            axes.yaxis.minorticks_off()
            headed(axes, title, "a sketch")
        grid[0].set_ylabel(r"$\log$ loss")
    plots.show(figure)


def blind(blind: pd.DataFrame, truth: pd.DataFrame, by_line: pd.Series, figures_dir: str) -> None:
    """The predictions, their intervals and the truth; by_line: log loss by a line in size."""
    points = blind.assign(share=truth.acc, line=np.exp(-np.exp(by_line)))
    line = "dot: truth (1B: unknown); bar: prediction; pale: 95%"
    with plots.panel("All seven are inside", line, 4.0) as axes:
        axes.vlines(points.index, points.low, points.high, color=CONTEXT, lw=9)
        axes.plot(points.index, points.predicted, "_", color=OTHER, ms=12, mew=2)
        axes.plot(points.index, points.share, "o", color=INK, ms=6)
        for S, model, high in zip(points.index, points.model, points.high, strict=True):
            label = model.removeprefix("pythia-").upper()
            side = "right" if label in ("1B", "6.9B") else "center"  # close to the next one
            axes.text(S, high + 0.015, label, ha=side, va="bottom")
        axes.set(xscale="log", xlim=(1e7, 3e10), ylim=(0, 0.85), xlabel=SIZE)
        axes.set_ylabel("accuracy on LAMBADA")
    columns = ["model", "S", "predicted", "low", "high", "share", "line"]
    plots.save(axes, points.reset_index()[columns], figures_dir, "16_blind")
