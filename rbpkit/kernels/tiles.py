"""The counts and sums of `ranking` by torch operations, tile by tile: for any device."""

from __future__ import annotations

import torch
from torch import Tensor

from rbpkit.kernels.results import Results


def count(logits: Tensor, targets: Tensor, results: Results, tile: int) -> None:
    """Fill `results`, one entry for each row of the logits.

    logits: (rows, V) float32, bfloat16 or float16. targets: (rows,) int64 in [0, V). tile: rows
    that are reduced at a time; the temporaries are two tiles of fp32.
    """
    logits = logits.float()
    rows, V = logits.shape
    target = logits.gather(1, targets.unsqueeze(1))
    vectors = torch.empty((6, rows), dtype=torch.float32, device=logits.device)
    scratch = torch.empty((2, min(tile, rows), V), dtype=torch.float32, device=logits.device)
    # Split once a chunk: on small models slicing for every tile costs as much as a pass.
    tiles = [tensor.split(tile) for tensor in (logits, target, *vectors)]
    for x, t, greater, at_least, low, top, total, moment in zip(*tiles, strict=True):
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
    log_total = total.log()
    results.n_greater.copy_(greater)
    results.n_equal.copy_(at_least - greater - 1)  # 1: the target itself
    results.nll.copy_(log_total + (top - target.squeeze(1)))
    results.p_max.copy_(total.reciprocal())
    results.entropy.copy_(log_total - moment / total)
    results.finite.copy_(low.isfinite() & top.isfinite())
