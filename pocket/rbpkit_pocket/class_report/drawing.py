"""A class's exponents as pictures, and tables as HTML in which nothing of a student's runs."""

from __future__ import annotations

import html
import io
import logging

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from rbpkit.palette import CONTEXT, FAMILY_COLOURS, INK, OTHER
from rbpkit.plots import label_ends
from rbpkit_pocket.class_report.hand_ins import cut, label_of

MOST_NAMED = 8  # students of a panel whose names and intervals are drawn
MOST_SHOWN = 40  # characters of an answer; answers.csv has more
SIGNS = {"right": "\u2713", "not yet": "\u2717", "not answered yet": "\u2013", "not run": "?"}
"""What a check says -> its sign in the table of answers."""
EXPONENTS = {
    **{"file": "student", "family": "family", "corpus": "text", "quantity": "quantity"},
    **{"n": "sizes", "slope": "exponent", "high": "95% from", "low": "to"},
    **{"reference": "all sizes", "reference_text": "on", "R2": "R\u00b2"},
}
"""Columns of comparison.csv -> those of the table of exponents."""


# -- panels -----------------------------------------------------------------------------------


def panels(slopes: pd.DataFrame) -> str:
    """A panel for each family, text and number of training tokens, all with the same axes."""
    placed = with_places(slopes.fillna({"trained": ""}))
    low, high = _limits(placed)
    sections = []
    for (family, corpus, trained), rows in placed.groupby(["family", "corpus", "trained"]):
        title = f"{family} on {corpus.removeprefix('pocket:')}"
        if trained:
            title += f", {trained.removesuffix('m')} million training tokens"
        of_reference = set(rows["reference_text"]) - {corpus}
        if of_reference and rows["reference"].notna().any():
            title += f"; black: {', '.join(sorted(of_reference)).removeprefix('pocket:')}"
        figure = Figure(figsize=(5, 3.4), layout="constrained")
        FigureCanvasAgg(figure)  # can tell where labels are
        axes = figure.subplots()
        _set_axes(axes, placed, low, high)
        gids = draw_panel(axes, rows)
        heading = f"<h3>{html.escape(cut(title, 200))} <small>({len(gids)})</small></h3>"
        sections.append(f"<section>{heading}{_svg(figure, rows, gids)}</section>")
    return f'<div class="panels">{"".join(sections)}</div>'


def with_places(slopes: pd.DataFrame) -> pd.DataFrame:
    """The slopes with their exponents (alpha), and x: k, and for CE a place left of all k."""
    k = slopes["quantity"].str.extract(r"RBP_(\d+)")[0].astype(float)
    place_of_ce = k.min() / (k.max() / k.min()) ** 0.25 / 1.5
    placed = slopes.assign(alpha=-slopes["slope"], x=k.fillna(place_of_ce))
    return placed.sort_values(["file", "x"])


def _limits(placed: pd.DataFrame) -> tuple[float, float]:
    """Exponents that hold all references, the paper's ranges, and all students' but absurd ones."""
    known = -placed[["reference", "paper_from", "paper_to"]].stack()
    drawn = pd.concat([placed["alpha"].clip(-0.2, 1), known]).dropna()
    margin = 0.06 * (drawn.max() - drawn.min()) + 0.005
    return drawn.min() - margin, drawn.max() + margin


