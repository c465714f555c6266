"""What a study takes before any of it is run: jobs, tokens, memory and time. No network."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rbpkit import paper
from rbpkit.corpora import PROTOCOL_DOCUMENTS
from rbpkit.errors import InputError
from rbpkit.files.architectures import ARCHITECTURES, paper_config
from rbpkit.models import DTYPES
from rbpkit.study.jobs import Group, plan
from rbpkit.study.params import Params
from rbpkit.tools.bench import head_width, needed_bytes

_ALL = {"HotpotQA": 183_000}  # 7,405 questions with about 25 tokens
TFLOPS = 30.0  # 10^12 operations a second that a GPU keeps up in float32: a guess


@dataclass(frozen=True)
class PlannedJob:
    """One model on one corpus. tokens: scored; published: by the paper's counts, else estimated.

    memory: bytes on the device. seconds: of ranking, loading left out.
    """

    model: str
    corpus: str
    S: int
    tokens: int
    published: bool
    memory: int
    seconds: float


def study_jobs(
    params: Params, *, tflops: float = TFLOPS, speeds: Mapping[str, float] | None = None
) -> tuple[PlannedJob, ...]:
    """The study's jobs, the largest model first, with what each takes; nothing is downloaded.

    The time is 2 (S + d V) operations a token at `tflops` x 10^12 a second; attention adds to
    that, and small models reach less. speeds: scored tokens/s, measured by `rbpkit bench`, by
    model; others then go by their operations at the rate of the largest that is there.
    Raises InputError as `rbpkit.study.jobs.plan`, and for `tflops` not above 0.
    """
    if not 0 < tflops < math.inf:
        raise InputError(f"--tflops must be above 0, got {tflops:g}")
    groups = plan(params)
    speeds = {one: rate for one, rate in (speeds or {}).items() if rate}
    needs = {group.model: _needs(group, params) for group in groups}
    operations = {model: number for model, (number, _) in needs.items()}
    rate = tflops * 1e12
    known = [model for model in operations if model in speeds]
    if known:
        largest = max(known, key=operations.__getitem__)
        rate = operations[largest] * speeds[largest]
    jobs = []
    for group in groups:
        a_second = speeds.get(group.model, rate / operations[group.model])
        _, memory = needs[group.model]
        for corpus, expected in group.tokens.items():
            counted = _published(group.model, corpus, params)
            tokens = counted or _with_least(corpus, expected, params)
            jobs.append(
                PlannedJob(
                    group.model,
                    corpus,
                    group.S,
                    tokens,
                    counted is not None,
                    memory,
                    tokens / a_second,
                )
            )
    return tuple(jobs)


def read_speeds(path: str | Path) -> dict[str, float]:
    """Scored tokens/s by model from what `rbpkit bench --shapes paper --json` printed.

    Raises InputError for a file that is not that, or in which no model ran.
    """
    try:
        rows = json.loads(Path(path).read_text(encoding="utf-8"))["speeds"]
        found = {row["model"]: float(row["with_ranks"]) for row in rows if row["with_ranks"]}
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not what `rbpkit bench --json` prints") from error
    if not found:
        raise InputError(f"{path}: no model ran there")
    return found


def _needs(group: Group, params: Params) -> tuple[int, int]:
    """Operations a token, 2 (S + d V), and bytes on the device.

    Of other models than the paper's, d V is about the size of the embeddings.
    """
    width, head, stored = 0, group.embedding, group.S + group.embedding
    if group.source in ARCHITECTURES:
        config = paper_config(group.source)
        width, head = config.hidden_size, config.vocab_size * head_width(config)
        stored += 0 if config.tie_word_embeddings else head
    weights = stored * DTYPES[params.dtype].itemsize
    memory = needed_bytes(weights, width, params.dtype, params.batch_tokens)
    return max(1, 2 * (group.S + head)), memory


def _with_least(corpus: str, expected: int, params: Params) -> int:
    """Where `least_tokens` decides: as many, or all of a corpus that has fewer."""
    if params.least_tokens is None:
        return expected
    return min(params.least_tokens, _ALL.get(corpus, params.least_tokens))


def _published(model: str, corpus: str, params: Params) -> int | None:
    """Tokens behind the paper's point, where this study follows its protocol."""
    if params.least_tokens is not None and corpus != "HumanEval":  # of which all is taken
        return None
    if params.max_length != 512 or params.documents not in (None, PROTOCOL_DOCUMENTS):
        return None
    if model not in ARCHITECTURES:
        return None
    table = paper.token_counts()
    family = ARCHITECTURES[model].family
    found = table[(table["dataset"] == corpus) & (table["family"] == family)]["tokens"]
    return int(found.iloc[0]) if len(found) else None
