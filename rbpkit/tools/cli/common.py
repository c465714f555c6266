"""What the commands share: options, and how lines and tables are printed."""

from __future__ import annotations

import csv
import functools
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from rbpkit.errors import InputError, nearest
from rbpkit.files.manifest import KEY
from rbpkit.tools.study.checks import folder_to_write

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from rbpkit.summary import Summary

Model = Annotated[
    str, Parameter(help="Hub id, a folder, pocket:NAME, a .gguf file, or a server's address.")
]
CorpusName = Annotated[str, Parameter(help="A corpus by name, or a file or folder of text.")]
RecordsDir = Annotated[Path, Parameter(help="A folder of records or summaries.")]
ParamsFile = Annotated[Path, Parameter(help="A parameter file, as params/pocket.yaml.")]
Out = Annotated[str, Parameter(help="The folder that records go to.")]
Ks = Annotated[list[PositiveInt] | None, Parameter("--k", help="k of RBP_k; may be repeated.")]

SEVERAL = Parameter(consume_multiple=True)
"""Of commands without arguments: `--model A B C` is `--model A --model B --model C`, so that a
shell may write the names, as it does for `--model runs/*/checkpoint-*`."""


def say(line: str) -> None:
    """A line for people, on standard error."""
    print(line, file=sys.stderr)


@dataclass(frozen=True)
class Form:
    """How a table is printed."""

    format: Annotated[
        Literal["text", "json", "csv", "md", "latex"],
        Parameter(help="Of the table; json and csv have all decimals."),
    ] = "text"
    as_json: Annotated[bool, Parameter("--json", help="Short for --format json.")] = False

    @property
    def name(self) -> str:
        return "json" if self.as_json else self.format


Table = Annotated[Form, Parameter(name="*")]
TEXT_TABLE = Form()


SETTINGS = ("family", *KEY)


@dataclass(frozen=True)
class Where:
    """Which jobs of a folder are meant: the options --where, --family and --corpus."""

    where: Annotated[
        tuple[str, ...],
        Parameter(help="Choose by any setting, as dtype=float32; may be repeated."),
    ] = ()
    family: Annotated[
        tuple[str, ...],
        Parameter(help="A family, or NAME=PATTERN: models whose names fit. May be repeated."),
    ] = ()
    corpus: Annotated[str | None, Parameter(help="Short for --where corpus=...")] = None

    def settings(self) -> dict[str, list[str]]:
        """The settings chosen by, with their values: for `load_summaries`. Raises InputError."""
        chosen: dict[str, list[str]] = {}
        for given in (*self.where, *self._short_forms()):
            name, _, value = given.partition("=")
            if not value:
                raise InputError(
                    f"--where {given}: write a setting and its value, as family=Pythia"
                )
            name = name.replace("-", "_")
            if name not in SETTINGS:
                there = ", ".join(SETTINGS)
                raise InputError(f"no setting {name!r}{nearest(name, SETTINGS)}; there are {there}")
            # Given in both ways, either value will do.
            chosen.setdefault(name, []).append(value)
        return chosen

    def _short_forms(self) -> list[str]:
        corpora = () if self.corpus is None else (f"corpus={self.corpus}",)
        return [*(f"family={name}" for name in self.family), *corpora]


@dataclass(frozen=True)
class Selection(Where):
    """The same with --model, which may be repeated, and --checkpoint."""

    model: Annotated[
        tuple[str, ...], Parameter(help="Short for --where model=...; may be repeated.")
    ] = ()
    checkpoint: Annotated[
        str | None, Parameter(help="Which one of each run: last, or the number of a step.")
    ] = None

    def _short_forms(self) -> list[str]:
        return [*super()._short_forms(), *(f"model={name}" for name in self.model)]

    def load(self, records: Path, several: bool = False) -> list[Summary]:
        """The summaries of these jobs. Raises InputError as `load_summaries`."""
        from rbpkit.records import load_summaries

        return load_summaries(
            records, checkpoint=self.checkpoint, several=several, say=say, **self.settings()
        )


Chosen = Annotated[Selection, Parameter(name="*", group="Which jobs")]
ALL = Selection()


def check_figure(figure: Path) -> None:
    """InputError unless a figure can be written there; ModuleNotFoundError without the extra."""
    from rbpkit.files.writing import check_plain_file
    from rbpkit.plots import FORMATS

    folder_to_write(str(figure.parent), "--figure")
    if figure.suffix.lstrip(".") not in FORMATS:
        raise InputError(f"--figure {figure}: end the name in .{', .'.join(FORMATS)}")
    check_plain_file(figure)


def save_figure(picture: Figure, points: pd.DataFrame, figure: Path) -> None:
    """Write a picture, and its points as CSV next to it."""
    from rbpkit import plots

    form = figure.suffix.lstrip(".")
    plots.save(picture, points, str(figure.parent), figure.stem, form)
    say(f"drawn: {figure}, and its points in {figure.with_suffix('.csv')}")


def each_k(asked: Sequence[int] | None) -> tuple[int, ...]:
    """The k that were asked for, each once, or the default."""
    from rbpkit.summary import DEFAULT_KS

    return tuple(dict.fromkeys(asked or DEFAULT_KS))


def say_if_k_is_all(summaries: Iterable[Summary], ks: Sequence[int]) -> None:
    """A line for each k that is at least V, so that RBP_k is 1."""
    smallest_V = min(summary.manifest.V for summary in summaries)
    for k in ks:
        if k >= smallest_V:
            say(f"k = {k:,} is at least V = {smallest_V:,}, all of the vocabulary: RBP_{k} is 1")


