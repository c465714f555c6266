"""The division of a study among machines: nothing twice, nothing left, and even."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path

import pytest
from conftest import COMMAND_LINE, digests, study_file
from hypothesis import given, settings
from hypothesis import strategies as st

from rbpkit.corpora import HUB_CORPORA
from rbpkit.errors import InputError
from rbpkit.pocket import ladders
from rbpkit.records import Records, iter_manifests
from rbpkit.study import jobs
from rbpkit.study.jobs import Group, Shard, divide, expected_tokens, model_size, plan
from rbpkit.study.params import Params, load_params
from rbpkit.study.sweep import sweep

ROOT = Path(__file__).resolve().parents[2]
PAPER = Params(
    source="hub", families=["GPT2", "OPT", "Pythia", "Qwen"], corpus_names=list(HUB_CORPORA)
)


def jobs_of(groups) -> list:
    return list(chain.from_iterable(group.jobs for group in groups))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 10**10), st.lists(st.integers(1, 10**6), max_size=6)), max_size=9
    ),
    st.integers(1, 12),
)
def test_every_job_is_in_one_shard(models, count):
    groups = [
        Group(f"m{i}", f"m{i}", S, 0, {f"c{j}": n for j, n in enumerate(tokens)})
        for i, (S, tokens) in enumerate(models)
    ]
    parts = [jobs_of(divide(groups, Shard(i, count))) for i in range(1, count + 1)]
    together = sorted(chain.from_iterable(parts), key=str)
    assert together == sorted(jobs_of(groups), key=str)
    for i in range(1, count + 1):
        mine = divide(groups, Shard(i, count))
        assert len({group.model for group in mine}) == len(mine), "a model loaded twice"
        # The order stays: the largest first.
        assert [g.model for g in mine] == [
            g.model for g in groups if g.model in {m.model for m in mine}
        ]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 16, 24])
def test_the_papers_study_divides_evenly(count):
    shards = [plan(PAPER, shard=Shard(i, count)) for i in range(1, count + 1)]
    loads = [sum(sum(group.costs.values()) for group in shard) for shard in shards]
    assert sum(map(len, map(jobs_of, shards))) == 24 * 6
    largest = max(cost for shard in shards for group in shard for cost in group.costs.values())
    assert max(loads) <= 1.2 * max(sum(loads) / count, largest)
    # Few models are loaded more than once.
    assert sum(map(len, shards)) <= 24 + 2 * count


def test_the_plan_is_largest_first_and_the_same_in_another_process():
    sizes = [group.S for group in plan(PAPER)]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) == 24
    code = "from rbpkit.study.jobs import Shard, plan; from rbpkit.study.params import Params;"
    code += f"print(plan(Params(**{PAPER.model_dump()}), shard=Shard(2, 5)))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert run.stdout.strip() == str(plan(PAPER, shard=Shard(2, 5))), run.stderr


def test_sizes_come_from_tables_and_configs_alone(tmp_path):
    assert model_size("EleutherAI/pythia-14m")[0] == 1189888
    folder = tmp_path / "weightless"
    folder.mkdir()
    config = ladders.model_folder("OPT", 1) / "config.json"
    (folder / "config.json").write_bytes(config.read_bytes())
    assert model_size(str(folder)) == model_size(str(config.parent))
    with pytest.raises(InputError, match="config"):
        model_size(str(tmp_path))


def test_expected_tokens_are_near_what_the_shipped_records_have():
    from rbpkit.records import load_summaries

    study = load_params(ROOT / "params" / "pocket.yaml")
    for summary in load_summaries(ladders.summaries_root()):
        name = summary.manifest.corpus
        about = expected_tokens(name, name, study)
        assert about == pytest.approx(summary.manifest.tokens, rel=0.05)
    # DESIGN: HumanEval is 42,400 scored tokens with GPT-2's tokenizer, 33,233 with Pythia's.
    assert 33_000 < expected_tokens("HumanEval", "HumanEval", PAPER) < 44_000


def test_a_file_is_expected_by_its_size_and_by_what_is_asked(tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("four " * 100_000)
    few = PAPER.model_copy(update={"documents": 2})
    assert expected_tokens("long.txt", str(path), PAPER) == 125_000
    assert expected_tokens("long.txt", str(path), few) == 2 * 512


def test_a_hub_model_of_unknown_size_cannot_be_divided(monkeypatch):
    def unknown(model, revision=None):
        raise InputError(f"{model}: its config.json cannot be read")

    monkeypatch.setattr(jobs, "model_size", unknown)
    study = PAPER.model_copy(update={"families": (), "model_ids": ("nobody/nothing",)})
    assert plan(study)[0].S == 0  # without shards it is tried, and fails by itself
    with pytest.raises(InputError, match="nobody/nothing"):
        plan(study, shard=Shard(1, 2))


def test_more_shards_than_jobs_leaves_some_with_nothing(tmp_path):
    study = Params(
        source="pocket",
        families=["Pythia"],
        corpus_names=["pocket:humaneval"],
        documents=1,
        threads=1,
    )
    shards = len(ladders.LADDERS["Pythia"]) + 2
    empty = [i for i in range(1, shards + 1) if not plan(study, shard=Shard(i, shards))]
    assert len(empty) == 2
    result = sweep(study, tmp_path / "out", shard=Shard(empty[0], shards))
    assert not result.measured and not result.failures and not (tmp_path / "out").exists()


# -- real processes --------------------------------------------------------------------------

# The same command line, but the second job of the process stops before it is written.
STALLED = (
    """
