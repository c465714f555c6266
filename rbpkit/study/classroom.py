"""A class's studies and answers: everything that a folder has, in tables and on one page."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from pydantic import ValidationError

import rbpkit
from rbpkit.errors import InputError, one_line
from rbpkit.files.writing import as_csv, write_whole
from rbpkit.records import load_summaries
from rbpkit.study.answers import Answer, read_answers, student_of_notebook
from rbpkit.study.class_page import class_page
from rbpkit.study.notebooks import notebook_called, run
from rbpkit.study.params import load_params, problems
from rbpkit.study.reproduce import TRAINING_TOKENS, comparison, reference_summaries
from rbpkit.summary import Summary

COMPARISON = "comparison"
STUDIES = (".yaml", ".yml", ".yaml.txt", ".yml.txt")
"""Endings of parameter files. Windows hides endings, and Notepad adds .txt to what it saves."""
NOTEBOOKS = (".ipynb",)
ANSWERS = ["file", "student", "notebook", "exercise", "answer", "verdict"]


@dataclass
class HandIns:
    """What is in a folder: path of each file by its name below the folder, and what to know.

    - studies, notebooks: what students handed in.
    - notes: (file, what to know about it), of the others and of files that are alike.
    - unchanged: how many templates nobody changed.
    """

    studies: dict[str, Path] = field(default_factory=dict)
    notebooks: dict[str, Path] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    unchanged: int = 0


def run_class(
    folder: Path,
    out: Path,
    *,
    notebook: str | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, list[str]]:
    """Gather the slopes of all parameter files of `folder` and the answers of its notebooks.

    Files in folders of `folder`, one level down, count too. Written into `out`:

    - comparison.csv: slopes as `rbpkit reproduce` compares them.
    - answers.csv: of each exercise of a handed-in notebook the answer and what its check said.
      The notebooks are read and not run.
    - failures.csv: file, reason; a row for each fault.
    - class.html: all of it, drawn (`class_page`).

    With a notebook also runs/FILE/, with that notebook executed on each parameter file and its
    figures, and NAME.csv for each table that it writes. A relative records_dir is looked up next to
    its file. Nothing is measured: what a file asks for must be there, or come with a plugin. A file
    that cannot be read or run does not stop the others, and a file of the repository that was not
    changed counts as not handed in.

    Returns what is wrong with the files that failed: file -> a line for each fault.
    Raises InputError, before anything is run, if the notebook or the folder is missing.
    """
    name = None if notebook is None else notebook_called(notebook)
    found = hand_ins(folder)
    for file, what in found.notes:
        say(f"{file}: {what}")
    failures: dict[str, list[str]] = {}

    def failed(file: str, error: Exception) -> None:
        failures[file] = _faults(error)
        for fault in failures[file]:
            say(f"{file}: failed: {fault}")
            brief = fault.removeprefix(f"{file}: ").replace(f"{folder.resolve()}{os.sep}", "")
            found.notes.append((file, f"failed: {brief}"))

    parts: dict[str, list[pd.DataFrame]] = {}
    for file, path in found.studies.items():
        try:
            tables = _tables_of(path, name, out / "runs" / file)
        except Exception as error:  # whatever one file brings along, the others are run
            failed(file, error)
            continue
        say(f"{file}: done")
        for table_name, rows in tables.items():
            rows.insert(0, "file", file)
            parts.setdefault(table_name, []).append(rows)
    answers: dict[str, list[Answer]] = {}
    for file, path in found.notebooks.items():
        try:
            answers[file] = read_answers(path)
        except InputError as error:
            failed(file, error)

    gathered = {table: pd.concat(rows, ignore_index=True) for table, rows in parts.items()}
    gathered["failures"] = pd.DataFrame(
        [(file, fault) for file, faults in failures.items() for fault in faults],
        columns=["file", "reason"],
    )
    gathered["answers"] = _answers_table(answers)
    files = {f"{table}.csv": as_csv(rows).encode() for table, rows in gathered.items()}
    page = class_page(gathered.get(COMPARISON), gathered["answers"], sorted(found.notes))
    files["class.html"] = page.encode()
    write_whole(out, files)
    ran = len(found.studies) + len(found.notebooks) - len(failures)
    say(
        f"{ran} files read, {len(failures)} failed, {found.unchanged} not handed in;"
        f" open {out / 'class.html'}"
    )
    return failures


def hand_ins(folder: Path) -> HandIns:
    """What is in a folder and in the folders in it. Hidden files are left out.

    Raises InputError if the folder is missing, or has no parameter file and no notebook.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    root = Path(rbpkit.__file__).resolve().parent.parent
    of_repository = [*root.glob("params/class/*.yaml"), *root.glob("notebooks/*.ipynb")]
    unchanged = {path.read_bytes() for path in of_repository}
    found = HandIns()
    same: dict[str, str] = {}  # digest of the bytes -> the first file that has them
    some = False
    for path in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        name = path.relative_to(folder).as_posix()
        name = name.encode(errors="backslashreplace").decode()  # bytes that are no text
        ending = path.name.lower()
        is_study, is_notebook = ending.endswith(STUDIES), ending.endswith(NOTEBOOKS)
        if not path.is_file() or name.startswith(".") or "/." in name:
            continue
        if not is_study and not is_notebook:
            if "/" not in name:  # folders hold records
                what = "ignored: neither a parameter file (.yaml) nor a notebook (.ipynb)"
                found.notes.append((name, what))
            continue
        some = True
        data = path.read_bytes()
        if data in unchanged:
            kind = "a template" if is_study else "a notebook of the repository"
            found.notes.append((name, f"not handed in ({kind}, not changed)"))
            found.unchanged += 1
            continue
        first = same.setdefault(hashlib.sha256(data).hexdigest(), name)
        if first != name:
            found.notes.append((name, f"the same bytes as {first}"))
        if ending.endswith(".txt"):
            what = f"read as {path.stem}; the ending .txt is Notepad's, and Windows hides it"
            found.notes.append((name, what))
        (found.studies if is_study else found.notebooks)[name] = path
    if not some:
        raise InputError(f"{folder}: no parameter files (.yaml) and no notebooks (.ipynb) in it")
    return found


