"""Ranks and losses of ground-truth tokens, from hidden states or from logits.

Eq. 3 of arXiv 2510.20387: the rank of a token is the number of vocabulary entries that the model
finds at least as likely. Softmax keeps the order, so logits are counted. The target's logit is
gathered from the very tensor that is counted: if it were computed again, its last bit could
change the count.

Three programs in `kernels` count, and agree to the integer: `one_pass` (Triton) on a GPU, `c_loop`
on a CPU with a C compiler, and `tiles` (torch) everywhere else; `tiles` is also the oracle of the
other two. `kernels.head_plan` checks the arguments, divides the memory and makes the logits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor

from rbpkit.errors import InputError
from rbpkit.kernels import c_loop, tiles
from rbpkit.kernels.head_plan import (
    Results,
    check_floats,
    check_targets,
    chunk_rows,
    logit_chunks,
)

Chunks = Callable[..., Iterator[tuple[int, Tensor]]]
"""Gives the logits at each call, as pairs (first row, (rows, V) logits). softcap=None: uncapped."""

Count = Callable[[Tensor, Tensor, Results], None]
"""Counts (rows, V) logits at (rows,) targets into the results of these rows."""


class NonFiniteError(InputError):
    """A logit is NaN or infinite. `row` counts tokens of the call, `column` the vocabulary."""

    def __init__(self, row: int, column: int, value: float):
        super().__init__(
            f"the logit of token row {row}, vocabulary column {column}, is {value}: "
            "a rank needs finite logits (overflow of a 16-bit body? try float32)"
        )
        self.row, self.column, self.value = row, column, value


@dataclass(frozen=True, eq=False)
class TokenRanks:
    """What is kept of T scored tokens; tensors in the shape of the targets, on their device.

    n_greater: (T,) int32, vocabulary entries with a larger logit than the target's.
    n_equal: (T,) int32, entries with the same fp32 logit, without the target itself.
    nll: (T,) float32, negative log-likelihood of the target, nats.
    p_max: (T,) float32, the largest probability of the prediction.
    entropy: (T,) float32, -sum_v p(v) log p(v), nats.

    At a target of -100, n_greater is -1 and n_equal 0, so the rank is 0, which no token has; the
    others are NaN. Select by `rank() > 0` before you average.
    """

    n_greater: Tensor
    n_equal: Tensor
    nll: Tensor
    p_max: Tensor
    entropy: Tensor

    def rank(self) -> Tensor:
        """Rank R = #{v : p(v) >= p(t)} of each target, Eq. 3, from 1; (T,) int32.

        Tied entries come before the target. After it, the rank would be n_greater + 1.
        """
        return self.n_greater + self.n_equal + 1


@torch.no_grad()
def token_ranks(
    hidden: Tensor,
    unembedding: Tensor,
    targets: Tensor,
    *,
    bias: Tensor | None = None,
    scale: float = 1.0,
    softcap: float | None = None,
) -> TokenRanks:
    """Rank (Eq. 3 of arXiv 2510.20387) and loss of each target under a model's output head.

    The logits are z = scale * (hidden @ unembedding.T + bias), or softcap * tanh(z / softcap).

    hidden: (T, d) last hidden states; T may be 0.
    unembedding: (V, d) output matrix.
    bias: (V,) or None. All three are float32, bfloat16 or float16.
    targets: (T,) integers in [0, V), or -100 for a row that is not scored (see `TokenRanks`).
    scale, softcap: positive, applied in fp32.

    Counts are exact on the fp32 logits that were made, after scale and cap; another chunking may
    change their last bits. Logits that a cap makes equal in fp32 are ties. All temporaries together
    take at most MEMORY_BYTES; results (21 bytes a token) come on top. The host waits for the device
    once a call.

    Raises InputError on a wrong shape or dtype, on targets of another device, on a target, scale or
    softcap out of range; NonFiniteError on NaN or Inf in any logit, before the cap too.
    """
    check_targets(targets, hidden)

    def chunks(softcap: float | None = softcap) -> Iterator[tuple[int, Tensor]]:
        return logit_chunks(hidden, unembedding, bias=bias, scale=scale, softcap=softcap)

    return _ranked(chunks, targets, len(unembedding))


@torch.no_grad()
def logit_ranks(logits: Tensor, targets: Tensor) -> TokenRanks:
    """`token_ranks` on existing logits: (..., V), float32, bfloat16 or float16.

    targets: as in `token_ranks`. They, and all results, have the leading shape of the logits.
        Logits at a target of -100 may be anything, even NaN.

    16-bit logits are compared unchanged (widening changes neither order nor ties). The logits are
    only read, never copied as a whole. Errors as in `token_ranks`; rows are of the flattened shape.
    """
    check_floats("logits", logits, "(..., V)", logits.dim() > 0)
    check_targets(targets, logits)
    V = logits.shape[-1]

    def chunks(softcap: float | None = None) -> Iterator[tuple[int, Tensor]]:
        start = 0
        for matrix in _matrices(logits):
            # 16-bit logits are widened, this many rows at a time.
            for part in matrix.split(chunk_rows(V)):
                yield start, part
                start += len(part)

    return _ranked(chunks, targets, V)


def _matrices(logits: Tensor) -> Iterator[Tensor]:
    """(..., V) logits as matrices (rows, V), as few as can be without a copy."""
    try:
        yield logits.view(-1, logits.shape[-1])
    except RuntimeError:  # no one stride leads from row to row, as in logits[:, :-1]
        for part in logits:
            yield from _matrices(part)


def _ranked(chunks: Chunks, targets: Tensor, V: int) -> TokenRanks:
    shape = targets.shape
    targets = targets.flatten()
    if not 1 <= V < 2**24:  # torch sums counts in fp32, exact up to here
        raise InputError(f"the vocabulary has {V} entries; 1 to {2**24 - 1} can be counted")
    _, count = _counter(targets.device)
    # An index out of range would kill a CUDA context: clamp it, and refuse it at the one sync.
    column = targets.long().clamp(0, V - 1)
    results = Results.empty(len(targets), targets.device)
    for start, logits in chunks():
        rows = slice(start, start + len(logits))
        count(logits, column[rows], results.part(rows))

    ignored = targets == -100  # as in torch's own losses
    known = ignored | (targets >= 0) & (targets < V)
    finite = ignored | results.finite
    all_known, all_finite = torch.stack((known.all(), finite.all())).tolist()  # the one sync
    if not all_known:
        row = int((~known).nonzero()[0])
        raise InputError(f"target {int(targets[row])} of token row {row} is not in [0, {V})")
    if not all_finite:
        row = int((~finite).nonzero()[0])
        raise _not_finite(chunks, row)

    results.n_greater.masked_fill_(ignored, -1)
    results.n_equal.masked_fill_(ignored, 0)
    for numbers in (results.nll, results.p_max, results.entropy):
        numbers.masked_fill_(ignored, math.nan)
    kept = (result.view(shape) for result in results[:5])  # all but `finite`
    return TokenRanks(*kept)


def _not_finite(chunks: Chunks, row: int) -> NonFiniteError:
    """The error that names the first logit of a row that is NaN or infinite."""
    for start, logits in chunks(softcap=None):  # a cap hides which logit it is
        if row < start + len(logits):
            break
    values = logits[row - start]
    column = int((~values.isfinite()).nonzero()[0])
    return NonFiniteError(row, column, values[column].item())


def counting_path(device: torch.device | str) -> str:
    """The program that counts on this device: "triton", "compiled" (C) or "torch".

    All give the same integers; the last bits of nll, p_max and entropy may differ.
    """
    return _counter(torch.device(device))[0]


@functools.cache
def _counter(device: torch.device) -> tuple[str, Count]:
    """The fastest program that counts on this device, and its name."""
    if device.type == "cuda" and find_spec("triton") is not None:
        from rbpkit.kernels import one_pass

        if one_pass.runs_on(device):
            return "triton", one_pass.count
    if device.type == "cpu" and c_loop.library() is not None:
        return "compiled", c_loop.count
    return "torch", tiles.count
