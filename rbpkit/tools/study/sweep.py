"""Every model on every corpus: the jobs of a study, each done once, one failure stopping none."""

from __future__ import annotations

import functools
import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from rbpkit.errors import InputError
from rbpkit.measuring import Measurement
from rbpkit.models import find_model
from rbpkit.records import RecordFile, read_manifest, summary_of
from rbpkit.tools.study.engines import InThisProcess, Start, in_processes, on_ray
from rbpkit.tools.study.jobs import (
    Failure,
    Job,
    note_failure,
    read_corpora,
    read_failures,
    study_models,
)
from rbpkit.tools.study.params import Params
from rbpkit.tools.study.work import Task, Told, finished, forget_model, measure_task

TRIES = 2  # of a job whose worker dies, as a cluster may lose a node


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
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> SweepResult:
    """Measure all of the study's models on all of its corpora into the records folder `out`.

    engine: "process" for this machine; or "ray" for the cluster at `address`, or for one that is
    started here. The records are the same to the byte.
    workers: models at a time; by default one, on Ray as many as the cluster has room for.
    progress: a bar, if there is one worker and it is this process.

    Jobs that are done are found without loading a model. Of the others, the study's last models
    come first, since a family lists its smallest model first; each is loaded once for its corpora.
    A job that fails is told with `say`, is in the result, and stays in `failures.csv` in `out`
    until it is done. Raises InputError before anything runs when the study is at fault, OSError
    when `out` cannot be written.
    """
    if engine == "process" and address is not None:
        raise InputError("--address is of a Ray cluster: give --engine ray too")
    tasks = _tasks(params, Path(os.path.expanduser(out)).absolute())
    results: dict[Job, Measurement | Failure] = {}

    def settle(task: Task, told: Told) -> None:
        note_failure(task.out, task.job, told.failure)
        if told.failure is not None:
            results[task.job] = told.failure
        else:
            file = RecordFile(Path(told.path), read_manifest(Path(told.path)))
            results[task.job] = Measurement(summary_of(file), file.path, told.found_done)
        for line in (*told.lines, _line(task.job, results[task.job])):
            say(line)

    find_once = functools.cache(find_model)  # it reads all of the weights
    for task in tasks:
        done = finished(task, find_once)
        if done is not None:
            settle(task, Told(path=str(done.path), found_done=True))
    left = [task for task in tasks if task.job not in results]
    models = [list(of_model) for _, of_model in groupby(left, key=lambda task: task.source)]
    models.reverse()  # a family lists its smallest model first; the largest job must not come last
    with ExitStack() as stack:
        stack.callback(forget_model)
        count = min(workers or 1, len(models))
        start: Start = InThisProcess
        if engine == "ray" and models:
            start, room = stack.enter_context(on_ray(params, address, workers))
            count = min(room, len(models))
        elif count > 1:
            start = stack.enter_context(in_processes(count))
        for task, told in _settled(models, start, count, progress and start is InThisProcess):
            if told.stop is not None:
                raise told.stop
            settle(task, told)
    in_order = [results[task.job] for task in tasks]
    measured = [result for result in in_order if isinstance(result, Measurement)]
    failures = [result for result in in_order if isinstance(result, Failure)]
    return SweepResult(tuple(measured), tuple(failures))


def _tasks(params: Params, out: Path) -> list[Task]:
    """All jobs of the study, in its order. Raises InputError when it is at fault."""
    models = study_models(params)
    for source in models.values():
        find_model(source, **params.files_of(source))
    corpora = read_corpora(params)
    read_failures(out)  # refuses a damaged file
    tasks = []
    for name, source in models.items():
        folder = Path(os.path.expanduser(source))
        if folder.is_dir():
            source = str(folder.absolute())
        for corpus, text in corpora.items():
            tasks.append(Task(Job(name, corpus), source, text, params, out))
    return tasks


def _settled(
    models: Sequence[list[Task]], start: Start, count: int, progress: bool
) -> Iterator[tuple[Task, Told]]:
    """What came of each job, as it comes; `models` has the jobs of each model.

    At most `count` workers have a model each. A job that another sweep has is tried again later,
    and so is one whose worker died, `TRIES` times in all.
    """
    waiting = deque(models)
    idle: list[Executor] = []
    running: dict[Future[Told], tuple[Executor, list[Task]]] = {}
    deaths: Counter[Job] = Counter()
    while waiting or running:
        while waiting and len(running) < count:
            tasks = waiting.popleft()
            # The worker that became idle last has just loaded the model that was put first.
            worker = idle.pop() if idle else start()
            try:
                running[worker.submit(measure_task, tasks[0], progress)] = worker, tasks
            except BrokenExecutor:  # it was killed when it had nothing to do
                waiting.appendleft(tasks)
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            worker, tasks = running.pop(future)
            if future.exception() is None:
                idle.append(worker)
                told = future.result()
            else:  # it died
                job, told = tasks[0].job, Told()
                deaths[job] += 1
                if deaths[job] == TRIES:
                    why = f"its worker died {TRIES} times; is there enough memory?"
                    told = Told(failure=Failure(job, why))
            if told == Told():
                waiting.append(tasks)
                continue
            yield tasks.pop(0), told
            if tasks:
                waiting.appendleft(tasks)


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
