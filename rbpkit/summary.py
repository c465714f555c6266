"""Summaries: what records say about RBP_k, CE and windows, small enough to commit.

A summary answers what its records answer (RBP_k and p_{N,k} at every k, CE) with the same
integers, without the records: tens of kB instead of megabytes. `records.load_summaries` reads
those of a folder.
"""

from __future__ import annotations

import functools
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np

from rbpkit.errors import InputError, one_line, shown
from rbpkit.manifest import Manifest, checksum

DEFAULT_KS = (1, 10, 50, 100)  # shown if no k is named
WINDOWS = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # N of Figure 7
# Arrays of a summary that its file holds as they are; those that are None are missing there.
STORED = (
    *("document", "document_tokens", "document_units", "document_nll", "k_grid"),
    *("document_p_max", "document_entropy"),
)
# k of Figures 3 to 9 and of Table 1.
PAPER_K = (
    *(1, 2, 3, 5, 7, 10, 18, 30, 50, 78, 100, 200, 336, 500, 886, 1438, 2500, 3793),
    *(6158, 10000, 20000, 30000),
)
POWERS_OF_TWO = tuple(2**exponent for exponent in range(18))
TENTH_OF_POCKET_V = 410
K_GRID = tuple(sorted({*PAPER_K, *POWERS_OF_TWO, TENTH_OF_POCKET_V}))

SEED = 42  # of the cluster bootstrap
DRAWS = 1000


