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
from typing import Any, NamedTuple, overload

import numpy as np

from rbpkit.errors import InputError, check_ties, one_line, shown
from rbpkit.manifest import Manifest, checksum

DEFAULT_KS = (1, 10, 50, 100)  # shown if no k is named
WINDOWS = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # N of Figure 7
# Arrays of a summary that its file holds unchanged, and their types.
STORED: dict[str, type[np.generic]] = {
    "document": np.int32,
    "document_tokens": np.int32,
    "k_grid": np.int32,
    "document_nll": np.float64,
    "document_p_max": np.float64,
    "document_entropy": np.float64,
}
# Those that are None, and missing in the file, if the model could not give their column.
OPTIONAL_SUMS = ("document_p_max", "document_entropy")
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

    def dense(self, V: int) -> np.ndarray:
        """The counts by rank, (V + 1,) int64: the inverse of `of`."""
        dense = np.zeros(V + 1, dtype=np.int64)
        dense[self.values] = self.counts
        return dense

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def at_most(self, k: int | np.ndarray) -> np.ndarray:
        """How many are <= k, in the shape of `k`."""
        upto = np.concatenate(([0], np.cumsum(self.counts)))
        return upto[np.searchsorted(self.values, check_k(k), side="right")]

    @overload
    def share(self, k: int) -> float: ...
    @overload
    def share(self, k: np.ndarray) -> np.ndarray: ...
    def share(self, k: int | np.ndarray) -> float | np.ndarray:
        """Which share is <= k: a float for a scalar k, else an array. `total` must not be 0."""
        share = self.at_most(k) / self.total
        return float(share) if np.ndim(share) == 0 else share


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """What records say about RBP, CE and windows, and for each document for a later bootstrap.

    ranks, ranks_optimistic: of the T tokens, ties counted against and for the target; the second is
        None if the model could not tell ties.
    windows: N -> largest (pessimistic) rank of every window of N consecutive scored tokens.

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
    ranks: Histogram
    ranks_optimistic: Histogram | None
    windows: Mapping[int, Histogram]
    document: np.ndarray
    document_tokens: np.ndarray
    document_nll: np.ndarray
    k_grid: np.ndarray
    document_hits: np.ndarray
    document_p_max: np.ndarray | None
    document_entropy: np.ndarray | None
    document_units: np.ndarray

    def __repr__(self) -> str:
        name = f"{self.manifest.model} on {self.manifest.corpus}"
        numbers = f"CE {self.ce():.3f}, RBP_1 {self.rbp(1):.4f}, RBP_10 {self.rbp(10):.4f}"
        return f"<{name}: {numbers}; {self.tokens:,} tokens>"

    @property
    def tokens(self) -> int:
        """T, the scored tokens."""
        return self.manifest.tokens

    @overload
    def rbp(self, k: int, ties: str = "pessimistic") -> float: ...
    @overload
    def rbp(self, k: np.ndarray, ties: str = "pessimistic") -> np.ndarray: ...
    def rbp(self, k: int | np.ndarray, ties: str = "pessimistic") -> float | np.ndarray:
        """RBP_k = Pr(R <= k), Eq. 4, at any k >= 1 (InputError below); 1 from k = V on."""
        check_ties(ties)
        ranks = self.ranks if ties == "pessimistic" else self.ranks_optimistic
        if ranks is None:
            raise InputError(f"ties='optimistic': {self.manifest.model} gives no ties (n_equal)")
        return ranks.share(k)

    def rbp_interval(self, k: int) -> tuple[float, float]:
        """The 95% interval of RBP_k for other documents like these: its (low, high) percentiles.

        Each draw resamples the documents, with seed 42; those of one unit stay together. Raises
        InputError for k < 1, for a k below V that is not in `k_grid`, since the documents' hits are
        stored for no other, and for a single document or unit.
        """
        if np.ndim(k) > 0:
            raise InputError(f"k={shown(k)}: an interval is of one k; ask for one after the other")
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

        It compares models whose tokenizers differ. A document's first token, and what is past
        `max_length`, count neither as bits nor as bytes. InputError if the bytes are not known.
        """
        if not self.manifest.scored_bytes:
            raise InputError(f"{self.manifest.model}: the bytes of its text were not counted")
        return self.ce() * self.tokens / (math.log(2) * self.manifest.scored_bytes)

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

    @overload
    def success(self, N: int, k: int) -> float: ...
    @overload
    def success(self, N: int, k: np.ndarray) -> np.ndarray: ...
    def success(self, N: int, k: int | np.ndarray) -> float | np.ndarray:
        """p_{N,k}, Section 5.1. InputError for an N that is not stored or has no window."""
        if not isinstance(N, int | np.integer) or N not in self.windows:
            known = sorted(self.windows)
            raise InputError(f"N = {shown(N)} is not in a summary (there are {known})")
        if not self.windows[N].total:
            name = f"{self.manifest.model} on {self.manifest.corpus}"
            raise InputError(f"no document of {name} has {N} consecutive scored tokens")
        return self.windows[N].share(k)

    def to_bytes(self) -> bytes:
        """As a compressed .npz without pickle; the same bytes for the same content.

        Ranks are stored as differences, hits as counts between the k of the grid, and integers in
        the smallest type that holds them all.
        """
        rest = [N for N in sorted(self.windows) if N != 1]  # N = 1 is `ranks`
        hits = np.diff(self.document_hits, axis=1, prepend=0)
        arrays = {
            "ranks": np.diff(self.ranks.values, prepend=0),
            "counts": self.ranks.counts,
        }
        if self.ranks_optimistic is not None:
            # Few tokens are tied, so the difference says the same in less.
            V = self.manifest.V
            change = self.ranks_optimistic.dense(V) - self.ranks.dense(V)
            arrays["tied"] = np.flatnonzero(change)
            arrays["tied_change"] = change[arrays["tied"]]
        arrays["windows"] = np.array(rest)
        arrays["hits"] = np.ascontiguousarray(hits.T)  # small numbers together compress best
        for name in STORED:
            if getattr(self, name) is not None:
                arrays[name] = getattr(self, name)
        if not np.array_equal(self.document_units, self.document):
            arrays["document_units"] = self.document_units
        for N in rest:
            arrays[f"ranks_{N}"] = np.diff(self.windows[N].values, prepend=0)
            arrays[f"counts_{N}"] = self.windows[N].counts
        narrow = {name: _narrow(array) for name, array in arrays.items()}
        return packed(self.manifest, narrow)

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

            def histogram(suffix: str = "") -> Histogram:
                values = np.cumsum(arrays["ranks" + suffix], dtype=np.int64)
                return Histogram(values, arrays["counts" + suffix].astype(np.int64))

            ranks = histogram()
            optimistic = None
            if "tied" in arrays:
                dense = ranks.dense(manifest.V)
                dense[arrays["tied"]] += arrays["tied_change"]
                optimistic = Histogram.of(dense)
            windows = {1: ranks} | {int(N): histogram(f"_{N}") for N in arrays["windows"]}
            units = arrays.get("document_units", arrays["document"])
            stored_arrays: dict[str, Any] = dict.fromkeys(OPTIONAL_SUMS)
            for name, kind in STORED.items():
                if name in arrays or name not in OPTIONAL_SUMS:
                    stored_arrays[name] = arrays[name].astype(kind)
            return cls(
                manifest=manifest,
                ranks=ranks,
                ranks_optimistic=optimistic,
                windows=windows,
                document_hits=np.cumsum(arrays["hits"].T, axis=1, dtype=np.int32),
                document_units=units.astype(np.int32),
                **stored_arrays,
            )
        except Exception as error:  # a damaged zip raises a dozen kinds
            way_out = "delete it, and it is made again from its records"
            what = f"{where}: not a readable summary ({one_line(error)}); {way_out}"
            raise InputError(what) from error


