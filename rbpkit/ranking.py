"""Ranks and losses of ground-truth tokens, from hidden states or from logits.

Eq. 3 of arXiv 2510.20387: the rank of a token is the number of vocabulary entries that the model
finds at least as likely. Softmax keeps the order, so logits are counted. The target's logit is
gathered from the very tensor that is counted: recomputed, its last bit would change the count.

Three programs in `kernels` count, and agree to the integer: `one_pass` (Triton) on a GPU, `c_loop`
where there is a C compiler, and `tiles` (torch), the others' fallback and oracle; a fourth,
`fused_head`, is an option. `kernels.head_plan` checks what is given, divides the memory and makes
the logits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor

from rbpkit.errors import InputError, check_ties
from rbpkit.kernels.head_plan import (
    CHUNK_ROWS,
    MEMORY_BYTES,
    check_matrix,
    check_targets,
    logit_chunks,
    new_results,
    plan,
    tile_rows,
)
from rbpkit.kernels.tiles import Chunks, bounded_product, by_tiles


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
    """What is kept of T scored tokens; 1-D tensors on the device of the logits.

    n_greater: (T,) int32, vocabulary entries with a larger logit than the target's.
    n_equal: (T,) int32, entries with the same fp32 logit, the target itself left out.
    nll: (T,) float32, negative log-likelihood of the target, nats.
    p_max, entropy: (T,) float32, the largest probability of the prediction, and its entropy
    -sum_v p(v) log p(v), nats; None where they were not asked for.
    """

    n_greater: Tensor
    n_equal: Tensor
    nll: Tensor
    p_max: Tensor | None = None
    entropy: Tensor | None = None

    def rank(self, ties: str = "pessimistic") -> Tensor:
        """Rank R of each target, from 1; (T,) int32.

        "pessimistic" is Eq. 3, R = #{v : p(v) >= p(t)}: tied entries come first. "optimistic"
        puts them behind, R = 1 + #{v : p(v) > p(t)}. Raises InputError on any other word.
        """
        check_ties(ties)
        if ties == "optimistic":
            return self.n_greater + 1
        return self.n_greater + self.n_equal + 1


@torch.no_grad()
def token_ranks(
    hidden: Tensor,
    unembedding: Tensor,
    targets: Tensor,
    *,
    bias: Tensor | None = None,
    memory_bytes: int = MEMORY_BYTES,
    entropy: bool = False,
    fused: bool = False,
) -> TokenRanks:
    """Rank (Eq. 3 of arXiv 2510.20387) and loss of each target under hidden @ unembedding.T + bias.

    hidden: (T, d) last hidden states; unembedding: (V, d) output matrix; bias: (V,) or None;
    each float32, bfloat16 or float16. targets: (T,) integers in [0, V). T may be 0.
    memory_bytes: bound on all temporaries together; results (21 bytes a token) come on top.
    entropy: also p_max and entropy. fused: make no logits in memory (`kernels.fused_head`): on a
    GPU with Triton; bfloat16 or float16, hidden as unembedding; d a multiple of 16. Off, since it
    has not been timed on a GPU.

    Counts are exact on the fp32 logits that were made; another chunking may change their last
    bits. The host waits for the device once a call.

    Raises InputError on a wrong shape, dtype or device, on a target out of range or a
    memory_bytes too small for one row; NonFiniteError on NaN or Inf in any logit.
    """
    _, tile, _ = plan(hidden, unembedding, bias, memory_bytes)
    check_targets(targets, hidden)
    head = {"bias": bias, "memory_bytes": memory_bytes}
    if fused:

        def by_logits(rows: Tensor) -> TokenRanks:
            return token_ranks(hidden[rows], unembedding, targets[rows], **head, entropy=True)

        if find_spec("triton") is None:
            raise InputError("fused=True needs triton: pip install 'rbpkit[gpu]'")
        from rbpkit.kernels.fused_head import fused_results

        results = fused_results(hidden, unembedding, bias, targets, by_logits)
        if results is not None:
            return TokenRanks(*results[: 5 if entropy else 3])

    def chunks() -> Iterator[tuple[int, Tensor]]:
        return logit_chunks(hidden, unembedding, **head)

    bounded = None
    # Looking at every logit for -inf costs a pass over T x V, this V x d: take the cheaper.
    if _one_pass(hidden.device) is None and len(hidden) > hidden.shape[1]:
        bounded = bounded_product(hidden, unembedding, bias)
    return _ranked(chunks, targets, (tile, len(unembedding)), bounded, entropy)


@torch.no_grad()
def logit_ranks(logits: Tensor, targets: Tensor, *, entropy: bool = False) -> TokenRanks:
    """`token_ranks` on logits that are there already: (T, V), float32, bfloat16 or float16.

    16-bit logits are compared as they are (widening changes neither order nor ties).
    The logits are only read. Errors as in `token_ranks`; -inf is one too: a masked entry has
    no place in Eq. 3, so leave its column out.
    """
    check_matrix("logits", logits)
    check_targets(targets, logits)
    V = logits.shape[1]
    tile = tile_rows(logits.device, V, MEMORY_BYTES)
    rows = tile if _one_pass(logits.device) is None else max(tile, CHUNK_ROWS["cpu"])

    def chunks() -> Iterator[tuple[int, Tensor]]:
        return ((i, logits[i : i + rows]) for i in range(0, len(logits), rows))

    return _ranked(chunks, targets, (tile, V), None, entropy)


def _ranked(
    chunks: Chunks,
    targets: Tensor,
    shape: tuple[int, int],
    bounded: Tensor | None,
    entropy: bool,
) -> TokenRanks:
    """Count the chunks; `shape` and `bounded` as in `by_tiles`, which alone needs them."""
    V, device = shape[1], targets.device
    # An index out of range would kill a CUDA context: clamp, and refuse it at the one sync.
    column = targets.long().clamp(0, V - 1)
    results = new_results(targets)
    one_pass = _one_pass(device)
    if one_pass is None:
        finite = by_tiles(chunks, column, results, shape, bounded, entropy)
    else:
        for start, logits in chunks():
            rows = slice(start, start + len(logits))
            one_pass(logits, column[rows], tuple(result[rows] for result in results))
        finite = results[5].all()

    known = (targets >= 0) & (targets < V)
    all_known, finite = torch.stack((known.all(), finite)).tolist()  # the one sync
    if not all_known:
        row = int((~known).nonzero()[0])
        raise InputError(f"target {int(targets[row])} of token row {row} is not in [0, {V})")
    if not finite:
        _refuse_non_finite(chunks)
        # All are finite: a loss was too large to be summed without its row's largest logit.
        by_tiles(chunks, column, results, shape, bounded, entropy, by_top=True)
    return TokenRanks(*results[: 5 if entropy else 3])


def _refuse_non_finite(chunks: Chunks) -> None:
    """NonFiniteError with the place of the first bad logit, if there is one."""
    for start, logits in chunks():
        for i, row in enumerate(logits):
            if not (row.amin().isfinite() & row.amax().isfinite()):
                v = int((~row.isfinite()).nonzero()[0])
                raise NonFiniteError(start + i, v, row[v].item())


def counting_path(device: torch.device | str) -> str:
    """The program that counts on this device: "triton", "compiled" (C) or "torch".

    All give the same integers; the last bits of nll, p_max and entropy may differ.
    """
    device = torch.device(device)
    if _one_pass(device) is None:
        return "torch"
    return "triton" if device.type == "cuda" else "compiled"


@functools.cache
def _one_pass(device: torch.device) -> Callable[[Tensor, Tensor, tuple[Tensor, ...]], None] | None:
    """Fills the results of some rows from their logits and targets; None: only torch can here."""
    if device.type == "cuda" and find_spec("triton") is not None:
        from rbpkit.kernels import one_pass

        return one_pass.one_pass_on(device)
    if device.type == "cpu":
        from rbpkit.kernels import c_loop

        return c_loop.one_pass()
    return None
