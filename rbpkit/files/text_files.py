"""Documents from files: JSON lines (plain, .gz or .zst), Parquet, plain text, or a folder of them.

Read row by row with the standard library and pyarrow: the builders of `datasets` would copy every
file into a cache, and they name neither the file nor the line that is broken.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rbpkit.errors import InputError, reason
from rbpkit.files.pictures import Picture, folder_rows

Document = tuple[str, Picture | None]
SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet", ".txt")


def suffix_of(path: Path) -> str | None:
    """The one of `SUFFIXES` that the file's name ends in, in any case, or None."""
    return next((s for s in SUFFIXES if path.name.lower().endswith(s)), None)


def list_files(path: Path) -> tuple[Path, ...]:
    """The files of a corpus: `path` itself, or the readable files of the folder `path`.

    A folder's files are sorted by name, whatever their kinds; subfolders, hidden files and other
    endings are left out. Raises InputError if there is nothing to read.
    """
    with reason(f"{path}: cannot be read"):
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        files = [p for p in inside if suffix_of(p) and not p.name.startswith(".") and p.is_file()]
    if not files:
        raise InputError(f"{path}: no corpus file; give files that end in {', '.join(SUFFIXES)}")
    return tuple(files)


def read_documents(
    files: Iterable[Path],
    field: str,
    keep: Callable[[Mapping[str, Any]], bool] | None = None,
    image: str | None = None,
) -> Iterator[Document]:
    """The text of each row of `files`, in order, read lazily; a .txt file is one row.

    field: the column of JSON or Parquet rows, or several joined by "+", whose values are then
    joined by a newline ("prompt+canonical_solution"). keep: which JSON rows count. image: the
    column with the picture that the text describes; a folder is then one as of `folder_rows`.

    Raises InputError that names file and line (or row) for a field without text or picture, a
    broken line, text that is not UTF-8, a file that cannot be read.
    """
    names = field.split("+")
    make = functools.partial(document_of, names, image)
    for path in files:
        kind = suffix_of(path)
        with reason(f"{path}: cannot be read; is it whole?"):
            if path.is_dir():
                for number, row in enumerate(folder_rows(path, image), start=1):
                    yield make(row, row, f"{path}, row {number}", path)
            elif kind == ".txt":
                yield document_of(["text"], image, {"text": read_txt(path)}, ["text"], path)
            elif kind == ".parquet":
                yield from _parquet_rows(path, [*names, image] if image else names, make)
            else:
                yield from _json_rows(path, make, keep)


def read_txt(path: Path) -> str:
    """The text of a file, without a byte-order mark. Raises InputError if it is not UTF-8."""
    with reason(f"{path}: cannot be read"):
        return path.read_bytes().decode("utf-8-sig")


def _json_rows(path: Path, make: Callable, keep: Callable | None) -> Iterator[Document]:
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        # Bytes, so that only \n ends a line: str.splitlines would also cut at U+2028, which JSON
        # allows inside a string.
        for number, line in enumerate(io.BufferedReader(stream), start=1):
            where = f"{path}:{number}"
            with reason(f"{where}: not a JSON object in UTF-8"):
                if line.strip():  # blank lines are not rows, as in `datasets`
                    row = json.loads(line.decode("utf-8-sig"))
                    if keep is None or keep(row):
                        yield make(row, row.keys(), where, path.parent)


def _parquet_rows(path: Path, names: list[str], make: Callable) -> Iterator[Document]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as table:
        number = 0
        # Small batches: one batch of long documents must not fill the memory.
        for batch in table.iter_batches(batch_size=1024, columns=names):
            for row in batch.to_pylist():
                number += 1
                there = table.schema_arrow.names
                yield make(row, there, f"{path}, row {number}", path.parent)


def document_of(
    names: list[str],
    image: str | None,
    row: Mapping[str, Any],
    columns: Iterable[str],
    where: object,
    folder: Path = Path(),
) -> Document:
    """Of a row the values of the fields `names`, joined by a newline, and its picture.

    The name of a picture's file is relative to `folder`.
    """
    kinds = dict.fromkeys(names, "text") | ({image: "picture"} if image else {})
    for name, kind in kinds.items():
        if row.get(name) is None or (kind == "text" and not isinstance(row[name], str)):
            raise InputError(f"{where}: no {kind} in field {name!r}; its fields are {[*columns]}")
    text = "\n".join(row[name] for name in names)
    text.encode()  # JSON's "\ud800" is legal JSON, but no text
    if image is None:
        return text, None
    found = row[image]
    return text, Picture(str(where), folder / found if isinstance(found, str) else found)


def text_fingerprint(documents: Iterable[str]) -> str:
    """sha256 (hex) over the texts in order, each preceded by its length in bytes (8, little)."""
    digest = hashlib.sha256()
    for text in documents:
        data = text.encode("utf-8")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()
