"""Every model on every corpus: the jobs of a study, each done once, one failure stopping none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rbpkit import plugins
from rbpkit.corpora import Corpus
from rbpkit.errors import InputError
from rbpkit.files.architectures import context_of
from rbpkit.files.libraries import quiet
from rbpkit.files.manifest import JobKey
from rbpkit.files.model_folders import find_checkpoint
from rbpkit.measuring import Measurement
from rbpkit.records import find_done, summary_of
from rbpkit.study.engines import local_workers, ray_workers, run_all
from rbpkit.study.jobs import Failure, Job, job_path, models_of, note_failure, read_corpora
from rbpkit.study.params import Params


@dataclass(frozen=True)
class SweepResult:
    """What a sweep measured or found done, and what failed; both in the order of the study."""

    measured: tuple[Measurement, ...]
    failures: tuple[Failure, ...]


def sweep(
    params: Params,
    out: str | Path,
    *,
    engine: Literal["process", "ray"] = "process",
    address: str | None = None,
    workers: int | None = None,
    processes: int = 1,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> SweepResult:
    """Measure all of the study's models on all of its corpora into the records folder `out`.

    engine: "process" for this machine, with `processes` processes; or "ray" for the cluster at
    `address`, or for one that is started here, with `workers` workers (see `ray_workers`). The
    records are the same to the byte. progress: a bar, if there is one process.

    Jobs that are done are found without loading a model. Of the others, the study's last models
    come first, since a family lists its smallest model first; each is loaded once for its corpora.
    A job that fails is told with `say`, is in the result, and stays in `failures.csv` in `out`
    until it is done. Raises InputError before anything runs when the study is at fault, OSError
    when `out` cannot be written.
    """
    if engine == "process" and address is not None:
        raise InputError("--address is of a Ray cluster: give --engine ray too")
    out = Path(os.path.expanduser(out)).absolute()
    models = models_of(params)
    for source in models.values():
        plugins.model_folder(source)  # refuses one that has to be trained first
    corpora = read_corpora(params)
    if engine == "ray":
        params = params.model_copy(update={"threads": params.threads or 1})
    settled: dict[Job, Measurement | Failure] = {}

    def settle(job: Job, result: Measurement | Failure, lines: Iterable[str] = ()) -> None:
        settled[job] = result
        note_failure(out, job, result if isinstance(result, Failure) else None)
        for line in (*lines, _line(job, result)):
            say(line)

    groups = []
    for name in reversed(models):
        folder = Path(os.path.expanduser(models[name]))
        source = str(folder.absolute()) if folder.is_dir() else models[name]
        jobs = [Job(name, corpus) for corpus in corpora]
        for job, measured in _done(source, jobs, corpora, params, out).items():
            settle(job, measured)
        tasks = [(j, source, corpora[j.corpus], params, out) for j in jobs if j not in settled]
        if tasks:
            groups.append(tasks)
    if groups:
        with (
            ray_workers(address, workers, params, len(groups))
            if engine == "ray"
            else local_workers(min(processes, len(groups)), progress)
        ) as started:
            run_all(groups, started, settle)
    results = [settled[Job(name, corpus)] for name in models for corpus in corpora]
    return SweepResult(
        tuple(one for one in results if isinstance(one, Measurement)),
        tuple(one for one in results if isinstance(one, Failure)),
    )


def _line(job: Job, result: Measurement | Failure) -> str:
    """What came of a job, for people."""
    if isinstance(result, Failure):
        return f"failed: {job.model} on {job.corpus}: {result.reason}"
    manifest = result.summary.manifest
    what = f"{manifest.model} on {manifest.corpus}: {manifest.tokens:,} tokens"
    if result.found_done:
        return f"done before: {what}"
    speed = manifest.tokens / max(manifest.seconds, 1e-9)
    return f"measured: {what} in {manifest.seconds:.1f} s ({speed:,.0f} tokens/s)"


def _done(
    source: str, jobs: Iterable[Job], corpora: Mapping[str, Corpus], params: Params, out: Path
) -> dict[Job, Measurement]:
    """The model's jobs that are finished with these settings, their bytes verified.

    No model is loaded for that: its revision and its context are read from its folder. Whatever
    cannot be settled here, a damaged file for example, is left to `measure`.
    """
    found: dict[Job, Measurement] = {}
    there = [j for j in jobs if any((path := job_path(out, j)).parent.glob(f"{path.name}.*json"))]
    if not there:
        return found
    from transformers import AutoConfig

    try:
        with quiet():
            checkpoint = find_checkpoint(
                source, revision=params.revision_of(source), allow_pickle=params.allow_pickle
            )
            config = AutoConfig.from_pretrained(checkpoint.folder, local_files_only=True)
        context = context_of(config)
        for job in there:
            corpus = corpora[job.corpus]
            key = JobKey(
                model=job.model,
                revision=checkpoint.revision,
                corpus=corpus.id,
                fingerprint=corpus.fingerprint,
                documents=len(corpus.documents),
                seed=corpus.protocol.get("seed") or 0,
                max_length=min(params.max_length, context or params.max_length),
                stride=0,
                dtype=params.dtype,
            )
            if (done := find_done(out, key)) is not None:
                found[job] = Measurement(summary_of(done), done.path, found_done=True)
    except Exception:  # load_model and measure say what is wrong
        pass
    return found
