"""The counts and sums of `ranking` by torch operations, tile by tile: for any device."""

from __future__ import annotations

import torch
from torch import Tensor

from rbpkit.kernels import head_plan
from rbpkit.kernels.head_plan import Results

# Floats of a tile, for each core: with its scratch 3 MiB, to be read again from the cache.
_TILE_FLOATS = 2**18
_TILE_ROWS = 128  # on a GPU, where each operation must be worth its launch


def count(logits: Tensor, targets: Tensor, results: Results) -> None:
    """Fill `results`, one entry for each row of the logits.

    logits: (rows, V) float32, bfloat16 or float16. targets: (rows,) int64 in [0, V).
    """
    rows, V = logits.shape
    tile = _TILE_ROWS
    if logits.device.type == "cpu":
        tile = _TILE_FLOATS * torch.get_num_threads() // V
    rows_in_budget = head_plan.MEMORY_BYTES // 4 // (8 * V)
    tile = max(1, min(tile, rows_in_budget))
    scratch = torch.empty((2, min(tile, rows), V), dtype=torch.float32, device=logits.device)
    for start in range(0, rows, tile):
        part = slice(start, start + tile)
        _count(logits[part].float(), targets[part], results.part(part), scratch)


def _count(x: Tensor, targets: Tensor, results: Results, scratch: Tensor) -> None:
    """The same of a tile of fp32 logits; scratch: room for two tiles."""
    target = x.gather(1, targets.unsqueeze(1))
    distance, power = scratch[:, : len(x)]
    # Comparisons write floats, not booleans: on a CPU only those are vectorised, and summed
    # without a detour through int64.
    n_greater = torch.gt(x, target, out=power).sum(dim=1)
    at_least = torch.ge(x, target, out=power).sum(dim=1)
    low, top = x.amin(dim=1), x.amax(dim=1)
    torch.sub(x, top.unsqueeze(1), out=distance)
    # exp is 0 below -104. Without a bound, an overflow to -inf times 0 would be NaN.
    torch.exp(distance.clamp_(min=-200), out=power)
    total = power.sum(dim=1)
    moment = power.mul_(distance).sum(dim=1)
    log_total = total.log()
    results.n_greater.copy_(n_greater)
    results.n_equal.copy_(at_least - n_greater - 1)  # 1: the target itself
    results.nll.copy_(log_total + (top - target.squeeze(1)))
    results.p_max.copy_(total.reciprocal())
    results.entropy.copy_(log_total - moment / total)
    results.finite.copy_(low.isfinite() & top.isfinite())
