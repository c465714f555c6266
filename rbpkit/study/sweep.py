"""Every model on every corpus: the jobs of a study, each done once, one failure stopping none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rbpkit import plugins
from rbpkit.corpora import Corpus, check_text
from rbpkit.errors import InputError
from rbpkit.measuring import Measurement
from rbpkit.planning import ModelFiles, find_model, job_key
from rbpkit.records import find_done, summary_of
from rbpkit.study.engines import Task, local_workers, ray_workers, run_all
from rbpkit.study.jobs import Failure, Job, job_path, note_failure, read_corpora, study_models
from rbpkit.study.params import Params

ENGINES = ("process", "ray")


@dataclass(frozen=True)
class SweepResult:
    """What a sweep measured or found done, and what failed; both in the order of the study."""

    measured: tuple[Measurement, ...]
    failures: tuple[Failure, ...]


def sweep(
    params: Params,
    out: str | Path,
    *,
    engine: str = "process",
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
    if engine not in ENGINES:
        raise InputError(f"--engine {engine!r} is not known; use one of {', '.join(ENGINES)}")
    if engine == "process" and address is not None:
        raise InputError("--address is of a Ray cluster: give --engine ray too")
    out = Path(os.path.expanduser(out)).absolute()
    models = study_models(params)
    for source in models.values():
        plugins.resolve_model(source)  # refuses one that has to be trained first
    corpora = read_corpora(params)
    for text in corpora.values():
        check_text(text, params.changed_text)
    if engine == "ray":
        params = params.model_copy(update={"threads": params.threads or 1})
    settled: dict[Job, Measurement | Failure] = {}

    def settle(job: Job, result: Measurement | Failure, lines: Iterable[str] = ()) -> None:
        settled[job] = result
        note_failure(out, job, result if isinstance(result, Failure) else None)
        for line in lines:
            say(line)
        say(_line(job, result))

    groups: list[list[Task]] = []  # the jobs of a group share a model
    for name in reversed(models):
        folder = Path(os.path.expanduser(models[name]))
        source = str(folder.absolute()) if folder.is_dir() else models[name]
        jobs = [Job(name, corpus) for corpus in corpora]
        for job, measurement in _find_done(source, jobs, corpora, params, out).items():
            settle(job, measurement)
        left = [job for job in jobs if job not in settled]
        if left:
            groups.append([(job, source, corpora[job.corpus], params, out) for job in left])
    if groups:
        if engine == "ray":
            started = ray_workers(address, workers, params, len(groups))
        else:
            started = local_workers(min(processes, len(groups)), progress)
        with started as running:
            run_all(groups, running, settle)
    measured, failures = [], []
    for name in models:
        for corpus in corpora:
            result = settled[Job(name, corpus)]
            if isinstance(result, Failure):
                failures.append(result)
            else:
                measured.append(result)
    return SweepResult(tuple(measured), tuple(failures))


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


def _find_done(
    source: str, jobs: Iterable[Job], corpora: Mapping[str, Corpus], params: Params, out: Path
) -> dict[Job, Measurement]:
    """The model's jobs that are finished with these settings, their bytes verified.

    No model is loaded for that: its revision and its context are read from its folder. Whatever
    cannot be settled here is left to `measure`: a damaged file, for example, or a captioner whose
    context is too short, since only its processor knows how much of that a picture takes.
    """
    found: dict[Job, Measurement] = {}
    files: dict[bool, ModelFiles] = {}  # whether it is to read pictures -> the model
    with suppress(Exception):  # load_model and measure say what is wrong
        for job in jobs:
            begins = job_path(out, job)
            if not any(begins.parent.glob(f"{begins.name}.*json")):
                continue  # nothing was measured, so the weights need not be read
            corpus = corpora[job.corpus]
            pictures = corpus.pictures is not None
            if pictures not in files:
                files[pictures] = find_model(
                    source,
                    dtype=params.dtype,
                    revision=params.revision_of(source),
                    allow_pickle=params.allow_pickle,
                    image=pictures,
                )
            key = job_key(
                files[pictures], corpus, max_length=params.max_length, stride=params.stride
            )
            done = find_done(out, key)
            if done is not None:
                found[job] = Measurement(summary_of(done), done.path, found_done=True)
    return found
