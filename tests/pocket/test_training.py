"""Training: the recipe, the tokens, the loss, the run that is killed and goes on, and shipping."""

import csv
import dataclasses
import json
import math
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from torch.nn import functional as F
from transformers import AutoModelForCausalLM

from rbpkit.corpora import load_corpus
from rbpkit.errors import InputError
from rbpkit.models import load_model
from rbpkit_pocket import families, paths, recipes, shipping, training
from rbpkit_pocket.ablations import load_totals
from rbpkit_pocket.documents import PocketDocuments, load_pocket_documents
from rbpkit_pocket.families import POCKET_CONTEXT, SHAPES, Shape, V
from rbpkit_pocket.recipes import Recipe
from rbpkit_pocket.training import (
    HEAD_ROWS,
    HeadLoss,
    train,
    train_runs,
    validation_ce,
)

SHAPE = Shape(32, 2, 1)
STEPS = 38  # the last step is no multiple of LOG_EVERY
TINY = Recipe(tokens=2 * POCKET_CONTEXT * STEPS, batch_rows=2)
LOG_EVERY = 4


@pytest.fixture(autouse=True)
def torch_as_it_was():
    deterministic = torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    yield
    torch.use_deterministic_algorithms(deterministic)


# --- recipe, tokens, loss --------------------------------------------------------------------


def test_rate_warms_up_and_falls_to_zero():
    recipe = Recipe(tokens=100 * 4096, warmup=0.1, rate=64.0)  # 100 steps
    up, down = [(step + 1) / 10 for step in range(10)], [1 - step / 90 for step in range(91)]
    rates = [recipe.rate_at(step, 64) for step in range(101)]
    assert rates == pytest.approx([*up, *down])  # zero one step after the last


def test_the_stream_is_all_documents_shuffled_each_with_an_end(monkeypatch):
    missing = {}

    def load(corpus, split):
        texts = tuple(f"{split} {corpus} number {i}" for i in range(20))
        return PocketDocuments(texts, ("a.py",) * len(texts), "", "", missing.get(corpus, 0))

    monkeypatch.setattr(training, "load_pocket_documents", load)
    stream = training.token_stream.__wrapped__("valid")
    decoded = families.load_tokenizer().decode(stream.tolist())
    *documents, after = decoded.split(families.END_OF_TEXT)
    in_order = []
    for corpus in training.PACKAGE_CORPORA:
        in_order += load(corpus, "valid").documents
    assert after == "" and sorted(documents) == sorted(in_order) and documents != in_order
    missing["code"] = 3
    with pytest.raises(InputError, match=r"^3 documents of pocket:code \(train\) are not in .*"):
        training.token_stream.__wrapped__("train")


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [1, HEAD_ROWS, 2 * HEAD_ROWS + 37])
def test_head_loss_and_its_gradients_are_those_of_cross_entropy(rows, smoothing):
    generator = torch.Generator().manual_seed(rows)
    options = {"generator": generator, "dtype": torch.float64}
    hidden, weight = torch.randn(rows, 12, **options), torch.randn(50, 12, **options)
    targets = torch.randint(50, (rows,), generator=generator)
    results = []
    smoothed = partial(F.cross_entropy, label_smoothing=smoothing)
    for loss_of in (HeadLoss.apply, lambda h, w, t, _: smoothed(h @ w.T, t)):
        h, w = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
        loss = loss_of(h, w, targets, smoothing)
        (3 * loss).backward()  # a gradient that is not 1 must come through
        results.append((loss.detach(), h.grad, w.grad))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)


# --- the run ---------------------------------------------------------------------------------


def synthetic_stream(tokens: int, seed: int) -> torch.Tensor:
    """A stream that a model can learn a little of: a few tokens, one often after another."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randint(1, 60, (tokens,), generator=generator)
    return torch.where(noise > 40, noise, torch.arange(tokens) % 7 + 1)


STREAMS = {
    "train": synthetic_stream(
        STEPS * 2 * POCKET_CONTEXT + 1, seed=0
    ),  # not a token more than needed
    "valid": synthetic_stream(3 * POCKET_CONTEXT + 1, seed=1),
}

# Logs at 20, after its last checkpoint at 16, then hangs until it is killed.
KILLED_RUN = """
import sys, time
from pathlib import Path
sys.path[:0] = [sys.argv[1], str(Path(sys.argv[1]).parent)]
import test_training as here
from rbpkit_pocket import training
training.token_stream = here.STREAMS.get
training.LOG_EVERY = here.LOG_EVERY
training.CHECKPOINT_SECONDS = 0.0
def watch(row):
    if row["step"] == 20:
        time.sleep(600)
