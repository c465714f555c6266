"""A sweep that is killed or interrupted: the same command ends with the undisturbed records."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest
from conftest import COMMAND_LINE, TEXTS, digests, needs_proc, study_file

from rbpkit.measuring import measure
from rbpkit.models import load_model
from rbpkit.records import job_lock, load_summaries
from rbpkit.study.jobs import Job
from rbpkit_pocket import families

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
SMALL, MIDDLE = (families.model_folder("Pythia", size) for size in (0, 1))


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


@needs_proc
@pytest.mark.parametrize("name", ["SIGKILL", pytest.param("SIGINT", marks=pytest.mark.slow)])
def test_the_same_command_ends_with_the_undisturbed_records(name, rbpkit, tmp_path):
    """Struck when one job is done, one is held up by its lock and others are under way."""
    files = [tmp_path / f"{corpus}.jsonl" for corpus in ("one", "two", "three")]
    for path in files:
        path.write_text("".join(json.dumps({"text": path.stem + text}) + "\n" for text in TEXTS))
    study, out = study_file(tmp_path, [SMALL, MIDDLE], files, max_length=64), tmp_path / "out"
    command = ["sweep", study, "--out", out, "--workers", 2]
    with job_lock(out, Job(SMALL.name, "two.jsonl")):
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND_LINE, *map(str, command)],
            **{"cwd": ROOT, "env": ENVIRONMENT, "text": True, "start_new_session": True},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        while process.poll() is None and not list(out.rglob("*.json")):
            time.sleep(0.002)
        process.send_signal(getattr(signal, name))
        _, stderr = process.communicate(timeout=100)
    if name == "SIGINT":
        assert process.returncode == 130 and "Traceback" not in stderr, stderr
        assert "the same command" in stderr and stderr.endswith("rbpkit: interrupted\n")
    else:
        assert process.returncode == -signal.SIGKILL, stderr
    deadline = time.monotonic() + 60
    while left := members(process.pid):
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.05)

    for model, path in product([SMALL, MIDDLE], files):
        measure(load_model(model, device="cpu"), path, tmp_path / "undisturbed", max_length=64)
    right = digests(tmp_path / "undisturbed")
    assert len(right) == 6
    done = [path.relative_to(out).with_suffix(".parquet") for path in out.rglob("*.json")]
    assert 1 <= len(done) < 6
    assert all(digests(out)[str(path)] == right[str(path)] for path in done)

    status, _, stderr = rbpkit(*command)
    assert status == 0 and stderr.count("done before:") == len(done), stderr
    assert digests(out) == right
    for one, other in zip(
        load_summaries(out), load_summaries(tmp_path / "undisturbed"), strict=True
    ):
        assert one.ce() == other.ce() and one.rbp(10) == other.rbp(10)
