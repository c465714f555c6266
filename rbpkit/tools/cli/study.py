"""The commands that take a parameter file (sweep, reproduce), and classroom."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
from cyclopts import Parameter
from cyclopts.types import PositiveFloat, PositiveInt

from rbpkit import plugins
from rbpkit.errors import InputError
from rbpkit.tools.cli.app import say
from rbpkit.tools.cli.common import Out, ParamsFile, print_table
from rbpkit.tools.study.params import load_params


def sweep(
    params: ParamsFile,
    /,
    *,
    out: Out,
    engine: Annotated[
        Literal["process", "ray"],
        Parameter(help="process: on this machine; ray: on a Ray cluster."),
    ] = "process",
    address: Annotated[
        str | None, Parameter(help="Address of a running Ray cluster; by default one is started.")
    ] = None,
    workers: Annotated[
        PositiveInt | None, Parameter(help="Models at a time; by default 1, on Ray all that fit.")
    ] = None,
    hours: Annotated[
        PositiveFloat, Parameter(help="The most that a job may take; then its worker is killed.")
    ] = 24,
    dry_run: Annotated[bool, Parameter(help="List the jobs: done or left. Measure none.")] = False,
) -> None:
    """Measure all models of a parameter file on all of its corpora.

    What is done stays: the same command goes on after an interruption, and tries again what failed.
    """
    from rbpkit.tools.study import sweep as sweeping  # torch takes seconds

    study = load_params(params)
    if dry_run:
        rows = []
        for job, path in sweeping.plan(study, out):
            rows.append((job.model, job.corpus.id, "left" if path is None else "done"))
        jobs = pd.DataFrame(rows, columns=["model", "corpus", "state"])
        print_table(jobs)
        left = (jobs["state"] == "left").sum()
        say(f"{len(jobs)} jobs: {len(jobs) - left} done, {left} left")
        return
    result = sweeping.sweep(
        study,
        out,
        engine=engine,
        address=address,
        workers=workers,
        hours=hours,
        say=say,
        progress=sys.stderr.isatty(),
    )
    say(f"{len(result.measured)} jobs done, {len(result.failures)} failed; records in {out}")
    if result.failures:
        raise SystemExit(1)


def reproduce(
    params: ParamsFile,
    /,
    *,
    out: Annotated[Path | None, Parameter(help="Where to write; by default out/NAME.")] = None,
    notebook: Annotated[
        tuple[str, ...], Parameter(help="Only this notebook, as 03; may be given again.")
    ] = (),
) -> None:
    """Measure a study, run the notebooks on it, and compare with what ships and is published.

    RBPKIT_FIGURE_FORMAT=pdf in the environment, or svg, draws figures in this format.
    """
    # Of the extra `notebooks`.
    from rbpkit.tools.study.reproduce import reproduce as run

    tell = functools.partial(print, flush=True)  # a line is seen when it is said, in a file too
    folder = out or Path("out", params.stem)
    study, progress = load_params(params), sys.stderr.isatty()
    if not run(study, folder, notebooks=notebook, say=tell, progress=progress):
        raise SystemExit(1)


def classroom(
    folder: Annotated[Path, Parameter(help="A folder of what students handed in.")],
    /,
    *,
    out: Annotated[Path, Parameter(help="The folder for the page and the tables.")],
    names: Annotated[Path | None, Parameter(help="A file with a student's name a line.")] = None,
) -> None:
    """Gather a class's parameter files and notebooks in tables and on one page."""
    report: Any = plugins.offered("notebooks", "class_report")
    if report is None:
        raise InputError("its code is not installed: from the repository pip install -e notebooks")
    if report(folder, out, names=names, say=say):
        raise SystemExit(1)
