"""Two models on the same documents: the difference in CE and RBP_k, with its interval.

Both are measured on the same text, so what makes a document hard for both cancels in the
difference. Its interval is narrower than those of the two models suggest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rbpkit.errors import InputError
from rbpkit.summary import Summary, interval, resample


def check_comparable(a: Summary, b: Summary) -> None:
    """InputError, one line, unless both models scored the same tokens of the same documents.

    Two tokenizers are told apart by `targets`, and by how many tokens a document has.
    """
    names = f"{a.manifest.model} and {b.manifest.model}"
    for setting in ("corpus", "fingerprint", "documents", "max_length", "stride"):
        of_a, of_b = getattr(a.manifest, setting), getattr(b.manifest, setting)
        if of_a != of_b:
            found = f"{str(of_a)[:15]} and {str(of_b)[:15]}"
            raise InputError(f"{names} were not measured on the same text: {setting} {found}")
    same_documents = np.array_equal(a.document, b.document)
    same_targets = a.manifest.targets == b.manifest.targets
    same_tokens = same_documents and np.array_equal(a.document_tokens, b.document_tokens)
    if not same_targets or not same_tokens:
        raise InputError(
            f"{names}: their tokenizers cut the documents differently, so figures per token do not"
            " compare; compare measure(...).bits_per_byte()"
        )


def differences(a: Summary, b: Summary, ks: Sequence[int]) -> pd.DataFrame:
    """B minus A in CE (nats) and in RBP_k, one row each: quantity, A, B, B-A, low, high.

    low, high: the 95% interval of the difference for other documents like these: a cluster
    bootstrap, whose draws both models share. Raises InputError for models that do not compare, a k
    that is not on the summaries' grid, and fewer than two documents or units.
    """
    check_comparable(a, b)
    drawn = resample([a, b], ks)
    found = [("CE", a.ce(), b.ce(), drawn.ce)]
    for place, k in enumerate(ks):
        found.append((f"RBP_{k}", a.rbp(k), b.rbp(k), drawn.rbp[:, :, place]))
    rows = []
    for quantity, of_a, of_b, draws in found:  # draws: (B, 2), of both models
        low, high = interval(draws[:, 1] - draws[:, 0])
        rows.append((quantity, of_a, of_b, of_b - of_a, low, high))
    return pd.DataFrame(rows, columns=["quantity", "A", "B", "B-A", "low", "high"])


def most_different(a: Summary, b: Summary, count: int) -> pd.DataFrame:
    """The documents whose nats differ most, the most first.

    Columns: document (its number in the order of the protocol, from 0), tokens (scored), CE_A and
    CE_B of the document, nats (B minus A, summed over its tokens). Raises InputError for models
    that do not compare.
    """
    check_comparable(a, b)
    nats = b.document_nll - a.document_nll
    tokens = a.document_tokens
    columns = {
        "document": a.document,
        "tokens": tokens,
        "CE_A": a.document_nll / tokens,
        "CE_B": b.document_nll / tokens,
        "nats": nats,
    }
    order = np.argsort(-np.abs(nats), kind="stable")[:count]
    return pd.DataFrame(columns).iloc[order].reset_index(drop=True)
