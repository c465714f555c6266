"""Every model of a study on every corpus: each job done once, one failure stopping none.

A job is done if its records are there. Workers share nothing but the folder of records.
"""

from __future__ import annotations

import errno
import faulthandler
import functools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from rbpkit.corpora import Corpus
from rbpkit.errors import InputError, one_line
from rbpkit.measuring import Measurement, job_key, measure
from rbpkit.models import FoundModel, find_model, load_model
from rbpkit.ranker import Ranker
from rbpkit.records import find_done, read_manifest, record_path, slug, summary_of
from rbpkit.tools.study.engines import Start, in_processes, on_ray
from rbpkit.tools.study.jobs import read_corpora, study_models
from rbpkit.tools.study.params import Params

HOURS = 24.0  # that a job may take by default: a tokenizer can be such that it never ends
# Errors of a write that would fail for every job.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}


@dataclass(frozen=True)
class Job:
    """A model on a corpus, by the names that their records carry."""

    model: str
    corpus: str


@dataclass(frozen=True)
class Task:
    """A job, and all that a worker needs to know of it.

    source: what `load_model` takes.
    out: the folder of records.
    """

    job: Job
    source: str
    corpus: Corpus
    params: Params
    out: Path


@dataclass(frozen=True)
class Told:
    """What a worker tells of a job. It is short: a worker that is killed has told all or nothing.

    lines: for people.
    path: of the job's records; None if it failed.
    found_done: whether they were there before.
    failure: why it failed, in one line.
    """

    lines: tuple[str, ...] = ()
    path: Path | None = None
    found_done: bool = False
    failure: str = ""


@dataclass(frozen=True)
class Failure:
    """A job that could not be measured, and why, in one line."""

    job: Job
    reason: str


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
    hours: float = HOURS,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> SweepResult:
    """Measure all of the study's models on all of its corpora into the records folder `out`.

    engine: "process" for this machine; or "ray" for the cluster at `address`, or for one that is
    started here. The numbers are the same.
    workers: models at a time; by default one, on Ray as many as the cluster has room for.
    hours: the most that a job may take; then its worker ends.
    progress: a bar, if there is one worker on this machine.

    Jobs that are done are found without loading a model. Of the others, the study's last models
    come first, since a family lists its smallest model first; each is loaded once for its corpora.
    A job that fails is told with `say` and is in the result. A job whose worker dies is tried once
    more, alone, when all other workers have ended. Raises InputError before anything runs when the
    study is at fault, OSError when `out` cannot be written.
    """
    if engine == "process" and address is not None:
        raise InputError("--address is of a Ray cluster: give --engine ray too")
    results: dict[Job, Measurement | Failure] = {}

    def settle(task: Task, told: Told) -> None:
        results[task.job] = _result(task.job, told)
        for line in (*told.lines, _line(task.job, results[task.job])):
            say(line)

    tasks = tasks_of(params, Path(os.path.expanduser(out)).absolute())
    left = []
    for task, path in found_done(tasks):
        if path is None:
            left.append(task)
        else:
            settle(task, Told(path=path, found_done=True))
    models = [list(of_model) for _, of_model in groupby(left, key=lambda task: task.source)]
    models.reverse()  # a family lists its smallest model first; the largest job must not come last
    died = []
    with ExitStack() as stack:
        start: Start
        if engine == "ray" and models:
            count = workers or len(models)
            start = stack.enter_context(on_ray(params, address, workers))
        else:
            count = max(1, min(workers or 1, len(models)))
            start = stack.enter_context(in_processes(count))
            progress = progress and count == 1
        for task, told in _measured(models, start, count, hours, progress):
            if told is None:
                died.append(task)
            else:
                settle(task, told)
        for task in died:  # alone, since it may have been short of memory
            for _, told in _measured([[task]], start, 1, hours, progress):
                fault = f"its worker died twice, of too little memory or after {hours:g} hours"
                settle(task, told or Told(failure=fault))
    in_order = [results[task.job] for task in tasks]
    measured = [result for result in in_order if isinstance(result, Measurement)]
    failures = [result for result in in_order if isinstance(result, Failure)]
    return SweepResult(tuple(measured), tuple(failures))


def tasks_of(params: Params, out: Path) -> list[Task]:
    """All jobs of the study, in its order. Raises InputError when it is at fault."""
    models = study_models(params)
    for source in models.values():
        find_model(source, **params.files_of(source))
    corpora = read_corpora(params)
    tasks = []
    for name, source in models.items():
        folder = Path(os.path.expanduser(source))
        if folder.is_dir():
            source = str(folder.absolute())
        for corpus, text in corpora.items():
            tasks.append(Task(Job(name, corpus), source, text, params, out))
    return tasks


