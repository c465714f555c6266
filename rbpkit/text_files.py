"""Documents from files: JSON lines (plain, .gz or .zst), Parquet, plain text, or a folder of them.

Read row by row with the standard library and pyarrow: the builders of `datasets` would copy every
file into a cache, and they name neither the file nor the line that is broken.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rbpkit.errors import InputError, reason

SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet", ".txt")

Row = Mapping[str, Any]


class Columns(NamedTuple):
    """Which columns of rows are what.

    field: the text; a+b joins two by a newline.
    unit, prompt: what a `Document` has besides; None for nothing.
    """

    field: str = "text"
    unit: str | None = None
    prompt: str | None = None


class Document(NamedTuple):
    """A document: its text, and what its row has besides.

    unit: what was sampled with it (an author, a repository), if that is known.
    prompt: what a model reads before the text and is not scored on, if there is one.
    """

    text: str
    unit: Any = None
    prompt: str | None = None


def list_files(path: Path) -> list[Path]:
    """The files of a corpus: `path` itself, or the readable files of the folder `path`.

    A folder's files are sorted by name, whatever their kinds; subfolders, hidden files and other
    endings are left out. Raises InputError if there is nothing to read.
    """
    files = []
    for candidate in sorted(path.iterdir()) if path.is_dir() else [path]:
        is_text = candidate.name.lower().endswith(SUFFIXES) and candidate.is_file()
        if is_text and not candidate.name.startswith("."):
            files.append(candidate)
    if not files:
        raise InputError(f"{path}: no corpus file; give files that end in {', '.join(SUFFIXES)}")
    return files


def rows_of(path: Path) -> Iterator[tuple[str, Row]]:
    """Where each row of a file is, and its values by column, read lazily; a .txt file is one row.

    Raises InputError that names file and line for a broken line, text that is not UTF-8, and a file
    that cannot be read.
    """
    name = path.name.lower()
    with reason(f"{path}: cannot be read; is it whole?"):
        if name.endswith(".txt"):
            yield str(path), {"text": read_txt(path)}
        elif name.endswith(".parquet"):
            yield from _parquet_rows(path)
        else:
            yield from _json_rows(path)


def read_txt(path: Path) -> str:
    """The text of a file in UTF-8, without a byte-order mark."""
    with reason(f"{path}: cannot be read"):
        return path.read_bytes().decode("utf-8-sig")


def _json_rows(path: Path) -> Iterator[tuple[str, Row]]:
    import pyarrow as pa

    packed = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())
    with pa.input_stream(path, compression=packed) as stream:
        # Bytes, so that only \n ends a line: str.splitlines would also cut at U+2028, which JSON
        # allows inside a string.
        for number, line in enumerate(io.BufferedReader(stream), start=1):
            where = f"{path}:{number}"
            if not line.strip():
                continue  # blank lines are not rows, as in `datasets`
            with reason(f"{where}: not a JSON object in UTF-8"):
                row = json.loads(line.decode("utf-8-sig"))
            yield where, row


def _parquet_rows(path: Path) -> Iterator[tuple[str, Row]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as table:
        # Small batches: one batch of long documents must not fill the memory.
        batches = table.iter_batches(batch_size=1024)
        rows = itertools.chain.from_iterable(batch.to_pylist() for batch in batches)
        for number, row in enumerate(rows, start=1):
            yield f"{path}, row {number}", row


def document_of(row: Row, columns: Columns, where: str, newline: bool = False) -> Document:
    """The document of a row: its text, and what else there are columns for.

    A newline is put between prompt and text, unless the prompt ends or the text begins with white
    space.

    where: the place of the row, for errors.
    newline: put it there even if there is white space.

    Raises InputError for a column that is missing or has no value of its kind.
    """
    with reason(f"{where}: no row with text in UTF-8"):
        parts = [value_in(row, name, where, str) for name in columns.field.split("+")]
        text = "\n".join(parts)
        unit = None if columns.unit is None else value_in(row, columns.unit, where)
        prompt = None if columns.prompt is None else value_in(row, columns.prompt, where, str)
        f"{prompt}{text}".encode()  # JSON's "\ud800" is legal JSON, but no text
    if prompt is None:
        return Document(text, unit)
    if not prompt.strip():
        raise InputError(f"{where}: no prompt in field {columns.prompt!r}")
    has_white_space = prompt[-1:].isspace() or text[:1].isspace()
    if newline or not has_white_space:
        prompt += "\n"
    return Document(text, unit, prompt)


def value_in(row: Row, name: str, where: str, of_type: type = object) -> Any:
    """The value in a column of a row. Raises InputError if there is none of this type."""
    value = row.get(name)
    if value is None or not isinstance(value, of_type):
        raise InputError(f"{where}: nothing to use in field {name!r}; its fields are {[*row]}")
    return value


def text_fingerprint(documents: Iterable[str]) -> str:
    """sha256 (hex) over the texts in order, each preceded by its length in bytes (8, little)."""
    digest = hashlib.sha256()
    for text in documents:
        data = text.encode("utf-8")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()
