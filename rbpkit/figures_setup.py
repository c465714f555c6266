"""Three figures of our own on the set-up (Appendix A); the paper has none there.

A1 the ladders of S, A2 the R2 of a line by the number of sizes fitted, A3 how digits tell T.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from rbpkit.errors import InputError
from rbpkit.figures import FAMILY_INK, OTHER_INK, style


def ladder_points(published: pd.DataFrame, pocket: pd.DataFrame) -> pd.DataFrame:
    """The points of figure A1: source ("paper" or "pocket"), family, model, S.

    published: `paper.models()`; pocket: `setup_tables.ladder_cards`.
    """
    columns = ["family", "model", "S"]
    both = [published[columns].assign(source="paper"), pocket[columns].assign(source="pocket")]
    return pd.concat(both, ignore_index=True)[["source", *columns]]


def ladders(points: pd.DataFrame) -> Figure:
    """Figure A1: S of every model on one logarithmic axis, a row a family.

    points: as `ladder_points` makes them. Filled markers: the paper's; open: the pocket ladders.
    """
    families = list(dict.fromkeys(points["family"]))
    with style():
        figure, axes = plt.subplots(figsize=(8.6, 0.55 * len(families) + 1.5))
        axes.set_xscale("log")
        for (source, family), group in points.groupby(["source", "family"], sort=False):
            ink = FAMILY_INK.get(family, OTHER_INK)
            # Apart by a little: the largest pocket models reach the paper's smallest.
            aside = -0.12 if source == "paper" else 0.12
            row = np.full(len(group), families.index(family) + aside)
            filled = ink.colour if source == "paper" else "white"
            look = {"markerfacecolor": filled, "markeredgecolor": ink.colour, "markersize": 7}
            line = "-" if source == "paper" else ":"
            axes.plot(group["S"], row, line, color=ink.colour, linewidth=1, zorder=2)
            axes.plot(group["S"], row, ink.marker, markeredgewidth=1.3, zorder=3, **look)
        axes.set_yticks(range(len(families)), families)
        axes.set_ylim(len(families) - 0.5, -0.5)
        axes.xaxis.set_major_locator(LogLocator(base=10, numticks=12))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("$S$ (non-embedding parameters)")
        axes.grid(axis="y", visible=False)
        grey = {"color": "#444444", "marker": "o", "markersize": 7, "markeredgewidth": 1.3}
        axes.legend(
            handles=[
                Line2D([], [], linestyle="-", label="the paper's models", **grey),
                Line2D([], [], linestyle=":", label="pocket", markerfacecolor="white", **grey),
            ],
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=2,
            frameon=False,
        )
        figure.tight_layout()
    return figure


def r2_panels(by_sizes: pd.DataFrame, level: float = 0.99) -> Figure:
    """Figure A2: R2 of lines through n sizes of a family, every choice of n one dot.

    by_sizes: `setup_tables.r2_by_sizes`, with a column `source`; a row of panels a source, a panel
    a corpus. The axis is logarithmic in 1 - R2, best on top. Above each n stands the share of dots
    with R2 > level; lines join the n smallest and the n largest sizes of a family. Raises
    InputError where there is nothing to draw.
    """
    if not len(by_sizes):
        raise InputError("nothing to draw: no family with five sizes was given")
    sources = list(dict.fromkeys(by_sizes["source"]))
    corpora = {s: by_sizes.loc[by_sizes["source"] == s, "corpus"].unique() for s in sources}
    columns = max(map(len, corpora.values()))
    misfit = 1 - by_sizes["R2"]
    low, high = misfit.min() / 2.4, misfit.max() * 1.3
    size = (max(3.3 * columns, 6.6), 3.2 * len(sources) + 0.4)
    with style():
        figure, grid = plt.subplots(
            len(sources), columns, figsize=size, squeeze=False, layout="constrained"
        )
        for axes_row, source in zip(grid, sources, strict=True):
            for axes in axes_row[len(corpora[source]) :]:
                axes.set_visible(False)
            for axes, corpus in zip(axes_row, corpora[source], strict=False):
                here = by_sizes[(by_sizes["source"] == source) & (by_sizes["corpus"] == corpus)]
                axes.set_yscale("log")
                axes.set_ylim(high, low)
                _r2_panel(axes, here, level, low)
                axes.set_title(f"{source}: {corpus.removeprefix('pocket:')}")
            axes_row[0].set_ylabel("$R^2$ (logarithmic in $1 - R^2$)")
        black = {"color": "black", "linewidth": 1.2}
        handles = [
            Line2D([], [], linestyle="-", label="the $n$ smallest sizes", **black),
            Line2D([], [], linestyle="--", label="the $n$ largest sizes", **black),
            Line2D([], [], linestyle=":", label=f"$R^2$ = {level:g}", **black),
        ]
        for family in dict.fromkeys(by_sizes["family"]):
            ink = FAMILY_INK.get(family, OTHER_INK)
            look = {"color": ink.colour, "marker": ink.marker, "markersize": 5}
            handles.append(Line2D([], [], linestyle="none", label=f"{family}, any sizes", **look))
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _r2_panel(axes: Axes, here: pd.DataFrame, level: float, low: float) -> None:
    families = list(dict.fromkeys(here["family"]))
    for number, family in enumerate(families):
        ink = FAMILY_INK.get(family, OTHER_INK)
        chosen = here[here["family"] == family]
        shift = 0.22 * (number - (len(families) - 1) / 2)
        for n, group in chosen.groupby("n"):
            many = len(group) > 10
            width = min(0.6 / len(families), 0.02 * len(group))
            axes.plot(
                n + shift + width * (_scattered(len(group)) - 0.5),
                1 - group["R2"],
                ink.marker,
                color=ink.colour,
                markersize=2.5 if many else 4.5,
                alpha=0.5 if many else 0.9,
                markeredgewidth=0,
                zorder=2,
            )
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
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_locator(NullLocator())
    sizes = range(int(here["n"].min()), int(here["n"].max()) + 1)
    axes.set_xticks(list(sizes))
    axes.set_xlim(sizes[0] - 0.6, sizes[-1] + 0.6)
    axes.set_xlabel("$n$, sizes fitted")


def _scattered(n: int) -> np.ndarray:
    """n numbers spread evenly over 0 to 1 in no visible order (multiples of the golden ratio)."""
    return np.arange(1, n + 1) * 0.6180339887498949 % 1


def narrowing_panels(steps: pd.DataFrame, values: int = 30) -> Figure:
    """Figure A3: how many token counts T fit, after the first of the published RBP values.

    steps: `setup_tables.narrowing`; drawn up to so many `values`. A panel a corpus, a line a
    family.
    """
    corpora = list(dict.fromkeys(steps["corpus"]))
    with style():
        figure, grid = plt.subplots(
            1, len(corpora), figsize=(3.0 * len(corpora), 3.1), sharey=True, squeeze=False
        )
        for axes, corpus in zip(grid[0], corpora, strict=True):
            for family, group in steps[steps["corpus"] == corpus].groupby("family", sort=False):
                ink = FAMILY_INK.get(family, OTHER_INK)
                group = group[group["used"] <= values]
                axes.plot(
                    group["used"],
                    group["compatible"],
                    ink.line,
                    color=ink.colour,
                    marker=ink.marker,
                    markersize=3.5,
                    markevery=3,
                    linewidth=1.2,
                    label=family,
                )
            axes.set_yscale("log")
            axes.set_ylim(0.7, 1e6)
            axes.set_title(corpus)
            axes.set_xlabel("RBP values used")
        grid[0][0].set_ylabel("$T$ that fit them all")
        grid[0][-1].legend()
        figure.tight_layout()
    return figure