import time
import rbpkit.measuring as module
write = module.write_records
done = []
def stalled(out, records):
    done.append(1)
    if len(done) == 2:
        print("stalled", flush=True)
        time.sleep(600)
    return write(out, records)
module.write_records = stalled
"""
    + COMMAND_LINE
)


@pytest.fixture
def grid(tmp_path) -> Path:
    """A params file: the two smallest Pythias on two pocket corpora, 20 documents each."""
    models = [ladders.model_folder("Pythia", size) for size in (0, 1)]
    corpora = ["pocket:humaneval", "pocket:qa"]
    return study_file(tmp_path, models, corpora, documents=20, max_length=256)


def went_on(stderr: str, out: Path, before: dict[Path, int], grid: Path) -> None:
    """The shard that was run again did what was missing; all is as one process alone makes it."""
    assert stderr.count("done before:") == 1, stderr
    assert len(re.findall(r"^measured:", stderr, re.MULTILINE)) == 1, stderr
    assert "all 3 shards: 4 of 4 jobs done" in stderr
    assert all(path.stat().st_mtime_ns == time_ns for path, time_ns in before.items())
    alone = out.parent / "alone"
    sweep(load_params(grid), alone)
    assert digests(out) == digests(alone)


@pytest.mark.slow
def test_three_shards_as_processes_one_killed_and_run_again(grid, tmp_path):
    out, environment = tmp_path / "out", {**os.environ, "OMP_NUM_THREADS": "1"}
    sweeping = ("sweep", grid, "--out", out)

    def start(shard: str, *code: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, *(code or ("-m", "rbpkit")), *sweeping, "--shard", shard],
            **{"cwd": ROOT, "env": environment, "text": True},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    parts = {i: jobs_of(plan(load_params(grid), shard=Shard(i, 3))) for i in (1, 2, 3)}
    victim = max(parts, key=lambda i: len(parts[i]))
    assert len(parts[victim]) == 2, parts
    running = {i: start(f"{i}/3", *(("-c", STALLED) if i == victim else ())) for i in parts}
    try:
        assert running[victim].stdout.readline() == "stalled\n", running[victim].stderr.read()
        running[victim].send_signal(signal.SIGKILL)
        ends = {i: process.communicate(timeout=110) for i, process in running.items()}
    finally:
        for process in running.values():
            process.kill()
    assert running[victim].returncode == -signal.SIGKILL
    assert all(running[i].returncode == 0 for i in parts if i != victim), ends
    assert len(list(out.rglob("*.parquet"))) == 3
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    again = start(f"{victim}/3")
    _, stderr = again.communicate(timeout=110)
    assert again.returncode == 0, stderr
    went_on(stderr, out, before, grid)
    # Once each, and whole.
    manifests = [(one.manifest.model, one.manifest.corpus) for one in iter_manifests(out)]
    assert len(manifests) == len(set(manifests)) == 4 == len(list(out.rglob("*.parquet")))
    assert not [path for path in out.rglob(".*") if not path.name.endswith(".lock")]
    for path in out.rglob("*.parquet"):
        Records.load(path)


def test_the_slurm_file_runs_its_shard(grid, tmp_path):
    """With a stand-in for Python that says how it was called."""
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\necho "$OMP_NUM_THREADS $@"\n')
    fake.chmod(0o755)
    text = (ROOT / "params" / "slurm.sbatch").read_text()
    assert "#SBATCH --array=1-8\n" in text and "SHARDS:-8}" in text
    run = subprocess.run(
        ["bash", ROOT / "params" / "slurm.sbatch"],
        env={"PATH": os.environ["PATH"], "PYTHON": str(fake), "PARAMS": str(grid)}
        | {"OUT": "o", "SLURM_ARRAY_TASK_ID": "3", "SLURM_CPUS_PER_TASK": "5"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.stdout.split() == [
        *"5 -m rbpkit sweep".split(),
        str(grid),
        *"--out o --shard 3/8".split(),
    ]


def slurm_answers() -> bool:
    try:
        stderr = subprocess.run(["sinfo", "-h"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return stderr.returncode == 0 and stderr.stdout.strip() != ""


@pytest.mark.slow
def test_a_real_slurm_runs_the_array_and_a_killed_task_again(grid, tmp_path):
    if not slurm_answers():
        pytest.skip("needs a running Slurm: sinfo must show a partition")
    parts = {i: jobs_of(plan(load_params(grid), shard=Shard(i, 3))) for i in (1, 2, 3)}
    victim = max(parts, key=lambda i: len(parts[i]))
    out, stalled = tmp_path / "out", tmp_path / "stalled"
    # Only the first time, and only that task, stops after its first job.
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/bash\nif [ "$SLURM_ARRAY_TASK_ID" = {victim} ] && [ ! -e {stalled} ]; then\n'
        f'touch {stalled}\nshift 2\nexec {sys.executable} -c "$STALLED" "$@"\nfi\n'
        f'exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    study = {"PARAMS": str(grid), "OUT": str(out), "SHARDS": "3", "PYTHON": str(python)}

    def slurm(*command: object) -> str:
        environment = {**os.environ, **study, "STALLED": STALLED}
        run = subprocess.run(
            list(map(str, command)), env=environment, capture_output=True, text=True, timeout=60
        )
        assert run.returncode == 0, run.stderr
        return run.stdout.strip()

    def submit(array: str) -> str:
        here = ["--cpus-per-task=1", "--gres=none", "--mem=2G", f"--output={tmp_path}/%a.log"]
        where = [f"--chdir={ROOT}", "--parsable", f"--array={array}"]
        return slurm("sbatch", *where, *here, ROOT / "params" / "slurm.sbatch").split(";")[0]

    def wait(job: str, until) -> None:
        deadline = time.monotonic() + 300
        while not until():
            assert time.monotonic() < deadline, slurm("squeue")
            time.sleep(0.5)

    def gone(job: str) -> bool:
        return job not in slurm("squeue", "--noheader", "--format=%F").split()

    job = submit("1-3")
    try:
        log = tmp_path / f"{victim}.log"
        wait(job, lambda: log.exists() and "stalled" in log.read_text())
        slurm("scancel", "--full", "--signal=KILL", f"{job}_{victim}")
        wait(job, lambda: gone(job))
        assert len(list(out.rglob("*.parquet"))) == 3, [
            p.read_text() for p in tmp_path.glob("*.log")
        ]
        before = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
        job = submit(str(victim))
        wait(job, lambda: gone(job))
    finally:
        subprocess.run(["scancel", job], capture_output=True)
    went_on(log.read_text(), out, before, grid)
