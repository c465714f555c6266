"""What students handed in: found and read as if somebody had made the files to do harm.

Only regular files are read, through no link, and no more of them than the limits below. What cannot
be read becomes a fault of that file, and the others are read.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

import rbpkit
from rbpkit.errors import InputError, one_line
from rbpkit.tools.study.notebooks import notebook_names

Content = TypeVar("Content")

MOST_BYTES = 20_000_000  # of a file
MOST_ANSWERS = 200  # in a notebook
MOST_IN_A_CELL = 2_000  # of an answer, a reason, or any other text in a table
MOST_WRITTEN = 5_000  # characters of an answers.md

KINDS = {
    # Notepad adds .txt to what it saves, and Windows hides it.
    "studies": (".yaml", ".yml", ".yaml.txt", ".yml.txt"),
    "notebooks": (".ipynb",),
    "texts": ("answers.md", "answers.md.txt", "answers.txt"),
}
"""Kind of a hand-in -> the endings of its files."""

ANSWERS = ["file", "student", "notebook", "exercise", "answer", "verdict"]
ANSWER = re.compile(r"^answer_(\d{1,9}) *= *(.+)$", re.MULTILINE)
SAID = re.compile(r"^(\d{1,9}): (right|not yet|not answered yet)$", re.MULTILINE)
NO_NAME = re.compile(r"(answers)?(\.(ipynb|ya?ml|md|txt))+$|\(\d+\)|-Copy\d+", re.IGNORECASE)
"""Parts of a file's name that are not the student's: endings, and marks of copies."""


@dataclass
class HandIns:
    """The files of a class, and what to know about them.

    files: kind -> name below the class's folder -> path.
    notes: (file, what to know about it), of files that were ignored or are alike.
    faults: (file, reason), of each file that could not be used.
    unchanged: student -> the files of the repository that the student left as they were.
    """

    folder: Path
    say: Callable[[str], None] = lambda line: None
    files: dict[str, dict[str, Path]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    notes: list[tuple[str, str]] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    unchanged: dict[str, list[str]] = field(default_factory=dict)

    def name(self, path: Path) -> str:
        """What a file is called here."""
        return printable(path.relative_to(self.folder).as_posix())

    def read(self, kind: str, read_one: Callable[[str, Path], Content]) -> dict[str, Content]:
        """What `read_one(file, path)` gives for each file of a kind that has no fault."""
        contents = {}
        for file, path in self.files[kind].items():
            try:
                contents[file] = read_one(file, path)
            except Exception as error:  # whatever one file brings along
                self.fail(file, error)
        return contents

    def fail(self, file: str, error: Exception) -> None:
        """Keep what is wrong with a file, and say it."""
        reason = str(error) if isinstance(error, InputError) else one_line(error)
        # The reader knows the class's folder.
        brief = reason.replace(f"{self.folder}{os.sep}", "").removeprefix(f"{file}: ")
        self.faults.append((file, cut(printable(brief))))
        self.say(f"{file}: failed: {self.faults[-1][1]}")

    def note(self, file: str, what: str) -> None:
        """Keep what to know about a file, and say it."""
        self.notes.append((file, what))
        self.say(f"{file}: {what}")

    def summary(self) -> str:
        """One line: how many files were read, failed, and were not handed in."""
        failed = {file for file, _ in self.faults}
        read = set().union(*self.files.values()) - failed
        unchanged = sum(map(len, self.unchanged.values()))
        return f"{len(read)} files read, {len(failed)} failed, {unchanged} not handed in"


# -- the files --------------------------------------------------------------------------------


def find_hand_ins(folder: Path, say: Callable[[str], None] = lambda line: None) -> HandIns:
    """The hand-ins in a folder and in the folders in it. Hidden files are left out.

    A file of the repository that nobody changed is not handed in, unless it is a study that has
    records. Raises InputError if the folder is missing, or has no parameter file and no notebook.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    found = HandIns(folder.resolve(), say)
    root = Path(rbpkit.__file__).resolve().parent.parent
    of_repository = [*root.glob("params/class/*.*"), *root.glob("notebooks/*.ipynb")]
    templates = {path.read_bytes() for path in of_repository}
    first_with: dict[bytes, str] = {}  # digest of the bytes -> the first file that has them
    has_some = False
    for path in _paths(found):
        name, kind = found.name(path), _kind(path)
        if not kind and not path.is_symlink():
            if path.parent == found.folder:  # those in it hold records
                found.note(name, "ignored: no parameter file (.yaml) and no notebook (.ipynb)")
            continue
        has_some = has_some or kind != "texts"
        try:
            data = read_bytes(path)
        except InputError as error:
            found.fail(name, error)
            continue
        is_template = data in templates
        if is_template and not (kind == "studies" and _has_records(path)):
            student = student_of(name) if "/" in name else "files in no folder"
            found.unchanged.setdefault(student, []).append(path.name)
            continue
        first = first_with.setdefault(hashlib.sha256(data).digest(), name)
        if first != name and not is_template:
            found.note(name, f"the same bytes as {first}")
        found.files[kind][name] = path
    if not has_some:
        raise InputError(f"{folder}: no parameter files (.yaml) and no notebooks (.ipynb) in it")
    for student, names in sorted(found.unchanged.items()):
        say(f"{student}: not handed in, since not changed: {', '.join(names)}")
    return found


