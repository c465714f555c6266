"""What the paper says, and the verdict on it: the table that ends a section's notebook.

The paper's sentences are data, in `claims.yaml`. The comparison that decides is in the notebook,
in view:

    verdicts = Verdicts("05", records_dir, figures_dir)
    verdicts.add("05.1", holds=(p > 0.025).all(), count=(p > 0.025).sum(), of=len(p), ...)
    verdicts.table()
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from IPython.display import Markdown

from rbpkit.writing import write_whole

VERDICTS = ("holds", "holds in part", "does not hold", "cannot be told")
NOT_MEASURED = "not measured"


def read_claims() -> pd.DataFrame:
    """The claims of `claims.yaml`, indexed by number: words, where, version, kind, added, test."""
    text = files("rbpkit_notebooks").joinpath("claims.yaml").read_text(encoding="utf-8")
    table = pd.DataFrame.from_dict(yaml.safe_load(text), orient="index")
    return table.assign(added=table["added"].eq(True), notebook=table.index.str[:2])


def verdict(holds: bool | None, part: bool = False) -> str:
    """One of `VERDICTS`.

    - holds: the plainest reading of the whole claim; None if it cannot be told
    - part: whether a part that the claim itself names (a text, a family, one of two quantities)
      holds where the whole does not
    """
    if holds is None:
        return "cannot be told"
    if holds:
        return "holds"
    return "holds in part" if part else "does not hold"


def robust(holds: bool | None, turns_if: Mapping[str, bool | None] | str) -> str:
    """`robust`, or `turns if` and what turns the verdict.

    - turns_if: each other reading that was tried, in words, and whether the claim holds then; or
      the words alone, empty if nothing turns it
    """
    if isinstance(turns_if, str):
        reasons = [turns_if] if turns_if else []
    else:
        reasons = [reading for reading, then in turns_if.items() if then != holds]
    return "turns if " + "; or if ".join(reasons) if reasons else "robust"


class Verdicts:
    """The verdicts on a notebook's claims, added one after the other, and their table."""

    def __init__(self, notebook: str, records_dir: str = "", figures_dir: str = "") -> None:
        """records_dir: empty if the pocket models were measured; figures_dir: empty for no CSV."""
        claims = read_claims()
        self.notebook = notebook
        self.claims = claims[claims["notebook"] == notebook]
        self.models = "yours" if records_dir else "pocket models"
        self.figures_dir = figures_dir
        self.rows: dict[str, dict[str, Any]] = {}

    def add(
        self,
        number: str,
        *,
        holds: bool | None,
        part: bool = False,
        count: int | None = None,
        of: int | None = None,
        published: str = "",
        measured: str = NOT_MEASURED,
        turns_if: Mapping[str, bool | None] | str,
    ) -> None:
        """Judge one claim, by the points that the paper published or by mathematics.

        - holds, part: see `verdict`; turns_if: see `robust`
        - count, of: how many cases agree, and of how many
        - published, measured: what the test gives on the published points, and on measured models
        """
        if number not in self.claims.index or number in self.rows:
            raise ValueError(f"{number} is not in claims.yaml, or was judged already")
        self.rows[number] = {
            "published": published,
            "measured": measured,
            "count": "" if count is None else f"{count} of {of}",
            "verdict": verdict(holds, part),
            "robust": robust(holds, turns_if),
        }

    def table(self) -> Markdown:
        """Show the verdicts, and write them as `claims_NN.csv`; each claim has to have one."""
        forgotten = self.claims.index.difference(list(self.rows))
        if len(forgotten):
            raise ValueError(f"no verdict on {', '.join(forgotten)}")
        results = pd.DataFrame.from_dict(self.rows, orient="index")
        table = self.claims.join(results).rename_axis("number").reset_index()
        table = table.rename(columns={"words": "claim"}).assign(models=self.models)
        if self.figures_dir:
            text = table.to_csv(index=False, lineterminator="\n")
            name = f"claims_{self.notebook}.csv"
            write_whole(Path(self.figures_dir), {name: text.encode()})
        return as_markdown(table)


def load_claims(folder: Path | str) -> pd.DataFrame:
    """All `claims_*.csv` of a folder, in the notebooks' order."""
    tables = []
    for path in sorted(Path(folder).glob("claims_*.csv")):
        types = {"number": str, "notebook": str}
        tables.append(pd.read_csv(path, keep_default_na=False, dtype=types))
    if not tables:
        return pd.DataFrame()
    table = pd.concat(tables, ignore_index=True)
    return table.assign(main=table["kind"] != "detail")


def as_markdown(table: pd.DataFrame) -> Markdown:
    """The verdicts of one or more notebooks as a Markdown table, main claims first."""
    models = table["models"].iloc[0]
    header = ["the paper says", "verdict", "robust?", "our test", "published points", models]
    details = table["kind"] == "detail"
    rows = []
    for row in pd.concat([table[~details], table[details]]).to_dict("records"):
        version = "" if row["version"] == "both" else f"; {row['version']}"
        kind = "" if row["kind"] == "main" else f"; {row['kind']}"
        claim = f"“{row['claim']}” ({row['where']}{version}{kind})"
        counted = f"{row['count']}; " if row["count"] else ""
        verdict = f"**{row['verdict']}**"
        found = f"{counted}{row['published']}"
        rows.append([claim, verdict, row["robust"], row["test"], found, row["measured"]])
    return markdown_table(header, rows)


def markdown_table(header: Sequence[str], rows: Iterable[Iterable[object]]) -> Markdown:
    """A Markdown table, in whose cells a bar does not begin the next cell."""
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for row in rows:
        cells = [str(cell).replace("|", r"\|") for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return Markdown("\n".join(lines))


def span(values: Iterable[float], form: str = ".2f") -> str:
    """The least and the largest value, as a table says them."""
    values = list(values)
    return f"{min(values):{form}} to {max(values):{form}}" if values else NOT_MEASURED


def counted(passed: Collection[bool]) -> str:
    """How many cases pass, as a table says it."""
    return f"{sum(passed)} of {len(passed)}" if len(passed) else NOT_MEASURED