def _answers_table(answers: dict[str, list[Answer]]) -> pd.DataFrame:
    """A row for each exercise of each notebook.

    A student who handed in a notebook twice is called by the file's name in those rows.
    """
    students = {file: student_of_notebook(file) for file in answers}
    owners: dict[tuple[str, str], list[str]] = {}
    for file, given in answers.items():
        owners.setdefault((students[file], given[0].notebook), []).append(file)
    for files in owners.values():
        if len(files) > 1:
            students.update({file: file for file in files})
    rows = []
    for file, given in answers.items():
        for one in given:
            row = (file, students[file], one.notebook, one.exercise, one.answer, one.verdict)
            rows.append(row)
    return pd.DataFrame(rows, columns=ANSWERS)


def _faults(error: Exception) -> list[str]:
    """What is wrong with a file, a line for each fault."""
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        return problems(cause)
    return [str(error) if isinstance(error, InputError) else one_line(error)]


def _tables_of(path: Path, notebook: str | None, out: Path) -> dict[str, pd.DataFrame]:
    """The tables of one file: the comparison, and those of its notebook."""
    params = load_params(path)
    values = params.model_dump(mode="json")
    if params.records_dir:
        folder = path.parent / os.path.expanduser(params.records_dir)
        values["records_dir"] = str(folder.resolve())
        summaries = load_summaries(folder.resolve())
    elif params.source == "hub" or params.model_ids:
        raise InputError(
            f"{path.name}: asks for models that were not measured; run `rbpkit reproduce "
            f"{path.name}` and name its records as records_dir"
        )
    else:
        summaries = reference_summaries(params.corpus_names)
    chosen: list[Summary] = []
    for summary in summaries:
        asked_family = not params.families or summary.manifest.family in params.families
        asked_text = not params.corpus_names or summary.manifest.corpus in params.corpus_names
        if asked_family and asked_text:
            chosen.append(summary)
    if not chosen:
        asked_families = ", ".join(params.families) or "any"
        asked_texts = ", ".join(params.corpus_names) or "any text"
        asked = f"{asked_families} on {asked_texts}"
        raise InputError(f"nothing that it asks for was measured ({asked})")
    slopes = comparison(chosen, params.ks)
    if slopes.empty:
        raise InputError("fewer than three sizes were measured, so there is no line to fit")
    slopes.insert(3, "trained", _trained(chosen))
    tables = {COMPARISON: slopes}
    if notebook is not None:
        shutil.rmtree(out, ignore_errors=True)  # no table of an earlier run may be gathered
        figures = (out / "figures").resolve()
        values["figures_dir"] = str(figures)
        run(notebook, values, out)
        for file in sorted(figures.glob("*.csv")):
            tables[file.stem] = pd.read_csv(file)
    return tables


def _trained(summaries: Sequence[Summary]) -> str:
    """On how many tokens the models were trained, if their names say it: "3m"."""
    endings = set()
    for summary in summaries:
        base = summary.manifest.model.partition("-seed")[0]
        ending = TRAINING_TOKENS.search(base)
        endings.add(ending[0].removeprefix("-") if ending else "")
    return ", ".join(sorted(endings - {""}))
