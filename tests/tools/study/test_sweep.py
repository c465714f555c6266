"""A study's jobs: their order, done once, what failed, workers of which one is killed."""

import errno
import multiprocessing
import shutil
import sys
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext

import pytest
from conftest import digests, edit_json, in_this_process, refused, study_file, write_jsonl

from rbpkit.tools.study import sweep as sweeping
from rbpkit.tools.study.params import Params, load_params
from rbpkit.tools.study.sweep import plan, sweep
from rbpkit_pocket import families

SMALL, MIDDLE = (families.model_folder("Pythia", size) for size in (0, 1))


@pytest.fixture
def study(tmp_path) -> Params:
    """The two smallest Pythias, the smaller first, on two files of a few lines."""
    files = []
    for name in ("one", "two"):
        texts = [f"{name} {i}: " + "a line of text, " * i for i in range(1, 6)]
        files.append(write_jsonl(tmp_path / f"{name}.jsonl", texts))
    return load_params(study_file(tmp_path, [SMALL, MIDDLE], files, max_length=64))


@pytest.fixture
def calls(monkeypatch) -> dict[str, list]:
    """Every load and every measurement in this process, as they come."""
    seen = {"load": [], "measure": []}
    load, measure = sweeping.load_model, sweeping.measure

    def loading(source, **options):
        seen["load"].append(source)
        return load(source, **options)

    def measuring(model, corpus, *arguments, **options):
        seen["measure"].append(f"{model.name} on {corpus.id}")
        return measure(model, corpus, *arguments, **options)

    monkeypatch.setattr(sweeping, "load_model", loading)
    monkeypatch.setattr(sweeping, "measure", measuring)
    return seen


def test_each_model_is_loaded_once_and_what_is_done_is_found_with_none_loaded(
    study, calls, tmp_path
):
    out = tmp_path / "out"
    first = sweep(study, out)
    assert calls["load"] == [str(MIDDLE), str(SMALL)]  # the last one first
    jobs = [
        f"models/{model.name} on {name}.jsonl"
        for model in (MIDDLE, SMALL)
        for name in ("one", "two")
    ]
    assert calls["measure"] == jobs
    manifests = [one.summary.manifest for one in first.measured]
    in_order = [f"{one.model} on {one.corpus}" for one in manifests]
    assert in_order == jobs[2:] + jobs[:2]  # the study's order
    assert not first.failures

    calls["load"].clear()
    again = sweep(study, out)
    assert not calls["load"] and all(one.found_done for one in again.measured)
    assert [one.path for one in again.measured] == [one.path for one in first.measured]
    calls["measure"].clear()
    next(out.rglob(f"*{SMALL.name}.*.parquet")).unlink()  # one job is no longer done
    assert len(sweep(study, out).measured) == 4
    assert calls["load"] == [str(SMALL)] and len(calls["measure"]) == 1


@pytest.mark.parametrize(("change", "again"), [({"max_length": 32}, 4), ({}, 2)])
def test_other_settings_and_another_text_are_measured_again(study, calls, tmp_path, change, again):
    sweep(study, tmp_path / "out")
    calls["measure"].clear()
    if not change:
        write_jsonl(tmp_path / "one.jsonl", ["another text of the same name"])
    other = study.model_copy(update=change)
    sweep(other, tmp_path / "out")
    assert len(calls["measure"]) == again
    assert len(list((tmp_path / "out").rglob("*.parquet"))) == 4 + again  # nothing was replaced
    for one in (other, study) if change else ():
        assert all(job.found_done for job in sweep(one, tmp_path / "out").measured)


def test_two_recipes_are_two_families(rbpkit, text_file, tmp_path):
    out, sizes = tmp_path / "out", [families.model_folder("Pythia", size) for size in range(3)]
    another = shutil.copytree(sizes[1], tmp_path / "a/another")
    edit_json(another / "config.json", recipe="another")  # of the same size
    measuring = ["measure", "--corpus", text_file, "--out", out, "--max-length", 64, "--model"]
    assert rbpkit(*measuring, *sizes, another)[0] == 0
    for command in (("fit", out), ("predict", "--records", out, "--size", 1e6)):
        status, _, err = rbpkit(*command)
        assert status == 2 and f"a/another and models/{sizes[1].name} both have S =" in err
    before = digests(out)
    said = rbpkit(*measuring, another, "--family", "ours")[2]
    assert "done before" in said and digests(out) == before
    status, _, err = rbpkit("fit", out, "--k", 100)
    assert status == 0 and "ours on notes.jsonl: 1 models (a/another)" in err


