"""The page of a class: a panel for each family and text, answers, texts, the files to look at.

Everything is drawn here in the coordinates of a panel; `class_page.html` is the page's layout. The
page needs no script and no network.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources

import numpy as np
import pandas as pd
from jinja2 import Template

from rbpkit.palette import CONTEXT, FAMILY_COLOURS, INK, OTHER

WIDTH, HEIGHT = 440, 300  # of a panel
LEFT, TOP, BOTTOM = 48, 14, 258  # of its plot
RIGHT, RIGHT_OF_NAMED = 426, 330  # of its plot, without and with names next to it
MOST_NAMED = 8  # students of a panel whose names and intervals are drawn
LINE_HEIGHT = 13  # of names
TICK_APART = 38  # the least distance of two ticks of k
FEW_TICKS = 7  # most of them on the vertical axis
CHECK_MARKS = {"right": "\u2713", "not yet": "\u2717", "not answered yet": "\u2013"}
"""What a check says -> its sign in the table of answers."""


@dataclass(frozen=True)
class Dot:
    """One exponent of one student, or the edge of the plot if it is beyond that."""

    x: float
    y: float
    words: str
    low: float
    high: float
    beyond: int = 0  # 1 above the plot, -1 below


@dataclass
class Student:
    """The exponents of one file in one panel. line: the points of those at some k."""

    name: str
    dots: list[Dot]
    line: str
    name_y: float | None = None  # where the name is written, if it is


@dataclass
class Panel:
    """One family on one text, in the coordinates of its drawing."""

    title: str
    colour: str
    right: float
    names_x: float
    students: list[Student]
    ticks_x: list[tuple[float, str]]
    ticks_y: list[tuple[float, str]]
    reference: list[tuple[float, float]] = field(default_factory=list)  # of CE, then of each k
    paper: list[tuple[float, float, float]] = field(default_factory=list)  # x, top, bottom


@dataclass(frozen=True)
class Axes:
    """Where CE, each k and each exponent of a class are: the same in all panels of a page."""

    ks: tuple[int, ...]
    low: float
    high: float

    def x(self, quantity: str, right: float) -> float:
        """CE has its own place at the left; k is logarithmic."""
        if quantity == "CE":
            return LEFT + 22
        first, last = math.log(self.ks[0]), math.log(self.ks[-1])
        share = (math.log(k_of(quantity)) - first) / (last - first) if last > first else 0.5
        begin = LEFT + 74
        return begin + share * (right - 18 - begin)

    def y(self, alpha: float) -> float:
        return BOTTOM - (alpha - self.low) / (self.high - self.low) * (BOTTOM - TOP)


def k_of(quantity: str) -> int:
    """The k of "RBP_10"; 0 for "CE"."""
    return int(quantity.partition("_")[2] or 0)


def student_of(file: str) -> str:
    """The student's name: the file's without its ending."""
    for ending in (".txt", ".yaml", ".yml"):
        if file.lower().endswith(ending):
            file = file[: -len(ending)]
    return file.removeprefix("work-")  # of `make class`


def class_page(
    table: pd.DataFrame | None,
    answers: pd.DataFrame,
    *,
    notes: Sequence[tuple[str, str]] = (),
    texts: Sequence[tuple[str, str]] = (),
    not_handed_in: Sequence[tuple[str, Sequence[str]]] = (),
) -> str:
    """The page as HTML.

    table: `comparison` with the columns file, trained ("3m", or "" for the usual number of
    training tokens) and reference_text (the corpus of the reference); None if no file could be
    run. answers: file, student, notebook, exercise, answer, verdict. notes: (file, what to know
    about it), failures first. texts: (student, what the student wrote). not_handed_in: (student,
    files that were not changed).
    """
    source = resources.files("rbpkit").joinpath("study/class_page.html").read_text("utf-8")
    template = Template(source, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    exercises, rows = _answered(answers)
    return template.render(
        panels=[] if table is None else panels_of(table),
        rows=[] if table is None else table.to_dict("records"),
        exercises=exercises,
        answers=rows,
        verdicts=CHECK_MARKS,
        notes=notes,
        texts=texts,
        not_handed_in=not_handed_in,
        student_of=student_of,
        finite=math.isfinite,
        size={"width": WIDTH, "height": HEIGHT, "left": LEFT, "top": TOP, "bottom": BOTTOM},
        most_named=MOST_NAMED,
        ink=INK,
        context=CONTEXT,
    )


def panels_of(table: pd.DataFrame) -> list[Panel]:
    """A panel for each family, text and number of training tokens, all with the same axes."""
    axes = _axes(table)
    panels = []
    for (family, corpus, trained), rows in table.groupby(["family", "corpus", "trained"]):
        title = f"{family} on {corpus.removeprefix('pocket:')}"
        if trained:
            title += f", {trained.removesuffix('m')} million training tokens"
        of_reference = set(rows["reference_text"]) - {corpus}
        if of_reference and rows["reference"].notna().any():
            title += f"; black: {', '.join(sorted(of_reference)).removeprefix('pocket:')}"
        panels.append(_panel(title, FAMILY_COLOURS.get(family, OTHER), rows, axes))
    return panels


def _axes(table: pd.DataFrame) -> Axes:
    """Axes that hold all references and papers' ranges, and all exponents but a few far ones."""
    ks = sorted({k_of(quantity) for quantity in table["quantity"]} - {0})
    alphas = -table["slope"]
    quarter, three_quarters = alphas.quantile(0.25), alphas.quantile(0.75)
    far = 3 * (three_quarters - quarter) + 0.05
    near = alphas[alphas.between(quarter - far, three_quarters + far)]
    held = [near, -table["reference"], -table["paper_from"], -table["paper_to"]]
    drawn = pd.concat(held).dropna()
    margin = 0.06 * (drawn.max() - drawn.min()) + 0.005
    return Axes(tuple(ks), drawn.min() - margin, drawn.max() + margin)