def _set_axes(axes: Axes, placed: pd.DataFrame, low: float, high: float) -> None:
    axes.set_xscale("log")
    ce, last = placed["x"].min(), placed["x"].max()
    margin = 1.3 * (last / ce) ** 0.06
    axes.set(xlim=(ce / margin, last * margin), ylim=(low, high), xlabel="k")
    axes.set_title("exponent \u03b1", loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    first = placed["x"][placed["quantity"] != "CE"].min()
    ks = [10**power for power in range(19) if first <= 10**power <= last] or [int(first)]
    axes.set_xticks([ce, *ks], ["CE", *(f"{k:,}" for k in ks)])
    axes.xaxis.set_minor_locator(NullLocator())


def draw_panel(axes: Axes, rows: pd.DataFrame) -> dict[str, str]:
    """Draw the exponents of one family on one text; returns student's file -> id of its points.

    rows: of `with_places`. Grey is the paper's range, black the reference. A point beyond the axes
    is an open triangle at their edge.
    """
    known = rows.drop_duplicates("quantity").sort_values("x")
    axes.vlines(known["x"], -known["paper_from"], -known["paper_to"], CONTEXT, lw=16, zorder=0)
    axes.plot(known["x"], -known["reference"], "_", ms=14, mew=1.8, color=INK)
    known = known[known["quantity"] != "CE"]
    axes.plot(known["x"], -known["reference"], color=INK, lw=1.2)
    students = list(rows.groupby("file"))
    has_names = len(students) <= MOST_NAMED
    # Points are moved a little from their k, so that equal ones are not on top of each other.
    reach = 0.025 * min(1, (len(students) - 1) / 4)
    width = np.log(axes.get_xlim()[1] / axes.get_xlim()[0])
    asides = np.exp(width * np.linspace(-reach, reach, len(students)))
    gids: dict[str, str] = {}
    ends = []
    for (file, own), aside in zip(students, asides, strict=True):
        colour = FAMILY_COLOURS.get(own["family"].iloc[0], OTHER)
        x, alpha = own["x"] * aside, own["alpha"]
        y = alpha.clip(*axes.get_ylim())
        gids[file] = f"student-{len(gids)}"
        is_k = own["quantity"] != "CE"
        axes.plot(x[is_k], y[is_k], color=colour, lw=0.8, alpha=0.6)
        axes.plot(x, y, "o", ms=6, color=colour, alpha=0.8, mec="white", mew=0.6, gid=gids[file])
        for beyond, mark in ((alpha > y, "^"), (alpha < y, "v")):
            axes.plot(x[beyond], y[beyond], mark, ms=7, mfc="white", mec=colour, clip_on=False)
        if has_names:
            axes.vlines(x, -own["high"], -own["low"], color=colour, alpha=0.4)
            ends.append((x.iloc[-1], y.iloc[-1], cut(label_of(file), 14), INK))
    if ends:
        label_ends(axes, ends, parse_math=False)  # a $ is a $
    return gids


def _svg(figure: Figure, rows: pd.DataFrame, gids: dict[str, str]) -> str:
    """A panel as SVG for a page, where pointing at a student's points says the numbers."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # of letters that its font lacks
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    for student, own in rows.groupby("file"):
        lines = [label_of(student)]
        for row in own.itertuples():
            interval = f"({-row.high:.3f} to {-row.low:.3f}), {row.n} sizes"
            reference = "" if pd.isna(row.reference) else f"; all sizes {-row.reference:.3f}"
            lines.append(f"{row.quantity}: {row.alpha:.3f} {interval}{reference}")
        group = f'<g id="{gids[student]}">'
        title = html.escape("\n".join(lines))
        svg = svg.replace(group, f"{group}<title>{title}</title>")
    return svg


# -- tables -----------------------------------------------------------------------------------


def html_table(table: pd.DataFrame, kind: str) -> str:
    """A table whose cells are escaped. kind: its class on the page."""
    if table.empty:
        return "<p>None.</p>"
    with pd.option_context("display.max_colwidth", None):
        cells = table.to_html(
            index=False, border=0, na_rep="", float_format="{:.3f}".format, classes=kind
        )
    return f'<div class="wide">{cells}</div>'


def exponents_table(slopes: pd.DataFrame) -> pd.DataFrame:
    """All exponents, with intervals and what they are compared with."""
    shown = slopes.rename(columns=EXPONENTS)[[*EXPONENTS.values()]]
    shown["student"] = shown["student"].map(label_of)
    falls = ["exponent", "95% from", "to", "all sizes"]
    shown[falls] = -shown[falls]
    shown["on"] = shown["on"].where(shown["all sizes"].notna(), "")
    return shown


def answers_table(answers: pd.DataFrame) -> pd.DataFrame:
    """A row for each student: the sign of each check, and the answer; then how many are right."""
    if answers.empty:
        return answers
    answered = answers["answer"].where(answers["answer"] != "None", "")
    shown = answered.map(lambda answer: cut(answer, MOST_SHOWN))
    cells = answers["verdict"].map(SIGNS) + " " + shown
    told = answers.assign(cell=cells, right=answers["verdict"] == "right")
    exercise = ["notebook", "exercise"]
    table = told.pivot_table("cell", "student", exercise, aggfunc="first", fill_value="")
    right_of_exercise = told.groupby(exercise)["right"].sum()[table.columns]
    table.columns = [f"{notebook}.{number}" for notebook, number in table.columns]
    table["right"] = told.groupby("student")["right"].sum()
    last = [f"{right} of {len(table)}" for right in right_of_exercise]
    last_row = pd.DataFrame([[*last, ""]], columns=table.columns, index=["right"])
    return pd.concat([table, last_row]).rename_axis("student").reset_index()
