"""The folder of records is the queue of a sweep: each job is done, failed, locked, or free.

Done is a finished manifest. Failed is a row of `failures.csv`. Locked is a file lock, which ends
with the process that holds it. All other jobs are free. Workers share nothing but this folder, so
they may be of one sweep or of several, on one machine or on many.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from filelock import Timeout

from rbpkit.corpora import Corpus
from rbpkit.errors import InputError, one_line
from rbpkit.files.devices import set_threads
from rbpkit.measuring import Measurement, measure
from rbpkit.models import LoadedModel, load_model
from rbpkit.planning import ModelFiles, find_model, job_key
from rbpkit.records import find_done, job_lock, summary_of
from rbpkit.study.jobs import Failure, Job, job_path, note_failure, read_failures
from rbpkit.study.params import Params

WAIT = 1  # seconds until a worker looks again whether a job has become free


@dataclass(frozen=True)
class News:
    """What a worker tells: that it begins a job, what came of one, or why all work must stop.

    lines: for people.
    path: of the job's records; "" if it failed, for a reason that is in `failures.csv`.
    found_done, coverage: as of `Measurement`.
    stop: errno, text and file of an OSError, such as a full disk, that would fail every job.
    """

    job: Job | None = None
    begins: bool = False
    lines: tuple[str, ...] = ()
    path: str = ""
    found_done: bool = False
    coverage: str = ""
    stop: tuple[int, str, str] | None = None


@dataclass(frozen=True)
class Queue:
    """The jobs of a sweep.

    jobs: in the order in which they are taken, those of a model one after the other.
    sources, corpora: by the names in the jobs. A source is what `load_model` takes.
    out: the folder of records.
    sweep: a name for this sweep, by which its failures are told from those of earlier ones.
    """

    jobs: tuple[Job, ...]
    sources: Mapping[str, str]
    corpora: Mapping[str, Corpus]
    params: Params
    out: Path
    sweep: str
    _files: dict[tuple[str, bool], ModelFiles] = field(default_factory=dict)

    def result(self, job: Job) -> Measurement | Failure | None:
        """What is known of a job: it is done, has failed in this sweep, or neither."""
        failure = read_failures(self.out).get(job)
        if failure is not None and failure.sweep == self.sweep:
            return failure
        return self.done(job)

    def done(self, job: Job) -> Measurement | None:
        """A job that is finished with these settings, its bytes verified.

        No model is loaded for that: its revision and its context are read from its folder. Whatever
        cannot be settled here is left to `measure`: a damaged file, for example, or a
        captioner whose context is short, since only its processor knows what a picture takes of it.
        """
        begins = job_path(self.out, job)
        if not any(begins.parent.glob(f"{begins.name}.*json")):
            return None  # nothing was measured, so the weights need not be read
        corpus = self.corpora[job.corpus]
        with suppress(Exception):  # load_model and measure say what is wrong
            model = self._find_model(self.sources[job.model], pictures=corpus.pictures is not None)
            key = job_key(
                model, corpus, max_length=self.params.max_length, stride=self.params.stride
            )
            found = find_done(self.out, key)
            if found is not None:
                return Measurement(summary_of(found), found.path, found_done=True)
        return None

    def _find_model(self, source: str, *, pictures: bool) -> ModelFiles:
        if (source, pictures) not in self._files:
            self._files[source, pictures] = find_model(
                source,
                dtype=self.params.dtype,
                image=pictures,
                **self.params.files_of(source),
            )
        return self._files[source, pictures]


def work(queue: Queue, progress: bool = False) -> Generator[News]:
    """Measure free jobs of a queue, one at a time, until none is left that could become free.

    A model is loaded once for its jobs: one that another worker has begun is left to that worker.
    At the end it waits for the jobs of others, and takes over what they leave behind when they
    are killed. progress: show a bar.
    """
    settled: set[Job] = set()
    try:
        while True:
            settled_before = len(settled)
            for _, jobs in groupby(queue.jobs, key=lambda job: job.model):
                yield from _take(queue, list(jobs), settled, progress)
            if len(settled) == len(queue.jobs):
                return
            if len(settled) == settled_before:
                time.sleep(WAIT)
    except OSError as error:
        text = error.strerror or str(error)
        yield News(stop=(error.errno or 0, text, str(error.filename or "")))


def _take(queue: Queue, jobs: Sequence[Job], settled: set[Job], progress: bool) -> Generator[News]:
    """Measure a model's jobs as long as they are free; `settled` gets those that need no more."""
    models: dict[bool, LoadedModel] = {}  # loaded when it is needed; whether it is to read pictures
    for job in jobs:
        if job in settled:
            continue
        try:
            claim = job_lock(queue.out, job).acquire(blocking=False)
        except Timeout:
            return  # another worker has this model
        with claim:
            if queue.result(job) is None:
                yield News(job, begins=True)
                yield _measure_job(queue, job, models, progress)
        settled.add(job)


def _measure_job(queue: Queue, job: Job, models: dict[bool, LoadedModel], progress: bool) -> News:
    """Measure a job; whatever goes wrong is noted as its failure, except an OSError."""
    params, corpus, source = queue.params, queue.corpora[job.corpus], queue.sources[job.model]
    pictures = corpus.pictures is not None
    lines: list[str] = []
    reason = trace = ""
    try:
        set_threads(params.threads)
        if pictures not in models:
            models[pictures] = load_model(
                source,
                dtype=params.dtype,
                device=params.device,
                image=pictures,
                **params.files_of(source),
            )
        measured = measure(
            models[pictures],
            corpus,
            queue.out,
            max_length=params.max_length,
            stride=params.stride,
            batch_tokens=params.batch_tokens,
            changed_text=params.changed_text,
            progress=progress,
            say=lines.append,
        )
    except OSError:
        raise
    except InputError as error:
        reason = " ".join(str(error).split())
    except Exception as error:  # the libraries have errors of every kind; the other jobs go on
        reason, trace = one_line(error), traceback.format_exc()
    if reason:
        note_failure(queue.out, job, Failure(job, reason, trace, queue.sweep))
        return News(job, lines=tuple(lines))
    note_failure(queue.out, job, None)
    return News(
        job,
        lines=tuple(lines),
        path=str(measured.path),
        found_done=measured.found_done,
        coverage=measured.coverage,
    )
