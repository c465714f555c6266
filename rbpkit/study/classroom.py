"""A class's studies and answers: everything that a folder has, in tables and on one page."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pandas as pd
from pydantic import ValidationError

import rbpkit
from rbpkit.errors import InputError, one_line
from rbpkit.files.writing import as_csv, write_whole
from rbpkit.fit import fit_all
from rbpkit.plugins import plugin_corpora
from rbpkit.records import load_summaries
from rbpkit.study.answers import Answer, read_answers, read_text, student_of_notebook
from rbpkit.study.class_page import class_page, student_of
from rbpkit.study.notebooks import notebook_called, run
from rbpkit.study.params import Params, load_params, problems
from rbpkit.study.reproduce import TRAINING_TOKENS, comparison, reference_summaries
from rbpkit.summary import Summary

Content = TypeVar("Content")

COMPARISON = "comparison"
STUDIES = (".yaml", ".yml", ".yaml.txt", ".yml.txt")
"""Endings of parameter files. Windows hides endings, and Notepad adds .txt to what it saves."""
NOTEBOOKS = (".ipynb",)
WRITTEN = ("answers.md", "answers.md.txt", "answers.txt")
"""Endings of what a student wrote about a study."""
ANSWERS = ["file", "student", "notebook", "exercise", "answer", "verdict"]


@dataclass
class HandIns:
    """What is in a folder: path of each file by its name below the folder, and what to know.

    - studies, notebooks, texts: what students handed in.
    - notes: (file, what to know about it), of the others and of files that are alike.
    - unchanged: the files of the repository that nobody changed, by their student.
    """

    studies: dict[str, Path] = field(default_factory=dict)
    notebooks: dict[str, Path] = field(default_factory=dict)
    texts: dict[str, Path] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    unchanged: dict[str, list[str]] = field(default_factory=dict)


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
    - class.html: all of it, drawn, and what students wrote in answers.md (`class_page`).

    With a notebook also runs/FILE/, with that notebook executed on each parameter file and its
    figures, and NAME.csv for each table that it writes. A relative records_dir is looked up next to
    its file. Nothing is measured: what a file asks for must be there, or come with a plugin. A file
    that cannot be read or run does not stop the others, and a file of the repository that was not
    changed counts as not handed in, unless its study has records.

    Returns what is wrong with the files that failed: file -> a line for each fault.
    Raises InputError, before anything is run, if the notebook or the folder is missing.
    """
    name = None if notebook is None else notebook_called(notebook)
    found = hand_ins(folder)
    for file, what in found.notes:
        say(f"{file}: {what}")
    not_handed_in = sorted(found.unchanged.items())
    for student, names in not_handed_in:
        say(f"{student}: not handed in, since not changed: {', '.join(names)}")

    def tables_of(file: str, path: Path) -> dict[str, pd.DataFrame]:
        tables = _tables_of(path, name, out / "runs" / file)
        say(f"{file}: done")
        return tables

    reader = _Reader(folder, say)
    tables = reader.read(found.studies, tables_of)
    answers = reader.read(found.notebooks, lambda file, path: read_answers(path))
    texts = reader.read(found.texts, lambda file, path: read_text(path))

    gathered = _joined(tables)
    gathered["failures"] = pd.DataFrame(reader.faults, columns=["file", "reason"])
    gathered["answers"] = _answers_table(answers)
    page = class_page(
        gathered.get(COMPARISON),
        gathered["answers"],
        notes=[*sorted(reader.brief_faults), *sorted(found.notes)],
        texts=[(_student_of_text(file), text) for file, text in texts.items()],
        not_handed_in=not_handed_in,
    )
    files = {f"{table}.csv": as_csv(rows).encode() for table, rows in gathered.items()}
    files["class.html"] = page.encode()
    write_whole(out, files)

    failures: dict[str, list[str]] = {}
    for file, fault in reader.faults:
        failures.setdefault(file, []).append(fault)
    handed_in = len(found.studies) + len(found.notebooks) + len(found.texts)
    unchanged = sum(len(names) for _, names in not_handed_in)
    say(
        f"{handed_in - len(failures)} files read, {len(failures)} failed,"
        f" {unchanged} not handed in; open {out / 'class.html'}"
    )
    return failures


