"""`c_loop.c`, compiled for this machine when the first logits are counted on its CPU.

This takes half a second, once per process. Nothing is kept on disk, so no build can be stale or
come from another machine.
"""

from __future__ import annotations

import ctypes
import functools
import math
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import Tensor

from rbpkit.kernels.head_plan import Results

_SOURCE = Path(__file__).with_name("c_loop.c")
# -O3 keeps the lanes in registers. No -ffast-math: NaN and the order of sums must stay.
_FLAGS = "-O3 -shared -fPIC -fno-math-errno -fno-trapping-math".split()
# By the name torch gives them. With narrower vectors torch's operations are faster.
_VECTORS = {
    "AVX2": "-mavx2 -mfma".split(),
    "AVX512": "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512".split(),
}
_WORTH_A_THREAD = 2**20  # logits


def count(logits: Tensor, targets: Tensor, results: Results) -> None:
    """Fill `results`, one entry for each row of the logits.

    logits: (rows, V) float32, bfloat16 or float16 on the CPU. targets: (rows,) int64 in [0, V).
    Uses as many threads as torch, if they pay; the bits do not depend on them.
    """
    logits = logits.float()
    if logits.stride(1) != 1:
        logits = logits.contiguous()
    most_threads = max(1, logits.numel() // _WORTH_A_THREAD)
    threads = min(torch.get_num_threads(), most_threads)
    rows_each = max(1, math.ceil(len(logits) / threads))
    parts = [tensor.split(rows_each) for tensor in (logits, targets, *results)]
    with ThreadPoolExecutor(threads) as pool:  # C runs without Python's lock
        list(pool.map(_count, *parts))  # the list waits for all, and raises what one raised


def _count(logits: Tensor, targets: Tensor, *results: Tensor) -> None:
    compiled = library()
    assert compiled is not None  # `count` is chosen only if there is one
    rows, V = logits.shape
    addresses = [tensor.data_ptr() for tensor in results]
    compiled.rank_rows(logits.data_ptr(), logits.stride(0), targets.data_ptr(), rows, V, *addresses)


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiled function; None without a C compiler, or without vectors that are worth it."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    vectors = _VECTORS.get(torch.backends.cpu.get_cpu_capability())
    if compiler is None or vectors is None:
        return None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        built = Path(folder, "ranking.so")
        command = [compiler, *_FLAGS, *vectors, str(_SOURCE), "-o", str(built), "-lm"]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=60)
            compiled = ctypes.CDLL(str(built))  # stays when its file goes
        except (OSError, subprocess.SubprocessError):
            return None
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    # logits, their stride, targets, rows, V, and the six results
    compiled.rank_rows.argtypes = [pointer, integer, pointer, integer, integer, *[pointer] * 6]
    compiled.rank_rows.restype = None
    return compiled
