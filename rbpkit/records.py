"""Records: one row a scored token, measured once; what they say, and what no model can give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rbpkit.errors import InputError
from rbpkit.manifest import Manifest
from rbpkit.recordfiles import COLUMNS, damaged, open_verified, stem_of
from rbpkit.summary import (
    Histogram,
    Summary,
    SummaryBuilder,
    check_k,
    check_ties,
    document_index,
    window_maxima,
)

# nll >= ln R is exact for exact arithmetic: R terms of the sum are at least exp(z_t). In float32,
# nll = logsumexp(z) - z_t errs by half a last place of |logsumexp(z)| for every chunk of V that is
# merged: 2^-13 is that for logits of up to 1024 and four merges, or of up to 128 and thirty-two.
# The result's own rounding, and the exponentials', are relative: 2^-20 of nll, eight last places.
NLL_TOLERANCE = 2.0**-13
NLL_TOLERANCE_RELATIVE = 2.0**-20
PIECE = 1 << 20  # tokens that a summary takes at a time


@dataclass(frozen=True, eq=False)
class Records:
    """What one model made of one corpus: (T,) a column, in the order of the protocol.

    `document` (from 0), `position` of the scored token in it (from 1), `target` its id,
    `n_greater` and `n_equal` how many other tokens had a greater and the same logit: int32;
    `nll` float32, nats. Raises InputError, saying which row, for columns that no model can give.
    """

    document: np.ndarray
    position: np.ndarray
    target: np.ndarray
    n_greater: np.ndarray
    n_equal: np.ndarray
    nll: np.ndarray
    manifest: Manifest

    def __post_init__(self) -> None:
        name = f"records of {self.manifest.model} on {self.manifest.corpus}"
        for column, dtype in COLUMNS.items():
            array = getattr(self, column)
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
                raise InputError(f"{name}: {column} must be a flat array of {np.dtype(dtype)}")
            frozen = array.view()
            frozen.flags.writeable = False
            object.__setattr__(self, column, frozen)
        sizes = {column: getattr(self, column).size for column in COLUMNS}
        if set(sizes.values()) != {self.manifest.tokens} or not self.manifest.tokens:
            raise InputError(f"{name}: {self.manifest.tokens} tokens in the manifest, but {sizes}")
        check_columns(self.columns(), self.manifest, name)

    def columns(self) -> dict[str, np.ndarray]:
        """The columns by name, (T,) each: `nll` float32 (nats), the others int32; read-only."""
        return {column: getattr(self, column) for column in COLUMNS}

    @property
    def tokens(self) -> int:
        """T, the scored tokens."""
        return self.nll.size

    def rank(self, ties: str = "pessimistic") -> np.ndarray:
        """R, (T,) int32, from 1. Pessimistic is Eq. 3: tied tokens stand before the target."""
        check_ties(ties)
        if ties == "optimistic":
            return self.n_greater + 1
        return self.n_greater + self.n_equal + 1

    def rbp(self, k: int | np.ndarray, ties: str = "pessimistic") -> float | np.ndarray:
        """RBP_k = Pr(R <= k), Eq. 4: float for a scalar k, else an array. InputError if k < 1."""
        return Histogram.of(np.bincount(self.rank(ties))).share(k)

    def ce(self) -> float:
        """Mean negative log-likelihood, nats, summed in float64 document by document."""
        _, index = document_index(self.document)
        return math.fsum(np.bincount(index, weights=self.nll)) / self.tokens

    def success(self, N: int, k: int | np.ndarray) -> float | np.ndarray:
        """p_{N,k}, Section 5.1: share of windows of N scored tokens with every R <= k.

        Windows slide by one token, lie inside one document and have adjacent positions.
        InputError for N < 1, k < 1 and where no document has such a window.
        """
        if isinstance(N, bool) or not isinstance(N, int | np.integer) or N < 1:
            raise InputError(f"N must be a whole number of at least 1, got {N!r}")
        check_k(k)
        ((_, largest),) = window_maxima(self.rank(), self.document, self.position, (N,))
        if not largest.size:
            name = f"{self.manifest.model} on {self.manifest.corpus}"
            raise InputError(f"no document of {name} has {N} consecutive scored tokens")
        return Histogram.of(np.bincount(largest)).share(k)

    def summary(self) -> Summary:
        """All this as a `Summary`: the same integers, at every k and for N in WINDOWS."""
        builder = SummaryBuilder(self.manifest.V)
        starts = np.flatnonzero(np.diff(self.document, prepend=-1))
        cuts = starts[np.unique(starts // PIECE, return_index=True)[1]]
        for start, end in zip(cuts, [*cuts[1:], self.tokens], strict=True):
            builder.add({name: array[start:end] for name, array in self.columns().items()})
        return builder.finish(self.manifest)

    @classmethod
    def load(cls, path: str | Path) -> Records:
        """The records at `path`: the .parquet, its .json, or their common stem.

        Everything is verified: manifest, sha256, page checksums, schema, row count, values.
        InputError names the file and the way out.
        """
        manifest, file, name = open_verified(stem_of(path))
        with file:
            try:
                table = pq.read_table(file, page_checksum_verification=True)
            except (pa.ArrowException, OSError) as error:
                raise damaged(name, error) from error
        try:
            columns = {column: table[column].to_numpy() for column in COLUMNS}
            return cls(**columns, manifest=manifest)
        except InputError as error:
            raise damaged(name, error) from error


def check_columns(columns: dict[str, np.ndarray], manifest: Manifest, name: object) -> None:
    """InputError that begins with `name` and gives the first row that cannot be."""
    document, position, target, n_greater, n_equal, nll = (columns[c] for c in COLUMNS)
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
    for fault, where in faults.items():
        if where.any():
            row = int(where.argmax())
            values = ", ".join(f"{column} {array[row]}" for column, array in columns.items())
            raise InputError(f"{name}: {fault} at row {row} ({values})")
