"""The same tokens ranked under several batch sizes or dtypes, and how far the numbers differ.

The same tokens are ranked under each setting and compared, token by token, with the first.
Batches change the order of sums, so last bits and now and then a rank; a 16-bit body changes more.
The head and the counts are in float32 always (`audit.precision` has what 16-bit logits do).
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from rbpkit.corpora import Corpus
from rbpkit.encoding import EncodedCorpus, encode
from rbpkit.errors import InputError, check_whole
from rbpkit.measuring import BATCH_TOKENS, MAX_LENGTH, rank_columns
from rbpkit.models import DTYPES, LoadedModel, load_model
from rbpkit.summary import check_k

if TYPE_CHECKING:
    import pandas as pd

KS = (1, 10, 100)
BUDGETS = (BATCH_TOKENS, BATCH_TOKENS // 8)


@dataclass(frozen=True)
class SettingResult:
    """One setting on one corpus, and how far it is from the first setting on the same tokens.

    setting: "8192 tokens a batch", "bfloat16". tokens: scored. changed: how many of their ranks
    (Eq. 3) are not the first setting's; largest: the greatest difference of a rank. tied: targets
    that share their logit with another entry. CE: nats; rbp: k -> RBP_k; CE_change, rbp_change:
    less the first setting's, so all 0 for the first. speed: scored tokens/s, loading left out.
    """

    setting: str
    tokens: int
    changed: int
    largest: int
    tied: int
    CE: float
    CE_change: float
    rbp: dict[int, float]
    rbp_change: dict[int, float]
    speed: float


def compare_batch_sizes(
    model: LoadedModel,
    corpus: Corpus,
    budgets: Sequence[int] = BUDGETS,
    *,
    ks: Sequence[int] = KS,
    max_length: int = MAX_LENGTH,
    say: Callable[[str], None] = lambda line: None,
) -> list[SettingResult]:
    """The same model and corpus with each of `budgets` (most tokens of a batch, padding included).

    Raises InputError for fewer than two different budgets, and as `measure`.
    """
    for budget in budgets:
        check_whole("batch_tokens", budget, 1)
    _check(budgets, ks, "batch budgets")
    encoded = _encode(model, corpus, max_length)
    runs = []
    for budget in budgets:
        columns, speed = _timed(model, encoded, budget, say)
        runs.append((f"{budget} tokens a batch", columns, speed))
    return _compared(runs, ks)


def compare_dtypes(
    model: str | Path,
    corpus: Corpus,
    dtypes: Sequence[str] = tuple(DTYPES),
    *,
    device: str | None = None,
    ks: Sequence[int] = KS,
    max_length: int = MAX_LENGTH,
    batch_tokens: int = BATCH_TOKENS,
    say: Callable[[str], None] = lambda line: None,
) -> list[SettingResult]:
    """The same corpus under the model in each of `dtypes` (of the body; the head is in float32).

    model, device: as `load_model`, which is called anew for each dtype: one at a time is in
    memory. Raises InputError for fewer than two different dtypes, one that is not known, NaN or
    infinite logits (a float16 body overflows in some models: leave it out), and as `measure`.
    """
    unknown = [dtype for dtype in dtypes if dtype not in DTYPES]
    if unknown:
        raise InputError(f"dtype {unknown[0]!r} is not known; use {', '.join(DTYPES)}")
    _check(dtypes, ks, "dtypes")
    runs = []
    for dtype in dtypes:
        loaded = load_model(model, dtype=dtype, device=device)
        encoded = _encode(loaded, corpus, max_length)
        columns, speed = _timed(loaded, encoded, batch_tokens, say)
        runs.append((dtype, columns, speed))
        del loaded
        gc.collect()
        torch.cuda.empty_cache()  # for the next; does nothing where CUDA was never used
    return _compared(runs, ks)


def comparison_table(results: Sequence[SettingResult]) -> pd.DataFrame:
    """A row a setting: its counts, CE and RBP_k, each with its change from the first setting."""
    import pandas as pd

    rows = []
    for one in results:
        row = {
            "setting": one.setting,
            "tokens": one.tokens,
            "changed": one.changed,
            "largest": one.largest,
            "tied": one.tied,
            "CE": one.CE,
            "CE_change": one.CE_change,
        }
        for k in one.rbp:
            row |= {f"RBP_{k}": one.rbp[k], f"RBP_{k}_change": one.rbp_change[k]}
        rows.append(row | {"tokens_s": one.speed})
    return pd.DataFrame(rows)


def _check(settings: Sequence[object], ks: Sequence[int], what: str) -> None:
    if len(set(settings)) != len(settings) or len(settings) < 2:
        given = ", ".join(map(str, settings))
        raise InputError(f"give two or more different {what} to compare, not: {given}")
    for k in ks:
        check_k(k)


def _encode(model: LoadedModel, corpus: Corpus, max_length: int) -> EncodedCorpus:
    return encode(corpus, model.tokenizer, max_length=min(max_length, model.context or max_length))


def _timed(
    model: LoadedModel, encoded: EncodedCorpus, batch_tokens: int, say: Callable[[str], None]
) -> tuple[dict[str, np.ndarray], float]:
    """The columns, and scored tokens/s; not timed is one document that goes before.

    So the first setting does not pay for what is done once.
    """
    one = encoded.documents[:1]
    rank_columns(model, replace(encoded, documents=one, skipped=0, tokens=one[0].tokens))
    start = time.perf_counter()  # the columns are on the host at the end: nothing to wait for
    columns = rank_columns(model, encoded, batch_tokens, say=say)
    return columns, encoded.tokens / (time.perf_counter() - start)


def _compared(
    runs: Sequence[tuple[str, dict[str, np.ndarray], float]], ks: Sequence[int]
) -> list[SettingResult]:
    results: list[SettingResult] = []
    reference = _rank(runs[0][1])
    for setting, columns, speed in runs:
        rank = _rank(columns)
        CE = float(columns["nll"].mean(dtype=np.float64))
        rbp = {k: float(np.mean(rank <= k)) for k in dict.fromkeys(ks)}
        first = results[0] if results else None
        results.append(
            SettingResult(
                setting=setting,
                tokens=rank.size,
                changed=int(np.count_nonzero(rank != reference)),
                largest=int(np.abs(rank - reference).max()),
                tied=int(np.count_nonzero(columns["n_equal"])),
                CE=CE,
                CE_change=CE - first.CE if first else 0.0,
                rbp=rbp,
                rbp_change={k: rbp[k] - first.rbp[k] if first else 0.0 for k in rbp},
                speed=speed,
            )
        )
    return results


def _rank(columns: dict[str, np.ndarray]) -> np.ndarray:
    return columns["n_greater"].astype(np.int64) + columns["n_equal"] + 1
