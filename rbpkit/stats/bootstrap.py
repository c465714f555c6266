"""The bootstrap of several models: `rbpkit.resampling` with the same draws for all of them.

All models of a corpus take the same draws (paired), so what is common to them cancels in a
difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbpkit.errors import InputError
from rbpkit.resampling import DRAWS, SEED, weight_blocks
from rbpkit.summary import Summary


@dataclass(frozen=True, eq=False)
class Resampled:
    """What the models of one corpus would have measured on each resample of its text.

    ce: (B, n) nats, rbp: (B, n, K) shares in [0, 1], for B resamples, n models and K values of k.
    """

    ce: np.ndarray
    rbp: np.ndarray

    @property
    def loss(self) -> np.ndarray:
        """-log RBP_k, (B, n, K): inf if a resample has no hit, 0 if it has nothing else."""
        with np.errstate(divide="ignore"):
            return np.abs(np.log(self.rbp))


def resample(
    summaries: Sequence[Summary], ks: Sequence[int] = (), draws: int = DRAWS, seed: int = SEED
) -> Resampled:
    """CE and RBP_k of models of one corpus on `draws` resamples, the same for every model.

    A document without a scored token of one model (another tokenizer cuts it) is drawn for the
    others alone. Raises InputError for models of several corpora or texts, for models whose records
    have other units, for a k that is not on a summary's grid, and for fewer than two units.
    """
    texts = {(summary.manifest.corpus, summary.manifest.fingerprint) for summary in summaries}
    if len(texts) != 1:
        corpora = sorted({corpus for corpus, _ in texts}) or ["nothing"]
        raise InputError(
            f"{', '.join(corpora)}: models were measured on different text, not paired"
        )
    documents, units = _documents_and_units(summaries)
    ce_blocks, rbp_blocks = [], []
    for weights in weight_blocks(units, draws, seed):
        ce, rbp = [], []
        for summary in summaries:
            own = weights[:, np.searchsorted(documents, summary.document)]
            tokens = own @ summary.document_tokens
            hits = own @ summary.hits(ks).astype(np.float64)
            # A resample may have no token of a model that scored few documents.
            with np.errstate(invalid="ignore", divide="ignore"):
                ce.append(own @ summary.document_nll / tokens)
                rbp.append(hits / tokens[:, None])
        ce_blocks.append(np.stack(ce, axis=1))
        rbp_blocks.append(np.stack(rbp, axis=1))
    return Resampled(np.concatenate(ce_blocks), np.concatenate(rbp_blocks))


def _documents_and_units(summaries: Sequence[Summary]) -> tuple[np.ndarray, np.ndarray]:
    """The documents that some model scored, (D,) their numbers, and their units, (D,).

    Raises InputError if two models have a document in different units.
    """
    documents = np.unique(np.concatenate([summary.document for summary in summaries]))
    units = np.full(documents.size, -1)
    for summary in summaries:
        places = np.searchsorted(documents, summary.document)
        known = units[places]
        if np.any((known != -1) & (known != summary.document_units)):
            raise InputError(
                f"{summary.manifest.corpus}: {summary.manifest.model} was measured with other units"
                " than the models before it; measure all of them with the same --unit"
            )
        units[places] = summary.document_units
    return documents, units
