"""What the commands share: options, checks, and how lines and tables are printed."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from rbpkit.files.devices import check_device, check_dtype
from rbpkit.files.job_key import SETTINGS, JobKey
from rbpkit.study.checks import MOST_THREADS

if TYPE_CHECKING:
    import pandas as pd

    from rbpkit.summary import Summary

Models = Annotated[
    list[str],
    typer.Option(
        "--model", help="Hub ids, folders in their layout, or pocket:NAME; one or several."
    ),
]
Model = Annotated[str, typer.Option(help="Hub id, a folder in its layout, or pocket:NAME.")]
CorpusName = Annotated[str, typer.Option(help="A corpus by name, or a file or folder of text.")]
RecordsDir = Annotated[Path, typer.Argument(help="A folder of records or summaries.")]
ParamsFile = Annotated[Path, typer.Argument(help="A parameter file, as params/pocket.yaml.")]
Out = Annotated[str, typer.Option("--out", help="The folder that records go to.")]
MaxLength = Annotated[int, typer.Option(help="Truncate documents at this many tokens.", min=2)]
BatchTokens = Annotated[int, typer.Option(help="Most tokens of one forward pass.", min=1)]
Threads = Annotated[
    int, typer.Option(help="CPU threads; 0 for torch's default.", min=0, max=MOST_THREADS)
]
# Checked while the command line is read: later, torch would be loaded before a slip shows.
Dtype = Annotated[
    str,
    typer.Option(help="float32, bfloat16 or float16 (head in float32).", callback=check_dtype),
]
Device = Annotated[
    str | None,
    typer.Option(
        help="cpu, cuda, or auto: over all GPUs; by default one GPU if there is.",
        callback=check_device,
    ),
]
Ks = Annotated[list[int] | None, typer.Option("--k", help="k of RBP_k; may be repeated.", min=1)]
Checkpoint = Annotated[str | None, typer.Option(help="Of each run: last, or the number of a step.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON for machines instead of a table.")]


def say(line: str) -> None:
    """A line for people, on standard error."""
    typer.echo(line, err=True)


# An option of these may be given several times: one of the values is enough.
REPEATED_SETTINGS = ("model", "revision")


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each of SETTINGS; it gets their values as `settings`."""

    @functools.wraps(command)
    def run(**given: object) -> None:
        settings = {name: given.pop(name) for name in SETTINGS}
        for name in REPEATED_SETTINGS:
            settings[name] = settings[name] or None  # not an empty list
        command(**given, settings=settings)

    # typer reads the options from the signature.
    own = signature(command, eval_str=True).parameters.values()
    parameters = [parameter for parameter in own if parameter.name != "settings"]
    types = get_type_hints(JobKey)
    for name in SETTINGS:
        text = f"Choose by {name.replace('_', ' ')}"
        value_type: Any = types.get(name, str)
        if name in REPEATED_SETTINGS:
            text += "; may be repeated"
            value_type = list[value_type]
        option = typer.Option(f"--{name.replace('_', '-')}", help=f"{text}.")
        annotation = Annotated[value_type | None, option]
        parameters.append(
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        )
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # read by `signature`
    return run


def say_if_k_is_all(summaries: Iterable[Summary], ks: Sequence[int]) -> None:
    """A line for each k that is at least V, so that RBP_k is 1."""
    vocabularies = {summary.manifest.V for summary in summaries}
    for k in ks:
        reached = [V for V in vocabularies if k >= V]
        if reached:
            say(f"k = {k:,} is at least V = {max(reached):,}, all of the vocabulary: RBP_{k} is 1")


class SeveralValues(TyperCommand):
    """A command whose options that may be repeated take several values at once.

    `--model A B C` is `--model A --model B --model C`, so that a shell may write the names, as it
    does for `--model runs/*/checkpoint-*`. Of a command with arguments this would be ambiguous.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        has_arguments = any(parameter.param_type_name == "argument" for parameter in self.params)
        repeatable: set[str] = set()
        for parameter in self.params:
            if getattr(parameter, "multiple", False) and not has_arguments:
                repeatable.update(parameter.opts)
        option = ""  # the one that the values belong to
        values = 0
        written_out = []
        for word in args:
            if word.startswith("-"):
                option, values = word, 0
            elif option in repeatable:
                values += 1
                if values > 1:
                    written_out.append(option)
            written_out.append(word)
        return super().parse_args(ctx, written_out)


def print_table(frame: pd.DataFrame, as_json: bool, digits: int = 4) -> None:
    """A table as `print_rows` shows its rows."""
    print_rows(json.loads(frame.to_json(orient="records", double_precision=15)), as_json, digits)


def print_rows(rows: Sequence[Mapping[str, Any]], as_json: bool, digits: int = 4) -> None:
    """Rows by column on standard output: rounded for people, with all decimals as JSON.

    Without pandas, which takes half a second to load.
    """
    if as_json:
        numbered = [{name: _or_null(value) for name, value in row.items()} for row in rows]
        typer.echo(json.dumps(numbered))
        return
    columns = []
    for name in rows[0] if rows else ():
        is_text = any(isinstance(row[name], str) for row in rows)
        title = name if is_text else f" {name}"  # as pandas does, for a wider gap
        cells = [title, *(_cell(row[name], digits) for row in rows)]
        width = max(map(len, cells))
        columns.append([cell.rjust(width) for cell in cells])
    for line in zip(*columns, strict=True):
        typer.echo(" ".join(line))


def _cell(value: object, digits: int) -> str:
    """A value as people read it; nothing for NaN and null."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def _or_null(value: object) -> object:
    """A value as JSON has it, which knows no NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value
