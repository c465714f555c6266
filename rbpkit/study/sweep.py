"""Every model on every corpus: the jobs of a study, each done once, one failure stopping none."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from rbpkit.corpora import check_text
from rbpkit.errors import InputError
from rbpkit.measuring import Measurement
from rbpkit.planning import look_up
from rbpkit.records import RecordFile, read_manifest, summary_of
from rbpkit.study.engines import on_ray, on_this_machine
from rbpkit.study.jobs import Failure, Job, note_failure, read_corpora, read_failures, study_models
from rbpkit.study.params import Params
from rbpkit.study.queue import News, Queue, work

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
    `address`, or for one that is started here, with `workers` workers (see `on_ray`). The
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
    queue = _queue(params, Path(os.path.expanduser(out)).absolute())
    if engine == "ray":
        with_threads = params.model_copy(update={"threads": params.threads or 1})
        queue = replace(queue, params=with_threads)
    settled: dict[Job, Measurement | Failure] = {}

    def settle(job: Job, result: Measurement | Failure, lines: Sequence[str] = ()) -> None:
        settled[job] = result
        for line in lines:
            say(line)
        say(_line(job, result))

    for job in queue.jobs:
        done = queue.done(job)
        if done is not None:
            note_failure(queue.out, job, None)
            settle(job, done)
    left = tuple(job for job in queue.jobs if job not in settled)
    if left:
        queue = replace(queue, jobs=left)
        models = len({job.model for job in left})
        if engine == "ray":
            running = on_ray(queue, models, address, workers)
        elif min(processes, models) > 1:
            running = on_this_machine(queue, min(processes, models))
        else:
            running = work(queue, progress)
        with closing(running):
            for job, result, lines in _results(queue, running):
                settle(job, result, lines)
    in_order = [settled[Job(model, text)] for model in queue.sources for text in queue.corpora]
    measured = [result for result in in_order if isinstance(result, Measurement)]
    failures = [result for result in in_order if isinstance(result, Failure)]
    return SweepResult(tuple(measured), tuple(failures))


def _queue(params: Params, out: Path) -> Queue:
    """All jobs of the study, the last models first. Raises InputError when it is at fault."""
    models = study_models(params)
    for source in models.values():
        look_up(source, **params.files_of(source))
    corpora = read_corpora(params)
    for text in corpora.values():
        check_text(text, params.changed_text)
    read_failures(out)  # refuses a damaged file
    sources = {}
    for name, source in models.items():
        folder = Path(os.path.expanduser(source))
        sources[name] = str(folder.absolute()) if folder.is_dir() else source
    # A family lists its smallest model first; the largest job must not come last.
    jobs = tuple(Job(model, corpus) for model in reversed(sources) for corpus in corpora)
    return Queue(jobs, sources, corpora, params, out, sweep=uuid.uuid4().hex)


def _results(
    queue: Queue, running: Generator[News]
) -> Iterator[tuple[Job, Measurement | Failure, Sequence[str]]]:
    """What came of each job of the queue, as it comes, with lines for people.

    Raises OSError if a worker met one.
    """
    settled: set[Job] = set()
    for news in running:
        if news.stop is not None:
            code, text, file = news.stop
            raise OSError(code, text, file or None)
        if news.job is None or news.begins:
            continue
        result = _measured(news) if news.path else queue.result(news.job)
        if result is not None:
            settled.add(news.job)
            yield news.job, result, news.lines
        if len(settled) == len(queue.jobs):
            return  # without waiting until the workers have ended
    for job in queue.jobs:
        if job in settled:
            continue
        result = queue.result(job)  # of another sweep, on the same folder
        if result is None:
            result = Failure(job, "its worker died before it began", sweep=queue.sweep)
            note_failure(queue.out, job, result)
        yield job, result, ()


def _measured(news: News) -> Measurement:
    """The measurement that a worker told of, read from its records."""
    file = RecordFile(Path(news.path), read_manifest(Path(news.path)))
    return Measurement(summary_of(file), file.path, news.found_done, news.coverage)


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