def check_k(k: int | np.ndarray) -> np.ndarray:
    """`k` as an integer array; InputError unless every k is a whole number >= 1."""
    array = np.asarray(k)
    if array.dtype.kind not in "iu":
        raise InputError(f"k must be a whole number, got {shown(k)}")
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
        """How many are <= k, in the shape of `k`. InputError for a k that is not from 1."""
        upto = np.concatenate(([0], np.cumsum(self.counts)))
        return upto[np.searchsorted(self.values, check_k(k), side="right")]

    def share(self, k: Any) -> Any:
        """Which share is <= k: a float for a scalar k, else an array. `total` must not be 0."""
        share = self.at_most(k) / self.total
        return float(share) if np.ndim(share) == 0 else share


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """What records say about RBP, CE and windows, and for each document for a later bootstrap.

    windows: N -> largest rank (Eq. 3) of every window of N consecutive scored tokens.

    Of each of D documents, (D,):
    document: its number in the order of the protocol.
    document_tokens: its scored tokens.
    document_nll, document_p_max, document_entropy: summed over its tokens, float64; nats (p_max has
        no unit). The last two are None if the model could not give them.
    document_hits: (D, K) int32, its tokens with R <= `k_grid` (K,).
    document_units: the number of the unit that it was sampled with, as its module or its author. If
        no unit is known, a document is one by itself, and has its own number here.
    """

    manifest: Manifest
    windows: Mapping[int, Histogram]
    document: np.ndarray
    document_tokens: np.ndarray
    document_nll: np.ndarray
    k_grid: np.ndarray
    document_hits: np.ndarray
    document_units: np.ndarray
    document_p_max: np.ndarray | None = None
    document_entropy: np.ndarray | None = None

    def __repr__(self) -> str:
        name = f"{self.manifest.model} on {self.manifest.corpus}"
        numbers = f"CE {self.ce():.3f}, RBP_1 {self.rbp(1):.4f}, RBP_10 {self.rbp(10):.4f}"
        return f"<{name}: {numbers}; {self.tokens:,} tokens>"

    @property
    def ranks(self) -> Histogram:
        """The ranks of the T tokens: a window of one token has that token's rank."""
        return self.windows[1]

    @property
    def tokens(self) -> int:
        """T, the scored tokens."""
        return self.manifest.tokens

    def rbp(self, k: Any) -> Any:
        """RBP_k = Pr(R <= k), Eq. 4, at any k >= 1 (InputError below); 1 from k = V on.

        A float for a scalar k, else an array of its shape.
        """
        return self.ranks.share(k)

    def rbp_interval(self, k: int) -> tuple[float, float]:
        """The 95% interval of RBP_k for other documents like these: its (low, high) percentiles.

        Each draw resamples the documents, with seed 42; those of one unit stay together. Raises
        InputError for k < 1, for a k below V that is not in `k_grid`, since the documents' hits are
        stored for no other, and for a single document or unit.
        """
        return interval(resample([self], [k]).rbp[:, 0, 0])

    def hits(self, ks: Sequence[int]) -> np.ndarray:
        """How many tokens of each document have R <= k, (D, K) for K values of k.

        From k = V on these are all. InputError for a k below V that is not in `k_grid`.
        """
        wanted = [int(check_k(k)) for k in ks]
        for k in wanted:
            if k < self.manifest.V and k not in self.k_grid:
                grid = ", ".join(map(str, self.k_grid))
                raise InputError(f"no interval of RBP_{k} in a summary; take k from {grid}")
        on_grid_and_all = np.column_stack([self.document_hits, self.document_tokens])
        return on_grid_and_all[:, np.searchsorted(self.k_grid, wanted)]

    def ce(self) -> float:
        """Mean negative log-likelihood, nats."""
        return math.fsum(self.document_nll) / self.tokens

    def ce_interval(self) -> tuple[float, float]:
        """The 95% interval of CE in nats, as `rbp_interval`. InputError for a single unit."""
        return interval(resample([self]).ce[:, 0])

    def bits_per_byte(self) -> float:
        """T CE / (ln 2 x scored_bytes): bits for each UTF-8 byte of the text of T scored tokens.

        It compares models whose tokenizers differ. What is not scored, as a document's first
        token and what is past `max_length`, counts neither as bits nor as bytes. InputError if the
        bytes are not known.
        """
        return self.ce() * self.tokens / (math.log(2) * int(self.document_bytes().sum()))

    def bits_per_byte_interval(self) -> tuple[float, float]:
        """Its 95% interval, as `rbp_interval`. InputError also if the bytes are not known."""
        self.document_bytes()
        return interval(resample([self]).bits_per_byte[:, 0])

    def document_bytes(self) -> np.ndarray:
        """UTF-8 bytes of the scored text of each document, (D,). InputError if not known."""
        sizes = np.array(self.manifest.document_bytes)
        if sizes.shape != self.document.shape:
            raise InputError(f"{self.manifest.model}: the bytes of its documents were not counted")
        return sizes

    def success(self, N: int, k: Any) -> Any:
        """p_{N,k}, Section 5.1: a float for a scalar k, else an array of its shape.

        InputError for an N that is not stored or has no window.
        """
        if N not in self.windows or not self.windows[N].total:
            name = f"{self.manifest.model} on {self.manifest.corpus}"
            known = [there for there, windows in self.windows.items() if windows.total]
            raise InputError(f"{name}: no windows of N = {N} tokens; there are those of {known}")
        return self.windows[N].share(k)

    def to_bytes(self) -> bytes:
        """As a compressed .npz without pickle; the same bytes for the same content.

        It has a checksum over manifest and arrays. Ranks are stored as differences, hits as counts
        between the k of the grid, and integers in the smallest type that holds them all.
        """
        hits = np.diff(self.document_hits, axis=1, prepend=0)
        arrays = {
            "windows": np.array([N for N in self.windows if N != 1]),  # N = 1 is `ranks`
            "hits": np.ascontiguousarray(hits.T),  # small numbers together compress best
        }
        for N, largest in self.windows.items():
            suffix = "" if N == 1 else f"_{N}"
            arrays[f"ranks{suffix}"] = np.diff(largest.values, prepend=0)
            arrays[f"counts{suffix}"] = largest.counts
        for name in STORED:
            if getattr(self, name) is not None:
                arrays[name] = getattr(self, name)
        stored = {name: _narrow(array) for name, array in arrays.items()}
        manifest_text = self.manifest.to_json().encode()
        digest = checksum(manifest_text, stored)
        stored["manifest"] = np.frombuffer(manifest_text, dtype=np.uint8)
        stored["checksum"] = np.frombuffer(digest.encode(), dtype=np.uint8)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **stored)  # type: ignore[arg-type]
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes, where: object = "summary") -> Summary:
        """From what `to_bytes` gave; InputError that begins with `where` if it is damaged."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            manifest_text = arrays.pop("manifest").tobytes()
            manifest = Manifest.from_json(manifest_text)
            if arrays.pop("checksum").tobytes() != checksum(manifest_text, arrays).encode():
                raise ValueError("changed since it was written: its checksum differs")
            windows = {}
            for N in (1, *arrays["windows"].tolist()):
                suffix = "" if N == 1 else f"_{N}"
                values = np.cumsum(arrays[f"ranks{suffix}"], dtype=np.int64)
                windows[N] = Histogram(values, arrays[f"counts{suffix}"].astype(np.int64))
            arrays.setdefault("document_units", arrays["document"])
            hits = np.cumsum(arrays["hits"].T, axis=1, dtype=np.int32)
            known: dict[str, Any] = {name: _wide(arrays[name]) for name in STORED if name in arrays}
            return cls(manifest=manifest, windows=windows, document_hits=hits, **known)
        except Exception as error:  # a damaged zip raises a dozen kinds
            way_out = "delete it, and it is made again from its records"
            what = f"{where}: not a readable summary ({one_line(error)}); {way_out}"
            raise InputError(what) from error


def _narrow(array: np.ndarray) -> np.ndarray:
    """Integers in the smallest type that holds them all; other arrays unchanged."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    ends = np.min_scalar_type(array.min()), np.min_scalar_type(array.max())
    return array.astype(np.result_type(*ends))


