"""The bootstrap of every notebook: other text like the text that was scored, models held fixed.

What is resampled is what was sampled. The text of the pocket corpora was split by source module
(READMEs by distribution), and documents of one module are alike, so modules are drawn; of any
other corpus, HumanEval too, documents are. Tokens are never drawn: those of one document are alike
too. All models of a corpus take the same draws (paired), so what is common to them cancels in a
difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbpkit.errors import InputError
from rbpkit.summary import Summary
from rbpkit_pocket.documents import CORPORA, document_modules

SEED = 42
DRAWS = 1000


def sampling_units(corpus: str, documents: np.ndarray) -> np.ndarray:
    """(D,) int64: for each document the number, from 0, of the unit that was sampled with it.

    corpus: as in a manifest. documents: (D,) their numbers in the order of the protocol. Units are
    source modules for "pocket:..." of `pocket.documents` and the documents themselves otherwise.
    Raises InputError for a document that such a corpus does not list.
    """
    documents = np.asarray(documents)
    name = corpus.removeprefix("pocket:")
    if name == corpus or name not in CORPORA:
        return np.arange(documents.size)
    modules = np.asarray(document_modules(name))
    if documents.size and documents.max() >= modules.size:
        raise InputError(
            f"{corpus} lists {modules.size} documents, so none has the number {documents.max()};"
            " measure it again with this version of rbpkit"
        )
    return np.unique(modules[documents], return_inverse=True)[1]


def resample_weights(units: np.ndarray, draws: int = DRAWS, seed: int = SEED) -> np.ndarray:
    """How often each document is in each resample: (draws, D) float64 of whole numbers.

    units: (D,) as `sampling_units`. Each resample draws as many units as there are, with
    replacement, and takes every document of a unit drawn. The same arguments give the same draws.
    Raises InputError for fewer than two units, or draws < 1.
    """
    units = np.asarray(units)
    count = int(units.max(initial=-1)) + 1
    if count < 2:
        raise InputError(f"a bootstrap needs at least two documents or modules, not {count}")
    if draws < 1:
        raise InputError(f"draws must be at least 1, not {draws}")
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=draws)
    return drawn[:, units].astype(np.float64)  # floats: sums by BLAS, and still exact


def interval(draws: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The percentile interval of (draws,) finite values. InputError if a value is not finite."""
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise InputError("an interval needs a flat array of finite resampled values")
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


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
    others alone. Raises InputError for models of several corpora or texts, for a k that is not on
    a summary's grid, and for fewer than two units to draw.
    """
    if len({(one.manifest.corpus, one.manifest.fingerprint) for one in summaries}) != 1:
        there = sorted({one.manifest.corpus for one in summaries}) or ["nothing"]
        raise InputError(f"{', '.join(there)}: models were measured on different text, not paired")
    for one in summaries:
        if absent := sorted(set(ks) - set(one.k_grid.tolist())):
            name = f"{one.manifest.model} on {one.manifest.corpus}"
            raise InputError(f"{name}: k = {absent[0]} is not counted by document (see k_grid)")
    documents = np.unique(np.concatenate([one.document for one in summaries]))
    units = sampling_units(summaries[0].manifest.corpus, documents)
    weights = resample_weights(units, draws, seed)
    ce, rbp = [], []
    for one in summaries:
        own = weights[:, np.searchsorted(documents, one.document)]
        tokens = own @ one.document_tokens
        hits = own @ one.document_hits[:, np.searchsorted(one.k_grid, ks)].astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            ce.append(own @ one.document_nll / tokens)
            rbp.append(hits / tokens[:, None])
    return Resampled(np.stack(ce, axis=1), np.stack(rbp, axis=1))
