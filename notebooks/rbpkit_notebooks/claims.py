"""The table that ends a section's notebook: what the paper says, and what we get."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from IPython.display import Markdown

from rbpkit.files.writing import write_whole

VERDICTS = ("holds", "holds in part", "does not hold", "cannot be told")


class Claim(NamedTuple):
    """What the paper says, in its words, and where; how we test it; main: False for a detail."""

    words: str
    where: str
    test: str
    main: bool = True


def claims_table(
    number: str,
    results: Mapping[Claim, tuple[str, str, str]],
    records_dir: str,
    figures_dir: str,
) -> Markdown:
    """Show a section's claims, and write `claims_NUMBER.csv` into `figures_dir`, if it is named.

    - results: what the test gives on the published points, and on the measured models; and the
      verdict, one of `VERDICTS`, on the paper's claim, so by the published points
    - records_dir: empty if the pocket models were measured
    """
    models = "yours" if records_dir else "pocket models"
    rows = []
    for (words, where, test, main), result in results.items():
        rows.append((words, where, test, *result, main, models))
    names = "claim where test published measured verdict main models".split()
    table = pd.DataFrame(rows, columns=names)
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
    models = table["models"].iloc[0]
    lines = [f"| the paper says | verdict | our test | published points | {models} |"]
    lines.append("|---" * 5 + "|")
    for row in table.sort_values("main", ascending=False, kind="stable").to_dict("records"):
        cell = {key: str(value).replace("|", r"\|") for key, value in row.items()}
        detail = "" if row["main"] else "; a detail"
        claim = f"| “{cell['claim']}” ({row['where']}{detail}) | **{cell['verdict']}** |"
        lines.append(f"{claim} {cell['test']} | {cell['published']} | {cell['measured']} |")
    return Markdown("\n".join(lines))


def span(values: Iterable[float], form: str = ".2f") -> str:
    """The least and the largest value, as a table says them."""
    values = list(values)
    return f"{min(values):{form}} to {max(values):{form}}" if values else "not measured"


def counted(passed: Collection[bool]) -> str:
    """How many cases pass, as a table says it."""
    return f"{sum(passed)} of {len(passed)}" if len(passed) else "not measured"


def verdict_of(passed: Collection[bool]) -> str:
    """The verdict on a claim about all of some cases."""
    return "holds" if all(passed) else "holds in part" if any(passed) else "does not hold"
