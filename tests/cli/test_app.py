"""The command line as a user meets it: tables, JSON, one-line errors, exit codes."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from conftest import COMMAND_LINE, TEXTS, save_model, study_file
from test_records import make_records
from transformers import GPT2Config

from rbpkit import __version__
from rbpkit.measuring import measure
from rbpkit.records import Records, amend, iter_manifests, write_records
from rbpkit.settings import PlaceSettings
from rbpkit_pocket import families, recipes

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def ladder(tmp_path_factory) -> list[Path]:
    """Three GPT-2 folders of growing width."""
    root = tmp_path_factory.mktemp("ladder")
    shapes = {"small": (16, 1), "middle": (32, 2), "large": (64, 3)}
    return [
        save_model(
            GPT2Config(
                vocab_size=families.V, n_embd=width, n_layer=layers, n_head=2, n_positions=64
            ),
            root / name,
        )
        for name, (width, layers) in shapes.items()
    ]


def test_measure_show_fit(rbpkit, ladder, text_file, tmp_path):
    out = tmp_path / "records"
    small = Path(shutil.copytree(ladder[0], tmp_path / "small"))
    for folder in (small, *ladder[1:]):
        status, table, notes = rbpkit(
            *("measure", "--model", folder, "--corpus", text_file, "--field", "text"),
            *("--out", out, "--max-length", 64),
        )
        assert status == 0, notes
        assert folder.name in table and "1 skipped" in notes
    records = Records.load(next(out.rglob("large.*.parquet")))
    status, table, _ = rbpkit("show", out, "--k", 1, "--k", 500, "--json")
    rows = json.loads(table)
    assert status == 0 and [row["model"] for row in rows] == ["small", "middle", "large"]
    assert rows[2]["RBP_500"] == pytest.approx(records.rbp(500), abs=1e-14)
    assert rows[2]["S"] == records.manifest.S
    settings = {name: rows[2][name] for name in ("dtype", "stride", "revision")}
    revision = records.manifest.revision[:15]
    assert settings == {"dtype": "float32", "stride": 0, "revision": revision}
    found_done = measure(ladder[2], text_file, out, field="text", max_length=64)
    assert found_done.found_done and rows[2]["bits_per_byte"] == found_done.bits_per_byte()
    # As an earlier version left it, which did not count the bytes; measuring again adds them.
    amend(next(job for job in iter_manifests(out) if "large" in str(job.path)), scored_bytes=0)
    assert json.loads(rbpkit("show", out, "--json")[1])[2]["bits_per_byte"] is None
    assert rbpkit("show", out)[0] == 0
    again = measure(ladder[2], text_file, out, field="text", max_length=64)
    assert again.found_done and again.bits_per_byte() == rows[2]["bits_per_byte"]
    status, table, notes = rbpkit("fit", out, "--k", 2000, "--json")
    assert status == 0
    assert {row["quantity"] for row in json.loads(table)} == {"CE", "RBP_2000"}
    assert notes.count("no k can be trusted, because these 3 models do not show") == 1
    common = ["measure", "--corpus", text_file, "--out", out, "--max-length", 64, "--model"]
    status, _, notes = rbpkit(*common, ladder[0])  # a copy of the same weights
    assert status == 0 and "done before" in notes
    config = GPT2Config(vocab_size=families.V, n_embd=16, n_layer=1, n_head=2, n_positions=64)
    save_model(config, small, seed=1)
    status, _, notes = rbpkit(*common, small)  # trained again: another job
    assert status == 0 and "small was measured with other weights before" in notes
    revision = notes.split("--where revision=")[1].split(".")[0]
    status, _, notes = rbpkit("fit", out, "--k", 2000, "--where", f"revision={revision}")
    assert status == 0 and "3 models (small, middle, large)" in notes
    status, _, err = rbpkit("fit", out)
    assert status == 2 and "--where revision=sha256:" in err and "--name" in err
    status, table, _ = rbpkit(*common, small, "--name", "run2")
    assert status == 0 and "run2" in table


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("mesure", "measure"),
        ("measure --modle x", "--model"),
        ("measure --model {model} --corpus {text} --out {out} --max-length many", "--max-length"),
        ("measure --model {tmp}/none --corpus {text} --out {out}", "no such folder"),
        ("measure --model {model} --corpus HumanEvil --out {out}", "HumanEval"),
        ("measure --model {model} --corpus {text} --field body --out {out}", "body"),
        ("measure --model {model} --corpus {text} --documents -1 --out {out}", "--documents"),
        ("measure --model {model} --corpus {text} --dtype int8 --out {out}", "float32"),
        ("measure --model {model} --corpus {text} --device abacus --out {out}", "abacus"),
        ("measure --model {model} --corpus {text} --out {text}", "is a file"),
        ("show {tmp} --k 0", "--k"),
        ("measure --model {model} --corpus {text} --stride 600 --out {out}", "--stride"),
        ("measure --model --corpus {text} --out {out}", "--model"),
        ("measure --model {model} --corpus {text} --dtype bfloat61 --out {out}", "bfloat16"),
        ("show {tmp}/nowhere", "nowhere"),
        ("show {tmp} --where family", "--where family"),
        ("show {tmp} --where famly=Pythia", "did you mean family?"),
        ("show {tmp} --max-length 64", "--where max_length=VALUE"),
        ("sweep {tmp}/none.yaml --out {out}", "none.yaml"),
        ("sweep {params}/paper.yaml --engine spark --out {out}", "ray"),
        ("reproduce {params}/pocket.yaml --format gif --out {out}", "png, pdf, svg"),
        ("pocket train --family pithia --out {out}", "Pythia"),
        ("pocket train --family opt --rate nan --out {out}", "--rate"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    arguments, says, rbpkit, ladder, text_file, tmp_path
):
    places = {"model": ladder[0], "text": text_file, "out": tmp_path / "out", "tmp": tmp_path}
    given = [one.format(params=ROOT / "params", **places) for one in arguments.split()]
    before = sorted(tmp_path.rglob("*"))
    status, out, err = rbpkit(*given)
    assert status == 2 and not out and says in err and err.count("\n") == 1, err
    assert sorted(tmp_path.rglob("*")) == before


NOT_LOADED = """
import sys
from rbpkit.cli.app import main
try:
    main()
