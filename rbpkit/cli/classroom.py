"""`rbpkit classroom`: the studies and answers of a class, in tables and on one page."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rbpkit.cli.common import say
from rbpkit.errors import InputError
from rbpkit.plugins import INSTALL
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
    reports = list(entry_points(group="rbpkit.commands", name="classroom"))
    if not reports:
        raise InputError(f"rbpkit classroom comes with the laboratory: {INSTALL['pocket']}")
    if reports[0].load()(folder, target, notebook=notebook, say=say):
        raise SystemExit(1)
