"""What the figures of the sections and of the audit share: inks, names, bars, panels of a law."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from rbpkit.corpora import POCKET_CORPORA
from rbpkit.errors import InputError
from rbpkit.fit import Curve, PowerLawFit, fit_power_law
from rbpkit.sections.plots import FAMILY_INK, OTHER_INK, Ink, style


def ink_of(family: str) -> Ink:
    """How a family is drawn; one that is not the paper's in grey."""
    return FAMILY_INK.get(family, OTHER_INK)


def short(corpus: str) -> str:
    """A corpus as titles name it: without "pocket:"."""
    return corpus.removeprefix("pocket:")


def corpora_of(table: pd.DataFrame) -> list[str]:
    """The corpora of a table in the order of every figure: as they come, then the shipped ones."""
    place = {corpus: number for number, corpus in enumerate(POCKET_CORPORA)}
    return sorted(dict.fromkeys(table["corpus"]), key=lambda corpus: place.get(corpus, -1))


def whiskers(table: pd.DataFrame, value: str, ends: str = "") -> np.ndarray:
    """(2, n): how far `ends`_low and `ends`_high (by default those of `value`) are from `value`."""
    ends = ends or value
    return np.abs(table[[f"{ends}_low", f"{ends}_high"]].to_numpy().T - table[value].to_numpy())


def family_marks(families: Iterable[str], label: str = "{}", **look: object) -> list[Line2D]:
    """A legend's handles: the marker of each family, beside its name put into `label`."""
    look = {"linestyle": "none", **look}
    return [
        Line2D([], [], color=ink.colour, marker=ink.marker, label=label.format(family), **look)
        for family, ink in ((family, ink_of(family)) for family in families)
    ]


def wrapped(panels: int, columns: int) -> list[int]:
    """How many of so many panels stand in each row of at most `columns`."""
    return [min(columns, panels - start) for start in range(0, panels, columns)]


def rows_of_panels(
    counts: Sequence[int],
    panel: tuple[float, float],
    more: tuple[float, float] = (0, 0),
    **settings: object,
) -> tuple[Figure, list[np.ndarray]]:
    """A figure with a row of so many panels for each of `counts`, and the panels of each row.

    panel: width and height of one, in inches; more: of what the figure has besides. What a row
    lacks of the longest stays blank. settings go to `plt.subplots`.
    """
    size = (panel[0] * max(counts) + more[0], panel[1] * len(counts) + more[1])
    figure, grid = plt.subplots(len(counts), max(counts), figsize=size, squeeze=False, **settings)
    for row, count in zip(grid, counts, strict=True):
        for axes in row[count:]:
            axes.set_visible(False)
    return figure, [row[:count] for row, count in zip(grid, counts, strict=True)]


def draw_law(axes: Axes, curve: Curve, hollow: bool = False) -> PowerLawFit:
    """Points and fitted power law of one curve on log-log axes; the legend holds slope and R2.

    hollow: open markers, a little larger, through which other points can be seen.
    """
    ink = ink_of(curve.family)
    fitted = fit_power_law(curve.S, curve.loss, labels=curve.models)
    line = np.geomspace(curve.S.min(), curve.S.max(), 50)
    axes.plot(line, fitted.predict(line).loss, ink.line, color=ink.colour, linewidth=1.2, zorder=2)
    label = _signed(f"{curve.family}: {fitted.slope:.3f}, {fitted.r2:.3f}")
    look = {"markersize": 5.5, "markeredgecolor": "white", "markeredgewidth": 0.6, "zorder": 3}
    if hollow:
        look |= {"markersize": 6.5, "markerfacecolor": "none", "markeredgecolor": ink.colour}
        look |= {"markeredgewidth": 1.1, "zorder": 4}
    axes.plot(curve.S, curve.loss, ink.marker, color=ink.colour, label=label, **look)
    return fitted


def _signed(label: str) -> str:
    """With a minus sign where a hyphen stands before a digit."""
    return re.sub(r"-(?=\d)", "\N{MINUS SIGN}", label)


