"""The tables of a class: what of them stands on the page, and what the CSV files have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from rbpkit_notebooks.class_report.answers import BESIDES, WRITTEN
from rbpkit_notebooks.class_report.hand_ins import HandIns, label_of
from rbpkit_notebooks.class_report.reading import cut, printable

MOST_SHOWN = 40  # characters of an answer; answers.csv has more
SIGNS = {"right": "\u2713", "not yet": "\u2717", "not answered yet": "\u2013", "not run": "?"}
"""What a check says -> its sign in the table of answers."""
EXPONENTS = {
    **{"file": "student", "family": "family", "corpus": "text", "quantity": "quantity"},
    **{"n": "sizes", "slope": "exponent", "high": "95% from", "low": "to"},
    **{"reference": "all sizes", "reference_text": "on", "R2": "R\u00b2"},
}
"""Columns of comparison.csv -> those of the table of exponents."""

# What a cell begins with that a spreadsheet would compute; the last four are wide letters.
FORMULA = re.compile(r"[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def without_formula(cell: object) -> object:
    """A cell of a table; a text that a spreadsheet would compute begins with an apostrophe.

    A plain number, such as the answer -0.09, stays as it is.
    """
    if not isinstance(cell, str) or not FORMULA.match(cell) or NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def joined(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """file -> its table, as one table with the column file in front."""
    parts = [pd.DataFrame(columns=["file"])]
    for file, rows in tables.items():
        rows = rows.map(lambda cell: cut(printable(cell)) if isinstance(cell, str) else cell)
        rows.insert(0, "file", file)
        parts.append(rows)
    return pd.concat(parts[1:] or parts, ignore_index=True)


# -- on the page ------------------------------------------------------------------------------


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
        studies = sorted(label_of(file).rpartition("/")[2] for file in own)
        score = f"{(right == 'right').sum()} of {len(right)}" if len(right) else ""
        has_written = "yes" if student in map(found.student, written) else ""
        rows.append((student, ", ".join(studies), score, has_written, "\n".join(why)))
    columns = ["student", "studies", "answers right", "answers.md", "not here, and why"]
    return pd.DataFrame(rows, columns=columns)


def written_table(found: HandIns, written: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """What students wrote in answers.md, a column for each of its lines."""
    rows = [{"student": found.student(file)} | dict(texts) for file, texts in written.items()]
    table = pd.DataFrame(rows, columns=["student", *WRITTEN, BESIDES])
    return table if table[BESIDES].any() else table.drop(columns=BESIDES)


def exponents_table(slopes: pd.DataFrame) -> pd.DataFrame:
    """All exponents, with intervals and what they are compared with."""
    if slopes.empty:
        return slopes
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
