"""Every model on every corpus: the jobs of a study, each done once, one failure stopping none."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tqdm import tqdm

from rbpkit.errors import InputError
from rbpkit.files.devices import set_threads
from rbpkit.measuring import Measurement
from rbpkit.study.checks import cores
from rbpkit.study.engines import Outcome, run_here
from rbpkit.study.jobs import Job, Shard, corpus_names, model_name, models_of, plan, read_corpora
from rbpkit.study.params import Params


@dataclass(frozen=True)
class SweepResult:
    """What a sweep measured or found done, in the order of the study, and what failed."""

    measured: tuple[Measurement, ...]
    failures: tuple[Outcome, ...]


def sweep(
    params: Params,
    out: str | Path,
    *,
    shard: Shard | None = None,
    engine: Literal["process", "ray"] = "process",
    address: str | None = None,
    workers: int | None = None,
    processes: int = 1,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> SweepResult:
    """Measure all of the study's models on all of its corpora into the records folder `out`.

    shard: only this part of the jobs. engine: "process", this one, or "ray", the workers of a Ray
    cluster: that at `address`, or one of `workers` on this machine (see `ray_engine`). processes:
    how many of this machine share the jobs of engine "process"; the records are the same to the
    byte.

    The largest model comes first; each is loaded once, and not at all where its jobs are done.
    Finished jobs are not run again, jobs that another process is measuring are waited for, and
    a job that fails is told with `say` and in the result, and remembered in `out`. Raises
    InputError before anything runs where the study is at fault, OSError where `out` cannot be
    written.
    """
    if engine == "process" and (address is not None or workers is not None):
        raise InputError("--address and --workers are of --engine ray: give that too")
    groups = plan(params, shard=shard)
    corpora = read_corpora(params, {name for group in groups for name in group.tokens})
    if engine == "ray":
        from rbpkit.study.ray_engine import run_on_ray

        outcomes = run_on_ray(
            groups, corpora, params, out, address=address, workers=workers, say=say
        )
    else:
        set_threads(params.threads)
        with _more_processes(processes - 1, params, out, shard=shard):
            outcomes = run_here(groups, corpora, params, out, say=say, progress=progress)
    in_order = [
        outcomes[job]
        for model in models_of(params)
        for corpus in corpus_names(params)
        if (job := Job(model_name(model), corpus)) in outcomes
    ]
    return SweepResult(
        tuple(one.measured for one in in_order if one.measured is not None),
        tuple(one for one in in_order if one.measured is None),
    )


def idle_processes(params: Params) -> int:
    """How many processes of `params.threads` threads this machine's processors take; 1 on a GPU."""
    import torch

    if params.threads == 0 or params.device not in (None, "cpu"):
        return 1
    if params.device is None and torch.cuda.is_available():
        return 1
    return max(1, cores() // params.threads)


@contextmanager
def _more_processes(helpers: int, params: Params, out: str | Path, **chosen) -> Iterator[None]:
    """While the block runs, `helpers` more processes take jobs of the same sweep."""
    context = multiprocessing.get_context("spawn")
    started = [
        context.Process(target=_take_jobs, args=(params, out, chosen), daemon=True)
        for _ in range(helpers)
    ]
    for process in started:
        process.start()
    try:
        yield
    finally:
        for process in started:
            process.terminate()
            process.join()


def _take_jobs(params: Params, out: str | Path, chosen: dict) -> None:
    """Run what jobs of a sweep are free; what fails is left for the process that is helped."""
    # tqdm's own lock is a named semaphore, which a helper that is terminated would leave behind.
    tqdm.set_lock(threading.RLock())
    try:
        sweep(params, out, **chosen)
    except (InputError, OSError, KeyboardInterrupt):
        return
