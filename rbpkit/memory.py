"""Work that may not fit in memory: done in batches, which get smaller when one does not fit."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import TypeVar

import torch

from rbpkit.encoding import Batch
from rbpkit.errors import InputError, one_line

Result = TypeVar("Result")

# The allocator says the first on Linux and the second elsewhere; the last is oneDNN's, which has
# no other words for it.
_NO_MEMORY = (
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
    "could not create a primitive",
)


def out_of_memory(error: BaseException) -> bool:
    """Whether torch found no memory for a tensor, on a GPU or (a plain RuntimeError) on the CPU."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    message = str(error)
    return isinstance(error, RuntimeError) and any(words in message for words in _NO_MEMORY)


def by_batches(
    make: Callable[[int, int], Iterator[Batch]],
    batch_tokens: int,
    work: Callable[[Batch], Result],
    what: str,
    say: Callable[[str], None] = lambda line: None,
) -> Iterator[tuple[Batch, Result]]:
    """Each batch with what `work` makes of it.

    make: gives batches of at most a given number of tokens, padding included, after a given number
        of documents.
    batch_tokens: the number to begin with. When `work` runs out of memory, the batch is done again:
        half of its tokens are the new number.
    what: what is done, for messages.
    say: gets a line each time memory ran out.

    Raises InputError if a single document is too much.
    """
    documents_done = 0
    while True:
        failure = ""
        for batch in make(batch_tokens, documents_done):
            try:
                result = work(batch)
            except RuntimeError as error:
                if not out_of_memory(error):
                    raise
                failure = one_line(error)
                break
            yield batch, result
            documents_done += len(batch.input_ids)
        if not failure:
            return
        # Only here, after the error is released: its traceback held the failed pass's tensors.
        gc.collect()
        torch.cuda.empty_cache()  # does nothing if CUDA was never used
        documents, length = batch.input_ids.shape
        if documents == 1:
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
