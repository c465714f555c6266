"""Running jobs on the workers of a Ray cluster: on this machine, or on many.

A task is a group, a model and its corpora, and runs as it would in this process, by the same
code. Workers read models and write records by path, so all must see the same file system. A task
whose worker dies is run again; what it had finished is found done.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rbpkit.corpora import Corpus
from rbpkit.errors import InputError, one_line
from rbpkit.files.devices import SPREAD, set_threads
from rbpkit.models import DTYPES
from rbpkit.study.checks import cores
from rbpkit.study.engines import Outcome, run_here
from rbpkit.study.jobs import Group, Job
from rbpkit.study.jobstate import job_stem, remember_failure
from rbpkit.study.params import Params

MAX_RETRIES = 3  # of a task whose worker died
MOST_ON_ONE_GPU = 8  # each process has a CUDA context of its own
WORKING_BYTES = 3 * 2**30  # context, hidden states and logits of a batch, beside the weights
USABLE = 0.95  # of a GPU's memory

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else it warns of a change to come
    "RAY_TQDM_PATCH_PRINT": "0",
    # Ray's own processes import for many seconds where the cores are busy.
    "RAY_raylet_start_wait_time_s": "120",
    "RAY_agent_register_timeout_ms": "120000",
    "RAY_worker_register_timeout_seconds": "300",
}


def weight_bytes(group: Group, dtype: str) -> int:
    """At most how many bytes the group's weights take: S, the embeddings, and an untied head."""
    return (group.S + 2 * group.embedding) * DTYPES[dtype].itemsize


