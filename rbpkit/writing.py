"""Files that are written whole or not at all, and tables as CSV."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rbpkit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


FORMULA = re.compile(r"[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
"""What a cell begins with that a spreadsheet would compute; the last four are wide letters."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def check_plain_file(path: Path, inputs: Iterable[object] = ()) -> None:
    """InputError for what is there and no plain file (a pipe, a folder), or one of the inputs."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is no plain file; name another")
    for given in inputs:
        if Path(str(given)).expanduser().resolve() == path.resolve():
            raise InputError(f"{path}: is read here; name another file to write")


def write_whole(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files (name -> content) into `folder`, which is made if it is missing.

    All are written under temporary names and synced before the first is renamed. So a full disk
    leaves the old ones as they were, and a file that is there is whole. Raises OSError, and
    InputError as `check_plain_file`.
    """
    for name in files:
        check_plain_file(folder / name)
    folder.mkdir(parents=True, exist_ok=True)
    # Another process, on another machine even, may write the same files at this moment.
    writer = uuid.uuid4().hex[:8]
    temporary = {name: folder / f".{name}.{writer}.tmp" for name in files}
    try:
        for name, data in files.items():
            with temporary[name].open("xb") as file:  # never through a link that is there
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        for name in files:
            os.replace(temporary[name], folder / name)
    finally:
        for path in temporary.values():
            path.unlink(missing_ok=True)
    handle = os.open(folder, os.O_RDONLY)  # so that the names survive a power cut, too
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def without_formula(cell: object) -> object:
    """A cell of a table; a text that a spreadsheet would compute begins with an apostrophe.

    A plain number, such as the answer -0.09, stays as it is.
    """
    if not isinstance(cell, str) or not FORMULA.match(cell) or NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def as_csv(table: pd.DataFrame) -> str:
    """The table as CSV: six significant digits, but all digits in a column of whole numbers.

    No cell is a formula.
    """
    whole_columns = {}
    for name, column in table.select_dtypes("float").items():
        whole = column.isna() | (column == np.rint(column))
        if whole.all() and not np.isinf(column).any():
            whole_columns[name] = "Int64"
    table = table.astype(whole_columns).map(without_formula)
    return table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
