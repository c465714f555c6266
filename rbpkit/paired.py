"""Two models on the same documents: their difference, with its interval.

Both are measured on the same text, so what makes a document hard for both cancels in the
difference. Its interval is narrower than those of the two models suggest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rbpkit.errors import InputError
from rbpkit.fit import tokenizers
from rbpkit.summary import Summary, interval, resample

# Share of the scored bytes by which the texts of two tokenizers may differ.
MOST_OTHER_TEXT = 0.001


def same_tokens(a: Summary, b: Summary) -> bool:
    """Whether both models scored the same tokens, not only the same text in other tokens.

    InputError, one line, unless they scored the same text, and for two tokenizers whose scored
    bytes differ by more than MOST_OTHER_TEXT, counted document by document.
    """
    names = f"{a.manifest.model} and {b.manifest.model}"
    for setting in ("corpus", "fingerprint", "documents", "max_length", "stride"):
        if getattr(a.manifest, setting) != getattr(b.manifest, setting):
            raise InputError(f"{names} were not measured on the same text: {setting} differs")
    if len(tokenizers([a, b])) == 1 and np.array_equal(a.document_tokens, b.document_tokens):
        return True
    by_document = [pd.Series(one.document_bytes(), one.document) for one in (a, b)]
    scored = pd.concat(by_document, axis=1, keys=["A", "B"]).fillna(0)
    other = (scored["A"] - scored["B"]).abs().sum() / scored.max(axis=1).sum()
    if other > MOST_OTHER_TEXT:
        raise InputError(
            f"{names}: their tokenizers differ, and {100 * other:.2g}% of the text was scored by"
            " one alone, so not even bits per byte compare; cut the texts to what max_length holds"
            " (max_bytes of load_corpus), or score all of them (stride), and take long documents:"
            " a first token is not scored"
        )
    return False


def differences(a: Summary, b: Summary, ks: Sequence[int]) -> pd.DataFrame:
    """B minus A in CE (nats) and in RBP_k, one row each: quantity, A, B, B-A, low, high.

    Of two tokenizers it is one row, bits per byte: tokens of two tokenizers do not compare.
    low, high: the 95% interval of the difference for other documents like these: a cluster
    bootstrap, whose draws both models share. Raises InputError for models that do not compare, a k
    that is not on the summaries' grid, and fewer than two documents or units.
    """
    if same_tokens(a, b):
        drawn = resample([a, b], ks)
        found = [("CE", a.ce(), b.ce(), drawn.ce)]
        for place, k in enumerate(ks):
            found.append((f"RBP_{k}", a.rbp(k), b.rbp(k), drawn.rbp[:, :, place]))
    else:
        bits = a.bits_per_byte(), b.bits_per_byte()
        found = [("bits_per_byte", *bits, resample([a, b]).bits_per_byte)]
    rows = []
    for quantity, of_a, of_b, draws in found:  # draws: (B, 2), of both models
        low, high = interval(draws[:, 1] - draws[:, 0])
        rows.append((quantity, of_a, of_b, of_b - of_a, low, high))
    return pd.DataFrame(rows, columns=["quantity", "A", "B", "B-A", "low", "high"])
