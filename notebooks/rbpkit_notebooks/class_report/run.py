"""`rbpkit classroom`: the tables and the page of a class."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pandas as pd
from jinja2 import Environment

from rbpkit.writing import as_csv, write_whole
from rbpkit_notebooks.class_report import tables
from rbpkit_notebooks.class_report.answers import (
    joined_answers,
    note_copies,
    read_answers,
    read_written,
)
from rbpkit_notebooks.class_report.drawing import panels
from rbpkit_notebooks.class_report.hand_ins import find_hand_ins
from rbpkit_notebooks.class_report.studies import study_slopes


def run_class(
    folder: Path,
    out: Path,
    *,
    names: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, str]:
    """Gather the slopes of all parameter files of `folder` and the answers of its notebooks.

    Its zips count too, and its folders, two levels down. Written into `out`:

    - comparison.csv: slopes as `rbpkit reproduce` compares them.
    - answers.csv: of each exercise of a handed-in notebook the answer and what its check said.
    - failures.csv: file, reason.
    - class.html: all of it, drawn, what students wrote in answers.md, and a row for each of
      `names`, a file with a student's name on each line.

    Nothing is measured, and no handed-in notebook is run. A file that cannot be read does not stop
    the others.

    Returns what is wrong with the files that failed, as in failures.csv. Raises InputError, before
    anything is read, if the folder or the names are missing.
    """
    found = find_hand_ins(folder, say, names)
    slopes = tables.joined(
        found.read("studies", lambda file, path: study_slopes(found, file, path))
    )
    answers = joined_answers(
        found.read("notebooks", lambda file, path: read_answers(file, found.student(file), path))
    )
    written = found.read("texts", lambda file, path: read_written(path))
    note_copies(found.files["notebooks"], written, found.student, found.note)

    failures = pd.DataFrame(found.faults, columns=["file", "reason"])
    failed = [(file, f"failed: {reason}") for file, reason in sorted(found.faults)]
    template = resources.files("rbpkit_notebooks.class_report").joinpath("page.html")
    page = Environment(autoescape=True, trim_blocks=True).from_string(template.read_text("utf-8"))
    html = page.render(
        students=tables.students_table(found, slopes, answers, written),
        panels=panels(slopes) if len(slopes) else [],
        exponents=tables.exponents_table(slopes),
        answers=tables.answers_table(answers),
        texts=tables.written_table(found, written),
        notes=pd.DataFrame([*failed, *sorted(found.notes)], columns=["file", "what"]),
    )
    files = {"class.html": html.encode()}
    for name, table in {"comparison": slopes, "answers": answers, "failures": failures}.items():
        files[f"{name}.csv"] = as_csv(table.map(tables.without_formula)).encode()
    write_whole(out, files)
    say(f"{found.summary()}; open {out / 'class.html'}")
    return dict(found.faults)
