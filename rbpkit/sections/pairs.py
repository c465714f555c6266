"""Tokens that repeat a pair: what a model can copy from earlier in the document.

A scored token t_i *completes a pair* where the two tokens (t_{i-1}, t_i) stood side by side earlier
in the same document. A model that looks up what followed the last t_{i-1} gets it right; Olsson et
al. (2022, arXiv 2209.11895) call the circuit that does so an induction head.
"""

from __future__ import annotations

import numpy as np

from rbpkit.records import Records


def completes_pair(records: Records) -> np.ndarray:
    """(T,) bool: whether a scored token and the one before it stood side by side before.

    In the same document, both scored each time: the first token of a document never is, so a pair
    that begins with it does not count, neither the first time nor again.
    """
    V, target = records.manifest.V, records.target.astype(np.int64)
    document = records.document.astype(np.int64)
    found = np.zeros(records.tokens, dtype=bool)
    within = 1 + np.flatnonzero(document[1:] == document[:-1])  # the one before is scored too
    pair = (document[within] * V + target[within - 1]) * V + target[within]
    _, first = np.unique(pair, return_index=True)
    again = np.ones(within.size, dtype=bool)
    again[first] = False
    found[within[again]] = True
    return found
