"""Work that may not fit in memory: done in batches, and in smaller ones where it does not."""

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


def attempt(work: Callable[[Batch], Found], batch: Batch) -> tuple[Found, None] | tuple[None, str]:
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


def by_batches(
    make: Callable[[int, int], Iterator[Batch]],
    batch_tokens: int,
    work: Callable[[Batch], Found],
    what: str,
    say: Callable[[str], None] = lambda line: None,
) -> Iterator[tuple[Batch, Found]]:
    """Each batch with what `work` makes of it.

    make: batches of at most so many tokens, padding included, after so many documents. Where
    `work` runs out of memory, half of what the batch had is the new budget, and `say` gets a
    line, which begins with `what`. Raises DoesNotFitError where a document alone is too much.
    """
    done, unfinished = 0, True
    while unfinished:
        unfinished = False
        for batch in make(batch_tokens, done):
            found, failure = attempt(work, batch)
            if failure is not None:
                batch_tokens, unfinished = _smaller(batch, failure, what, say), True
                break
            yield batch, found
            done += len(batch.input_ids)


def _smaller(batch: Batch, failure: str, what: str, say: Callable[[str], None]) -> int:
    """Half the tokens of a batch that did not fit; DoesNotFitError for a single document."""
    count, length = batch.input_ids.shape
    if count == 1:
        raise DoesNotFitError(
            f"{what}: out of memory at document {batch.documents[0]}, {length:,} tokens, alone in"
            " its batch; cut documents shorter (--max-length), take a lower --dtype, or a device"
            f" with more memory ({failure})"
        )
    half = batch.input_ids.size // 2
    say(
        f"{what}: out of memory with a batch of {batch.input_ids.size:,} tokens;"
        f" it is done again, and the rest goes on, with at most {half:,}"
    )
    return half
