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
import queue
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from tqdm import tqdm

from rbpkit.corpora import Corpus
from rbpkit.errors import InputError, one_line, reason
from rbpkit.files.devices import SPREAD, set_threads
from rbpkit.measuring import Measurement, measure
from rbpkit.models import LoadedModel, load_model
from rbpkit.study.checks import cores
from rbpkit.study.jobs import Failure, Job
from rbpkit.study.params import Params

Task = tuple[Job, str, Corpus, Params, Path]
"""What `measure_job` takes: job, hub id or folder of its model, corpus, study, records folder."""

JobResult = tuple[Measurement | Failure, list[str]]
"""What came of a job, and lines for people."""

Worker = Callable[[Job, str, Corpus, Params, Path], Future[JobResult]]
"""Starts `measure_job` with a task."""

MOST_SECONDS_TO_DIE = 10
"""For a killed process, until its exit status is known."""

_kept: dict[str, Any] = {}  # the model of this process's last job, and what it was loaded with


def measure_job(
    job: Job, source: str, corpus: Corpus, params: Params, out: Path, progress: bool = False
) -> JobResult:
    """Measure one job in this process; the model stays loaded for the next job.

    A job that another process is measuring is waited for, and then found done. Whatever goes wrong
    becomes a `Failure`, except an OSError: a full disk, for example, would fail every job.
    """
    lines: list[str] = []
    try:
        set_threads(params.threads)
        measured = measure(
            _model_of(source, params, corpus),
            corpus,
            out,
            max_length=params.max_length,
            stride=params.stride,
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


def _model_of(source: str, params: Params, corpus: Corpus) -> LoadedModel:
    """The model of a job, which is loaded unless it was that of the last job."""
    pictures = corpus.pictures is not None
    asked = (source, params, pictures)
    if _kept.get("asked") != asked:
        _kept.clear()  # before the next model needs the memory
        _kept["model"] = load_model(
            source,
            dtype=params.dtype,
            device=params.device,
            revision=params.revision_of(source),
            allow_pickle=params.allow_pickle,
            image=pictures,
        )
        _kept["asked"] = asked
    return _kept["model"]


def run_all(
    groups: Sequence[Sequence[Task]],
    workers: Sequence[Worker],
    settle: Callable[[Job, Measurement | Failure, list[str]], None],
) -> None:
    """Run all tasks; those of a group share a model and run on one worker, one after the other.

    `settle` gets each job with what came of it. Raises OSError as `measure_job`.
    """
    waiting = list(groups)
    running: dict[Future[JobResult], tuple[Worker, Sequence[Task]]] = {}
    # A free worker, and what is left of the group that it has begun.
    free: list[tuple[Worker, Sequence[Task]]] = [(worker, ()) for worker in workers]
    while True:
        for worker, group in free:
            if not group and waiting:
                group = waiting.pop(0)
            if group:
                running[worker(*group[0])] = worker, group
        if not running:
            return
        free = []
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            worker, group = running.pop(future)
            job = group[0][0]
            result: Measurement | Failure
            try:
                result, lines = future.result()
            except ChildProcessError as error:  # its process was killed; it is an OSError too
                result = Failure(job, f"its worker died ({one_line(error)})")
                lines = []
            except OSError:
                raise
            except Exception as error:  # of Ray
                result = Failure(job, f"its worker died ({one_line(error)})")
                lines = []
            settle(job, result, lines)
            free.append((worker, group[1:]))


class _Process:
    """A separate process as a worker, which is started again for the next job if it is killed.

    Tasks and results go through a pipe whose other end the process alone holds. So whenever it
    dies, and be it in the middle of a result, reading ends at once.
    """

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, pipe_of_process = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(pipe_of_process,))
        self._process.start()
        pipe_of_process.close()

    def __call__(
        self, job: Job, source: str, corpus: Corpus, params: Params, out: Path
    ) -> Future[JobResult]:
        future: Future[JobResult] = Future()
        task = (job, source, corpus, params, out)
        threading.Thread(target=self._run, args=(task, future), daemon=True).start()
        return future

    def _run(self, task: Task, future: Future[JobResult]) -> None:
        """Have the process do a task, and give the future what came of it."""
        try:
            if not self._process.is_alive():  # it was killed between two jobs
                self._start()
            self._pipe.send(task)
            result = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(MOST_SECONDS_TO_DIE)
            code = self._process.exitcode
            future.set_exception(ChildProcessError(f"ended with status {code}"))
            return
        if isinstance(result, OSError):
            future.set_exception(result)
        else:
            future.set_result(result)

    def end(self, now: bool = False) -> None:
        self._pipe.close()  # the process ends when nothing more can come
        if now:
            self._process.kill()
        self._process.join()


def _serve(pipe: Any) -> None:
    """In a new process: do tasks until the other end of the pipe is closed, if only by a kill."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    tqdm.set_lock(threading.RLock())  # its own is a named semaphore, which a kill leaves behind
    tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()

    def read() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                tasks.put(pipe.recv())
        os._exit(1)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            result: Any = measure_job(*tasks.get())
        except OSError as error:
            result = error
        pipe.send(result)


@contextlib.contextmanager
def local_workers(count: int, progress: bool) -> Iterator[Sequence[Worker]]:
    """This process as the only worker, or `count` processes that end with the block."""

    def here(job: Job, source: str, corpus: Corpus, params: Params, out: Path) -> Future[JobResult]:
        future: Future[JobResult] = Future()
        future.set_result(measure_job(job, source, corpus, params, out, progress))
        return future

    processes = [_Process() for _ in range(count)] if count > 1 else []
    workers: list[Worker] = [*processes]
    try:
        yield workers or [here]
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

    def measure(
        self, job: Job, source: str, corpus: Corpus, params: Params, out: Path
    ) -> JobResult:
        return measure_job(job, source, corpus, params, out)


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
        gpus = _gpus_a_worker(nodes, params.device)
        room = 0
        for node in nodes:
            fit = node.get("CPU", 0) // threads
            if gpus:
                fit = min(fit, node.get("GPU", 0) // gpus)
            room += int(min(fit, most))
        if not room:
            raise InputError(f"no node of the Ray cluster has {threads} processors; lower threads")
        actor = ray.remote(_Actor).options(
            num_cpus=threads, num_gpus=gpus, max_restarts=-1, max_task_retries=1
        )
        count = min(workers or room, most)
        yield [_ray_worker(actor.remote()) for _ in range(count)]
    finally:
        ray.shutdown()


def _gpus_a_worker(nodes: Sequence[dict[str, float]], device: str | None) -> int:
    """How many GPUs a worker takes: one if there are any, or with device "auto" all of a node."""
    if device == "cpu":
        return 0
    most_of_a_node = max(int(node.get("GPU", 0)) for node in nodes)
    return most_of_a_node if device == SPREAD else min(1, most_of_a_node)


def _ray_worker(actor: Any) -> Worker:
    def start(
        job: Job, source: str, corpus: Corpus, params: Params, out: Path
    ) -> Future[JobResult]:
        return actor.measure.remote(job, source, corpus, params, out).future()

    return start
