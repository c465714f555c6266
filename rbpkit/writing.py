"""Files that are written whole or not at all, and tables as CSV."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def write_whole(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files (name -> content) into `folder`, which is made if it is missing.

    All are written under temporary names and synced before the first is renamed. So a full disk
    leaves the old ones as they were, and a file that is there is whole. Raises OSError.
    """
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


def as_csv(table: pd.DataFrame) -> str:
    """The table as CSV: six significant digits, but all digits in a column of whole numbers."""
    whole_columns = {}
    for name, column in table.select_dtypes("float").items():
        # A float holds no larger one exactly.
        whole = (column == np.rint(column)) & (column.abs() < 2**53)
        if (whole | column.isna()).all():
            whole_columns[name] = "Int64"
    table = table.astype(whole_columns)
    return table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
