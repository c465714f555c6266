"""Files written whole or not at all: under another name first, synced, read again, renamed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def write_temporary(path: Path, data: bytes) -> Path:
    """`data` to a temporary file beside `path`, synced, read again and compared; its path."""
    new = path.parent / f".{path.name}.{secrets.token_hex(4)}.tmp"
    try:
        with new.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if new.read_bytes() != data:
            fault = "what was read back is not what was written; is the disk failing?"
            raise OSError(f"{path}: {fault}")
    except BaseException:  # Ctrl-C too
        new.unlink(missing_ok=True)
        raise
    return new


def sync_folder(folder: Path) -> None:
    """So that the names too survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_whole(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files (name -> content) into a folder that is made if need be.

    All are written under other names first, then renamed: a full disk leaves the old ones. Raises
    OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    new: dict[Path, Path] = {}
    try:
        for name, data in files.items():
            new[folder / name] = write_temporary(folder / name, data)
        for path, temporary in new.items():
            os.replace(temporary, path)
    finally:
        for temporary in new.values():
            temporary.unlink(missing_ok=True)


def as_csv(table: pd.DataFrame) -> str:
    """The table as CSV: six significant digits, but all digits in a column of whole numbers."""
    whole = {
        name: "Int64"
        for name, column in table.select_dtypes("float").items()
        if (column.isna() | (column == np.rint(column))).all() and not np.isinf(column).any()
    }
    return table.astype(whole).to_csv(index=False, float_format="%.6g", lineterminator="\n")
