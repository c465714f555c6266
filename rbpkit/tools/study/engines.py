"""Where the workers of a sweep run: in processes of this machine, or on a Ray cluster.

An engine is a context that gives a function, which starts the worker of a number, from 0: an
executor that does one thing at a time. All workers end with the context.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from tqdm import tqdm

from rbpkit.errors import InputError, reason
from rbpkit.libraries import SPREAD
from rbpkit.tools.study.checks import cores
from rbpkit.tools.study.params import Params

Start = Callable[[int], Executor]


@contextmanager
def in_processes(count: int) -> Iterator[Start]:
    """Workers in processes of this machine, which end with this one, if only by a kill.

    count: how many of them share the cores.
    """
    threads = max(1, cores() // count)
    spawn = get_context("spawn")
    workers: list[tuple[Executor, Connection]] = []

    def start(number: int) -> Executor:
        heard_by_worker, lifeline = spawn.Pipe(duplex=False)
        # One pool for each worker: a pool is broken as soon as one of its processes is killed.
        about = (heard_by_worker, threads, number)
        pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin, initargs=about)
        workers.append((pool, lifeline))
        return pool

    try:
        yield start
    finally:
        for _, lifeline in workers:
            lifeline.close()
        for worker, _ in workers:
            worker.shutdown()


def _begin(lifeline: Connection, threads: int, number: int) -> None:
    """What a worker's process does first."""
    if sys.platform == "linux":
        # The kernel ends it, too: a tokenizer that never ends keeps other threads from running.
        import fcntl

        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    tqdm.set_lock(threading.RLock())  # its own is a named semaphore, which a kill leaves behind
    import torch  # takes seconds

    torch.set_num_threads(threads)
    if torch.cuda.device_count() > 1:
        torch.cuda.set_device(number % torch.cuda.device_count())


def _end_with(lifeline: Connection) -> None:
    """End this process when the other end of a pipe is closed, or its process is killed."""
    lifeline.poll(None)
    os._exit(1)


# -- a Ray cluster ----------------------------------------------------------------------------


@contextmanager
def on_ray(params: Params, address: str | None, count: int | None) -> Iterator[Start]:
    """Workers on a Ray cluster, each of which begins when a node has room for it.

    address: of a running cluster ("auto" for this machine's); else one is started here, with room
    for `count`. A worker takes one processor and, if the cluster has GPUs, one GPU, or with device
    "auto" all GPUs of a node.
    Raises InputError when Ray is not installed or does not start.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise InputError("--engine ray needs Ray: pip install 'rbpkit[cluster]'") from None
    new_cluster = {}
    if not address:
        new_cluster = {"num_cpus": count or cores(), "include_dashboard": False}
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
        gpus = _gpus_of_a_worker(nodes, params.device)
        actor = ray.remote(RayWorker).options(num_cpus=1, num_gpus=gpus)
        yield lambda number: _OnRay(actor.remote())
    finally:
        ray.shutdown()


def _gpus_of_a_worker(nodes: Sequence[dict[str, float]], device: str | None) -> int:
    """How many GPUs a worker takes: one if there are any, or with device "auto" all of a node."""
    if device == "cpu":
        return 0
    most_of_a_node = max(int(node.get("GPU", 0)) for node in nodes)
    return most_of_a_node if device == SPREAD else min(1, most_of_a_node)


class RayWorker:
    """What runs on the cluster."""

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args)


class _OnRay(Executor):
    """A worker on the cluster, as an executor of this process."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        return self._actor.call.remote(function, *args, **named).future()
