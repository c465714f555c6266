"""rbpkit inside lm-evaluation-harness: every token of a continuation is ranked, and kept.

`python -m rbpkit.tools.harness run --model rbpkit --model_args pretrained=...,records=records
--tasks ...` is `lm_eval` with one more model class. A task of log-likelihoods then has RBP_k
next to its accuracy: `rbpkit show records`.
"""

from __future__ import annotations

import copy
import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from lm_eval.api.instance import Instance
from lm_eval.api.model import TemplateLM
from lm_eval.api.registry import register_model
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window

from rbpkit.corpora import Corpus
from rbpkit.encoding import EncodedCorpus, EncodedDocument
from rbpkit.errors import InputError
from rbpkit.measuring import BATCH_TOKENS, MAX_LENGTH, measure
from rbpkit.models import load_model

Tokens = list[int]


@register_model("rbpkit")
class RankingLM(TemplateLM):
    """A model of `load_model` for the harness: log-likelihoods from ranked tokens.

    - pretrained: a hub id, a folder, or a plugin's PLUGIN:NAME.
    - records: the folder that records of each task go to; None for none.
    - max_length: tokens of context and continuation together; by default the model's context.
    - batch_tokens: as of `measure`; it takes the place of batch_size, which is ignored.
    - device: without a GPU the CPU, as for the harness's own models.
    - dtype, revision, tokenizer: as of `load_model`.

    A continuation is greedy if every token of it has rank 1 (Eq. 3), so ties count against the
    model. It is never cut; a longer context loses its beginning. Raises InputError for a
    continuation that is empty or does not fit, and as `load_model`.
    """

    def __init__(
        self,
        pretrained: str,
        records: str | None = None,
        max_length: int | None = None,
        batch_tokens: int = BATCH_TOKENS,
        batch_size: Any = None,
        max_batch_size: Any = None,
        device: str | None = None,
        **loading: Any,
    ) -> None:
        super().__init__()
        # The harness asks for cuda:0 if nothing is named, whether there is one or not.
        if device is not None and device.startswith("cuda") and not torch.cuda.is_available():
            device = None
        self.loaded = load_model(pretrained, device=device, **loading)
        self.tokenizer = self.loaded.tokenizer
        self.max_length = max_length or self.loaded.context or MAX_LENGTH
        self._records = records
        self._batch_tokens = batch_tokens

    @property
    def eot_token_id(self) -> int:
        """The token that the harness takes as the end of a text."""
        return self.tokenizer.eos_token_id

    @property
    def prefix_token_id(self) -> int:
        """What comes before a text without a context."""
        bos = self.tokenizer.bos_token_id
        return self.eot_token_id if bos is None else bos

    def tok_encode(
        self, string: str, add_special_tokens: bool | None = None, **kwargs: Any
    ) -> Tokens:
        """The ids of a text; the tokenizer's own special tokens unless it begins with them."""
        if add_special_tokens is None:
            prefix = self.tokenizer.decode([self.prefix_token_id])
            add_special_tokens = not string.startswith(prefix)
        return self.tokenizer.encode(string, add_special_tokens=add_special_tokens)

    def loglikelihood(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """The log-probability of each continuation (nats), and whether it is greedy."""
        return [(-nll, missed == 0) for nll, missed in self._scored(requests, self._pair)]

    def loglikelihood_rolling(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[float]:
        """The log-probability of each text (nats), in windows as the harness makes them."""
        # An empty text has 0, not -0.
        return [0.0 - nll for nll, _ in self._scored(requests, self._windows)]

    def _scored(
        self, requests: list[Instance], encode: Callable[..., Iterable[tuple[Tokens, Tokens]]]
    ) -> Iterator[tuple[float, int]]:
        """Of each request its nats, and how many of its tokens have a rank above 1.

        encode: the arguments of a request -> contexts and what is scored after each.
        """
        for task, of_task in itertools.groupby(requests, key=_task_of):
            asked = list(of_task)
            documents = []
            for number, request in enumerate(asked):
                before = 0  # tokens of the text in earlier windows
                for context, continuation in encode(*request.args):
                    documents.append(self._document(number, context, continuation, before))
                    before += len(continuation)
            if not documents:  # all texts are empty
                yield from [(0.0, 0)] * len(asked)
                continue
            columns = self._ranked_columns(task, asked, documents)
            nll = np.bincount(columns["document"], columns["nll"], minlength=len(asked))
            # Without n_equal, as of a served model, n_greater counts ties, too.
            not_first = columns["n_greater"] + columns.get("n_equal", 0) > 0
            missed = np.bincount(columns["document"], not_first, minlength=len(asked))
            yield from zip(nll.tolist(), missed.tolist(), strict=True)

    def _loglikelihood_tokens(self, requests: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("requests are ranked task by task, by loglikelihood")

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """Refused: nothing is ranked when text is generated."""
        raise InputError("the model class rbpkit scores text and generates none; take --model hf")

    def _pair(self, context: str, continuation: str) -> list[tuple[Tokens, Tokens]]:
        """The ids of both, as the harness divides them."""
        if context:
            before, after = self._encode_pair(context, continuation)
            # White space at the end of a context goes to the continuation, so nothing may be left.
            return [(before or [self.prefix_token_id], after)]
        prefix = [self.prefix_token_id]
        ids = self.tok_encode(continuation, add_special_tokens=False)
        return [(prefix, ids[1:] if ids[:1] == prefix else ids)]

    def _windows(self, text: str) -> Iterator[tuple[Tokens, Tokens]]:
        """The windows of a text: what was scored before, and what is scored in this one."""
        windows = get_rolling_token_windows(
            token_list=self.tok_encode(text),
            prefix_token=self.prefix_token_id,
            max_seq_len=self.max_length - 1,
            context_len=1,
        )
        return map(make_disjoint_window, windows)

    def _document(
        self, number: int, context: Tokens, continuation: Tokens, before: int = 0
    ) -> EncodedDocument:
        """A continuation after its context; before: how many tokens its position begins after."""
        room = self.max_length - len(continuation)
        if room < 1 or not continuation:
            raise InputError(
                f"request {number}: a continuation of {len(continuation)} tokens does not fit after"
                f" its context (max_length={self.max_length})"
            )
        context = context[-room:]
        ids = np.array(context + continuation, dtype=np.int32)
        scored = np.arange(1, len(ids)) >= len(context)
        return EncodedDocument(number, ids, scored, start=1 + before - len(context))

    def _ranked_columns(
        self, task: str, requests: Sequence[Instance], documents: Iterable[EncodedDocument]
    ) -> dict[str, np.ndarray]:
        """The columns of the records of a task; in a folder they are written, or found."""
        corpus = _corpus_of(task, requests)
        encoded = EncodedCorpus(
            corpus=corpus.id,
            max_length=self.max_length,
            documents=tuple(documents),
        )
        # `measure` has a model encode its corpus, and the harness divides texts in its own way.
        ranker = copy.copy(self.loaded)
        ranker.encode = lambda *_: encoded  # type: ignore[method-assign]
        # One document with several continuations is a choice, and only one of them is right.
        is_choice = any(request.idx for request in requests)
        measured = measure(
            ranker,
            corpus,
            None if is_choice else self._records,
            max_length=self.max_length,
            batch_tokens=self._batch_tokens,
            say=logging.getLogger(__name__).info,
        )
        return measured.records.columns()


def _task_of(request: Instance) -> str:
    return request.task_name or "requests"


def _corpus_of(task: str, requests: Sequence[Instance]) -> Corpus:
    """The requests of a task as a corpus, whose fingerprint covers contexts and continuations."""
    contexts = tuple(request.args[0] for request in requests if len(request.args) == 2)
    texts = tuple(request.args[-1] for request in requests)
    return Corpus(
        f"lm_eval:{task}",
        documents=texts,
        units=tuple(str(request.doc_id) for request in requests),
        prompts=contexts or None,
    )


if __name__ == "__main__":
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()