class _Reader:
    """Reads the files of a class. A fault in one is said and kept, and the others are read.

    - faults: (file, fault), a row for each fault.
    - brief_faults: the same for the page, without the path of the class's folder.
    """

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._root = f"{folder.resolve()}{os.sep}"
        self._say = say
        self.faults: list[tuple[str, str]] = []
        self.brief_faults: list[tuple[str, str]] = []

    def read(
        self, files: Mapping[str, Path], read_one: Callable[[str, Path], Content]
    ) -> dict[str, Content]:
        """What `read_one(file, path)` gives for each file that has no fault."""
        contents = {}
        for file, path in files.items():
            try:
                contents[file] = read_one(file, path)
            except Exception as error:  # whatever one file brings along
                self._keep(file, error)
        return contents

    def _keep(self, file: str, error: Exception) -> None:
        for fault in _faults(error):
            self._say(f"{file}: failed: {fault}")
            self.faults.append((file, fault))
            brief = fault.removeprefix(f"{file}: ").replace(self._root, "")
            self.brief_faults.append((file, f"failed: {brief}"))


def _joined(tables: Mapping[str, Mapping[str, pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """file -> its tables by name, as one table for each name, with the column file in front."""
    parts: dict[str, list[pd.DataFrame]] = {}
    for file, of_file in tables.items():
        for name, rows in of_file.items():
            rows.insert(0, "file", file)
            parts.setdefault(name, []).append(rows)
    return {name: pd.concat(rows, ignore_index=True) for name, rows in parts.items()}


def hand_ins(folder: Path) -> HandIns:
    """What is in a folder and in the folders in it. Hidden files are left out.

    Raises InputError if the folder is missing, or has no parameter file and no notebook.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    root = Path(rbpkit.__file__).resolve().parent.parent
    of_repository = [*root.glob("params/class/*.*"), *root.glob("notebooks/*.ipynb")]
    unchanged = {path.read_bytes() for path in of_repository}
    found = HandIns()
    same: dict[str, str] = {}  # digest of the bytes -> the first file that has them
    some = False
    for path in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        name = path.relative_to(folder).as_posix()
        name = name.encode(errors="backslashreplace").decode()  # bytes that are no text
        ending = path.name.lower()
        is_study, is_notebook = ending.endswith(STUDIES), ending.endswith(NOTEBOOKS)
        is_text = ending.endswith(WRITTEN)
        if not path.is_file() or name.startswith(".") or "/." in name:
            continue
        if not is_study and not is_notebook and not is_text:
            if "/" not in name:  # folders hold records
                what = "ignored: neither a parameter file (.yaml) nor a notebook (.ipynb)"
                found.notes.append((name, what))
            continue
        data = path.read_bytes()
        is_template = data in unchanged
        some = some or not is_text
        if is_template and not (is_study and _has_records(path)):
            in_folder, _, base = name.rpartition("/")
            student = student_of(in_folder) or "files in no folder"
            found.unchanged.setdefault(student, []).append(base)
            continue
        first = same.setdefault(hashlib.sha256(data).hexdigest(), name)
        if first != name and not is_template:
            found.notes.append((name, f"the same bytes as {first}"))
        if ending.endswith(".txt"):
            what = f"read as {path.stem}; the ending .txt is Notepad's, and Windows hides it"
            found.notes.append((name, what))
        if is_study:
            found.studies[name] = path
        elif is_notebook:
            found.notebooks[name] = path
        else:
            found.texts[name] = path
    if not some:
        raise InputError(f"{folder}: no parameter files (.yaml) and no notebooks (.ipynb) in it")
    return found


def _has_records(path: Path) -> bool:
    """Whether a parameter file's records_dir, which is next to it, has anything in it."""
    folder = _records_folder(path, load_params(path))
    return folder is not None and any(file.is_file() for file in folder.rglob("*"))


def _records_folder(path: Path, params: Params) -> Path | None:
    if not params.records_dir:
        return None
    return (path.parent / os.path.expanduser(params.records_dir)).resolve()


def _student_of_text(file: str) -> str:
    """ "ann" of work-ann/answers.md, and of ann_answers.md."""
    folder, _, base = file.rpartition("/")
    if folder:
        return student_of(folder)
    name = base.lower().rpartition("answers")[0].strip(" _-.")
    return base[: len(name)] or base


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
    folder = _records_folder(path, params)
    if folder is not None:
        values["records_dir"] = str(folder)
        try:
            summaries = load_summaries(folder, checkpoint="last")
        except InputError as error:
            if any(folder.rglob("*.json")) or any(folder.rglob("*.npz")):
                raise  # they are damaged, for example
            raise InputError(f"{error}; {_how_to_run(path, params)}") from error
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
    slopes["reference_text"] = slopes["corpus"]
    if params.source != "hub":
        slopes = _compared_with_first_corpus(slopes, chosen, params)
    tables = {COMPARISON: slopes}
    if notebook is not None:
        shutil.rmtree(out, ignore_errors=True)  # no table of an earlier run may be gathered
        figures = (out / "figures").resolve()
        values["figures_dir"] = str(figures)
        run(notebook, values, out)
        for file in sorted(figures.glob("*.csv")):
            tables[file.stem] = pd.read_csv(file)
    return tables


def _how_to_run(path: Path, params: Params) -> str:
    """The study has no records: the command that makes them."""
    command, out, notebook = "sweep", Path(params.records_dir), ""
    if out.name == "records":  # as `rbpkit reproduce` calls them
        command, out, notebook = "reproduce", out.parent, " --notebook 13"
    command = f"rbpkit {command} {path.name} --out {out.as_posix()}{notebook}"
    return f"the study has not been run, or is not done: run `{command}`"


def _compared_with_first_corpus(
    slopes: pd.DataFrame, measured: Sequence[Summary], params: Params
) -> pd.DataFrame:
    """The slopes on a text that has no reference, next to those on the plugin's first corpus.

    Only for families all of whose models here are the plugin's, trained on as much text.
    """
    first_corpus = plugin_corpora(params.source)[0]
    references = reference_summaries([first_corpus])
    shipped = [one for one in references if one.manifest.corpus == first_corpus]
    names = {one.manifest.model for one in shipped}
    others = {one.manifest.family for one in measured if one.manifest.model not in names}
    known = [one for one in shipped if one.manifest.family not in others]
    missing = slopes["reference"].isna() & slopes["family"].isin(
        {one.manifest.family for one in known}
    )
    if not missing.any():
        return slopes
    fitted = fit_all(known, params.ks).table.set_index(["family", "quantity"])["slope"]
    keys = pd.MultiIndex.from_frame(slopes[["family", "quantity"]])
    slopes = slopes.copy()
    slopes.loc[missing, "reference"] = fitted.reindex(keys).to_numpy()[missing]
    slopes.loc[missing, "reference_text"] = first_corpus
    slopes["difference"] = slopes["slope"] - slopes["reference"]
    return slopes


def _trained(summaries: Sequence[Summary]) -> str:
    """On how many tokens the models were trained, if their names say it: "3m"."""
    endings = set()
    for summary in summaries:
        base = summary.manifest.model.partition("-seed")[0]
        ending = TRAINING_TOKENS.search(base)
        endings.add(ending[0].removeprefix("-") if ending else "")
    return ", ".join(sorted(endings - {""}))
