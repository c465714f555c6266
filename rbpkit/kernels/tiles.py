"""The counts and sums of `ranking` by torch operations, tile by tile: for any device."""

from __future__ import annotations

import torch
from torch import Tensor


def count(logits: Tensor, targets: Tensor, results: tuple[Tensor, ...], tile: int) -> None:
    """Fill `results`, vectors along the rows: n_greater, n_equal, nll, p_max, entropy, finite.

    logits: (rows, V) float32, bfloat16 or float16. targets: (rows,) int64 in [0, V). tile: rows
    that are reduced at a time; the temporaries are two tiles of fp32. finite (bool): whether the
    row has no NaN and no infinite logit; if it has one, its other results mean nothing.
    """
    logits = logits.float()
    target = logits.gather(1, targets.unsqueeze(1))
    rows, V = logits.shape
    vectors = torch.empty((6, rows), dtype=torch.float32, device=logits.device)
    scratch = torch.empty((2, min(tile, rows), V), dtype=torch.float32, device=logits.device)
    # Split once a chunk: on small models slicing for every tile costs as much as a pass.
    views = (x.split(tile) for x in (logits, target, *vectors))
    for x, t, greater, at_least, low, top, total, moment in zip(*views, strict=True):
        distance, power = scratch[:, : len(x)]
        # Comparisons write floats, not booleans: on a CPU only those are vectorised, and summed
        # without a detour through int64.
        torch.sum(torch.gt(x, t, out=power), dim=1, out=greater)
        torch.sum(torch.ge(x, t, out=power), dim=1, out=at_least)
        torch.amin(x, dim=1, out=low)
        torch.amax(x, dim=1, out=top)
        torch.sub(x, top.unsqueeze(1), out=distance)
        # exp is 0 below -104. Without a bound, an overflow to -inf times 0 would be NaN.
        torch.exp(distance.clamp_(min=-200), out=power)
        torch.sum(power, dim=1, out=total)
        torch.sum(power.mul_(distance), dim=1, out=moment)

    greater, at_least, low, top, total, moment = vectors
    n_greater, n_equal, nll, p_max, entropy, finite = results
    n_greater.copy_(greater)
    n_equal.copy_(at_least - greater - 1)  # 1: the target itself
    nll.copy_(total.log() + (top - target.squeeze(1)))
    p_max.copy_(total.reciprocal())
    entropy.copy_(total.log() - moment / total)
    finite.copy_(low.isfinite() & top.isfinite())
