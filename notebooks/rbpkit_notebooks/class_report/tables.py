"""The tables of a class as CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from rbpkit.writing import as_csv, write_whole
from rbpkit_notebooks.class_report.reading import cut, printable

# What a cell begins with that a spreadsheet would compute; the last four are wide letters.
FORMULA = re.compile(r"[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def without_formula(cell: object) -> object:
    """A cell of a table; a text that a spreadsheet would compute begins with an apostrophe.

    A plain number, such as the answer -0.09, stays as it is.
    """
    if not isinstance(cell, str) or not FORMULA.match(cell) or NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


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
        files[f"{name}.csv"] = as_csv(rows.map(without_formula)).encode()
    write_whole(folder, files)
