"""Every model of a study on every corpus: each job done once, one failure stopping none.

A job is done if its records are there. Workers share nothing but the folder of records.
"""

from __future__ import annotations

import errno
import faulthandler
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from rbpkit.corpora import Corpus
from rbpkit.errors import InputError, one_line
from rbpkit.measuring import Measurement, job_key, measure
from rbpkit.models import FoundModel, find_model, load_model
from rbpkit.records import find_done, record_path, slug, summary_of
from rbpkit.tools.study.engines import Submit, in_processes, on_ray
from rbpkit.tools.study.jobs import model_sources, read_corpora
from rbpkit.tools.study.params import Params

# Errors of a write that would fail for every job.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}


@dataclass(frozen=True)
class Job:
    """A model on a corpus.

    model: its name in the records.
    source: what `load_model` takes.
    """

    model: str
    source: str
    corpus: Corpus

    def __str__(self) -> str:
        return f"{self.model} on {self.corpus.id}"


class Told(NamedTuple):
    """What a worker tells of a job: its records, or why it failed in a line; lines for people.

    It is short: a worker that is killed has told all or nothing.
    """

    result: Path | str
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class SweepResult:
    """What a sweep measured or found done, and why each job failed; both in the study's order."""

    measured: list[Measurement]
    failures: dict[Job, str]


def sweep(
    params: Params,
    out: str | Path,
    *,
    engine: str = "process",
    address: str | None = None,
    workers: int | None = None,
    hours: float = 24,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> SweepResult:
    """Measure all of the study's models on all of its corpora into the records folder `out`.

    engine: "process" for this machine; or "ray" for the cluster at `address`, or for one that is
    started here. The numbers are the same.
    workers: models at a time; by default one, on Ray as many as the cluster has room for.
    hours: the most that a job may take, as a tokenizer may never end; then its worker ends.
    progress: a bar, if there is one worker on this machine.

    Jobs that are done are found without loading a model. Of the others, the study's last models
    come first, since a family lists its smallest model first; each is loaded once for its corpora.
    A job that fails is told with `say` and is in the result. The jobs of a worker that dies are
    tried once more, one by one, when all other workers have ended. Raises InputError before
    anything runs when the study is at fault, OSError when `out` cannot be written.
    """
    out = Path(out).expanduser().absolute()
    planned = plan(params, out)
    out.mkdir(parents=True, exist_ok=True)
    results: dict[Job, Measurement | str] = {job: "" for job, _ in planned}  # or why it failed

    def settle(job: Job, told: Told, found_done: bool = False) -> None:
        for line in told.lines:
            say(line)
        if isinstance(told.result, str):
            results[job] = told.result
            say(f"failed: {job}: {told.result}")
            return
        summary = summary_of(told.result)
        results[job] = Measurement(summary, told.result, found_done)
        took = f"measured in {summary.manifest.seconds:.1f} s"
        say(f"{'done before' if found_done else took}: {job}: {summary.tokens:,} tokens")

    left = []
    for job, path in planned:
        if path is None:
            left.append(job)
        else:
            settle(job, Told(path), found_done=True)
    models = [list(jobs) for _, jobs in groupby(left, key=lambda job: job.source)]
    models.reverse()  # a family lists its smallest model first; the largest job must not come last
    on_cluster = engine == "ray" and bool(models)
    count = workers or (len(models) if on_cluster else 1)
    with on_ray(params.device, address, workers) if on_cluster else in_processes(count) as submit:
        how = (params, out, hours, progress and count == 1)
        died = []
        for jobs, all_told in _finished(models, submit, how, count):
            if all_told is None:
                died += jobs
            for job, told in zip(jobs, all_told or (), strict=False):
                settle(job, told)
        for job in died:  # alone, since it may have been short of memory
            [(_, all_told)] = _finished([[job]], submit, how, 1)
            fault = f"its worker died twice, of too little memory or after {hours:g} hours"
            settle(job, (all_told or [Told(fault)])[0])
    measured = [result for result in results.values() if isinstance(result, Measurement)]
    failures = {job: result for job, result in results.items() if isinstance(result, str)}
    return SweepResult(measured, failures)


def plan(params: Params, out: Path) -> list[tuple[Job, Path | None]]:
    """All jobs of the study in its order, each with its records, or None if it is left to do.

    No model is loaded: its revision and its context are read from its files. Raises InputError for
    a model or a corpus that is not there, and for two of one name.
    """
    found = []
    for source in model_sources(params):
        found.append((source, find_model(source, dtype=params.dtype, **params.files_of(source))))
    corpora = read_corpora(params)
    jobs = []
    for source, model in found:
        for corpus in corpora:
            job = Job(model.name, source, corpus)
            jobs.append((job, _records_of(model, corpus, params, out)))
    names = [str(job) for job, _ in jobs]
    if len(set(names)) < len(names):
        twice = max(names, key=names.count)
        raise InputError(f"two jobs are called {twice!r}: rename one folder or file")
    return jobs


def _records_of(model: FoundModel, corpus: Corpus, params: Params, out: Path) -> Path | None:
    """The records of a job if it is done; what is wrong with them, `measure` says."""
    if any((out / slug(corpus.id)).glob(f"{slug(model.name)}.*.parquet")):  # else read no weights
        with suppress(Exception):
            key = job_key(model, corpus, params.max_length, params.stride)
            return record_path(out, key) if find_done(out, key) else None
    return None


def _finished(
    models: Iterable[list[Job]],
    submit: Submit,
    how: tuple[Any, ...],
    count: int,
) -> Iterator[tuple[list[Job], list[Told] | None]]:
    """The jobs of each model, as they are done, with what is told of them; None if a worker died.

    how: the other arguments of `measure_model`.
    count: how many workers there are.
    """
    waiting, idle = deque(models), list(range(count))
    running: dict[Future[list[Told]], tuple[int, list[Job]]] = {}
    while waiting or running:
        while waiting and idle:
            number, jobs = idle.pop(), waiting.popleft()
            running[submit(number, measure_model, jobs, *how)] = number, jobs
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            number, jobs = running.pop(future)
            idle.append(number)
            error = future.exception()
            if isinstance(error, OSError):  # no room for records
                raise error
            yield jobs, None if error else future.result()


def measure_model(
    jobs: list[Job], params: Params, out: Path, hours: float, progress: bool
) -> list[Told]:
    """Measure the jobs of one model, as a worker does it.

    Raises OSError if there is no room for the records.
    """
    load = partial(load_model, dtype=params.dtype, device=params.device)
    loaded, told = None, []
    for job in jobs:
        lines: list[str] = []
        with open(os.devnull, "w") as nowhere:
            # Ends this process whatever it does: a library need not come back.
            faulthandler.dump_traceback_later(hours * 3600, exit=True, file=nowhere)
            try:
                loaded = loaded or load(job.source, **params.files_of(job.source))
                measured = measure(
                    loaded,
                    job.corpus,
                    out,
                    max_length=params.max_length,
                    stride=params.stride,
                    batch_tokens=params.batch_tokens,
                    progress=progress,
                    say=lines.append,
                )
                assert measured.path is not None, "it is written"
                told.append(Told(measured.path, lines))
            except BaseException as error:  # of every kind; a panic in Rust is no Exception
                if isinstance(error, OSError) and error.errno in _NO_ROOM:
                    raise OSError(error.errno, error.strerror, error.filename) from None
                fault = str(error) if isinstance(error, InputError) else one_line(error)
                told.append(Told(fault, lines))
            finally:
                faulthandler.cancel_dump_traceback_later()
    return told
