"""Training: the recipe, the tokens, the loss, the run that is killed and goes on, and shipping."""

import dataclasses
import json
import math
import shutil
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
import torch
from conftest import content, refused
from safetensors import safe_open
from torch.nn import functional as F
from transformers import AutoModelForCausalLM

from rbpkit.models import load_model
from rbpkit_pocket import families, recipes, training
from rbpkit_pocket.documents import PocketDocuments, load_pocket_documents
from rbpkit_pocket.families import POCKET_CONTEXT, SHAPES, Shape, V
from rbpkit_pocket.recipes import Recipe
from rbpkit_pocket.training import HEAD_ROWS, HeadLoss, train, train_runs, validation_ce

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
    refused(r"3 documents of pocket:code \(train\)", training.token_stream.__wrapped__, "train")


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
    "train": synthetic_stream(TINY.tokens + 1, seed=0),  # not a token more than needed
    "valid": synthetic_stream(3 * POCKET_CONTEXT + 1, seed=1),
}


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


def log_of(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "log.csv")


def test_a_run_learns_and_writes_its_log(undisturbed):
    folder, seen, result = undisturbed
    log = log_of(folder)
    assert log["step"].tolist() == [*range(LOG_EVERY, STEPS, LOG_EVERY), STEPS]
    assert (log["tokens"] == log["step"] * 2 * POCKET_CONTEXT).all()
    rates = [TINY.rate_at(step - 1, 32) for step in log["step"]]
    assert log["rate"].tolist() == pytest.approx(rates, rel=1e-5)
    losses, validated = log["loss"].tolist(), log["valid_ce"].dropna().tolist()
    assert losses[-1] + 1 < losses[0] < math.log(V) + 0.5
    assert len(validated) >= training.VALIDATIONS and validated[-1] < validated[0] - 1
    assert log["seconds"].is_monotonic_increasing
    assert [float(row["loss"]) for row in seen] == losses and result.train_loss == losses[-1]


def test_a_run_ends_with_a_model_folder_in_half_precision(undisturbed):
    folder, _, result = undisturbed
    with safe_open(result.folder / "model.safetensors", framework="pt") as file:
        assert {file.get_tensor(name).dtype for name in file.keys()} == {torch.float16}
    model = AutoModelForCausalLM.from_pretrained(result.folder, dtype=torch.float32)
    # The number of the weights as shipped: the rounded ones.
    assert validation_ce(model, STREAMS["valid"]) == pytest.approx(result.valid_ce, rel=1e-6)
    weights = torch.load(folder / "checkpoint.pt")["model"]
    for name, parameter in model.named_parameters():
        assert torch.equal(weights[name].half().float(), parameter), name
    loaded = load_model(result.folder, device="cpu")  # with its tokenizer
    assert (loaded.V, loaded.context, loaded.S) == (V, POCKET_CONTEXT, 25_472)
    key = json.loads((folder / "result.json").read_text())["key"]
    recipe = json.loads(json.dumps(dataclasses.asdict(TINY)))
    made_by = {"family": "Pythia", "width": 32, "layers": 2, "heads": 1, **recipe}
    assert key.items() >= made_by.items()


def test_a_killed_run_goes_on_to_the_same_bytes(undisturbed, tiny_run, tmp_path, monkeypatch):
    expected, _, result = undisturbed
    folder = tmp_path / "killed"
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)

    def kill(row):  # nothing in `train` catches this, so the files are those of a kill
        if row["step"] == 20:  # after its last checkpoint at 16
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("Pythia", SHAPE, TINY, folder, watch=kill)
    assert not (folder / "result.json").exists()
    assert log_of(folder)["step"].tolist() == [4, 8, 12, 16, 20]
    # What a kill in the middle of writing leaves behind.
    (folder / "checkpoint.pt.tmp").write_bytes(b"half a checkpoint")

    seen = []
    resumed = train("Pythia", SHAPE, TINY, folder, watch=seen.append)
    assert [row["step"] for row in seen] == [20, 24, 28, 32, 36, 38]  # gone on, not begun again
    assert content(folder / "model") == content(expected / "model")
    timed = ["tokens_per_second", "seconds"]
    found, whole = (log_of(one).drop(columns=timed) for one in (folder, expected))
    pd.testing.assert_frame_equal(found, whole, check_exact=True)
    assert (resumed.valid_ce, resumed.train_loss) == (result.valid_ce, result.train_loss)
    assert log_of(folder)["seconds"].is_monotonic_increasing  # counted on from the checkpoint
    state, same = (torch.load(one / "checkpoint.pt") for one in (folder, expected))
    for part in ("model", "optimizer"):
        torch.testing.assert_close(state[part], same[part], rtol=0, atol=0)


@pytest.fixture
def copied(undisturbed, tiny_run, tmp_path) -> Path:
    """The folder of a copy of the finished run."""
    return shutil.copytree(undisturbed[0], tmp_path / "copied")


def test_a_checkpoint_of_another_recipe_or_a_damaged_one_is_refused(copied):
    path, before = copied / "checkpoint.pt", content(copied)
    refused("another recipe", train, "Pythia", SHAPE, dataclasses.replace(TINY, seed=1), copied)
    assert content(copied) == before
    (copied / "result.json").unlink()
    path.write_bytes(path.read_bytes()[:-4])
    refused(r"checkpoint\.pt: damaged", train, "Pythia", SHAPE, TINY, copied)


@pytest.mark.slow
@pytest.mark.parametrize("family", SHAPES)
def test_training_the_smallest_again_gives_the_shipped_loss(family, tmp_path):
    """`rbpkit pocket train --family F --size 0`: 7 to 17 minutes on one core."""
    for corpus in training.PACKAGE_CORPORA:
        for split in ("train", "valid"):
            if not load_pocket_documents(corpus, split).as_shipped:
                pytest.skip(f"needs the pinned packages: the text of {corpus}, {split} differs")
    [trained] = train_runs(recipes.runs_of(family)[:1], tmp_path)
    folder = families.model_folder(family, 0)
    shipped = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    expected = validation_ce(shipped, training.token_stream("valid"))
    assert trained.valid_ce == pytest.approx(expected, abs=0.01)