finally:
    assert not {unwanted} & sys.modules.keys()
"""

MEASURE = ("measure", "--model", "x", "--corpus", "nosuch", "--out")
SLOW_LIBRARIES = {"torch", "transformers", "datasets", "pandas", "scipy"}
# Arguments, and what they must not load: it takes a part of a second each, torch takes seconds.
STARTS = {
    "help": (["--help"], SLOW_LIBRARIES | {"numpy", "yaml", "pyarrow"}),
    "help of a command": (["measure", "--help"], SLOW_LIBRARIES | {"numpy"}),
    "a corpus": ([*MEASURE, "o"], {"torch", "pandas"}),
    "a dtype": ([*MEASURE, "o", "--dtype", "int8"], SLOW_LIBRARIES),
    "a device": ([*MEASURE, "o", "--device", "abacus"], SLOW_LIBRARIES),
    "a folder": ([*MEASURE, __file__], SLOW_LIBRARIES),
    "show": (["show", "{folder}"], SLOW_LIBRARIES),
}


@pytest.mark.parametrize("start", STARTS)
def test_help_and_a_refusal_load_nothing_slow(start, tmp_path):
    arguments, unwanted = STARTS[start]
    write_records(tmp_path / "records", make_records([5, 1, 2, 9]))
    given = [one.format(folder=tmp_path / "records") for one in arguments]
    code = NOT_LOADED.format(unwanted=unwanted)
    run = subprocess.run([sys.executable, "-c", code, *given], capture_output=True, text=True)
    assert "Traceback" not in run.stderr
    assert run.returncode == (2 if start.startswith("a ") else 0), run.stderr


@pytest.mark.parametrize(
    ("arguments", "names", "changes"),
    [
        (("--family", "opt"), [run.name for run in recipes.runs_of("OPT")], {}),
        (("--family", "OPT", "--size", 1, "--rate", 0.35), ["opt-w48-l4"], {"rate": 0.35}),
        (
            ("--family", "opt", "--size", 0, "--tokens", 100_000),
            ["opt-w32-l2-0.1m"],
            {"tokens": 100_000},
        ),
        (("--ablation", "pythia-w64-l2-3m"), ["pythia-w64-l2-3m"], None),
    ],
    ids=["family", "rate", "tokens", "ablation"],
)
def test_pocket_train_trains_what_was_asked_for(
    rbpkit, tmp_path, monkeypatch, arguments, names, changes
):
    trained = []
    monkeypatch.setattr(
        "rbpkit_pocket.training.train_runs", lambda runs, *given, **options: trained.extend(runs)
    )
    monkeypatch.setattr("rbpkit_pocket.command.save_losses", lambda out: "drawn")
    status, _, err = rbpkit("pocket", "train", *arguments, "--out", tmp_path / "runs")
    assert status == 0 and err == "losses: drawn\n"
    assert [run.name for run in trained] == names
    if changes is not None:
        recipe = dataclasses.replace(recipes.runs_of("OPT")[0].recipe, **changes)
        assert {run.recipe for run in trained} == {recipe}


def test_version_and_short_dtypes(rbpkit, ladder, text_file, tmp_path):
    assert rbpkit("--version")[:2] == (0, f"{__version__}\n")
    asked = ("measure", "--model", ladder[0], "--corpus", text_file, "--out", tmp_path / "out")
    status, table, _ = rbpkit(*asked, "--dtype", "bf16", "--json")
    assert status == 0 and json.loads(table)[0]["dtype"] == "bfloat16"
    assert PlaceSettings.of({"dtype": "fp16"}).dtype == "float16"


def test_no_command_is_help(rbpkit):
    status, out, _ = rbpkit()
    assert status == 0 and "measure" in out and "reproduce" in out


def test_who_only_reads_need_not_be_allowed_to_write(
    rbpkit, ladder, text_file, tmp_path, monkeypatch
):
    """All settings of the file count, for what is measured and for what is done."""
    study = study_file(tmp_path, ladder[:2], [text_file], field="text", max_length=64, stride=32)
    out = tmp_path / "out"
    assert rbpkit("sweep", study, "--out", out)[0] == 0
    assert [file.manifest.stride for file in iter_manifests(out)] == [32, 32]
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    assert rbpkit("status", study, "--out", out)[2] == "2 jobs: 2 done, 0 failed, 0 left\n"
    status, _, err = rbpkit("fit", out, "--figure", tmp_path / "law.png")
    assert status == 2 and err.startswith("rbpkit: --figure ") and "nothing can be written" in err
    assert rbpkit("status", study, "--out", study)[0] == 2


SLOW = (
    """
