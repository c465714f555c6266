"""Figures: one style, labels at the lines, and log-log panels of laws with their lines.

`palette` says what each colour means. Families differ by their mark as well as by their colour, so
that a figure can be read in grey and by the colour-blind.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    LogFormatterSciNotation,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from rbpkit.errors import InputError, reason
from rbpkit.fit import Curve, fit_power_law
from rbpkit.palette import CONTEXT, FAMILY_COLOURS, INK, OTHER
from rbpkit.writing import as_csv, write_whole


class Ink(NamedTuple):
    """How a family is drawn."""

    colour: str
    marker: str


FAMILY_MARKS = {"GPT2": "o", "OPT": "s", "Pythia": "^", "Qwen": "D", "Mamba": "P"}
OTHER_MARKS = "vX*<>phd"  # of others, in turn
_INKS = {family: Ink(FAMILY_COLOURS[family], mark) for family, mark in FAMILY_MARKS.items()}
FAMILY_NAMES = {"GPT2": "GPT-2"}  # as prose and labels spell it
MARKER_LOOK: dict[str, Any] = {
    "markeredgecolor": "white",
    "markeredgewidth": 0.6,
    "markersize": 5.5,
}
WIDTH = 6.0  # inches: the width of a figure that can be read on a phone
NARROW = 5.0  # inches: letters of 10 points are as large there as 12 points in WIDTH
NOTE = 10  # points: notes, and what is drawn with its unit
SIZE = "$S$, non-embedding parameters"  # the name of an axis
PLAIN_SPAN = 2.5  # from this ratio of an axis's ends on, ticks go by factors and not by steps
# Ticks of each decade, from coarse to fine: numbers with one or two digits.
TICKS = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9))
# The metadata of each format that hold a date: without one, the same figure is the same bytes.
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}
FORMAT_VARIABLE = "RBPKIT_FIGURE_FORMAT"  # of the environment, so that notebooks' kernels have it
SAVED: dict[Any, Any] = {
    "savefig.dpi": 200,
    "pdf.fonttype": 42,  # text stays text
    "svg.hashsalt": "rbpkit",
}
STYLE: dict[Any, Any] = {
    "figure.dpi": 100,
    "figure.figsize": (WIDTH, 4.0),
    "font.size": NOTE,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.labelsize": 11,
    "legend.fontsize": 10,
    "legend.title_fontsize": 10,
    "legend.frameon": False,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
}


def figure_format(form: str | None = None) -> str:
    """The format of saved figures: `form`, by default the environment's.

    Raises InputError if it is not one of `FORMATS`.
    """
    form = form or os.environ.get(FORMAT_VARIABLE) or "png"
    if form not in FORMATS:
        raise InputError(f"no format of figures {form!r}; there are {', '.join(FORMATS)}")
    return form


@contextmanager
def style() -> Iterator[None]:
    """The look of every figure, for the duration of a `with` block."""
    with sns.axes_style("ticks"), sns.plotting_context("notebook"), plt.rc_context(STYLE):
        yield


@contextmanager
def panels(height: float, width: float = NARROW, **options: Any) -> Iterator[tuple[Figure, Any]]:
    """A figure in this style (inches) and its panels, as `plt.subplots` gives them; options: its.

    The look holds for the `with` block.
    """
    with style():
        yield plt.subplots(figsize=(width, height), layout="constrained", **options)


@contextmanager
def panel(title: str, line: str, height: float, width: float = NARROW) -> Iterator[Axes]:
    """The same with one panel, below its message and what is drawn (`headed`)."""
    with panels(height, width) as (_, axes):
        headed(axes, title, line)
        yield axes


def name_of(family: str) -> str:
    """A family as labels spell it: GPT-2, not GPT2."""
    return FAMILY_NAMES.get(family, family)


def ink_of(family: str) -> Ink:
    """How a family is drawn; one that is not the paper's in grey, with a mark of its own."""
    others = len(_INKS) - len(FAMILY_MARKS)
    return _INKS.setdefault(family, Ink(OTHER, OTHER_MARKS[others % len(OTHER_MARKS)]))


def recolour(families: Iterable[str], palette: str) -> None:
    """From now on draw these families in the colours of a palette.

    palette: one of seaborn's, or colours with commas between them, as red,#0072B2.
    """
    inks = {family: ink_of(family) for family in families}
    names = palette.split(",") if "," in palette else palette
    with reason(f"palette {palette}: give one of seaborn, or colours such as red,#0072B2"):
        colours = sns.color_palette(names, len(inks)).as_hex()
    for (family, ink), colour in zip(inks.items(), colours, strict=False):
        _INKS[family] = Ink(colour, ink.marker)


def short(corpus: str) -> str:
    """A corpus as titles name it: without "pocket:"."""
    return corpus.removeprefix("pocket:")


def headed(axes: Axes, title: str, line: str) -> None:
    """A figure's message in bold, and under it a grey line: what is drawn, and its unit."""
    pad = 20 + 14 * line.count("\n")
    axes.set_title(title, loc="left", fontsize=13, weight="bold", pad=pad)
    axes.annotate(
        line,
        (0, 1),
        xytext=(0, 6),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=NOTE,
        color=OTHER,
        va="bottom",
    )


