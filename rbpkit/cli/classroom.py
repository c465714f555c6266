"""`rbpkit classroom`: one notebook on a folder of parameter files, their tables in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rbpkit.cli.common import say
from rbpkit.study.checks import folder_to_write


def classroom(
    folder: Annotated[Path, typer.Argument(help="A folder of parameter files, one a student.")],
    notebook: Annotated[str, typer.Option(help="Its number or name, as 03.")],
    out: Annotated[str, typer.Option("--out", help="The folder for pages and tables.")],
) -> None:
    """Run a notebook on every parameter file of a folder, and gather the tables."""
    target = folder_to_write(out)
    from rbpkit.study.classroom import run_class

    result = run_class(folder, notebook, target, say=say)
    typer.echo(
        f"{len(result.done)} ran, {len(result.failures)} failed; "
        f"{', '.join(sorted(f'{name}.csv' for name in (*result.tables, 'failures')))} in {target}"
    )
    if result.failures:
        raise typer.Exit(1)