def _wide(array: np.ndarray) -> np.ndarray:
    """Integers as int32, what they were before they were narrowed; other arrays unchanged."""
    return array.astype(np.int32) if array.dtype.kind in "iu" else array


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


def summarise(columns: Mapping[str, np.ndarray], manifest: Manifest) -> Summary:
    """The summary of the columns of records, (T,) each: whole documents in order.

    The column `unit` may be missing: then every document is a unit by itself. So may `n_equal`
    (n_greater then counts ties too), `p_max` and `entropy`.
    """
    document = columns["document"]
    rank = columns["n_greater"] + columns.get("n_equal", 0) + 1
    maxima = window_maxima(rank, document, columns["position"], WINDOWS)
    starts = np.diff(document, prepend=-1) != 0
    index = np.cumsum(starts) - 1  # (T,), of the token's document among the D
    k_grid = np.array([k for k in K_GRID if k < manifest.V], dtype=np.int32)
    # Of each token the first k of the grid that it hits, as a place; past the grid: none.
    first_hit = np.searchsorted(k_grid, rank)
    shape = (np.count_nonzero(starts), k_grid.size + 1)
    by_document = np.zeros(shape, dtype=np.int32)
    np.add.at(by_document, (index, first_hit), 1)
    sums: dict[str, Any] = {}  # over the tokens of each document
    for name in {"nll", "p_max", "entropy"} & columns.keys():
        sums[f"document_{name}"] = np.bincount(index, columns[name])
    return Summary(
        manifest=manifest,
        windows={N: Histogram.of(np.bincount(largest)) for N, largest in maxima},
        document=document[starts],
        document_tokens=np.bincount(index).astype(np.int32),
        document_units=columns.get("unit", document)[starts],
        document_hits=np.cumsum(by_document, axis=1, dtype=np.int32)[:, :-1],
        k_grid=k_grid,
        **sums,
    )


# -- other text like the text that was scored --------------------------------------------------
# The cluster bootstrap, with the models held fixed. What is resampled is what was sampled.
# Documents of one unit (a module, an author) are alike, so whole units (clusters) are drawn, and a
# document is a unit by itself if nothing else is known. Tokens are never drawn: those of one
# document are alike too.


