"""Figures of Appendix A, the set-up, where the paper has none: the ladders of S (A1), and the R2
of a line by the number of sizes fitted (A2).
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from rbpkit.errors import InputError
from rbpkit.plots import family_marks, ink_of, short, style

AT_LEAST = 500_000
"""Tokens a point, at least, by Appendix A."""


def ladders(points: pd.DataFrame) -> Figure:
    """Figure A1: S of every model on one logarithmic axis, a row a family.

    points: source ("paper", filled markers, or "pocket", open ones), family, model, S.
    """
    families = list(dict.fromkeys(points["family"]))
    with style():
        figure, axes = plt.subplots(figsize=(8.6, 0.55 * len(families) + 1.5))
        for (source, family), group in points.groupby(["source", "family"], sort=False):
            ink = ink_of(family)
            # Apart by a little: the largest pocket models reach the paper's smallest.
            aside, line, filled = (
                (-0.12, "-", ink.colour) if source == "paper" else (0.12, ":", "white")
            )
            row = np.full(len(group), families.index(family) + aside)
            look = {"color": ink.colour, "markerfacecolor": filled, "markeredgewidth": 1.3}
            axes.plot(group["S"], row, line, marker=ink.marker, linewidth=1, markersize=7, **look)
        axes.set_xscale("log")
        axes.set_yticks(range(len(families)), families)
        axes.set_ylim(len(families) - 0.5, -0.5)
        axes.xaxis.set_major_locator(LogLocator(base=10, numticks=12))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("$S$ (non-embedding parameters)")
        axes.grid(axis="y", visible=False)
        grey = {"color": "#444444", "marker": "o", "markersize": 7, "markeredgewidth": 1.3}
        handles = [
            Line2D([], [], linestyle="-", label="the paper's models", **grey),
            Line2D([], [], linestyle=":", label="pocket", markerfacecolor="white", **grey),
        ]
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
        axes.legend(handles=handles, ncols=2, frameon=False, **place)
        figure.tight_layout()
    return figure


def r2_panels(by_sizes: pd.DataFrame, level: float = 0.99) -> Figure:
    """Figure A2: R2 of lines through n sizes of a family, every choice of n one dot.

    by_sizes: corpus, family, n (sizes fitted), choice ("smallest" or "largest" where the n are the
    smallest or largest, "all" for all of them, else ""), R2, source; a row of panels a source, a
    panel a corpus. The axis is logarithmic in 1 - R2, best on top. Above each n stands the share of
    dots with R2 > level; lines join the n smallest and the n largest sizes of a family. Raises
    InputError where there is nothing to draw.
    """
    if not len(by_sizes):
        raise InputError("nothing to draw: no family with five sizes was given")
    groups = by_sizes.groupby("source", sort=False)
    sources = {source: list(of.groupby("corpus", sort=False)) for source, of in groups}
    columns = max(map(len, sources.values()))
    misfit = 1 - by_sizes["R2"]
    low, high = misfit.min() / 2.4, misfit.max() * 1.3
    size = (max(3.3 * columns, 6.6), 3.2 * len(sources) + 0.4)
    with style():
        figure, grid = plt.subplots(
            len(sources), columns, figsize=size, squeeze=False, layout="constrained"
        )
        for axes_row, (source, panels) in zip(grid, sources.items(), strict=True):
            for axes in axes_row[len(panels) :]:
                axes.set_visible(False)
            for axes, (corpus, here) in zip(axes_row, panels, strict=False):
                axes.set(yscale="log", ylim=(high, low))
                _r2_panel(axes, here, level, low)
                axes.set_title(f"{source}: {short(corpus)}")
            axes_row[0].set_ylabel("$R^2$ (logarithmic in $1 - R^2$)")
        lines = {"-": "the $n$ smallest sizes", "--": "the $n$ largest sizes"}
        lines[":"] = f"$R^2$ = {level:g}"
        handles = [
            Line2D([], [], linestyle=line, label=label, color="black", linewidth=1.2)
            for line, label in lines.items()
        ]
        families = dict.fromkeys(by_sizes["family"])
        handles += family_marks(families, "{}, any sizes", markersize=5)
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _r2_panel(axes: Axes, here: pd.DataFrame, level: float, low: float) -> None:
    families = list(dict.fromkeys(here["family"]))
    for number, family in enumerate(families):
        ink = ink_of(family)
        chosen = here[here["family"] == family]
        shift = 0.22 * (number - (len(families) - 1) / 2)
        for n, group in chosen.groupby("n"):
            size, alpha = (2.5, 0.5) if len(group) > 10 else (4.5, 0.9)
            width = min(0.6 / len(families), 0.02 * len(group))
            # Spread evenly in no visible order: multiples of the golden ratio.
            aside = np.arange(1, len(group) + 1) * 0.6180339887498949 % 1 - 0.5
            look = {"markersize": size, "alpha": alpha, "markeredgewidth": 0, "zorder": 2}
            x = n + shift + width * aside
            axes.plot(x, 1 - group["R2"], ink.marker, color=ink.colour, **look)
        for end, line in (("smallest", "-"), ("largest", "--")):
            nested = chosen[chosen["choice"].isin([end, "all"])]
            colour = "black" if len(families) == 1 else ink.colour
            axes.plot(nested["n"] + shift, 1 - nested["R2"], line, color=colour, linewidth=1.2)
    for n, group in here.groupby("n"):
        share = f"{(group['R2'] > level).mean():.0%}"
        axes.text(n, low * 1.12, share, fontsize=8, ha="center", va="top")
    axes.axhline(1 - level, color="black", linewidth=0.9, linestyle=":", zorder=1)
    ticks = [0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9998, 0.9999]
    axes.yaxis.set_major_locator(FixedLocator([1 - tick for tick in ticks]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{1 - value:.6g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    sizes = range(int(here["n"].min()), int(here["n"].max()) + 1)
    axes.set(xticks=list(sizes), xlim=(sizes[0] - 0.6, sizes[-1] + 0.6), xlabel="$n$, sizes fitted")
