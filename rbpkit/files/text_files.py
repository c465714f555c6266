"""Documents from files: JSON lines (plain, .gz or .zst), Parquet, plain text, or a folder of them.

Read row by row with the standard library and pyarrow: the builders of `datasets` would copy every
file into a cache, and they name neither the file nor the line that is broken.
"""

from __future__ import annotations

import functools
import hashlib
import io
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rbpkit.errors import InputError, reason

SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet", ".txt")


class PictureCell(NamedTuple):
    """A value of a row as it is: where the row is, for errors, and the folder of its file.

    folder: None of a row in memory.
    """

    where: str
    value: Any
    folder: Path | None


class Document(NamedTuple):
    """A document: its text, and what its row has besides.

    picture: the value of the picture's column, which only the laboratory can read.
    unit: what was sampled with it (an author, a repository), if that is known.
    prompt: what a model reads before the text and is not scored on, if there is one.
    """

    text: str
    picture: Any = None
    unit: str | None = None
    prompt: str | None = None


class Columns(NamedTuple):
    """The columns of a row that make a document.

    texts: those whose values are joined by a newline.
    picture: the one with the picture that the text describes.
    unit: the one with the name of the document's unit.
    prompt: the one with what is read before the text and not scored.
    newline: whether a newline is put between prompt and text even if there is white space.
    """

    texts: Sequence[str]
    picture: str | None = None
    unit: str | None = None
    prompt: str | None = None
    newline: bool = False


LONGEST_TEXT = 64 * 2**20
"""Bytes of a document, or of a line that holds one."""
_TOO_LONG = f"over {LONGEST_TEXT >> 20} MiB in one document; split it"

LONGEST_WORD = 1_000_000
LONGEST_UNIT = 1_000
"""Characters: a tokenizer takes minutes for a longer one, or fails."""
_WORD = re.compile(r"\w+|[^\w\s]+")

MOST_BLANK_LINES = 1_000_000
"""Of a file of JSON lines: a small file may unpack to billions of them."""

Row = Mapping[str, Any]
Make = Callable[[Row, Iterable[str], object, Path], Document]
"""`document_of` for certain columns."""


def suffix_of(path: Path) -> str | None:
    """The one of `SUFFIXES` that the file's name ends in, in any case, or None."""
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    return None


def list_files(path: Path) -> tuple[Path, ...]:
    """The files of a corpus: `path` itself, or the readable files of the folder `path`.

    A folder's files are sorted by name, whatever their kinds; subfolders, hidden files and other
    endings are left out. Raises InputError if there is nothing to read.
    """
    files = []
    with reason(f"{path}: cannot be read"):
        candidates = sorted(path.iterdir()) if path.is_dir() else [path]
        for candidate in candidates:
            hidden = candidate.name.startswith(".")
            if suffix_of(candidate) and not hidden and candidate.is_file():
                files.append(candidate)
    if not files:
        raise InputError(f"{path}: no corpus file; give files that end in {', '.join(SUFFIXES)}")
    return tuple(files)


def read_documents(
    files: Iterable[Path],
    columns: Columns,
    keep: Callable[[Row], bool] | None = None,
) -> Iterator[Document]:
    """The document of each row of `files`, in order, read lazily; a .txt file is one row.

    columns: of JSON or Parquet rows.
    keep: which JSON rows count.

    Raises InputError that names file and line (or row) for a field without text, picture or unit,
    a broken line, text that is not UTF-8, a file that cannot be read.
    """
    make = functools.partial(document_of, columns)
    for path in files:
        suffix = suffix_of(path)
        with reason(f"{path}: cannot be read; is it whole?"):
            if suffix == ".txt":
                if columns.prompt is not None:
                    raise InputError(f"{path}: a .txt file has no columns, so no prompt")
                row = {"text": read_txt(path)}
                yield document_of(columns._replace(texts=["text"]), row, row, path, path.parent)
            elif suffix == ".parquet":
                others = (columns.picture, columns.unit, columns.prompt)
                optional = [name for name in others if name is not None]
                yield from _parquet_rows(path, [*columns.texts, *optional], make)
            else:
                yield from _json_rows(path, keep, make)


