"""`rbpkit classroom`: the studies of a folder of parameter files, in one table and one figure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rbpkit.cli.common import say
from rbpkit.study.checks import folder_to_write


def classroom(
    folder: Annotated[Path, typer.Argument(help="A folder of parameter files, one a student.")],
    out: Annotated[str, typer.Option("--out", help="The folder for the figure and the tables.")],
    notebook: Annotated[str | None, typer.Option(help="Run one on each file, as 03.")] = None,
) -> None:
    """Gather the slopes of all parameter files of a folder in one table and one figure."""
    target = folder_to_write(out)
    from rbpkit.study.classroom import run_class

    if run_class(folder, target, notebook=notebook, say=say):
        raise typer.Exit(1)
