"""Summaries: what records say of RBP_k, CE and windows, small enough to commit.

A summary answers what its records answer (RBP_k and p_{N,k} at every k, CE) with the same
integers, without the records: tens of kB where they are megabytes. `records` makes summaries from
records and reads those of a folder (`load_summaries`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rbpkit.errors import InputError, check_ties
from rbpkit.files.manifest import Manifest
from rbpkit.files.summary_file import agrees, pack, refuse_damage, unpack

DEFAULT_KS = (1, 10, 50, 100)  # shown where no k is named
WINDOWS = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # N of Figure 7
SUMMED = ("nll", "p_max", "entropy")  # columns that are summed by document
# k of Figures 3 to 9 and of Table 1; with them powers of two, and 410, a tenth of the pocket V.
PAPER_K = (1, 2, 3, 5, 7, 10, 18, 30, 50, 78, 100, 200, 336, 500, 886, 1438, 2500, 3793)
PAPER_K += (6158, 10000, 20000, 30000)
K_GRID = tuple(sorted({*PAPER_K, 410, *(2**i for i in range(18))}))


def check_k(k: int | np.ndarray) -> np.ndarray:
    """`k` as an integer array; InputError unless every k is a whole number >= 1."""
    array = np.asarray(k)
    if array.dtype.kind not in "iu":
        raise InputError(f"k must be a whole number, got {k!r}")
    if array.size and array.min() < 1:
        raise InputError(f"k must be at least 1, got {array.min()}")
    return array


@dataclass(frozen=True, eq=False)
class Histogram:
    """How often each rank was seen: `values` (n,) int64 ascending, `counts` (n,) int64 > 0."""

    values: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, dense: np.ndarray) -> Histogram:
        """From `dense` counts, indexed by rank."""
        values = np.flatnonzero(dense)
        return cls(values, dense[values].astype(np.int64))

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def at_most(self, k: int | np.ndarray) -> np.ndarray:
        """How many are <= k, in the shape of `k`."""
        upto = np.concatenate(([0], np.cumsum(self.counts)))
        return upto[np.searchsorted(self.values, check_k(k), side="right")]

    def share(self, k: int | np.ndarray) -> float | np.ndarray:
        """Which share is <= k: a float for a scalar k, else an array. `total` must not be 0."""
        share = self.at_most(k) / self.total
        return float(share) if np.ndim(share) == 0 else share


@dataclass(frozen=True, eq=False)
class Summary:
    """What records say of RBP, CE and windows, and by document for a later bootstrap.

    `ranks`, `ranks_optimistic`: of the T tokens, ties counted against and for the target.
    `windows`: N -> largest (pessimistic) rank of every window of N consecutive scored tokens.
    By document, D of them: `document` its number, `document_tokens`, `document_nll` (float64,
    nats, summed) and `document_hits` (D, K) int32: tokens with R <= `k_grid` (K,);
    `document_p_max`, `document_entropy` (float64, summed; nats): None from records of format 1.
    Raises InputError where these contradict each other or the manifest, or no records give them.
    """

    manifest: Manifest
    ranks: Histogram
    ranks_optimistic: Histogram
    windows: Mapping[int, Histogram]
    document: np.ndarray
    document_tokens: np.ndarray
    document_nll: np.ndarray
    k_grid: np.ndarray
    document_hits: np.ndarray
    document_p_max: np.ndarray | None = None
    document_entropy: np.ndarray | None = None

    def __post_init__(self) -> None:
        if not agrees(self):
            raise InputError(f"summary of {self.manifest.model}: its parts contradict each other")

    @property
    def tokens(self) -> int:
        return self.manifest.tokens

    def rbp(self, k: int | np.ndarray, ties: str = "pessimistic") -> float | np.ndarray:
        """RBP_k = Pr(R <= k), Eq. 4, at any k >= 1 (InputError below); 1 from k = V on."""
        check_ties(ties)
        return (self.ranks if ties == "pessimistic" else self.ranks_optimistic).share(k)

    def ce(self) -> float:
        """Mean negative log-likelihood, nats."""
        return math.fsum(self.document_nll) / self.tokens

    def p_max(self) -> float | None:
        """E[p_max], the mean largest probability: RBP_1 of a calibrated model. None: format 1."""
        return None if self.document_p_max is None else math.fsum(self.document_p_max) / self.tokens

    def entropy(self) -> float | None:
        """E[H], nats, the mean entropy of the prediction: CE of a calibrated model."""
        if self.document_entropy is None:
            return None
        return math.fsum(self.document_entropy) / self.tokens

    def success(self, N: int, k: int | np.ndarray) -> float | np.ndarray:
        """p_{N,k}, Section 5.1. InputError for an N that is not stored or without a window."""
        if N not in self.windows:
            raise InputError(f"N = {N} is not in a summary (there are {sorted(self.windows)})")
        if not self.windows[N].total:
            name = f"{self.manifest.model} on {self.manifest.corpus}"
            raise InputError(f"no document of {name} has {N} consecutive scored tokens")
        return self.windows[N].share(k)

    def to_bytes(self) -> bytes:
        """As a compressed .npz without pickle; the same bytes for the same content."""
        return pack(self)

    @classmethod
    def from_bytes(cls, data: bytes, where: object = "summary") -> Summary:
        """Of what `to_bytes` gave; InputError that begins with `where` if it is damaged."""
        with refuse_damage(where):
            parts = unpack(data, where)
            for name in ("ranks", "ranks_optimistic"):
                parts[name] = Histogram(*parts[name])
            parts["windows"] = {N: Histogram(*pair) for N, pair in parts["windows"].items()}
            return cls(**parts)


def window_maxima(
    rank: np.ndarray, document: np.ndarray, position: np.ndarray, windows: tuple[int, ...]
) -> Iterator[tuple[int, np.ndarray]]:
    """For each N ascending: N and the largest rank of every window of N scored tokens.

    `rank`, `document`, `position`: (T,), whole documents in order. A window lies inside one
    document and its positions are adjacent. Maxima over powers of two are doubled from one to
    the next, and two of them that overlap make any N: no loop over tokens, 2 T numbers held.
    """
    run, span = rank, 1  # run[i] is the largest of rank[i : i + span]
    for N in sorted(windows):
        last = rank.size - N + 1
        if last < 1:
            yield N, rank[:0]
            continue
        while 2 * span <= N:
            run = np.maximum(run[:-span], run[span:])
            span *= 2
        largest = np.maximum(run[:last], run[N - span :])
        # Positions rise strictly in a document, so its ends show whether a window has a gap.
        whole = document[:last] == document[N - 1 :]
        whole &= position[N - 1 :] - position[:last] == N - 1
        yield N, largest[whole]


class SummaryBuilder:
    """Sums up records that come in pieces of whole documents, in memory that T does not move."""

    def __init__(self, V: int) -> None:
        self.V = V
        self._k = np.array([k for k in K_GRID if k < V], dtype=np.int32)
        # rank -> the first column of the grid that it hits; past the last: none
        self._column = np.searchsorted(self._k, np.arange(V + 1))
        self._optimistic = np.zeros(V + 1, dtype=np.int64)
        self._windows = {N: np.zeros(V + 1, dtype=np.int64) for N in WINDOWS}
        self._documents: list[tuple[np.ndarray, ...]] = []

    def add(self, given: Mapping[str, np.ndarray]) -> None:
        """Add checked columns, (t,) each; a document must not continue in the next piece."""
        names = ("document", "position", "n_greater", "n_equal")
        document, position, n_greater, n_equal = (given[name] for name in names)
        rank = n_greater + n_equal + 1
        self._optimistic += np.bincount(n_greater + 1, minlength=self.V + 1)
        for N, largest in window_maxima(rank, document, position, WINDOWS):
            self._windows[N] += np.bincount(largest, minlength=self.V + 1)
        numbers, index = document_index(document)
        columns = self._k.size + 1
        hits = np.bincount(index * columns + self._column[rank], minlength=numbers.size * columns)
        hits = np.cumsum(hits.reshape(-1, columns), axis=1)[:, :-1].astype(np.int32)
        tokens = np.bincount(index).astype(np.int32)
        sums = [np.bincount(index, weights=given[name]) for name in SUMMED if name in given]
        self._documents.append((numbers, tokens, hits, *sums))

    def finish(self, manifest: Manifest) -> Summary:
        """The summary of all that was added. InputError when that is not `manifest.tokens`."""
        if not self._documents:
            raise InputError(f"{manifest.model} on {manifest.corpus}: no scored token")
        numbers, tokens, hits, nll, *prediction = map(
            np.concatenate, zip(*self._documents, strict=True)
        )
        windows = {N: Histogram.of(dense) for N, dense in self._windows.items()}
        optimistic = Histogram.of(self._optimistic)
        # A window of one token has that token's rank: N = 1 is the ranks' own histogram.
        return Summary(
            *(manifest, windows[1], optimistic, windows, numbers, tokens, nll, self._k, hits),
            *prediction,
        )


def document_index(document: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The documents' numbers (D,) and for each token, (T,), which of them it is in."""
    starts = np.diff(document, prepend=-1) != 0
    return document[starts], np.cumsum(starts) - 1
