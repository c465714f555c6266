"""Documents from files: JSON lines (plain, .gz or .zst), Parquet, plain text, or a folder of them.

Read row by row with the standard library and pyarrow: the builders of `datasets` would copy every
file into a cache, and they name neither the file nor the line that is broken.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rbpkit.errors import InputError, check_name, reason

SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet", ".txt")


class Columns(NamedTuple):
    """The columns of rows with text: see `load_corpus`; None for the one that is usual, or none."""

    field: str | None = None
    unit: str | None = None
    prompt: str | None = None

    @property
    def fields(self) -> list[str]:
        """The columns whose values are joined by a newline."""
        return (self.field or "text").split("+")


def checked_columns(field: str | None, unit: str | None, prompt: str | None) -> Columns:
    """These columns. Raises InputError for one that has no name."""
    columns = Columns(field, unit, prompt)
    for key, name in columns._asdict().items():
        if name is not None:
            check_name(key, name)
    return columns


class Document(NamedTuple):
    """A document: its text, and what its row has besides.

    unit: what was sampled with it (an author, a repository), if that is known.
    prompt: what a model reads before the text and is not scored on, if there is one.
    """

    text: str
    unit: str | None = None
    prompt: str | None = None


LONGEST_FILE = 64 * 2**20
"""Bytes of a plain text, which is one document."""

Row = Mapping[str, Any]


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
    text: Columns,
    keep: Callable[[Row], bool] | None = None,
    newline: bool = False,
) -> Iterator[Document]:
    """The document of each row of `files`, in order, read lazily; a .txt file is one row.

    text: names the columns.
    keep: which rows count.
    newline: as of `document_of`.

    Raises InputError that names file and line (or row) for a field without text or unit,
    a broken line, text that is not UTF-8, a file that cannot be read.
    """
    for path in files:
        is_plain = suffix_of(path) == ".txt"
        columns = text._replace(field=None) if is_plain else text
        with reason(f"{path}: cannot be read; is it whole?"):
            for where, row in rows_of(path, columns):
                with reason(f"{where}: no row with text in UTF-8"):
                    if keep is None or keep(row):
                        yield document_of(columns, row, where, newline)


def rows_of(path: Path, text: Columns, *others: str) -> Iterator[tuple[str, Row]]:
    """Where each row of a file is, and its values by column; others: columns besides the text's."""
    suffix = suffix_of(path)
    if suffix == ".txt":
        yield str(path), {"text": read_txt(path)}
    elif suffix == ".parquet":
        columns = [*text.fields, text.unit, text.prompt, *others]
        yield from _parquet_rows(path, [name for name in columns if name is not None])
    else:
        yield from _json_rows(path)


def read_txt(path: Path) -> str:
    """The text of a file, without a byte-order mark.

    Raises InputError if it is not UTF-8, too long, or no file: a pipe would be waited for.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: not a file")
    with reason(f"{path}: cannot be read"):
        if path.stat().st_size > LONGEST_FILE:
            raise InputError(f"{path}: over {LONGEST_FILE >> 20} MiB in one document; split it")
        return path.read_bytes().decode("utf-8-sig")


def _json_rows(path: Path) -> Iterator[tuple[str, Row]]:
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        # Bytes, so that only \n ends a line: str.splitlines would also cut at U+2028, which JSON
        # allows inside a string.
        for number, line in enumerate(io.BufferedReader(stream), start=1):
            where = f"{path}:{number}"
            if not line.strip():
                continue  # blank lines are not rows, as in `datasets`
            with reason(f"{where}: not a JSON object in UTF-8"):
                row = json.loads(line.decode("utf-8-sig"))
            yield where, row


def _parquet_rows(path: Path, columns: list[str]) -> Iterator[tuple[str, Row]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as table:
        all_columns = dict.fromkeys(table.schema_arrow.names)
        number = 0
        # Small batches: one batch of long documents must not fill the memory.
        for batch in table.iter_batches(batch_size=1024, columns=columns):
            for row in batch.to_pylist():
                number += 1
                yield f"{path}, row {number}", all_columns | row


def document_of(text: Columns, row: Row, where: str, newline: bool = False) -> Document:
    """The document of a row: its text, and what else there are columns for.

    A newline is put between prompt and text, unless the prompt ends or the text begins with white
    space.

    text: names the columns.
    where: the place of the row, for errors.
    newline: put it there even if there is white space.

    Raises InputError for a column that is missing or has no value of its kind.
    """
    words = "\n".join(_string(row, name, "text", where) for name in text.fields)
    unit = prompt = None
    if text.unit is not None:
        value = value_in(row, text.unit, "unit", where)
        if value != value:  # a missing author is no author called "nan"
            raise InputError(f"{where}, field {text.unit!r}: no unit (it is {value})")
        unit = str(value)
    if text.prompt is not None:
        prompt = _string(row, text.prompt, "prompt", where)
        if not prompt.strip():
            raise InputError(f"{where}: no prompt in field {text.prompt!r}")
        has_white_space = prompt[-1].isspace() or words[:1].isspace()
        if newline or not has_white_space:
            prompt += "\n"
    return Document(words, unit, prompt)


def value_in(row: Row, name: str, kind: str, where: str, of_type: type = object) -> Any:
    """The value in a column of a row. Raises InputError if there is none of this type."""
    value = row.get(name)
    if value is None or not isinstance(value, of_type):
        raise InputError(f"{where}: no {kind} in field {name!r}; its fields are {[*row]}")
    return value


def _string(row: Row, name: str, kind: str, where: str) -> str:
    """The string in a column, which a tokenizer can take."""
    text: str = value_in(row, name, kind, where, str)
    text.encode()  # JSON's "\ud800" is legal JSON, but no text
    return text


def text_fingerprint(documents: Iterable[str]) -> str:
    """sha256 (hex) over the texts in order, each preceded by its length in bytes (8, little)."""
    digest = hashlib.sha256()
    for text in documents:
        data = text.encode("utf-8")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()
