"""The time of exact ranking, as a multiple of the bare matrix product's.

    python docs/time_heads.py                    # the table of docs/cost.md, one CPU thread
    python docs/time_heads.py --shapes paper --device cuda --dtype bfloat16 --out docs/gpu.md

Hidden states and output matrices are random numbers.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from datetime import date
from importlib import resources
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoConfig

from rbpkit.kernels.head_plan import chunk_rows
from rbpkit.ranking import counting_path, token_ranks
from rbpkit.writing import write_whole

Shape = tuple[int, int, int]
SHAPES: list[Shape] = [
    (256, 50_257, 2048),
    (768, 50_257, 2048),
    (256, 262_144, 512),
    (192, 4_096, 8192),
]
"""Width d of the states, vocabulary V, tokens."""
WAYS = {
    "ranks": {},
    "scaled": {"scale": 0.5},
    "soft-capped": {"softcap": 30.0},
}
ROUNDS = 7

COLUMNS = ("device", "dtype", "d, V, tokens", *WAYS, "product, ms", "counted by", "torch", "date")
PAGE = f"""# How fast ranking is

`python docs/time_heads.py` wrote this table. Each row ranks random hidden states (tokens x d) under
a random output matrix (V x d). *Product* is the time of all logits alone, which any way must make;
the time of each way to rank is a multiple of it. Times are medians of {ROUNDS} rounds.

| {" | ".join(COLUMNS)} |
|{" --- |" * len(COLUMNS)}
"""


def product(hidden: Tensor, matrix: Tensor, rows: int) -> None:
    """All logits, so many rows at a time, in one buffer as ranking does: what any way must do."""
    logits = hidden.new_empty((rows, len(matrix)))
    for states in hidden.split(rows):
        torch.mm(states, matrix.T, out=logits[: len(states)])


def seconds(work: Callable[[], object]) -> float:
    """How long it takes, until a GPU is done too."""
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


@torch.no_grad()
def times(d: int, V: int, T: int, dtype: torch.dtype, device: str) -> tuple[list[float], float]:
    """The time of each of WAYS as a multiple of the product's, and the product's in ms."""
    hidden = torch.randn(T, d, dtype=dtype, device=device)
    matrix = torch.randn(V, d, dtype=dtype, device=device) / d**0.5
    targets = torch.randint(V, (T,), device=device)
    rows = chunk_rows(V, d)

    def rank(options: dict[str, float]) -> object:
        return token_ranks(hidden, matrix, targets, **options)

    product(hidden, matrix, rows)  # once without a clock, and each way: kernels are compiled
    for options in WAYS.values():
        rank(options)
    of_product = []
    multiples: dict[str, list[float]] = {way: [] for way in WAYS}
    # Interleaved, so that other programs slow all ways alike.
    for _ in range(ROUNDS):
        bare = seconds(lambda: product(hidden, matrix, rows))
        of_product.append(bare)
        for way, options in WAYS.items():
            multiples[way].append(seconds(lambda: rank(options)) / bare)  # noqa: B023
    medians = [statistics.median(multiples[way]) for way in WAYS]
    return medians, 1e3 * statistics.median(of_product)


def paper_shapes() -> list[Shape]:
    """The shapes of the output matrices of the paper's 24 models, each once."""
    lines = (resources.files("rbpkit") / "data/paper/architectures.jsonl").read_text("ascii")
    shapes = []
    for row in map(json.loads, lines.splitlines()):
        config = AutoConfig.for_model(**row)
        d = getattr(config, "word_embed_proj_dim", config.hidden_size)  # OPT-350m's head
        shapes.append((d, config.vocab_size, 8192))
    return list(dict.fromkeys(shapes))


def main() -> None:
    """A row for each shape, printed and kept in --out; a row that is there is not timed again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default="small", choices=["small", "paper"])
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float16"])
    parser.add_argument("--out", type=Path, help="a Markdown file that keeps the rows")
    asked = parser.parse_args()
    shapes = paper_shapes()
    if asked.shapes == "small":
        torch.set_num_threads(1)
        shapes = SHAPES
    place = f"{platform.machine()} cpu, threads: {torch.get_num_threads()}"
    if asked.device != "cpu":
        place = torch.cuda.get_device_name(asked.device)
    page = PAGE
    if asked.out and asked.out.exists():
        page = asked.out.read_text(encoding="utf-8")
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}")
    for d, V, T in shapes:
        key = f"| {place} | {asked.dtype} | {d}, {V:,}, {T:,} |"
        if key in page:
            continue
        multiples, of_product = times(d, V, T, getattr(torch, asked.dtype), asked.device)
        ways = " | ".join(f"{multiple:.2f}" for multiple in multiples)
        counted_by = counting_path(asked.device)
        row = f"{key} {ways} | {of_product:,.2f} | {counted_by} | {torch.__version__}"
        row += f" | {date.today()} |"
        print(row, flush=True)
        page += row + "\n"
        if asked.out:
            write_whole(asked.out.parent, {asked.out.name: page.encode()})


if __name__ == "__main__":
    main()