training.train("Pythia", here.SHAPE, here.TINY, Path(sys.argv[2]), watch=watch)
"""


@pytest.fixture
def tiny_run(monkeypatch):
    monkeypatch.setattr(training, "token_stream", STREAMS.get)
    monkeypatch.setattr(training, "LOG_EVERY", LOG_EVERY)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A finished run that nothing disturbed: (its folder, what it said, its result)."""
    folder, seen = tmp_path_factory.mktemp("runs") / "undisturbed", []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "token_stream", STREAMS.get)
        patch.setattr(training, "LOG_EVERY", LOG_EVERY)
        result = train("Pythia", SHAPE, TINY, folder, watch=seen.append)
    return folder, seen, result


def log_of(folder: Path) -> list[dict[str, str]]:
    with open(folder / "log.csv", newline="") as handle:
        return list(csv.DictReader(handle))


def untimed(folder: Path) -> list[dict[str, str]]:
    timed = ("tokens_per_second", "seconds")
    rows = log_of(folder)
    for row in rows:
        for column in timed:
            del row[column]
    return rows


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.is_file()}


def test_a_run_learns_and_writes_its_log(undisturbed):
    folder, seen, result = undisturbed
    rows = log_of(folder)
    columns = ("step", "tokens", "rate", "loss", "valid_ce", "tokens_per_second", "seconds")
    assert tuple(rows[0]) == columns
    assert [int(row["step"]) for row in rows] == [*range(LOG_EVERY, STEPS, LOG_EVERY), STEPS]
    for row in rows:
        assert int(row["tokens"]) == int(row["step"]) * 2 * POCKET_CONTEXT
        assert float(row["rate"]) == pytest.approx(TINY.rate_at(int(row["step"]) - 1, 32), rel=1e-5)
    losses = [float(row["loss"]) for row in rows]
    assert losses[-1] + 1 < losses[0] < math.log(V) + 0.5
    validated = [float(row["valid_ce"]) for row in rows if row["valid_ce"]]
    assert len(validated) >= training.VALIDATIONS
    assert validated[-1] < validated[0] - 1
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)
    for told, logged in zip(seen, rows, strict=True):
        assert {name: str(value) for name, value in told.items()} == logged
    assert result.train_loss == losses[-1]


def test_a_run_ends_with_a_model_folder_in_half_precision(undisturbed):
    folder, _, result = undisturbed
    assert result.folder == folder / "model"
    with safe_open(result.folder / "model.safetensors", framework="pt") as file:
        assert {file.get_tensor(name).dtype for name in file.keys()} == {torch.float16}
    model = AutoModelForCausalLM.from_pretrained(result.folder, dtype=torch.float32)
    # The number of the weights as shipped: the rounded ones.
    assert validation_ce(model, STREAMS["valid"]) == pytest.approx(result.valid_ce, rel=1e-6)
    assert result.valid_ce == pytest.approx(float(log_of(folder)[-1]["valid_ce"]), abs=1e-3)
    weights = torch.load(folder / "checkpoint.pt")["model"]
    for name, parameter in model.named_parameters():
        assert torch.equal(weights[name].half().float(), parameter), name
    loaded = load_model(result.folder, device="cpu")  # with its tokenizer
    assert (loaded.V, loaded.context, loaded.S) == (V, POCKET_CONTEXT, 25_472)
    stored = json.loads((folder / "result.json").read_text())
    expected = {"family": "Pythia", "width": 32, "layers": 2, "heads": 1}
    expected.update(json.loads(json.dumps(dataclasses.asdict(TINY))))
    key = stored.pop("key")
    assert len(key.pop("text")) == 64
    assert key == {**expected, "torch": torch.__version__, "device": "cpu"}
    assert stored == {**dataclasses.asdict(result), "folder": "model"}


def test_a_killed_run_goes_on_to_the_same_bytes(undisturbed, tiny_run, tmp_path):
    expected, _, result = undisturbed
    folder, script = tmp_path / "killed", tmp_path / "run.py"
    script.write_text(KILLED_RUN)
    command = [sys.executable, str(script), str(Path(__file__).parent), str(folder)]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + 120
        while not (folder / "log.csv").is_file() or "\n20," not in (folder / "log.csv").read_text():
            assert process.poll() is None, process.stderr.read().decode()
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    assert process.returncode < 0
    assert not (folder / "result.json").exists()
    assert [int(row["step"]) for row in log_of(folder)] == [4, 8, 12, 16, 20]
    # What a kill in the middle of writing leaves behind.
    (folder / "checkpoint.pt.tmp").write_bytes(b"half a checkpoint")

    seen = []
    resumed = train("Pythia", SHAPE, TINY, folder, watch=seen.append)
    assert [row["step"] for row in seen] == [20, 24, 28, 32, 36, 38]  # gone on, not begun again
    assert contents(folder / "model") == contents(expected / "model")
    assert untimed(folder) == untimed(expected)
    assert (resumed.valid_ce, resumed.train_loss) == (result.valid_ce, result.train_loss)
    seconds = [float(row["seconds"]) for row in log_of(folder)]
    assert seconds == sorted(seconds)  # counted on from the checkpoint
    state, same = (torch.load(f / "checkpoint.pt") for f in (folder, expected))
    for part in ("model", "optimizer"):
        torch.testing.assert_close(state[part], same[part], rtol=0, atol=0)


