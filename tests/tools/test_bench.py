"""The benchmark: what it counts, what it skips and why, and its commands."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
import torch

from rbpkit.errors import InputError
from rbpkit.files.architectures import ARCHITECTURES, paper_config
from rbpkit.kernels.memory import DoesNotFitError
from rbpkit.measuring import measured_ranks
from rbpkit.models import load_model
from rbpkit.pocket import ladders
from rbpkit.tools import bench
from rbpkit.tools.bench import (
    Speed,
    free_bytes,
    paper_speeds,
    random_model,
    random_tokens,
    speed_of,
    speed_table,
    study_time,
)

PYTHIA_14M = "EleutherAI/pythia-14m"
NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.fixture(scope="module")
def model():
    return load_model(ladders.model_folder("Pythia", 0), device="cpu")


def test_the_three_ways_do_what_they_say(model, monkeypatch):
    """Count the work by its parts: a pass each, a head in two of them, ranks in one."""
    calls = {"passes": 0, "heads": 0, "ranks": 0}

    def counted(name, function):
        def wrapper(*arguments, **options):
            calls[name] += 1
            return function(*arguments, **options)

        return wrapper

    monkeypatch.setattr(bench, "measured_ranks", counted("ranks", bench.measured_ranks))
    monkeypatch.setattr(bench, "logit_chunks", counted("heads", bench.logit_chunks))
    hook = model.model.base_model.register_forward_pre_hook(
        lambda *_: calls.__setitem__("passes", calls["passes"] + 1)
    )
    found = speed_of(model, tokens=1000, batch_tokens=600, rounds=2)
    hook.remove()
    # 4 documents of 256 tokens, 2 to a batch: 2 passes a run; one run first, then 3 in 2 rounds.
    assert calls == {"passes": 2 * 7, "heads": 2 * 2, "ranks": 1 + 2}
    assert (found.tokens, found.batch_tokens) == (4 * 255, 512)
    assert 0 < found.with_ranks < math.inf and found.with_head > 0 and found.body > 0
    assert (found.S, found.V, found.work) == (model.S, model.V, model.S + 4096 * 32)
    assert found.weights == 4 * sum(p.numel() for p in model.model.parameters())


def test_random_tokens_fill_whole_documents(model):
    encoded = random_tokens(model, 600, 512)
    assert encoded.tokens == 3 * 255 == sum(one.tokens for one in encoded.documents)
    assert {len(one.input_ids) for one in encoded.documents} == {256}
    ids = np.concatenate([one.input_ids for one in encoded.documents])
    assert ids.min() >= 0 and ids.max() < model.V and len(set(ids.tolist())) > 500
    assert [len(one.input_ids) for one in random_tokens(model, 5, 512).documents] == [6]
    with pytest.raises(InputError, match="max_length=1"):
        random_tokens(model, 5, 1)


@pytest.mark.parametrize("name", ["openai-community/gpt2", "facebook/opt-125m", PYTHIA_14M])
def test_a_random_model_is_the_real_one_in_shape_and_head(name):
    config = paper_config(name)
    config.num_hidden_layers = 1
    model = random_model(name, config, 1, "float32", "cpu")
    ids = torch.tensor([[5, 6, 7]])
    logits = model.hidden(ids) @ model.head.weight.T
    torch.testing.assert_close(logits, model.logits(ids), rtol=1e-4, atol=1e-5)
    assert model.V == ARCHITECTURES[name].numbers["vocab_size"]
    assert not any(parameter.requires_grad for parameter in model.model.parameters())


@pytest.mark.parametrize("name", ["openai-community/gpt2", "facebook/opt-350m", PYTHIA_14M])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_is_known_before_is_what_there_is(name, dtype):
    config = paper_config(name)
    config.num_hidden_layers = 1
    about = bench._about(name, config, dtype, "cpu")
    network = random_model(name, config, about.S, dtype, "cpu").model
    assert about.weights == sum(p.numel() * p.element_size() for p in network.parameters())
    assert about.work == about.S + network.get_output_embeddings().weight.numel()


def test_the_smallest_of_the_paper_runs():
    (found,) = paper_speeds([PYTHIA_14M], tokens=200, rounds=1)
    assert (found.model, found.S, found.V) == (PYTHIA_14M, 1_189_888, 50_304)
    assert (found.tokens, found.skipped) == (200, "") and found.with_ranks > 0


def test_what_does_not_fit_is_skipped_with_its_reason(monkeypatch):
    monkeypatch.setattr(bench, "random_model", lambda *_: pytest.fail("made all the same"))
    monkeypatch.setattr(bench, "free_bytes", lambda _: 2**30)
    gpt2, large = paper_speeds(["openai-community/gpt2", "Qwen/Qwen2.5-14B"], dtype="bfloat16")
    assert gpt2.skipped.startswith("needs 1.0 GiB, 1.0 are free on cpu")
    assert large.skipped.startswith("needs 29.9 GiB") and math.isnan(large.with_ranks)
    assert large.weights == 2 * 14_770_033_664


@pytest.mark.parametrize(
    ("error", "skipped"),
    [
        (torch.OutOfMemoryError("CUDA out of memory."), True),
        (DoesNotFitError("one document"), True),
        (RuntimeError("shapes do not match"), False),
        (InputError("another fault"), False),
    ],
)
def test_only_memory_makes_a_shape_skipped(error, skipped, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(bench, "speed_of", fail)
    monkeypatch.setattr(bench, "random_model", lambda *_: None)
    if not skipped:
        with pytest.raises(type(error)) as caught:
            list(paper_speeds([PYTHIA_14M]))
        assert caught.value is error
        return
    (found,) = paper_speeds([PYTHIA_14M])
    assert str(error) in found.skipped


def test_out_of_memory_lowers_the_budget_and_goes_on(model, monkeypatch):
    def before(_, args, kwargs):
        if kwargs["input_ids"].numel() > 600:
            torch.empty(2**50, dtype=torch.uint8)

    hook = model.model.base_model.register_forward_pre_hook(before, with_kwargs=True)
    said: list[str] = []
    found = speed_of(model, tokens=1000, batch_tokens=1024, rounds=1, say=said.append)
    hook.remove()
    assert found.batch_tokens == 512 and len(said) == 1  # then no run fails again


def test_study_time():
    one = Speed(PYTHIA_14M, 1, 1, "float32", "cpu", work=10_000_000, weights=1, with_ranks=1000.0)
    two = dataclasses.replace(one, model="openai-community/gpt2", work=10**8, with_ranks=500.0)
    lost = dataclasses.replace(one, model="Qwen/Qwen2.5-14B", skipped="too large")
    time = study_time([one, two, lost], tokens=1000)
    work = sum(
        bench._about(name, paper_config(name), "float32", "cpu").work
        for name in ARCHITECTURES
        if name not in (one.model, two.model)
    )
    assert (time.models, time.not_run, time.tokens) == (24, 22, 1000)
    assert time.guessed == pytest.approx(1000 * work / (10**8 * 500.0))
    assert time.seconds == pytest.approx(1000 / 1000 + 1000 / 500 + time.guessed)
    with pytest.raises(InputError, match="none of the paper's shapes ran"):
        study_time([lost])


def test_table_has_the_cost_of_ranks():
    one = Speed("m", 1, 1, "float32", "cpu", 1, 1, with_ranks=800.0, with_head=1000.0, body=1500.0)
    table = speed_table([one, Speed("n", 1, 1, "float32", "cpu", 1, 1, skipped="too large")])
    assert table["ranks_cost"][0] == pytest.approx(0.25)
    assert math.isnan(table["ranks_cost"][1]) and table["skipped"][1] == "too large"


def test_free_memory_is_a_sensible_number():
    free = free_bytes("cpu")
    assert free is None or 2**24 < free < 2**50


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"tokens": 0}, "tokens=0"), ({"rounds": 0}, "rounds=0"), ({"batch_tokens": 0}, "=0")],
)
def test_bad_settings_are_refused(model, settings, message):
    with pytest.raises(InputError, match=message):
        speed_of(model, **settings)


def test_names_and_dtypes_are_refused_before_anything_runs():
    with pytest.raises(InputError, match="did you mean EleutherAI/pythia-14m"):
        next(paper_speeds([PYTHIA_14M, "EleutherAI/pythia-14"]))
    with pytest.raises(InputError, match="dtype 'float8'"):
        next(paper_speeds([PYTHIA_14M], dtype="float8"))


def test_a_head_that_is_not_linear_is_refused(capped_folder):
    with pytest.raises(InputError, match="not one linear map"):
        speed_of(load_model(capped_folder, device="cpu"))


def test_command_prints_a_table_or_json(rbpkit, llama_folder):
    common = ("bench", "--model", llama_folder, "--device", "cpu", "--tokens", 300, "--rounds", 1)
    status, shown, _ = rbpkit(*common)
    assert status == 0 and "tiny-llama" in shown
    assert "skipped" not in shown and "with_ranks" in shown
    found = json.loads(rbpkit(*common, "--json")[1])
    assert found["study"] is None
    (row,) = found["speeds"]
    assert row["model"] == "tiny-llama" and row["with_ranks"] > 0 and row["tokens"] == 381


def test_command_for_the_papers_shapes(rbpkit, monkeypatch):
    free = iter([2**40, 2**20])
    monkeypatch.setattr(bench, "free_bytes", lambda _: next(free))
    common = ("bench", "--shapes", "paper", "--device", "cpu", "--tokens", 100, "--rounds", 1)
    models = ("--model", PYTHIA_14M, "--model", "Qwen/Qwen2.5-14B")
    _, out, err = rbpkit(*common, *models, "--json")
    found = json.loads(out)
    assert [one["model"] for one in found["speeds"]] == [PYTHIA_14M, "Qwen/Qwen2.5-14B"]
    assert found["speeds"][1]["with_ranks"] is None and "GiB" in found["speeds"][1]["skipped"]
    assert found["study"]["not_run"] == 23 and found["study"]["seconds"] > 0
    assert "Qwen2.5-14B: skipped, needs" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bench", "--shapes", "squares"), "use pocket or paper"),
        (("bench", "--shapes", "pocket", "--model", "x"), "leave out --model"),
        (("bench", "--shapes", "paper", "--device", "auto"), "give --device cuda"),
        (("bench", "--tokens", "0"), "--tokens must be at least 1"),
        (("bench-batches", "--model", "x", "--batch-tokens", "0"), "--batch-tokens must be"),
        (("bench-dtypes", "--model", "x", "--k", "0"), "--k must be at least 1"),
    ],
)
def test_commands_refuse_bad_input(rbpkit, arguments, message):
    status, out, err = rbpkit(*arguments)
    assert (status, out) == (2, "") and message in err and err.count("\n") == 1


def test_commands_of_effects(rbpkit, llama_folder, text_file):
    common = ("--model", llama_folder, "--corpus", text_file, "--device", "cpu", "--k", 5)
    budgets = ("--batch-tokens", 1, "--batch-tokens", 999)
    first, second = json.loads(rbpkit("bench-batches", *common, *budgets, "--json")[1])
    assert first["setting"] == "1 tokens a batch" and first["changed"] == 0
    assert abs(second["RBP_5_change"]) <= 0.01 and second["tokens"] == first["tokens"]
    status, table, _ = rbpkit("bench-dtypes", *common)
    settings = [line.split()[0] for line in table.splitlines()[1:]]
    assert status == 0 and settings == ["float32", "bfloat16", "float16"]


@NEEDS_CUDA
def test_on_a_gpu():
    found = list(paper_speeds([PYTHIA_14M], dtype="bfloat16", device="cuda", tokens=20_000))
    assert found[0].skipped == "" and found[0].with_ranks > 10_000
    model = random_model(PYTHIA_14M, paper_config(PYTHIA_14M), 1, "bfloat16", "cuda")
    assert all(parameter.device.type == "cuda" for parameter in model.model.parameters())
    for batch, ranks in measured_ranks(model, random_tokens(model, 2000, 512)):
        assert ranks.rank().min() >= 1 and len(ranks.nll) == batch.tokens
