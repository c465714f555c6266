"""Exponents with their intervals, and the error of the predicted largest model, by corpus and k."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rbpkit import plots
from rbpkit.errors import InputError
from rbpkit.plots import family_marks, ink_of, rows_of_panels, short, whiskers

_SIDE = 0.17  # between families at one k, in steps of the axis


def figure_slopes(rows: Mapping[str, pd.DataFrame]) -> tuple[Figure, pd.DataFrame]:
    """alpha of CE and of -log RBP_k: a row of panels a source, a panel a corpus.

    rows: a table of `intervals.slope_table` by the source's name; of published points the
    columns documents_low and documents_high may be missing. A thin bar with caps is the t
    interval (other models of the family), a broad pale one the bootstrap's (other documents).
    Returns the figure and its points: source and the table's columns. Raises InputError where no
    row has anything.
    """
    drawn = _drawn(rows)
    figure, grid = _grid(drawn)
    for (name, table), axes_row in zip(drawn.items(), grid, strict=True):
        ends = table[["line_low", "line_high"]].to_numpy()
        top = min(ends.max(), 1.6 * table["alpha"].max())  # a line of four points can have any
        for axes, (corpus, panel) in zip(
            axes_row, table.groupby("corpus", sort=False), strict=False
        ):
            for place, family, line in _by_family(panel, table):
                ink = ink_of(family)
                x = place + line["place"].to_numpy()
                _bar(axes, x, line, "alpha", "line", ecolor=ink.colour, elinewidth=1, capsize=2.5)
                boxed = "documents_low" in line and line["documents_low"].notna().all()
                if boxed:
                    pale = matplotlib.colors.to_rgba(ink.colour, 0.4)
                    _bar(axes, x, line, "alpha", "documents", ecolor=pale, elinewidth=7, capsize=0)
                _mark(axes, x, line["alpha"], ink, size=4.5 if boxed else 5.5)
            axes.set(ylim=(min(0, 1.3 * table["alpha"].min()), 1.08 * top))
            axes.set(title=f"{name}: {short(corpus)}")
        axes_row[0].set_ylabel(r"exponent $\alpha$")
    bars = [
        Line2D([], [], color="black", linewidth=1, marker="|", label="95%, other models (t)"),
        Line2D([], [], color="0.7", linewidth=7, label="95%, other documents (bootstrap)"),
    ]
    _legend(figure, drawn, bars)
    return figure, _points(drawn)


def figure_held_out(rows: Mapping[str, pd.DataFrame]) -> tuple[Figure, pd.DataFrame]:
    """The largest model's predicted loss over its measured one: a row a source, a panel a corpus.

    rows: a table of `held_out` by the source's name, with a column `pooled`:
    where it is true the marker is hollow. Bars are 95% prediction intervals. Returns the figure
    and its points: source and the table's columns. Raises InputError where no row has anything.
    """
    drawn = _drawn(rows)
    figure, grid = _grid(drawn)
    for (name, table), axes_row in zip(drawn.items(), grid, strict=True):
        table = table.assign(
            percent=100 * table["error"],
            percent_low=100 * (table["low"] / table["measured"] - 1),
            percent_high=100 * (table["high"] / table["measured"] - 1),
        )
        reach = min(
            table[["percent_low", "percent_high"]].abs().to_numpy().max(),
            2.2 * table["percent"].abs().max(),
        )
        for axes, (corpus, panel) in zip(
            axes_row, table.groupby("corpus", sort=False), strict=False
        ):
            axes.axhline(0, color="black", linewidth=1, zorder=1)
            for place, family, line in _by_family(panel, table):
                ink = ink_of(family)
                x = place + line["place"].to_numpy()
                look = {"ecolor": ink.colour, "elinewidth": 1, "capsize": 2.5}
                _bar(axes, x, line, "percent", "percent", **look)
                _mark(axes, x, line["percent"], ink, hollow=bool(line["pooled"].all()))
            axes.set(ylim=(-reach, reach), title=f"{name}: {short(corpus)}")
        axes_row[0].set_ylabel("predicted / measured loss, less 1 (%)")
    bars = [Line2D([], [], color="black", linewidth=1, marker="|", label="95% prediction (t)")]
    if any(table["pooled"].any() for table in drawn.values()):
        face = {"markerfacecolor": "white", "markeredgecolor": "black"}
        bars.append(Line2D([], [], linestyle="none", marker="o", label="slopes pooled", **face))
    _legend(figure, drawn, bars)
    return figure, _points(drawn)


def _drawn(rows: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    drawn = {}
    for name, table in rows.items():
        if len(table):
            quantities = sorted(set(table["quantity"]), key=_order)
            drawn[name] = table.assign(place=table["quantity"].map(quantities.index))
    if not drawn:
        raise InputError("nothing to draw: no law has points enough")
    return drawn


def _order(quantity: str) -> int:
    return 0 if quantity == "CE" else int(quantity.removeprefix("RBP_"))


def _by_family(panel: pd.DataFrame, table: pd.DataFrame) -> list[tuple[float, str, pd.DataFrame]]:
    families = list(dict.fromkeys(table["family"]))
    offsets = _SIDE * (np.arange(len(families)) - (len(families) - 1) / 2)
    lines = {family: line.sort_values("place") for family, line in panel.groupby("family")}
    return [
        (float(offset), family, lines[family])
        for offset, family in zip(offsets, families, strict=True)
        if family in lines
    ]


def _grid(drawn: Mapping[str, pd.DataFrame]) -> tuple[Figure, list[np.ndarray]]:
    counts = [table["corpus"].nunique() for table in drawn.values()]
    with plots.style():
        figure, grid = rows_of_panels(counts, (3.3, 3.1), (0.5, 0.5), layout="constrained")
    for axes_row, table in zip(grid, drawn.values(), strict=True):
        labels = [name.removeprefix("RBP_") for name in sorted(set(table["quantity"]), key=_order)]
        for axes in axes_row:
            axes.set_xticks(range(len(labels)), labels)
            axes.set_xlim(-0.5, len(labels) - 0.5)
            axes.grid(axis="x", visible=False)
            axes.set_xlabel("CE, and $k$ of $-\\log\\,\\mathrm{RBP}_k$")
    return figure, grid


def _bar(axes: Axes, x: np.ndarray, line: pd.DataFrame, at: str, kind: str, **look: object) -> None:
    axes.errorbar(x, line[at], yerr=whiskers(line, at, kind), fmt="none", zorder=2, **look)


def _mark(axes: Axes, x: np.ndarray, y: pd.Series, ink: plots.Ink, hollow=False, size=5.5) -> None:
    face, edge = ("white", ink.colour) if hollow else (ink.colour, "white")
    look = {"markersize": size, "markerfacecolor": face, "markeredgecolor": edge}
    width = 0.9 if size > 5 else 0.4
    axes.plot(x, y, ink.marker, linestyle="none", markeredgewidth=width, zorder=3, **look)


def _legend(figure: Figure, drawn: Mapping[str, pd.DataFrame], bars: list[Line2D]) -> None:
    families = dict.fromkeys(family for table in drawn.values() for family in table["family"])
    handles = [*family_marks(families), *bars]
    figure.legend(handles=handles, loc="outside upper center", ncols=8, fontsize=9)


def _points(drawn: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    tables = [table.drop(columns="place").assign(source=name) for name, table in drawn.items()]
    points = pd.concat(tables, ignore_index=True)
    return points[["source", *(name for name in points if name != "source")]]
