"""What a job is before it is run: its key. No model is loaded for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbpkit.corpora import Corpus
from rbpkit.manifest import JobKey

if TYPE_CHECKING:
    from rbpkit.models import FoundModel
    from rbpkit.ranker import Ranker


def job_key(model: Ranker | FoundModel, corpus: Corpus, max_length: int, stride: int) -> JobKey:
    """The key of a model on a corpus.

    A model whose context is shorter than `max_length` truncates there.
    """
    return JobKey(
        model=model.name,
        revision=model.revision,
        corpus=corpus.id,
        fingerprint=corpus.fingerprint,
        documents=len(corpus.documents),
        seed=corpus.protocol.get("seed") or 0,  # 0 also if nothing was shuffled
        dtype=model.dtype,
        max_length=min(max_length, model.context or max_length),
        stride=stride,
    )
