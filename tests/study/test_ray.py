"""Jobs on Ray: what is reserved for a model, and a real local cluster whose worker is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import COMMAND_LINE, digests, study_file
from hypothesis import given
from hypothesis import strategies as st

from rbpkit.corpora import load_corpus
from rbpkit.errors import InputError
from rbpkit.files.devices import SPREAD
from rbpkit.pocket import ladders
from rbpkit.records import Records, iter_manifests
from rbpkit.study import ray_engine
from rbpkit.study.engines import run_here
from rbpkit.study.jobs import plan
from rbpkit.study.jobstate import holder, job_stem
from rbpkit.study.params import Params, load_params
from rbpkit.study.ray_engine import (
    MOST_ON_ONE_GPU,
    WORKING_BYTES,
    gpu_share,
    run_on_ray,
    weight_bytes,
)
from rbpkit.study.sweep import sweep

ROOT = Path(__file__).resolve().parents[2]
GiB = 2**30
ON_LINUX = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux's /proc")


@pytest.mark.parametrize(
    ("model", "gpu", "share"),
    [
        (1 * GiB, 80 * GiB, 0.125),  # as many as may share one
        (10 * GiB, 80 * GiB, 0.2),  # 13 GiB each of 76
        (20 * GiB, 80 * GiB, 0.3333),
        (60 * GiB, 80 * GiB, 1.0),
        (80 * GiB, 80 * GiB, 2.0),
        (150 * GiB, 80 * GiB, 3.0),
        (1 * GiB, 8 * GiB, 1.0),
    ],
)
def test_gpus_by_need(model, gpu, share):
    assert gpu_share(model, gpu) == share


@given(st.integers(0, 10**12), st.integers(4 * GiB, 200 * GiB))
def test_shares_never_ask_for_more_than_there_is(model, gpu):
    share = gpu_share(model, gpu)
    if share <= 1:
        together = int(1 / share)
        assert 1 <= together <= MOST_ON_ONE_GPU and together * share <= 1
        assert together * (model + WORKING_BYTES) <= gpu
    else:
        assert share == int(share) and model + share * WORKING_BYTES <= share * gpu
        assert model + WORKING_BYTES > 0.95 * gpu  # one would not have done


def test_a_gpu_without_room_is_refused():
    with pytest.raises(InputError, match="too small"):
        gpu_share(1, 2 * GiB)


def test_weights_are_counted_by_dtype_with_an_untied_head():
    study = Params(
        source="hub", model_ids=["EleutherAI/pythia-12b", "openai-community/gpt2"],
        corpus_names=["Wiki"],
    )  # fmt: skip
    large, small = plan(study)
    # Pythia-12b: 11.3 billion and two matrices of 50,688 x 5,120.
    assert weight_bytes(large, "float32") == 4 * (large.S + 2 * 50688 * 5120)
    assert weight_bytes(small, "float16") * 2 == weight_bytes(small, "float32")
    assert gpu_share(weight_bytes(large, "bfloat16"), 141 * GiB) == 0.2
    assert gpu_share(weight_bytes(large, "float32"), 24 * GiB) == 3


def test_without_ray_one_line_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install .*cluster") as error:
        run_on_ray([], {}, Params(source="pocket", corpus_names=["Wiki"]), tmp_path)
    assert "\n" not in str(error.value)


# -- a real cluster of two workers on this machine -------------------------------------------


@pytest.fixture
def cluster(tmp_path):
    """Start `rbpkit sweep --engine ray` -> the process; at the end none of its own is left."""
    pytest.importorskip("ray", reason="needs Ray: pip install -c constraints.txt -e '.[cluster]'")
    mark = uuid.uuid4().hex
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "RBPKIT_TEST": mark}
    started = []

    def start(study: Path, out: Path, *more: str) -> subprocess.Popen:
        command = f"sweep {study} --out {out} --engine ray --workers 2".split() + list(more)
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND_LINE, *command],
            **{"cwd": ROOT, "env": environment, "text": True},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        return process

    yield start
    killed = any(process.poll() in (None, -signal.SIGKILL) for process in started)
    for process in started:
        process.kill()
        process.communicate()
    left = processes(mark)
    deadline = time.monotonic() + 30
    while left and time.monotonic() < deadline:
        time.sleep(0.2)
        left = processes(mark)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    # A driver that was killed cannot end its cluster at once; that is no test of Ctrl-C.
    assert killed or not left, f"left running: {left}"


def processes(mark: str) -> list[int]:
    """Those whose environment holds this mark."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue  # gone, or another user's
    return found


def a_grid(tmp_path: Path, documents: int) -> Path:
    models = [ladders.model_folder("Pythia", size) for size in (0, 1)]
    corpora = ["pocket:prose", "pocket:qa"]
    return study_file(tmp_path, models, corpora, documents=documents, max_length=256)


def working(study: Path, out: Path, process: subprocess.Popen, *, done: int) -> int:
    """Wait until `done` jobs of a model are done, stop the worker amid another -> its pid."""
    groups = [[job_stem(out, job) for job in group.jobs] for group in plan(load_params(study))]

    def finished(stem: Path) -> bool:
        return (stem.parent / f"{stem.name}.json").exists()

    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        ready = [stems for stems in groups if sum(map(finished, stems)) >= done]
        for stem in chain.from_iterable(ready):
            who = holder(stem)
            if who is not None and who.pid and not finished(stem):
                os.kill(who.pid, signal.SIGSTOP)
                if not finished(stem) and holder(stem) is not None:
                    return who.pid
                os.kill(who.pid, signal.SIGCONT)  # too late: it was at the end
        time.sleep(0.005)
    process.kill()
    raise AssertionError(process.communicate())


