"""Work that may not fit in memory: done in batches, which get smaller when one does not fit."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import numpy as np
import torch

from rbpkit.errors import InputError, one_line

Found = TypeVar("Found")


class Batch(Protocol):
    """Documents (B, L) as `encoding.batches` makes them; documents[0] is the first one's number."""

    input_ids: np.ndarray
    documents: np.ndarray


def out_of_memory(error: BaseException) -> bool:
    """Whether torch found no memory for a tensor, on a GPU or (a plain RuntimeError) on the CPU."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    # The allocator says "can't allocate memory" on Linux and "not enough memory" elsewhere.
    words = "DefaultCPUAllocator: can't allocate memory", "DefaultCPUAllocator: not enough memory"
    return isinstance(error, RuntimeError) and any(one in str(error) for one in words)


def by_batches(
    make: Callable[[int, int], Iterator[Batch]],
    batch_tokens: int,
    work: Callable[[Batch], Found],
    what: str,
    say: Callable[[str], None] = lambda line: None,
) -> Iterator[tuple[Batch, Found]]:
    """Each batch with what `work` makes of it.

    make: gives batches of at most a given number of tokens, padding included, after a given number
    of documents. When `work` runs out of memory, the batch is done again: half of its tokens are
    the new budget, and `say` gets a line, which begins with `what`. Raises InputError if a single
    document is too much.
    """
    done, fits = 0, False
    while not fits:
        failure = None
        for batch in make(batch_tokens, done):
            try:
                found = work(batch)
            except RuntimeError as error:
                if not out_of_memory(error):
                    raise
                failure = one_line(error)
                break
            yield batch, found
            done += len(batch.input_ids)
        fits = failure is None
        if not fits:
            # Only here, after the error is released: its traceback held the failed pass's tensors.
            gc.collect()
            torch.cuda.empty_cache()  # does nothing if CUDA was never used
            count, length = batch.input_ids.shape
            if count == 1:
                raise InputError(
                    f"{what}: out of memory at document {batch.documents[0]}, {length:,} tokens,"
                    " alone in its batch; cut documents shorter (--max-length), take a lower"
                    f" --dtype, or a device with more memory ({failure})"
                )
            batch_tokens = batch.input_ids.size // 2
            say(
                f"{what}: out of memory with a batch of {batch.input_ids.size:,} tokens;"
                f" it is done again, and the rest continues with at most {batch_tokens:,}"
            )
