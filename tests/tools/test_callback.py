"""The training callback: the numbers of `measure`, and a training that does not notice it."""

from __future__ import annotations

import logging
import math
import random

import numpy as np
import pytest
import torch
from conftest import TEXTS
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    Trainer,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
)

from rbpkit.corpora import load_corpus
from rbpkit.errors import InputError
from rbpkit.measuring import measure
from rbpkit.models import load_model
from rbpkit.pocket import ladders
from rbpkit.records import Records
from rbpkit.tools.callback import RBPCallback

KS = (1, 10, 500)


@pytest.fixture(scope="module")
def tokenizer():
    return ladders.load_tokenizer()


def tiny() -> torch.nn.Module:
    """A GPT-2 with dropout, so that training draws random numbers."""
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=ladders.V, n_embd=16, n_layer=2, n_head=2, n_positions=64)
    return AutoModelForCausalLM.from_config(config, dtype=torch.float32)


class Reporter(TrainerCallback):
    """Keeps what the Trainer reports, as a board or a file would, and its metrics."""

    def __init__(self):
        self.logs, self.metrics = [], []

    def on_log(self, args, state, control, logs=None, **kwargs):
        self.logs.append(logs)

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        self.metrics.append(metrics)


@pytest.fixture
def training(tmp_path):
    """Make a Trainer of six steps with two rows of 32 tokens -> it, and its reporter."""

    def make(model, **options) -> tuple[Trainer, Reporter]:
        rows = torch.randint(ladders.V, (16, 32), generator=torch.Generator().manual_seed(2))
        data = [{"input_ids": row, "labels": row} for row in rows]
        reporter = Reporter()
        args = TrainingArguments(
            output_dir=str(tmp_path),
            **{"max_steps": 6, "logging_steps": 2, **options},
            **{"per_device_train_batch_size": 2, "learning_rate": 1e-3, "use_cpu": True},
            **{"save_strategy": "no", "report_to": "none", "disable_tqdm": True},
            include_num_input_tokens_seen=True,
        )
        given = {"train_dataset": data, "eval_dataset": data[:2], "callbacks": [reporter]}
        return Trainer(model=model, args=args, **given), reporter

    return make


def oracle(folder, text_file, tmp_path) -> Records:
    """`measure` on the folder's model and the same documents, in the same batches."""
    corpus = load_corpus(text_file, field="text", seed=None)
    return Records.load(measure(load_model(folder), corpus, tmp_path / "records").path)


def test_the_numbers_are_those_of_measure(training, tokenizer, text_file, tmp_path):
    model = tiny()
    callback = RBPCallback(load_corpus(text_file, field="text", seed=None), tokenizer, KS, every=4)
    trainer, _ = training(model)
    assert callback.attach(trainer) is callback.attach(trainer)
    trainer.train()
    assert trainer.callback_handler.callbacks.count(callback) == 1
    assert [point.step for point in callback.history] == [4, 6], "every 4 steps, and the last"
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    records = oracle(tmp_path / "model", text_file, tmp_path)
    last = callback.history[-1]
    assert {k: last.rbp[k] for k in KS} == {k: records.rbp(k) for k in KS}
    assert 0 < last.rbp[500] < 1
    assert last.CE == pytest.approx(records.ce(), rel=1e-12)
    assert (last.S, last.scored) == (records.manifest.S, records.tokens)
    table = callback.table()
    assert list(table) == ["S", "step", "tokens", "scored", "CE", "RBP_1", "RBP_10", "RBP_500"]
    assert (
        table["tokens"].tolist() == [4 * 64, 6 * 64] and table["RBP_500"].iloc[-1] == last.rbp[500]
    )


@pytest.mark.parametrize("folder", ["pocket", "capped_folder", "llama_folder"])
def test_any_head_and_family(folder, request, text_file, tmp_path, tokenizer):
    trained = folder == "pocket"  # with tokens at rank 1, as a random model has none
    folder = ladders.model_folder("Pythia", 0) if trained else request.getfixturevalue(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    callback = RBPCallback(TEXTS, tokenizer, KS, every=1)
    callback.on_train_begin(None, TrainerState(), None, model=model)
    records = oracle(folder, text_file, tmp_path)
    point = callback.measure(model)
    assert point.rbp == {k: records.rbp(k) for k in KS}
    assert point.CE == pytest.approx(records.ce(), rel=1e-12)
    assert not trained or 0.1 < point.rbp[1] < point.rbp[10] < 1


def draw_in_every_forward(model) -> None:
    """Some models draw even in evaluation mode; each of the three generators is touched."""

    def hook(*_):
        torch.rand(1), np.random.rand(), random.random()

    model.transformer.register_forward_hook(hook)


@pytest.mark.parametrize("every", [1, 2])
def test_training_is_the_same_to_the_bit(training, tokenizer, every):
    found = []
    for callback in (None, RBPCallback(TEXTS, tokenizer, KS, every=every)):
        model = tiny()
        draw_in_every_forward(model)
        trainer, reporter = training(model, logging_steps=1)
        if callback is not None:
            callback.attach(trainer)
        trainer.train()
        drawn = (torch.rand(1).item(), np.random.rand(), random.random())
        losses = [log["loss"] for log in reporter.logs if "loss" in log]
        found.append((drawn, losses, model.state_dict()))
    (*alone, weights), (*measured, weights_too) = found
    # The Trainer's own log of the steps that were measured is still there.
    assert alone == measured and len(alone[1]) == 6
    assert all(torch.equal(weights[key], weights_too[key]) for key in weights)
    steps = list(range(every, 7, every))
    assert callback.table()["step"].tolist() == steps
    assert callback.table()["tokens"].tolist() == [64 * step for step in steps]
    assert sum("eval_rbp_500" in log for log in reporter.logs) == len(steps)


def test_gradients_and_modes_between_two_steps_stay(tokenizer):
    model = tiny().train()
    model.transformer.h[0].eval()  # a part that its owner holds in evaluation mode
    modes = [module.training for module in model.modules()]
    callback = RBPCallback(TEXTS, tokenizer)
    callback.on_train_begin(None, TrainerState(), None, model=model)
    model(
        input_ids=torch.ones(1, 4, dtype=torch.long), labels=torch.ones(1, 4).long()
    ).loss.backward()
    before = [parameter.grad.clone() for parameter in model.parameters()]
    callback.measure(model)
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), before, strict=True))
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert [module.training for module in model.modules()] == modes
    assert any(modes) and not all(modes)


