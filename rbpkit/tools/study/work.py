"""One job of a sweep, as a worker does it: find that it is done, or measure it.

The folder of records is the queue. A job is done if it has a finished manifest, and locked while a
process measures it; all others are free. Workers share nothing but this folder, so they may be of
one sweep or of several, on one machine or on many.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import Timeout

from rbpkit.corpora import Corpus
from rbpkit.errors import InputError, one_line
from rbpkit.measuring import measure
from rbpkit.models import FoundModel, find_model, load_model
from rbpkit.planning import job_key
from rbpkit.ranker import Ranker
from rbpkit.records import RecordFile, find_done, job_lock, slug
from rbpkit.tools.study.jobs import Failure, Job
from rbpkit.tools.study.params import Params

WAIT = 1  # seconds after which a locked job is left to the process that has it
MOST_OF_A_TRACE = 8_000  # characters


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
    """What a worker tells of a job; nothing if another process has it.

    It is short, so that a worker that is killed has told all of it or nothing.

    lines: for people.
    path: of the job's records; "" if there are none.
    found_done: whether they were there before.
    failure: why it failed.
    stop: an OSError, such as a full disk, that would fail every job.
    """

    lines: tuple[str, ...] = ()
    path: str = ""
    found_done: bool = False
    failure: Failure | None = None
    stop: OSError | None = None


def finished(task: Task, find: Callable[..., FoundModel] = find_model) -> RecordFile | None:
    """The records of a job that is finished with these settings, their bytes verified.

    No model is loaded for that: its revision and its context are read from its folder. Whatever
    cannot be settled here is left to `measure`: a damaged file, for example.

    find: `find_model`, or a function that remembers what it found.
    """
    folder = task.out / slug(task.job.corpus)
    if not any(folder.glob(f"{slug(task.job.model)}.*json")):
        return None  # nothing was measured, so the weights need not be read
    params = task.params
    with suppress(Exception):  # load_model and measure say what is wrong
        files = params.files_of(task.source)
        model = find(task.source, dtype=params.dtype, **files)
        key = job_key(model, task.corpus, params.max_length, params.stride)
        return find_done(task.out, key)
    return None


def measure_task(task: Task, progress: bool = False) -> Told:
    """Measure a job, unless another process has it or had it. progress: show a bar."""
    lines: list[str] = []
    try:
        with job_lock(task.out, task.job).acquire(timeout=WAIT):
            found = finished(task)
            if found is not None:
                return Told(path=str(found.path), found_done=True)
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
    except Timeout:
        return Told()
    except OSError as error:
        return Told(stop=OSError(error.errno, error.strerror or str(error), error.filename))
    except Exception as error:  # the libraries have errors of every kind; the other jobs go on
        failure = Failure(task.job, one_line(error), traceback.format_exc()[-MOST_OF_A_TRACE:])
        if isinstance(error, InputError):
            failure = Failure(task.job, " ".join(str(error).split()))
        return Told(tuple(lines), failure=failure)
    return Told(tuple(lines), str(measured.path), measured.found_done)


_loaded: dict[object, Ranker] = {}
"""The model of this worker's last job, which may be that of the next one."""


def _model_of(task: Task) -> Ranker:
    """The model of a job, loaded unless it was that of the last job."""
    asked = (task.source, task.params)
    if asked not in _loaded:
        forget_model()  # before there is a second one in memory
        _loaded[asked] = load_model(
            task.source,
            dtype=task.params.dtype,
            device=task.params.device,
            **task.params.files_of(task.source),
        )
    return _loaded[asked]


def forget_model() -> None:
    """Free the memory of the last model."""
    _loaded.clear()
