"""Where the workers of a sweep run: in processes of this machine, or on a Ray cluster.

An engine is a context that gives a function: submit(number, function, *arguments) has the worker
of a number, from 0, call a function, and gives the future of its result. If the worker dies, the
future raises. All workers end with the context.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from tqdm import tqdm

from rbpkit.errors import InputError, reason
from rbpkit.libraries import SPREAD

Submit = Callable[..., Future[Any]]


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def in_processes(count: int) -> Iterator[Submit]:
    """Workers in processes of this machine, which end with this one, if only by a kill.

    count: how many of them share the cores.
    """
    threads = max(1, cores() // count)
    spawn = get_context("spawn")
    heard_by_workers, lifeline = spawn.Pipe(duplex=False)
    # One pool for each worker: a pool is broken as soon as one of its processes is killed.
    workers: dict[int, ProcessPoolExecutor] = {}

    def submit(number: int, *call: Any) -> Future[Any]:
        try:
            return workers[number].submit(*call)
        except (KeyError, BrokenExecutor):  # not begun yet, or dead
            about = (heard_by_workers, threads, number)
            workers[number] = ProcessPoolExecutor(
                1, mp_context=spawn, initializer=_begin, initargs=about
            )
            return workers[number].submit(*call)

    try:
        yield submit
    finally:
        lifeline.close()
        for worker in workers.values():
            worker.shutdown()


def _begin(lifeline: Connection, threads: int, number: int) -> None:
    """What a worker's process does first."""
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


@contextmanager
def on_ray(device: str | None, address: str | None, count: int | None) -> Iterator[Submit]:
    """Tasks on a Ray cluster, each of which begins when a node has room for it.

    device: of the models. A task takes one processor and, if the cluster has GPUs, one GPU, or with
    device "auto" all GPUs of a node.
    address: of a running cluster ("auto" for this machine's); else one is started here, with room
    for `count`.
    Raises InputError when Ray is not installed or does not start.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address:  # which may have no cluster: Ray alone would try it for a quarter of an hour
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "2")
    try:
        import ray
    except ImportError:
        raise InputError("--engine ray needs Ray: pip install 'rbpkit[cluster]'") from None
    new_cluster: dict[str, Any] = {}
    if not address:
        new_cluster = {"num_cpus": count or cores(), "include_dashboard": False}
    try:
        with reason(f"Ray does not start ({address or 'on this machine'})"):
            ray.init(
                address=address or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": {"OMP_WAIT_POLICY": "PASSIVE"}},  # as in cli.app.main
                **new_cluster,
            )
        most_of_a_node = max(int(node["Resources"].get("GPU", 0)) for node in ray.nodes())
        gpus = most_of_a_node if device == SPREAD else min(1, most_of_a_node)
        room = {"num_cpus": 1, "num_gpus": 0 if device == "cpu" else gpus, "max_retries": 0}

        def submit(number: int, function: Callable[..., Any], *given: Any) -> Future[Any]:
            return ray.remote(function).options(**room).remote(*given).future()

        yield submit
    finally:
        ray.shutdown()
