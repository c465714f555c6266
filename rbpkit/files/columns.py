"""The columns of a record file: their names and types, and the values that no model can give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from rbpkit.errors import InputError
from rbpkit.files.manifest import Manifest

COLUMNS = {"document": np.int32, "position": np.int32, "target": np.int32}
COLUMNS |= {"n_greater": np.int32, "n_equal": np.int32, "nll": np.float32}
PREDICTION = {"p_max": np.float32, "entropy": np.float32}  # from format 2 on

# nll >= ln R is exact for exact arithmetic: R terms of the sum are at least exp(z_t). In float32,
# nll = logsumexp(z) - z_t errs by half a last place of |logsumexp(z)| for every chunk of V that is
# merged: 2^-13 is that for logits of up to 1024 and four merges, or of up to 128 and thirty-two.
# The result's own rounding, and the exponentials', are relative: 2^-20 of nll, eight last places.
NLL_TOLERANCE = 2.0**-13
NLL_TOLERANCE_RELATIVE = 2.0**-20
PREDICTION_TOLERANCE = 2.0**-16  # relative: sums of V terms in float32


def columns_of(manifest: Manifest) -> dict[str, type]:
    """Name -> dtype of the columns that records of this manifest's format have."""
    return COLUMNS if manifest.format == 1 else COLUMNS | PREDICTION


def schema_of(manifest: Manifest) -> pa.Schema:
    """The Parquet schema of these columns, none of them with missing values."""
    types = columns_of(manifest).items()
    return pa.schema([pa.field(name, pa.from_numpy_dtype(dtype), False) for name, dtype in types])


def check_columns(columns: dict[str, np.ndarray], manifest: Manifest, name: object) -> None:
    """InputError that begins with `name` and gives the first row that cannot be."""
    document, position, target, n_greater, n_equal, nll = (columns[c] for c in COLUMNS)
    prediction = [columns[c] for c in PREDICTION if c in columns]
    V = manifest.V
    same = np.diff(document, prepend=-1) == 0
    rank = n_greater.astype(np.int64) + n_equal + 1
    faults = {
        f"document outside 0 to {manifest.documents - 1}": (document < 0)
        | (document >= manifest.documents),
        "documents out of order": np.diff(document, prepend=document[:1]) < 0,
        "position below 1": position < 1,
        "position does not rise": same & (np.diff(position, prepend=0) <= 0),
        f"target outside 0 to V - 1 = {V - 1}": (target < 0) | (target >= V),
        "negative count": (n_greater < 0) | (n_equal < 0),
        f"rank above V = {V}": rank > V,
        "nll not a finite number >= 0": ~(np.isfinite(nll) & (nll >= 0)),
        "nll below ln R (rank and probability contradict each other)": (
            nll.astype(np.float64) * (1 + NLL_TOLERANCE_RELATIVE) + NLL_TOLERANCE
            < np.log(np.maximum(rank, 1))
        ),
    }
    if prediction:
        faults |= _prediction_faults(*prediction, n_greater, nll, V)
    for fault, where in faults.items():
        if where.any():
            row = int(where.argmax())
            values = ", ".join(f"{column} {array[row]}" for column, array in columns.items())
            raise InputError(f"{name}: {fault} at row {row} ({values})")


def _prediction_faults(
    p_max: np.ndarray, entropy: np.ndarray, n_greater: np.ndarray, nll: np.ndarray, V: int
) -> dict[str, np.ndarray]:
    """Where p_max and entropy contradict each other, the rank or -log p(t): fault -> (T,) bool.

    A target that nothing is ahead of has p(t) = p_max, any other p(t) <= p_max. Of all
    predictions with that p_max the least entropy is -log p_max, and the largest is log V.
    """
    whole = np.isfinite(p_max) & (p_max > 0) & (p_max <= 1 + PREDICTION_TOLERANCE)
    least = -np.log(np.where(whole, p_max, 1).astype(np.float64))
    room = NLL_TOLERANCE + PREDICTION_TOLERANCE * (1 + nll.astype(np.float64))
    return {
        "p_max outside 0 to 1": ~whole,
        "p_max below p(t)": nll < least - room,
        "p_max is not p(t), though nothing is ahead of the target": (n_greater == 0)
        & (nll > least + room),
        "entropy below -log p_max or above log V": ~(
            (entropy >= least - room) & (entropy <= np.log(V) + room)
        ),
    }
