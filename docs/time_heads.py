"""The time of exact ranking, next to the bare matrix product or to a program that is not exact.

    python docs/time_heads.py                    # the table of docs/cost.md, one CPU thread
    python docs/time_heads.py --shapes paper --device cuda --dtype bfloat16 --out docs/gpu.md

Hidden states and output matrices are random numbers.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.benchmark import Timer

from rbpkit.files.architectures import ARCHITECTURES, paper_config
from rbpkit.files.writing import write_whole
from rbpkit.kernels.head_plan import plan_head
from rbpkit.ranking import MEMORY_BYTES, counting_path, token_ranks

SHAPES = ((256, 50_257, 2048), (768, 50_257, 2048), (256, 262_144, 512), (192, 4_096, 8192))
"""Width d of the states, vocabulary V, tokens."""
WAYS = {
    "ranks": {},
    "with entropy": {"entropy": True},
    "scaled, with entropy": {"entropy": True, "scale": 0.5},
    "soft-capped, with entropy": {"entropy": True, "softcap": 30.0},
}
ROUNDS = 7

COLUMNS = (
    *("device", "dtype", "tokens", "shape of", "d", "V", "counted by"),
    *("exact, ms", "naive, ms", "naive / exact", "torch", "date"),
)
PAGE = f"""# How fast ranking is

`python docs/time_heads.py` wrote this table. Each row ranks random hidden states (tokens x d) under
a random output matrix (V x d). *Exact* is `token_ranks`, with the program that counted. *Naive*
makes all tokens x V logits at once, in the dtype of the row, so in 16 bits its ranks are not exact.
Times are medians in milliseconds.

| {" | ".join(COLUMNS)} |
|{" --- |" * len(COLUMNS)}
"""


def random_head(
    d: int, V: int, T: int, dtype: torch.dtype = torch.float32, device: str = "cpu"
) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden states (T, d), an output matrix (V, d), and targets (T,)."""
    hidden = torch.randn(T, d, dtype=dtype, device=device)
    matrix = torch.randn(V, d, dtype=dtype, device=device) / d**0.5
    return hidden, matrix, torch.randint(V, (T,), device=device)


# -- next to the matrix product ------------------------------------------------------------------


def product(hidden: Tensor, matrix: Tensor, rows: int) -> None:
    """All logits, so many rows at a time, in one buffer as ranking does: what any way must do."""
    logits = hidden.new_empty((rows, len(matrix)))
    for states in hidden.split(rows):
        torch.mm(states, matrix.T, out=logits[: len(states)])


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def multiples_of_the_product(d: int, V: int, T: int) -> list[float]:
    """The time of each of WAYS as a multiple of the product's: medians over ROUNDS."""
    hidden, matrix, targets = random_head(d, V, T)
    rows = plan_head(hidden, matrix, None, MEMORY_BYTES).rows
    product(hidden, matrix, rows)  # once without a clock
    multiples: dict[str, list[float]] = {way: [] for way in WAYS}
    # Interleaved, so that other programs slow all ways alike.
    for _ in range(ROUNDS):
        bare = seconds(lambda: product(hidden, matrix, rows))
        for way, options in WAYS.items():
            taken = seconds(lambda: token_ranks(hidden, matrix, targets, **options))  # noqa: B023
            multiples[way].append(taken / bare)
    return [statistics.median(multiples[way]) for way in WAYS]


def print_multiples() -> None:
    torch.set_num_threads(1)
    print(f"| d, V, tokens | {' | '.join(WAYS)} |\n|{' --- |' * (len(WAYS) + 1)}")
    for d, V, tokens in SHAPES:
        cells = " | ".join(f"{ratio:.2f}" for ratio in multiples_of_the_product(d, V, tokens))
        print(f"| {d}, {V:,}, {tokens:,} | {cells} |")


# -- next to a program that keeps all logits -----------------------------------------------------


def naive_ranks(
    hidden: Tensor, unembedding: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Rank (Eq. 3), loss, largest probability and entropy, (T,) each, from all T x V logits."""
    column = targets.unsqueeze(1)
    logits = (hidden @ unembedding.T).float()
    rank = (logits >= logits.gather(1, column)).sum(1)
    log_p = logits.log_softmax(1)
    nll = -log_p.gather(1, column).squeeze(1)
    p_max = log_p.amax(1).exp()
    entropy = -(log_p.exp() * log_p).sum(1)
    return rank, nll, p_max, entropy


def median_ms(work: Callable[[], object]) -> float:
    timer = Timer("work()", globals={"work": work}, num_threads=torch.get_num_threads())
    return 1e3 * timer.blocked_autorange(min_run_time=1).median


def free_bytes(device: str) -> int:
    """Free memory of a GPU, or half of the machine's, which swaps before it refuses."""
    if device == "cpu":
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    torch.cuda.empty_cache()
    return torch.cuda.mem_get_info(device)[0]


@torch.no_grad()
def times(d: int, V: int, T: int, dtype: torch.dtype, device: str) -> str:
    """The cells with the times of both programs."""
    hidden, matrix, targets = random_head(d, V, T, dtype, device)
    exact = median_ms(lambda: token_ranks(hidden, matrix, targets, entropy=True))
    naive_bytes = 16 * T * V  # logits, log p, p and their product, in float32
    if naive_bytes > free_bytes(device):
        return f"{exact:,.2f} | does not fit |"
    naive = median_ms(lambda: naive_ranks(hidden, matrix, targets))
    return f"{exact:,.2f} | {naive:,.2f} | {naive / exact:.1f}"


def time_models(names: list[str], dtype: str, device: str, T: int, out: Path | None) -> None:
    """A row for each model, printed and kept in `out`; a row that is there already is not timed."""
    place = f"{platform.machine()} cpu, threads: {torch.get_num_threads()}"
    if device != "cpu":
        place = torch.cuda.get_device_name(device)
    page = out.read_text(encoding="utf-8") if out and out.exists() else PAGE
    for name in names:
        key = f"| {place} | {dtype} | {T:,} | {name} |"
        if key in page:
            continue
        config = paper_config(name)
        d = getattr(config, "word_embed_proj_dim", config.hidden_size)  # OPT-350m's head
        V = config.vocab_size
        of_model = times(d, V, T, getattr(torch, dtype), device)
        path = counting_path(device)
        row = f"{key} {d} | {V:,} | {path} | {of_model} | {torch.__version__} | {date.today()} |"
        print(row, flush=True)
        page += row + "\n"
        if out:
            write_whole(out.parent, {out.name: page.encode()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="+", help="paper: all 24; or hub ids of its models")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float16"])
    parser.add_argument("--tokens", type=int, default=8192, help="ranked in a call")
    parser.add_argument("--out", type=Path, help="a Markdown file that keeps the rows")
    asked = parser.parse_args()
    if asked.shapes is None:
        print_multiples()
    else:
        models = list(ARCHITECTURES) if asked.shapes == ["paper"] else asked.shapes
        time_models(models, asked.dtype, asked.device, asked.tokens, asked.out)
