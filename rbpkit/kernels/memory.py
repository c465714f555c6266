"""Work that may not fit in memory: whether an error says so, and a trial that leaves none held."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

import torch

from rbpkit.errors import InputError, one_line

Given = TypeVar("Given")
Found = TypeVar("Found")


class DoesNotFitError(InputError):
    """One document alone is too much for the memory."""


def out_of_memory(error: BaseException) -> bool:
    """Whether torch found no memory for a tensor, on a GPU or (a plain RuntimeError) on the CPU."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    # Two wordings, one for each kind of system.
    allocator_errors = (
        "DefaultCPUAllocator: can't allocate memory",
        "DefaultCPUAllocator: not enough memory",
    )
    return isinstance(error, RuntimeError) and any(
        words in str(error) for words in allocator_errors
    )


def attempt(work: Callable[[Given], Found], batch: Given) -> tuple[Found, None] | tuple[None, str]:
    """What `work` makes of the batch, or else the line in which memory ran out."""
    try:
        return work(batch), None
    except RuntimeError as error:
        if not out_of_memory(error):
            raise
        failure = one_line(error)
    # Only here, where the error is gone: its traceback held the tensors of the failed pass.
    gc.collect()
    torch.cuda.empty_cache()  # does nothing where CUDA was never used
    return None, failure
