"""A study's jobs in one process: order, done once, failures remembered, two sweeps at once."""

from __future__ import annotations

import errno
import json
import multiprocessing.synchronize
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter

import pytest
import torch
from conftest import study_file
from tqdm.std import TqdmDefaultWriteLock, tqdm

from rbpkit.errors import InputError
from rbpkit.pocket import ladders
from rbpkit.records import Records, iter_manifests
from rbpkit.study import engines
from rbpkit.study.jobs import Job, model_name, models_of, plan
from rbpkit.study.jobstate import claimed, holder, job_stem, past_failure
from rbpkit.study.params import Params, load_params
from rbpkit.study.sweep import _take_jobs, sweep

SMALL, MIDDLE = (ladders.model_folder("Pythia", size) for size in (0, 1))


@pytest.fixture(autouse=True)
def _threads_as_before():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def study(tmp_path) -> Params:
    """The two smallest Pythias, the smaller first, on two files of a few lines."""
    files = [tmp_path / f"{name}.jsonl" for name in ("one", "two")]
    for path in files:
        rows = [{"text": f"{path.stem} {i}: " + "a line of text, " * i} for i in range(1, 6)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return load_params(study_file(tmp_path, [SMALL, MIDDLE], files, max_length=64))


@pytest.fixture
def calls(monkeypatch) -> dict[str, list]:
    """Every load and every measurement, as they come."""
    seen = {"load": [], "measure": []}
    load, measure = engines.load_model, engines.measure

    def loading(source, **options):
        seen["load"].append(model_name(source))
        return load(source, **options)

    def measuring(model, corpus, *arguments, **options):
        seen["measure"].append(Job(model.name, corpus.id))
        return measure(model, corpus, *arguments, **options)

    monkeypatch.setattr(engines, "load_model", loading)
    monkeypatch.setattr(engines, "measure", measuring)
    return seen


def test_the_largest_first_each_loaded_once_told_in_the_studys_order(study, calls, tmp_path):
    said = []
    result = sweep(study, tmp_path / "out", say=said.append)
    assert calls["load"] == [MIDDLE.name, SMALL.name]
    assert [line.split()[:4] for line in said] == [
        ["measured:", model.name, "on", f"{name}.jsonl:"]
        for model in (MIDDLE, SMALL)
        for name in ("one", "two")
    ]
    manifests = [one.summary.manifest for one in result.measured]
    assert [(m.model, m.corpus) for m in manifests] == [
        (model.name, f"{name}.jsonl") for model in (SMALL, MIDDLE) for name in ("one", "two")
    ]
    assert not result.failures
    # The sizes that it was ordered by are those of the loaded models.
    assert {group.model: group.S for group in plan(study)} == {m.model: m.S for m in manifests}


def test_what_is_done_is_found_with_no_model_loaded(study, calls, tmp_path):
    first = sweep(study, tmp_path / "out")
    calls["load"].clear()
    again = sweep(study, tmp_path / "out")
    assert not calls["load"] and all(one.found_done for one in again.measured)
    assert [one.path for one in again.measured] == [one.path for one in first.measured]
    if not torch.cuda.is_available():  # then all devices together are the CPU
        spread = sweep(study.model_copy(update={"device": "auto"}), tmp_path / "out")
        assert not calls["load"] and all(one.found_done for one in spread.measured)
    calls["measure"].clear()
    next((tmp_path / "out").rglob(f"{SMALL.name}.json")).unlink()  # one job is no longer done
    sweep(study, tmp_path / "out")
    assert calls["load"] == [SMALL.name] and len(calls["measure"]) == 1


@pytest.mark.parametrize(
    "change", [{"max_length": 32}, {"batch_tokens": 99}, {"threads": 2}, {"dtype": "bfloat16"}]
)
def test_other_settings_are_not_found_done(study, calls, tmp_path, change):
    sweep(study, tmp_path / "out")
    calls["measure"].clear()
    said = []
    sweep(study.model_copy(update=change), tmp_path / "out", say=said.append)
    assert len(calls["measure"]) == 4
    assert sum(line.startswith("replaces an earlier") for line in said) == 4


def test_another_text_of_the_same_name_is_not_found_done(study, calls, tmp_path):
    sweep(study, tmp_path / "out")
    calls["measure"].clear()
    (tmp_path / "one.jsonl").write_text('{"text": "another text of the same name"}\n')
    sweep(study, tmp_path / "out")
    assert {job.corpus for job in calls["measure"]} == {"one.jsonl"}


def test_a_failure_is_remembered_until_the_job_is_done(study, tmp_path):
    broken = tmp_path / "models" / "broken"
    shutil.copytree(SMALL, broken)
    weights = (broken / "model.safetensors").read_bytes()
    (broken / "model.safetensors").write_bytes(weights[:1000])
    study = study.model_copy(update={"model_ids": (str(broken), str(MIDDLE))})
    result = sweep(study, tmp_path / "out")
    assert len(result.measured) == 2
    assert [failure.job.model for failure in result.failures] == ["broken", "broken"]
    stem = job_stem(tmp_path / "out", Job("broken", "one.jsonl"))
    failure = past_failure(stem)
    assert "damaged" in failure.reason and failure.time and not failure.trace
    assert len(list(iter_manifests(tmp_path / "out"))) == 2  # a note of a failure is no manifest
    (broken / "model.safetensors").write_bytes(weights)
    assert not sweep(study, tmp_path / "out").failures
    assert past_failure(stem) is None and not list((tmp_path / "out").rglob("*failed*"))


def test_an_error_of_a_library_stops_no_other_job(study, monkeypatch, tmp_path):
    real = engines.measure

    def failing(model, corpus, *arguments, **options):
        if (model.name, corpus.id) == (MIDDLE.name, "one.jsonl"):
            raise RuntimeError("a kernel failed\nsecond line")
        return real(model, corpus, *arguments, **options)

    monkeypatch.setattr(engines, "measure", failing)
    result = sweep(study, tmp_path / "out")
    assert len(result.measured) == 3
    assert result.failures[0].reason == "RuntimeError: a kernel failed"
    failure = past_failure(job_stem(tmp_path / "out", Job(MIDDLE.name, "one.jsonl")))
    assert "second line" in failure.trace and "Traceback" in failure.trace


def test_a_full_disk_stops_all(study, monkeypatch, tmp_path):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("rbpkit.measuring.write_records", full)
    with pytest.raises(OSError, match="No space"):
        sweep(study, tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*.claim"))


# -- claims ----------------------------------------------------------------------------------


def test_a_claim_is_one_processs_and_goes_with_it(tmp_path):
    stem = job_stem(tmp_path, Job("a/model", "Wiki"))
    assert holder(stem) is None
    with claimed(stem) as mine:
        assert mine and holder(stem).pid
        with claimed(stem) as second:
            assert not second
        assert holder(stem) is not None, "a refused claim must not end the first one"
    assert holder(stem) is None and not list(tmp_path.rglob("*.claim"))
    code = "import pathlib, sys, time; from rbpkit.study.jobstate import claimed\n"
    code += "with claimed(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    path = stem.parent / f".{stem.name}.claim"
    other = subprocess.Popen([sys.executable, "-c", code, stem], stdout=subprocess.PIPE)
    try:
        other.stdout.readline()
        assert holder(stem) is not None
        with claimed(stem) as mine:
            assert not mine
    finally:
        other.send_signal(signal.SIGKILL)
        other.communicate()
    assert path.exists() and holder(stem) is None
    with claimed(stem) as mine:
        assert mine


def test_a_job_that_another_measures_is_left_for_last_and_waited_for(
    study, calls, monkeypatch, tmp_path
):
    monkeypatch.setattr(engines, "POLL_SECONDS", 0.05)
    said, waiting = [], threading.Event()

    def say(line):
        said.append(line)
        if line.startswith("waiting"):
            waiting.set()

    results = []
    thread = threading.Thread(
        target=lambda: results.append(sweep(study, tmp_path / "out", say=say))
    )
    with claimed(job_stem(tmp_path / "out", Job(MIDDLE.name, "one.jsonl"))) as mine:
        assert mine
        thread.start()
        assert waiting.wait(60)
        assert len(calls["measure"]) == 3 and calls["load"] == [SMALL.name, MIDDLE.name]
    thread.join(60)
    assert len(results[0].measured) == 4 and sum("waiting" in line for line in said) == 1


def test_two_sweeps_at_once_measure_each_job_once(study, calls, monkeypatch, tmp_path):
    monkeypatch.setattr(engines, "POLL_SECONDS", 0.05)
    load, lock = engines.load_model, threading.Lock()

    def one_at_a_time(*given, **options):
        with lock:  # transformers patches itself while it loads: not for two threads
            return load(*given, **options)

    monkeypatch.setattr(engines, "load_model", one_at_a_time)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(sweep(study, tmp_path / "out")))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert [len(result.measured) for result in results] == [4, 4]
    manifests = [one for result in results for one in result.measured]
    new = Counter(str(one.path) for one in manifests if not one.found_done)
    assert len(new) == 4 and set(new.values()) == {1}
    for one in manifests:
        Records.load(one.path)


# -- the study and the command line ----------------------------------------------------------


def test_a_helper_makes_no_semaphore_that_its_end_would_leave(study, monkeypatch, tmp_path):
    """A helper is terminated: a named semaphore of its own would stay, and Python warns of it."""

    def refuse(*given, **named):
        raise AssertionError("a semaphore")

    monkeypatch.setattr(multiprocessing.synchronize.SemLock, "__init__", refuse)
    monkeypatch.delattr(tqdm, "_lock", raising=False)
    monkeypatch.delattr(TqdmDefaultWriteLock, "mp_lock", raising=False)
    _take_jobs(study, tmp_path / "out", {})
    again = sweep(study, tmp_path / "out").measured
    assert len(again) == 4 and all(one.found_done for one in again)


def test_a_folder_of_the_hubs_cache_has_the_hubs_name(tmp_path):
    folder = tmp_path / "models--owner--name" / "snapshots" / "0123abc"
    folder.mkdir(parents=True)
    assert model_name(str(folder)) == "owner/name" and model_name("owner/name") == "owner/name"
    study = Params(source="hub", model_ids=["owner/name", str(folder)], corpus_names=["Wiki"])
    with pytest.raises(InputError, match="both called 'owner/name'"):
        models_of(study)