def packed(manifest: Manifest, arrays: Mapping[str, np.ndarray]) -> bytes:
    """The file of a summary: its manifest, its arrays, and a checksum over both."""
    manifest_text = manifest.to_json().encode()
    texts = {"manifest": manifest_text, "checksum": checksum(manifest_text, arrays).encode()}
    stored: dict[str, Any] = dict(arrays)
    for name, text in texts.items():
        stored[name] = np.frombuffer(text, dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **stored)
    return buffer.getvalue()


def _narrow(array: np.ndarray) -> np.ndarray:
    """Integers in the smallest type that holds them all; other arrays unchanged."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    ends = np.min_scalar_type(array.min()), np.min_scalar_type(array.max())
    return array.astype(np.result_type(*ends))


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
    n_greater = columns["n_greater"]
    rank = n_greater + 1
    optimistic = None
    if "n_equal" in columns:
        optimistic = Histogram.of(np.bincount(rank))
        rank = rank + columns["n_equal"]
    maxima = window_maxima(rank, document, columns["position"], WINDOWS)
    windows = {N: Histogram.of(np.bincount(largest)) for N, largest in maxima}
    starts = np.diff(document, prepend=-1) != 0
    numbers, index = document[starts], np.cumsum(starts) - 1  # (D,) and (T,)
    k_grid = np.array([k for k in K_GRID if k < manifest.V], dtype=np.int32)
    # Of each token the first k of the grid that it hits, as a place; past the grid: none.
    first_hit = np.searchsorted(k_grid, rank)
    width = k_grid.size + 1
    by_document = np.bincount(index * width + first_hit, minlength=numbers.size * width)
    hits = np.cumsum(by_document.reshape(-1, width), axis=1)[:, :-1]
    units = columns["unit"][starts] if "unit" in columns else numbers
    sums: dict[str, np.ndarray | None] = {}  # over the tokens of each document
    for name in ("p_max", "entropy"):
        weights = columns.get(name)
        sums[name] = None if weights is None else np.bincount(index, weights=weights)
    return Summary(
        manifest=manifest,
        ranks=windows[1],  # a window of one token has that token's rank
        ranks_optimistic=optimistic,
        windows=windows,
        document=numbers,
        document_tokens=np.bincount(index).astype(np.int32),
        document_nll=np.bincount(index, weights=columns["nll"]),
        document_p_max=sums["p_max"],
        document_entropy=sums["entropy"],
        k_grid=k_grid,
        document_hits=hits.astype(np.int32),
        document_units=units.astype(np.int32),
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
    for fewer than two units, and for draws < 1.
    """
    if units < 2:
        raise InputError(f"a bootstrap needs at least two documents or units, not {units}")
    if draws < 1:
        raise InputError(f"draws must be at least 1, not {draws}")
    random = np.random.default_rng(SEED)
    weights = random.multinomial(units, np.full(units, 1 / units), size=draws).astype(np.float64)
    weights.flags.writeable = False
    return weights


