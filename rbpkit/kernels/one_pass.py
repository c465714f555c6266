"""The counts and the loss of `ranking` on a GPU, by a Triton kernel that reads the logits once.

Imported only when logits on a GPU are ranked, and by tests: Triton's interpreter
(TRITON_INTERPRET=1) runs the same kernel on CPU tensors.
"""

from __future__ import annotations

import warnings

import torch
import triton
import triton.language as tl
from torch import Tensor

from rbpkit.kernels.head_plan import Results

# Logits at a time and warps of 32 threads, so 8 logits a thread: five sums of each stay in
# registers (`make test-gpu-dry` checks it). Always the same, so that the bits are.
BLOCK, WARPS = 2048, 8


# Triton reads annotations itself, so the arguments have none.
@triton.jit
def kernel(  # type: ignore[no-untyped-def]
    logits,
    row_stride,
    column_stride,
    targets,
    n_greater,
    n_equal,
    nll,
    p_max,
    entropy,
    finite,
    V,
    BLOCK: tl.constexpr,
):
    """One row of logits -> its place in each of the six results."""
    row = tl.program_id(0).to(tl.int64)
    logits += row * row_stride
    # From the very tensor that is counted: computed again, its last bit could change the counts.
    target = tl.load(logits + tl.load(targets + row) * column_stride).to(tl.float32)
    columns = tl.arange(0, BLOCK)
    places = logits + columns.to(tl.int64) * column_stride
    step = tl.full((), BLOCK, tl.int64) * column_stride  # 64 bits: V x stride may pass 2^31
    greater = tl.zeros((BLOCK,), tl.int32)
    equal = tl.zeros((BLOCK,), tl.int32)
    bad = tl.zeros((BLOCK,), tl.int32)
    total = tl.zeros((BLOCK,), tl.float32)  # sum of exp(x - top)
    moment = tl.zeros((BLOCK,), tl.float32)  # sum of (x - top) exp(x - top)
    top = target  # the largest logit so far
    for start in range(0, V, BLOCK):
        inside = start + columns < V
        x = tl.load(places, mask=inside, other=float("-inf")).to(tl.float32)
        greater += (x > target).to(tl.int32)
        equal += (x == target).to(tl.int32)
        bad += (inside & ~(tl.abs(x) < float("inf"))).to(tl.int32)
        highest = tl.maximum(top, tl.max(x, 0))
        # exp is 0 below -104. Without a bound, an overflow to -inf times 0 would be NaN.
        shift = tl.maximum(top - highest, -200.0)
        x = tl.maximum(x - highest, -200.0)
        scale = tl.exp(shift)
        power = tl.exp(x)
        moment = (moment + shift * total) * scale + x * power
        total = total * scale + power
        top = highest
        places += step
    sums = tl.sum(total, 0)
    log_sum = tl.log(sums)
    tl.store(n_greater + row, tl.sum(greater, 0))
    tl.store(n_equal + row, tl.sum(equal, 0) - 1)  # 1: the target itself
    tl.store(nll + row, log_sum + (top - target))
    tl.store(p_max + row, 1.0 / sums)
    tl.store(entropy + row, log_sum - tl.sum(moment, 0) / sums)
    tl.store(finite + row, (tl.sum(bad, 0) == 0).to(tl.int8))


def count(logits: Tensor, targets: Tensor, results: Results) -> None:
    """Fill `results`, one entry for each row of the logits.

    logits: (rows, V) float32, bfloat16 or float16 of any strides. targets: (rows,) int64 in
    [0, V). The host does not wait.
    """
    rows, V = logits.shape
    if rows == 0:
        return
    *numbers, finite = results
    row_stride, column_stride = logits.stride()
    finite = finite.view(torch.int8)  # Triton stores no bool
    with torch.cuda.device_of(logits):  # one of several; does nothing for a CPU tensor
        kernel[(rows,)](
            *(logits, row_stride, column_stride, targets, *numbers, finite, V),
            BLOCK=BLOCK,
            num_warps=WARPS,
            enable_fp_fusion=True,
        )


def runs_on(device: torch.device) -> bool:
    """Whether the device and the system take a Triton kernel; if not, a warning says why."""
    logits = torch.zeros((1, 1), device=device)
    target = torch.zeros(1, dtype=torch.int64, device=device)
    try:
        count(logits, target, Results.empty(1, device))
    except torch.OutOfMemoryError:
        raise  # says nothing about Triton, and the answer is kept
    except Exception as error:
        warnings.warn(f"no Triton kernel on {device}, so torch counts: {error}", stacklevel=2)
        return False
    return True
