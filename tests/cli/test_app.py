"""The command line as a user meets it: tables, JSON, one-line errors, exit codes."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import COMMAND_LINE, save_model, study_file
from transformers import GPT2Config

from rbpkit.cli import app
from rbpkit.pocket import ladders
from rbpkit.records import Records

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def ladder(tmp_path_factory) -> list[Path]:
    """Three GPT-2 folders of growing width."""
    root = tmp_path_factory.mktemp("ladder")
    shapes = {"small": (16, 1), "middle": (32, 2), "large": (64, 3)}
    return [
        save_model(
            GPT2Config(
                vocab_size=ladders.V, n_embd=width, n_layer=layers, n_head=2, n_positions=64
            ),
            root / name,
        )
        for name, (width, layers) in shapes.items()
    ]


def test_measure_show_fit(rbpkit, ladder, text_file, tmp_path):
    out = tmp_path / "records"
    for folder in ladder:
        status, table, notes = rbpkit(
            *("measure", "--model", folder, "--corpus", text_file, "--field", "text"),
            *("--out", out, "--max-length", 64),
        )
        assert status == 0, notes
        assert folder.name in table and "1 skipped" in notes
    records = Records.load(next(out.rglob("large.parquet")))
    status, table, _ = rbpkit("show", out, "--k", 1, "--k", 500, "--json")
    rows = json.loads(table)
    assert status == 0 and [row["model"] for row in rows] == ["small", "middle", "large"]
    assert rows[2]["RBP_500"] == pytest.approx(records.rbp(500), abs=1e-14)
    assert rows[2]["S"] == records.manifest.S
    status, table, notes = rbpkit("fit", out, "--k", 2000, "--json")
    assert status == 0
    assert {row["quantity"] for row in json.loads(table)} == {"CE", "RBP_2000"}
    assert notes.count("these 3 sizes trust") == 1
    status, _, notes = rbpkit(
        "measure", "--model", ladder[0], "--corpus", text_file, "--out", out, "--max-length", 64
    )
    assert status == 0 and "done before" in notes


def test_too_few_models_is_said(rbpkit, ladder, text_file, tmp_path):
    rbpkit("measure", "--model", ladder[0], "--corpus", text_file, "--out", tmp_path / "r")
    status, out, err = rbpkit("fit", tmp_path / "r")
    assert status == 2 and not out and err.count("\n") == 1 and "nothing could be fitted" in err


def bad_inputs(tmp_path: Path, model: Path, text: Path) -> dict[str, tuple[list, str]]:
    """name -> (arguments, what the line must say)."""
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    bare = tmp_path / "bare"
    bare.mkdir()
    for file in ("config.json", "model.safetensors"):
        (bare / file).write_bytes((model / file).read_bytes())
    out = ["--out", tmp_path / "out"]
    start = ["measure", "--model", model]
    sweep = ["sweep", ROOT / "params" / "paper.yaml", *out]
    shards = ("0/3", "4/3", "1/0", "1", "a/b", "1/2/3", "-1/3", "", "1/99999")
    return {
        **{f"shard {one}": ([*sweep, f"--shard={one}"], "I/N") for one in shards},
        "engine": ([*sweep, "--engine", "spark"], "process, ray"),
        "workers": ([*sweep, "--workers", 2], "--engine ray"),
        "address": ([*sweep, "--address", "auto"], "--engine ray"),
        "no workers": ([*sweep, "--engine", "ray", "--workers", 0], "--workers must be at least 1"),
        "every": (["status", *sweep[1:], "--every", 0], "--every"),
        "missing model": (
            ["measure", "--model", tmp_path / "none", "--corpus", text, *out],
            "no such folder",
        ),
        "no tokenizer": (["measure", "--model", bare, "--corpus", text, *out], "tokenizer"),
        "missing corpus": ([*start, "--corpus", tmp_path / "none.jsonl", *out], "none.jsonl"),
        "misspelt corpus": ([*start, "--corpus", "HumanEvil", *out], "HumanEval"),
        "empty corpus": ([*start, "--corpus", empty, *out], "empty.jsonl"),
        "field": ([*start, "--corpus", text, "--field", "body", *out], "body"),
        "documents": ([*start, "--corpus", text, "--documents", -1, *out], "--documents"),
        "max_length": ([*start, "--corpus", text, "--max-length", 1, *out], "--max-length"),
        "batch_tokens": ([*start, "--corpus", text, "--batch-tokens", 0, *out], "--batch-tokens"),
        "threads": ([*start, "--corpus", text, "--threads", 10**11, *out], "--threads"),
        "out is empty": ([*start, "--corpus", text, "--out", ""], "--out is empty"),
        "dtype": ([*start, "--corpus", text, "--dtype", "int8", *out], "float32"),
        "device": ([*start, "--corpus", text, "--device", "abacus", *out], "abacus"),
        "out is a file": ([*start, "--corpus", text, "--out", text], "is a file"),
        "k": (["show", tmp_path, "--k", 0], "--k must be at least 1"),
        "no records": (["show", tmp_path / "nowhere"], "nowhere"),
        "command": (["mesure"], "measure"),
        "flag": (["measure", "--modle", "x"], "--model"),
        "value": ([*start, "--corpus", text, "--max-length", "many", *out], "--max-length"),
        "format": (
            ["reproduce", ROOT / "params" / "pocket.yaml", "--format", "gif", *out],
            "png, pdf, svg",
        ),
        "params": (["sweep", tmp_path / "none.yaml", *out], "none.yaml"),
        "family": (["pocket", "train", "--family", "pithia", *out], "Pythia"),
        "size": (["pocket", "train", "--family", "pythia", "--size", 99, *out], "99"),
        "no ladder": (["pocket", "train", *out], "--family"),
        "control": (["pocket", "train", "--control", "pythia", *out], "pythia-w64-l8-3m"),
        "both": (["pocket", "train", "--control", "x", "--family", "opt", *out], "--control"),
        "control, size": (
            ["pocket", "train", "--control", "pythia-w64-l2-3m", "--size", 0, *out],
            "leave --size",
        ),
        "control, rate": (
            ["pocket", "train", "--control", "pythia-w64-l2-3m", "--rate", 0.7, *out],
            "leave --size, --tokens, --rate",
        ),
        **{
            f"rate {one}": (
                ["pocket", "train", "--family", "opt", f"--rate={one}", *out],
                "--rate must be a positive number",
            )
            for one in ("0", "-0.7", "nan", "inf")
        },
    }


def test_bad_input_is_one_line_and_leaves_nothing(rbpkit, ladder, text_file, tmp_path):
    cases = bad_inputs(tmp_path, ladder[0], text_file)
    before = sorted(tmp_path.rglob("*"))
    for name, (arguments, says) in cases.items():
        status, out, err = rbpkit(*arguments)
        assert status == 2, f"{name}: {status} {err}"
        assert says in err and err.count("\n") == 1 and not out, f"{name}: {err}"
        assert "Traceback" not in err
        assert sorted(tmp_path.rglob("*")) == before, f"{name} left something"


def test_models_measured_on_different_text_are_not_fitted_together(
    rbpkit, ladder, text_file, tmp_path
):
    out = tmp_path / "records"
    for folder, length in zip(ladder, (64, 64, 30), strict=True):
        rbpkit(
            *("measure", "--model", folder, "--corpus", text_file, "--out", out),
            *("--max-length", length),
        )
    status, _, err = rbpkit("fit", out)
    assert status == 2 and "different max_length" in err
    rbpkit(
        *("measure", "--model", ladder[2], "--corpus", text_file, "--out", out),
        *("--max-length", 64, "--documents", 3),
    )
    status, _, err = rbpkit("fit", out)
    assert status == 2 and "different fingerprint" in err


def test_another_model_of_the_same_name_is_not_written_over(rbpkit, ladder, text_file, tmp_path):
    twin = tmp_path / "elsewhere" / ladder[0].name
    twin.parent.mkdir()
    shutil.copytree(ladder[1], twin)
    measure = ["measure", "--corpus", text_file, "--out", tmp_path / "records", "--model"]
    assert rbpkit(*measure, ladder[0])[0] == 0
    status, _, err = rbpkit(*measure, twin)
    assert status == 2 and "--name" in err and err.count("\n") == 1
    status, table, _ = rbpkit(*measure, twin, "--name", "run2")
    assert status == 0 and "run2" in table
    rows = json.loads(rbpkit("show", tmp_path / "records", "--json")[1])
    assert {row["model"] for row in rows} == {"small", "run2"}


@pytest.mark.parametrize(("twins", "says"), [("models", "rename"), ("corpora", "two corpora")])
def test_two_of_one_name_are_refused(rbpkit, ladder, text_file, tmp_path, twins, says):
    one = {"models": ladder[0], "corpora": text_file}
    twin = tmp_path / "elsewhere" / one[twins].name
    twin.mkdir(parents=True)
    (twin / "text.txt").write_text("some text")
    names = {key: [path, twin] if key == twins else [path] for key, path in one.items()}
    status, _, err = rbpkit("sweep", study_file(tmp_path, **names), "--out", tmp_path / "out")
    assert status == 2 and says in err and not (tmp_path / "out").exists()


def test_a_pocket_corpus_gives_as_many_documents_as_asked(rbpkit, ladder, tmp_path):
    status, table, err = rbpkit(
        *("measure", "--model", ladder[0], "--corpus", "Pocket:Readme", "--documents", 4),
        *("--out", tmp_path / "r", "--json"),
    )
    assert status == 0, err
    assert json.loads(table)[0]["documents"] == 4


@pytest.mark.parametrize(
    ("arguments", "names", "changes"),
    [
        (("--family", "opt"), [run.name for run in ladders.ladder_runs("OPT")], {}),
        (("--family", "OPT", "--size", 1, "--rate", 0.35), ["opt-w48-l4"], {"rate": 0.35}),
        (
            ("--family", "opt", "--size", 0, "--tokens", 100_000),
            ["opt-w32-l2-0.1m"],
            {"tokens": 100_000},
        ),
        (("--control", "pythia-w64-l2-3m"), ["pythia-w64-l2-3m"], None),
    ],
    ids=["ladder", "rate", "tokens", "control"],
)
def test_pocket_train_trains_what_was_asked_for(
    rbpkit, tmp_path, monkeypatch, arguments, names, changes
):
    trained = []
    monkeypatch.setattr(
        "rbpkit.pocket.training.train_runs", lambda runs, *given, **options: trained.extend(runs)
    )
    monkeypatch.setattr("rbpkit.pocket.analysis.save_losses", lambda out: "drawn")
    status, _, err = rbpkit("pocket", "train", *arguments, "--out", tmp_path / "runs")
    assert status == 0 and err == "losses: drawn\n"
    assert [run.name for run in trained] == names
    if changes is not None:
        recipe = dataclasses.replace(ladders.recipe_of("OPT"), **changes)
        assert {run.recipe for run in trained} == {recipe}


def test_no_command_is_help(rbpkit):
    status, out, _ = rbpkit()
    assert status == 0 and "measure" in out and "reproduce" in out


def test_sweep_goes_on_after_a_failure(rbpkit, ladder, text_file, tmp_path):
    models = [ladder[0], tmp_path / "gone", ladder[1]]
    study = study_file(tmp_path, models, [text_file], text_field="text", max_length=64)
    status, _, err = rbpkit("sweep", study, "--out", tmp_path / "out")
    assert status == 1 and "2 jobs done, 1 failed" in err and "gone" in err
    assert len(list((tmp_path / "out").rglob("*.parquet"))) == 2


INTERRUPTED = (
    """
