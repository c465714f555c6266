"""The tables of a class as CSV."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from rbpkit.errors import printable
from rbpkit.writing import as_csv, write_whole
from rbpkit_notebooks.class_report.reading import cut


def joined(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """file -> its table, as one table with the column file in front."""
    parts = [pd.DataFrame(columns=["file"])]
    for file, rows in tables.items():
        rows = rows.map(lambda cell: cut(printable(cell)) if isinstance(cell, str) else cell)
        rows.insert(0, "file", file)
        parts.append(rows)
    return pd.concat(parts[1:] or parts, ignore_index=True)


def write_tables(folder: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    """Write NAME.csv for each table, all or none."""
    files = {}
    for name, rows in tables.items():
        files[f"{name}.csv"] = as_csv(rows).encode()
    write_whole(folder, files)
