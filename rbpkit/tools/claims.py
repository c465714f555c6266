"""The table that ends a section's notebook: what the paper says, and what we get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from IPython.display import Markdown

from rbpkit.errors import InputError
from rbpkit.files.writing import write_whole

VERDICTS = ("holds", "holds in part", "does not hold", "cannot be told")
COLUMNS = ("claim", "where", "test", "published", "measured", "verdict", "main")


def claims_table(
    number: str, claims: Sequence[Mapping[str, object]], records_dir: str, figures_dir: str
) -> Markdown:
    """Show a section's claims, and write `claims_NUMBER.csv` into `figures_dir`, if it is named.

    claims: of each its `claim` (the paper's words), `where` they are, our `test`, what it gives on
    the `published` points and on the `measured` models, the `verdict` (one of `VERDICTS`; on the
    paper's claim, so by the published points), and whether it is a `main` claim or a detail.
    records_dir: empty if the pocket models were measured. Raises InputError for another key or
    verdict.
    """
    table = pd.DataFrame(list(claims))
    if set(table.columns) != set(COLUMNS) or not set(table["verdict"]) <= set(VERDICTS):
        raise InputError(f"claims: each has {', '.join(COLUMNS)}; verdicts: {', '.join(VERDICTS)}")
    table = table[list(COLUMNS)].assign(models="yours" if records_dir else "pocket models")
    if figures_dir:
        text = table.to_csv(index=False, lineterminator="\n")
        write_whole(Path(figures_dir), {f"claims_{number}.csv": text.encode()})
    return as_markdown(table)


def load_claims(folder: Path | str) -> pd.DataFrame:
    """All `claims_*.csv` of a folder, in the notebooks' order, with the column `notebook`."""
    tables = [
        pd.read_csv(path, keep_default_na=False).assign(notebook=path.stem.removeprefix("claims_"))
        for path in sorted(Path(folder).glob("claims_*.csv"))
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def as_markdown(table: pd.DataFrame) -> Markdown:
    """The claims of one or more sections as a Markdown table, main claims first."""
    names = {"claim": "the paper says", "verdict": "verdict", "test": "our test"}
    names |= {"published": "published points", "measured": table["models"].iloc[0]}
    lines = [" | ".join(["", *names.values(), ""]), "|---" * len(names) + "|"]
    for row in table.sort_values("main", ascending=False, kind="stable").to_dict("records"):
        words = {key: str(row[key]).replace("|", r"\|") for key in names}
        detail = "" if row["main"] else "; a detail"
        words["claim"] = f"“{words['claim']}” ({row['where']}{detail})"
        words["verdict"] = f"**{words['verdict']}**"
        lines.append(" | ".join(["", *words.values(), ""]))
    return Markdown("\n".join(line.strip() for line in lines))