def found_done(tasks: Iterable[Task]) -> Iterator[tuple[Task, Path | None]]:
    """Each job with its records, or None if it is not done with these settings.

    No model is loaded for that: its revision and its context are read from its folder. Whatever
    cannot be settled here is left to `measure`: a damaged file, for example.
    """
    find_once = functools.cache(find_model)  # it reads all of the weights
    for task in tasks:
        path = None
        with suppress(Exception):  # load_model and measure say what is wrong
            path = _records_of(task, find_once)
        yield task, path


def _records_of(task: Task, find: Callable[..., FoundModel]) -> Path | None:
    folder = task.out / slug(task.job.corpus)
    if not any(folder.glob(f"{slug(task.job.model)}.*.parquet")):
        return None  # nothing was measured, so the weights need not be read
    params = task.params
    model = find(task.source, dtype=params.dtype, **params.files_of(task.source))
    key = job_key(model, task.corpus, params.max_length, params.stride)
    if find_done(task.out, key) is None:
        return None
    return record_path(task.out, key)


def _measured(
    models: Iterable[list[Task]], start: Start, count: int, hours: float, progress: bool
) -> Iterator[tuple[Task, Told | None]]:
    """What came of each job, as it comes, or None if its worker died.

    models: the jobs of each model. At most `count` workers have a model each; all end with this.
    """
    waiting = deque(models)
    workers: dict[int, Executor] = {}
    idle = list(reversed(range(count)))
    running: dict[Future[Told], tuple[int, list[Task]]] = {}
    while waiting or running:
        while waiting and idle:
            tasks = waiting.popleft()
            # The worker that became idle last has just loaded the model that was put first.
            number = idle.pop()
            if number not in workers:
                workers[number] = start(number)
            try:
                future = workers[number].submit(measure_task, tasks[0], hours, progress)
            except BrokenExecutor:  # it was killed when it had nothing to do
                del workers[number]
                idle.append(number)
                waiting.appendleft(tasks)
            else:
                running[future] = number, tasks
        future = wait(running, return_when=FIRST_COMPLETED).done.pop()
        number, tasks = running.pop(future)
        idle.append(number)
        error = future.exception()
        if isinstance(error, OSError):
            raise error
        yield tasks.pop(0), future.result() if error is None else None
        if tasks:
            waiting.appendleft(tasks)
        if error is not None or not waiting:
            workers.pop(number).shutdown()  # its place may be waited for
    for worker in workers.values():
        worker.shutdown()


def measure_task(task: Task, hours: float = HOURS, progress: bool = False) -> Told:
    """Measure a job, as a worker does it. Raises OSError if there is no room for the records."""
    lines: list[str] = []
    with open(os.devnull, "w") as nowhere:
        # Ends this process whatever it does: a library need not come back.
        faulthandler.dump_traceback_later(hours * 3600, exit=True, file=nowhere)
        try:
            measured = measure(
                _model_of(task),
                task.corpus,
                task.out,
                max_length=task.params.max_length,
                stride=task.params.stride,
                batch_tokens=task.params.batch_tokens,
                progress=progress,
                say=lines.append,
            )
        except BaseException as error:  # of every kind; a panic in Rust is no Exception
            if isinstance(error, OSError) and error.errno in _NO_ROOM:
                raise OSError(error.errno, error.strerror, error.filename) from None
            fault = str(error) if isinstance(error, InputError) else one_line(error)
            return Told(tuple(lines), failure=" ".join(fault.split()))
        finally:
            faulthandler.cancel_dump_traceback_later()
    return Told(tuple(lines), measured.path, measured.found_done)


_loaded: dict[object, Ranker] = {}
"""The model of this worker's last job, which may be that of the next one."""


def _model_of(task: Task) -> Ranker:
    """The model of a job, loaded unless it was that of the last job."""
    asked = (task.source, task.params)
    if asked not in _loaded:
        _loaded.clear()  # before there is a second one in memory
        _loaded[asked] = load_model(
            task.source,
            dtype=task.params.dtype,
            device=task.params.device,
            **task.params.files_of(task.source),
        )
    return _loaded[asked]


def _result(job: Job, told: Told) -> Measurement | Failure:
    if told.path is None:
        return Failure(job, told.failure)
    summary = summary_of(told.path, read_manifest(told.path))
    return Measurement(summary, told.path, told.found_done)


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
