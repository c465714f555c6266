"""Real kills of real sweeps: whatever the moment, what stands is whole and the rest is made."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from conftest import COMMAND_LINE, TEXTS, study_file

from rbpkit.corpora import load_corpus
from rbpkit.pocket import ladders
from rbpkit.records import Records, iter_manifests, load_summaries
from rbpkit.study.params import load_params
from rbpkit.study.sweep import sweep

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def pocket_texts(documents: int) -> dict[str, tuple[str, ...]]:
    """The first documents of two pocket corpora; as files they are at hand without a search."""
    names = ("humaneval", "qa")
    return {name: load_corpus(f"pocket:{name}", documents=documents).documents for name in names}


def write_grid(folder: Path, models: list[tuple[str, int]], corpora: dict) -> Path:
    """A params file: shipped models on two small corpora."""
    files = []
    for name, texts in corpora.items():
        files.append(folder / f"{name}.jsonl")
        files[-1].write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    folders = [ladders.model_folder(family, size) for family, size in models]
    return study_file(folder, folders, files, documents=0, max_length=256, batch_tokens=1024)


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> tuple[Path, Path]:
    """(grid, records of an undisturbed run): two models, a few documents."""
    folder = tmp_path_factory.mktemp("small")
    texts = tuple(f"{i}. {text}" for i in range(3) for text in TEXTS)
    grid = write_grid(folder, [("GPT2", 0), ("Pythia", 0)], {"one": texts, "two": texts[::-2]})
    before = torch.get_num_threads()
    sweep(load_params(grid), folder / "undisturbed")
    torch.set_num_threads(before)
    return grid, folder / "undisturbed"


def start(grid: Path, out: Path, *python: str) -> subprocess.Popen:
    """`python -m rbpkit sweep`, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, *(python or ("-m", "rbpkit")), "sweep", str(grid), "--out", str(out)],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )


def finish(process: subprocess.Popen) -> list[str]:
    """The lines on its standard error, once it has ended well."""
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    return stderr.splitlines()


def members(session: int) -> list[int]:
    """The processes alive in a session (Linux)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, sid = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it has just ended
            continue
        if int(sid) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


def at_work(process: subprocess.Popen, out: Path) -> None:
    """Wait until the process itself has a job, or has ended; a killed one's claims stay there."""
    while process.poll() is None:
        for claim in out.rglob("*.claim"):
            try:
                if f'"pid": {process.pid},' in claim.read_text():
                    return
            except FileNotFoundError:  # the job was done just now
                continue
        time.sleep(0.002)


def check_whole(out: Path, good: Path) -> int:
    """Everything that says "done" is whole and right; how many jobs that are."""
    if not out.is_dir():
        return 0
    jobs = list(iter_manifests(out))
    markers = {path for path in out.rglob("*.json") if not path.name.startswith(".")}
    assert markers == {job.path.with_suffix(".json") for job in jobs}, "a marker without records"
    for job in jobs:
        Records.load(job.path)  # verifies every byte
        assert job.path.read_bytes() == (good / job.path.relative_to(out)).read_bytes()
    assert not jobs or len(load_summaries(out)) == len(jobs)
    return len(jobs)


def check_equal(out: Path, good: Path) -> None:
    """The records of an undisturbed run to the byte; the rest too, less how long it took."""
    assert check_whole(out, good) == check_whole(good, good)
    timeless = [
        [one.manifest.model_copy(update={"seconds": 0.0}) for one in iter_manifests(folder)]
        for folder in (out, good)
    ]
    assert timeless[0] == timeless[1]
    for one, other in zip(load_summaries(out), load_summaries(good), strict=True):
        same_manifest = dataclasses.replace(one, manifest=other.manifest)
        assert same_manifest.to_bytes() == other.to_bytes()


