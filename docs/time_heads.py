"""The time of exact ranking as a multiple of the matrix product that makes the logits.

`python docs/time_heads.py` prints the table of docs/cost.md: one CPU thread, random numbers. The
product fills one buffer again and again, as ranking does, so it is the limit of any way that makes
all logits.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from rbpkit.kernels.head_plan import plan_head
from rbpkit.ranking import MEMORY_BYTES, token_ranks

SHAPES = ((256, 50_257, 2048), (768, 50_257, 2048), (256, 262_144, 512), (192, 4_096, 8192))
"""Width d of the states, vocabulary V, tokens."""
WAYS = {
    "ranks": {},
    "with entropy": {"entropy": True},
    "scaled, with entropy": {"entropy": True, "scale": 0.5},
    "soft-capped, with entropy": {"entropy": True, "softcap": 30.0},
}
ROUNDS = 7


def product(hidden: Tensor, matrix: Tensor, rows: int) -> None:
    """All logits, so many rows at a time."""
    logits = hidden.new_empty((rows, len(matrix)))
    for states in hidden.split(rows):
        torch.mm(states, matrix.T, out=logits[: len(states)])


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    torch.set_num_threads(1)
    print(f"| d, V, tokens | {' | '.join(WAYS)} |\n|{' --- |' * (len(WAYS) + 1)}")
    for d, V, tokens in SHAPES:
        hidden, matrix = torch.randn(tokens, d), torch.randn(V, d) / d**0.5
        targets = torch.randint(V, (tokens,))
        rows = plan_head(hidden, matrix, None, MEMORY_BYTES).rows
        multiples: dict[str, list[float]] = {way: [] for way in WAYS}
        product(hidden, matrix, rows)  # once without a clock
        # Interleaved, so that other programs slow all ways alike.
        for _ in range(ROUNDS):
            bare = seconds(lambda: product(hidden, matrix, rows))  # noqa: B023
            for way, options in WAYS.items():
                taken = seconds(lambda: token_ranks(hidden, matrix, targets, **options))  # noqa: B023
                multiples[way].append(taken / bare)
        cells = " | ".join(f"{statistics.median(multiples[way]):.2f}" for way in WAYS)
        print(f"| {d}, {V:,}, {tokens:,} | {cells} |")


if __name__ == "__main__":
    main()