def test_mamba_that_is_interrupted_goes_on_to_the_same_bytes(tiny_run, tmp_path):
    def stop(row):
        if row["step"] == 8:
            raise InterruptedError

    given = "Mamba", Shape(32, 2, 0), dataclasses.replace(TINY, tokens=2 * POCKET_CONTEXT * 14)
    train(*given, tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(InterruptedError):
        patch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
        train(*given, tmp_path / "halved", watch=stop)
    seen = []
    train(*given, tmp_path / "halved", watch=seen.append)
    assert [row["step"] for row in seen] == [8, 12, 14]
    assert contents(tmp_path / "halved" / "model") == contents(tmp_path / "whole" / "model")


@pytest.fixture
def copied(undisturbed, tiny_run, tmp_path) -> Path:
    """The folder of a copy of the finished run."""
    return shutil.copytree(undisturbed[0], tmp_path / "copied")


def test_a_finished_run_is_not_trained_again(undisturbed, copied):
    seen, before = [], {**contents(copied), **contents(copied / "model")}
    again = train("Pythia", SHAPE, TINY, copied, watch=seen.append)
    assert not seen
    assert {**contents(copied), **contents(copied / "model")} == before
    assert again == dataclasses.replace(undisturbed[2], folder=copied / "model")


def test_a_checkpoint_of_another_recipe_is_refused(copied):
    before = contents(copied)
    with pytest.raises(InputError, match=r"checkpoint\.pt was made by another recipe"):
        train("Pythia", SHAPE, dataclasses.replace(TINY, seed=1), copied)
    assert contents(copied) == before


def test_a_damaged_checkpoint_is_an_error_with_the_way_out(copied):
    (copied / "result.json").unlink()
    path = copied / "checkpoint.pt"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(InputError, match=r": damaged; remove it and train again \(") as caught:
        train("Pythia", SHAPE, TINY, copied)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)


def test_a_run_ships_with_card_loss_curve_and_totals(copied, text_file, tmp_path, monkeypatch):
    data, run = tmp_path / "data", copied.rename(tmp_path / "pythia-w32-l2")
    (data / "runs").mkdir(parents=True)
    for name in ("MODELS", "RUNS", "GRID", "PAIR_TOKENS", "OTHER_TOKENS", "COPYING"):
        monkeypatch.setattr(paths, name, data / getattr(paths, name).relative_to(paths.DATA))
    for _ in range(2):  # the second time replaces the first
        shipping.ship_run(run, [load_corpus(text_file)])
    folder = data / "models" / "pythia-w32-l2"
    assert {path.name for path in folder.iterdir()} == {*shipping.SHIPPED, "README.md"}
    for name in shipping.SHIPPED:
        assert (folder / name).read_bytes() == (run / "model" / name).read_bytes()
    valid_ce = json.loads((run / "result.json").read_text())["valid_ce"]
    card = (folder / "README.md").read_text()
    for says in (f"{valid_ce:.4f} nats", f"tokens: {TINY.tokens}", "S = 25,472"):
        assert says in card
    log = (data / "runs" / "pythia-w32-l2.csv").read_bytes()
    assert log == (run / "log.csv").read_bytes()
    (whole,) = load_totals(paths.GRID)
    assert whole.manifest.model == "pythia-w32-l2-0.019456m"
    pairs, others = (
        load_totals(paths.PAIR_TOKENS if kind else paths.OTHER_TOKENS) for kind in (True, False)
    )
    assert pairs[0].plus(others[0]).hits == whole.hits


@pytest.mark.slow
@pytest.mark.parametrize("family", SHAPES)
def test_training_the_smallest_again_gives_the_shipped_loss(family, tmp_path):
    """`rbpkit pocket train --family F --size 0`: 7 to 17 minutes on one core."""
    for corpus in training.PACKAGE_CORPORA:
        for split in ("train", "valid"):
            if not load_pocket_documents(corpus, split).as_shipped:
                pytest.skip(f"needs the pinned packages: the text of {corpus}, {split} differs")
    (trained,) = train_runs(recipes.runs_of(family)[:1], tmp_path)
    shipped = AutoModelForCausalLM.from_pretrained(
        families.model_folder(family, 0), dtype=torch.float32
    )
    expected = validation_ce(shipped, training.token_stream("valid"))
    assert trained.valid_ce == pytest.approx(expected, abs=0.01)
