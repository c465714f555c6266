"""What the commands share: which jobs of a folder are meant, and how a table is printed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from cyclopts import Parameter
from cyclopts.types import PositiveInt

from rbpkit.errors import InputError, reason
from rbpkit.fit import by_tokenizer, few_units
from rbpkit.paired import MOST_OTHER_TEXT
from rbpkit.records import load_summaries
from rbpkit.summary import DEFAULT_KS, Summary
from rbpkit.tools.cli.app import printable, say

RecordsDir = Annotated[Path, Parameter(help="A folder of records or summaries.")]
ParamsFile = Annotated[Path, Parameter(help="A parameter file, as params/pocket.yaml.")]
Out = Annotated[Path, Parameter(help="The folder that records go to.")]
Ks = Annotated[tuple[PositiveInt, ...], Parameter("--k", help="k of RBP_k; may be repeated.")]
SPREAD_OUT = Parameter(name="*")
"""Each field of a dataclass is an option of its own."""


@dataclass(frozen=True)
class Form:
    """How a table is printed."""

    format: Annotated[
        Literal["text", "json", "csv", "md", "latex"],
        Parameter(help="Of the table; json and csv have all decimals."),
    ] = "text"
    columns: Annotated[
        str | None, Parameter(help="Only these columns of the table, as model,S,CE.")
    ] = None


Format = Annotated[Form, SPREAD_OUT]
AS_TEXT = Form()


@dataclass(frozen=True)
class Selection:
    """Which jobs of a folder are meant."""

    where: Annotated[
        tuple[str, ...],
        Parameter(help="Choose by any setting, as dtype=float32; may be repeated."),
    ] = ()
    family: Annotated[
        tuple[str, ...],
        Parameter(help="A family, or NAME=PATTERN: models whose names fit. May be repeated."),
    ] = ()
    corpus: Annotated[tuple[str, ...], Parameter(help="A corpus; may be repeated.")] = ()
    model: Annotated[tuple[str, ...], Parameter(help="A model; may be repeated.")] = ()
    checkpoint: Annotated[
        Literal["last"] | None, Parameter(help="Of each training run only the last one.")
    ] = None
    by_tokenizer: Annotated[
        bool, Parameter(help="A text in the tokens of each tokenizer is a corpus of its own.")
    ] = False

    def load(self, records: Path, several: bool = False) -> list[Summary]:
        """The summaries of these jobs. Raises InputError as `load_summaries`."""
        given = [one.partition("=") for one in self.where]
        for name in ("family", "corpus", "model"):
            given += [(name, "=", value) for value in getattr(self, name)]
        settings: dict[str, list[str]] = {}
        for name, _, value in given:
            settings.setdefault(name, []).append(value)
        found = load_summaries(
            records, checkpoint=self.checkpoint, several=several, say=say, **settings
        )
        return by_tokenizer(found) if self.by_tokenizer else found


Chosen = Annotated[Selection, Parameter(name="*", group="Which jobs")]
ALL = Selection()


# -- tables -----------------------------------------------------------------------------------


def measured_table(
    summaries: Iterable[Summary], ks: Sequence[int] = DEFAULT_KS, intervals: bool = False
) -> pd.DataFrame:
    """One row per model and corpus, sorted by corpus, family, S.

    Columns:
    - corpus, family, model, S, V, documents, max_bytes, max_length, stride, dtype, revision,
      tokens (scored);
    - CE (nats), bits_per_byte, and RBP_<k> for each of `ks`; with `intervals` each of them also
      with _low and _high. NaN for what is not known, and for a k or a text without an interval.
    """
    names = ["corpus", "family", "model", "S", "V"]
    names += ["documents", "max_bytes", "max_length", "stride", "dtype", "revision", "tokens"]
    rows = []
    for summary in summaries:
        row = {name: getattr(summary.manifest, name) for name in names}
        row["revision"] = row["revision"][:15]  # the beginning is enough
        quantities = {
            "CE": (summary.ce, summary.ce_interval),
            "bits_per_byte": (summary.bits_per_byte, summary.bits_per_byte_interval),
        }
        for k in ks:
            quantities[f"RBP_{k}"] = partial(summary.rbp, k), partial(summary.rbp_interval, k)
        for name, (value, interval) in quantities.items():
            ends = (f"{name}_low", f"{name}_high") if intervals else ()
            row |= dict.fromkeys((name, *ends), float("nan"))
            with suppress(InputError):
                row[name] = value()
                row |= zip(ends, interval() if ends else (), strict=True)
        rows.append(row)
    return pd.DataFrame(rows).sort_values(["corpus", "family", "S", "model"])


def say_what_to_mind(summaries: Sequence[Summary]) -> None:
    """Lines on numbers of a table of measured models that are not what they seem."""
    for corpus in sorted({summary.manifest.corpus for summary in summaries}):
        of_corpus = [one for one in summaries if one.manifest.corpus == corpus]
        sizes = [one.manifest.scored_bytes for one in of_corpus if one.manifest.scored_bytes]
        if sizes and max(sizes) - min(sizes) > MOST_OTHER_TEXT * max(sizes):
            say(
                f"{corpus}: {min(sizes):,} to {max(sizes):,} bytes were scored, so bits_per_byte is"
                " not of the same text; --max-bytes cuts it alike for all tokenizers"
            )
        if few := few_units(min(np.unique(one.document_units).size for one in of_corpus)):
            say(f"{corpus}: {few}, so intervals for other documents are too narrow")


def print_table(table: pd.DataFrame, form: Form = AS_TEXT, digits: int = 4) -> None:
    """A table on standard output: rounded for people, with all decimals for programs."""
    if form.columns is not None:
        with reason(f"--columns {form.columns}: there are {','.join(table)}"):
            table = table[form.columns.split(",")]
    if form.format == "json":
        with_nulls = table.astype(object).where(table.notna(), None)  # JSON knows no NaN
        print(json.dumps(with_nulls.to_dict("records")))
        return
    words = table.select_dtypes(exclude="number").columns
    table = table.assign(**{name: table[name].map(printable) for name in words})
    decimals = f".{digits}f"
    # A name from outside is text: no cell of Markdown ends in it, and no spreadsheet runs it.
    if form.format == "csv":
        names = {name: table[name].str.replace("^(?=[=+@-])", "'", regex=True) for name in words}
        print(table.assign(**names).to_csv(index=False), end="")
    elif form.format == "md":
        table = table.assign(**{name: table[name].str.replace("|", r"\|") for name in words})
        # A hash may look like a number, and is none.
        places = [place for place, name in enumerate(table) if name in words]
        look = {"floatfmt": decimals, "missingval": "", "disable_numparse": places}
        print(table.to_markdown(index=False, **look))
    elif form.format == "latex":
        quantities = [name for name in words if name == "quantity"]
        look = table.style.hide(axis="index").format(escape="latex", precision=digits, na_rep="")
        look = look.format(_symbol, subset=quantities).format_index(_symbol, axis="columns")
        print(look.to_latex(hrules=True), end="")
    else:
        print(table.to_string(index=False, na_rep="", float_format=f"{{:{decimals}}}".format))


def _symbol(quantity: str) -> str:
    """A quantity as the paper writes it, in LaTeX."""
    name = quantity.replace("_", r"\_")
    name = re.sub(r"^RBP\\_(\d+)", r"$\\mathrm{RBP}_{\1}$", name)
    return re.sub("^R2$", "$R^2$", name)
