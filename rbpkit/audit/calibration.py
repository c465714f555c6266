"""Calibration by confidence: how often the likeliest token is right where a model says p_max.

A model is calibrated in this sense if, of the tokens with p_max near p, a share p has rank 1.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from rbpkit.records import Records

BINS = 10  # of equal width on [0, 1], as in Guo et al. (2017, arXiv 1706.04599)


def reliability_table(records: Records) -> pd.DataFrame:
    """The tokens of a job by their p_max: a row for each bin that has any; none from format 1.

    Columns: bin (0 to BINS - 1), tokens, p_max (their mean), hits (those of rank 1, Eq. 3).
    """
    columns = ["bin", "tokens", "p_max", "hits"]
    if records.p_max is None:
        return pd.DataFrame(columns=columns)
    p = np.minimum(records.p_max.astype(np.float64), 1.0)
    place = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    tokens = np.bincount(place, minlength=BINS)
    hits = np.bincount(place, weights=records.rank() == 1, minlength=BINS).astype(np.int64)
    there = np.flatnonzero(tokens)
    mean = np.bincount(place, weights=p, minlength=BINS)[there] / tokens[there]
    return pd.DataFrame(
        dict(zip(columns, (there, tokens[there], mean, hits[there]), strict=True)), columns=columns
    )


def expected_calibration_error(table: pd.DataFrame) -> float:
    """sum over bins of tokens / T * |hits / tokens - p_max|, of one job's `reliability_table`."""
    gap = (table["hits"] / table["tokens"] - table["p_max"]).abs()
    return float((gap * table["tokens"]).sum() / table["tokens"].sum())


TABLES = {"calibration": reliability_table}
