"""Figures: one style, labels at the lines, and a grid of log-log panels with their lines.

`palette` says what each colour means. Families differ by their mark as well as by their colour, so
that a figure can be read in grey and by the colour-blind.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import RcParams
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogFormatterSciNotation,
    NullFormatter,
    NullLocator,
)
from PIL import Image

from rbpkit.errors import InputError, reason
from rbpkit.fit import Curve, fit_power_law
from rbpkit.palette import CONTEXT, FAMILY_COLOURS, INK, OTHER, ordered_greys
from rbpkit.writing import as_csv, write_whole


@dataclass(frozen=True)
class Ink:
    """How a family is drawn."""

    colour: str
    marker: str


FAMILY_MARKS = {"GPT2": "o", "OPT": "s", "Pythia": "^", "Qwen": "D", "Mamba": "P"}
FAMILY_INK = {family: Ink(FAMILY_COLOURS[family], mark) for family, mark in FAMILY_MARKS.items()}
OTHER_MARKS = "vX*<>phd"  # of others, in turn
_OTHER_INK: dict[str, Ink] = {}
MOST_IN_A_LABEL = 60
FAMILY_NAMES = {"GPT2": "GPT-2"}  # as prose and labels spell it
MARKER_LOOK: dict[str, Any] = {
    "markeredgecolor": "white",
    "markeredgewidth": 0.6,
    "markersize": 5.5,
}
WIDTH = 6.0  # inches: the width of a figure that can be read on a phone
NARROW = 5.0  # inches: letters of 10 points are as large there as 12 points in WIDTH
MOST_NAMES = 13  # of points in a panel
NOTE = 10  # points: notes, and what is drawn with its unit
SIZE = "$S$, non-embedding parameters"  # the name of an axis
LEAST_CONTRAST = 4.5  # of letters on white, as WCAG 2 asks (1.4.3)
SAVED_DPI = 200
PLAIN_SPAN = 2.5  # from this ratio of an axis's ends on, ticks go by factors and not by steps
FINEST_FACTORS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)  # ticks of each decade
FORMATS = ("png", "pdf", "svg")
# The metadata of each format that hold a date: without one, the same figure is the same bytes.
NO_DATE: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}
FORMAT_VARIABLE = "RBPKIT_FIGURE_FORMAT"  # of the environment, so that notebooks' kernels have it
# Next to a paper's text: Times-like letters, and text in the file that stays text.
VECTOR = RcParams(
    {
        "font.family": "STIXGeneral",
        "mathtext.fontset": "stix",
        "pdf.fonttype": 42,
        "svg.fonttype": "path",  # a browser without these letters would move the labels
        "svg.hashsalt": "rbpkit",
    }
)
STYLE = RcParams(
    {
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
)


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
    look = RcParams(STYLE)
    if figure_format() != "png":
        look.update(VECTOR)
    with sns.axes_style("ticks"), sns.plotting_context("notebook"), plt.rc_context(look):
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
    return FAMILY_NAMES.get(family, plain(family))


def plain(name: str) -> str:
    """A name from outside as labels spell it: cut short, and no formula."""
    cut = name if len(name) <= MOST_IN_A_LABEL else f"{name[:MOST_IN_A_LABEL]}..."
    return cut.replace("$", r"\$")


def ink_of(family: str) -> Ink:
    """How a family is drawn; one that is not the paper's in grey, with a mark of its own."""
    if family in FAMILY_INK:
        return FAMILY_INK[family]
    mark = OTHER_MARKS[len(_OTHER_INK) % len(OTHER_MARKS)]
    return _OTHER_INK.setdefault(family, Ink(OTHER, mark))


def short(corpus: str) -> str:
    """A corpus as titles name it: without "pocket:"."""
    return plain(corpus.removeprefix("pocket:"))


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
    while 1.05 / (rgb**2.2 @ weights + 0.05) < LEAST_CONTRAST:
        rgb *= 0.98
    red, green, blue = rgb
    return to_hex((red, green, blue))