import rbpkit.measuring as module
ranks = module.measured_ranks
def interrupted_ranks(*arguments):
    for number, found in enumerate(ranks(*arguments)):
        print("batch", number, flush=True)
        yield found
module.measured_ranks = interrupted_ranks
"""
    + COMMAND_LINE
)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_interrupt_ends_with_130_and_no_marker(name, ladder, tmp_path):
    """Ctrl-C or a polite kill while it measures: status 130, nothing that says "done"."""
    many = tmp_path / "many.jsonl"
    many.write_text((json.dumps({"text": "word " * 100}) + "\n") * 40_000)
    arguments = ["measure", "--model", ladder[2], "--corpus", many, "--out", tmp_path / "out"]
    arguments += ["--documents", 0, "--batch-tokens", 64]
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *map(str, arguments)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout.readline() == b"batch 0\n", process.stderr.read().decode()
    process.send_signal(getattr(signal, name))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.decode().splitlines() == ["rbpkit: interrupted"]
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("module", "says"),
    [
        ("jupytext", "needs jupytext, which is not installed: pip install 'rbpkit[notebooks]'"),
        ("PIL.Image", "needs pillow, which is not installed: pip install 'rbpkit[notebooks]'"),
    ],
)
def test_a_missing_extra_is_named_in_one_line(rbpkit, monkeypatch, module, says):
    def absent(*arguments, **options):
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    names = ("jupytext>=1", "pillow>=1")
    lines = ["numpy>=2.0", *(f'{one}; extra == "notebooks"' for one in names)]
    monkeypatch.setattr("rbpkit.study.checks.metadata.requires", lambda name: lines)
    monkeypatch.setattr("rbpkit.study.params.load_params", absent)
    status, _, notes = rbpkit("reproduce", ROOT / "params" / "pocket.yaml")
    assert status == 2 and notes == f"rbpkit: this {says}\n"


def test_a_missing_module_of_no_extra_is_a_fault(monkeypatch):
    def absent(*arguments, **options):
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

    monkeypatch.setattr("rbpkit.study.params.load_params", absent)
    monkeypatch.setattr(sys, "argv", ["rbpkit", "reproduce", "params/pocket.yaml"])
    with pytest.raises(ModuleNotFoundError):
        app.main()