def plain_log_ticks(axes: Axes, low: float, high: float) -> None:
    """Label the loss axis with plain numbers: its span is mostly less than a decade."""
    for step in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        first = np.ceil(low / step) * step
        ticks = np.arange(first, high + step / 1e6, step)
        if len(ticks) <= 6:
            break
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_locator(FixedLocator([]))


def law_panels(
    rows: Sequence[tuple[str, Sequence[Sequence[Curve]]]],
    ylabel: str,
    hollow: Collection[str] = (),
) -> Figure:
    """A grid of log-log panels: a row a source (its name, its panels), a panel a corpus.

    Each panel holds the curves of its families; those in `hollow` have open markers. Raises
    InputError for a source without panels.
    """
    if not rows or not all(panels for _, panels in rows):
        raise InputError("nothing to draw: a source has no corpus that was measured")
    with style():
        figure, grid = rows_of_panels([len(panels) for _, panels in rows], (3.3, 3.2))
        for axes_row, (source, panels) in zip(grid, rows, strict=True):
            for axes, curves in zip(axes_row, panels, strict=True):
                axes.set_xscale("log")
                axes.set_yscale("log")
                for curve in curves:
                    draw_law(axes, curve, hollow=curve.family in hollow)
                losses = np.concatenate([curve.loss for curve in curves])
                low, high = losses.min(), losses.max()
                # Room below the points: the lines fall to the right, so the legend is there.
                span = np.log(high / low)
                axes.set_ylim(
                    low * np.exp(-(0.28 + 0.1 * len(curves)) * span), high * np.exp(0.08 * span)
                )
                plain_log_ticks(axes, *axes.get_ylim())
                axes.set_title(f"{source}: {short(curves[0].corpus)}")
                axes.set_xlabel("$S$ (non-embedding parameters)")
                axes.legend(
                    title="slope, $R^2$",
                    title_fontsize=8,
                    alignment="left",
                    loc="lower left",
                    handletextpad=0.2,
                    borderpad=0.3,
                    labelspacing=0.25,
                )
            axes_row[0].set_ylabel(ylabel)
        figure.tight_layout()
    return figure


def live_on_line(curves: Sequence[Curve], live: Sequence[Curve]) -> Figure:
    """One panel: RBP_k of one family for some k, and circled on it what was measured just now.

    curves: one for each k, fitted with a line; live: the same quantities of single models.
    """
    with style():
        figure, axes = plt.subplots(figsize=(6.2, 4.2))
        axes.set_xscale("log")
        axes.set_yscale("log")
        palette = sns.color_palette("colorblind", len(curves))
        for colour, curve, marker in zip(palette, curves, "os^Dv<>"[: len(curves)], strict=True):
            fitted = fit_power_law(curve.S, curve.loss, labels=curve.models)
            line = np.geomspace(curve.S.min() / 1.3, curve.S.max() * 1.3, 50)
            name = curve.quantity.replace("RBP_", "k = ")
            label = _signed(f"${name}$: slope {fitted.slope:.3f}, $R^2$ {fitted.r2:.3f}")
            axes.plot(line, fitted.predict(line).loss, color=colour, linewidth=1.2, label=label)
            axes.plot(curve.S, curve.loss, marker, color=colour, markersize=5)
        ring = {"markersize": 13, "markerfacecolor": "none", "markeredgecolor": "black"}
        for number, curve in enumerate(live):
            label = "measured just now" if number == 0 else None
            axes.plot(curve.S, curve.loss, "o", linestyle="none", label=label, **ring)
        plain_log_ticks(axes, *axes.get_ylim())
        axes.set_xlabel("$S$ (non-embedding parameters)")
        axes.set_ylabel(r"$-\log\,\mathrm{RBP}_k$")
        axes.set_title(f"{curves[0].family} on {curves[0].corpus}")
        axes.legend(markerscale=0.8)
        figure.tight_layout()
    return figure
