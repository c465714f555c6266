"""The command line as a user meets it: tables, JSON, one-line errors, exit codes."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from conftest import content, save_model
from transformers import GPT2Config

from rbpkit import Records, measure
from rbpkit_pocket import families


def gpt2(folder: Path, width: int, layers: int = 2, seed: int = 0) -> Path:
    """A GPT-2 of this shape in this folder."""
    shape = {"n_embd": width, "n_layer": layers, "n_head": 2, "n_positions": 64}
    return save_model(GPT2Config(vocab_size=families.V, **shape), folder, seed=seed)


@pytest.fixture(scope="session")
def ladder(tmp_path_factory) -> list[Path]:
    """Three GPT-2 folders of growing width."""
    root = tmp_path_factory.mktemp("ladder") / "sizes"
    return [
        gpt2(root / "small", 16, layers=1),
        gpt2(root / "middle", 32, layers=2),
        gpt2(root / "large", 64, layers=3),
    ]


@pytest.fixture
def measuring(text_file, tmp_path) -> list:
    """The beginning of a command that measures models, whose folders follow."""
    out = tmp_path / "records"
    return ["measure", "--corpus", text_file, "--out", out, "--max-length", 64, "--model"]


def test_measure_show_fit(rbpkit, ladder, measuring, text_file, tmp_path):
    out = tmp_path / "records"
    status, table, notes = rbpkit(*measuring, *ladder)
    assert status == 0 and "1 document(s) with nothing to score" in notes
    assert all(f"sizes/{folder.name}" in table for folder in ladder)
    records = Records.load(next(out.rglob("*large.*.parquet")))
    status, table, notes = rbpkit("show", out, "--k", 1, "--k", 500, "--format", "json")
    assert "few documents or units" in notes
    *_, large = rows = json.loads(table)
    assert status == 0 and [row["model"] for row in rows] == [
        "sizes/small",
        "sizes/middle",
        "sizes/large",
    ]
    assert large["RBP_500"] == pytest.approx(records.summary.rbp(500), abs=1e-14)
    assert (large["S"], large["dtype"], large["stride"]) == (records.manifest.S, "float32", 0)
    found_done = measure(ladder[2], text_file, out, max_length=64)
    assert found_done.found_done and large["bits_per_byte"] == found_done.summary.bits_per_byte()
    status, table, _ = rbpkit("fit", out, "--k", 2000, "--format", "json")
    assert status == 0
    assert {row["quantity"] for row in json.loads(table)} == {"CE", "RBP_2000"}
    assert all(
        "alpha may be 0; few models (3); few doc" in row["note"] for row in json.loads(table)
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("measure --model {model} --corpus {text} --out {out} --max-length many", "--max-length"),
        ("measure --model {model} --corpus HumanEvil --out {out}", "HumanEval"),
        ("measure --model {model} --corpus {text} --device abacus --out {out}", "abacus"),
        ("measure --model {model} --corpus {text} --out {text}", "File exists"),
        ("pocket train --family pithia --out {out}", "Pythia"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    arguments, says, rbpkit, ladder, text_file, tmp_path
):
    places = {"model": ladder[0], "text": text_file, "out": tmp_path / "out"}
    given = [one.format(**places) for one in arguments.split()]
    before = content(tmp_path)
    status, out, err = rbpkit(*given)
    assert status == 2 and not out and says in err and err.count("\n") == 1, err
    assert content(tmp_path) == before


def test_pocket_train_trains_what_was_asked_for(rbpkit, tmp_path, monkeypatch):
    trained = []

    def train_runs(runs, *_, **__):
        trained.extend(runs)

    monkeypatch.setattr("rbpkit_pocket.training.train_runs", train_runs)
    command = ("pocket", "train", "--out", tmp_path / "runs")
    assert rbpkit(*command, "--family", "opt", "--size", 1, "--rate", 0.35)[0] == 0
    status, _, err = rbpkit(*command, "--ablation", "pythia-w64-l2-3m")
    assert status == 0 and not err
    assert [run.name for run in trained] == ["opt-w48-l4", "pythia-w64-l2-3m"]
    assert trained[0].recipe.rate == 0.35


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_with_130_and_leaves_nothing(
    number, rbpkit, ladder, measuring, tmp_path, monkeypatch
):
    """Ctrl-C or a polite kill while it measures: status 130, no file."""

    def struck(*_):
        os.kill(os.getpid(), number)

    monkeypatch.setattr("rbpkit.measuring.rank_columns", struck)
    assert rbpkit(*measuring, ladder[0]) == (130, "", "rbpkit: interrupted\n")
    assert not any(path.is_file() for path in (tmp_path / "records").rglob("*"))


def test_one_model_that_cannot_be_read_does_not_stop_the_others(rbpkit, ladder, measuring):
    small, middle, _ = ladder
    absent = small.with_name("smal")
    broken = shutil.copytree(small, small.with_name("broken"), dirs_exist_ok=True)
    (broken / "model.safetensors").write_bytes(b"no weights")
    status, table, err = rbpkit(*measuring, broken, middle, absent)
    assert err.startswith(f"{absent}: not measured: ")  # all are looked up first
    assert status == 1 and "sizes/broken: not measured" in err and "1 of 3 models measured" in err
    assert "middle" in table
    status, _, err = rbpkit(*measuring, absent)
    assert status == 2 and err.startswith(f"rbpkit: {absent}: no such folder")


def test_checkpoints_of_runs_from_two_folders_to_a_fit(rbpkit, tmp_path, measuring):
    """The last checkpoints are fitted; what is left out is said."""
    out = tmp_path / "records"
    folders = [
        gpt2(tmp_path / "runs/a/checkpoint-200", 64, seed=3),
        gpt2(tmp_path / "runs/a/checkpoint-300", 64),
        gpt2(tmp_path / "runs/b/checkpoint-300", 32),
        gpt2(tmp_path / "runs4/c/checkpoint-600", 16),
    ]
    assert rbpkit(*measuring, *folders)[0] == 0
    status, _, err = rbpkit("fit", out, "--k", 2000)
    assert status == 2 and err.count("\n") == 1
    assert "a/checkpoint-200, a/checkpoint-300" in err and "--checkpoint last" in err
    picture = tmp_path / "law.svg"
    last = ("--checkpoint", "last")
    asked = ("fit", out, *last, "--k", 2000, "--k", 4096, "--figure", picture)
    status, _, notes = rbpkit(*asked)
    told = "c/checkpoint-600, b/checkpoint-300, a/checkpoint-300"
    assert status == 0 and f"3 models ({told})" in notes
    assert "<svg" in picture.read_text()
    assert "c/checkpoint-600" in picture.with_suffix(".csv").read_text()
    for command in (("predict", "--size", "1e5", "--records", out), ("show", out)):
        status, _, notes = rbpkit(*command, *last)
        assert status == 0 and "left out: a/checkpoint-200." in notes
    status, _, err = rbpkit("show", out, "--where", "famly=GPT2")
    assert status == 2 and err.startswith("rbpkit: famly: no setting; there are")
