"""The head step of `ranking`: check its arguments, divide its memory, make its logits in chunks."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import torch
from torch import Tensor

from rbpkit.errors import InputError

MEMORY_BYTES = 512 * 2**20
"""Bound on all temporaries of the head step together, in bytes; what one row needs is the least."""

# Floats of a tile, for each core: with its scratch 1.5 MiB, to be read again from the cache.
_TILE_FLOATS = 2**17
# Rows of one product: with fewer, packing the matrix costs too much. On a GPU each launch must be
# worthwhile, and at T = 16k chunk and scratch stay under T x V x 4 / 16.
_CHUNK_ROWS = {"cpu": 512, "cuda": 448}
_BLOCKED_ROWS = 1024  # each chunk widens the matrix again: enough rows to hide that
_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def plan_head(hidden: Tensor, unembedding: Tensor) -> tuple[int, int]:
    """How one call of the head step divides MEMORY_BYTES.

    - rows of one product, and so of a chunk of logits
    - vocabulary rows that are widened to fp32 at a time: V widens all of them, once; 0 none of
      them, since the product itself widens
    """
    T, d = hidden.shape
    V = len(unembedding)
    device = hidden.device
    alike_16_bit = hidden.dtype == unembedding.dtype != torch.float32
    product_widens = alike_16_bit and _has_wide_product(device, hidden.dtype)

    tile = tile_rows(device, V)
    rows = max(tile, _CHUNK_ROWS.get(device.type, 512))
    widened = 0 if product_widens else V
    fixed = 8 * V * tile + 64 * T  # the scratch of a tile, some vectors along T
    if unembedding.dtype != torch.float32 and not product_widens:
        if 4 * V * d > MEMORY_BYTES * 3 // 8:  # in parts: the whole matrix takes too much
            rows = max(tile, _BLOCKED_ROWS)
            widened = min(V, max(1, MEMORY_BYTES // (32 * d)))
        fixed += 4 * widened * d
    rows_in_budget = (MEMORY_BYTES - fixed) // (4 * V + 4 * d)
    return max(1, min(rows, rows_in_budget)), widened


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
    T, V = len(hidden), len(unembedding)
    chunk_rows, widened = plan_head(hidden, unembedding)
    buffer = hidden.new_empty((min(chunk_rows, T), V), dtype=torch.float32)
    if widened == V:
        unembedding = unembedding.float()
    for start in range(0, T, chunk_rows):
        states = hidden[start : start + chunk_rows]
        logits = buffer[: len(states)]
        if widened:
            _wide_product(states.float(), unembedding, widened, logits)
        else:
            torch.mm(states, unembedding.T, out_dtype=torch.float32, out=logits)
        if bias is not None:
            logits.add_(bias)
        if scale != 1:
            logits.mul_(float(scale))
        if softcap is not None:
            _cap(logits, float(softcap))
        yield start, logits


def _wide_product(states: Tensor, unembedding: Tensor, widened: int, out: Tensor) -> None:
    """states @ unembedding.T in fp32, so many rows of the matrix at a time."""
    for first in range(0, len(unembedding), widened):
        rows = unembedding[first : first + widened].float()
        torch.mm(states, rows.T, out=out[:, first : first + widened])
        del rows  # before the next is made: two would be over the budget


def _cap(logits: Tensor, softcap: float) -> None:
    """softcap * tanh(logits / softcap), in place; the row of an infinite logit becomes NaN."""
    # tanh would make an infinite logit finite. Zero times infinity is NaN, and shows.
    largest = torch.maximum(logits.amax(dim=1), -logits.amin(dim=1))
    caps = softcap + 0 * largest
    logits.div_(softcap).tanh_().mul_(caps.unsqueeze(1))


def tile_rows(device: torch.device, V: int) -> int:
    """Rows of one reduction by torch, with a scratch of at most a quarter of MEMORY_BYTES."""
    if not 1 <= V < 2**24:  # counts are summed in fp32, exact up to here
        raise InputError(f"the vocabulary has {V} entries; 1 to {2**24 - 1} can be counted")
    if device.type == "cpu":
        rows = _TILE_FLOATS * torch.get_num_threads() // V
    else:
        rows = _CHUNK_ROWS.get(device.type, 512) // 2
    rows_in_budget = MEMORY_BYTES // (32 * V)
    return max(1, min(rows, rows_in_budget))


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
