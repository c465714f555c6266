"""The head step of `ranking`: check its arguments, divide its memory, make its logits in chunks."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import torch
from torch import Tensor

from rbpkit.errors import InputError

MEMORY_BYTES = 512 * 2**20
"""Default bound on all temporaries of the head step together, in bytes."""

# Floats of a tile, for each core: with its scratch 1.5 MiB, to be read again from the cache.
_TILE_FLOATS = 2**17
# Rows of one product: with fewer, packing the matrix costs too much. On a GPU each launch must be
# worthwhile, and at T = 16k chunk and scratch stay under T x V x 4 / 16.
_CHUNK_ROWS = {"cpu": 512, "cuda": 448}
_BLOCKED_ROWS = 1024  # each chunk widens the matrix again: enough rows to hide that
_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def plan(
    hidden: Tensor, unembedding: Tensor, bias: Tensor | None, memory_bytes: int
) -> tuple[int, int, int]:
    """Check the head's arguments and divide memory_bytes.

    Returns the rows of a product, the rows of a tile, and the vocabulary rows that are widened to
    fp32 at a time (V: all of them, once; 0: none, since the product itself widens).
    """
    check_matrix("hidden", hidden)
    check_matrix("unembedding", unembedding)
    (T, d), (V, width) = hidden.shape, unembedding.shape
    if d != width:
        raise InputError(f"hidden is (T, {d}) but unembedding is (V, {width}): widths differ")
    if bias is not None and (bias.shape != (V,) or bias.dtype not in _DTYPES):
        raise InputError(f"bias must be ({V},) floats, not {tuple(bias.shape)} {bias.dtype}")
    if len({t.device for t in (hidden, unembedding, bias) if t is not None}) > 1:
        raise InputError("hidden, unembedding and bias must be on one device")
    narrow = hidden.dtype == unembedding.dtype != torch.float32
    widen = not (narrow and _has_wide_product(hidden.device, hidden.dtype))
    tile = tile_rows(hidden.device, V, memory_bytes)
    rows, block = max(tile, _CHUNK_ROWS.get(hidden.device.type, 512)), V
    fixed = 8 * V * tile + 64 * T  # the scratch of a tile, some vectors along T
    if unembedding.dtype != torch.float32 and widen:
        if 4 * V * d > memory_bytes * 3 // 8:
            rows, block = max(tile, _BLOCKED_ROWS), min(V, max(1, memory_bytes // (32 * d)))
        fixed += 4 * block * d
    row = 4 * V + 4 * d
    rows = min(rows, (memory_bytes - fixed) // row)
    if rows < 1:
        need = f"T={T}, V={V}, d={d} needs {fixed + row}"
        raise InputError(f"memory_bytes={memory_bytes} does not hold one row of logits: {need}")
    return rows, tile, block if widen else 0


@torch.no_grad()
def logit_chunks(
    hidden: Tensor,
    unembedding: Tensor,
    *,
    bias: Tensor | None = None,
    scale: float = 1.0,
    softcap: float | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> Iterator[tuple[int, Tensor]]:
    """The fp32 logits that `ranking.token_ranks` counts, as pairs (first row, (rows, V) logits).

    One buffer serves all chunks: copy what must outlive the next step. Arguments and errors
    as in `ranking.token_ranks`.
    """
    rows, _, block = plan(hidden, unembedding, bias, memory_bytes)
    for name, value in (("scale", scale), ("softcap", 1.0 if softcap is None else softcap)):
        if not 0 < value < math.inf:
            raise InputError(f"{name} must be a positive, finite number, not {value!r}")
    T, V = len(hidden), len(unembedding)
    buffer = hidden.new_empty((min(rows, T), V), dtype=torch.float32)
    if block == V:
        unembedding = unembedding.float()
    for start in range(0, T, rows):
        part = hidden[start : start + rows]
        logits = buffer[: len(part)]
        if block:
            part = part.float()
            for i in range(0, V, block):
                some = unembedding[i : i + block].float()
                torch.mm(part, some.T, out=logits[:, i : i + block])
                del some  # before the next is made: two would be over the budget
        else:
            torch.mm(part, unembedding.T, out_dtype=torch.float32, out=logits)
        if bias is not None:
            logits.add_(bias)
        if scale != 1:
            logits.mul_(scale)
        if softcap is not None:
            # tanh would make an infinite logit finite. Zero times infinity is NaN, and shows.
            wrong = 0 * torch.maximum(logits.amax(dim=1), -logits.amin(dim=1))
            logits.div_(softcap).tanh_().mul_((softcap + wrong).unsqueeze(1))
        yield start, logits


def tile_rows(device: torch.device, V: int, memory_bytes: int) -> int:
    """Rows of one reduction, with a scratch of at most a quarter of memory_bytes."""
    if not 1 <= V < 2**24:  # counts are summed in fp32, exact up to here
        raise InputError(f"the vocabulary has {V} entries; 1 to {2**24 - 1} can be counted")
    cached = _TILE_FLOATS * torch.get_num_threads() // V
    rows = cached if device.type == "cpu" else _CHUNK_ROWS.get(device.type, 512) // 2
    return max(1, min(rows, memory_bytes // (32 * V)))


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
    right = tensor.dim() == 2 if shape == "a matrix" else tensor.dim() > 0
    if not right or tensor.dtype not in _DTYPES or tensor.shape[-1] == 0:
        found = f"{tuple(tensor.shape)} {tensor.dtype}"
        raise InputError(f"{name} must be {shape} of float32, bfloat16 or float16, not {found}")


def check_targets(targets: Tensor, rows: Tensor) -> None:
    """InputError unless there is an integer target for each of the rows, on their device."""
    right = (targets.shape, targets.device) == (rows.shape[:-1], rows.device)
    if not right or targets.dtype not in (torch.int64, torch.int32):
        raise InputError(
            f"targets must be {tuple(rows.shape[:-1])} int64 or int32 on {rows.device}, "
            f"not {tuple(targets.shape)} {targets.dtype} on {targets.device}"
        )