def headed_row(figure: Figure, title: str, line: str) -> None:
    """The same above a row of panels, which keep their titles."""
    look: dict[str, Any] = {"fontsize": 13, "weight": "bold", "color": INK}
    heading = figure.suptitle(f"{title}\n", x=0.01, ha="left", **look)
    # The heading's last line is empty, and the grey line is written there.
    look = {"xycoords": heading, "fontsize": NOTE, "color": OTHER, "va": "bottom"}
    note = figure.axes[0].annotate(line, (0, 0), **look)
    note.set_in_layout(False)


def for_text(colour: str) -> str:
    """A colour, darkened until letters of it on white can be read."""
    rgb = np.array(to_rgb(colour))
    weights = (0.2126, 0.7152, 0.0722)  # of red, green and blue in the luminance
    while 1.05 / (rgb**2.2 @ weights + 0.05) < 4.5:  # as WCAG 2 asks (1.4.3)
        rgb *= 0.98
    red, green, blue = rgb
    return to_hex((red, green, blue))


def family_marks(families: Iterable[str]) -> list[Line2D]:
    """A legend's handles: the mark of each family, with its name."""
    handles = []
    for family in families:
        colour, mark = ink_of(family)
        handles.append(Line2D([], [], color=colour, marker=mark, ls="none", label=name_of(family)))
    return handles


def label_ends(
    axes: Axes, ends: Iterable[tuple[float, float, str, str]], gap: float = 1.25
) -> None:
    """Write the name of each line next to its right end, moved up if two would overlap.

    - ends: for each line the x and y of its last point, its name and its colour
    - gap: the least distance of two names, in heights of a line of text

    Call it last, because later changes of the axes move the ends.
    """
    axes.figure.canvas.draw()  # settles the layout, which decides the distances
    least_distance = gap * NOTE
    letter_width = 0.65 * NOTE
    scale = axes.figure.dpi / 72  # what follows is in points
    names = []
    for x, y, name, colour in ends:
        left, height = axes.transData.transform((x, y)) / scale
        names.append((height, left, (x, y), name, colour))
    placed: list[tuple[float, float, float]] = []  # left, right and height of each name
    for height, left, point, name, colour in sorted(names, key=lambda one: one[0]):
        right = left + letter_width * len(name)
        wanted = height
        for other_left, other_right, other_height in placed:
            is_near = abs(wanted - other_height) < least_distance
            if is_near and left < other_right and other_left < right:
                wanted = other_height + least_distance
        placed.append((left, right, wanted))
        axes.annotate(
            name,
            point,
            xytext=(7, wanted - height),
            textcoords="offset points",
            va="center",
            fontsize=NOTE,
            color=for_text(colour),
            annotation_clip=False,
        )


def law_figure(
    points: pd.DataFrame,
    *,
    panel: str = "corpus",
    y: str = "loss",
    columns: int = 2,
    size: tuple[float, float] = (3.0, 2.7),
    detailed: bool = False,
    xlabel: str = SIZE,
    ylabel: str = r"$-\log\,\mathrm{RBP}_k$",
) -> Figure:
    """Log-log panels with a least-squares line through each family, and one legend below.

    - points: a row per point, with columns `family`, `S`, and those named by `panel` and `y`;
      panels and families appear in the order of the rows.
    - size: of a panel, in inches; two columns are `WIDTH` wide.
    - detailed: each panel has a range of its own, the slopes with their 95% intervals in words, and
      as a band the 95% interval for one new model.

    A family of fewer than three points, of one S, or with a share of 0 or 1 has no line. A line
    whose slope cannot be told from 0 is grey and dashed.
    """
    families = list(dict.fromkeys(points["family"]))
    columns = min(columns, points[panel].nunique())
    width, height = max(size[0], NARROW / columns), size[1]
    with style():
        grid = sns.FacetGrid(
            points,
            col=panel,
            col_wrap=columns,
            col_order=list(dict.fromkeys(points[panel])),
            sharex=not detailed,
            sharey=not detailed,
            height=height,
            aspect=width / height,
        )
        grid.set(xscale="log", yscale="log")
        grid.set_axis_labels(xlabel, ylabel)
        grid.set_titles("{col_name}")
        grid.figure.set_layout_engine("constrained")
        if len(families) > 1:
            marks = family_marks(families)
            plt.setp(marks, **MARKER_LOOK)
            place = "outside lower center"
            grid.figure.legend(handles=marks, loc=place, ncols=min(len(families), 5))
        for name, axes in grid.axes_dict.items():
            shown = points[points[panel] == name]
            laws = []
            for family, part in shown.groupby("family", sort=False):
                laws.append(_draw_law(axes, str(family), part["S"], part[y], band=detailed))
            log_ticks(axes)
            if detailed:
                headed(axes, str(name), "\n".join(laws))
                plain_log_ticks(axes.xaxis)
    return grid.figure