@functools.lru_cache(maxsize=2)  # models of one text have as many units
def resample_weights(units: int, draws: int = DRAWS) -> np.ndarray:
    """How often each of the units is in each resample: (draws, units) whole numbers, read-only.

    Each resample draws as many units as there are, with replacement; the same arguments give the
    same draws. Floats, since their sums are exact for whole numbers, and fast. Raises InputError
    for fewer than two units.
    """
    if units < 2:
        raise InputError(f"a bootstrap needs at least two documents or units, not {units}")
    random = np.random.default_rng(SEED)
    weights = random.multinomial(units, np.full(units, 1 / units), size=draws).astype(np.float64)
    weights.flags.writeable = False
    return weights


def interval(draws: np.ndarray) -> tuple[float, float]:
    """The 95% percentile interval of (draws,) finite values.

    InputError if a value is not finite.
    """
    if not np.isfinite(draws).all():
        raise InputError("too few documents: a resample has no token of one model")
    low, high = np.quantile(draws, [(1 - 0.95) / 2, (1 + 0.95) / 2])
    return float(low), float(high)


class Resampled(NamedTuple):
    """What n models would have on each of B resamples of a text, at K values of k."""

    ce: np.ndarray  # (B, n) nats
    rbp: np.ndarray  # (B, n, K) shares
    bits_per_byte: np.ndarray  # (B, n), NaN for models whose bytes were not counted


def resample(summaries: Sequence[Summary], ks: Sequence[int] = (), draws: int = DRAWS) -> Resampled:
    """CE and RBP_k of models of one corpus on resamples of its text, the same for every model.

    The draws are paired, so what is common to the models cancels in a difference. A document
    without a scored token of one model (another tokenizer cuts it) is drawn for the others alone.
    Raises InputError for models of several texts, for models whose records have other units, for a
    k that is not on a summary's grid, and for fewer than two units.
    """
    if len({summary.manifest.fingerprint for summary in summaries}) != 1:
        raise InputError("models that were measured on different text are not paired")
    pairs = [np.column_stack([one.document, one.document_units]) for one in summaries]
    documents, of_document = np.unique(np.concatenate(pairs), axis=0).T
    if np.unique(documents).size < documents.size:
        raise InputError("the models were measured with different units; give the same unit")
    units = np.unique(of_document)
    weights = resample_weights(units.size, draws)
    ce, rbp, bits_per_byte = [], [], []
    for summary in summaries:
        sizes = summary.manifest.document_bytes or np.full(summary.document.size, np.nan)
        of_documents = [summary.document_tokens, summary.document_nll, sizes, *summary.hits(ks).T]
        place = np.searchsorted(units, summary.document_units)
        of_units = [np.bincount(place, sums, minlength=units.size) for sums in of_documents]
        tokens, nll, sizes, *hits = (weights @ sums for sums in of_units)
        # A resample may have no token of a model that scored few documents.
        with np.errstate(invalid="ignore", divide="ignore"):
            ce.append(nll / tokens)
            bits_per_byte.append(nll / (math.log(2) * sizes))
            rbp.append([of_k / tokens for of_k in hits])
    shape = (len(summaries), len(ks), draws)
    by_k = np.reshape(rbp, shape).transpose(2, 0, 1)
    return Resampled(np.stack(ce, axis=1), by_k, np.stack(bits_per_byte, axis=1))


def labelled(summaries: Iterable[Summary], families: Iterable[str]) -> list[Summary]:
    """The summaries, each with the family that it is fitted with.

    families: NAME, which changes nothing, or NAME=PATTERN: the models whose name fits the pattern
        (`fnmatch`, as "runs/small-*") are the family NAME, whatever they were measured as. Of two
        patterns that a model fits the later one counts.
    """
    found = list(summaries)
    for family in families:
        label, _, pattern = family.partition("=")
        for place, summary in enumerate(found):
            if fnmatchcase(summary.manifest.model, pattern):
                manifest = summary.manifest.model_copy(update={"family": label})
                found[place] = replace(summary, manifest=manifest)
    return found
