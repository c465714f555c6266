"""What lies beside a job's records while it is not done: who measures it, why it failed.

Two hidden files by the records' own: `.<model>.claim`, under a lock for as long as a process
measures the job, and `.<model>.failed.json`, the reason of its last failure. Neither says
"done": only the manifest does.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rbpkit.jobs import Job
from rbpkit.recordfiles import locked, write_beside
from rbpkit.store import slug


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


def now() -> str:
    """The time as the files here hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def claimed(stem: Path) -> Iterator[bool]:
    """Hold the job's claim for this block; False where another process holds it.

    The claim is a lock of the system's (flock), so that of a dead process is free at once.
    Processes on other hosts see it where the file system carries such locks (NFS does).
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    path = _claim(stem)
    file = path.open("a")
    try:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                mine = False
                break
            mine = _is_at(path, file.fileno())
            if mine:
                break
            # Its last holder removed this very file between our opening and locking it.
            file.close()
            file = path.open("a")
        if not mine:
            yield False
            return
        file.truncate(0)
        file.write(json.dumps(dataclasses.asdict(Holder(socket.gethostname(), os.getpid(), now()))))
        file.flush()
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)  # still locked: nobody else can hold this file
    finally:
        file.close()


def holder(stem: Path) -> Holder | None:
    """Who measures the job now; None for nobody, and for one that died with its claim there."""
    try:
        with _claim(stem).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None
            except BlockingIOError:
                return _holder_in(file.read())
    except FileNotFoundError:
        return None


def remember_failure(stem: Path, reason: str, trace: str = "") -> None:
    """Keep why the job failed beside where its records would be. Raises OSError."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(dataclasses.asdict(PastFailure(reason, now(), trace)), indent=1)
    with locked(stem.parent):
        write_beside(_failed(stem), text.encode())


def forget_failure(stem: Path) -> None:
    """The job is done: what was remembered of its failures goes."""
    _failed(stem).unlink(missing_ok=True)


def past_failure(stem: Path) -> PastFailure | None:
    """The job's last failure, None where there is none on record."""
    try:
        fields = json.loads(_failed(stem).read_bytes())
        return PastFailure(**fields)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):  # a note, no result: a damaged one is not worth an error
        return PastFailure(f"{_failed(stem)} cannot be read", "")


def _claim(stem: Path) -> Path:
    return stem.parent / f".{stem.name}.claim"


def _failed(stem: Path) -> Path:
    return stem.parent / f".{stem.name}.failed.json"  # store.py looks at no hidden file


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _holder_in(text: str) -> Holder:
    try:
        return Holder(**json.loads(text))
    except (ValueError, TypeError):  # between its lock and its name
        return Holder("this or another host", 0, now())
