"""Where the workers of a sweep run: in processes of this machine, or on a Ray cluster.

Each worker runs `work` on the queue. What it measures is in the folder of records; what it tells is
only for people, and for naming the job of a worker that was killed. Nothing here waits for a
message to be complete, so that a worker may be killed while it writes one.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import Any, Protocol

from tqdm import tqdm

from rbpkit.errors import InputError, one_line, reason
from rbpkit.files.devices import SPREAD
from rbpkit.study.checks import cores
from rbpkit.study.jobs import Failure, Job, note_failure
from rbpkit.study.queue import News, Queue, work

POLL = 0.05  # seconds between two looks at the workers
MOST_EARLY_DEATHS = 3  # of workers at no job, with no job begun since: then no more are started


class Worker(Protocol):
    """`work` somewhere else.

    job: what it is measuring, as far as it was heard.
    """

    job: Job | None

    def hear(self) -> tuple[list[News], str | None]:
        """What it told since the last call, and how it ended: None while it works, "" if well."""

    def kill(self) -> None:
        """End it now."""


def watch(queue: Queue, start: Callable[[], Worker], count: int, tries: int = 1) -> Generator[News]:
    """Keep `count` workers at work until the queue is empty, and pass on what they tell.

    One that dies is started again. The job that it was measuring is free again; once `tries`
    workers have died of it, it is noted as failed, so that it takes no more of them along.
    """
    workers: list[Worker] = []
    deaths: Counter[Job | None] = Counter()
    try:
        for _ in range(count):
            workers.append(start())
        while workers:
            time.sleep(POLL)
            for worker in tuple(workers):
                told, end = worker.hear()
                for news in told:
                    worker.job = news.job if news.begins else None
                    deaths[None] = 0
                    yield news
                if end is None:
                    continue
                workers.remove(worker)
                if not end:
                    continue
                deaths[worker.job] += 1
                if worker.job is not None and deaths[worker.job] >= tries:
                    yield _note_death(queue, worker.job, end)
                if deaths[None] < MOST_EARLY_DEATHS:
                    workers.append(start())
    finally:
        for worker in workers:
            worker.kill()


def _note_death(queue: Queue, job: Job, end: str) -> News:
    """Note that a job's worker died, unless it had just written its records or its failure."""
    result = queue.result(job)
    if result is None:
        result = Failure(job, f"its worker died ({end})", sweep=queue.sweep)
    note_failure(queue.out, job, result if isinstance(result, Failure) else None)
    return News(job)


# -- processes of this machine ----------------------------------------------------------------


def on_this_machine(queue: Queue, count: int) -> Generator[News]:
    """Run `count` workers in separate processes, which end with this one, if only by a kill."""
    return watch(queue, lambda: _Process(queue), count)


class _Process:
    """A worker in a separate process."""

    def __init__(self, queue: Queue) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.job: Job | None = None
        self._heard = b""
        self._pipe, its_pipe = spawn.Pipe()
        self._process = spawn.Process(target=_work_in_process, args=(its_pipe,))
        self._process.start()
        its_pipe.close()
        # It reads the texts once it has loaded torch, and must not be waited for.
        threading.Thread(target=_send, args=(self._pipe, queue), daemon=True).start()

    def hear(self) -> tuple[list[News], str | None]:
        code = self._process.exitcode  # before the pipe is read: nothing comes after that
        with suppress(OSError):  # killed before it read the texts
            while self._pipe.poll() and (data := os.read(self._pipe.fileno(), 2**16)):
                self._heard += data
        *lines, self._heard = self._heard.split(b"\n")
        told = [_from_json(line) for line in lines]
        if code is None or code == 0:
            return told, None if code is None else ""
        how = f"exit status {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"
        return told, how

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


def _send(pipe: Connection, queue: Queue) -> None:
    with suppress(OSError):  # it was killed
        pipe.send(queue)


def _from_json(line: bytes) -> News:
    fields = json.loads(line)
    fields["job"] = fields["job"] and Job(**fields["job"])
    return News(**fields)


def _work_in_process(pipe: Connection) -> None:
    """What the separate process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    tqdm.set_lock(threading.RLock())  # its own is a named semaphore, which a kill leaves behind
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        queue = pipe.recv()
    except (EOFError, OSError):
        os._exit(1)  # the process that started this one was killed
    with open(pipe.fileno(), "w", closefd=False) as lines:
        for news in work(queue):
            print(json.dumps(asdict(news)), file=lines, flush=True)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "only a process that was started by another runs this"
    parent.join()
    os._exit(1)


# -- a Ray cluster ----------------------------------------------------------------------------


def on_ray(queue: Queue, most: int, address: str | None, workers: int | None) -> Generator[News]:
    """Run at most `most` workers as tasks of a Ray cluster; they end with this process.

    address: of a running cluster ("auto" for this machine's); else one is started here. workers:
    how many; by default as many as the cluster has room for. A worker takes `params.threads`
    processors and, if the cluster has GPUs, one GPU, or with device "auto" all GPUs of a node.
    A job whose worker dies is tried a second time, since a cluster may lose a node.
    Raises InputError when Ray is not installed or does not start, and when no node has room.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise InputError("--engine ray needs Ray: pip install 'rbpkit[cluster]'") from None
    threads = queue.params.threads
    new_cluster = {}
    if not address:
        here = workers or max(1, cores() // threads)
        new_cluster = {"num_cpus": threads * here, "include_dashboard": False}
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with reason(f"Ray does not start ({address or 'on this machine'})"):
            ray.init(
                address=address or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": {"OMP_WAIT_POLICY": "PASSIVE"}},  # as in cli.app.main
                **new_cluster,
            )
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # with Ray's own, the exit code would be 15
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        gpus = _gpus_a_worker(nodes, queue.params.device)
        room = _room(nodes, threads, gpus)
        if not room:
            raise InputError(f"no node of the Ray cluster has {threads} processors; lower threads")
        task = ray.remote(work).options(
            num_cpus=threads, num_gpus=gpus, num_returns="streaming", max_retries=0
        )
        shared = ray.put(queue)
        count = min(workers or room, most)
        yield from watch(queue, lambda: _Task(task.remote(shared)), count, tries=2)
    finally:
        ray.shutdown()


def _gpus_a_worker(nodes: Sequence[dict[str, float]], device: str | None) -> int:
    """How many GPUs a worker takes: one if there are any, or with device "auto" all of a node."""
    if device == "cpu":
        return 0
    most_of_a_node = max(int(node.get("GPU", 0)) for node in nodes)
    return most_of_a_node if device == SPREAD else min(1, most_of_a_node)


def _room(nodes: Sequence[dict[str, float]], threads: int, gpus: int) -> int:
    """For how many workers the nodes have room."""
    room = 0
    for node in nodes:
        fit = node.get("CPU", 0) // threads
        if gpus:
            fit = min(fit, node.get("GPU", 0) // gpus)
        room += int(fit)
    return room


class _Task:
    """A worker on a Ray cluster."""

    def __init__(self, told: Any) -> None:
        self.job: Job | None = None
        self._told = told  # an iterator over references to its News

    def hear(self) -> tuple[list[News], str | None]:
        import ray

        told: list[News] = []
        while ray.wait([self._told], timeout=0)[0]:
            try:
                told.append(ray.get(next(self._told)))
            except StopIteration:
                return told, ""
            except Exception as error:  # Ray has several for a worker that died
                return told, one_line(error)
        return told, None

    def kill(self) -> None:
        """Nothing: it ends with the cluster, or with this process's part of it."""
