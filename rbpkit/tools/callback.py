"""RBP_k and CE of held-out text while a model trains: a callback for transformers' `Trainer`."""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from transformers import (
    PreTrainedModel,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.integrations import is_deepspeed_zero3_enabled

from rbpkit.errors import InputError
from rbpkit.measuring import Measurement, measure, opened_corpus

logger = logging.getLogger(__name__)


class RBPCallback(TrainerCallback):
    """Measure held-out text whenever the Trainer evaluates, and log RBP_k (Eq. 4) and CE (nats).

    `trainer.add_callback(RBPCallback(trainer, corpus))`, before `trainer.train()`. The values
    `eval_rbp_1`, ..., `eval_ce` go through `trainer.log` to every reporter, and into the metrics of
    the evaluation, for `metric_for_best_model`. `result` is the last measurement.

    - corpus, options (max_length, stride, batch_tokens, name, family): as for `measure`.
    - tokenizer: by default the Trainer's `processing_class`.
    - ks: the k of RBP_k.

    The model is measured in the dtype of its weights, without autocast. Training goes on as it
    would without the callback, to the bit. If a measurement fails (NaN, too little memory), there
    is a warning and its values are NaN. Of several processes the first one measures. The text is
    measured once at once, so that InputError comes before training: for what `measure` cannot use,
    and for weights that are split among processes (FSDP, ZeRO stage 3).
    """

    def __init__(
        self,
        trainer: Trainer,
        corpus: Any,
        tokenizer: Any = None,
        ks: Sequence[int] = (1, 10),
        **options: Any,
    ) -> None:
        if trainer.is_fsdp_enabled or is_deepspeed_zero3_enabled():
            raise InputError("RBPCallback: weights split among processes; use DDP or ZeRO 1 or 2")
        self.result: Measurement | None = None
        self._trainer = trainer
        self._ks = tuple(ks)
        self._corpus = opened_corpus(corpus)
        self._options = {"tokenizer": tokenizer or trainer.processing_class, **options}
        if trainer.is_world_process_zero():
            self._measured(trainer.model, out=None)

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Measure in the first process; log, and add to the metrics, in every process."""
        from accelerate.utils import broadcast_object_list

        logs = dict.fromkeys([*(f"eval_rbp_{k}" for k in self._ks), "eval_ce"], math.nan)
        if state.is_world_process_zero:
            try:
                logs = self._measured(kwargs["model"])
            except (InputError, OSError) as error:  # a full disk must not end hours of training
                logger.warning("step %d is not measured: %s", state.global_step, error)
        # Every process needs the values, because each decides by them which model is the best.
        [logs] = broadcast_object_list([logs])
        self._trainer.log(dict(logs))  # a copy, because `log` adds the epoch to what it is given
        kwargs["metrics"].update(logs)

    def _measured(self, model: Any, **more: Any) -> dict[str, float]:
        """RBP_k and CE by their names in the log."""
        options = {**self._options, **more}
        with _undisturbed(model):
            self.result = measure(model, self._corpus, say=logger.info, **options)
        values = {f"eval_rbp_{k}": float(self.result.rbp(k)) for k in self._ks}
        return values | {"eval_ce": self.result.ce()}


@contextmanager
def _undisturbed(model: PreTrainedModel) -> Iterator[None]:
    """Random states as before, and a `forward` that accelerate wrapped in autocast set aside."""
    own = model.__dict__
    wrapped_forward = own.pop("forward", None)  # the class's own forward is then called
    numpy_state, python_state = np.random.get_state(), random.getstate()
    # fork_rng always keeps the state of the CPU.
    gpus = [model.device] if model.device.type == "cuda" else []
    try:
        with torch.random.fork_rng(devices=gpus):
            yield
    finally:
        if wrapped_forward is not None:
            own["forward"] = wrapped_forward
        np.random.set_state(numpy_state)
        random.setstate(python_state)