def family_marks(inks: Mapping[Any, Ink], **look: Any) -> list[Line2D]:
    """A legend's handles: the marker of each family, with its name; look: of the markers."""
    handles = []
    for family, ink in inks.items():
        look |= {"color": ink.colour, "marker": ink.marker, "label": name_of(str(family))}
        handles.append(Line2D([], [], ls="none", **look))
    return handles


def inks_of(values: Iterable[Any]) -> dict[Any, Ink]:
    """How each value of a hue is drawn: a family as always, others from light to dark."""
    values = list(dict.fromkeys(values))
    if any(value in FAMILY_INK for value in values):
        return {value: ink_of(value) for value in values}
    inks = {}
    for i, colour in enumerate(ordered_greys(len(values))):
        inks[values[i]] = Ink(colour, OTHER_MARKS[i % len(OTHER_MARKS)])
    return inks


def label_ends(
    axes: Axes,
    ends: Iterable[tuple[float, float, str, str]],
    gap: float = 1.25,
    inside: bool = False,
    **text: Any,
) -> None:
    """Write the name of each line next to its right end, moved apart if two would overlap.

    - ends: for each line the x and y of its last point, its name and its colour
    - gap: the least distance of two names, in heights of a line of text
    - inside: for points of falling lines: above them in the left half, and below them, on their
      left, in the right half. What has to move has a line to its point.
    - text: more options of `Axes.annotate`

    Call it last, because later changes of the axes move the ends.
    """
    axes.figure.canvas.draw()  # settles the layout, which decides the distances
    fontsize = float(text.setdefault("fontsize", 10))
    least_distance = gap * fontsize
    letter_width = 0.65 * fontsize
    scale = axes.figure.dpi / 72  # what follows is in points
    middle = axes.transAxes.transform((0.5, 0))[0] / scale if inside else np.inf
    names = []
    for x, y, name, colour in ends:
        left, height = axes.transData.transform((x, y)) / scale
        side = 1 if left < middle else -1
        names.append((side * height, side, left, (x, y), name, colour))
    placed: list[tuple[float, float, float]] = []  # left, right and height of each name
    for rise, side, end, point, name, colour in sorted(names, key=lambda one: one[:2]):
        left, right = sorted((end, end + side * letter_width * len(name)))
        height = rise * side
        first = wanted = height + 6 * side * inside
        for other_left, other_right, other_height in placed:
            is_near = abs(wanted - other_height) < least_distance
            if is_near and left < other_right and other_left < right:
                wanted = other_height + side * least_distance
        placed.append((left, right, wanted))
        look: dict[str, Any] = {"arrowstyle": "-", "color": OTHER, "linewidth": 0.5}
        axes.annotate(
            name,
            point,
            xytext=(7 * side, wanted - height),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center",
            color=for_text(colour),
            annotation_clip=False,
            arrowprops=look if inside and wanted != first else None,
            **text,
        )


def law_grid(
    points: pd.DataFrame,
    *,
    panel: str = "corpus",
    y: str = "loss",
    columns: int = 2,
    size: tuple[float, float] = (3.0, 2.7),
    xlabel: str = SIZE,
    ylabel: str = r"$-\log\,\mathrm{RBP}_k$",
) -> Figure:
    """Log-log panels of one range, a least-squares line through each family, one legend below.

    - points: a row per point, with columns `family`, `S`, and those named by `panel` and `y`;
      panels and families appear in the order of the rows.
    - size: of a panel, in inches; two columns are `WIDTH` wide.

    A family of fewer than three points, or of one S, has no line.
    """
    inks = inks_of(points["family"])
    columns = min(columns, points[panel].nunique())
    with style():
        grid = sns.FacetGrid(
            points,
            col=panel,
            col_wrap=columns,
            col_order=list(dict.fromkeys(points[panel])),
            height=size[1],
            aspect=max(size[0], NARROW / columns) / size[1],
        )
        grid.map_dataframe(_draw_panel, y, inks)
        grid.set_titles("{col_name}")
        grid.set_axis_labels(xlabel, ylabel)
        grid.figure.set_layout_engine("constrained")
        if len(inks) > 1:
            marks = family_marks(inks, **MARKER_LOOK)
            place = "outside lower center"
            grid.figure.legend(handles=marks, loc=place, ncols=min(len(inks), 5))
    return grid.figure