def _paths(found: HandIns) -> Iterator[Path]:
    """All but folders, in the class's folder and one level down, sorted; through no link."""
    for path in sorted(found.folder.glob("[!.]*")):
        if path.is_symlink() or not path.is_dir():
            yield path
            continue
        try:
            inside = sorted(path.iterdir())
        except OSError as error:
            found.fail(found.name(path), InputError(f"cannot be read ({error.strerror})"))
            continue
        # Links are reported where students hand files in; among records, when these are read.
        for one in inside:
            if _kind(one) and (one.is_symlink() or not one.is_dir()):
                yield one


def _kind(path: Path) -> str:
    for kind, endings in KINDS.items():
        if path.name.lower().endswith(endings) and not path.name.startswith("."):
            return kind
    return ""


def _has_records(template: Path) -> bool:
    """Whether there is anything where an unchanged study has its records: in NAME of NAME.yaml."""
    return any(path.is_file() for path in template.with_suffix("").rglob("*"))


def read_bytes(path: Path) -> bytes:
    """All bytes of a regular file of at most `MOST_BYTES`; InputError for anything else.

    No link is followed and no pipe is waited for, even if one takes the file's place meanwhile.
    """
    # Flags that Windows does not have are 0 there.
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
        flags |= getattr(os, name, 0)
    try:
        check_regular(path, os.lstat(path), MOST_BYTES)  # opening a device may do something
        with open(os.open(path, flags), "rb") as file:
            check_regular(path, os.fstat(file.fileno()), MOST_BYTES)
            return file.read(MOST_BYTES)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})") from error


def check_regular(path: Path, status: os.stat_result, most_bytes: int) -> None:
    """InputError unless the status is that of a regular file of at most this many bytes."""
    if stat.S_ISLNK(status.st_mode):
        raise InputError(f"{path.name} is a link, which is not followed; hand in the file itself")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path.name} is a pipe or a device, not a file")
    if status.st_size > most_bytes:
        size = f"{status.st_size / 1e6:,.0f} MB"
        raise InputError(f"{path.name} has {size}; at most {most_bytes / 1e6:.0f} MB are read")


# -- names and texts --------------------------------------------------------------------------


def label_of(file: str) -> str:
    """ "ann" of ann.yaml, "ann/own_k" of work-ann/own_k.yaml."""
    return NO_NAME.sub("", file).removeprefix("work-")  # of `make class`


def student_of(file: str) -> str:
    """ "ann" of work-ann/own_k.yaml, ann_answers.md and ann_03_section_4_1_k1.ipynb."""
    folder, _, base = file.rpartition("/")
    if folder:
        return folder.removeprefix("work-")
    names_of_notebooks = "|".join(notebook_names())
    return re.sub(names_of_notebooks, "", label_of(base)).strip(" _-.") or base


def printable(text: str) -> str:
    """The text on one line; half characters and what moves a terminal's cursor as escapes."""
    signs = [sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text]
    return "".join(signs)


def cut(text: str, most: int = MOST_IN_A_CELL) -> str:
    """The text's first characters."""
    return text if len(text) <= most else f"{text[:most]} ..."


def read_text(path: Path) -> str:
    """What a student wrote in answers.md. Raises InputError if it is no text."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("cannot be read (not UTF-8 text)") from error
    return cut(text.strip(), MOST_WRITTEN)


# -- answers ----------------------------------------------------------------------------------


def read_answers(file: str, path: Path) -> pd.DataFrame:
    """The answers in an executed notebook, which is not run: a row with `ANSWERS` for each.

    verdict: what the check of the exercise said; "not run" if it has not seen this answer.
    Raises InputError if it is no notebook, or has no exercise or too many of them.
    """
    try:
        cells = [one for one in json.loads(read_bytes(path))["cells"] if one["cell_type"] == "code"]
        source = "\n".join("".join(cell["source"]) for cell in cells)
        printed = "\n".join(map(_printed, cells))
        ids = [str(cell.get("id", "")) for cell in cells]
    except InputError:  # which is a ValueError
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError("damaged, or no notebook of Jupyter's format 4") from error
    written, said = dict(ANSWER.findall(source)), dict(SAID.findall(printed))
    if not written:
        raise InputError("no line `answer_1 = ` in it; is it one of the notebooks?")
    if len(written) > MOST_ANSWERS:
        raise InputError(f"{len(written):,} answers; at most {MOST_ANSWERS} are read")
    about = (file, student_of(file), _notebook_number(file, ids))
    rows = []
    for exercise, line in sorted(written.items(), key=lambda answer: int(answer[0])):
        answer = cut(printable(line.partition("  #")[0].strip()))
        verdict = said.get(exercise, "not run")
        if verdict == "not answered yet" and answer != "None":
            verdict = "not run"
        rows.append((*about, int(exercise), answer, verdict))
    return pd.DataFrame(rows, columns=ANSWERS)


def joined_answers(answers: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The answers of all notebooks. Who handed one in twice is called by the files' names there."""
    table = pd.concat([pd.DataFrame(columns=ANSWERS), *answers.values()], ignore_index=True)
    twice = table.duplicated(["student", "notebook", "exercise"], keep=False)
    table.loc[twice, "student"] = table["file"]
    return table


def _printed(cell: Mapping[str, Any]) -> str:
    outputs = cell.get("outputs", [])
    return "".join("".join(one["text"]) for one in outputs if one["output_type"] == "stream")


def _notebook_number(file: str, ids: list[str]) -> str:
    """Which notebook it is: by the ids of its cells ("03-012"), or else by the file's name."""
    for name in notebook_names():
        number = name[:2]
        if name in file or any(re.fullmatch(rf"{number}-\d{{3}}", one) for one in ids):
            return number
    return "?"
