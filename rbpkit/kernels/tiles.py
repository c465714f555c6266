"""The counts and sums of `ranking` by torch operations, tile by tile: for any device."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

Chunks = Callable[[], Iterator[tuple[int, Tensor]]]
"""Gives, each time it is called, the logits as pairs (first row, (rows, V) logits)."""


def by_tiles(
    chunks: Chunks,
    column: Tensor,
    results: tuple[Tensor, ...],
    shape: tuple[int, int],
    bounded: Tensor | None,
    entropy: bool,
    *,
    by_top: bool = False,
) -> Tensor:
    """Whether all results are right (bool, 0-dim): every logit finite, no loss above 88 nats.

    column: (T,) targets. results: what to fill, (T,) each: n_greater, n_equal, nll and, for
    `entropy`, p_max and entropy. shape: rows of a tile, V. bounded: whether no logit can be -inf
    (bool, 0-dim); None: look at each. by_top: exponentials of the distance to the largest logit;
    it costs a pass, but then no loss is too large. Entropy needs it too.
    """
    T, device, (tile, V) = len(column), column.device, shape
    by_top = by_top or entropy
    vectors = torch.zeros((6, T), dtype=torch.float32, device=device)
    greater, at_least, total, top, moment, low = vectors
    scratch = torch.empty((min(tile, T), V), dtype=torch.float32, device=device)
    for start, logits in chunks():
        rows = slice(start, start + len(logits))
        logits = logits.float()
        target = logits.gather(1, column[rows].unsqueeze(1))
        # Split once a chunk: on small models slicing for every tile costs as much as a pass.
        views = (x.split(tile) for x in (logits, target, *vectors[:, rows]))
        for part, t, *sums in zip(*views, strict=True):
            space = scratch[: len(part)]
            _count(part, space, t, *sums[:2])
            if by_top:
                _sum_by_top(part, space, *sums[2:5], entropy)
            else:
                # This needs no maximum, since the loss seldom passes 88 nats; every entry at or
                # above the target adds at least 1, hence nll >= ln R.
                torch.sub(part, t, out=space)
                torch.sum(space.exp_(), dim=1, out=sums[2])
            if bounded is None:
                torch.amin(part, dim=1, out=sums[5])
        if by_top:
            top[rows] -= target.squeeze(1)

    n_greater, n_equal, nll, p_max, H = results[:5]
    n_greater.copy_(greater)
    n_equal.copy_(at_least - greater - 1)  # 1: the target itself
    torch.log(total, out=nll)
    if entropy:
        torch.reciprocal(total, out=p_max)
        torch.sub(nll, moment / total, out=H)
    if by_top:
        nll += top
    # NaN and +inf make the sum of exponentials NaN or inf, and so does too large a loss.
    return total.isfinite().all() & (low.isfinite().all() if bounded is None else bounded)


def bounded_product(hidden: Tensor, unembedding: Tensor, bias: Tensor | None) -> Tensor:
    """Whether hidden @ unembedding.T + bias can have no infinite entry (bool, 0-dim).

    -inf leaves no trace in a sum of exponentials; finite factors this small cannot make one.
    """
    size = _largest(hidden) * _largest(unembedding) * hidden.shape[1]
    size = size if bias is None else size + _largest(bias)
    return size < torch.finfo(torch.float32).max / 2


def _largest(tensor: Tensor) -> Tensor:
    """max |x|, 0-dim fp32, NaN if there is one; no temporary of the tensor's size."""
    low, high = tensor.aminmax()
    return torch.maximum(-low, high).float()


def _count(
    logits: Tensor, scratch: Tensor, target: Tensor, greater: Tensor, at_least: Tensor
) -> None:
    """#{v : l > l_t} and #{v : l >= l_t} of each row.

    Comparisons write floats, not booleans: only those are vectorised on a CPU, and summed
    without a detour through int64.
    """
    torch.gt(logits, target, out=scratch)
    torch.sum(scratch, dim=1, out=greater)
    torch.ge(logits, target, out=scratch)
    torch.sum(scratch, dim=1, out=at_least)


def _sum_by_top(
    logits: Tensor, scratch: Tensor, total: Tensor, top: Tensor, moment: Tensor, entropy: bool
) -> None:
    """sum_v exp(d), the largest logit and, for `entropy`, sum_v d exp(d); d = l - the largest."""
    torch.amax(logits, dim=1, out=top)
    torch.sub(logits, top.unsqueeze(1), out=scratch)
    if not entropy:
        torch.sum(scratch.exp_(), dim=1, out=total)
        return
    # exp is 0 below -104; without a bound, an overflow to -inf times 0 would be NaN.
    power = scratch.clamp_(min=-200).exp()
    torch.sum(power, dim=1, out=total)
    torch.sum(scratch.mul_(power), dim=1, out=moment)