def _draw_law(axes: Axes, family: str, S: pd.Series, loss: pd.Series, band: bool) -> str:
    """The points of one family and their line, with a band for one new model; the law in words."""
    colour, mark = ink_of(family)
    # A share of 1 has a loss of 0, one of 0 an infinite loss: neither has a place on log axes.
    shown = loss.where((loss > 0) & (loss < np.inf))
    axes.plot(S, shown, mark, color=colour, zorder=3, **MARKER_LOOK)
    try:
        fit = fit_power_law(S, loss)
    except InputError:
        return f"{name_of(family)}: no line"
    sizes = np.geomspace(fit.S_min, fit.S_max, 50)
    predicted = fit.predict(sizes)
    if band:
        look: dict[str, Any] = {"color": CONTEXT, "alpha": 0.6, "linewidth": 0}
        axes.fill_between(sizes, predicted.low, predicted.high, **look)
    low, high = fit.slope_interval
    in_doubt = low <= 0 <= high
    look = {"ls": "--", "color": OTHER} if in_doubt else {"color": colour}
    axes.plot(sizes, predicted.loss, linewidth=1.2, **look)
    doubt = ", which may be 0" if in_doubt else ""
    return f"{name_of(family)}: slope {fit.slope:.3f} ({low:.3f} to {high:.3f}){doubt}"


def ticks(axis: Axis, places: Sequence[float], form: str = "{:g}") -> None:
    """Label an axis at these places and nowhere else; form: of a number, as `str.format` has it."""
    axis.set_ticks([*places], [form.format(place) for place in places])
    axis.set_minor_locator(NullLocator())


def log_ticks(axes: Axes) -> None:
    """Label a logarithmic y axis with at least four plain numbers, whatever its span."""
    low, high = axes.get_ylim()
    if high / low <= PLAIN_SPAN:
        plain_log_ticks(axes.yaxis)
        return
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.log10(high))
    for factors in TICKS:
        numbers = np.outer(decades, factors).ravel()
        numbers = numbers[(numbers >= low) & (numbers <= high)]
        if numbers.size >= 4:
            break
    # Six digits, and no exponent.
    names = [np.format_float_positional(x, 6, fractional=False, trim="-") for x in numbers]
    axes.yaxis.set_ticks(numbers, names)
    axes.yaxis.set_minor_locator(NullLocator())


def plain_log_ticks(axis: Axis) -> None:
    """Label a logarithmic axis: in equal steps if its span is small, else at powers of ten.

    Of fewer than three decades it labels 3, 30, ..., too.
    """
    low, high = axis.get_view_interval()
    if high / low <= PLAIN_SPAN:
        steps = MaxNLocator(7, steps=[1, 2, 5, 10]).tick_values(low, high)
        ticks(axis, [step for step in steps if low <= step <= high], "{:.10g}")
        return
    axis.set_major_locator(LogLocator(subs=(1, 3) if high < 1000 * low else (1,)))
    axis.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(99, 99)))
    axis.set_minor_formatter(NullFormatter())


def curve_points(source: str, curves: Iterable[Curve]) -> pd.DataFrame:
    """The points of curves as a table: source, corpus, family, model, quantity, S, value, loss."""
    rows = []
    for curve in curves:
        about = (source, curve.corpus, curve.family)
        for model, *numbers in zip(curve.models, curve.S, curve.value, curve.loss, strict=True):
            rows.append((*about, model, curve.quantity, *numbers))
    columns = ["source", "corpus", "family", "model", "quantity", "S", "value", "loss"]
    types = dict.fromkeys(["S", "value", "loss"], "float64")
    table = pd.DataFrame(rows, columns=columns).astype(types)  # also if there is no curve
    is_count = (table["S"] % 1 == 0) & (table["S"] < 2**53)  # and not CE, or FLOPs
    return table.astype({"S": "int64"}) if is_count.all() else table


def save(
    drawn: Figure | Axes,
    points: pd.DataFrame,
    figures_dir: str,
    name: str,
    form: str | None = None,
) -> None:
    """Show the figure; write `name.png` and `name.csv` (its points) into a folder, if one is named.

    drawn: the figure, or its only panel.
    `name.pdf` or `name.svg` instead if `form` or the environment's RBPKIT_FIGURE_FORMAT says so.
    In a notebook it is shown once, wherever in the cell this is called; elsewhere not at all.
    Values carry six significant digits, S all of its digits.
    """
    figure = show(drawn)
    if not figures_dir:
        return
    form = figure_format(form)
    picture = io.BytesIO()
    with plt.rc_context(SAVED):
        figure.savefig(picture, format=form, bbox_inches="tight", metadata=FORMATS[form])
    files = {f"{name}.{form}": picture.getvalue(), f"{name}.csv": as_csv(points).encode()}
    write_whole(Path(figures_dir), files)


def show(drawn: Figure | Axes) -> Figure:
    """Display the figure in a notebook, and close it, so that no cell shows it again."""
    figure = drawn if isinstance(drawn, Figure) else cast(Figure, drawn.figure)
    plt.close(figure)
    # A notebook has loaded it already; elsewhere it need not be installed.
    if "IPython" in sys.modules:
        from IPython import get_ipython
        from IPython.display import display

        if get_ipython() is not None:
            display(figure)
    return figure
