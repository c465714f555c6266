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
from transformers import PretrainedConfig

from rbpkit.errors import InputError, check_whole
from rbpkit.files.architectures import paper_config
from rbpkit.files.devices import check_dtype
from rbpkit.files.writing import write_whole
from rbpkit.memory import out_of_memory
from rbpkit.models import DTYPES
from rbpkit.ranking import counting_path, token_ranks

_PAGE = """# How fast ranking is

`rbpkit bench` wrote this table. Each row ranks random hidden states (tokens x d) under a random
output matrix (V x d). *Exact* is `token_ranks`, with the program that counted. *Naive* makes all
tokens x V logits at once, in the dtype of the row, so in 16 bits its ranks are not exact. Times are
medians in milliseconds.

"""
_COLUMNS = (
    *("device", "dtype", "tokens", "shape of", "d", "V", "counted by"),
    *("exact, ms", "naive, ms", "naive / exact", "torch", "date"),
)
HEAD = f"| {' | '.join(_COLUMNS)} |\n|{' --- |' * len(_COLUMNS)}\n"
"""The first two lines of the table."""


def timed_rows(
    names: Iterable[str],
    *,
    dtype: str = "float32",
    device: torch.device | str = "cpu",
    tokens: int = 8192,
    out: str | Path | None = None,
) -> Iterator[str]:
    """Time exact and naive ranking on the shapes of these models; a row of the table for each.

    - names: hub ids of the paper's models.
    - tokens: T, the hidden states ranked in a call.
    - out: a Markdown file that keeps the rows, each written when it is done. A shape that has a row
      in it, for the same device, dtype and number of tokens, is not timed again.

    Raises InputError for an unknown hub id or dtype, for tokens below 1, for a file that is not
    such a table, and if a shape does not fit in memory.
    """
    check_whole("tokens", tokens, 1)
    check_dtype(dtype)
    configs = {name: paper_config(name) for name in names}  # a slip shows before any is timed
    device = torch.device(device)
    place = _name_of(device)
    path = None if out is None else Path(out)
    page = _page_so_far(path)
    for name, config in configs.items():
        key = f"| {place} | {dtype} | {tokens:,} | {name} |"
        kept = [line for line in page.splitlines() if line.startswith(key)]
        if kept:
            yield kept[0]
            continue
        try:
            row = f"{key} {_timed(config, tokens, dtype, device)}"
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
            raise InputError(f"{name} does not fit on {place}: take fewer --tokens") from error
        page += row + "\n"
        if path:
            write_whole(path.parent, {path.name: page.encode()})
        yield row


def _page_so_far(path: Path | None) -> str:
    """What the file holds, or an empty table; InputError for another file."""
    if path is None or not path.exists():
        return _PAGE + HEAD
    page = path.read_text(encoding="utf-8", errors="replace").rstrip() + "\n"
    if HEAD not in page:
        raise InputError(f"{path} holds no table of `rbpkit bench`: give another --out")
    return page


def _name_of(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()} {device.type}, threads: {torch.get_num_threads()}"


def _timed(config: PretrainedConfig, tokens: int, dtype: str, device: torch.device) -> str:
    """The cells of a row from d on."""
    d = getattr(config, "word_embed_proj_dim", config.hidden_size)  # OPT-350m's head
    V = config.vocab_size
    exact, naive = _seconds(tokens, d, V, DTYPES[dtype], device)
    times = f"{1e3 * exact:,.2f} | does not fit |"
    if naive is not None:
        times = f"{1e3 * exact:,.2f} | {1e3 * naive:,.2f} | {naive / exact:.1f}"
    path = counting_path(device)
    return f"{d} | {V:,} | {path} | {times} | {torch.__version__} | {date.today()} |"


def naive_ranks(
    hidden: Tensor, unembedding: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Rank (Eq. 3), loss, largest probability and entropy, (T,) each, from all T x V logits.

    hidden: (T, d). unembedding: (V, d). targets: (T,) token ids. Loss and entropy are in nats.
    """
    column = targets.unsqueeze(1)
    logits = (hidden @ unembedding.T).float()
    rank = (logits >= logits.gather(1, column)).sum(1)
    log_p = logits.log_softmax(1)
    nll = -log_p.gather(1, column).squeeze(1)
    p_max = log_p.amax(1).exp()
    entropy = -(log_p.exp() * log_p).sum(1)
    return rank, nll, p_max, entropy


def _seconds(
    T: int, d: int, V: int, dtype: torch.dtype, device: torch.device
) -> tuple[float, float | None]:
    """Seconds of a call, exact and naive; None if the naive way does not fit in memory."""
    generator = torch.Generator(device).manual_seed(0)
    hidden = torch.randn(T, d, dtype=dtype, generator=generator, device=device)
    matrix = torch.randn(V, d, dtype=dtype, generator=generator, device=device) / d**0.5
    targets = torch.randint(V, (T,), generator=generator, device=device)

    with torch.no_grad():
        exact = _median(lambda: token_ranks(hidden, matrix, targets, entropy=True))
        naive_bytes = 16 * T * V  # logits, log p, p and their product, in float32
        if naive_bytes > _memory_bytes(device):
            return exact, None
        return exact, _median(lambda: naive_ranks(hidden, matrix, targets))


def _median(work: Callable[[], object]) -> float:
    timer = Timer("work()", globals={"work": work}, num_threads=torch.get_num_threads())
    return timer.blocked_autorange(min_run_time=1).median


def _memory_bytes(device: torch.device) -> int:
    """What the naive way may take: free memory of a GPU, or half of the machine's."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        return torch.cuda.mem_get_info(device)[0]
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
