"""What notebook 18 (how sure is a line) draws, and how its exercises are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from rbpkit import paper, plots
from rbpkit.fit import PowerLawFit, fit_power_law
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.plots import NARROW, SIZE, headed
from rbpkit_notebooks.exercises import check_of

check = check_of("18")
COLOUR = plots.ink_of("Pythia").colour


def _pythias(axes: Axes, nine: pd.DataFrame, S: float, line: PowerLawFit, no_change: float) -> None:
    """Nine Pythias, their line, and two predictions of the tenth (hollow)."""
    axes.plot(nine.S, line.predict(nine.S).loss, color=COLOUR, lw=1.2)
    axes.plot(nine.S, nine.loss, "^", color=COLOUR, ms=7)
    reach = np.array([nine.S.iloc[-1], S])
    axes.plot(reach, line.predict(reach).loss, ":", color=OTHER, lw=1.5)
    axes.plot(reach, [no_change, no_change], ":", color=OTHER, lw=1.5)
    axes.set(xscale="log", yscale="log", xlabel=SIZE, ylabel=r"$-\log\,\mathrm{RBP}_k$, mean")
    predictions = [float(line.predict(S).loss), no_change]
    axes.axvline(S, color=CONTEXT, lw=1.2, ls="--", zorder=0)
    axes.plot([S, S], predictions, "o", color=OTHER, mfc="white", ms=7)
    for loss, name in zip(predictions, ["A: the line", "B: as 6.9B"], strict=True):
        axes.annotate(name, (S, loss), (9, 0), textcoords="offset points", va="center")


def guess(nine: pd.DataFrame, tenth: pd.Series, line: PowerLawFit, no_change: float) -> None:
    """Nine Pythias and two predictions of the tenth, which is not shown."""
    line_below = "mean loss of four texts and four k, in nats"
    with plots.panel("Nine Pythias, and two guesses\nfor the tenth", line_below, 4.0) as axes:
        _pythias(axes, nine, tenth.S, line, no_change)
        low = float(line.predict(tenth.S).loss)
        axes.set(xlim=(8e5, 1e11), ylim=(0.85 * low, 1.15 * nine.loss.iloc[0]))
        plots.log_ticks(axes)
        axes.text(tenth.S * 0.85, nine.loss.iloc[0], "12B: ?", ha="right", va="center")
    plots.show(axes)


def answer(pythia: pd.DataFrame, line: PowerLawFit, no_change: float, figures_dir: str) -> None:
    """The right end of the same figure with the tenth Pythia and the line's 95% interval."""
    nine, tenth = pythia[:9], pythia.iloc[9]
    low, high = (float(end) for end in (line.predict(tenth.S).low, line.predict(tenth.S).high))
    line_below = "the right end, enlarged; pale: the line's 95% interval"
    with plots.panel("The tenth is nearer to \u201cno change\u201d", line_below, 4.0) as axes:
        _pythias(axes, nine, tenth.S, line, no_change)
        axes.plot([tenth.S, tenth.S], [low, high], color=CONTEXT, lw=8, zorder=0)
        axes.plot(tenth.S, tenth.loss, "^", color=INK, ms=9)
        axes.text(tenth.S * 1.15, tenth.loss, "12B", va="center", weight="bold")
        axes.set(xlim=(1.9e9, 4e10), ylim=(0.95 * low, 1.05 * nine.loss.iloc[7]))
        plots.log_ticks(axes)
        axes.set_xticks([2e9, 5e9, 1e10, 2e10], ["2B", "5B", "10B", "20B"])
        axes.xaxis.minorticks_off()
    points = pythia.assign(predicted=line.predict(pythia.S).loss)
    plots.save(axes, points, figures_dir, "18_tenth")


def largest(largest: pd.DataFrame, figures_dir: str) -> None:
    """Both errors for the largest model of every series, in percent."""
    shown = largest.assign(line=100 * largest.error.abs(), same=100 * largest.no_change.abs())
    shown = shown.sort_values("line").reset_index(drop=True)
    nearer = int((shown.same < shown.line).sum())
    title = f"No change is nearer in {nearer} of {len(shown)} series"
    line = "the largest model, predicted from all others"
    with plots.panel(title, line, 0.36 * len(shown) + 1.7) as axes:
        for row in shown.itertuples():
            axes.plot([row.line, row.same], [row.Index, row.Index], color=CONTEXT, lw=3, zorder=0)
            axes.plot(row.line, row.Index, "X", color=INK, ms=9)
            axes.plot(row.same, row.Index, "v", color=OTHER, ms=8)
        axes.set_yticks(shown.index, shown.family.map(plots.name_of) + ", " + shown.source)
        axes.text(shown.line[0], -0.75, "\u2191 line", ha="center", va="center")
        axes.text(shown.same[0], -0.75, "\u2191 no change", ha="center", va="center", color=OTHER)
        axes.set(xlim=(0, None), ylim=(-1.2, len(shown) - 0.5), xlabel="size of the error (%)")
    columns = ["source", "family", "n", "model", "decades", "error", "low", "high", "no_change"]
    plots.save(axes, largest[columns], figures_dir, "18_largest")


