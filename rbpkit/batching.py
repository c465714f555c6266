"""Work over a corpus batch by batch; where memory does not suffice, with smaller batches.

A budget of tokens that one model and device take is too much for another. The batch that failed
is done again in halves, and the rest with the smaller budget: no document is lost, none is done
twice. Only running out of memory is met so; any other error is the caller's.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import TypeVar

import torch

from rbpkit.encoding import Batch, EncodedCorpus, batches, check_batch_tokens
from rbpkit.errors import InputError
from rbpkit.libraries import one_line

Found = TypeVar("Found")


class DoesNotFitError(InputError):
    """One document alone is too much for the memory."""


def by_batches(
    encoded: EncodedCorpus,
    batch_tokens: int,
    work: Callable[[Batch], Found],
    *,
    model: str,
    say: Callable[[str], None] = lambda line: None,
) -> Iterator[tuple[Batch, Found]]:
    """Each batch of the corpus with what `work` makes of it, the longest documents first.

    batch_tokens: the most tokens of a batch, padding included. Where `work` runs out of memory,
    half of what the batch had is the new budget, and `say` gets a line. model: its name, for
    these lines. Raises InputError for batch_tokens below 1, and DoesNotFitError, one of its kind,
    where a document alone is too much.
    """
    check_batch_tokens(batch_tokens)
    done = 0
    while done < len(encoded.documents):
        for batch in batches(encoded, batch_tokens, done):
            found, failure = _attempt(work, batch)
            if failure is not None:
                batch_tokens = _smaller(batch, failure, f"{model} on {encoded.corpus}", say)
                break
            yield batch, found
            done += len(batch.input_ids)


def out_of_memory(error: BaseException) -> bool:
    """Whether torch found no memory for a tensor, on a GPU or (a plain RuntimeError) on the CPU."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    # Two wordings, one for each kind of system.
    told = ("DefaultCPUAllocator: can't allocate memory", "DefaultCPUAllocator: not enough memory")
    return isinstance(error, RuntimeError) and any(words in str(error) for words in told)


def _attempt(work: Callable[[Batch], Found], batch: Batch) -> tuple[Found, None] | tuple[None, str]:
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
