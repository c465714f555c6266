"""`rbpkit fetch` and `rbpkit plan`: what a study downloads, and what it takes."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rbpkit.cli.common import AsJson, ParamsFile, say
from rbpkit.errors import InputError
from rbpkit.study.params import load_params

if TYPE_CHECKING:
    from rbpkit.study.hub_repositories import HubListing, ListedRepository
    from rbpkit.study.plan import PlannedJob

OFFLINE = "all of it is in the cache: set HF_HUB_OFFLINE=1, and nothing asks the hub any more"


def fetch(
    params: ParamsFile,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List; download nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Download once the models and corpora of a parameter file; list and check them all first.

    Exit 2 where one cannot be had, and then nothing is downloaded. With --dry-run also without a
    network: sizes are then estimates.
    """
    loaded = load_params(params)
    from rbpkit.study.fetch import check_space, download, shown
    from rbpkit.study.hub_repositories import list_repositories, repositories_of

    asked = list_repositories(repositories_of(loaded), allow_pickle=loaded.allow_pickle)
    if as_json:
        typer.echo(json.dumps(_plain(asked)))
    else:
        _show(asked)
    for one in () if asked.unreached else asked.problems:
        say(f"{one.need.id}: {one.problem}")
    if asked.unreached:
        say(f"the hub is not reached ({asked.unreached}): sizes are estimates")
    bad = len(asked.problems)
    if bad and not (dry_run and asked.unreached):
        ways = "; nothing was downloaded" if not dry_run else ""
        raise InputError(f"{params}: {bad} of {len(asked.listed)} repositories cannot be had{ways}")
    missing = sum(not one.complete for one in asked.listed)
    if not missing:
        say(OFFLINE if asked.listed else f"{params}: nothing in it is on the hub")
        return
    if dry_run:
        about = "about " if any(one.estimated for one in asked.listed) else ""
        say(
            f"{missing} of {len(asked.listed)} repositories to download: {about}"
            f"{shown(asked.missing)}; {about}{shown(asked.space)} on the disk with the copies that"
            " reading the corpora makes"
        )
        return
    check_space(asked)
    download(asked, say=say, progress=sys.stderr.isatty())
    say(OFFLINE)


def plan(
    params: ParamsFile,
    tflops: Annotated[
        float, typer.Option(help="10^12 operations a second that the GPU keeps up (a guess).")
    ] = 30.0,
    speeds: Annotated[
        Path | None, typer.Option(help="What `rbpkit bench --shapes paper --json` printed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The jobs of a parameter file with tokens, memory and time; nothing is run or downloaded."""
    loaded = load_params(params)
    from rbpkit.study.plan import read_speeds, study_jobs

    measured = None if speeds is None else read_speeds(speeds)
    jobs = study_jobs(loaded, tflops=tflops, speeds=measured)
    if as_json:
        typer.echo(json.dumps([asdict(job) for job in jobs]))
        return
    typer.echo(_table(jobs))
    seconds = sum(job.seconds for job in jobs)
    counted = sum(job.published for job in jobs)
    how = f"at {tflops:g} x 10^12 operations a second" if measured is None else f"by {speeds}"
    say(
        f"{len(jobs)} jobs, {sum(job.tokens for job in jobs):,} scored tokens ({counted} jobs by"
        f" the paper's own counts, the others estimated); {_time(seconds)} of ranking {how}, an"
        f" estimate without loading; {loaded.dtype}, batches of {loaded.batch_tokens:,} tokens"
    )


def _show(asked: HubListing) -> None:
    if not asked.listed:
        return
    import pandas as pd

    from rbpkit.study.fetch import shown

    rows = [
        {
            "repository": one.need.id,
            "of": "model" if one.need.kind == "model" else "+".join(one.need.corpora),
            "commit": one.commit[:12] or one.need.revision or "",
            "files": str(len(one.files) or ""),
            "size": _size(one, shown),
            "state": _state(one, asked.unreached, shown),
        }
        for one in asked.listed
    ]
    typer.echo(pd.DataFrame(rows).to_string(index=False))


def _size(one: ListedRepository, shown) -> str:
    if one.size is None:
        return "?"
    return ("~" if one.estimated else "") + shown(one.size)


def _state(one: ListedRepository, unreached: str, shown) -> str:
    if one.complete:
        return "in the cache"
    if one.problem:
        return "to download" if unreached else "CANNOT BE HAD"
    return f"{shown(one.cached)} in the cache" if one.cached else "to download"


def _plain(asked: HubListing) -> dict:
    return {
        "repositories": [{**asdict(one), "files": dict(one.files)} for one in asked.listed],
        "unreached": asked.unreached,
        "missing_bytes": asked.missing,
        "space_bytes": asked.space,
    }


def _table(jobs: tuple[PlannedJob, ...]) -> str:
    """A row a model: tokens of each corpus, those that are estimates marked with "~"."""
    import pandas as pd

    rows: dict[str, dict[str, str]] = {}
    seconds: dict[str, float] = {}
    for job in jobs:
        row = rows.setdefault(job.model, {"model": job.model, "S": f"{job.S:,}"})
        row["memory"] = f"{job.memory / 2**30:.1f} GiB"
        row[job.corpus] = ("" if job.published else "~") + f"{job.tokens:,}"
        seconds[job.model] = seconds.get(job.model, 0.0) + job.seconds
    for model, row in rows.items():
        row["time"] = _time(seconds[model])
    return pd.DataFrame(rows.values()).to_string(index=False)


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
