"""Calibration: of the tokens whose largest probability is near p, does a share p have rank 1?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from rbpkit.records import Records
from rbpkit.stats.bootstrap import DRAWS, interval, resample_weights, sampling_units

BINS = 10  # of equal width on [0, 1], as in Guo et al. (2017, arXiv 1706.04599)
LEAST = 50  # tokens of a bin that gets an interval


def reliability_table(records: Records, draws: int = DRAWS) -> pd.DataFrame:
    """The tokens of a job by their p_max: a row for each bin that has any; none from format 1.

    Columns: bin (0 to BINS - 1), tokens, p_max (their mean), hits (those of rank 1, Eq. 3), low,
    high (95% of hits / tokens; bootstrap of the text, over the draws that have tokens in the bin;
    NaN below LEAST tokens, and for text of one unit).
    """
    columns = ["bin", "tokens", "p_max", "hits", "low", "high"]
    if records.p_max is None:
        return pd.DataFrame(columns=columns)
    p = np.minimum(records.p_max.astype(np.float64), 1.0)
    place = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    documents, document = np.unique(records.document, return_inverse=True)
    tokens = np.zeros((documents.size, BINS), dtype=np.int64)
    hits = np.zeros_like(tokens)
    np.add.at(tokens, (document, place), 1)
    np.add.at(hits, (document, place), records.rank() == 1)
    units = sampling_units(records.manifest.corpus, documents)
    weights = resample_weights(units, draws) if units.max() else None
    rows = []
    for b in np.flatnonzero(tokens.sum(axis=0)):
        count, right = int(tokens[:, b].sum()), int(hits[:, b].sum())
        low, high = np.nan, np.nan
        if count >= LEAST and weights is not None:
            drawn = weights @ tokens[:, b]
            low, high = interval((weights @ hits[:, b])[drawn > 0] / drawn[drawn > 0])
        rows.append((b, count, p[place == b].mean(), right, low, high))
    return pd.DataFrame(rows, columns=columns)
