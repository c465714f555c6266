"""`rbpkit sweep` and `rbpkit status`: the jobs of a parameter file, run and looked at."""

from __future__ import annotations

import json
import sys
import time
from typing import Annotated

import typer

from rbpkit.cli.common import AsJson, Out, ParamsFile, say
from rbpkit.errors import InputError
from rbpkit.study.checks import folder_to_write, within

ENGINES = ("process", "ray")


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
        within("--workers", workers, 1)
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
            say=say,
            progress=sys.stderr.isatty(),
        )
    except KeyboardInterrupt:
        say(f"what is done stays; the same command goes on; {again}")
        raise
    say(f"{len(result.measured)} jobs done, {len(result.failures)} failed; records in {folder}")
    for failure in result.failures:
        say(f"missing: {failure.job.model} on {failure.job.corpus}: {failure.reason}")
    if result.failures:
        say(f"mend that, and the same command runs what is missing; {again}")
    if part is not None:
        status = study_status(loaded, folder)
        say(f"all {part.count} shards: {status.line()}")
        if status.count("done") < len(status.jobs) and not result.failures:
            say(f"missing jobs are those of other shards (--shard I/{part.count}); {again}")
    if result.failures:
        raise typer.Exit(1)


def status(
    params: ParamsFile,
    out: Out,
    watch: Annotated[bool, typer.Option("--watch", help="Until all is done or failed.")] = False,
    every: Annotated[int, typer.Option(help="Seconds between two looks of --watch.")] = 10,
    as_json: AsJson = False,
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
    import pandas as pd

    from rbpkit.study.status import duration

    rows = [
        {
            "model": job.model,
            "corpus": job.corpus,
            "S": f"{job.S:,}" if job.S else "?",
            "state": job.state,
            "tokens": "" if job.tokens is None else f"{job.tokens:,}",
            "time": "" if job.seconds is None else duration(job.seconds),
            "note": job.note,
        }
        for job in now.jobs
    ]
    table = pd.DataFrame(rows).to_string(index=False)
    return "\n".join([*(line.rstrip() for line in table.splitlines()), now.line()])