import time
import rbpkit.measuring as module
def measured_ranks(*arguments):
    print("measuring", flush=True)
    time.sleep(60)
    yield
module.measured_ranks = measured_ranks
"""
    + COMMAND_LINE
)


@pytest.mark.parametrize("name", ["SIGINT", pytest.param("SIGTERM", marks=pytest.mark.slow)])
def test_interrupt_ends_with_130_and_leaves_nothing(name, ladder, text_file, tmp_path):
    """Ctrl-C or a polite kill while it measures: status 130, no file."""
    arguments = ["measure", "--model", ladder[0], "--corpus", text_file, "--out", tmp_path / "out"]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, *map(str, arguments)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdout.readline() == b"measuring\n"
    process.send_signal(getattr(signal, name))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.decode().splitlines() == ["rbpkit: interrupted"]
    files = (path for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert {path.suffix for path in files} <= {".lock"}


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ModuleNotFoundError("No module", name="IPython.display"), "'rbpkit[notebooks]'"),
        (MemoryError(), "out of memory"),
        (ImportError("libtorch.so: failed to map segment from shared object"), "out of memory"),
    ],
)
def test_what_this_machine_lacks_is_one_line(error, says, rbpkit, monkeypatch):
    def lacking(*arguments, **options):
        raise error

    monkeypatch.setattr("rbpkit.study.params.load_params", lacking)
    status, _, notes = rbpkit("reproduce", ROOT / "params" / "pocket.yaml")
    assert status == 2 and notes.count("\n") == 1 and says in notes


def test_a_figure_without_seaborn_names_the_extra(rbpkit, monkeypatch, tmp_path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requires = []  # as an installation has them
    for extra, lines in project["optional-dependencies"].items():
        requires += [f'{line}; extra == "{extra}"' for line in lines]
    monkeypatch.setattr(metadata, "requires", lambda name: requires)
    monkeypatch.delitem(sys.modules, "rbpkit.plots", raising=False)
    monkeypatch.setitem(sys.modules, "seaborn", None)
    status, _, notes = rbpkit("fit", tmp_path, "--figure", tmp_path / "law.png")
    assert status == 2 and notes.count("\n") == 1 and "pip install 'rbpkit[figures]'" in notes


def test_checkpoints_of_runs_from_a_folder_to_a_fit(rbpkit, tmp_path, text_file):
    """runs/*/checkpoint-*: all measured by one command, and the last of each run fitted."""
    runs, out = tmp_path / "runs", tmp_path / "records"
    for name, width in (("small", 16), ("middle", 32), ("large", 64)):
        for step in (20, 100):
            shape = {"n_embd": width, "n_layer": 2, "n_head": 2, "n_positions": 64}
            config = GPT2Config(vocab_size=families.V, **shape)
            save_model(config, runs / name / f"checkpoint-{step}", seed=step)
    folders = sorted(runs.glob("*/checkpoint-*"))
    common = ["--corpus", text_file, "--out", out, "--max-length", 64, "--model"]
    status, table, notes = rbpkit("measure", *common, *folders)
    assert status == 0 and table.count("/checkpoint-100") == table.count("/checkpoint-20") == 3
    status, _, err = rbpkit("fit", out, "--k", 2000)
    assert status == 2 and err.count("\n") == 1
    assert "large has several checkpoints: 20, 100; choose" in err and "--checkpoint last" in err
    for asked, step in (("last", 100), ("20", 20)):
        status, table, notes = rbpkit("fit", out, "--k", 2000, "--checkpoint", asked)
        named = ", ".join(f"{name}/checkpoint-{step}" for name in ("small", "middle", "large"))
        assert status == 0 and f"3 models ({named})" in notes
    assert rbpkit("fit", out, "--checkpoint", "first")[0] == 2
    assert rbpkit("fit", out, "--checkpoint", "7")[0] == 2
    status, table, _ = rbpkit("show", out, "--checkpoint", 20)
    assert status == 0 and table.count("checkpoint-20") == 3 and "checkpoint-100" not in table
    asked = ["--model", "small/checkpoint-20", "--model", runs / "large" / "checkpoint-100"]
    status, table, _ = rbpkit("show", out, *asked)
    assert status == 0 and table.count("checkpoint") == 2
    picture = tmp_path / "law.svg"
    drawn = ("--checkpoint", "last", "--k", 100, "--k", 4096, "--figure", picture)
    status, _, notes = rbpkit("fit", out, *drawn)
    assert status == 0 and "k = 4,096 is at least V = 4,096" in notes
    assert "<svg" in picture.read_text() and "small/checkpoint-100" in (
        picture.with_suffix(".csv").read_text()
    )
    assert rbpkit("fit", out, "--checkpoint", "last", "--figure", "law.jpg")[0] == 2
    # All are looked up first; one that cannot be read does not stop the others.
    status, _, err = rbpkit("measure", *common, folders[0], runs / "smal", "--documents", 3)
    assert status == 2 and err == f"rbpkit: {runs / 'smal'}: no such folder; did you mean small?\n"
    broken = shutil.copytree(folders[0], runs / "broken")
    (broken / "model.safetensors").write_bytes(b"no weights")
    status, table, err = rbpkit("measure", *common, broken, folders[0], "--documents", 3)
    assert status == 1 and "broken: not measured" in err and "1 of 2 models measured" in err
    assert folders[0].parent.name in table
    status, _, err = rbpkit("measure", *common, *folders[:2], "--name", "mine")
    assert status == 2 and "--name and --revision are of one model" in err


