"""The head step of `ranking`: check its arguments, divide its memory, make its logits in chunks."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from rbpkit.errors import InputError, shown
from rbpkit.kernels import c_loop

MEMORY_BYTES = 512 * 2**20
"""Default bound on all temporaries of the head step together, in bytes."""

# Floats of a tile, for each core: with its scratch 1.5 MiB, to be read again from the cache.
_TILE_FLOATS = 2**17
# Rows of one product: with fewer, packing the matrix costs too much. On a GPU each launch must be
# worthwhile, and at T = 16k chunk and scratch stay under T x V x 4 / 16.
_CHUNK_ROWS = {"cpu": 512, "cuda": 448}
_BLOCKED_ROWS = 1024  # each chunk widens the matrix again: enough rows to hide that
_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


class HeadPlan(NamedTuple):
    """How one call of the head step divides its memory.

    rows: of one product, and so of a chunk of logits.
    tile: rows that torch reduces at a time.
    widened: vocabulary rows that are widened to fp32 at a time. V widens all of them, once; 0 none
        of them, since the product itself widens.
    """

    rows: int
    tile: int
    widened: int


def plan_head(
    hidden: Tensor, unembedding: Tensor, bias: Tensor | None, memory_bytes: int
) -> HeadPlan:
    """Check the arguments of a head and divide memory_bytes; errors as in `token_ranks`."""
    _check_head(hidden, unembedding, bias)
    T, d = hidden.shape
    V = len(unembedding)
    device = hidden.device
    alike_16_bit = hidden.dtype == unembedding.dtype != torch.float32
    product_widens = alike_16_bit and _has_wide_product(device, hidden.dtype)

    tile = tile_rows(device, V, memory_bytes)
    rows = max(tile, _CHUNK_ROWS.get(device.type, 512))
    widened = 0 if product_widens else V
    fixed = 8 * V * tile + 64 * T  # the scratch of a tile, some vectors along T
    if unembedding.dtype != torch.float32 and not product_widens:
        if 4 * V * d > memory_bytes * 3 // 8:  # in parts: the whole matrix takes too much
            rows = max(tile, _BLOCKED_ROWS)
            widened = min(V, max(1, memory_bytes // (32 * d)))
        fixed += 4 * widened * d
    bytes_a_row = 4 * V + 4 * d
    rows = min(rows, (memory_bytes - fixed) // bytes_a_row)
    if rows < 1:
        need = f"T={T}, V={V}, d={d} needs {fixed + bytes_a_row}"
        raise InputError(f"memory_bytes={memory_bytes} does not hold one row of logits: {need}")
    return HeadPlan(rows, tile, widened)


def _check_head(hidden: Tensor, unembedding: Tensor, bias: Tensor | None) -> None:
    check_matrix("hidden", hidden)
    check_matrix("unembedding", unembedding)
    d = hidden.shape[1]
    V, width = unembedding.shape
    if d != width:
        raise InputError(f"hidden is (T, {d}) but unembedding is (V, {width}): widths differ")
    devices = {hidden.device, unembedding.device}
    if bias is not None:
        if not isinstance(bias, Tensor):
            raise InputError(f"bias must be a tensor or None, not a {type(bias).__name__}")
        if bias.shape != (V,) or bias.dtype not in _DTYPES:
            raise InputError(f"bias must be ({V},) floats, not {tuple(bias.shape)} {bias.dtype}")
        devices.add(bias.device)
    if len(devices) > 1:
        raise InputError("hidden, unembedding and bias must be on one device")


@torch.no_grad()
def logit_chunks(
    hidden: Tensor,
    unembedding: Tensor,
    *,
    bias: Tensor | None = None,
    scale: float = 1.0,
    softcap: float | None = None,
    memory_bytes: int = MEMORY_BYTES,
    plan: HeadPlan | None = None,
) -> Iterator[tuple[int, Tensor]]:
    """The fp32 logits that `ranking.token_ranks` counts, as pairs (first row, (rows, V) logits).

    One buffer serves all chunks: copy what must outlive the next step. plan: what `plan_head` gave
    for these arguments, if it was asked already. Other arguments and errors as in
    `ranking.token_ranks`.
    """
    if plan is None:
        plan = plan_head(hidden, unembedding, bias, memory_bytes)
    for name, value in (("scale", scale), ("softcap", 1.0 if softcap is None else softcap)):
        if not isinstance(value, numbers.Real) or not 0 < value < math.inf:
            raise InputError(f"{name} must be a positive, finite number, not {shown(value)}")
    T, V = len(hidden), len(unembedding)
    buffer = hidden.new_empty((min(plan.rows, T), V), dtype=torch.float32)
    if plan.widened == V:
        unembedding = unembedding.float()
    for start in range(0, T, plan.rows):
        states = hidden[start : start + plan.rows]
        logits = buffer[: len(states)]
        if plan.widened:
            _wide_product(states.float(), unembedding, plan.widened, logits)
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
    """softcap * tanh(logits / softcap), in place; an infinite logit, or its row, becomes NaN."""
    if logits.device.type == "cpu" and c_loop.library() is not None:
        c_loop.cap(logits, softcap)
        return
    # tanh would make an infinite logit finite. Zero times infinity is NaN, and shows.
    largest = torch.maximum(logits.amax(dim=1), -logits.amin(dim=1))
    caps = softcap + 0 * largest
    logits.div_(softcap).tanh_().mul_(caps.unsqueeze(1))


def tile_rows(device: torch.device, V: int, memory_bytes: int) -> int:
    """Rows of one reduction, with a scratch of at most a quarter of memory_bytes."""
    if not 1 <= V < 2**24:  # counts are summed in fp32, exact up to here
        raise InputError(f"the vocabulary has {V} entries; 1 to {2**24 - 1} can be counted")
    if device.type == "cpu":
        rows = _TILE_FLOATS * torch.get_num_threads() // V
    else:
        rows = _CHUNK_ROWS.get(device.type, 512) // 2
    rows_in_budget = memory_bytes // (32 * V)
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


def check_matrix(name: str, tensor: Tensor, shape: str = "a matrix") -> None:
    """InputError unless it is a matrix of floats (or of another `shape`) with a column or more."""
    if not isinstance(tensor, Tensor):
        raise InputError(f"{name} must be a tensor, not a {type(tensor).__name__}")
    right_shape = tensor.dim() == 2 if shape == "a matrix" else tensor.dim() > 0
    if not right_shape or tensor.dtype not in _DTYPES or tensor.shape[-1] == 0:
        given = f"{tuple(tensor.shape)} {tensor.dtype}"
        raise InputError(f"{name} must be {shape} of float32, bfloat16 or float16, not {given}")


def check_targets(targets: Tensor, rows: Tensor) -> None:
    """InputError unless there is an integer target for each of the rows, on their device."""
    if not isinstance(targets, Tensor):
        raise InputError(f"targets must be a tensor, not a {type(targets).__name__}")
    shape = rows.shape[:-1]
    fits = targets.shape == shape and targets.device == rows.device
    if not fits or targets.dtype not in (torch.int64, torch.int32):
        raise InputError(
            f"targets must be {tuple(shape)} int64 or int32 on {rows.device}, "
            f"not {tuple(targets.shape)} {targets.dtype} on {targets.device}"
        )
