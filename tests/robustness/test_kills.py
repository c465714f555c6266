"""A sweep that is killed or interrupted: the same command ends with the undisturbed records."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import (
    COMMAND_LINE,
    ROOT,
    TEXTS,
    digests,
    install,
    needs_proc,
    study_file,
    write_jsonl,
)

from rbpkit.tools.study.params import load_params
from rbpkit.tools.study.sweep import sweep
from rbpkit_pocket import families

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


def texts_in(folder: Path, names) -> list[Path]:
    """A .jsonl for each name; no two have a text in common."""
    files = []
    for name in names:
        files.append(write_jsonl(folder / f"{name}.jsonl", [f"{name}{text}" for text in TEXTS]))
    return files


def start(command, plugins: Path = ROOT, **streams) -> subprocess.Popen:
    """The command line in a session of its own, which Ctrl-C reaches."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND_LINE, *map(str, command)],
        cwd=ROOT,
        env=ENVIRONMENT | {"PYTHONPATH": str(plugins)},
        start_new_session=True,
        **streams,
    )


def wait_until_gone(those_alive) -> None:
    """It takes at most 10 seconds on an idle machine."""
    must_end = time.monotonic() + 60
    while left := those_alive():
        assert time.monotonic() < must_end, f"still running: {left}"
        time.sleep(0.05)


DEADLY = """
import os, re, signal
from rbpkit.ranker import Ranker
from rbpkit_pocket import families

HOW = {
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "aborts": os.abort,
    "never_ends": lambda: re.match("(a|a)*b", "a" * 99),  # and no other thread runs
}


class Deadly(Ranker):
    S, V, family, revision = 1, families.V, "deadly", "1"
    tokenizer = families.load_tokenizer()

    def __init__(self, rest, **settings):
        self.name = rest

    def ranks(self, batch):
        HOW[self.name]()
"""


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_models_that_end_or_hold_their_worker_stop_no_other_job(workers, site, tmp_path):
    install(site, "deadly_model", DEADLY, openers="Deadly")
    bad = ["deadly:killed", "deadly:aborts", "deadly:never_ends"]
    study = study_file(tmp_path, [SMALL, bad[0], MIDDLE, *bad[1:]], texts_in(tmp_path, ["one"]))
    command = ["sweep", study, "--out", tmp_path / "out", "--workers", workers, "--hours", 0.01]
    process = start(command, site, stderr=subprocess.PIPE, text=True)
    _, said = process.communicate()
    reason = "its worker died twice, of too little memory or after 0.01 hours"
    assert said.count(reason) == 3 and "2 jobs done, 3 failed" in said, said


KILLS = int(os.environ.get("RBPKIT_KILLS", "4"))
SECONDS = 8  # between two kills at most: about what a sweep takes


def workers_of(process: subprocess.Popen, engine: str) -> list[int]:
    """The worker processes of a sweep, those that begin included."""
    if engine == "ray":
        asked = ["pgrep", "-f", "^ray::measure_model"]
        listed = subprocess.run(asked, capture_output=True, text=True)
        return [int(pid) for pid in listed.stdout.split()]
    found = []
    for pid in members(process.pid):
        with suppress(OSError):
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def wait_for_a_result(process: subprocess.Popen, out: Path) -> None:
    """Until records are written, or the sweep ends."""
    before = set(out.rglob("[!.]*.parquet"))
    while process.poll() is None and before >= set(out.rglob("[!.]*.parquet")):
        time.sleep(0.001)


def strike(process: subprocess.Popen, workers: list[int], chance: random.Random) -> bool:
    """Kill one of its workers or, one time in four, the sweep itself -> whether there was one."""
    if process.poll() is not None or not workers:
        return False
    if chance.random() < 0.25:
        process.send_signal(chance.choice([signal.SIGKILL, signal.SIGINT]))
        process.wait(timeout=60)
    else:
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(chance.choice(workers), signal.SIGKILL)
    return True


@needs_proc
@pytest.mark.parametrize(
    ("engine", "most"),
    [
        ("process", 1),
        pytest.param("process", KILLS, marks=pytest.mark.slow),
        pytest.param("ray", KILLS, marks=pytest.mark.slow),
    ],
)
def test_sweeps_and_workers_killed_at_random_moments(engine, most, tmp_path):
    """The first time the sweep itself, then a quarter of them: none hangs, no job is lost.

    One in ten comes when a result is there and its worker is about to tell of it.
    """
    if engine == "ray":
        pytest.importorskip("ray", reason="needs Ray: pip install 'rbpkit[cluster]'")
    files = texts_in(tmp_path, range(3 if most == 1 else 8))
    for path in files:
        path.write_text(path.read_text() * 40)
    models = [families.model_folder("Pythia", size) for size in range(2 if most == 1 else 3)]
    study, out = study_file(tmp_path, models, files, max_length=64), tmp_path / "out"
    sweep(load_params(study), tmp_path / "undisturbed")
    right = digests(tmp_path / "undisturbed")
    assert len(right) == len(models) * len(files)
    command = ["sweep", study, "--out", out, "--workers", 2, "--engine", engine]
    chance, kills, ends = random.Random(KILLS), 0, set()
    log = (tmp_path / "log").open("w+")
    while kills < most:
        process = start(command, stdout=log, stderr=log)
        must_end = time.monotonic() + 1200  # on busy processors
        if kills == 0:
            wait_for_a_result(process, out)
            process.kill()
            kills += process.wait(timeout=60) == -signal.SIGKILL
        while process.poll() is None:
            assert time.monotonic() < must_end, "it hangs"
            time.sleep(chance.uniform(0, SECONDS))
            if kills % 10 == 9:
                wait_for_a_result(process, out)
            if kills < most:
                kills += strike(process, workers_of(process, engine), chance)
        ends.add(process.returncode)
        wait_until_gone(lambda: workers_of(process, engine))  # noqa: B023  called here
        found = digests(out)
        assert found.items() <= right.items(), "other records"
        if process.returncode == 0:
            assert found == right
            shutil.rmtree(out)
    said = (tmp_path / "log").read_text().splitlines()
    refused = [line for line in said if line.startswith("rbpkit:")]
    assert ends <= {0, 1, 130, -signal.SIGKILL}, refused
    done, told = digests(out), []
    assert not sweep(load_params(study), out, say=told.append).failures
    assert digests(out) == right
    assert sum(line.startswith("done before:") for line in told) == len(done)
