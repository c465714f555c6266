"""Manifests, records and summaries that a test makes up."""

import numpy as np

from rbpkit.manifest import Manifest
from rbpkit.records import Records
from rbpkit.summary import Summary

VERSIONS = {"rbpkit": "0.1", "torch": "2", "transformers": "5", "tokenizers": "1", "python": "3"}


def make_manifest(**changes) -> Manifest:
    fields = {
        "model": "org/model-1.5b", "revision": "abc", "family": "Pythia", "S": 1000, "V": 60,
        "corpus": "Wiki", "fingerprint": "f0", "documents": 500, "max_length": 512,
        "dtype": "float32", "device": "cpu", "batch_tokens": 4096, "seed": 42,
        "versions": VERSIONS,
    }  # fmt: skip
    return Manifest(**fields | changes)


def records_of(
    ranks, documents=None, *, position=None, target=None, nll=None,
    S=10_000, V=4096, name="m", corpus="c", family="f", max_length=64,
) -> Records:  # fmt: skip
    """Tokens of these ranks, in documents of ten tokens or as given (a number for each token)."""
    rank = np.asarray(ranks, np.int32)
    document = np.arange(rank.size) // 10 if documents is None else np.asarray(documents)
    manifest = make_manifest(
        model=f"{name}{S}", family=family, S=S, V=V, corpus=corpus, max_length=max_length,
        documents=int(document[-1]) + 1, tokens=rank.size,
    )  # fmt: skip
    if position is None:
        position = np.arange(rank.size) - np.searchsorted(document, document) + 1
    zero = np.zeros_like(rank)
    whole = (document, position, zero if target is None else target, rank - 1)
    nll = np.asarray(2 * np.log(rank) + 0.1 if nll is None else nll, np.float32)
    columns = (np.asarray(one).astype(np.int32) for one in whole)
    entropy = np.minimum(nll, np.float32(np.log(V)))
    return Records(*columns, nll, manifest, zero, p_max=np.exp(-nll), entropy=entropy)


def made(S: int, ranks, documents=None, **about) -> Summary:
    """The summary of `records_of` the same."""
    return records_of(ranks, documents, S=S, **about).summary
