"""Documents from files: JSON lines (plain, .gz or .zst), Parquet, plain text, or a folder of them.

Read row by row with the standard library and pyarrow: the builders of `datasets` would copy every
file into a cache, and they name neither the file nor the line that is broken.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rbpkit.errors import InputError, reason

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


def read_texts(
    files: Iterable[Path],
    field: str,
    order: Callable[[int], Sequence[int]],
    keep: Callable[[Mapping[str, Any]], bool] | None = None,
) -> tuple[list[str], int]:
    """The texts that `order` picks, and how many there are to pick from.

    field: the column of JSON or Parquet rows, or several joined by "+", whose values are then
    joined by a newline ("prompt+canonical_solution"). A .txt file is one row.
    order: given the number of rows, the numbers of those to take, in their order.
    keep: which JSON rows count.

    The files are read twice, since the order depends on the number of rows and a local copy of
    Wikipedia does not fit in memory. Every JSON line is parsed and checked in the first pass; of
    Parquet files only the row groups that hold a picked row are read.

    Raises InputError that names file and line (or row) for a field without text, a broken line,
    text that is not UTF-8, a file that cannot be read.
    """
    import pyarrow.parquet as pq

    names, counts = field.split("+"), []
    files = list(files)
    for path in files:
        with reason(f"{path}: cannot be read; is it whole?"):
            if suffix_of(path) == ".parquet":
                counts.append(pq.read_metadata(path).num_rows)
            else:
                counts.append(sum(1 for _ in _rows(path, names, keep, None)))
    picked = [int(row) for row in order(sum(counts))]
    texts: dict[int, str] = {}
    first = 0
    for path, count in zip(files, counts, strict=True):
        here = {row - first for row in picked if first <= row < first + count}
        if here:
            with reason(f"{path}: cannot be read; is it whole?"):
                texts |= {first + row: text for row, text in _rows(path, names, keep, here)}
        first += count
    return [texts[row] for row in picked], first


def _rows(
    path: Path, names: list[str], keep: Callable | None, wanted: Collection[int] | None
) -> Iterator[tuple[int, str]]:
    """(number, text) of the wanted rows of a file, counted from 0; None stands for all."""
    kind = suffix_of(path)
    if kind == ".txt":
        yield 0, read_txt(path)
    elif kind == ".parquet":
        yield from _parquet_rows(path, names, wanted)
    else:
        yield from _json_rows(path, names, keep, wanted)


def read_txt(path: Path) -> str:
    """The text of a file, without a byte-order mark. Raises InputError if it is not UTF-8."""
    with reason(f"{path}: cannot be read as UTF-8"):
        return path.read_bytes().decode("utf-8-sig")


def _json_rows(
    path: Path, names: list[str], keep: Callable | None, wanted: Collection[int] | None
) -> Iterator[tuple[int, str]]:
    import pyarrow as pa

    row = 0
    with pa.input_stream(path, compression="detect") as stream:
        # Bytes, so that only \n ends a line: str.splitlines would also cut at U+2028, which JSON
        # allows inside a string.
        for number, line in enumerate(io.BufferedReader(stream), start=1):
            if not line.strip():
                continue  # blank lines are not rows, as in `datasets`
            with reason(f"{path}:{number}: not a JSON object in UTF-8"):
                values = json.loads(line.decode("utf-8-sig"))
                if keep is not None and not keep(values):
                    continue
                if wanted is None or row in wanted:
                    yield row, _joined(values, names, values.keys(), f"{path}:{number}")
            row += 1


def _parquet_rows(
    path: Path, names: list[str], wanted: Collection[int]
) -> Iterator[tuple[int, str]]:
    import pyarrow.parquet as pq

    row = 0
    with pq.ParquetFile(path) as table:
        columns = table.schema_arrow.names
        for group in range(table.num_row_groups):
            rows = table.metadata.row_group(group).num_rows
            if not any(row <= one < row + rows for one in wanted):
                row += rows
                continue
            # Small batches: one batch of long documents must not fill the memory.
            for batch in table.iter_batches(1024, row_groups=[group], columns=names):
                for values in batch.to_pylist():
                    if row in wanted:
                        yield row, _joined(values, names, columns, f"{path}, row {row + 1}")
                    row += 1


def _joined(
    values: Mapping[str, Any], names: list[str], columns: Iterable[str], where: str
) -> str:
    for name in names:
        if not isinstance(values.get(name), str):
            raise InputError(
                f"{where}: no text in the field {name!r}; the fields are: {', '.join(columns)}"
            )
    text = "\n".join(values[name] for name in names)
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
