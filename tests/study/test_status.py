"""What a look at a study says: done, running, failed, waiting, and how long it takes yet."""

from __future__ import annotations

import dataclasses
import json
from functools import partial

import pytest
from conftest import study_file

from rbpkit.cli import sweep as cli_sweep
from rbpkit.pocket import ladders
from rbpkit.records import Records, write_records
from rbpkit.study.jobs import Job
from rbpkit.study.jobstate import claimed, job_stem, remember_failure
from rbpkit.study.params import load_params
from rbpkit.study.status import StudyStatus, duration, study_status
from rbpkit.study.sweep import sweep

SMALL, MIDDLE = (ladders.model_folder("Pythia", size) for size in (0, 1))
TEXT = [f"line {i}: " + "some text, " * i for i in range(1, 7)]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A study of two models on two files, all measured -> (params, records as measured)."""
    folder = tmp_path_factory.mktemp("study")
    files = [folder / f"{name}.jsonl" for name in ("one", "two")]
    for path in files:
        rows = [json.dumps({"text": path.stem + text}) + "\n" for text in TEXT]
        path.write_text("".join(rows))
    params = load_params(study_file(folder, [SMALL, MIDDLE], files, max_length=64))
    result = sweep(params, folder / "out")
    records = {
        Job(one.summary.manifest.model, one.summary.manifest.corpus): Records.load(one.path)
        for one in result.measured
    }
    return params, records


def place(out, records, *, seconds: float) -> None:
    """The records as a finished job that took `seconds`."""
    manifest = records.manifest.model_copy(update={"seconds": seconds})
    write_records(out, dataclasses.replace(records, manifest=manifest))


ONE, TWO = Job(SMALL.name, "one.jsonl"), Job(SMALL.name, "two.jsonl")
THREE, FOUR = Job(MIDDLE.name, "one.jsonl"), Job(MIDDLE.name, "two.jsonl")


def test_each_state(measured, tmp_path):
    params, records = measured
    assert [job.state for job in study_status(params, tmp_path).jobs] == ["waiting"] * 4
    assert not list(tmp_path.iterdir()), "a look writes nothing"
    place(tmp_path, records[ONE], seconds=2.0)
    remember_failure(job_stem(tmp_path, TWO), "the weights are damaged")
    with claimed(job_stem(tmp_path, THREE)):
        now = study_status(params, tmp_path)
    done, failed, running, waiting = now.jobs
    assert (done.state, done.tokens, done.seconds) == ("done", len(records[ONE].target), 2.0)
    assert failed.state == "failed" and failed.note.startswith("the weights are damaged (20")
    assert running.state == "running" and running.note.startswith("process ")
    assert waiting.state == "waiting" and waiting.S > done.S
    assert not now.settled and now.line().startswith("1 of 4 jobs done (")
    assert "1 running, 1 failed, 1 waiting" in now.line()
    # A claim that nobody holds is of a dead process.
    (job_stem(tmp_path, THREE).parent / f".{MIDDLE.name}.claim").write_text("{}")
    assert study_status(params, tmp_path).jobs[2].state == "waiting"


def test_a_measured_study_is_settled(measured, tmp_path):
    params, records = measured
    for one in records.values():
        place(tmp_path, one, seconds=1.0)
    remember_failure(job_stem(tmp_path, ONE), "of an earlier run")  # what is done is done
    now = study_status(params, tmp_path)
    assert now.settled and now.remaining == 0 and now.count("done") == 4
    assert "to go" not in now.line() and now.line().startswith("4 of 4")


def test_the_time_left_is_cost_at_the_speed_seen(measured, tmp_path):
    params, records = measured
    assert study_status(params, tmp_path).remaining is None
    place(tmp_path, records[THREE], seconds=10.0)
    place(tmp_path, records[TWO], seconds=10.0)
    now = study_status(params, tmp_path)
    from rbpkit.study.jobs import model_size

    small, middle = (sum(model_size(str(folder))) for folder in (SMALL, MIDDLE))
    one, two = (len(records[job].target) for job in (THREE, TWO))
    speed = (middle * one + small * two) / 20.0
    assert now.remaining == pytest.approx((small * one + middle * two) / speed)
    with claimed(job_stem(tmp_path, ONE)):  # what has begun just now is still to go
        assert study_status(params, tmp_path).remaining == pytest.approx(now.remaining, abs=2)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"dtype": "float16"}, "dtype was float32, is float16"),
        ({"max_length": 16}, "max_length was 64, is 16"),
        ({"documents": 2}, "documents was 6, is 2"),
        ({"batch_tokens": 7}, "batch_tokens was 8192, is 7"),
        ({"threads": 3}, "threads was 1, is 3"),
        ({"seed": 7}, "seed was 42, is 7"),
        ({"device": "cuda:0"}, "device was cpu, is cuda"),
    ],
)
def test_records_of_other_settings_are_not_done(measured, tmp_path, change, says):
    params, records = measured
    place(tmp_path, records[ONE], seconds=1.0)
    first = study_status(params.model_copy(update=change), tmp_path).jobs[0]
    assert first.state == "waiting" and first.note == f"records of other settings: {says}"
    for device in (None, "auto"):
        same = params.model_copy(update={"threads": 0, "device": device, "max_length": 64})
        assert study_status(same, tmp_path).jobs[0].state == "done"


def test_a_damaged_manifest_is_a_failure_with_the_way_out(measured, tmp_path):
    params, records = measured
    place(tmp_path, records[ONE], seconds=1.0)
    stem = job_stem(tmp_path, ONE)
    (stem.parent / f"{stem.name}.json").write_text("{")
    first = study_status(params, tmp_path).jobs[0]
    assert first.state == "failed" and "delete it and measure again" in first.note


def test_durations_as_people_say_them():
    assert [duration(s) for s in (4.2, 59.9, 61, 3599, 7500)] == [
        *("4.2 s", "59.9 s", "1 min", "1 h 0 min", "2 h 5 min")
    ]


@pytest.fixture
def status_of(rbpkit, measured, tmp_path):
    """Run `rbpkit status` on the study -> (exit status, standard output, standard error)."""
    path = tmp_path / "study.yaml"
    path.write_text(json.dumps(measured[0].model_dump(mode="json")))
    return partial(rbpkit, "status", path, "--out", tmp_path / "out")


def test_the_command_shows_a_table_and_json(status_of, measured, tmp_path):
    place(tmp_path / "out", measured[1][ONE], seconds=2.0)
    status, table, _ = status_of()
    lines = table.splitlines()
    assert status == 0 and len(lines) == 1 + 4 + 1
    assert lines[1].split()[:5] == [
        ONE.model,
        ONE.corpus,
        "25,472",
        "done",
        f"{len(measured[1][ONE].target):,}",
    ]
    status, text, _ = status_of("--json")
    reported = json.loads(text)
    assert status == 0 and (reported["done"], reported["waiting"]) == (1, 3)
    assert reported["jobs"][0]["seconds"] == 2.0 and reported["remaining_seconds"] > 0
    remember_failure(job_stem(tmp_path / "out", TWO), "why")
    status, table, _ = status_of()
    assert status == 1 and "why" in table


def test_watch_looks_until_all_is_settled(status_of, measured, tmp_path, monkeypatch):
    todo = list(measured[1].values())

    def sleep(seconds):
        assert seconds == 3
        place(tmp_path / "out", todo.pop(), seconds=1.0)

    monkeypatch.setattr(cli_sweep.time, "sleep", sleep)
    status, out, _ = status_of("--watch", "--json", "--every", "3")
    looks = [json.loads(line)["done"] for line in out.splitlines()]
    assert status == 0 and looks == [0, 1, 2, 3, 4]


def test_an_empty_study_is_settled():
    assert StudyStatus((), None).settled