# -- tables -----------------------------------------------------------------------------------


def measured_rows(
    summaries: Iterable[Summary], ks: Sequence[int], intervals: bool = False
) -> list[dict[str, Any]]:
    """One row per model and corpus, sorted by corpus, family, S.

    Columns:
    - corpus, family, model, S, V, documents, max_length, stride, dtype, revision, tokens (scored);
    - CE (nats), and RBP_<k> for each of `ks`; with `intervals` each of them also with _low and
      _high, NaN for a k or a text that has no interval;
    - bits_per_byte, NaN if an earlier version measured, which did not count the bytes;
    - other settings, only if a model has several of them on one corpus.

    Raises InputError if there is nothing to show, and for k < 1.
    """
    names = (
        *("corpus", "family", "model", "S", "V"),
        *("documents", "max_length", "stride", "dtype", "revision"),
    )
    other_settings = [name for name in KEY if name not in names]
    rows = []
    for summary in summaries:
        manifest = summary.manifest
        row = {name: getattr(manifest, name) for name in (*names, *other_settings, "tokens")}
        for name in ("revision", "fingerprint"):  # the beginning is enough
            row[name] = row[name][:15]
        row["CE"] = summary.ce()
        if intervals:
            row["CE_low"], row["CE_high"] = _interval_or_nan(summary.ce_interval)
        row["bits_per_byte"] = summary.bits_per_byte() if manifest.scored_bytes else math.nan
        for k in ks:
            row[f"RBP_{k}"] = summary.rbp(k)
            if intervals:
                of_k = functools.partial(summary.rbp_interval, k)
                row[f"RBP_{k}_low"], row[f"RBP_{k}_high"] = _interval_or_nan(of_k)
        rows.append(row)
    if not rows:
        raise InputError("no measured model to show")
    jobs = {(row["model"], row["corpus"]) for row in rows}
    for name in other_settings:
        values = {(row["model"], row["corpus"], row[name]) for row in rows}
        if len(values) == len(jobs):  # each has one, which tells nothing
            for row in rows:
                del row[name]
    return sorted(rows, key=lambda row: [row[name] for name in ("corpus", "family", "S", "model")])


def _interval_or_nan(interval: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    """A 95% interval, NaN if there is none for this k or this text."""
    try:
        return interval()
    except InputError:
        return math.nan, math.nan


def print_table(frame: pd.DataFrame, form: Form, digits: int = 4) -> None:
    """A table as `print_rows` shows its rows."""
    print_rows(json.loads(frame.to_json(orient="records", double_precision=15)), form, digits)


def print_rows(rows: Sequence[Mapping[str, Any]], form: Form, digits: int = 4) -> None:
    """Rows by column on standard output: rounded for people, with all decimals for machines.

    As text and JSON without pandas, which takes half a second to load.
    """
    names = list(rows[0]) if rows else []
    plain = [_with_nulls(row) for row in rows]
    if form.name == "json":
        print(json.dumps(plain))
    elif form.name == "csv":
        writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(plain)
    elif form.name == "text":
        titles = []
        for name in names:
            is_text = any(isinstance(row[name], str) for row in plain)
            titles.append(name if is_text else f" {name}")  # as pandas does, for a wider gap
        _print_text([titles, *(_cells(row, digits) for row in plain)])
    else:
        _print_for_a_page([names, *(_cells(row, digits) for row in plain)], form)


def _print_text(lines: Sequence[Sequence[str]]) -> None:
    columns = []
    for column in zip(*lines, strict=True):
        width = max(map(len, column))
        columns.append([cell.rjust(width) for cell in column])
    for line in zip(*columns, strict=True):
        print(" ".join(line))


def _print_for_a_page(lines: Sequence[Sequence[str]], form: Form) -> None:
    """A table of Markdown or LaTeX (booktabs), with names as prose spells them."""
    from rbpkit.plots import name_of

    special = r"\|" if form.name == "md" else r"[&%#_{}$]"
    printed = []
    for line in lines:
        cells = [re.sub(r"_(low|high|percent)$", r" \1", name_of(cell)) for cell in line]
        cells = [re.sub(special, r"\\\g<0>", cell) for cell in cells]
        printed.append([re.sub(r"RBP\\?_(\d+)", r"$\\mathrm{RBP}_{\1}$", cell) for cell in cells])
    if form.name == "md":
        printed.insert(1, ["---"] * len(lines[0]))
        for line in printed:
            print(f"| {' | '.join(line)} |")
        return
    head, *body = (" & ".join(line) + r" \\" for line in printed)
    print(rf"\begin{{tabular}}{{{'l' * len(lines[0])}}}", r"\toprule", head, r"\midrule", sep="\n")
    print(*body, r"\bottomrule", r"\end{tabular}", sep="\n")


def _cells(row: Mapping[str, Any], digits: int) -> list[str]:
    """The values of a row as people read them; nothing for null."""
    cells = []
    for value in row.values():
        if isinstance(value, float):
            value = f"{value:.{digits}f}"
        cells.append("" if value is None else str(value))
    return cells


def _with_nulls(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as JSON has it, which knows no NaN."""
    plain = dict(row)
    for name, value in row.items():
        if isinstance(value, float) and math.isnan(value):
            plain[name] = None
    return plain