def interval(draws: np.ndarray) -> tuple[float, float]:
    """The 95% percentile interval of (draws,) finite values.

    InputError if a value is not finite.
    """
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise InputError("an interval needs a flat array of finite resampled values")
    low, high = np.quantile(values, [(1 - 0.95) / 2, (1 + 0.95) / 2])
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
    Raises InputError for models of several corpora or texts, for models whose records have other
    units, for a k that is not on a summary's grid, and for fewer than two units.
    """
    texts = {(summary.manifest.corpus, summary.manifest.fingerprint) for summary in summaries}
    if len(texts) != 1:
        corpora = sorted({corpus for corpus, _ in texts}) or ["nothing"]
        raise InputError(
            f"{', '.join(corpora)}: models were measured on different text, not paired"
        )
    pairs = [np.column_stack([one.document, one.document_units]) for one in summaries]
    documents, of_document = np.unique(np.concatenate(pairs), axis=0).T
    if np.unique(documents).size < documents.size:
        raise InputError("the models were measured with different units; use the same --unit")
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

    Raises InputError for a pattern that no model fits.
    """
    found = list(summaries)
    for family in families:
        label, _, pattern = family.partition("=")
        fits = [bool(pattern) and fnmatchcase(one.manifest.model, pattern) for one in found]
        if pattern and not any(fits):
            models = sorted({one.manifest.model for one in found})
            raise InputError(f"family {family}: no model is called so; there are {shown(models)}")
        for place, summary in enumerate(found):
            if fits[place]:
                manifest = summary.manifest.model_copy(update={"family": label})
                found[place] = replace(summary, manifest=manifest)
    return found
