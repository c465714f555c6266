"""`rbpkit bench`: how fast this device ranks, on the shapes of the paper's models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rbpkit.cli.common import Dtype, Threads
from rbpkit.files.devices import check_device, set_threads, torch_device


def bench(
    shapes: Annotated[
        list[str] | None,
        typer.Option(help="paper: all 24; or the hub id of one of them; may be repeated."),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(help="cpu or cuda; by default a GPU if there is one.", callback=check_device),
    ] = None,
    dtype: Dtype = "float32",
    tokens: Annotated[int, typer.Option(help="Random tokens ranked in a call.", min=1)] = 8192,
    threads: Threads = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="A Markdown file that keeps the rows; shapes in it are not timed again."),
    ] = None,
) -> None:
    """Time exact ranking against a naive program that makes all logits at once.

    The shapes are the head width d and vocabulary V of the paper's models, filled with random
    numbers. Each row is written to --out when it is done, so that a run that was cut short can be
    resumed.
    """
    from rbpkit.files.architectures import ARCHITECTURES
    from rbpkit.tools.bench import HEAD, timed_rows

    set_threads(threads)
    names: list[str] = []
    for shape in shapes or ["paper"]:
        names += ARCHITECTURES if shape == "paper" else [shape]
    rows = timed_rows(names, dtype=dtype, device=torch_device(device), tokens=tokens, out=out)
    for number, row in enumerate(rows):
        typer.echo(row if number else HEAD + row)
