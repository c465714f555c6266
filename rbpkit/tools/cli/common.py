"""What the commands share: their options, and how lines and tables are printed."""

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
from pandas.api.types import is_numeric_dtype

from rbpkit.errors import InputError, nearest, printable
from rbpkit.fit import by_tokenizer, few_units
from rbpkit.manifest import KEY
from rbpkit.paired import MOST_OTHER_TEXT
from rbpkit.records import load_summaries
from rbpkit.summary import DEFAULT_KS, Summary
from rbpkit.tools.cli.app import say
from rbpkit.writing import without_formula

RecordsDir = Annotated[Path, Parameter(help="A folder of records or summaries.")]
ParamsFile = Annotated[Path, Parameter(help="A parameter file, as params/pocket.yaml.")]
Out = Annotated[str, Parameter(help="The folder that records go to.")]
Ks = Annotated[tuple[PositiveInt, ...], Parameter("--k", help="k of RBP_k; may be repeated.")]

MARKDOWN = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]<>$|~&"})
LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)
"""What would be more than text, as a name may hold it -> how it is written."""

SPREAD_OUT = Parameter(name="*")
"""Each field of a dataclass is an option of its own."""


# -- which jobs -------------------------------------------------------------------------------


SETTINGS = ("family", *KEY)


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
        str | None, Parameter(help="Which one of each run: last, or the number of a step.")
    ] = None
    by_tokenizer: Annotated[
        bool, Parameter(help="A text in the tokens of each tokenizer is a corpus of its own.")
    ] = False

    def load(self, records: Path, several: bool = False) -> list[Summary]:
        """The summaries of these jobs. Raises InputError as `load_summaries`."""
        short_forms = {"family": self.family, "corpus": self.corpus, "model": self.model}
        settings = {name: [*values] for name, values in short_forms.items() if values}
        for given in self.where:
            name, _, value = given.partition("=")
            if not value:
                raise InputError(f"--where {given}: write a setting and its value, as seed=42")
            name = name.replace("-", "_")
            if name not in SETTINGS:
                there = ", ".join(SETTINGS)
                raise InputError(f"no setting {name!r}{nearest(name, SETTINGS)}; there are {there}")
            settings.setdefault(name, []).append(value)
        found = load_summaries(
            records, checkpoint=self.checkpoint, several=several, say=say, **settings
        )
        return by_tokenizer(found) if self.by_tokenizer else found


Chosen = Annotated[Selection, Parameter(name="*", group="Which jobs")]
ALL = Selection()


# -- tables -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """How a table is printed."""

    format: Annotated[
        Literal["text", "json", "csv", "md", "latex"],
        Parameter(help="Of the table; json and csv have all decimals."),
    ] = "text"
    as_json: Annotated[bool, Parameter("--json", help="Short for --format json.")] = False
    columns: Annotated[
        str | None, Parameter(help="Only these columns of the table, as model,S,CE.")
    ] = None

    @property
    def is_json(self) -> bool:
        return self.as_json or self.format == "json"


Table = Annotated[Form, SPREAD_OUT]
TEXT_TABLE = Form()


def measured_table(
    summaries: Iterable[Summary], ks: Sequence[int] = DEFAULT_KS, intervals: bool = False
) -> pd.DataFrame:
    """One row per model and corpus, sorted by corpus, family, S.

    Columns:
    - corpus, family, model, S, V, documents, max_length, stride, dtype, revision, tokens (scored);
    - CE (nats), and RBP_<k> for each of `ks`; with `intervals` each of them also with _low and
      _high, NaN for a k or a text that has no interval;
    - bits_per_byte the same, NaN if an earlier version measured, which did not count the bytes;
    - other settings, only if they differ on one corpus.
    """
    names = ["corpus", "family", "model", "S", "V"]
    names += ["documents", "max_length", "stride", "dtype", "revision"]
    others = [name for name in KEY if name not in names]
    rows = []
    for summary in summaries:
        manifest = summary.manifest
        row = {name: getattr(manifest, name) for name in (*names, *others, "tokens")}
        for name in ("revision", "fingerprint"):  # the beginning is enough
            row[name] = row[name][:15]
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
    table = pd.DataFrame(rows).sort_values(["corpus", "family", "S", "model"])
    texts = table.groupby("corpus")
    same = [name for name in others if (texts[name].nunique() <= 1).all()]  # they tell nothing
    return table.drop(columns=same)


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


def print_table(table: pd.DataFrame, form: Form = TEXT_TABLE, digits: int = 4) -> None:
    """A table on standard output: rounded for people, with all decimals for programs."""
    if form.columns is not None:
        asked = form.columns.split(",")
        if absent := [name for name in asked if name not in table]:
            raise InputError(f"--columns {absent[0]}: there are {','.join(table)}")
        table = table[asked]
    if form.is_json:
        print(json.dumps(rows_of(table)))
        return
    words = [name for name in table if not is_numeric_dtype(table[name])]
    table = table.assign(**{name: table[name].map(_as_text) for name in words})
    if form.format == "csv":
        print(table.map(without_formula).to_csv(index=False), end="")
    elif form.format == "text":
        print(table.to_string(index=False, na_rep="", float_format=f"{{:.{digits}f}}".format))
    elif form.format == "md":
        # A hash may look like a number, and is none.
        places = [table.columns.get_loc(name) for name in words]
        look = {"floatfmt": f".{digits}f", "missingval": "", "disable_numparse": places}
        print(_with_symbols(table, words, MARKDOWN).to_markdown(index=False, **look))
    else:
        text = _with_symbols(table, words, LATEX)
        decimals = f"%.{digits}f"
        print(text.to_latex(index=False, na_rep="", float_format=decimals), end="")


def _as_text(cell: object) -> object:
    """A cell; of a text what prints."""
    return printable(cell) if isinstance(cell, str) else cell


def _with_symbols(
    table: pd.DataFrame, words: Iterable[str], escapes: dict[int, str]
) -> pd.DataFrame:
    """A table for Markdown or LaTeX: names are text, and quantities the paper's symbols."""

    def written(name: object) -> object:
        return name.translate(escapes) if isinstance(name, str) else name

    def symbol(name: str) -> str:
        name = re.sub(r"^RBP\\_(\d+)", r"$\\mathrm{RBP}_{\1}$", str(written(name)))
        return re.sub("^R2$", "$R^2$", name)

    cells = {name: table[name].map(symbol if name == "quantity" else written) for name in words}
    return table.assign(**cells).rename(columns=symbol)


def rows_of(table: pd.DataFrame) -> list[dict]:
    """The rows as JSON has them, which knows no NaN."""
    with_nulls = table.astype(object).where(table.notna(), None)
    return with_nulls.to_dict("records")
