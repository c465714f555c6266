"""`rbpkit sweep` and `rbpkit status`: the jobs of a parameter file, run and looked at."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from rbpkit.errors import InputError
from rbpkit.study.checks import folder_to_write, within

ParamsFile = Annotated[Path, typer.Argument(help="A parameter file, as params/pocket.yaml.")]
Out = Annotated[str, typer.Option("--out", help="The folder that records go to.")]

ENGINES = ("process", "ray")
MOST_WORKERS = 10_000  # a number far beyond is a slip


def sweep(
    params: ParamsFile,
    out: Out,
    shard: Annotated[
        str | None, typer.Option(help="I/N: only part I of N, for N machines or array tasks.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="process: here, a job at a time; ray: workers of Ray.")
    ] = "process",
    address: Annotated[
        str | None, typer.Option(help="Of a running Ray cluster; by default one is started here.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Of Ray: most models at a time.")] = None,
) -> None:
    """Measure all models of a parameter file on all of its corpora."""
    from rbpkit.study.params import load_params

    loaded = load_params(params)
    folder = folder_to_write(out)
    if engine not in ENGINES:
        raise InputError(f"--engine {engine!r} is not known; use one of {', '.join(ENGINES)}")
    if workers is not None:
        within("--workers", workers, 1, MOST_WORKERS)
    from rbpkit.study.jobs import Shard
    from rbpkit.study.status import study_status
    from rbpkit.study.sweep import sweep as run

    part = None if shard is None else Shard.parse(shard)
    again = f"`rbpkit status {params} --out {folder}` shows every job"
    try:
        result = run(
            loaded,
            folder,
            shard=part,
            engine=engine,
            address=address,
            workers=workers,
            say=_say,
            progress=sys.stderr.isatty(),
        )
    except KeyboardInterrupt:
        _say(f"what is done stays; the same command goes on; {again}")
        raise
    _say(f"{len(result.measured)} jobs done, {len(result.failures)} failed; records in {folder}")
    for failure in result.failures:
        _say(f"missing: {failure.model} on {failure.corpus}: {failure.reason}")
    if result.failures:
        _say(f"mend that, and the same command runs what is missing; {again}")
    if part is not None:
        status = study_status(loaded, folder)
        _say(f"all {part.count} shards: {status.line()}")
        if status.count("done") < len(status.jobs) and not result.failures:
            _say(f"missing jobs are those of other shards (--shard I/{part.count}); {again}")
    if result.failures:
        raise typer.Exit(1)


def status(
    params: ParamsFile,
    out: Out,
    watch: Annotated[bool, typer.Option("--watch", help="Until all is done or failed.")] = False,
    every: Annotated[int, typer.Option(help="Seconds between two looks of --watch.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for machines, a line a look.")] = (
        False
    ),
) -> None:
    """Which jobs of a parameter file are done, running, failed or waiting. Exit 1: some failed."""
    from rbpkit.study.params import load_params

    loaded = load_params(params)
    folder = folder_to_write(out)
    within("--every", every, 1, 86_400)
    from rbpkit.study.status import study_status

    while True:
        now = study_status(loaded, folder)
        if as_json:
            typer.echo(json.dumps(now.to_dict()))
        else:
            if watch and sys.stdout.isatty():
                typer.clear()
            typer.echo(_table(now))
        if not watch or now.settled:
            break
        time.sleep(every)
    if now.count("failed"):
        raise typer.Exit(1)


def _table(now) -> str:
    """A row a job, and the line with the counts."""
    from rbpkit.study.status import duration

    rows = [("model", "corpus", "S", "state", "tokens", "time", "")]
    rows += [
        (
            job.model,
            job.corpus,
            f"{job.S:,}" if job.S else "?",
            job.state,
            "" if job.tokens is None else f"{job.tokens:,}",
            "" if job.seconds is None else duration(job.seconds),
            job.note,
        )
        for job in now.jobs
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    right = (False, False, True, False, True, True)
    lines = [
        "  ".join(
            cell.rjust(width) if after else cell.ljust(width)
            for cell, width, after in zip(row[:6], widths, right, strict=True)
        )
        + f"  {row[6]}"
        for row in rows
    ]
    return "\n".join([*(line.rstrip() for line in lines), now.line()])


def _say(line: str) -> None:
    typer.echo(line, err=True)
