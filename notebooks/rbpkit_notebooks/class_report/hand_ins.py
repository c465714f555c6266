"""What students handed in: the files of a class, and whose they are.

What cannot be read becomes a fault of that file, and the others are read.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import rbpkit
from rbpkit.errors import InputError, one_line
from rbpkit.tools.study.notebooks import notebook_names
from rbpkit_notebooks.class_report.answers import own_lines
from rbpkit_notebooks.class_report.reading import cut, decoded, printable, read_bytes, unpacked

Content = TypeVar("Content")

KINDS = {
    # Notepad adds .txt to what it saves, and Windows hides it.
    "studies": (".yaml", ".yml", ".yaml.txt", ".yml.txt"),
    "notebooks": (".ipynb",),
    "texts": ("answers.md", "answers.md.txt", "answers.txt"),
}
"""Kind of a hand-in -> the endings of its files."""

LOOSE = "files in no folder"

NO_NAME = re.compile(
    r"(answers)?(\.(ipynb|ya?ml|md|txt|zip))+$|\(\d+\)|-Copy\d+|^(work|handin)-", re.IGNORECASE
)
"""Parts of a name that are not the student's: of `make class`, endings, and marks of copies."""


@dataclass
class HandIns:
    """The files of a class, and what to know about them.

    names: the students, if there is a list of them.
    files: kind -> name below the class's folder -> path.
    notes: (file, what to know about it), of files that were ignored or are alike.
    faults: (file, reason), of each file that could not be used, and each folder without any.
    unchanged: student -> the files of the repository that the student left as they were.
    unpacked: where zips are unpacked, each as a folder with its name.
    """

    folder: Path
    say: Callable[[str], None] = lambda line: None
    names: list[str] = field(default_factory=list)
    files: dict[str, dict[str, Path]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    notes: list[tuple[str, str]] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    unchanged: dict[str, list[str]] = field(default_factory=dict)
    unpacked: TemporaryDirectory[str] = field(default_factory=TemporaryDirectory)

    def root(self, path: Path) -> Path:
        """The class's folder, or that of unpacked zips if the path is there."""
        unpacked = Path(self.unpacked.name)
        return unpacked if path.is_relative_to(unpacked) else self.folder

    def name(self, path: Path) -> str:
        """What a file is called here."""
        return printable(path.relative_to(self.root(path)).as_posix())

    def student(self, file: str) -> str:
        """Whose file it is: the longest of the names that its student's begins with."""
        student = student_of(file)
        fitting = [name for name in self.names if f"{_key(student)}-".startswith(f"{_key(name)}-")]
        return max(fitting, key=len, default=student)

    def students(self) -> set[str]:
        """Whoever handed something in, whether it could be read or not."""
        files = [file for kind in self.files.values() for file in kind]
        files += [file for file, _ in self.faults]
        return {self.student(file) for file in files} | self.unchanged.keys() - {LOOSE}

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
        for root in (self.folder, self.unpacked.name):  # which the reader knows, or need not know
            reason = reason.replace(f"{root}{os.sep}", "")
        brief = reason.removeprefix(f"{file}: ")
        self.faults.append((file, cut(printable(brief))))
        self.say(f"{file}: failed: {self.faults[-1][1]}")

    def note(self, file: str, what: str) -> None:
        """Keep what to know about a file, and say it."""
        self.notes.append((file, what))
        self.say(f"{file}: {what}")

    def summary(self) -> str:
        """One line: how many files were read, failed, and were not handed in, and by whom none."""
        failed = {file for file, _ in self.faults}
        read = set().union(*self.files.values()) - failed
        unchanged = sum(map(len, self.unchanged.values()))
        line = f"{len(read)} files read, {len(failed)} failed, {unchanged} not handed in"
        missing = len(set(self.names) - self.students())
        return f"{line}; nothing from {missing} of {len(self.names)} names" if self.names else line


# -- the files --------------------------------------------------------------------------------


def find_hand_ins(
    folder: Path,
    say: Callable[[str], None] = lambda line: None,
    names: Path | None = None,
) -> HandIns:
    """The hand-ins in a folder, in the folders and zips in it, and in the folders in these.

    names: a file with the name of a student on each line.

    Hidden files are left out. A file of the repository that nobody changed is not handed in, unless
    it is a study that has records. Raises InputError if the folder is missing, or has no parameter
    file and no notebook.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    found = HandIns(folder.resolve(), say, _read_names(names) if names else [])
    root = Path(rbpkit.__file__).resolve().parent.parent
    templates = {path.read_bytes() for path in root.glob("params/class/*.*")}
    has_some = False
    for path in _paths(found):
        name, kind = found.name(path), _kind(path)
        has_some = has_some or kind != "texts"
        try:
            data = read_bytes(path)
            own = bool(own_lines(data)) if kind == "notebooks" else data not in templates
        except InputError as error:
            found.fail(name, error)
            continue
        if own or (kind == "studies" and _has_records(path)):
            found.files[kind][name] = path
        else:
            student = found.student(name) if "/" in name else LOOSE
            found.unchanged.setdefault(student, []).append(path.name)
    if not has_some:
        raise InputError(f"{folder}: no parameter files (.yaml) and no notebooks (.ipynb) in it")
    for student, files in sorted(found.unchanged.items()):
        say(f"{student}: not handed in, since not changed: {', '.join(files)}")
    return found


def _read_names(path: Path) -> list[str]:
    try:
        lines = decoded(read_bytes(path)).splitlines()
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return list(dict.fromkeys(printable(line.strip()) for line in lines if line.strip()))


def _paths(found: HandIns) -> Iterator[Path]:
    """The files of each kind in the class's folder, sorted; through no link."""
    for path in _inside(found, found.folder):
        if path.is_dir() and not path.is_symlink():
            yield from _in_folder(found, path)
        elif _is_zip(path):
            yield from _in_zip(found, path)
        elif _kind(path) or path.is_symlink():
            yield path
        else:  # in folders, such a file is a record or a text to measure
            found.note(found.name(path), "ignored: no parameter file (.yaml), notebook or zip")


def _in_folder(found: HandIns, folder: Path) -> Iterator[Path]:
    """The hand-ins in a folder, or else in the folders in it, as unpacking a zip may make them."""
    files = _files(found, folder)
    if not files:
        for inside in _inside(found, folder):
            if inside.is_dir() and not inside.is_symlink():
                files += _files(found, inside)
    has_records = any(path.suffix in (".npz", ".json", ".parquet") for path in folder.rglob("*"))
    if not files and not has_records:
        nothing = "no study, notebook or answers.md in it, nor in the folders in it"
        found.fail(found.name(folder), InputError(nothing))
    for path in files:
        if _is_zip(path):
            yield from _in_zip(found, path)
        else:
            yield path


def _in_zip(found: HandIns, path: Path) -> list[Path]:
    """The hand-ins in a zip, which is unpacked; [] if it cannot be."""
    try:
        if found.root(path) != found.folder:
            raise InputError("is a zip in a zip; hand in its files")
        return list(_in_folder(found, unpacked(path, Path(found.unpacked.name, found.name(path)))))
    except InputError as error:
        found.fail(found.name(path), error)
        return []


def _files(found: HandIns, folder: Path) -> list[Path]:
    """The hand-ins and zips in a folder. Links among them are reported when they are read."""
    inside = _inside(found, folder)
    return [path for path in inside if (_kind(path) or _is_zip(path)) and not path.is_dir()]


def _inside(found: HandIns, folder: Path) -> list[Path]:
    """What is in a folder, sorted, without hidden files and what macOS puts into a zip."""
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        found.fail(found.name(folder), InputError(f"cannot be read ({error.strerror})"))
        return []
    return [path for path in paths if not path.name.startswith((".", "__MACOSX"))]


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == ".zip"


def _kind(path: Path) -> str:
    for kind, endings in KINDS.items():
        if path.name.lower().endswith(endings) and not path.name.startswith("."):
            return kind
    return ""


def _has_records(template: Path) -> bool:
    """Whether there is anything where an unchanged study has its records: in NAME of NAME.yaml."""
    return any(path.is_file() for path in template.with_suffix("").rglob("*"))


# -- names and texts --------------------------------------------------------------------------


def label_of(file: str) -> str:
    """ "ann" of ann.yaml, "ann/own_k" of work-ann/own_k.yaml and of a zip with that in it."""
    base = NO_NAME.sub("", file.rpartition("/")[2])
    return f"{student_of(file)}/{base}" if "/" in file else base


def student_of(file: str) -> str:
    """ "ann" of x/work-ann/own_k.yaml, ann.zip/own_k.yaml and ann_03_section_4_1_k1.ipynb."""
    *folders, base = file.split("/")
    if folders:
        [name, *_] = [*(one for one in folders if one.startswith("work-")), folders[0]]
        return NO_NAME.sub("", name) or name
    known = "|".join([*notebook_names(), "own_k", "own_sizes", "own_text", "own_model"])
    return re.sub(known, "", NO_NAME.sub("", base)).strip(" _-.") or base


def _key(name: str) -> str:
    """A name without what spelling it for a file, or a system that stores it, may change."""
    return re.sub(r"[\W_]+", "-", unicodedata.normalize("NFC", name).casefold()).strip("-")
