"""The table that ends a section's notebook: what the paper says, and what we get."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd
from IPython.display import Markdown

from rbpkit.errors import InputError
from rbpkit.files.writing import write_whole

VERDICTS = ("holds", "holds in part", "does not hold", "cannot be told")
_COLUMNS = ("claim", "where", "test", "published", "measured", "verdict", "main")


def claims_table(
    number: str, claims: Sequence[Mapping[str, object]], records_dir: str, figures_dir: str
) -> Markdown:
    """Show a section's claims, and write `claims_NUMBER.csv` into `figures_dir`, if it is named.

    records_dir: empty if the pocket models were measured. claims: each has

    - claim: the paper's words, and where they are
    - test: ours
    - published, measured: what it gives on the published points and on the measured models
    - verdict: one of `VERDICTS`; on the paper's claim, so by the published points
    - main: False for a detail; a main claim may leave it out

    Raises InputError for another key or verdict.
    """
    table = pd.DataFrame([{"main": True, **claim} for claim in claims])
    if set(table.columns) != set(_COLUMNS) or not set(table["verdict"]) <= set(VERDICTS):
        raise InputError(f"claims: each has {', '.join(_COLUMNS)}; verdicts: {', '.join(VERDICTS)}")
    models = "yours" if records_dir else "pocket models"
    table = table[list(_COLUMNS)].assign(models=models)
    if figures_dir:
        text = table.to_csv(index=False, lineterminator="\n")
        write_whole(Path(figures_dir), {f"claims_{number}.csv": text.encode()})
    return as_markdown(table)


def load_claims(folder: Path | str) -> pd.DataFrame:
    """All `claims_*.csv` of a folder, in the notebooks' order, with the column `notebook`."""
    tables = []
    for path in sorted(Path(folder).glob("claims_*.csv")):
        table = pd.read_csv(path, keep_default_na=False)
        tables.append(table.assign(notebook=path.stem.removeprefix("claims_")))
    if not tables:
        return pd.DataFrame()
    return pd.concat(tables, ignore_index=True)


def as_markdown(table: pd.DataFrame) -> Markdown:
    """The claims of one or more sections as a Markdown table, main claims first."""
    headings = (
        "the paper says",
        "verdict",
        "our test",
        "published points",
        table["models"].iloc[0],
    )
    lines = [_table_line(headings), "|---" * len(headings) + "|"]
    for row in table.sort_values("main", ascending=False, kind="stable").to_dict("records"):
        cell = {key: str(value).replace("|", r"\|") for key, value in row.items()}
        detail = "" if row["main"] else "; a detail"
        claim = f"“{cell['claim']}” ({row['where']}{detail})"
        verdict = f"**{cell['verdict']}**"
        lines.append(
            _table_line([claim, verdict, cell["test"], cell["published"], cell["measured"]])
        )
    return Markdown("\n".join(lines))


def _table_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def span(values: Iterable[float], form: str = ".2f") -> str:
    """The least and the largest value, as a table says them."""
    values = list(values)
    return f"{min(values):{form}} to {max(values):{form}}" if values else "not measured"
