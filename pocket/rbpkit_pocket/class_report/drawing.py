"""A class's exponents as pictures, and its tables as HTML in which nothing of a student's runs."""

from __future__ import annotations

import html
import io
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rbpkit.palette import CONTEXT, FAMILY_COLOURS, INK, OTHER
from rbpkit_pocket.class_report.hand_ins import cut, label_of

MOST_NAMED = 8  # students of a panel whose names and intervals are drawn
MOST_SHOWN = 40  # characters of an answer; answers.csv has more
NAME_HEIGHT = 0.07  # of the height of a panel
TICK_APART = 0.14  # of the width of the k: the least distance of two ticks
SIGNS = {"right": "\u2713", "not yet": "\u2717", "not answered yet": "\u2013"}
"""What a check says -> its sign in the table of answers."""


@dataclass(frozen=True)
class Places:
    """The k and the exponents that all panels of a page have on their axes."""

    ks: tuple[int, ...]
    low: float
    high: float

    def x(self, quantity: str) -> float:
        """From 0 to 1 for "RBP_k", logarithmic in k; CE has its own place, left of all k."""
        if quantity == "CE":
            return -0.25
        first, last = math.log(self.ks[0]), math.log(self.ks[-1])
        return (math.log(_k_of(quantity)) - first) / (last - first) if last > first else 0.5


def places_of(slopes: pd.DataFrame) -> Places:
    """Axes that hold all references and the paper's ranges, and all exponents but a few far ones."""
    ks = sorted({_k_of(quantity) for quantity in slopes["quantity"]} - {0})
    alphas = -slopes["slope"]
    quarter, three_quarters = alphas.quantile(0.25), alphas.quantile(0.75)
    far = 3 * (three_quarters - quarter) + 0.05
    near = alphas[alphas.between(quarter - far, three_quarters + far)]
    held = [near, -slopes["reference"], -slopes["paper_from"], -slopes["paper_to"]]
    drawn = pd.concat(held).dropna()
    margin = 0.06 * (drawn.max() - drawn.min()) + 0.005
    return Places(tuple(ks), drawn.min() - margin, drawn.max() + margin)


def _k_of(quantity: str) -> int:
    """The k of "RBP_10"; 0 for "CE"."""
    return int(quantity.partition("_")[2] or 0)


# -- panels -----------------------------------------------------------------------------------


def panels(slopes: pd.DataFrame) -> str:
    """A panel for each family, text and number of training tokens, all with the same axes."""
    places = places_of(slopes)
    sections = []
    groups = slopes.fillna({"trained": ""}).groupby(["family", "corpus", "trained"])
    for number, ((family, corpus, trained), rows) in enumerate(groups):
        title = f"{family} on {corpus.removeprefix('pocket:')}"
        if trained:
            title += f", {trained.removesuffix('m')} million training tokens"
        of_reference = set(rows["reference_text"]) - {corpus}
        if of_reference and rows["reference"].notna().any():
            title += f"; black: {', '.join(sorted(of_reference)).removeprefix('pocket:')}"
        students = rows["file"].nunique()
        svg = _svg(draw_panel(rows, places, str(number)), rows, str(number))
        heading = f"<h3>{html.escape(cut(title, 200))} <small>({students})</small></h3>"
        sections.append(f"<section>{heading}{svg}</section>")
    return f'<div class="panels">{"".join(sections)}</div>'