def read_txt(path: Path) -> str:
    """The text of a file, without a byte-order mark.

    Raises InputError if it is not UTF-8, too long, or no file: a pipe would be waited for.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: not a file")
    with reason(f"{path}: cannot be read"):
        if path.stat().st_size > LONGEST_TEXT:
            raise InputError(f"{path}: {_TOO_LONG}")
        return path.read_bytes().decode("utf-8-sig")


def _json_rows(path: Path, keep: Callable[[Row], bool] | None, make: Make) -> Iterator[Document]:
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        # Bytes, so that only \n ends a line: str.splitlines would also cut at U+2028, which JSON
        # allows inside a string.
        reader = io.BufferedReader(stream)
        blank = 0
        for number in itertools.count(start=1):
            line = reader.readline(LONGEST_TEXT + 1)
            if not line:
                return
            where = f"{path}:{number}"
            if len(line) > LONGEST_TEXT:
                raise InputError(f"{where}: {_TOO_LONG}")
            if not line.strip():
                blank += 1
                if blank > MOST_BLANK_LINES:
                    raise InputError(f"{where}: over {MOST_BLANK_LINES:,} blank lines; is it text?")
                continue  # blank lines are not rows, as in `datasets`
            with reason(f"{where}: not a JSON object in UTF-8"):
                row = json.loads(line.decode("utf-8-sig"))
                if keep is None or keep(row):
                    yield make(row, row.keys(), where, path.parent)


def _parquet_rows(path: Path, columns: list[str], make: Make) -> Iterator[Document]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as table:
        known = table.schema_arrow.names
        number = 0
        # Small batches: one batch of long documents must not fill the memory.
        for batch in table.iter_batches(batch_size=1024, columns=columns):
            for row in batch.to_pylist():
                number += 1
                yield make(row, known, f"{path}, row {number}", path.parent)


def document_of(
    columns: Columns,
    row: Row,
    known: Iterable[str],
    where: object,
    folder: Path | None = None,
) -> Document:
    """The document of a row: its text, and what else there are columns for.

    A newline is put between prompt and text, unless the prompt ends or the text begins with white
    space.

    known, where: the names of all columns of the row, and its place, for errors.
    folder: of the corpus's file; None of rows in memory.

    Raises InputError for a column that is missing or has no value of its kind.
    """
    for name in columns.texts:
        if not isinstance(row.get(name), str):
            raise InputError(f"{where}: no text in field {name!r}; its fields are {[*known]}")
    text = "\n".join(row[name] for name in columns.texts)
    text.encode()  # JSON's "\ud800" is legal JSON, but no text
    if len(text) > LONGEST_WORD:
        _check_words(text, where)
    for kind, column in (("picture", columns.picture), ("unit", columns.unit)):
        if column is not None and row.get(column) is None:
            raise InputError(f"{where}: no {kind} in field {column!r}; its fields are {[*known]}")
    picture = None
    if columns.picture is not None:
        picture = PictureCell(str(where), row[columns.picture], folder)
    unit = None
    if columns.unit is not None:
        unit = unit_name(row[columns.unit], f"{where}, field {columns.unit!r}")
    prompt = None
    if columns.prompt is not None:
        prompt = row.get(columns.prompt)
        if not isinstance(prompt, str) or not prompt.strip():
            fault = f"no prompt in field {columns.prompt!r}"
            raise InputError(f"{where}: {fault}; its fields are {[*known]}")
        prompt.encode()
        if len(prompt) > LONGEST_WORD:
            _check_words(prompt, where)
        has_white_space = prompt[-1].isspace() or text[:1].isspace()
        if columns.newline or not has_white_space:
            prompt += "\n"
    return Document(text, picture, unit, prompt)


def unit_name(value: Any, where: str) -> str:
    """The name of a document's unit. InputError for a missing one, and one that is no name."""
    if value is None or value != value:  # a missing author is no author called "nan"
        raise InputError(f"{where}: no unit (it is {value})")
    name = str(value)
    if len(name) > LONGEST_UNIT:
        raise InputError(f"{where}: a unit of {len(name):,} characters; is it the text's column?")
    return name


def _check_words(text: str, where: object) -> None:
    for word in _WORD.finditer(text):
        if word.end() - word.start() > LONGEST_WORD:
            raise InputError(f"{where}: a word of over {LONGEST_WORD:,} characters; is it text?")


def prompts_fingerprint(texts: str, prompts: Iterable[str]) -> str:
    """sha256 (hex) over the fingerprint of the texts and that of their prompts."""
    return hashlib.sha256(f"{texts} after {text_fingerprint(prompts)}".encode()).hexdigest()


def text_fingerprint(documents: Iterable[str]) -> str:
    """sha256 (hex) over the texts in order, each preceded by its length in bytes (8, little)."""
    digest = hashlib.sha256()
    for text in documents:
        data = text.encode("utf-8")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()
