"""The verdicts as a table to read: Markdown, CSV, and claims.json."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from rbpkit.audit.verdicts import SOURCES, Claim, Finding, claims_json, verdict_table
from rbpkit.figures import write_whole


def as_markdown(verdicts: pd.DataFrame, *, conditions: bool = True) -> str:
    """A row a claim: section, claim, and for each source the verdict on the number that tests it.

    verdicts: of `verdict_table`. conditions: also the condition of each "holds when". Numbers have
    two decimals below 10, intervals are 95%, n in parentheses.
    """
    heading = ["section", "claim", "the number", *SOURCES]
    lines = [_row(heading), _row(["---"] * len(heading))]
    for name, rows in verdicts.groupby("name", sort=False):
        first = rows.iloc[0]
        cells = [first["section"], f"{first['claim']} (`{name}`)", first["test"]]
        for source in SOURCES:
            of_source = rows[rows["source"] == source]
            cells.append(_cell(of_source.iloc[0], conditions) if len(of_source) else "")
        lines.append(_row(cells))
    return "".join(lines)


def save_verdicts(findings: Sequence[Finding], claims: dict[str, Claim], figures_dir: str) -> None:
    """verdicts.csv, verdicts.md and claims.json, each whole or not at all; nothing if not asked."""
    if not figures_dir:
        return
    table = verdict_table(findings, claims)
    files = {
        "verdicts.csv": table.to_csv(index=False, float_format="%.6g", lineterminator="\n"),
        "verdicts.md": as_markdown(table),
        "claims.json": claims_json(findings, claims),
    }
    write_whole(Path(figures_dir), {name: text.encode() for name, text in files.items()})


def _cell(row: pd.Series, conditions: bool) -> str:
    number = _number(row["value"])
    if pd.notna(row["low"]):
        number += f" [{_number(row['low'])}, {_number(row['high'])}]"
    cell = f"**{row['verdict']}** {number} ({row['n']})"
    if conditions and row["when"]:
        cell += f": {row['when']}"
    return cell


def _number(value: float) -> str:
    """Two decimals from 0.1 to 10, one above, two significant digits below."""
    if value == 0 or value == int(value):
        return f"{value:.0f}"
    size = abs(value)
    if size < 1 and f"{size:.2f}" == "1.00":
        return f"{value:.3f}"  # nearly all is not all
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 else f"{value:.2g}"


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |\n"
