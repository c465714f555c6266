"""The training callback: the numbers of `measure`, and a training that does not notice it."""

from __future__ import annotations

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


@pytest.fixture
def trainer(tmp_path):
    """Make a Trainer of six steps with two rows of 32 tokens."""

    def make(model, **options) -> Trainer:
        rows = torch.randint(ladders.V, (16, 32), generator=torch.Generator().manual_seed(2))
        data = [{"input_ids": row, "labels": row} for row in rows]
        args = TrainingArguments(
            output_dir=str(tmp_path),
            **{"max_steps": 6, "logging_steps": 1, "per_device_train_batch_size": 2},
            **{"save_strategy": "no", "report_to": "none", "disable_tqdm": True, "use_cpu": True},
            **{"include_num_input_tokens_seen": True, "learning_rate": 1e-3, **options},
        )
        return Trainer(model=model, args=args, train_dataset=data, eval_dataset=data[:2])

    return make


def test_the_numbers_are_those_of_measure(trainer, tokenizer, text_file, tmp_path):
    corpus = load_corpus(text_file, field="text", seed=None)
    made = trainer(model := tiny())
    callback = RBPCallback(corpus, tokenizer, KS, every=4).attach(made)
    made.train()
    assert callback.table()["step"].tolist() == [4, 6], "every 4 steps, and the last"
    assert callback.table()["tokens"].tolist() == [4 * 64, 6 * 64]
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    done = measure(load_model(tmp_path / "model"), corpus, tmp_path / "records")
    records = Records.load(done.path)
    last = callback.history[-1]
    assert last.rbp == {k: records.rbp(k) for k in KS} and 0 < last.rbp[500] < 1
    assert last.CE == pytest.approx(records.ce(), rel=1e-12)
    assert (last.S, last.scored) == (records.manifest.S, records.tokens)


def test_training_is_the_same_to_the_bit(trainer, tokenizer):
    def draw(*_) -> None:
        """Some models draw even in evaluation mode; each of the three generators is touched."""
        torch.rand(1), np.random.rand(), random.random()

    found = []
    for callback in (None, RBPCallback(TEXTS, tokenizer, KS, every=1)):
        model = tiny()
        model.transformer.register_forward_hook(draw)
        made = trainer(model)
        if callback is not None:
            callback.attach(made)
        made.train()
        drawn = (torch.rand(1).item(), np.random.rand(), random.random())
        losses = [log["loss"] for log in made.state.log_history if "loss" in log]
        found.append((drawn, losses, model.state_dict()))
    (*alone, weights), (*measured, weights_too) = found
    assert alone == measured and len(alone[1]) == 6
    assert all(torch.equal(weights[key], weights_too[key]) for key in weights)
    logged = [log["step"] for log in made.state.log_history if "eval_rbp_500" in log]
    assert logged == [1, 2, 3, 4, 5, 6] == callback.table()["step"].tolist()


def test_with_the_evaluations_of_the_trainer(trainer, tokenizer):
    made = trainer(tiny(), eval_strategy="steps", eval_steps=2)
    callback = RBPCallback(TEXTS, tokenizer).attach(made)
    made.train()
    assert [point.step for point in callback.history] == [2, 4, 6]
    assert made.evaluate()["eval_rbp_10"] == callback.history[-1].rbp[10]


def test_a_forward_wrapped_for_mixed_precision_is_set_aside_and_comes_back(tokenizer):
    model = tiny()
    callback = RBPCallback(TEXTS, tokenizer)
    callback.on_train_begin(None, TrainerState(), None, model=model)
    plain = callback.measure(model)
    model.forward = wrapped = torch.autocast("cpu", dtype=torch.bfloat16)(model.forward)
    assert callback.measure(model) == plain and model.forward is wrapped


def test_nan_is_logged_and_training_goes_on(trainer, tokenizer):
    class Diverge(TrainerCallback):
        def on_step_end(self, args, state, control, model=None, **kwargs):
            if state.global_step == 3:
                model.transformer.wte.weight.data.fill_(math.nan)

    made = trainer(tiny())
    callback = RBPCallback(TEXTS, tokenizer, every=2).attach(made)
    made.add_callback(Diverge())
    made.train()
    assert [math.isnan(point.CE) for point in callback.history] == [False, True, True]


def test_bad_input_shows_before_training(tokenizer):
    for options in ({"ks": (0,)}, {"ks": ()}, {"every": 0}, {"documents": "one text"}):
        with pytest.raises(InputError):
            RBPCallback(**{"documents": TEXTS, "tokenizer": tokenizer, **options})
    with pytest.raises(InputError, match="Linear is not a causal language model"):
        begin = RBPCallback(TEXTS, tokenizer).on_train_begin
        begin(None, TrainerState(), None, model=torch.nn.Linear(2, 2))
