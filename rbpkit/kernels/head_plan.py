"""The head step of `ranking`: check its arguments, divide its memory, make its logits in chunks."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from rbpkit.errors import InputError

MEMORY_BYTES = 512 * 2**20
"""Bound on all temporaries of the head step together, in bytes, but never less than one row needs.

Half is for a chunk of states and logits, a quarter for the rows of the matrix that are widened, and
after them for the scratch of a tile, and a quarter for vectors along T.
"""

_CHUNK_ROWS = 512  # of one product: with fewer, packing the matrix costs too much
_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


class Results(NamedTuple):
    """What the counting programs write: six vectors along the rows of the logits, (T,) each.

    The first five are those of `ranking.TokenRanks`: two int32 counts and three float32 vectors.
    finite: bool, whether the row has no NaN and no infinite logit. If it has one, its other results
        mean nothing.
    """

    n_greater: Tensor
    n_equal: Tensor
    nll: Tensor
    p_max: Tensor
    entropy: Tensor
    finite: Tensor

    @classmethod
    def empty(cls, T: int, device: torch.device) -> Results:
        """Room for T rows."""
        types = (*2 * [torch.int32], *3 * [torch.float32], torch.bool)
        return cls(*(torch.empty(T, dtype=dtype, device=device) for dtype in types))

    def part(self, rows: slice) -> Results:
        """Views of these rows: what is written to them is written here."""
        return Results(*(vector[rows] for vector in self))


def chunk_rows(V: int, d: int = 0) -> int:
    """Rows of one product, or of logits that are there; d: the width of the states."""
    rows_in_budget = MEMORY_BYTES // 2 // (4 * (V + d))
    return max(1, min(_CHUNK_ROWS, rows_in_budget))


@torch.no_grad()
def logit_chunks(
    hidden: Tensor,
    unembedding: Tensor,
    *,
    bias: Tensor | None = None,
    scale: float = 1.0,
    softcap: float | None = None,
) -> Iterator[tuple[int, Tensor]]:
    """The fp32 logits that `ranking.token_ranks` counts, as pairs (first row, (rows, V) logits).

    One buffer serves all chunks: copy what must outlive the next step. Arguments and errors as in
    `ranking.token_ranks`.
    """
    _check_head(hidden, unembedding, bias)
    for name, value in (("scale", scale), ("softcap", 1.0 if softcap is None else softcap)):
        if not 0 < value < math.inf:
            raise InputError(f"{name} must be a positive, finite number, not {value}")
    T, (V, d) = len(hidden), unembedding.shape
    rows = min(chunk_rows(V, d), T)
    buffer = hidden.new_empty((rows, V), dtype=torch.float32)
    alike_16_bit = hidden.dtype == unembedding.dtype != torch.float32
    product_widens = alike_16_bit and _has_wide_product(hidden.device, hidden.dtype)
    for start in range(0, T, max(1, rows)):
        states = hidden[start : start + rows]
        logits = buffer[: len(states)]
        if product_widens:
            torch.mm(states, unembedding.T, out_dtype=torch.float32, out=logits)
        else:
            _wide_product(states.float(), unembedding, logits)
        if bias is not None:
            logits.add_(bias)
        if scale != 1:
            logits.mul_(float(scale))
        if softcap is not None:
            _cap(logits, float(softcap))
        yield start, logits


def _wide_product(states: Tensor, unembedding: Tensor, out: Tensor) -> None:
    """states @ unembedding.T in fp32; of a 16-bit matrix a part is widened at a time."""
    V, d = unembedding.shape
    widened = V if unembedding.dtype == torch.float32 else max(1, MEMORY_BYTES // 4 // (4 * d))
    for first in range(0, V, widened):
        rows = unembedding[first : first + widened].float()
        torch.mm(states, rows.T, out=out[:, first : first + widened])
        del rows  # before the next is made: two would be over the budget


def _cap(logits: Tensor, softcap: float) -> None:
    """softcap * tanh(logits / softcap), in place; the row of an infinite logit becomes NaN."""
    # tanh would make an infinite logit finite. Zero times infinity is NaN, and shows.
    largest = torch.maximum(logits.amax(dim=1), -logits.amin(dim=1))
    caps = softcap + 0 * largest
    logits.div_(softcap).tanh_().mul_(caps.unsqueeze(1))


@functools.cache
def _has_wide_product(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether torch multiplies 16-bit matrices into fp32 here: CUDA, and a recent torch."""
    a = torch.zeros((16, 16), dtype=dtype, device=device)
    try:
        torch.mm(a, a, out_dtype=torch.float32, out=a.float())
    except torch.OutOfMemoryError:
        raise  # says nothing about torch, and the answer is kept
    except (TypeError, RuntimeError):
        return False
    return True


def _check_head(hidden: Tensor, unembedding: Tensor, bias: Tensor | None) -> None:
    check_floats("hidden", hidden, "(T, d)", hidden.dim() == 2)
    d = hidden.shape[1]
    right = unembedding.dim() == 2 and unembedding.shape[1] == d
    check_floats("unembedding", unembedding, f"(V, {d})", right)
    if bias is not None:
        V = len(unembedding)
        check_floats("bias", bias, f"({V},)", bias.shape == (V,))


def check_floats(name: str, tensor: Tensor, shape: str, has_shape: bool) -> None:
    """InputError unless the tensor has this shape, and a dtype that can be counted."""
    if not has_shape or tensor.dtype not in _DTYPES:
        given = f"{tuple(tensor.shape)} {tensor.dtype}"
        raise InputError(f"{name} must be {shape} of float32, bfloat16 or float16, not {given}")


def check_targets(targets: Tensor, rows: Tensor) -> None:
    """InputError unless there is an integer target for each of the rows, on their device."""
    shape = rows.shape[:-1]
    fits = targets.shape == shape and targets.device == rows.device
    if not fits or targets.dtype not in (torch.int64, torch.int32):
        raise InputError(
            f"targets must be {tuple(shape)} int64 or int32 on {rows.device}, "
            f"not {tuple(targets.shape)} {targets.dtype} on {targets.device}"
        )