def test_what_failed_is_said_and_measured_by_the_same_command(study, rbpkit, tmp_path):
    broken = shutil.copytree(SMALL, tmp_path / "models" / "broken")
    weights = (broken / "model.safetensors").read_bytes()
    (broken / "model.safetensors").write_bytes(weights[:1000])
    out, absent = tmp_path / "out", tmp_path / "brocken"
    file = study_file(tmp_path, [SMALL, absent], study.corpus_names)
    for options in ((), ("--dry-run",)):
        status, _, err = rbpkit("sweep", file, "--out", out, *options)
        assert status == 2 and f"{absent}: no such folder" in err and not out.exists()

    file = study_file(tmp_path, [broken, MIDDLE], study.corpus_names, max_length=64)
    status, table, counts = rbpkit("sweep", file, "--out", out, "--dry-run")
    assert status == 0 and table.count("left") == 4 and not out.exists()
    assert counts == "4 jobs: 0 done, 4 left\n"
    status, _, err = rbpkit("sweep", file, "--out", out)
    assert status == 1 and "2 jobs done, 2 failed" in err
    assert err.count("failed: ") == 2 and "the model cannot be loaded" in err
    assert len(list(out.rglob("*.parquet"))) == 2
    assert "4 jobs: 2 done, 2 left" in rbpkit("sweep", file, "--out", out, "--dry-run")[2]

    shutil.copy(SMALL / "model.safetensors", broken)
    assert rbpkit("sweep", file, "--out", out)[0] == 0
    assert "4 jobs: 4 done, 0 left" in rbpkit("sweep", file, "--out", out, "--dry-run")[2]


class Panic(BaseException):
    """As that of a library in Rust, which is no Exception."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("a kernel failed\nsecond line"), "RuntimeError: a kernel failed"),
        (ConnectionResetError("by a server"), "ConnectionResetError: by a server"),
        (Panic("in Rust"), "Panic: in Rust"),
        (OSError(errno.ENOSPC, "No space left on device"), None),
    ],
)
def test_a_library_s_error_stops_no_other_job_and_a_full_disk_stops_all(
    study, monkeypatch, tmp_path, error, reason
):
    real = sweeping.measure

    def failing(model, corpus, *arguments, **options):
        if (model.name, corpus.id) == (f"models/{MIDDLE.name}", "one.jsonl"):
            raise error
        return real(model, corpus, *arguments, **options)

    monkeypatch.setattr(sweeping, "measure", failing)
    if reason is None:
        with pytest.raises(OSError, match="No space"):
            sweep(study, tmp_path / "out")
        assert not list(tmp_path.rglob("*.parquet"))
        return
    result = sweep(study, tmp_path / "out")
    assert len(result.measured) == 3 and [*result.failures.values()] == [reason]


@pytest.mark.parametrize("deaths", [1, 2])
def test_jobs_of_a_worker_that_dies_are_tried_once_more_alone(study, monkeypatch, tmp_path, deaths):
    """And it stops no other."""
    deadly, seen = f"models/{MIDDLE.name} on one.jsonl", []

    def mortal(number, function, jobs, *given):
        seen.append([str(job) for job in jobs])
        if deadly in seen[-1] and len([one for one in seen if deadly in one]) <= deaths:
            dead = Future()
            dead.set_exception(BrokenProcessPool())
            return dead
        return in_this_process(number, function, jobs, *given)

    monkeypatch.setattr(sweeping, "in_processes", lambda count: nullcontext(mortal))
    result = sweep(study, tmp_path / "out", workers=2)
    assert [len(jobs) for jobs in seen] == [2, 2, 1, 1] and seen[2] == [deadly]
    assert len(result.measured) + len(result.failures) == 4
    reasons = {str(job): reason for job, reason in result.failures.items()}
    assert ("died twice" in reasons[deadly]) if deaths == 2 else not reasons


@pytest.mark.slow
def test_on_ray_the_numbers_are_the_same(study, monkeypatch, tmp_path):
    pytest.importorskip("ray", reason="needs Ray: pip install 'rbpkit[cluster]'")
    # Limits for busy processors
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", "300")
    monkeypatch.setenv("RAY_worker_register_timeout_seconds", "300")
    monkeypatch.setenv("RAY_agent_register_timeout_ms", "300000")
    assert len(sweep(study, tmp_path / "ray", engine="ray", workers=2).measured) == 4
    sweep(study, tmp_path / "undisturbed", workers=2)
    assert not multiprocessing.active_children()
    assert digests(tmp_path / "ray") == digests(tmp_path / "undisturbed")


def test_without_ray_one_line_says_how_to_install_it(study, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    refused(r"pip install .*cluster", sweep, study, tmp_path, engine="ray")


@pytest.mark.slow
def test_two_sweeps_of_one_folder_end_with_the_same_records(study, tmp_path):
    """A job that both measure is written twice, whole each time."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        sweeps = [pool.submit(sweep, study, tmp_path / "out") for _ in range(2)]
        results = [one.result() for one in sweeps]
    assert all(len(one.measured) == 4 and not one.failures for one in results)
    sweep(study, tmp_path / "undisturbed")
    assert digests(tmp_path / "out") == digests(tmp_path / "undisturbed")


def test_no_two_jobs_have_one_name_and_an_untrained_model_is_refused(study, tmp_path):
    shutil.copytree(SMALL, tmp_path / "models" / SMALL.name)
    ids = (str(SMALL), str(tmp_path / "models" / SMALL.name))
    twice = study.model_copy(update={"model_ids": ids})
    refused(f"two jobs are called 'models/{SMALL.name} on one", plan, twice, tmp_path / "out")
    untrained = study.model_copy(update={"model_ids": ("pocket:pythia-w32-l2-seed7",)})
    refused("rbpkit reproduce", sweep, untrained, tmp_path / "out")
