"""A class's exponents as pictures, and tables as HTML in which nothing of a student's runs."""

from __future__ import annotations

import html
import io
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rbpkit.palette import CONTEXT, FAMILY_COLOURS, INK, OTHER
from rbpkit_notebooks.class_report.answers import BESIDES, WRITTEN
from rbpkit_notebooks.class_report.hand_ins import HandIns, label_of
from rbpkit_notebooks.class_report.reading import cut

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
    """A panel for each family, text and number of training tokens; all own texts share one."""
    placed = slopes.fillna({"trained": ""}).assign(
        alpha=-slopes["slope"], k=slopes["quantity"].str.extract(r"RBP_(\d+)")[0].astype(float)
    )
    is_own = ~placed["corpus"].str.startswith("pocket:")
    text = placed["corpus"].str.removeprefix("pocket:").where(~is_own, "a text of one's own")
    sections = []
    for (family, corpus, trained), rows in placed.groupby(["family", text, "trained"]):
        title = f"{family} on {corpus}"
        if trained:
            title += f", {trained.removesuffix('m')} million training tokens"
        of_reference = set(rows["reference_text"]) - set(rows["corpus"])
        if of_reference and rows["reference"].notna().any():
            title += f"; mark: {', '.join(sorted(of_reference)).removeprefix('pocket:')}"
        title = cut(title, 200)
        students = rows["file"].nunique()
        figure = Figure(figsize=(5, 1.1 + 0.22 * students), layout="constrained")
        FigureCanvasAgg(figure)  # can tell where labels are
        draw_panel(figure.subplots(), rows)
        heading = f"<h3>{html.escape(title)} <small>({students})</small></h3>"
        sections.append(f"<section>{heading}{_svg(figure, title)}</section>")
    return f'<div class="panels">{"".join(sections)}</div>'


def draw_panel(axes: Axes, rows: pd.DataFrame) -> None:
    """A row for each study, by rising exponent: dot and interval, upright reference, grey paper.

    The exponent is that at k = 1, or else at the k that most of these studies have. A study without
    it has its first k, which its label names. An exponent beyond the axis is an open triangle.
    """
    at_k = rows.dropna(subset="k")
    usual = 1.0 if (at_k["k"] == 1).any() else at_k["k"].mode()[0]
    first = at_k.sort_values("k").assign(other=at_k["k"] != usual)
    shown = first.sort_values("other", kind="stable").drop_duplicates("file").sort_values("alpha")
    known = -shown[["slope", "low", "high", "reference", "paper_from", "paper_to"]].stack()
    left, right = np.clip([known.min(), known.max()], -0.2, 1)
    margin = 0.05 * (right - left) + 0.01
    axes.set_xlim(left - margin, right + margin)
    labels = []
    for place, row in enumerate(shown.itertuples()):
        colour = FAMILY_COLOURS.get(row.family, OTHER)
        axes.plot([-row.paper_to, -row.paper_from], [place, place], color=CONTEXT, lw=9, zorder=0)
        axes.plot([-row.high, -row.low], [place, place], color=colour, lw=1.5)
        inside = np.clip(row.alpha, *axes.get_xlim())
        mark = "o" if inside == row.alpha else ">" if inside < row.alpha else "<"
        fill = colour if inside == row.alpha else "white"
        axes.plot(inside, place, mark, ms=6, color=colour, mfc=fill, clip_on=False)
        axes.plot(-row.reference, place, "|", ms=11, mew=2, color=INK)
        name = cut(label_of(row.file), 24)
        labels.append(f"{name}, k = {row.k:.0f}" if row.other else name)
    axes.set_yticks(range(len(labels)), labels, parse_math=False)  # a $ is a $
    axes.set_ylim(-0.6, len(labels) - 0.4)
    axes.set_xlabel(f"exponent \u03b1 at k = {usual:.0f}")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _svg(figure: Figure, title: str) -> str:
    """A panel as SVG for a page; all that it shows is also in the table below it."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # of letters that its font lacks
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    svg = file.getvalue()
    label = html.escape(f"{title}: exponents with intervals, in the table below")
    return svg[svg.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


# -- tables -----------------------------------------------------------------------------------


def html_table(table: pd.DataFrame, kind: str) -> str:
    """A table whose cells are escaped. kind: its class on the page."""
    if table.empty:
        return "<p>None.</p>"
    escaped = table.map(lambda cell: _in_cell(cell) if isinstance(cell, str) else cell)
    look: dict[str, Any] = {"index": False, "border": 0, "na_rep": "", "classes": kind}
    with pd.option_context("display.max_colwidth", None):
        cells = escaped.to_html(float_format="{:.3f}".format, escape=False, **look)
    return f'<div class="wide">{cells}</div>'


def _in_cell(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")


def students_table(
    found: HandIns, slopes: pd.DataFrame, answers: pd.DataFrame, written: Mapping[str, object]
) -> pd.DataFrame:
    """A row for each student: what of theirs is on the page, and what is not, and why."""
    rows = []
    for student in [*found.names, *sorted(found.students() - set(found.names))]:
        own = {file for file in slopes["file"].unique() if found.student(file) == student}
        right = answers.loc[answers["file"].map(found.student) == student, "verdict"]
        why = [f"{file}: {reason}" for file, reason in found.faults]
        why = [one for one in why if found.student(one.partition(": ")[0]) == student]
        unchanged = [Path(name) for name in found.unchanged.get(student, [])]
        # Who hands in one study need not hear of the other three.
        left = [path.stem for path in unchanged if path.suffix != ".yaml" or not own]
        if left:
            why.append(f"not changed: {', '.join(left)}")
        if student not in found.students():
            why.append("nothing was found")
        if found.names and student not in found.names:
            why.append("not in the list of names")
        rows.append(
            {
                "student": student,
                "studies": ", ".join(sorted(label_of(file).rpartition("/")[2] for file in own)),
                "answers right": f"{(right == 'right').sum()} of {len(right)}"
                if len(right)
                else "",
                "answers.md": "yes" if student in map(found.student, written) else "",
                "not here, and why": "\n".join(why),
            }
        )
    return pd.DataFrame(rows)


def written_table(found: HandIns, written: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """What students wrote in answers.md, a column for each of its lines."""
    rows = [{"student": found.student(file)} | dict(texts) for file, texts in written.items()]
    table = pd.DataFrame(rows, columns=["student", *WRITTEN, BESIDES])
    return table if table[BESIDES].any() else table.drop(columns=BESIDES)


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
    forged = (answers["printed"] == "right") & (answers["verdict"] != "right")
    cells = answers["verdict"].map(SIGNS) + np.where(forged, "! ", " ") + shown
    told = answers.assign(cell=cells, right=answers["verdict"] == "right")
    exercise = ["notebook", "exercise"]
    table = told.pivot_table("cell", "student", exercise, aggfunc="first", fill_value="")
    right_of_exercise = told.groupby(exercise)["right"].sum()[table.columns]
    table.columns = [f"{notebook}.{number}" for notebook, number in table.columns]
    table["right"] = told.groupby("student")["right"].sum()
    last = [f"{right} of {len(table)}" for right in right_of_exercise]
    last_row = pd.DataFrame([[*last, ""]], columns=table.columns, index=["right"])
    return pd.concat([table, last_row]).rename_axis("student").reset_index()
