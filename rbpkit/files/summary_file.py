"""A summary's .npz file: small, without pickle, the same bytes for the same content.

Written of a `rbpkit.summary.Summary` by its attributes, and read as a mapping of them, in which a
histogram is the pair of its values and counts. And what in a summary no records can give.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rbpkit.errors import InputError
from rbpkit.files.manifest import Manifest

# All that a flipped byte in an .npz has raised.
_DAMAGE = (OSError, ValueError, LookupError, TypeError, EOFError, RuntimeError, MemoryError)
_DAMAGE += (SyntaxError, struct.error, zlib.error, zipfile.BadZipFile)

Pair = tuple[np.ndarray, np.ndarray]  # ranks and how often each was seen

# Arrays that are stored as they are, and their types.
_STORED = {"document": np.int32, "document_tokens": np.int32, "document_nll": np.float64}
_STORED |= {"k_grid": np.int32, "document_p_max": np.float64, "document_entropy": np.float64}


def pack(summary: Any) -> bytes:
    """The summary as a compressed .npz; integers in the smallest type that holds them all."""
    V = summary.manifest.V
    ranks, optimistic = summary.ranks, summary.ranks_optimistic
    change = _dense(optimistic.values, optimistic.counts, V)
    change -= _dense(ranks.values, ranks.counts, V)
    tied = np.flatnonzero(change)  # few tokens are tied: the difference is almost nothing
    rest = [N for N in sorted(summary.windows) if N != 1]  # N = 1 is `ranks`
    hits = np.diff(summary.document_hits, axis=1, prepend=0)
    arrays = {
        "manifest": np.frombuffer(summary.manifest.to_json().encode(), dtype=np.uint8),
        "ranks": np.diff(ranks.values, prepend=0),
        "counts": ranks.counts,
        "tied": tied,
        "tied_change": change[tied],
        "windows": np.array(rest),
        "document": summary.document,
        "document_tokens": summary.document_tokens,
        "document_nll": summary.document_nll,
        "k_grid": summary.k_grid,
        "hits": np.ascontiguousarray(hits.T),  # one k's small numbers together compress best
    }
    if summary.document_p_max is not None:
        arrays["document_p_max"] = summary.document_p_max
        arrays["document_entropy"] = summary.document_entropy
    for N in rest:
        arrays[f"ranks_{N}"] = np.diff(summary.windows[N].values, prepend=0)
        arrays[f"counts_{N}"] = summary.windows[N].counts
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{name: _narrow(array) for name, array in arrays.items()})
    return buffer.getvalue()


def unpack(data: bytes, where: object) -> dict[str, Any]:
    """The attributes of what `pack` was given; of damaged bytes, call in `refuse_damage`."""
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    manifest = Manifest.from_json(arrays["manifest"].tobytes(), where)

    def histogram(suffix: str = "") -> Pair:
        values = np.cumsum(arrays["ranks" + suffix], dtype=np.int64)
        return values, arrays["counts" + suffix].astype(np.int64)

    ranks = histogram()
    optimistic = _dense(*ranks, manifest.V)
    optimistic[arrays["tied"]] += arrays["tied_change"]
    values = np.flatnonzero(optimistic)
    return {
        "manifest": manifest,
        "ranks": ranks,
        "ranks_optimistic": (values, optimistic[values]),
        "windows": {1: ranks} | {int(N): histogram(f"_{N}") for N in arrays["windows"]},
        "document_hits": np.cumsum(arrays["hits"].T, axis=1, dtype=np.int32),
        **{name: arrays[name].astype(kind) for name, kind in _STORED.items() if name in arrays},
    }


def _dense(values: np.ndarray, counts: np.ndarray, V: int) -> np.ndarray:
    dense = np.zeros(V + 1, dtype=np.int64)
    dense[values] = counts
    return dense


@contextmanager
def refuse_damage(where: object) -> Iterator[None]:
    """Turn what damaged bytes raise in this block into an InputError that begins with `where`."""
    try:
        yield
    except _DAMAGE as error:
        if str(error).startswith(f"{where}: "):  # the manifest's own, such as a newer format
            raise
        raise InputError(
            f"{where}: damaged or not a summary ({error}); delete it, it is made anew "
            "from its records"
        ) from error


def _narrow(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "iu" or not array.size:
        return array
    ends = np.min_scalar_type(array.min()), np.min_scalar_type(array.max())
    return array.astype(np.result_type(*ends))


# -- what cannot be -----------------------------------------------------------------------------


def agrees(summary: Any) -> bool:
    """Whether a summary's parts agree with each other and its manifest, and records can give it."""
    T, D, V = summary.manifest.tokens, summary.document.size, summary.manifest.V
    histograms = [summary.ranks, summary.ranks_optimistic, *summary.windows.values()]
    return bool(
        T > 0
        and summary.document_tokens.shape == summary.document_nll.shape == (D,)
        and summary.document_hits.shape == (D, summary.k_grid.size)
        and T == summary.document_tokens.sum() == summary.ranks.total
        and T == summary.ranks_optimistic.total
        and np.array_equal(summary.document_hits.sum(0), summary.ranks.at_most(summary.k_grid))
        and all(h.values.shape == h.counts.shape for h in histograms)
        and all(h.values[0] >= 1 and h.values[-1] <= V for h in histograms if h.values.size)
        and all((np.diff(h.values) > 0).all() and (h.counts > 0).all() for h in histograms)
        and _possible(summary)
        and _predicted(summary)
    )


def _possible(summary: Any) -> bool:
    """Whether records can give this."""
    document, tokens, rank = summary.document, summary.document_tokens, summary.ranks.values
    nll, hits = summary.document_nll, np.column_stack([summary.document_hits, tokens])
    least = float(np.log(rank) @ summary.ranks.counts)  # of the nll: no token's is below ln R
    most = {N: np.maximum(tokens - N + 1, 0).sum(dtype=np.int64) for N in summary.windows}
    return bool(
        ((document >= 0) & (document < summary.manifest.documents)).all()
        and ((tokens > 0) & (nll >= 0) & np.isfinite(nll)).all()
        and (np.diff(summary.k_grid, prepend=0) > 0).all()
        and (np.diff(hits, axis=1, prepend=0) >= 0).all()
        and nll.sum() >= least * (1 - 1e-5) - 1e-3 * summary.tokens
        and (summary.ranks_optimistic.at_most(rank) >= summary.ranks.at_most(rank)).all()
        and all(h.total <= most[N] for N, h in summary.windows.items())
    )


def _predicted(summary: Any) -> bool:
    """Whether p_max and entropy can be of one set of predictions; none is fine in format 1."""
    p_max, entropy = summary.document_p_max, summary.document_entropy
    if p_max is None or entropy is None:
        return p_max is None and entropy is None and summary.manifest.format == 1
    tokens = summary.document_tokens
    # Jensen: the mean of -log p_max is at least -log of the mean, and no entropy is below it.
    with np.errstate(divide="ignore", invalid="ignore"):
        least = -np.log(p_max / tokens)
    return bool(
        p_max.shape == entropy.shape == tokens.shape
        and ((p_max > 0) & (p_max <= tokens * (1 + 1e-4))).all()
        and (entropy >= tokens * (least - 1e-3)).all()
        and (entropy <= tokens * (math.log(summary.manifest.V) + 1e-3)).all()
    )