def _panel(title: str, colour: str, rows: pd.DataFrame, axes: Axes) -> Panel:
    files = list(rows.groupby("file", sort=False))
    named = len(files) <= MOST_NAMED
    right = RIGHT_OF_NAMED if named else RIGHT
    places = [axes.x(name, right) for name in rows["quantity"].unique() if name != "CE"]
    students = []
    for number, (file, own) in enumerate(files):
        aside = _aside(number, len(files), places)
        students.append(_student(student_of(file), own, axes, right, aside))
    if named:
        _place_names(students)
    names_x = max(student.dots[-1].x for student in students) + 24
    ticks_x, ticks_y = _ticks_x(axes, right), _ticks_y(axes)
    panel = Panel(title, colour, right, names_x, students, ticks_x, ticks_y)
    once = rows.drop_duplicates("quantity")
    for row in once.sort_values("quantity", key=lambda names: names.map(k_of)).itertuples():
        x = axes.x(row.quantity, right)
        if math.isfinite(row.reference):
            panel.reference.append((x, axes.y(-row.reference)))
        if math.isfinite(row.paper_from):
            ends = axes.y(-row.paper_from), axes.y(-row.paper_to)
            panel.paper.append((x, min(ends), max(ends)))
    return panel


def _aside(number: int, count: int, places: list[float]) -> float:
    """How far a student's points are moved from their k, so that equal ones are not on top.

    places: where the panel's k are.
    """
    least_gap = min(np.diff(sorted(places)), default=40.0)
    reach = min(max(0.4 * least_gap, 4.0), 12.0)
    step = min(6.0, 2 * reach / max(1, count - 1))
    return (number - (count - 1) / 2) * step


def _student(name: str, rows: pd.DataFrame, axes: Axes, right: float, aside: float) -> Student:
    dots, line = [], []
    for row in rows.sort_values("quantity", key=lambda names: names.map(k_of)).itertuples():
        alpha = -row.slope
        shown = min(max(alpha, axes.low), axes.high)
        words = f"{name}, {row.quantity}: {alpha:.3f} ({-row.high:.3f} to {-row.low:.3f})"
        words += f", {row.n} sizes"
        if math.isfinite(row.reference):
            text = "" if row.reference_text == row.corpus else f" on {row.reference_text}"
            words += f"; all sizes{text} {-row.reference:.3f}"
        low = axes.y(max(-row.high, axes.low))
        high = axes.y(min(-row.low, axes.high))
        x = axes.x(row.quantity, right) + aside
        beyond = int(alpha > axes.high) - int(alpha < axes.low)
        dots.append(Dot(x, axes.y(shown), words, low, high, beyond))
        if row.quantity != "CE":
            line.append(f"{x:.1f},{axes.y(shown):.1f}")
    return Student(name, dots, " ".join(line))


def _place_names(students: list[Student]) -> None:
    """Names at the heights of the last points, and then moved apart."""
    by_height = sorted(students, key=lambda student: student.dots[-1].y)
    free = TOP + 4.0
    for student in by_height:
        student.name_y = max(student.dots[-1].y, free)
        free = student.name_y + LINE_HEIGHT
    bottom = float(BOTTOM)
    for student in reversed(by_height):
        assert student.name_y is not None
        student.name_y = min(student.name_y, bottom)
        bottom = student.name_y - LINE_HEIGHT


def _ticks_x(axes: Axes, right: float) -> list[tuple[float, str]]:
    """CE, the powers of ten, and k of the class if there is room."""
    powers = [10**i for i in range(9) if axes.ks[0] <= 10**i <= axes.ks[-1]]
    ticks = [(axes.x("CE", right), "CE")]
    for k in (*powers, *axes.ks):
        x = axes.x(f"RBP_{k}", right)
        if all(abs(x - other) >= TICK_APART for other, _ in ticks):
            ticks.append((x, f"{k:,}"))
    return ticks


def _ticks_y(axes: Axes) -> list[tuple[float, str]]:
    steps = [digit * 10.0**power for power in range(-3, 3) for digit in (1, 2, 5)]
    span = axes.high - axes.low
    step = next((step for step in steps if span / step <= FEW_TICKS), steps[-1])
    first = math.ceil(axes.low / step)
    last = math.floor(axes.high / step)
    return [(axes.y(i * step), f"{i * step:.3g}") for i in range(first, last + 1)]


def _answered(answers: pd.DataFrame) -> tuple[list[str], list[tuple[str, list[dict | None]]]]:
    """The exercises ("00.1"), and for each student the answer to each of them, or None."""
    labels = answers["notebook"] + "." + answers["exercise"].astype(str)
    by_number = answers.assign(label=labels).sort_values(["notebook", "exercise"])
    exercises = list(dict.fromkeys(by_number["label"]))
    rows = []
    for student, given in by_number.groupby("student"):
        answer_of = {row["label"]: row for row in given.to_dict("records")}
        rows.append((str(student), [answer_of.get(label) for label in exercises]))
    return exercises, rows