@pytest.mark.parametrize("attached", [True, False])
def test_every_reporter_gets_it_or_the_state_alone(attached, training, tokenizer):
    (trainer, reporter), callback = training(tiny()), RBPCallback(TEXTS, tokenizer, every=3)
    callback.attach(trainer) if attached else trainer.add_callback(callback)
    trainer.train()
    names = {"eval_rbp_1", "eval_rbp_10", "eval_ce", "epoch", "num_input_tokens_seen"}
    reported = [set(log) for log in reporter.logs if "eval_ce" in log]
    assert reported == ([names] * 2 if attached else [])
    kept = [log for log in trainer.state.log_history if "eval_ce" in log]
    assert [log["step"] for log in kept] == [3, 6] and "eval_rbp_10" in kept[0]


def test_with_the_evaluations_of_the_trainer(training, tokenizer):
    trainer, reporter = training(tiny(), eval_strategy="steps", eval_steps=2)
    callback = RBPCallback(TEXTS, tokenizer).attach(trainer)
    trainer.train()
    assert [point.step for point in callback.history] == [2, 4, 6]
    found = [metrics["eval_rbp_10"] for metrics in reporter.metrics]
    assert found == [point.rbp[10] for point in callback.history]


def test_the_best_model_is_not_taken_for_the_last_step(training, tokenizer):
    trainer, _ = training(tiny())
    trainer.args.load_best_model_at_end = True
    callback = RBPCallback(TEXTS, tokenizer, every=4).attach(trainer)
    trainer.train()
    assert [point.step for point in callback.history] == [4]


def test_evaluating_before_training(training, tokenizer):
    trainer, _ = training(tiny())
    callback = RBPCallback(TEXTS, tokenizer).attach(trainer)
    trainer.evaluate()
    assert [point.step for point in callback.history] == [0]
    assert callback.history[0].tokens is None and callback.table()["tokens"].isna().all()


def test_a_wrapped_forward_is_set_aside_and_comes_back(tokenizer):
    model = tiny()
    callback = RBPCallback(TEXTS, tokenizer)
    callback.on_train_begin(None, TrainerState(), None, model=model)
    plain, inner = callback.measure(model), model.forward

    def wrapped(*args, **kwargs):  # as accelerate's, for mixed precision
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return inner(*args, **kwargs)

    model.forward = wrapped
    callback.on_train_begin(None, TrainerState(), None, model=model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert callback.measure(model) == plain
    assert model.forward is wrapped and callback._probed[0]


def test_nan_is_logged_and_training_goes_on(training, tokenizer, caplog):
    trainer, _ = training(tiny())
    callback = RBPCallback(TEXTS, tokenizer, every=2).attach(trainer)

    class Diverge(TrainerCallback):
        def on_step_end(self, args, state, control, model=None, **kwargs):
            if state.global_step == 3:
                model.transformer.wte.weight.data.fill_(math.nan)

    trainer.add_callback(Diverge())
    with caplog.at_level(logging.WARNING, "rbpkit.tools.callback"):
        trainer.train()
    assert [math.isnan(point.CE) for point in callback.history] == [False, True, True]
    assert math.isnan(callback.history[-1].rbp[1]) and "step 4 is not measured" in caplog.text


def test_only_the_first_process_measures(training, tokenizer, monkeypatch):
    trainer, _ = training(tiny())
    monkeypatch.setattr(trainer, "is_world_process_zero", lambda: False)
    callback = RBPCallback(TEXTS, tokenizer, every=1).attach(trainer)
    trainer.train()
    assert callback.history == [] and callback.table().empty


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"ks": (0,)}, "ks: 0"),
        ({"ks": ()}, "ks is empty"),
        ({"every": 0}, "every: 0"),
        ({"every": 1.5}, "every: 1.5"),
        ({"batch_tokens": 0}, "batch_tokens"),
        ({"documents": "one text"}, "list of strings"),
        ({"documents": [1]}, "list of strings"),
        ({"documents": [" ", ""]}, "no text"),
    ],
)
def test_bad_settings(options, says, tokenizer):
    with pytest.raises(InputError, match=says):
        RBPCallback(**{"documents": TEXTS, "tokenizer": tokenizer, **options})


def test_faults_show_before_training(tokenizer):
    begin = {"args": None, "state": TrainerState(), "control": None}
    with pytest.raises(InputError, match="Linear is not a causal language model"):
        RBPCallback(TEXTS, tokenizer).on_train_begin(**begin, model=torch.nn.Linear(2, 2))
    with pytest.raises(InputError, match="two tokens to score"):
        RBPCallback(["x"], tokenizer).on_train_begin(**begin, model=tiny())
    with pytest.raises(InputError, match="max_length=1"):
        RBPCallback(TEXTS, tokenizer, max_length=1).on_train_begin(**begin, model=tiny())
    with pytest.raises(InputError, match="has not begun"):
        RBPCallback(TEXTS, tokenizer).measure(tiny())
