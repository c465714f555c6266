"""Ranks and losses from hidden states, by a Triton kernel that never writes the logits.

The product with the output matrix and the counts of `one_pass` are made tile by tile of V. A
token's own logit is made first, by the same product of a tile, and must meet itself in the scan:
the tokens for which it does not are counted from their logits.

An option that is off (`ranking.token_ranks(..., fused=True)`): it runs in Triton's interpreter and
compiles for GPUs, but has not been timed on one; `make gpu` times it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from rbpkit.errors import InputError
from rbpkit.kernels.head_plan import new_results

# Tokens and vocabulary rows of a tile are as many, so that both products have one shape.
CONFIGS = [
    triton.Config({"BLOCK": BLOCK, "DEPTH": DEPTH}, num_warps=warps, num_stages=3)
    for BLOCK, DEPTH, warps in ((64, 32, 4), (64, 64, 4), (128, 32, 8))
]


@triton.jit
def _tile(
    hidden, places, inside, matrix, columns, within, d, bias,
    HAS_BIAS: tl.constexpr, WIDEN: tl.constexpr, BLOCK: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """(BLOCK, BLOCK) fp32 logits: tokens at `places` in hidden, vocabulary rows `columns`."""
    logits = tl.zeros((BLOCK, BLOCK), tl.float32)
    depth = tl.arange(0, DEPTH)
    for start in range(0, d, DEPTH):
        deep = start + depth < d
        left = tl.load(
            hidden + places[:, None] + start + depth[None, :],
            mask=inside[:, None] & deep[None, :],
            other=0.0,
        )
        right = tl.load(
            matrix + columns[None, :].to(tl.int64) * d + start + depth[:, None],
            mask=within[None, :] & deep[:, None],
            other=0.0,
        )
        if WIDEN:
            left = left.to(tl.float32)
            right = right.to(tl.float32)
        logits = tl.dot(left, right, logits, input_precision="ieee")
    if HAS_BIAS:
        logits += tl.load(bias + columns, mask=within, other=0.0).to(tl.float32)[None, :]
    return logits


@triton.jit
def kernel(
    hidden, matrix, bias, targets, n_greater, n_equal, nll, p_max, entropy, finite, met,
    T, V, d,
    HAS_BIAS: tl.constexpr, WIDEN: tl.constexpr, BLOCK: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """BLOCK tokens -> their places in each of the seven results."""
    lane = tl.arange(0, BLOCK)
    token = tl.program_id(0) * BLOCK + lane
    inside = token < T
    places = token.to(tl.int64) * d
    own = tl.load(targets + token, mask=inside, other=0).to(tl.int32)
    square = _tile(
        hidden, places, inside, matrix, own, inside, d, bias, HAS_BIAS, WIDEN, BLOCK, DEPTH
    )
    target = tl.sum(tl.where(lane[:, None] == lane[None, :], square, 0.0), 1)
    greater = tl.zeros((BLOCK,), tl.int32)
    equal = tl.zeros((BLOCK,), tl.int32)
    bad = tl.zeros((BLOCK,), tl.int32)
    itself = tl.zeros((BLOCK,), tl.int32)
    total = tl.zeros((BLOCK,), tl.float32)  # sum of exp(x - top)
    moment = tl.zeros((BLOCK,), tl.float32)  # sum of (x - top) exp(x - top)
    top = target  # the largest logit so far
    for start in range(0, V, BLOCK):
        columns = start + lane
        within = columns < V
        x = _tile(
            hidden, places, inside, matrix, columns, within, d, bias, HAS_BIAS, WIDEN, BLOCK, DEPTH
        )
        bad += tl.sum((within[None, :] & ~(tl.abs(x) < float("inf"))).to(tl.int32), 1)
        x = tl.where(within[None, :], x, float("-inf"))
        same = x == target[:, None]
        greater += tl.sum((x > target[:, None]).to(tl.int32), 1)
        equal += tl.sum(same.to(tl.int32), 1)
        itself += tl.sum((same & (columns[None, :] == own[:, None])).to(tl.int32), 1)
        highest = tl.maximum(top, tl.max(x, 1))
        # As in `one_pass`: exp is 0 below -104, and -inf times 0 would be NaN.
        shift = tl.maximum(top - highest, -200.0)
        x = tl.maximum(x - highest[:, None], -200.0)
        power = tl.exp(x)
        scale = tl.exp(shift)
        moment = (moment + shift * total) * scale + tl.sum(x * power, 1)
        total = total * scale + tl.sum(power, 1)
        top = highest
    log_sum = tl.log(total)
    tl.store(n_greater + token, greater, mask=inside)
    tl.store(n_equal + token, equal - 1, mask=inside)  # 1: the target itself
    tl.store(nll + token, log_sum + (top - target), mask=inside)
    tl.store(p_max + token, 1.0 / total, mask=inside)
    tl.store(entropy + token, log_sum - moment / total, mask=inside)
    tl.store(finite + token, (bad == 0).to(tl.int8), mask=inside)
    tl.store(met + token, (itself == 1).to(tl.int8), mask=inside)


_INTERPRETED = not isinstance(kernel, triton.JITFunction)  # it has no clock to tune by
_tuned = triton.autotune(CONFIGS[:1] if _INTERPRETED else CONFIGS, key=["V", "d"])(kernel)


def fused_results(
    hidden: Tensor,
    unembedding: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    by_logits: Callable[[Tensor], Any],
) -> tuple[Tensor, ...] | None:
    """The six results of `ranking.token_ranks` without logits; arguments as there.

    by_logits: rows -> their `TokenRanks`, for tokens whose own logit was another in the scan.
    None where a target or a logit has to be refused by name. Raises InputError where the kernel
    cannot run: no GPU, float32 or two dtypes, a width that is no multiple of 16.
    """
    if not (_INTERPRETED or hidden.device.type == "cuda"):
        raise InputError(f"fused=True needs a GPU, not a tensor on {hidden.device}")
    d = hidden.shape[1]
    if hidden.dtype != unembedding.dtype or hidden.dtype == torch.float32 or d % 16:
        raise InputError(
            "fused=True needs bfloat16 or float16, hidden as unembedding, and a width in sixteens,"
            f" not {hidden.dtype}, {unembedding.dtype} and {d}"
        )
    column = targets.long().clamp(0, len(unembedding) - 1)
    results = new_results(targets)
    met = count(hidden, unembedding, bias, column, results)
    usual = (results[5] & (column == targets)).all()
    usual, all_met = torch.stack((usual, met.all())).tolist()  # the one sync
    if not usual:
        return None
    if not all_met:
        (rows,) = (~met).nonzero(as_tuple=True)
        again = by_logits(rows)
        names = ("n_greater", "n_equal", "nll", "p_max", "entropy")
        for result, name in zip(results, names, strict=False):
            result[rows] = getattr(again, name)
    return results


def count(
    hidden: Tensor,
    matrix: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    results: tuple[Tensor, ...],
) -> Tensor:
    """Fill `results`, vectors along the tokens, as `one_pass.count` does -> met, (T,) bool.

    hidden: (T, d), matrix: (V, d), of one dtype, float32, bfloat16 or float16; bias: (V,) or None;
    targets: (T,) int64 in [0, V). met: whether the target's logit is the one that was counted;
    where it is not, the results of that token are to be made in another way.
    """
    (T, d), V = hidden.shape, len(matrix)
    met = torch.zeros(T, dtype=torch.bool, device=hidden.device)
    if T:
        *results, finite = results
        arguments = (hidden.contiguous(), matrix.contiguous(), matrix if bias is None else bias)
        flags = (finite.view(torch.int8), met.view(torch.int8))
        with torch.cuda.device_of(hidden):
            _tuned[lambda chosen: (triton.cdiv(T, chosen["BLOCK"]),)](
                *arguments, targets, *results, *flags, T, V, d, HAS_BIAS=bias is not None,
                WIDEN=_INTERPRETED,  # which multiplies the bits of bfloat16 as integers
            )  # fmt: skip
    return met