def test_runs_of_one_name_from_two_folders_to_a_fit(rbpkit, tmp_path, text_file):
    """Measured by three commands, one of them a sweep; then as an earlier version left them."""
    out, folders = tmp_path / "records", []
    for run, step, width in (("runs/a", 300, 64), ("runs/b", 300, 32), ("runs4/a", 600, 16)):
        shape = {"n_embd": width, "n_layer": 2, "n_head": 2, "n_positions": 64}
        config = GPT2Config(vocab_size=families.V, **shape)
        folders.append(save_model(config, tmp_path / run / f"checkpoint-{step}"))
    one = ["measure", "--corpus", text_file, "--out", out, "--max-length", 64, "--model"]
    assert rbpkit(*one, folders[0])[0] == 0
    measured = measure(folders[1], text_file, out, max_length=64)
    assert measured.summary.manifest.model == "b/checkpoint-300"  # whatever else is there
    study = study_file(tmp_path, folders[2:], [text_file], max_length=64)
    assert rbpkit("sweep", study, "--out", out)[0] == 0

    fit = ("fit", out, "--k", 2000, "--checkpoint", "last")
    status, _, notes = rbpkit(*fit)
    told = "runs4/a/checkpoint-600, b/checkpoint-300, runs/a/checkpoint-300"
    assert status == 0 and f"3 models ({told})" in notes
    status, table, _ = rbpkit("show", out, "--model", folders[2], "--json")
    assert [row["model"] for row in json.loads(table)] == ["runs4/a/checkpoint-600"]
    # No records of a/checkpoint-300 are of this folder.
    status, _, err = rbpkit("show", out, "--model", tmp_path / "runs4/a/checkpoint-300")
    assert status == 2 and "there are b/checkpoint-300, runs/a/checkpoint-300" in err

    for job in iter_manifests(out):
        amend(job, folder="")
    status, table, err = rbpkit(*fit)
    assert status == 2 and not table and err.count("\n") == 1
    assert "a is no single run: a/checkpoint-300 has S = " in err
    status, table, notes = rbpkit(*one, *folders)
    assert status == 0 and notes.count("done before") == 3 and "runs4/a/checkpoint-600" in table
    assert f"3 models ({told})" in rbpkit(*fit)[2]
    # predict and show, too, say what they leave out.
    config.n_embd = 64
    save_model(config, tmp_path / "runs/a/checkpoint-200", seed=3)
    assert rbpkit(*one, tmp_path / "runs/a/checkpoint-200")[0] == 0
    for command in (("predict", "--size", "1e5", "--records", out), ("show", out)):
        status, _, notes = rbpkit(*command, "--checkpoint", "last")
        assert status == 0 and "left out: runs/a/checkpoint-200." in notes


def test_compare_tells_how_the_documents_of_a_file_begin(rbpkit, ladder, text_file, tmp_path):
    """Of a file with an empty document, and of another text."""
    with text_file.open("a") as file:
        file.write('{"text": ""}\n{"text": "\\u001b[31mred, and more of it"}\n')
    out = tmp_path / "records"
    common = ("--corpus", text_file, "--out", out, "--max-length", 64)
    assert rbpkit("measure", "--model", *ladder[:2], *common)[0] == 0
    asked = ("compare", "small", "middle", "--records", out, "--json", "--text")
    status, found, err = rbpkit(*asked, text_file)
    begins = {row["begins"] for row in json.loads(found)["documents"]}
    assert status == 0 and len(begins) == 5, err
    texts = (*TEXTS, "?[31mred, and more of it")
    assert begins <= {" ".join(text.split())[:40] for text in texts}
    text_file.write_text('{"text": "another text"}\n')
    status, _, err = rbpkit(*asked, text_file)
    assert status == 2 and "is not the text that was measured" in err
