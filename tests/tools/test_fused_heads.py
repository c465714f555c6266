"""The training callback with heads that make no logits: TRL's SFTTrainer, and Liger's kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch
from conftest import TEXTS, TINY
from datasets import Dataset
from transformers import AutoModelForCausalLM, LlamaConfig

from rbpkit import RBPCallback, measure
from rbpkit_pocket import families


def test_in_trl_the_numbers_are_those_of_the_saved_model(tmp_path):
    trl = pytest.importorskip("trl", reason="needs trl")
    tokenizer = families.load_tokenizer()
    tokenizer.pad_token = tokenizer.eos_token or "<|endoftext|>"
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(LlamaConfig(**TINY, pad_token_id=0))
    rows = Dataset.from_dict({"text": TEXTS * 4})
    settings = trl.SFTConfig(
        str(tmp_path / "run"),
        **{"max_steps": 4, "eval_strategy": "steps", "eval_steps": 2, "save_strategy": "no"},
        **{"report_to": "none", "use_cpu": True, "bf16": False, "max_length": 64},
        **{"learning_rate": 1e-2, "disable_tqdm": True},
    )
    sets = {"train_dataset": rows, "eval_dataset": rows.select(range(4))}
    trainer = trl.SFTTrainer(model, settings, processing_class=tokenizer, **sets)
    own_forward = model.__dict__.get("forward")
    trainer.add_callback(RBPCallback(trainer, TEXTS, ks=(1, 500)))
    trainer.train()
    assert own_forward is not None and model.__dict__["forward"] is own_forward
    logged = [log for log in trainer.state.log_history if "eval_ce" in log]
    trainer.save_model(tmp_path / "saved")
    saved = measure(tmp_path / "saved", TEXTS)
    assert [log["step"] for log in logged] == [2, 4]
    assert logged[0]["eval_ce"] != pytest.approx(logged[1]["eval_ce"], rel=1e-4)
    assert logged[1]["eval_ce"] == pytest.approx(saved.ce(), rel=1e-6)
    assert logged[1]["eval_rbp_500"] == saved.rbp(500)


# Triton reads the environment when it is imported, so this is a separate process.
LIGER = """
import sys
from datasets import Dataset
from liger_kernel.transformers import apply_liger_kernel_to_llama
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from rbpkit import RBPCallback, measure
from rbpkit_pocket import families

folder, run, *texts = sys.argv[1:]
tokenizer = families.load_tokenizer()
tokenizer.pad_token = tokenizer.eos_token or "<|endoftext|>"
model = AutoModelForCausalLM.from_pretrained(folder)
others = dict(rope=False, rms_norm=False, swiglu=False, cross_entropy=False)
apply_liger_kernel_to_llama(fused_linear_cross_entropy=True, model=model, **others)
ids = [tokenizer(text)["input_ids"][:8] for text in texts]
rows = Dataset.from_dict({"input_ids": ids, "labels": ids})
settings = TrainingArguments(
    run, max_steps=2, eval_strategy="steps", eval_steps=2, per_device_train_batch_size=1,
    report_to="none", use_cpu=True, save_strategy="no", learning_rate=1e-2, disable_tqdm=True,
)
trainer = Trainer(model, settings, train_dataset=rows, eval_dataset=rows.select([0]),
                  processing_class=tokenizer)
trainer.add_callback(RBPCallback(trainer, texts, ks=(500,)))
before = measure(folder, texts).ce()
trainer.train()
trainer.save_model(run + "/saved")
[logged] = [log["eval_ce"] for log in trainer.state.log_history if "eval_ce" in log]
after = measure(run + "/saved", texts).ce()
assert abs(logged - after) < 1e-5 * after and abs(before - after) > 1e-4, (before, logged, after)
"""


def test_with_liger_s_fused_head_the_numbers_are_those_of_the_saved_model(llama_folder, tmp_path):
    if find_spec("liger_kernel") is None:
        pytest.skip("needs liger-kernel")
    command = [sys.executable, "-c", LIGER, llama_folder, tmp_path / "run", *TEXTS[:2]]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}  # the kernel without a GPU
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