def _draw_panel(y: str, inks: dict[Any, Ink], *, data: pd.DataFrame, color: object) -> None:
    """What `law_grid` draws in one panel; FacetGrid gives `data` and a colour of no use here."""
    axes = plt.gca()
    axes.set(xscale="log", yscale="log")
    for family, part in data.groupby("family", sort=False):
        # A share of 1 has a loss of 0, one of 0 an infinite loss: neither has a place on log axes.
        shown = part[(part[y] > 0) & np.isfinite(part[y])].sort_values("S")
        _draw_law(axes, shown["S"].to_numpy(), shown[y].to_numpy(), inks[family])
    log_ticks(axes)


def law_figure(curves: Sequence[Curve], x: str = SIZE, palette: str | None = None) -> Figure:
    """Losses on log-log axes, a panel for each corpus and quantity, with the models' names.

    Each family has its line, and as a band the 95% interval for one new model. A line whose slope
    cannot be told from 0 is grey and dashed.

    x: what the curves have as their S.
    palette: of seaborn, or colours with commas between them, for the families in their order.
    """
    panels: dict[tuple[str, str], list[Curve]] = {}
    for curve in curves:
        if ((curve.loss > 0) & np.isfinite(curve.loss)).any():  # log axes have no other place
            panels.setdefault((curve.corpus, curve.quantity), []).append(curve)
    inks = inks_of(curve.family for curve in curves)
    if palette is not None:
        with reason(
            f"--palette {palette}: give a palette of seaborn, or colours such as red,#0072B2"
        ):
            named = palette.split(",") if "," in palette else palette
            colours = sns.color_palette(named, len(inks))
            pairs = zip(inks.items(), colours, strict=False)
            inks = {family: Ink(to_hex(colour), ink.marker) for (family, ink), colour in pairs}
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    with style():
        figure = plt.figure(figsize=(4.6 * columns, 3.8 * rows), layout="constrained")
        for place, ((corpus, quantity), members) in enumerate(panels.items(), start=1):
            axes = figure.add_subplot(rows, columns, place, xscale="log", yscale="log")
            laws = []
            for curve in members:
                law = _draw_law(axes, curve.S, curve.loss, inks[curve.family], band=True)
                laws.append(f"{name_of(curve.family)}: {law}")
            log_ticks(axes)
            low, high = axes.get_xlim()
            if high / low <= PLAIN_SPAN:  # as losses have
                plain_log_ticks(axes.xaxis, low, high)
            else:
                axes.xaxis.set_major_locator(FixedLocator(_round_numbers(low, high, least=3)))
                axes.xaxis.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(99, 99)))
                axes.xaxis.set_minor_locator(NullLocator())
            name = re.sub(r"_(\w+)$", r"$_{\1}$", quantity)
            y = "CE (nats a token)" if quantity == "CE" else f"$-\\log$ {name}"
            axes.set(xlabel=x, ylabel=y)
            headed(axes, f"{name} on {short(corpus)}", "\n".join(laws))
        if len(inks) > 1:
            marks = family_marks(inks, **MARKER_LOOK)
            figure.legend(handles=marks, loc="outside lower center", ncols=min(len(inks), 5))
        for axes, members in zip(figure.axes, panels.values(), strict=True):  # all is in its place
            ends = []
            for curve in members:
                for model, S, loss in zip(curve.models, curve.S, curve.loss, strict=True):
                    if model and 0 < loss < np.inf:
                        name = plain(model.partition("/checkpoint-")[0])
                        ends.append((S, loss, name, inks[curve.family].colour))
            if len(ends) <= MOST_NAMES:
                label_ends(axes, ends, inside=True)
    return figure