def gpu_share(model_bytes: int, gpu_bytes: int) -> float:
    """GPUs to reserve for a model: 1/n where n such models fit on one, else a whole number.

    model_bytes: of the weights; gpu_bytes: the memory of one GPU. Each process needs
    `WORKING_BYTES` more. Raises InputError for a GPU that has no room even for these.
    """
    room = USABLE * gpu_bytes
    if room <= WORKING_BYTES:
        raise InputError(
            f"a GPU of {gpu_bytes / 2**30:.1f} GiB is too small to measure on; use device: cpu"
        )
    fit = int(room // (model_bytes + WORKING_BYTES))
    if fit >= 1:
        # Rounded down, so that n shares are never over one; Ray counts in ten-thousandths.
        return math.floor(10_000 / min(fit, MOST_ON_ONE_GPU)) / 10_000
    return float(math.ceil(model_bytes / (room - WORKING_BYTES)))


def run_on_ray(
    groups: Sequence[Group],
    corpora: Mapping[str, Corpus],
    params: Params,
    out: str | Path,
    *,
    address: str | None = None,
    workers: int | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> dict[Job, Outcome]:
    """Run all jobs of the groups on Ray; what came of each.

    address: of a running cluster ("auto" for this machine's), else one is started here and ends
    with the call. workers: the most tasks at a time; here, by default, as many as the cores
    allow. Each worker uses `params.threads` threads, one where that is 0, and as many cores.
    `say` gets each worker's lines when its group is done. Interrupted, tasks are cancelled.

    Raises InputError where Ray is not installed or does not answer, and where no node has what
    a task needs; OSError where records cannot be written.
    """
    params = params.model_copy(update={"threads": params.threads or 1})
    folder = Path(out).expanduser().absolute()
    standard = sys.stdout

    def say_outside(line: str) -> None:
        with contextlib.redirect_stdout(standard):
            say(line)

    # A thread of Ray's prints there that a worker died.
    with contextlib.redirect_stdout(sys.stderr), _ray(address, workers, params.threads) as ray:
        gpu_bytes = _gpu_bytes(ray, params)
        refs = {name: ray.put(corpus) for name, corpus in corpora.items()}
        needs = [_needs(group, params, gpu_bytes) for group in groups]
        _check_nodes(ray, groups, needs)
        task = ray.remote(_work)
        todo = list(zip(groups, needs, strict=True))
        running: dict[Any, Group] = {}
        outcomes: dict[Job, Outcome] = {}
        try:
            while todo or running:
                while todo and len(running) < (workers or len(todo) + len(running)):
                    group, need = todo.pop(0)
                    texts = [refs[name] for name in group.tokens]
                    asked = params.model_copy(update=_device(need, params))
                    # A retry is only for a worker that died: what _work raises is a result.
                    one = task.options(max_retries=MAX_RETRIES, retry_exceptions=False, **need)
                    running[one.remote(_absolute(group), asked, str(folder), *texts)] = group
                done, _ = ray.wait(list(running), num_returns=1, timeout=1.0)
                for ref in done:
                    group = running.pop(ref)
                    outcomes.update(_collect(ray, ref, group, folder, say_outside))
        finally:
            for ref in running:  # empty unless interrupted, or the disk is full
                with contextlib.suppress(Exception):
                    ray.cancel(ref, force=True)
    return outcomes


def _work(
    group: Group, params: Params, out: str, *texts: Corpus
) -> tuple[list[str], dict[Job, Outcome] | OSError]:
    """In a worker: the group's outcomes and lines, or what would stop the whole sweep."""
    set_threads(params.threads)
    lines: list[str] = []
    corpora = dict(zip(group.tokens, texts, strict=True))
    try:
        return lines, run_here((group,), corpora, params, out, say=lines.append)
    except OSError as error:
        return lines, error


def _collect(
    ray: Any, ref: Any, group: Group, out: Path, say: Callable[[str], None]
) -> dict[Job, Outcome]:
    """A finished task's outcomes. Raises OSError."""
    try:
        lines, result = ray.get(ref)
    except ray.exceptions.RayError as error:
        # What the group had finished before is found by the next run.
        reason = f"its worker on Ray was lost {MAX_RETRIES + 1} times ({one_line(error)})"
        if isinstance(error, ray.exceptions.RayTaskError):
            reason = one_line(error.cause)
        failed = {job: Outcome(job, None, reason) for job in group.jobs}
        for job, outcome in failed.items():
            remember_failure(job_stem(out, job), reason, str(error))
            say(outcome.line())
        return failed
    for line in lines:
        say(line)
    if isinstance(result, OSError):
        raise result
    return result


def _absolute(group: Group) -> Group:
    """The group with a folder that a worker, started elsewhere, finds too."""
    folder = Path(group.source).expanduser()
    return replace(group, source=str(folder.absolute())) if folder.is_dir() else group


def _needs(group: Group, params: Params, gpu_bytes: int) -> dict[str, float]:
    """What Ray is to reserve for a group's task."""
    gpus = gpu_share(weight_bytes(group, params.dtype), gpu_bytes) if gpu_bytes else 0
    return {"num_cpus": params.threads, "num_gpus": gpus}


def _device(need: Mapping[str, float], params: Params) -> dict[str, str | None]:
    """The device of a task, of those that Ray shows it: none, one (or a share of it), or all."""
    if not need["num_gpus"]:
        return {"device": params.device}
    return {"device": SPREAD if need["num_gpus"] > 1 else "cuda"}


def _check_nodes(ray: Any, groups: Sequence[Group], needs: Sequence[dict[str, float]]) -> None:
    """A task that no node can take would wait for ever. Raises InputError."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    for group, need in zip(groups, needs, strict=True):
        wanted = {"CPU": need["num_cpus"], "GPU": need["num_gpus"]}
        if not any(all(node.get(k, 0) >= v for k, v in wanted.items()) for node in nodes):
            raise InputError(
                f"{group.model} needs {wanted['CPU']:g} CPU and {wanted['GPU']:g} GPU of one node,"
                " and no node of the Ray cluster has that; set threads, dtype or another address"
            )


def _gpu_bytes(ray: Any, params: Params) -> int:
    """Memory of a GPU of the cluster, 0 where none is to be used. Raises InputError."""
    there = ray.cluster_resources().get("GPU", 0) >= 1
    default = "cuda" if there else "cpu"
    wanted = default if params.device in (None, SPREAD) else params.device
    if not wanted.startswith("cuda"):
        return 0
    if not there:
        raise InputError(f"device {wanted!r}: the Ray cluster has no GPU; use cpu")
    return ray.get(ray.remote(num_gpus=1, num_cpus=0)(_memory_of_gpu).remote())


def _memory_of_gpu() -> int:
    import torch

    return torch.cuda.get_device_properties(0).total_memory


@contextlib.contextmanager
def _ray(address: str | None, workers: int | None, threads: int) -> Iterator[Any]:
    """A connection to Ray, with nothing on standard output. Raises InputError."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise InputError(
            "--engine ray needs Ray: pip install -c constraints.txt -e '.[cluster]'"
        ) from None
    here = {
        "num_cpus": threads * (workers or max(1, cores() // threads)),
        "include_dashboard": False,
    }
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(
            address=address or "local",
            log_to_driver=False,
            logging_level=logging.ERROR,
            # Read when torch is imported; a worker waits asleep (see cli.main).
            runtime_env={
                "env_vars": {
                    "OMP_NUM_THREADS": str(threads),
                    "OMP_WAIT_POLICY": "PASSIVE",
                }
            },
            **({} if address else here),
        )
    except Exception as error:  # Ray's own starting errors have no common class
        ray.shutdown()
        where = f"at {address}" if address else "on this machine (is it very busy?)"
        raise InputError(f"Ray does not start {where}: {one_line(error)}") from error
    finally:
        if main and handler is not None:
            signal.signal(signal.SIGTERM, handler)  # Ray's own would end us with another status
    try:
        yield ray
    finally:
        ray.shutdown()