def idea() -> None:
    """Nine points and four, with the same scatter; the points are invented."""
    off = np.array([0.3, -0.4, 0.1, 0.35, -0.3, -0.1, 0.4, -0.35, 0.1]) * 0.09
    with plots.panels(2.9, NARROW + 0.4, ncols=2, sharey=True) as (figure, grid):
        panels = {"9 models: narrow": np.arange(9), "4 models: wide": np.arange(2, 10, 2)}
        for axes, (title, chosen) in zip(grid, panels.items(), strict=True):
            x = chosen.astype(float)
            sketch = fit_power_law(np.exp(x), np.exp(-0.1 * x + off[chosen]))
            reach = np.linspace(x.max(), 11, 30)
            beam = sketch.predict(np.exp(reach))
            axes.fill_between(reach, np.log(beam.low), np.log(beam.high), color=CONTEXT)
            ends = np.array([0.0, 11.0])
            axes.plot(ends, np.log(sketch.predict(np.exp(ends)).loss), color=OTHER, lw=1)
            axes.plot(x, -0.1 * x + off[chosen], "o", color=INK, ms=6)
            axes.set(xticks=[], yticks=[], ylim=(-1.75, 0.25), xlabel=r"$\log S$")
            headed(axes, title, "a sketch")
        grid[0].set_ylabel(r"$\log$ loss")
    plots.show(figure)


def widths(
    widths: pd.DataFrame, small_k: pd.DataFrame, sizes_of_family: pd.Series, figures_dir: str
) -> None:
    """Half the 95% interval over the exponent, for each line of Table 1 with small k."""
    end = 1.2  # of the axis
    line = "lines of Table 1; a mark is a text, a bar the median of six"
    title = "If the lines were straight:\nten models fix an exponent, four do not"
    with plots.panel(title, line, 4.0, NARROW + 0.4) as axes:
        for place, family in enumerate(paper.FAMILIES):
            ink = plots.ink_of(family)
            for k, shift in {"1": -0.28, "10": 0.0, "100": 0.28}.items():
                part = small_k[(small_k.family == family) & (small_k.k == k)]
                x, median = place + shift, part.width.median()
                axes.plot([x - 0.08, x + 0.08], [median, median], color=ink.colour, lw=2)
                seen = part.width[part.width < end]
                axes.plot([x] * len(seen), seen, ink.marker, color=ink.colour, ms=4, mec="white")
                for beyond in part.width[part.width >= end]:
                    arrow = {"arrowstyle": "->", "color": ink.colour}
                    axes.annotate("", (x, 1.2), (x, 1.08), arrowprops=arrow)
                    axes.text(x + 0.05, 1.14, f"{beyond:.0%}", va="center", color=ink.colour)
                axes.text(x, -0.02, k, ha="center", va="top")
        axes.axhline(1, color=OTHER, lw=0.8)
        axes.text(3.45, 1.02, "above: the interval contains 0", ha="right", color=OTHER)
        names = [f"{plots.name_of(f)}\n{sizes_of_family[f]} models" for f in paper.FAMILIES]
        axes.set_xticks(range(4), names)
        axes.tick_params(axis="x", pad=16, length=0)
        axes.text(-0.5, -0.02, "$k$", ha="center", va="top")
        axes.set(xlim=(-0.5, 3.5), ylim=(0, end))
        axes.set_ylabel(r"half the 95% interval, $\Delta\alpha/\alpha$")
        axes.yaxis.set_major_formatter(PercentFormatter(1))
    plots.save(axes, widths.drop(columns="slope"), figures_dir, "18_widths")


def horizon(forecasts: pd.DataFrame, figures_dir: str) -> None:
    """Every prediction of a larger published model, by its distance."""
    published = forecasts[forecasts.source == "published"]
    line = "published models; pale: 95% intervals of Pythia"
    with plots.panel("The line is too low\nfor every larger Pythia", line, 4.4) as axes:
        axes.axhline(0, color=INK, lw=1, zorder=1)
        for family, part in published.groupby("family", sort=False):
            ink = plots.ink_of(str(family))
            if family == "Pythia":  # the others' intervals, from 3 or 4 models, leave the panel
                low, high = 100 * part.low.clip(lower=-0.32), 100 * part.high.clip(upper=0.2)
                axes.vlines(part.decades, low, high, color=CONTEXT, lw=5, zorder=0)
            zorder = 2 if family == "Pythia" else 3  # so that Pythia hides none
            axes.plot(part.decades, 100 * part.error, ink.marker, color=ink.colour, zorder=zorder)
        _label_far(axes, published)
        axes.text(0.02, 15, "prediction too high", color=OTHER)
        axes.text(0.02, -28, "prediction too low", color=OTHER)
        axes.set(xlim=(0, 1.85), ylim=(-30, 18), xlabel="decades of $S$ beyond the fitted models")
        axes.set_ylabel("predicted / measured, less 1 (%)")
    plots.save(axes, forecasts, figures_dir, "18_horizon")


def _label_far(axes: Axes, published: pd.DataFrame) -> None:
    """The farthest prediction of each family, of 6.9B, and the nearest of 12B."""
    by_distance = published.sort_values("decades")
    largest = by_distance.groupby("family").S.transform("max")
    of_12B = by_distance[(by_distance.family == "Pythia") & (by_distance.S == largest)]
    of_6_9B = by_distance[(by_distance.family == "Pythia") & (by_distance.S < largest)]
    labels = [("Pythia-12B", of_12B.iloc[-1], (0, -13), "center")]
    labels.append(("12B", of_12B.iloc[0], (-7, -3), "right"))
    labels.append(("6.9B", of_6_9B.iloc[-1], (7, 0), "left"))
    for family, shift, side in (
        ("GPT2", (-7, 0), "right"),
        ("OPT", (7, 0), "left"),
        ("Qwen", (7, 4), "left"),
    ):
        farthest = by_distance[by_distance.family == family].iloc[-1]
        labels.append((plots.name_of(family), farthest, shift, side))
    for words, row, shift, side in labels:
        look: dict[str, Any] = {"textcoords": "offset points", "va": "center", "ha": side}
        colour = plots.for_text(plots.ink_of(row.family).colour)
        axes.annotate(words, (row.decades, 100 * row.error), shift, color=colour, **look)
