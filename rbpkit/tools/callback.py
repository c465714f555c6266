"""RBP_k and CE of held-out text while a model trains: a callback for transformers' `Trainer`.

The ranks are those of `measure`: its encoding, its batches, its counting on float32 logits. A
measurement leaves the weights, the random numbers and the modes of the training as they were.
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import PreTrainedModel, TrainerCallback

from rbpkit.corpora import Corpus
from rbpkit.encoding import EncodedCorpus, encode
from rbpkit.errors import InputError, check_whole
from rbpkit.files.architectures import family_of
from rbpkit.measuring import BATCH_TOKENS, MAX_LENGTH, measured_ranks
from rbpkit.models import Head, LoadedModel, linear_head, non_embedding_parameters
from rbpkit.ranking import NonFiniteError

if TYPE_CHECKING:
    import pandas as pd
    from transformers import PreTrainedTokenizerBase, Trainer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Point:
    """What one measurement gave.

    S: non-embedding parameters. step: optimizer steps done. tokens: training tokens seen, or
    None if the Trainer does not count them. scored: tokens that were ranked. CE in nats.
    rbp: RBP_k by k. CE and RBP are NaN if the model gave NaN or infinite logits.
    """

    S: int
    step: int
    tokens: int | None
    scored: int
    CE: float
    rbp: dict[int, float]


class RBPCallback(TrainerCallback):
    """Log RBP_k (Eq. 4) and CE of held-out documents during training.

    `RBPCallback(documents, tokenizer, every=500).attach(trainer)`, before `trainer.train()`.
    Each measurement goes through `trainer.log` as `eval_rbp_1`, ..., `eval_ce`, so that every
    reporter gets it, and into `history` and `table()`. If the callback is only given to the Trainer
    as `callbacks=[...]`, it cannot reach `trainer.log`: the values then go to the Trainer's
    `state.log_history`, and to no reporter.

    documents: strings, each a document, or a `Corpus`; tokenized once, by the model's own
    `tokenizer`. ks: the k of RBP_k. every: optimizer steps from one measurement to the next; None
    measures whenever the Trainer evaluates, and adds the values to its metrics, so that
    `metric_for_best_model="eval_rbp_1"` works. The last step is always measured,
    except with `load_best_model_at_end`: the weights are then those of another step.
    max_length: truncate documents at this many tokens, or at the model's context if that is less.
    batch_tokens: most tokens of a forward pass; as in `measure`, another value changes last bits.

    The model is measured as it is, in the dtype of its weights, on its device, in evaluation mode
    and without autocast. Tokens seen are `state.num_input_tokens_seen`: set
    `include_num_input_tokens_seen` in the training arguments. Of several processes the first
    measures. Weights that are split among processes (FSDP, ZeRO stage 3) cannot be measured.

    Raises InputError for settings out of range. When training begins, it also raises it for
    documents that leave nothing to score, and for a model that is not a causal language model of
    transformers. NaN during training is logged as NaN, and does not stop it.
    """

    def __init__(
        self,
        documents: Corpus | Sequence[str],
        tokenizer: PreTrainedTokenizerBase,
        ks: Sequence[int] = (1, 10),
        *,
        every: int | None = None,
        max_length: int = MAX_LENGTH,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        check_whole("batch_tokens", batch_tokens, 1)
        for key, values in (("ks", ks), ("every", () if every is None else (every,))):
            for value in values:
                if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                    raise InputError(f"{key}: {value!r} must be a whole number, 1 or more")
        if not ks:
            raise InputError("ks is empty: give one k or more, as ks=(1, 10)")
        self.history: list[Point] = []
        self._corpus = documents if isinstance(documents, Corpus) else Corpus.of(documents)
        self._tokenizer = tokenizer
        self._ks = tuple(dict.fromkeys(ks))
        self._every = every
        self._max_length = max_length
        self._batch_tokens = batch_tokens
        self._encoded: EncodedCorpus | None = None
        self._probed: tuple[Head | None, int] = (None, 0)  # the model's head; V
        self._log: Callable[[dict[str, float]], None] | None = None

    def attach(self, trainer: Trainer) -> RBPCallback:
        """Add the callback to `trainer`, and log by `trainer.log`; the callback itself."""
        if self not in trainer.callback_handler.callbacks:
            trainer.add_callback(self)
        self._log = trainer.log
        return self

    def table(self) -> pd.DataFrame:
        """`history` as a table, a row for each measurement: S, step, tokens, scored, CE, RBP_k."""
        import pandas as pd

        columns = ["S", "step", "tokens", "scored", "CE", *(f"RBP_{k}" for k in self._ks)]
        rows = [(p.S, p.step, p.tokens, p.scored, p.CE, *p.rbp.values()) for p in self.history]
        return pd.DataFrame(rows, columns=columns).astype({"tokens": "Int64"})

    def on_train_begin(self, args, state, control, model=None, **kwargs) -> None:
        """Tokenize the documents and look at the model: their faults show before training."""
        if not state.is_world_process_zero:
            return
        if not isinstance(model, PreTrainedModel) or model.get_output_embeddings() is None:
            raise InputError(
                f"RBPCallback: {type(model).__name__} is not a causal language model of"
                " transformers; give the Trainer one (AutoModelForCausalLM)"
            )
        context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        length = self._max_length if context is None else min(self._max_length, context)
        self._encoded = encode(self._corpus, self._tokenizer, max_length=length)
        # A resumed training keeps what was measured before the step that it resumes from.
        self.history = [point for point in self.history if point.step <= state.global_step]
        with undisturbed(model):
            self._probed = linear_head(model, type(model).__name__)

    def on_step_end(self, args, state, control, model=None, **kwargs) -> None:
        """Measure every `every` steps."""
        if self._every is not None and state.global_step % self._every == 0:
            self._note(state, control, model)

    def on_evaluate(self, args, state, control, model=None, metrics=None, **kwargs) -> None:
        """With every=None, measure whenever the Trainer evaluates, and add to its metrics."""
        if self._every is None:
            logs = self._note(state, control, model)
            if metrics is not None:
                metrics.update(logs)

    def on_train_end(self, args, state, control, model=None, **kwargs) -> None:
        """Measure the trained model, unless the last step was already measured."""
        if getattr(args, "load_best_model_at_end", False):
            return  # the weights are now those of another step
        if not self.history or self.history[-1].step != state.global_step:
            self._note(state, control, model)

    def measure(self, model: PreTrainedModel, *, step: int = 0, tokens: int | None = None) -> Point:
        """Rank the documents under `model` as it is now. `history` is left alone.

        Raises InputError before training has begun, and if memory does not suffice.
        """
        if self._encoded is None:
            raise InputError("RBPCallback: training has not begun; nothing is tokenized yet")
        nll: list[np.ndarray] = []
        hits = dict.fromkeys(self._ks, 0)
        scored = self._encoded.tokens
        S = non_embedding_parameters(model)
        with undisturbed(model):
            try:
                for _, ranks in measured_ranks(
                    self._loaded(model, S), self._encoded, self._batch_tokens
                ):
                    rank = ranks.rank().cpu().numpy()
                    nll.append(ranks.nll.cpu().numpy().astype(np.float64))
                    for k in hits:
                        hits[k] += int(np.count_nonzero(rank <= k))
            except NonFiniteError as error:
                logger.warning("step %d is not measured: %s", step, error)
                return Point(S, step, tokens, scored, math.nan, dict.fromkeys(hits, math.nan))
        CE = math.fsum(np.concatenate(nll)) / scored
        return Point(S, step, tokens, scored, CE, {k: n / scored for k, n in hits.items()})

    def _note(self, state: Any, control: Any, model: PreTrainedModel) -> dict[str, float]:
        """Measure, keep and log, in the first process only -> what was logged."""
        if not state.is_world_process_zero:
            return {}
        if self._encoded is None:  # trainer.evaluate() before, or without, any training
            self.on_train_begin(None, state, control, model=model)
        tokens = state.num_input_tokens_seen or None
        point = self.measure(model, step=state.global_step, tokens=tokens)
        self.history.append(point)
        logs = {f"eval_rbp_{k}": value for k, value in point.rbp.items()} | {"eval_ce": point.CE}
        if self._log is None:
            state.log_history.append({**logs, "epoch": state.epoch, "step": state.global_step})
        else:
            # The Trainer would take this for its own log, and leave out the loss of this step.
            should_log = control.should_log
            self._log(dict(logs))
            control.should_log = should_log
        return logs

    def _loaded(self, model: PreTrainedModel, S: int) -> LoadedModel:
        """The model in training as a `LoadedModel`; nothing is copied."""
        layer, (head, V) = model.get_output_embeddings(), self._probed
        config = model.config.get_text_config()
        return LoadedModel(
            name=type(model).__name__,
            revision="",
            family=family_of(model.config),
            S=S,
            V=V,
            dtype=str(model.dtype).removeprefix("torch."),
            device=str(model.device),
            context=getattr(config, "max_position_embeddings", None),
            tokenizer=self._tokenizer,
            head=head and head._replace(weight=layer.weight, bias=layer.bias),
            model=model,
        )


@contextmanager
def undisturbed(model: PreTrainedModel) -> Iterator[None]:
    """Evaluation mode and no gradients for this block; afterwards everything is as it was.

    This restores each module's mode, a `forward` that accelerate has wrapped in autocast, and the
    random states of torch (on the CPU and on the model's device), NumPy and Python.
    """
    modes = {module: module.training for module in model.modules()}
    wrapped = {name: model.__dict__.pop(name) for name in ("forward",) if name in model.__dict__}
    drawn, python = np.random.get_state(), random.getstate()
    place = model.device
    gpus = [place] if place.type == "cuda" else []  # the CPU's numbers are always kept
    try:
        with (
            torch.random.fork_rng(devices=gpus),
            torch.no_grad(),
            torch.autocast(place.type, enabled=False),
        ):
            model.eval()
            yield
    finally:
        for module, training in modes.items():
            module.training = training
        model.__dict__.update(wrapped)
        np.random.set_state(drawn)
        random.setstate(python)
