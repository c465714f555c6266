"""`c_loop.c`, compiled for this machine when the first logits are counted on its CPU.

This takes half a second, once per process. Nothing is kept on disk, so no build can be stale or
come from another machine.
"""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import Tensor

_SOURCE = Path(__file__).with_name("c_loop.c")
# -O3 keeps the lanes in registers. No -ffast-math: NaN and the order of sums must stay.
_FLAGS = "-O3 -shared -fPIC -fno-math-errno -fno-trapping-math".split()
# By the name torch gives them. With narrower vectors torch's operations are faster.
_VECTORS = {
    "AVX2": "-mavx2 -mfma".split(),
    "AVX512": "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512".split(),
}
_WORTH_A_THREAD = 2**20  # logits


def count(logits: Tensor, targets: Tensor, results: tuple[Tensor, ...]) -> None:
    """Fill `results`, vectors along the rows: n_greater, n_equal, nll, p_max, entropy, finite.

    logits: (rows, V) float32, bfloat16 or float16 on the CPU. targets: (rows,) int64 in [0, V).
    finite (bool): whether the row has no NaN and no infinite logit; if it has one, its other
    results mean nothing. Uses as many threads as torch; the bits do not depend on them.
    """
    logits = logits.float()
    if logits.stride(1) != 1:
        logits = logits.contiguous()
    parts = min(torch.get_num_threads(), max(1, logits.numel() // _WORTH_A_THREAD))
    if parts == 1:
        return _count(logits, targets, *results)
    rows = -(-len(logits) // parts)
    with ThreadPoolExecutor(parts) as pool:  # C runs without Python's lock
        list(pool.map(_count, *(x.split(rows) for x in (logits, targets, *results))))


def _count(logits: Tensor, targets: Tensor, *results: Tensor) -> None:
    rows, V = logits.shape
    addresses = [tensor.data_ptr() for tensor in results]
    library()(logits.data_ptr(), logits.stride(0), targets.data_ptr(), rows, V, *addresses)


@functools.cache
def library() -> Callable[..., None] | None:
    """The compiled function; None without a C compiler, or without vectors that are worth it."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    vectors = _VECTORS.get(torch.backends.cpu.get_cpu_capability())
    if compiler is None or vectors is None:
        return None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        built = Path(folder, "ranking.so")
        command = [compiler, *_FLAGS, *vectors, str(_SOURCE), "-o", str(built), "-lm"]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=60)
            function = ctypes.CDLL(str(built)).one_pass  # stays when its file goes
        except (OSError, subprocess.SubprocessError):
            return None
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    function.argtypes = [pointer, integer, pointer, integer, integer, *[pointer] * 6]
    function.restype = None
    return function