def draw_panel(rows: pd.DataFrame, places: Places, number: str) -> Figure:
    """The exponents of one family on one text: a line for each student, which has a gid."""
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(-0.4, 1.1), ylim=(places.low, places.high), xlabel="k")
    axes.set_title("exponent α", loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.set_major_locator(MaxNLocator(7))
    ticks = _ticks(places)
    axes.set_xticks(list(ticks), list(ticks.values()))
    _draw_known(axes, rows, places)
    of_students = list(rows.groupby("file", sort=False))
    named = len(of_students) <= MOST_NAMED
    # Points are moved a little from their k, so that equal ones are not on top of each other.
    reach = 0.04 * min(1, (len(of_students) - 1) / 4)
    last_points = {}
    for aside, (file, own) in zip(
        np.linspace(-reach, reach, len(of_students)), of_students, strict=True
    ):
        own = own.sort_values("quantity", key=lambda names: names.map(_k_of))
        x = np.array([places.x(quantity) + aside for quantity in own["quantity"]])
        alpha = -own["slope"].to_numpy()
        y = alpha.clip(places.low, places.high)
        colour = FAMILY_COLOURS.get(own["family"].iloc[0], OTHER)
        if named:
            axes.vlines(x, -own["high"], -own["low"], color=colour, alpha=0.4)
        is_ce = own["quantity"].to_numpy() == "CE"
        gid = f"student-{number}-{len(last_points)}"
        # NaN parts the line between CE and the first k.
        line_x, line_y = np.insert(x, is_ce.sum(), np.nan), np.insert(y, is_ce.sum(), np.nan)
        axes.plot(line_x, line_y, "o-", ms=6, lw=0.8, color=colour, alpha=0.8, mec="white",
                  mew=0.6, gid=gid)  # fmt: skip
        for beyond, mark in ((alpha > places.high, "^"), (alpha < places.low, "v")):
            axes.plot(x[beyond], y[beyond], mark, ms=7, mfc="white", mec=colour, clip_on=False)
        last_points[file] = (x[-1], y[-1])
    if named:
        _write_names(axes, last_points)
    return figure


def _draw_known(axes: Axes, rows: pd.DataFrame, places: Places) -> None:
    """The paper's range in grey, and the line of all pocket sizes in black."""
    once = rows.drop_duplicates("quantity")
    once = once.sort_values("quantity", key=lambda names: names.map(_k_of))
    x = np.array([places.x(quantity) for quantity in once["quantity"]])
    axes.vlines(x, -once["paper_from"], -once["paper_to"], color=CONTEXT, lw=16, zorder=0)
    axes.plot(x, -once["reference"], "_", ms=14, mew=1.8, color=INK)
    of_k = once["quantity"].to_numpy() != "CE"
    axes.plot(x[of_k], -once["reference"][of_k], color=INK, lw=1.2)


def _write_names(axes: Axes, last_points: dict[str, tuple[float, float]]) -> None:
    """Each name at the height of its last point, moved up or down where names would overlap."""
    by_height = sorted(last_points.items(), key=lambda item: item[1][1])
    low, high = axes.get_ylim()
    apart = NAME_HEIGHT * (high - low) * np.arange(len(by_height))
    wanted = np.array([y for _, (_, y) in by_height])
    heights = np.maximum.accumulate(wanted - apart) + apart
    from_top = high - apart[::-1]
    for (file, point), height in zip(by_height, np.minimum(heights, from_top), strict=True):
        axes.annotate(cut(label_of(file), 14), point, (1.14, height), va="center", parse_math=False,
                      annotation_clip=False, arrowprops={"arrowstyle": "-", "color": CONTEXT})  # fmt: skip


def _ticks(places: Places) -> dict[float, str]:
    """Place -> label of CE, of the powers of ten, and of the class's k if there is room."""
    powers = [10**i for i in range(9) if places.ks[0] <= 10**i <= places.ks[-1]]
    ticks = {places.x("CE"): "CE"}
    for k in (*powers, *places.ks):
        x = places.x(f"RBP_{k}")
        if all(abs(x - other) >= TICK_APART for other in ticks):
            ticks[x] = f"{k:,}"
    return ticks


def _svg(figure: Figure, rows: pd.DataFrame, number: str) -> str:
    """A panel as SVG for a page, where pointing at a student's line says the numbers."""
    # A name in letters that the font lacks is drawn by the browser.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    style = {"svg.fonttype": "none", "svg.hashsalt": number, "font.size": 10}
    with matplotlib.rc_context(style), io.StringIO() as file:
        figure.savefig(file, format="svg", metadata={"Date": None})
        svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    for student, (name, own) in enumerate(rows.groupby("file", sort=False)):
        lines = [label_of(name)]
        for row in own.itertuples():
            line = f"{row.quantity}: {-row.slope:.3f} ({-row.high:.3f} to {-row.low:.3f})"
            lines.append(f"{line}, {row.n} sizes; reference {-row.reference:.3f}")
        group = f'<g id="student-{number}-{student}">'
        title = html.escape("\n".join(lines))
        svg = svg.replace(group, f"{group}<title>{title.replace('; reference nan', '')}</title>")
    return svg


# -- tables -----------------------------------------------------------------------------------


def section(title: str, words: str, content: str) -> str:
    """A part of the page; nothing if it has no content."""
    return f"<h2>{title}</h2><p>{words}</p>{content}" if content else ""


def folded(title: str, content: str) -> str:
    """Content that opens on a click; nothing if there is none."""
    return f"<details><summary>{title}</summary>{content}</details>" if content else ""


def table_html(columns: Sequence[str], rows: Sequence[Sequence[object]], kind: str) -> str:
    """A table whose cells are escaped; "" if it has no rows. kind: its class on the page."""
    if not rows:
        return ""
    lines = [f"<tr>{''.join(f'<th>{html.escape(one)}</th>' for one in columns)}</tr>"]
    for row in rows:
        lines.append(f"<tr>{''.join(f'<td>{html.escape(str(one))}</td>' for one in row)}</tr>")
    return f'<div class="wide"><table class="{kind}">{"".join(lines)}</table></div>'


def exponents_table(slopes: pd.DataFrame) -> str:
    """All exponents, with intervals and what they are compared with."""
    rows = []
    for row in slopes.itertuples():
        interval = f"{-row.high:.3f} to {-row.low:.3f}"
        known = ("\u2013", "")
        if math.isfinite(row.reference):
            known = (f"{-row.reference:.3f}", row.reference_text)
        what = (label_of(row.file), row.family, row.corpus, row.quantity)
        rows.append((*what, row.n, f"{-row.slope:.3f}", interval, *known, f"{row.R2:.3f}"))
    columns = ("student", "family", "text", "quantity", "sizes", "exponent", "95% interval",
               "all sizes", "on", "R²")  # fmt: skip
    return table_html(columns, rows, "exponents")


def answers_table(answers: pd.DataFrame) -> str:
    """A row for each student: the sign of each check, and the answer."""
    signs = answers["verdict"].map(SIGNS).fillna("?")
    shown = [cut(answer, MOST_SHOWN) for answer in answers["answer"]]
    cells = signs + " " + pd.Series(shown, dtype=object).where(answers["answer"] != "None", "")
    exercise = answers["notebook"] + "." + answers["exercise"].astype(str).str.zfill(2)
    given = answers.assign(cell=cells, label=exercise)
    by_student = given.pivot_table("cell", "student", "label", aggfunc="first", fill_value="")
    right = (given["verdict"] == "right").groupby(given["student"]).sum()
    of_exercise = (given["verdict"] == "right").groupby(given["label"]).sum()
    rows = [(name, *row, right[name]) for name, row in zip(by_student.index, by_student.to_numpy())]
    if rows:
        total = [f"{count} of {len(by_student)}" for count in of_exercise[by_student.columns]]
        rows.append(("all", *total, ""))
    labels = [label.replace(".0", ".") for label in by_student.columns]
    table = table_html(("student", *labels, "right"), rows, "answers")
    # Every cell begins with our sign, so no answer can look like one.
    return table.replace("<td>\u2717", '<td class="wrong">\u2717')
