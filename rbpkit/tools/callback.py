"""RBP_k and CE of held-out text while a model trains: a callback for transformers' `Trainer`."""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from transformers import Trainer, TrainerCallback
from transformers.integrations import is_deepspeed_zero3_enabled

from rbpkit.corpora import Corpus
from rbpkit.errors import InputError, check_whole
from rbpkit.measuring import Measurement, measure, opened_corpus

logger = logging.getLogger(__name__)


class RBPCallback(TrainerCallback):
    """Measure held-out text whenever the Trainer evaluates, and log RBP_k (Eq. 4) and CE (nats).

    `trainer.add_callback(RBPCallback(trainer, corpus))`, before `trainer.train()`. The values
    `eval_rbp_1`, ..., `eval_ce` go through `trainer.log` to every reporter, and into the metrics of
    the evaluation, for `metric_for_best_model`. `result` is the last measurement.

    corpus, field, options (max_length, stride, batch_tokens): as for `measure`. tokenizer: by
    default the Trainer's `processing_class`. ks: the k of RBP_k.

    The model is measured in the dtype of its weights, without autocast. Training goes on as it
    would without the callback, to the bit. If a measurement fails (NaN, too little memory), there
    is a warning and its values are NaN. Of several processes the first one measures. InputError
    comes before training, as the longest document is measured at once: for what `measure` cannot
    use, and for weights that are split among processes (FSDP, ZeRO stage 3).
    """

    def __init__(
        self, trainer: Trainer, corpus: Any, tokenizer: Any = None, ks=(1, 10), **options: Any
    ) -> None:
        if trainer.is_fsdp_enabled or is_deepspeed_zero3_enabled():
            raise InputError("RBPCallback: weights split among processes; use DDP or ZeRO 1 or 2")
        for k in ks:
            check_whole("ks", k, 1)
        self.result: Measurement | None = None
        self._trainer, self._ks = trainer, tuple(ks)
        self._corpus = opened_corpus(corpus, options.pop("field", None))
        self._options = {"tokenizer": tokenizer or trainer.processing_class, **options}
        if trainer.is_world_process_zero():
            longest = Corpus.of([max(self._corpus.documents, key=len)])
            with _undisturbed(trainer.model):
                measure(trainer.model, longest, **self._options)

    def on_evaluate(self, args, state, control, model=None, metrics=None, **kwargs) -> None:
        """Measure in the first process; log, and add to the metrics, in every process."""
        from accelerate.utils import broadcast_object_list

        logs = {**{f"eval_rbp_{k}": math.nan for k in self._ks}, "eval_ce": math.nan}
        if state.is_world_process_zero:
            try:
                with _undisturbed(model):
                    self.result = measure(model, self._corpus, say=logger.info, **self._options)
                logs = {f"eval_rbp_{k}": float(self.result.rbp(k)) for k in self._ks}
                logs["eval_ce"] = self.result.ce()
            except InputError as error:
                logger.warning("step %d is not measured: %s", state.global_step, error)
        logs = broadcast_object_list([logs])[0]
        self._trainer.log(dict(logs))  # which adds the epoch to what it is given
        metrics.update(logs)


@contextmanager
def _undisturbed(model: torch.nn.Module) -> Iterator[None]:
    """Random states as before, and a `forward` that accelerate wrapped in autocast set aside."""
    wrapped = {name: model.__dict__.pop(name) for name in ("forward",) if name in model.__dict__}
    drawn, python = np.random.get_state(), random.getstate()
    gpus = [model.device] if model.device.type == "cuda" else []  # the CPU's are always kept
    try:
        with torch.random.fork_rng(devices=gpus):
            yield
    finally:
        model.__dict__.update(wrapped)
        np.random.set_state(drawn)
        random.setstate(python)
