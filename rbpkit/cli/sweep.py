"""`rbpkit sweep` and `rbpkit status`: the jobs of a parameter file, run and counted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from rbpkit.cli.common import AsJson, Out, ParamsFile, print_table, say
from rbpkit.errors import InputError
from rbpkit.study.checks import folder_to_write


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
) -> None:
    """Measure all models of a parameter file on all of its corpora."""
    from rbpkit.study.params import load_params

    loaded = load_params(params)
    folder = folder_to_write(out)
    from rbpkit.study.jobs import corpus_names, study_models

    # A name that is not known shows now: the next line loads torch, which takes seconds.
    study_models(loaded)
    corpus_names(loaded)
    from rbpkit.study.sweep import sweep as run

    try:
        result = run(
            loaded,
            folder,
            engine=engine,
            address=address,
            workers=workers,
            processes=workers or 1,
            say=say,
            progress=sys.stderr.isatty(),
        )
    except KeyboardInterrupt:
        say("what is done stays; the same command resumes")
        raise
    say(f"{len(result.measured)} jobs done, {len(result.failures)} failed; records in {folder}")
    if result.failures:
        say(f"why: {folder / 'failures.csv'}; the same command runs these jobs again")
        raise SystemExit(1)


def status(
    params: ParamsFile,
    /,
    *,
    out: Annotated[
        str | None, Parameter(help="The records; by default the file's records_dir.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count the jobs of a parameter file that are done, failed or left. Exit 1: some failed."""
    from rbpkit.study.params import load_params

    loaded = load_params(params)
    records = loaded.records_dir if out is None else out
    if out is None and not records:
        raise InputError(f"{params}: give --out, or records_dir in the file")
    folder = Path(records)  # which is only read
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder}: is a file, not a folder")
    from rbpkit.study.jobs import study_status

    jobs = study_status(loaded, folder)
    print_table(jobs, as_json, digits=1)
    count = jobs["state"].value_counts()
    counted = ", ".join(f"{count.get(state, 0)} {state}" for state in ("done", "failed", "left"))
    say(f"{len(jobs)} jobs: {counted}")
    if count.get("failed", 0):
        raise SystemExit(1)
