"""The training callback: the numbers of `measure`, and a training that does not notice it."""

import math
import random
import shutil

import numpy as np
import peft
import pytest
import torch
from conftest import TEXTS, refused
from datasets import Dataset
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
)

from rbpkit import Corpus, InputError, measure
from rbpkit.tools.callback import RBPCallback
from rbpkit_pocket import families

KS = (1, 10, 500)


@pytest.fixture(scope="module")
def tokenizer():
    return families.load_tokenizer()


def tiny() -> torch.nn.Module:
    """A GPT-2 with dropout, so that training draws random numbers."""
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=families.V, n_embd=16, n_layer=2, n_head=2, n_positions=64)
    return AutoModelForCausalLM.from_config(config, dtype=torch.float32)


@pytest.fixture
def trainer(tmp_path, tokenizer):
    """Make a Trainer of six steps with two rows of 32 tokens, which evaluates every two steps."""

    def make(model, **options) -> Trainer:
        rows = torch.randint(families.V, (16, 32), generator=torch.Generator().manual_seed(2))
        data = [{"input_ids": row, "labels": row} for row in rows]
        settings = {
            "output_dir": str(tmp_path / "run"),
            "max_steps": 6,
            "logging_steps": 1,
            "per_device_train_batch_size": 2,
            "learning_rate": 1e-2,
            "use_cpu": True,
            "eval_strategy": "steps",
            "eval_steps": 2,
            "save_strategy": "no",
            "report_to": "none",
            "disable_tqdm": True,
        }
        args = TrainingArguments(**settings | options)
        sets = {"train_dataset": data, "eval_dataset": data[:2]}
        sets |= {"data_collator": default_data_collator}
        return Trainer(model=model, args=args, processing_class=tokenizer, **sets)

    return make


def logged(trainer: Trainer, key: str) -> dict[int, float]:
    """What the Trainer logged under this key, by step."""
    return {log["step"]: log[key] for log in trainer.state.log_history if key in log}


@pytest.mark.parametrize("lora", [False, True])
def test_the_numbers_are_those_of_measure_on_the_saved_model(
    trainer, tokenizer, text_file, tmp_path, lora
):
    model, base, saved = tiny(), tmp_path / "base", tmp_path / "saved"
    for folder in (base, saved) if lora else (base,):
        tokenizer.save_pretrained(folder)
    model.save_pretrained(base)
    if lora:
        model = AutoModelForCausalLM.from_pretrained(base)
        adapter = peft.LoraConfig(r=4, lora_alpha=64, lora_dropout=0.1, target_modules=["c_attn"])
        model = peft.get_peft_model(model, adapter)
    made = trainer(model)
    callback = RBPCallback(made, text_file, ks=KS, max_length=48)
    made.add_callback(callback)
    made.train()
    model.save_pretrained(saved)
    tokenizer.save_pretrained(saved)
    before, after = (measure(folder, text_file, max_length=48) for folder in (base, saved))
    assert after.ce() != pytest.approx(before.ce(), rel=1e-4), "the training changes nothing"
    assert logged(made, "eval_ce")[6] == pytest.approx(after.ce(), rel=1e-6)
    found = {k: logged(made, f"eval_rbp_{k}")[6] for k in KS}
    assert found == {k: after.rbp(k) for k in KS} and 0 < found[500] < 1
    manifests = [one.summary.manifest for one in (callback.result, after, before)]
    assert len({(one.S, one.family, one.tokens) for one in manifests}) == 1


def test_training_is_the_same_to_the_bit(trainer):
    def draw(*_) -> None:
        """Some models draw even in evaluation mode; each of the three generators is touched."""
        torch.rand(1), np.random.rand(), random.random()

    found = []
    for watched in (False, True):
        model = tiny()
        model.transformer.register_forward_hook(draw)
        made = trainer(model)
        if watched:
            made.add_callback(RBPCallback(made, (text for text in TEXTS), ks=KS))
        made.train()
        drawn = (torch.rand(1).item(), np.random.rand(), random.random())
        found.append((drawn, list(logged(made, "loss").values()), model.state_dict()))
    (*alone, weights), (*measured, weights_too) = found
    assert alone == measured and len(alone[1]) == 6
    assert all(torch.equal(weights[key], weights_too[key]) for key in weights)
    assert list(logged(made, "eval_rbp_500")) == [2, 4, 6]


def test_the_best_model_by_rbp_is_loaded_at_the_end(trainer):
    best = {"load_best_model_at_end": True, "metric_for_best_model": "eval_rbp_500"}
    made = trainer(tiny(), save_strategy="steps", save_steps=2, **best)
    made.add_callback(
        RBPCallback(made, Corpus.of(Dataset.from_dict({"t": TEXTS}), field="t"), ks=KS)
    )
    made.train()
    values = logged(made, "eval_rbp_500")
    assert made.state.best_metric == max(values.values()) and len(set(values.values())) > 1
    assert made.evaluate()["eval_rbp_500"] == made.state.best_metric


def test_mixed_precision_is_set_aside_and_comes_back(trainer, tokenizer):
    made = trainer(model := tiny(), bf16=True)
    made.add_callback(RBPCallback(made, TEXTS))
    made.train()
    wrapped = model.__dict__["forward"]
    made.evaluate()
    assert model.__dict__["forward"] is wrapped
    whole = tiny()
    whole.load_state_dict(model.state_dict())
    expected = measure(whole, TEXTS, tokenizer=tokenizer)
    assert expected.ce() in logged(made, "eval_ce").values()


def test_nan_or_a_disk_that_fails_does_not_end_a_training(trainer, tmp_path, caplog):
    class Fault(TrainerCallback):
        def __init__(self, break_it):
            self.break_it = break_it

        def on_step_end(self, args, state, control, model=None, **kwargs):
            if state.global_step == 3:
                self.break_it(model)

    def diverge(model):
        model.transformer.wte.weight.data.fill_(math.nan)

    def put_a_file_in_place_of_the_folder(model):
        shutil.rmtree(records)
        records.touch()

    records = tmp_path / "records"
    for out, break_it in ((None, diverge), (records, put_a_file_in_place_of_the_folder)):
        caplog.clear()
        made = trainer(tiny())
        made.add_callback(RBPCallback(made, TEXTS, out=out))
        assert not records.exists()  # the trial leaves nothing
        made.add_callback(Fault(break_it))
        made.train()
        measured = [not math.isnan(value) for value in logged(made, "eval_ce").values()]
        assert measured == [True, False, False] and made.state.global_step == 6
        assert "step 4 is not measured" in caplog.text


def test_bad_input_shows_before_training(trainer):
    made = trainer(tiny())
    for corpus, ks in ((TEXTS, (0,)), ("no_such.jsonl", KS), (["x"], KS)):
        with pytest.raises(InputError):
            RBPCallback(made, corpus, ks=ks)
    made.processing_class = None
    refused("tokenizer=", RBPCallback, made, TEXTS)
