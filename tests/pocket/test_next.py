"""The next ladders: how their text is cut and split, which runs come first, how they go on."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest
import torch

from rbpkit.errors import InputError
from rbpkit.pocket import next as next_text
from rbpkit.pocket import next_runs
from rbpkit.pocket.documents import Document
from rbpkit.pocket.families import CONTEXT, Shape
from rbpkit.pocket.ladders import Recipe, Run, load_tokenizer
from rbpkit.pocket.training import Text


def words(number: int, count: int = 60) -> str:
    return " ".join(f"w{number}x{i}" for i in range(count))


def test_one_source_is_on_one_side_in_all_corpora_and_nothing_is_there_twice(monkeypatch):
    monkeypatch.setattr(next_text, "TEST_SHARE", 0.4)
    monkeypatch.setattr(next_text, "VALID_SHARE", 0.2)
    corpora = ("prose", "code", "qa")
    documents = [
        Document(corpus, f"pkg/m{m}.py", f"f{corpus}", words(10 * m + i))
        for m in range(60)
        for i, corpus in enumerate(corpora)
    ]
    # Copies: of a document in another corpus of another module, and inside a longer text of it.
    copies = [
        dataclasses.replace(d, corpus="prose", file=f"copy/{d.file}", text=d.text + " more")
        for d in documents
        if d.corpus == "code"
    ]
    longer = [
        Document("code", f"long/{d.file}", d.name, f"{words(7000 + i, 500)} {d.text}")
        for i, d in enumerate(documents)
        if d.corpus == "qa"
    ]
    split = next_text.split_documents([*documents, *copies, *longer])
    side = {d: s for s, ds in split.documents.items() for d in ds}
    for one in {d.file for d in side}:
        assert len({s for d, s in side.items() if d.file == one}) == 1
    assert split.near_duplicates == len(copies)
    held = [d for s in ("test", "valid") for d in split.documents[s] if d.corpus == "qa"]
    train = " ".join(d.text for d in split.documents["train"])
    assert held and all(d.text not in train for d in held)
    gone = [d for d in documents if d not in side and d.corpus == "qa"]
    assert len(gone) == split.mostly_seen > 0
    assert all(d.text in train and next_text.split_of(d) != "train" for d in gone)


# --- runs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({}, [1.0, 0.5, 2.0]),
        ({1.0: 4.0}, [0.5, 2.0]),
        ({1.0: 4.0, 0.5: 4.1, 2.0: 4.2}, []),
        ({1.0: 4.0, 0.5: 3.9, 2.0: 4.2}, [0.25]),
        ({1.0: 4.0, 0.5: 4.1, 2.0: 3.9}, [4.0]),
        ({1.0: 4.0, 0.5: 4.1, 2.0: 3.9, 4.0: float("inf")}, []),
    ],
)
def test_a_bracket_grows_until_the_best_lies_inside(found, expected):
    assert next_runs.still_to_try(1.0, found) == expected


def finish(out, run: Run, valid_ce: float) -> None:
    (out / run.name).mkdir(parents=True)
    (out / run.name / "result.json").write_text(json.dumps({"valid_ce": valid_ce}))


def test_rates_come_first_then_pythia_and_each_family_when_its_rate_is_known(tmp_path):
    first = list(next_runs.pending(tmp_path))
    assert all(run.name.startswith("rate-") for run in first)
    assert len(first) == 3 * 2 * 5 and len({run.name for run in first}) == 30
    assert {run.recipe.tokens for run in first} == {1_500_000}
    for width, ces in {32: (4.0, 4.1, 4.2), 64: (4.0, 4.2, 4.1)}.items():
        for c, ce in zip((0.7, 0.35, 1.4), ces, strict=True):
            finish(tmp_path, next_runs.rate_run("Pythia", width, c), ce)
    assert next_runs.rate_of(tmp_path, "Pythia") == 0.7
    assert next_runs.rate_of(tmp_path, "OPT") is None
    grid = [run for run in next_runs.pending(tmp_path) if not run.name.startswith("rate-")]
    assert len(grid) == 6 * 4 + 2 and {run.family for run in grid} == {"Pythia"}
    assert {run.recipe.rate for run in grid} == {0.7}
    assert grid[0].name == "pythia-w32-l2-1.5m" and grid[-1].name == "pythia-w192-l7-12m"
    finish(tmp_path, grid[0], 4.0)
    assert grid[0].name not in [run.name for run in next_runs.pending(tmp_path)]


def test_the_rate_is_between_the_two_best(tmp_path):
    for width, best in {32: 0.7, 64: 1.4}.items():
        for c in (0.35, 0.7, 1.4, 2.8):
            run = next_runs.rate_run("Pythia", width, c)
            finish(tmp_path, run, 4.0 if c == best else 5.0)
    assert next_runs.rate_of(tmp_path, "Pythia") == pytest.approx(0.98995, rel=1e-4)


def test_ladders_span_what_they_are_to_span():
    from rbpkit.models import non_embedding_parameters
    from rbpkit.pocket.configs import initial_model

    assert {f: len(shapes) for f, shapes in next_runs.LADDERS_NEXT.items()} == {
        "Pythia": 8, "GPT2": 5, "OPT": 6, "Qwen": 6, "Mamba": 5,
    }  # fmt: skip
    ends = [initial_model("Pythia", next_runs.LADDERS_NEXT["Pythia"][i], 0) for i in (0, -1)]
    small, large = map(non_embedding_parameters, ends)
    assert small < 26_000 and large > 3_000_000


def test_work_goes_on_where_it_stopped_and_passes_over_what_another_does(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    stream = torch.from_numpy(rng.integers(0, 4096, size=16 * CONTEXT + 1))
    text = Text(stream, stream[: 2 * CONTEXT + 1], load_tokenizer())
    monkeypatch.setattr(next_runs, "text_of", lambda out: text)
    recipe = Recipe(tokens=16 * CONTEXT, batch_rows=2, rate=0.7)
    runs = [Run(f"rate-tiny-c{i}", "Pythia", Shape(32, 1, 1), recipe) for i in range(3)]
    runs[2] = dataclasses.replace(runs[2], recipe=dataclasses.replace(recipe, rate=1e30))
    monkeypatch.setattr(
        next_runs,
        "pending",
        lambda out: [r for r in runs if not (out / r.name / "result.json").is_file()],
    )
    said: list[str] = []
    with next_runs.claimed(tmp_path / runs[0].name) as mine:
        assert mine
        with next_runs.claimed(tmp_path / runs[0].name) as again:
            assert not again
        next_runs.work(tmp_path, most=1, say=said.append)
    assert re.fullmatch(r"rate-tiny-c1: validation CE \d\.\d{4} nats, \d\.\d min", said[0])
    next_runs.work(tmp_path, say=said.append)
    assert [line.split(":")[0] for line in said] == [runs[i].name for i in (1, 0, 2)]
    assert said[-1].endswith("diverged")
    assert json.loads((tmp_path / runs[2].name / "result.json").read_text())["valid_ce"] == np.inf
    next_runs.work(tmp_path, say=said.append)
    assert len(said) == 3
    wrong = dataclasses.replace(runs[0], name="ladder", recipe=runs[2].recipe)
    monkeypatch.setattr(next_runs, "pending", lambda out: [wrong])
    with pytest.raises(InputError, match="diverged"):
        next_runs.work(tmp_path)


def test_what_was_harvested_and_put_back_is_harvested_alike(tmp_path, monkeypatch):
    root, out, back = tmp_path / "kept", tmp_path / "out", tmp_path / "back"
    monkeypatch.setattr(next_text, "next_root", lambda: root)
    measured: dict[str, list[str]] = {}

    def measure_models(runs, totals, say):
        measured[totals.name] = [run.name for run in runs]

    monkeypatch.setattr(next_runs, "measure_models", measure_models)
    root.mkdir()
    shape = next_runs.shape_of("Pythia", 32)
    for i, run in enumerate(
        [
            *(next_runs.rate_run("Pythia", 32, c) for c in (0.35, 0.7, 1.4)),
            next_runs.ladder_run("Pythia", shape, 1_500_000, 0.7),
            next_runs.ladder_run("Pythia", shape, 12_000_000, 0.7),
            next_runs.ladder_run("GPT2", next_runs.shape_of("GPT2", 32), 12_000_000, 0.175),
        ]
    ):
        (out / run.name / "model").mkdir(parents=True)
        for file in ("config.json", "model.safetensors"):
            (out / run.name / "model" / file).write_text(f"{file} of {run.name}")
        key = {"family": "Pythia", "width": 32, "layers": 2, "rate": run.recipe.rate}
        result = {"valid_ce": float("inf") if i == 2 else 5.0 - i, "key": key}
        (out / run.name / "result.json").write_text(json.dumps(result))
        logged = f"20,81920,0.01,6.0,,900,9.0\n40,163840,0.01,5.5,{5.1 - i},900,18.0\n" * (i != 2)
        header = "step,tokens,rate,loss,valid_ce,tokens_per_second,seconds\n"
        (out / run.name / "log.csv").write_text(header + logged)

    def kept():
        return {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()}

    next_runs.harvest(out)
    first = kept()
    # Log and result of each model, the weights and the config of the longer ones, the search.
    assert len(first) == 11 and len([path for path in first if path.suffix == ".safetensors"]) == 2
    assert {name: sorted(runs) for name, runs in measured.items()} == {
        "grid.jsonl.gz": ["pythia-w32-l2-1.5m", "pythia-w32-l2-12m"],
        "totals.jsonl.gz": ["gpt2-w32-l2-12m"],
    }
    next_runs.restore(back)
    found = next_runs.validation_ces(back, "Pythia", 32)
    assert found == {0.35: 5.0, 0.7: 4.0, 1.4: float("inf")}
    assert {r.name for r in next_runs.pending(back)}.isdisjoint(p.name for p in out.iterdir())
    next_runs.harvest(back)
    assert kept() == first
