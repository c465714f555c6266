"""Where a sweep's jobs run: in this process, in processes of this machine, or on a Ray cluster.

A worker takes one job at a time and keeps its model for the next one. If a worker process is
killed, its job is reported as failed, the worker is started again, and the other jobs go on. Ray
first tries the job a second time. With one worker there is no other process: a kill ends the
sweep. If the sweep is killed, its worker processes end too. In each case the job has no manifest,
so it counts as not done, and the next run of the sweep measures it. Finished jobs stay.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from filelock import FileLock
from tqdm import tqdm

from rbpkit.corpora import Corpus
from rbpkit.errors import InputError, one_line, reason
from rbpkit.files.devices import SPREAD, set_threads
from rbpkit.measuring import Measurement, measure
from rbpkit.models import load_model
from rbpkit.study.checks import cores
from rbpkit.study.jobs import Failure, Job, job_path
from rbpkit.study.params import Params

Task = tuple[Any, ...]  # job, hub id or folder, corpus, params, records folder: of `measure_job`
Result = tuple[Measurement | Failure, list[str]]  # what came of the job, and lines for people
Worker = Callable[..., Future[Result]]  # starts `measure_job` with a task

_kept: dict[str, Any] = {}  # the model of this process's last job


def measure_job(
    job: Job, source: str, corpus: Corpus, params: Params, out: Path, progress: bool = False
) -> Result:
    """Measure one job in this process; the model stays loaded for the next job.

    A job that another process is measuring is waited for, and then found done. Whatever goes wrong
    becomes a `Failure`, except an OSError: a full disk, for example, would fail every job.
    """
    lines: list[str] = []
    path = job_path(out, job)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        set_threads(params.threads)
        with FileLock(path.parent / f".{path.name}.lock"):
            if _kept.get("key") != (key := (source, params, corpus.pictures is not None)):
                _kept.clear()  # before the next model needs the memory
                _kept["model"] = load_model(
                    source,
                    dtype=params.dtype,
                    device=params.device,
                    revision=params.revision_of(source),
                    allow_pickle=params.allow_pickle,
                    image=corpus.pictures is not None,
                )
                _kept["key"] = key
            measured = measure(
                _kept["model"],
                corpus,
                out,
                max_length=params.max_length,
                batch_tokens=params.batch_tokens,
                changed_text=params.changed_text,
                progress=progress,
                say=lines.append,
            )
            return measured, lines
    except OSError:
        raise
    except InputError as error:
        return Failure(job, " ".join(str(error).split())), lines
    except Exception as error:  # the libraries have errors of every kind; the other jobs go on
        return Failure(job, one_line(error), traceback.format_exc()), lines


def run_all(
    groups: Sequence[Sequence[Task]],
    workers: Sequence[Worker],
    settle: Callable[[Job, Measurement | Failure, list[str]], None],
) -> None:
    """Run all tasks; those of a group share a model and run on one worker, one after the other.

    `settle` gets each job with what came of it. Raises OSError as `measure_job`.
    """
    todo, running = list(groups), {}
    free: list[tuple[Worker, Sequence[Task]]] = [(worker, ()) for worker in workers]
    while True:
        for worker, rest in free:
            tasks = rest or (todo.pop(0) if todo else ())
            if tasks:
                running[worker(*tasks[0])] = worker, tasks
        if not running:
            return
        free = []
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            worker, tasks = running.pop(future)
            try:
                result, lines = future.result()
            except OSError:
                raise
            except Exception as error:  # of the process pool, or of Ray
                result, lines = Failure(tasks[0][0], f"its worker died ({one_line(error)})"), []
            settle(tasks[0][0], result, lines)
            free.append((worker, tasks[1:]))


class _Process:
    """A separate process as a worker: a pool of one, since a death breaks the whole pool."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        alive, self._holding = spawn.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(
            1, mp_context=spawn, initializer=_begin_process, initargs=(alive,)
        )

    def __call__(self, *task: Any) -> Future[Result]:
        try:
            return self._pool.submit(measure_job, *task)
        except BrokenProcessPool:  # its process was killed in the job before
            self._start()
            return self._pool.submit(measure_job, *task)

    def end(self, now: bool = False) -> None:
        if now:
            self._holding.close()
        self._pool.shutdown(cancel_futures=True)


def _begin_process(alive: Any) -> None:
    """In a new process: end when the other end of the pipe is closed, if only by a kill."""

    def follow() -> None:
        with contextlib.suppress(EOFError):
            alive.recv()
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    tqdm.set_lock(threading.RLock())  # its own is a named semaphore, which a kill leaves behind
    threading.Thread(target=follow, daemon=True).start()


@contextlib.contextmanager
def local_workers(count: int, progress: bool) -> Iterator[Sequence[Worker]]:
    """This process as the only worker, or `count` processes that end with the block."""

    def here(*task: Any) -> Future[Result]:
        future: Future[Result] = Future()
        future.set_result(measure_job(*task, progress=progress))
        return future

    processes = [_Process() for _ in range(count)] if count > 1 else []
    try:
        yield processes or [here]
    except BaseException:  # Ctrl-C too
        for process in processes:
            process.end(now=True)
        raise
    finally:
        _kept.clear()
        for process in processes:
            process.end()


class _Actor:
    """What Ray starts in a separate process."""

    def measure(self, *task: Any) -> Result:
        return measure_job(*task)


@contextlib.contextmanager
def ray_workers(
    address: str | None, workers: int | None, params: Params, most: int
) -> Iterator[Sequence[Worker]]:
    """Workers of a Ray cluster, at most `most`; they end with the block.

    address: of a running cluster ("auto" for this machine's); else one is started here. workers:
    how many; by default as many as the cluster has room for. A worker takes `params.threads`
    processors and, if the cluster has GPUs, one GPU, or with device "auto" all GPUs of a node.
    One that dies is started again by Ray, and its job is tried a second time.
    Raises InputError when Ray is not installed or does not start, and when no node has room.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise InputError("--engine ray needs Ray: pip install 'rbpkit[cluster]'") from None
    threads = params.threads
    new = {"num_cpus": threads * (workers or max(1, cores() // threads))}
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with reason(f"Ray does not start ({address or 'on this machine'})"):
            ray.init(
                address=address or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": {"OMP_WAIT_POLICY": "PASSIVE"}},  # as in cli.app.main
                **({} if address else {**new, "include_dashboard": False}),
            )
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # with Ray's own, the exit code would be 15
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        gpus = max(int(node.get("GPU", 0)) for node in nodes)
        if params.device == "cpu":
            gpus = 0
        elif params.device != SPREAD:
            gpus = min(1, gpus)
        room = sum(
            int(min(node.get("CPU", 0) // threads, node.get("GPU", 0) // gpus if gpus else most))
            for node in nodes
        )
        if not room:
            raise InputError(f"no node of the Ray cluster has {threads} processors; lower threads")
        actor = ray.remote(_Actor).options(
            num_cpus=threads, num_gpus=gpus, max_restarts=-1, max_task_retries=1
        )
        actors = [actor.remote() for _ in range(min(workers or room, most))]
        yield [lambda *task, one=one: one.measure.remote(*task).future() for one in actors]
    finally:
        ray.shutdown()
