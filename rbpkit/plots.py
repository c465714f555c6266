"""The paper's figures: one style, published and measured side by side, each with its points.

Families keep their colour and marker in every figure; markers and line styles differ too, so
that a figure reads in grey and for the colour-blind (Okabe and Ito's palette).
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from rbpkit.curves import Curve
from rbpkit.errors import InputError
from rbpkit.files.changes import DRAWN_BY, drawing_code
from rbpkit.files.whole import as_csv, write_whole
from rbpkit.fit import PowerLawFit, fit_power_law


@dataclass(frozen=True)
class Ink:
    """How a family is drawn."""

    colour: str
    marker: str
    line: str


FAMILY_INK = {
    "GPT2": Ink("#0072B2", "o", "-"),
    "OPT": Ink("#E69F00", "s", "--"),
    "Pythia": Ink("#009E73", "^", "-."),
    "Qwen": Ink("#CC79A7", "D", ":"),
    "Mamba": Ink("#D55E00", "P", "-"),
}
OTHER_INK = Ink("#444444", "v", "-")
SAVED_DPI = 200
FORMATS = ("png", "pdf", "svg")
FORMAT_VARIABLE = "RBPKIT_FIGURE_FORMAT"  # of the environment, so that notebooks' kernels have it
# Beside a paper's text: Times-like letters, and text in the file that stays text.
VECTOR = {
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "rbpkit",
}


def figure_format(form: str | None = None) -> str:
    """The format of saved figures: `form`, by default the environment's.

    Raises InputError where it is none of `FORMATS`.
    """
    form = form or os.environ.get(FORMAT_VARIABLE) or "png"
    if form not in FORMATS:
        raise InputError(f"no format of figures {form!r}; there are {', '.join(FORMATS)}")
    return form


@contextmanager
def style() -> Iterator[None]:
    """The look of every figure, for the duration of a `with` block."""
    with sns.axes_style("whitegrid"), sns.plotting_context("notebook"):
        with plt.rc_context(
            {
                "figure.dpi": 100,
                "axes.titlesize": 11,
                "axes.labelsize": 10,
                "legend.fontsize": 8,
                "xtick.labelsize": 9,
                "ytick.labelsize": 9,
                "grid.linewidth": 0.5,
                **({} if figure_format() == "png" else VECTOR),
            }
        ):
            yield


def draw_law(axes: Axes, curve: Curve, hollow: bool = False) -> PowerLawFit:
    """Points and fitted power law of one curve on log-log axes; the legend holds slope and R2.

    hollow: open markers, a little larger, through which other points can be seen.
    """
    ink = FAMILY_INK.get(curve.family, OTHER_INK)
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
    columns = max(len(panels) for _, panels in rows)
    with style():
        figure, grid = plt.subplots(
            len(rows), columns, figsize=(3.3 * columns, 3.2 * len(rows)), squeeze=False
        )
        for axes_row, (source, panels) in zip(grid, rows, strict=True):
            for axes in axes_row[len(panels) :]:
                axes.set_visible(False)
            for axes, curves in zip(axes_row, panels, strict=False):
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
                axes.set_title(f"{source}: {curves[0].corpus.removeprefix('pocket:')}")
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


def curve_points(source: str, curves: Sequence[Curve]) -> pd.DataFrame:
    """The points of curves as a table: source, corpus, family, model, quantity, S, value, loss."""
    rows = [
        (source, c.corpus, c.family, model, c.quantity, int(S), value, loss)
        for c in curves
        for model, S, value, loss in zip(c.models, c.S, c.value, c.loss, strict=True)
    ]
    names = ["source", "corpus", "family", "model", "quantity", "S", "value", "loss"]
    return pd.DataFrame(rows, columns=names)


def save(figure: Figure, points: pd.DataFrame, figures_dir: str, name: str) -> None:
    """Show the figure; write `name.png` and `name.csv` (its points) into a folder, if one is named.

    `name.pdf` or `name.svg` instead where the environment's RBPKIT_FIGURE_FORMAT says so.
    In a notebook it is shown once, wherever in the cell this is called; elsewhere not at all.
    Values carry six significant digits, S all of its digits. Files that are there and say the same
    (see `files.changes`) stay as they are: the table by its numbers, the picture by its table and
    by the code that draws it.
    """
    show(figure)
    if not figures_dir:
        return
    picture = io.BytesIO()
    form = figure_format()
    look = {"dpi": SAVED_DPI, "bbox_inches": "tight"}
    look["metadata"] = {  # no date: the same figure is the same bytes
        "png": {"Software": None, DRAWN_BY: drawing_code()},
        "pdf": {"CreationDate": None},
        "svg": {"Date": None},
    }[form]
    with plt.rc_context({} if form == "png" else VECTOR):
        figure.savefig(picture, format=form, **look)
    files = {f"{name}.{form}": picture.getvalue(), f"{name}.csv": as_csv(points).encode()}
    write_whole(Path(figures_dir), files)


def show(figure: Figure) -> None:
    """Display the figure in a notebook, and close it, so that no cell shows it again."""
    plt.close(figure)
    from IPython import get_ipython

    if get_ipython() is not None:
        from IPython.display import display

        display(figure)
