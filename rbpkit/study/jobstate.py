"""What lies beside a job's records while it is not done: who measures it, why it failed.

Hidden files beside the records: `.<model>.lock`, locked for as long as a process measures the
job, `.<model>.claim`, which process that is, and `.<model>.failed.json`, the reason of the job's
last failure. None of them says "done": only the manifest does.
"""

from __future__ import annotations

import dataclasses
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from rbpkit.files.writing import write_whole
from rbpkit.records import record_path, slug
from rbpkit.study.jobs import Job


@dataclass(frozen=True)
class Holder:
    """The process that measures a job: its host, its pid, and since when (ISO 8601, UTC)."""

    host: str
    pid: int
    since: str


@dataclass(frozen=True)
class PastFailure:
    """A job's last failure: one line that says why, when (ISO 8601, UTC), the traceback."""

    reason: str
    time: str
    trace: str = ""


def job_stem(out: str | Path, job: Job) -> Path:
    """Where the job's files lie in the records folder `out`, less the suffix."""
    return Path(out) / slug(job.corpus) / slug(job.model)


def job_path(out: str | Path, job: Job) -> Path:
    """The job's Parquet file in the records folder `out`."""
    return record_path(out, job.corpus, job.model)


def now() -> str:
    """The time as the files here hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def claimed(stem: Path) -> Iterator[bool]:
    """Hold the job's claim for this block; False where another process holds it.

    The claim is a lock of the system's, so that of a dead process is free at once. Processes on
    other hosts see it where the file system carries such locks (NFS does).
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(_beside(stem, "lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        me = Holder(socket.gethostname(), os.getpid(), now())
        _beside(stem, "claim").write_text(json.dumps(dataclasses.asdict(me)), encoding="utf-8")
        yield True
    finally:
        _beside(stem, "claim").unlink(missing_ok=True)
        lock.release()


def holder(stem: Path) -> Holder | None:
    """The process that measures the job now; None where none does, or the one that did died."""
    try:
        text = _beside(stem, "claim").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        with FileLock(_beside(stem, "lock"), timeout=0):
            return None
    except OSError:  # the lock is held (`Timeout` is one), or is another user's
        return _holder_in(text)


def remember_failure(stem: Path, reason: str, trace: str = "") -> None:
    """Keep why the job failed beside where its records would be. Raises OSError."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(dataclasses.asdict(PastFailure(reason, now(), trace)), indent=1)
    write_whole(stem.parent, {_beside(stem, "failed.json").name: text.encode()})


def forget_failure(stem: Path) -> None:
    """The job is done: what was remembered of its failures goes."""
    _beside(stem, "failed.json").unlink(missing_ok=True)


def past_failure(stem: Path) -> PastFailure | None:
    """The job's last failure, None where there is none on record."""
    path = _beside(stem, "failed.json")
    try:
        return PastFailure(**json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):  # a note, no result: a damaged one is not worth an error
        return PastFailure(f"{path} cannot be read", "")


def _beside(stem: Path, kind: str) -> Path:
    return stem.parent / f".{stem.name}.{kind}"  # `records` looks at no hidden file


def _holder_in(text: str) -> Holder:
    try:
        return Holder(**json.loads(text))
    except (ValueError, TypeError):  # between its lock and its name
        return Holder("this or another host", 0, now())
