"""Summaries of ranks that a test makes up."""

from __future__ import annotations

import numpy as np

from rbpkit.files.manifest import Manifest
from rbpkit.records import Records
from rbpkit.summary import Summary


def made(S: int, ranks, documents=None, V=4096, name="m", corpus="c", family="f") -> Summary:
    """The summary of tokens of these ranks, in documents of ten tokens or as given."""
    rank = np.asarray(ranks, np.int32)
    document = np.arange(rank.size, dtype=np.int32) // 10 if documents is None else documents
    manifest = Manifest(
        model=f"{name}{S}", revision="", family=family, S=S, V=V, corpus=corpus, fingerprint="f",
        documents=int(document[-1]) + 1, max_length=64, dtype="float32", device="cpu", threads=1,
        batch_tokens=64, seed=42, tokens=rank.size, format=1,
        versions={"torch": "2", "transformers": "5", "tokenizers": "1"},
    )  # fmt: skip
    position = np.arange(rank.size) - np.searchsorted(document, document) + 1
    zero = np.zeros_like(rank)
    nll = (2 * np.log(rank) + 0.1).astype(np.float32)
    return Records(
        document.astype(np.int32), position.astype(np.int32), zero, rank - 1, zero, nll, manifest
    ).summary()
