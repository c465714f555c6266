"""How fast this device ranks, on the shapes of the paper's 24 models; nothing is downloaded.

Random hidden states (T, d) and a random output matrix (V, d) are ranked in two ways. *Exact* is
`ranking.token_ranks`. *Naive* makes all T x V logits at once, in the dtype of the matrix, and
takes rank, loss, largest probability and entropy from them, as a first program would.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.benchmark import Timer

from rbpkit.errors import InputError, check_whole
from rbpkit.files.architectures import paper_config
from rbpkit.files.writing import write_whole
from rbpkit.kernels.memory import out_of_memory
from rbpkit.models import DTYPES
from rbpkit.ranking import counting_path, token_ranks

_PAGE = """# How fast ranking is

`rbpkit bench` wrote this table. Each row ranks random hidden states (tokens x d) under a random
output matrix (V x d). *Exact* is `token_ranks`, with the program that counted. *Naive* makes all
tokens x V logits at once, in the dtype of the row, so in 16 bits its ranks are not exact. Times are
medians in milliseconds.

"""
_COLUMNS = ("device", "dtype", "tokens", "shape of", "d", "V", "counted by", "exact, ms")
_COLUMNS += ("naive, ms", "naive / exact", "torch", "date")
HEAD = f"| {' | '.join(_COLUMNS)} |\n|{' --- |' * len(_COLUMNS)}\n"


def timed_rows(
    names: Iterable[str],
    *,
    dtype: str = "float32",
    device: torch.device | str = "cpu",
    tokens: int = 8192,
    out: str | Path | None = None,
) -> Iterator[str]:
    """Time exact and naive ranking on the shapes of these models; a row of the table for each.

    names: hub ids of the paper's models. out: a Markdown file that keeps the rows, each written
    when it is done. A shape whose row is there, for the same device, dtype and number of tokens,
    is not timed again. Raises InputError for an unknown hub id or dtype, for tokens below 1, for
    a file that is not such a table, and if a shape does not fit in memory.
    """
    check_whole("tokens", tokens, 1)
    if dtype not in DTYPES:
        raise InputError(f"dtype {dtype!r} is not known; use one of {', '.join(DTYPES)}")
    configs = {name: paper_config(name) for name in names}  # a slip shows before any is timed
    device, path, page = torch.device(device), None if out is None else Path(out), _PAGE + HEAD
    if path and path.exists():
        page = path.read_text(encoding="utf-8", errors="replace").rstrip() + "\n"
        if HEAD not in page:
            raise InputError(f"{path} holds no table of `rbpkit bench`: give another --out")
    if device.type == "cuda":
        place = torch.cuda.get_device_name(device)
    else:
        place = f"{platform.machine()} {device.type}, threads: {torch.get_num_threads()}"
    for name, config in configs.items():
        key = f"| {place} | {dtype} | {tokens:,} | {name} |"
        row = next((line for line in page.splitlines() if line.startswith(key)), None)
        if row is None:
            d = getattr(config, "word_embed_proj_dim", config.hidden_size)  # OPT-350m's head
            try:
                exact, naive = _seconds(tokens, d, config.vocab_size, DTYPES[dtype], device)
            except RuntimeError as error:
                if not out_of_memory(error):
                    raise
                raise InputError(f"{name} does not fit on {place}: take fewer --tokens") from error
            times = f"{1e3 * exact:,.2f} | does not fit | |"
            if naive is not None:
                times = f"{1e3 * exact:,.2f} | {1e3 * naive:,.2f} | {naive / exact:.1f} |"
            row = f"{key} {d} | {config.vocab_size:,} | {counting_path(device)} | {times}"
            row += f" {torch.__version__} | {date.today()} |"
            page += row + "\n"
            if path:
                write_whole(path.parent, {path.name: page.encode()})
        yield row


def naive_ranks(hidden: Tensor, unembedding: Tensor, targets: Tensor) -> tuple[Tensor, ...]:
    """Rank (Eq. 3), loss, largest probability and entropy, (T,) each, from all T x V logits."""
    logits = (hidden @ unembedding.T).float()
    rank = (logits >= logits.gather(1, targets.unsqueeze(1))).sum(1)
    log_p = logits.log_softmax(1)
    nll = -log_p.gather(1, targets.unsqueeze(1)).squeeze(1)
    return rank, nll, log_p.amax(1).exp(), -(log_p.exp() * log_p).sum(1)


def _seconds(
    T: int, d: int, V: int, dtype: torch.dtype, device: torch.device
) -> tuple[float, float | None]:
    """Seconds of a call, exact and naive; None if the naive way does not fit in memory."""
    drawn = torch.Generator(device).manual_seed(0)
    kind = {"generator": drawn, "device": device}
    hidden = torch.randn(T, d, dtype=dtype, **kind)
    matrix = torch.randn(V, d, dtype=dtype, **kind) / d**0.5
    targets = torch.randint(V, (T,), **kind)

    def median(work: Callable[[], object]) -> float:
        timer = Timer("work()", globals={"work": work}, num_threads=torch.get_num_threads())
        return timer.blocked_autorange(min_run_time=1).median

    with torch.no_grad():
        exact = median(lambda: token_ranks(hidden, matrix, targets, entropy=True))
        if 16 * T * V > _memory_bytes(device):  # logits, log p, p and their product
            return exact, None
        return exact, median(lambda: naive_ranks(hidden, matrix, targets))


def _memory_bytes(device: torch.device) -> int:
    """What the naive way may take: free memory of a GPU, or half of the machine's."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        return torch.cuda.mem_get_info(device)[0]
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