@pytest.mark.slow
def test_a_model_too_large_for_one_gpu_takes_several(monkeypatch, tmp_path):
    """Reserved by a real cluster that is told of three GPUs; the model is spread over the CPU."""
    ray = pytest.importorskip("ray", reason="needs Ray: pip install -e '.[cluster]'")
    if torch.cuda.is_available():
        pytest.skip("needs a machine without a GPU: the three it reserves are made up")
    study = load_params(a_grid(tmp_path, 10))
    study = study.model_copy(update={"device": None})
    groups = plan(study)
    corpora = {name: load_corpus(name, documents=10) for name in study.corpus_names}
    # Room for the first model's weights in one GPU, for the second's in two.
    large, small = sorted((weight_bytes(group, "float32") for group in groups), reverse=True)
    monkeypatch.setattr(ray_engine, "WORKING_BYTES", 2**20)
    gpu = int((2**20 + (large + small) // 2) / ray_engine.USABLE)
    monkeypatch.setattr(ray_engine, "_gpu_bytes", lambda *_: gpu)
    assert [ray_engine.gpu_share(weight_bytes(group, "float32"), gpu) for group in groups] == [2, 1]
    asked = {}
    needs = ray_engine._device

    def noted(need, params):
        update = needs(need, params)
        asked[need["num_gpus"]] = update["device"]
        # What a task with one GPU asks for is not here: only the spread one is run as it is.
        return update if update["device"] == SPREAD else {"device": "cpu"}

    monkeypatch.setattr(ray_engine, "_device", noted)
    start = ray.init
    monkeypatch.setattr(ray, "init", lambda **given: start(**given, num_gpus=3))
    outcomes = run_on_ray(groups, corpora, study, tmp_path / "out", workers=2)
    assert asked == {2: SPREAD, 1: "cuda"}
    assert len(outcomes) == 4 and all(one.measured for one in outcomes.values()), outcomes
    alone = run_here(groups, corpora, study.model_copy(update={"threads": 1}), tmp_path / "alone")
    for job, one in alone.items():
        found = Records.load(outcomes[job].measured.path)
        expected = Records.load(one.measured.path)
        for name in ("n_greater", "n_equal", "nll"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@ON_LINUX
@pytest.mark.slow
def test_a_killed_worker_costs_nothing_but_time(cluster, tmp_path):
    study, out = a_grid(tmp_path, 100), tmp_path / "out"
    process = cluster(study, out)
    pid = working(study, out, process, done=1)
    assert pid != process.pid
    os.kill(pid, signal.SIGKILL)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.json")}
    printed, stderr = process.communicate(timeout=300)
    assert process.returncode == 0 and printed == "", stderr
    lines = stderr.splitlines()
    # Beside them only Ray's own word of the worker that died.
    assert sum(line.startswith(("measured:", "done before:")) for line in lines) == 4, stderr
    assert "done before:" in stderr, "the task was not run again"
    assert lines[-1].startswith("4 jobs done, 0 failed")
    assert all(path.stat().st_mtime_ns == then for path, then in before.items())
    manifests = [one.manifest for one in iter_manifests(out)]
    assert len(manifests) == 4 == len(list(out.rglob("*.parquet")))
    assert {manifest.threads for manifest in manifests} == {1}
    assert not [path for path in out.rglob(".*") if not path.name.endswith(".lock")]
    # To the byte what this process makes alone.
    sweep(load_params(study), tmp_path / "alone")
    assert digests(out) == digests(tmp_path / "alone")
    for path in out.rglob("*.parquet"):
        Records.load(path)


@pytest.fixture
def two_nodes(monkeypatch):
    """The address of a running cluster of two nodes, with a core each."""
    pytest.importorskip("ray", reason="needs Ray: pip install -e '.[cluster]'")
    for name, value in ray_engine._ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster

    nodes = Cluster()
    nodes.add_node(num_cpus=1, include_dashboard=False)
    nodes.add_node(num_cpus=1)
    yield nodes.address
    nodes.shutdown()


@ON_LINUX
@pytest.mark.slow
def test_a_running_cluster_of_two_nodes(two_nodes, cluster, tmp_path):
    study, out = a_grid(tmp_path, 100), tmp_path / "out"
    process = cluster(study, out, "--address", two_nodes)
    stems = [job_stem(out, job) for group in plan(load_params(study)) for job in group.jobs]
    nodes = set()
    while process.poll() is None:
        for who in filter(None, map(holder, stems)):
            with contextlib.suppress(OSError):
                # "ray::_work" once it works: its node stands in the environment.
                environment = Path(f"/proc/{who.pid}/environ").read_bytes().split(b"\0")
                nodes |= {one for one in environment if one.startswith(b"RAY_RAYLET_PID=")}
        time.sleep(0.02)
    printed, stderr = process.communicate()
    assert process.returncode == 0 and printed == "", stderr
    assert stderr.splitlines()[-1].startswith("4 jobs done, 0 failed")
    assert len(nodes) == 2, (nodes, stderr)
    sweep(load_params(study), tmp_path / "alone")
    assert digests(out) == digests(tmp_path / "alone")


@ON_LINUX
@pytest.mark.slow
def test_ctrl_c_leaves_no_process(cluster, tmp_path):
    study, out = a_grid(tmp_path, 0), tmp_path / "out"
    process = cluster(study, out)
    os.kill(working(study, out, process, done=0), signal.SIGCONT)
    process.send_signal(signal.SIGINT)
    printed, stderr = process.communicate(timeout=100)
    assert process.returncode == 130 and printed == "", stderr
    assert "the same command goes on" in stderr and stderr.endswith("rbpkit: interrupted\n")
    assert "Traceback" not in stderr
    # The fixture sees that nothing is left running.
