"""`rbpkit classroom`: the studies and answers of a class, in tables and on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rbpkit.cli.common import say
from rbpkit.study.checks import folder_to_write


def classroom(
    folder: Annotated[Path, Parameter(help="A folder of parameter files and notebooks.")],
    /,
    *,
    out: Annotated[str, Parameter(help="The folder for the page and the tables.")],
    notebook: Annotated[str | None, Parameter(help="Run one on each file, as 03.")] = None,
) -> None:
    """Gather a class's parameter files and notebooks in tables and on one page."""
    target = folder_to_write(out)
    from rbpkit import plugins

    report = plugins.class_report()
    if report(folder, target, notebook=notebook, say=say):
        raise SystemExit(1)