def _draw_law(axes: Axes, S: np.ndarray, loss: np.ndarray, ink: Ink, band: bool = False) -> str:
    """The points of one family and their line, with a band for one new model; the law in words."""
    axes.plot(S, loss, ink.marker, color=ink.colour, zorder=3, **MARKER_LOOK)
    try:
        fit = fit_power_law(S, loss)
    except InputError:
        return "no line"
    sizes = np.geomspace(fit.S_min, fit.S_max, 50)
    predicted = fit.predict(sizes)
    if band:
        look: dict[str, Any] = {"color": CONTEXT, "alpha": 0.6, "linewidth": 0}
        axes.fill_between(sizes, predicted.low, predicted.high, **look)
    low, high = fit.slope_interval
    in_doubt = low <= 0 <= high
    dashes, colour = ("--", OTHER) if in_doubt else ("-", ink.colour)
    axes.plot(sizes, predicted.loss, dashes, color=colour, linewidth=1.2)
    doubt = ", which may be 0" if in_doubt else ""
    return f"slope {fit.slope:.3f} ({low:.3f} to {high:.3f}){doubt}"


def ticks(axis: Axis, places: Iterable[float], form: str = "{:g}") -> None:
    """Label an axis at these places and nowhere else; form: of a number, as `str.format` has it."""
    places = list(places)
    axis.set_ticks(places, [form.format(place) for place in places])
    axis.set_minor_locator(NullLocator())


def log_ticks(axes: Axes) -> None:
    """Label a logarithmic y axis with at least four plain numbers, whatever its span."""
    low, high = axes.get_ylim()
    if high / low <= PLAIN_SPAN:
        plain_log_ticks(axes.yaxis, low, high)
        return
    ticks = _round_numbers(low, high, least=4)

    def without_exponent(value: float, position: int | None) -> str:
        return np.format_float_positional(float(f"{value:.6g}"), trim="-")

    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(FuncFormatter(without_exponent))
    axes.yaxis.set_minor_locator(NullLocator())


def _round_numbers(low: float, high: float, least: int) -> list[float]:
    """Numbers with one or two digits between two others, from coarse to fine until there are so
    many."""
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.log10(high))
    for factors in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), FINEST_FACTORS):
        numbers = np.outer(decades, factors).ravel()
        numbers = numbers[(numbers >= low) & (numbers <= high)]
        if numbers.size >= least:
            break
    return numbers.tolist()


def plain_log_ticks(axis: Axis, low: float, high: float) -> None:
    """Label a logarithmic axis of a small span in equal steps."""
    scale = 10.0 ** np.floor(np.log10(high - low))
    # From fine to coarse, until there are six ticks or fewer.
    for factor in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2):
        step = factor * scale
        first = np.ceil(low / step) * step
        ticks = np.arange(first, high + step / 1e6, step)
        if len(ticks) <= 6:
            break
    axis.set_major_locator(FixedLocator(ticks.tolist()))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
    axis.set_minor_formatter(NullFormatter())
    axis.set_minor_locator(FixedLocator([]))


def curve_points(source: str, curves: Iterable[Curve]) -> pd.DataFrame:
    """The points of curves as a table: source, corpus, family, model, quantity, S, value, loss."""
    rows = []
    for curve in curves:
        about = (source, curve.corpus, curve.family)
        for model, S, value, loss in zip(
            curve.models, curve.S, curve.value, curve.loss, strict=True
        ):
            rows.append((*about, model, curve.quantity, S, value, loss))
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
    Values carry six significant digits, S all of its digits; a PNG has 256 colours.
    """
    figure = show(drawn)
    if not figures_dir:
        return
    form = figure_format(form)
    look = RcParams() if form == "png" else VECTOR
    picture = io.BytesIO()
    with plt.rc_context(look):
        figure.savefig(
            picture, format=form, dpi=SAVED_DPI, bbox_inches="tight", metadata=NO_DATE[form]
        )
    data = picture.getvalue() if form != "png" else with_palette(picture.getvalue())
    write_whole(Path(figures_dir), {f"{name}.{form}": data, f"{name}.csv": as_csv(points).encode()})


def with_palette(png: bytes) -> bytes:
    """The picture in its 256 most different colours, which makes it a third as large."""
    picture = Image.open(io.BytesIO(png))
    few_colours = picture.convert("RGB").quantize(
        256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    )
    smaller = io.BytesIO()
    few_colours.save(smaller, "PNG", optimize=True, dpi=picture.info.get("dpi"))
    return smaller.getvalue()


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
