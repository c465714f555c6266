"""Documents out of anyone's files: .jsonl, .jsonl.gz, .parquet, .txt, or a folder of them.

Read with the standard library and pyarrow, row by row: `datasets`' builders would copy every
file into a cache and name neither the file nor the line that is broken.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rbpkit.errors import InputError

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet", ".txt")
BOM = "\ufeff"


def suffix_of(path: Path) -> str | None:
    """The one of `SUFFIXES` that the file's name ends in, in any case, or None."""
    return next((s for s in SUFFIXES if path.name.lower().endswith(s)), None)


def list_files(path: Path) -> tuple[Path, ...]:
    """The files of a corpus: `path` itself, or the readable files of the folder `path`.

    A folder's files come sorted by name, whatever their kinds; subfolders, hidden files and
    other endings are left out. Raises InputError where nothing can be read.
    """
    kinds = ", ".join(SUFFIXES)
    if path.is_file():
        if suffix_of(path) is None:
            raise InputError(f"{path}: not a corpus file; give one that ends in {kinds}")
        return (path,)
    if not path.is_dir():
        raise InputError(f"{path}: neither a file nor a folder; give one that ends in {kinds}")
    try:
        found = [p for p in path.iterdir() if not p.name.startswith(".") and p.is_file()]
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    files = tuple(sorted((p for p in found if suffix_of(p)), key=lambda p: p.name))
    if not files:
        raise InputError(f"{path}: no corpus file in this folder; it needs some of {kinds}")
    return files


def read_texts(files: Iterable[Path], field: str) -> Iterator[str]:
    """The text of each row of `files`, in order, read lazily; a .txt file is one row.

    field: the column of .jsonl and .parquet rows, or several joined by "+", whose values are
    then joined by a newline ("prompt+canonical_solution").

    Raises InputError naming file and line (or row) for a missing field, a value that is not
    a string, a broken line, text that is not UTF-8, a file that cannot be read.
    """
    names = field.split("+")
    if not all(names):
        raise InputError(f"field {field!r}: a name is empty; write NAME or NAME+NAME")
    for path in files:
        kind = suffix_of(path)
        if kind == ".txt":
            yield read_txt(path)
        elif kind == ".parquet":
            yield from _read_parquet(path, names)
        else:
            yield from _read_jsonl(path, names)


def read_txt(path: Path) -> str:
    """The text of a file, UTF-8, without a byte-order mark. Raises InputError as `read_texts`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    try:
        return data.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}:{line}: not UTF-8 at byte {error.start}; convert the file to UTF-8"
        ) from error


def _read_jsonl(path: Path, names: list[str]) -> Iterator[str]:
    compressed = path.name.lower().endswith(".gz")
    try:
        with gzip.open(path, "rb") if compressed else path.open("rb") as lines:
            # Bytes, so that only \n ends a line: text mode would hide where UTF-8 breaks, and
            # str.splitlines would cut at U+2028, which JSON allows inside a string.
            for number, line in enumerate(lines, start=1):
                if line.strip():  # blank lines are not rows, as in `datasets`
                    where = f"{path}:{number}"
                    yield _join(_parse(line, where), names, where)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read ({error}); is it whole?") from error


def _parse(line: bytes, where: str) -> Any:
    try:
        return json.loads(line.decode("utf-8").removeprefix(BOM))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where}: not UTF-8 at byte {error.start} of the line; convert the file to UTF-8"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON ({error}); each line must be one object") from error


def _read_parquet(path: Path, names: list[str]) -> Iterator[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as table:
            _check_fields(table.schema_arrow.names, names, str(path))
            row = 0
            # A small batch: one batch of long documents must not fill the memory.
            for batch in table.iter_batches(batch_size=1024, columns=names):
                columns = [batch.column(batch.schema.get_field_index(n)) for n in names]
                for i in range(batch.num_rows):
                    row += 1
                    where = f"{path}, row {row}"
                    try:
                        values = {n: c[i].as_py() for n, c in zip(names, columns, strict=True)}
                    except UnicodeDecodeError as error:
                        raise InputError(f"{where}: not UTF-8; write the file again") from error
                    yield _join(values, names, where)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last: columns' names
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path}: cannot be read as Parquet ({reason}); is it whole?") from error


def _check_fields(present: Iterable[str], names: list[str], where: str) -> None:
    present = list(present)
    for name in names:
        if name not in present:
            listed = " ".join(", ".join(map(str, present)).split()) or "none"
            raise InputError(f"{where}: no field {name!r}; the fields are: {listed}")


def _join(row: Any, names: list[str], where: str) -> str:
    if not isinstance(row, Mapping):
        raise InputError(
            f"{where}: a {type(row).__name__}, not an object; each line must be one object"
        )
    _check_fields(row, names, where)
    for name in names:
        if not isinstance(row[name], str):
            kind = "null" if row[name] is None else f"a {type(row[name]).__name__}"
            raise InputError(f"{where}: field {name!r} is {kind}, not a string; choose another")
    text = "\n".join(row[name] for name in names)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        # JSON's "\ud800" is legal JSON and no text: neither a tokenizer nor a hash takes it.
        raise InputError(
            f"{where}: half a surrogate pair at character {error.start}; remove it"
        ) from error
    return text


def text_fingerprint(documents: Iterable[str]) -> str:
    """sha256 (hex) over the texts in order, each preceded by its length in bytes (8, little)."""
    digest = hashlib.sha256()
    for text in documents:
        data = text.encode("utf-8")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()