def kill_again_and_again(grid: Path, good: Path, out: Path, kills: int, work: float) -> list[int]:
    """SIGKILL, resume, SIGKILL ...; the number of jobs done at each kill.

    Delays are drawn with a fixed seed: from the start of a run for one in five, else from the
    moment it has its first job, over `work` seconds. A run that ends by itself is compared and
    the folder begun anew.
    """
    rng, seen, rounds = random.Random(20), [], 0
    while len(seen) < kills:
        rounds += 1
        assert rounds < 4 * kills, f"{len(seen)} kills in {rounds} runs: they end too early"
        process = start(grid, out)
        try:
            if rng.random() >= 0.2:
                at_work(process, out)
            process.wait(rng.uniform(0, work))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        _, stderr = process.communicate(timeout=60)
        if process.returncode == 0:
            check_equal(out, good)
            shutil.rmtree(out)
            continue
        assert process.returncode == -signal.SIGKILL, stderr
        # A compiler that it had started, of the loop in C, lives on for half a second.
        deadline = time.monotonic() + 10
        while members(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not members(process.pid)
        seen.append(check_whole(out, good))
    return seen


def test_killed_twice_then_resumed(small, tmp_path):
    grid, good = small
    seen = kill_again_and_again(grid, good, tmp_path / "out", 2, 0.6)
    assert len(seen) == 2
    assert not sweep(load_params(grid), tmp_path / "out").failures
    check_equal(tmp_path / "out", good)


@pytest.mark.slow
def test_twenty_kills(tmp_path, capsys):
    """Three models on two corpora, 40 documents each, killed at twenty random moments."""
    grid = write_grid(tmp_path, [("GPT2", 0), ("Pythia", 0), ("Qwen", 0)], pocket_texts(40))
    good, out = tmp_path / "undisturbed", tmp_path / "out"
    first = start(grid, good)
    at_work(first, good)
    begun = time.monotonic()
    finish(first)
    seen = kill_again_and_again(grid, good, out, 20, time.monotonic() - begun)
    finish(start(grid, out))
    check_equal(out, good)
    hidden = sorted(path.name for path in out.rglob(".*") if path.name != ".lock")
    with capsys.disabled():
        print(f"\n20 kills; jobs done at each: {seen}; hidden files left: {hidden}")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupted_sweep_leaves_no_process_and_goes_on(name, small, tmp_path):
    grid, good = small
    out = tmp_path / "out"
    process = start(grid, out, "-c", COMMAND_LINE)
    at_work(process, out)
    process.send_signal(getattr(signal, name))
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert stderr.splitlines()[-1] == "rbpkit: interrupted" and "Traceback" not in stderr
    assert "the same command goes on" in stderr
    assert not members(process.pid)
    assert not list(out.rglob("*.claim")) and not list(out.rglob("*.tmp"))
    assert check_whole(out, good) < 4
    finish(start(grid, out))
    check_equal(out, good)


@pytest.mark.slow
def test_two_processes_on_one_folder(small, tmp_path):
    grid, good = small
    out = tmp_path / "out"
    both = [start(grid, out) for _ in range(2)]
    lines = [line for process in both for line in finish(process)]
    assert sum(line.startswith("measured:") for line in lines) == 4, lines
    assert sum(line.startswith("done before:") for line in lines) == 4, lines
    check_equal(out, good)


NOTEBOOK = """
import sys
from pathlib import Path
import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from rbpkit.study import notebooks
folder = Path(sys.argv[1])
pid = "import os, pathlib, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(600)"
kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
nbformat.write(new_notebook(cells=[new_code_cell(pid)], metadata=kernel), folder / "long.ipynb")
notebooks.notebooks_dir = lambda: folder  # the kernel's folder too
notebooks.run("long", {}, folder / "out")
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_notebooks_kernel_goes_with_its_driver(name, tmp_path):
    code = NOTEBOOK if name == "SIGKILL" else COMMAND_LINE.split("from")[0] + NOTEBOOK
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        env=ENVIRONMENT,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    limit = time.monotonic() + 90
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert process.poll() is None and time.monotonic() < limit
        time.sleep(0.05)
    kernel = Path("/proc") / (tmp_path / "pid").read_text()
    process.send_signal(getattr(signal, name))
    process.wait(60)
    while kernel.exists():
        assert time.monotonic() < limit, "the kernel outlived its driver"
        time.sleep(0.1)
