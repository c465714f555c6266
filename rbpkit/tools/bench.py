"""How fast this machine ranks: scored tokens a second, and what the whole study would take.

Each model is run three ways on the same random tokens, in documents of full length: body only,
body and output head (fp32 logits at the scored positions, by chunks), and with ranks. The paper's
24 shapes are made with random weights on the device itself, so nothing is downloaded: speed does
not depend on what the weights are.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from rbpkit import paper
from rbpkit.encoding import Batch, EncodedCorpus, EncodedDocument, batches
from rbpkit.errors import InputError, check_whole, one_line
from rbpkit.files.architectures import ARCHITECTURES, FAMILIES, paper_config, parameter_counts
from rbpkit.files.libraries import quiet
from rbpkit.kernels.memory import DoesNotFitError, by_batches, out_of_memory
from rbpkit.measuring import BATCH_TOKENS, MAX_LENGTH, measured_ranks, states_of
from rbpkit.models import DTYPES, Head, LoadedModel
from rbpkit.ranking import MEMORY_BYTES, logit_chunks

if TYPE_CHECKING:
    import pandas as pd
    from transformers import PreTrainedConfig

TOKENS = 20_000
ROUNDS = 3
STUDY_TOKENS = 3_000_000  # scored by each of the paper's models: six corpora of half a million


@dataclass(frozen=True)
class Speed:
    """One model's speed; `skipped` says why there is none, and then the rates are NaN.

    work: multiplications a token, S + V x width of the head. weights: bytes. tokens: scored, in
    each run. batch_tokens: of a forward pass, as memory allowed. with_ranks, with_head, body:
    scored tokens/s, medians of interleaved runs.
    """

    model: str
    S: int
    V: int
    dtype: str
    device: str
    work: int
    weights: int
    tokens: int = 0
    batch_tokens: int = 0
    with_ranks: float = math.nan
    with_head: float = math.nan
    body: float = math.nan
    skipped: str = ""


@dataclass(frozen=True)
class StudyTime:
    """What ranking `tokens` with each of `models` takes, in seconds, loading left out.

    seconds: all of them; of these, guessed: the `not_run` of the models, at as many
    multiplications a second as the largest that did run.
    """

    models: int
    tokens: int
    seconds: float
    guessed: float
    not_run: int


def speed_of(
    model: LoadedModel,
    *,
    tokens: int = TOKENS,
    batch_tokens: int = BATCH_TOKENS,
    max_length: int = MAX_LENGTH,
    rounds: int = ROUNDS,
    say: Callable[[str], None] = lambda line: None,
) -> Speed:
    """Measure one model on `tokens` random tokens or a few more, to fill the last document.

    Where memory does not suffice, batches get smaller, as in `measure`. Raises InputError for
    tokens, batch_tokens or rounds below 1, for a model whose head is not one linear map, and where
    one document does not fit.
    """
    check_whole("batch_tokens", batch_tokens, 1)
    if min(tokens, rounds) < 1:
        raise InputError(f"tokens={tokens}, rounds={rounds}: must be 1 or more")
    if model.head is None:
        raise InputError(f"{model.name}: its output head is not one linear map: no run without it")
    encoded = random_tokens(model, tokens, max_length)
    # All documents are of one length, so the largest batch that went through fits.
    ranked = measured_ranks(model, encoded, batch_tokens, say)
    batch_tokens = max(batch.input_ids.size for batch, _ in ranked)

    def body(batch: Batch) -> None:
        states_of(model, batch)

    def with_head(batch: Batch) -> None:
        states, places = states_of(model, batch)
        hidden = states[places].to(model.head.weight.device)
        del states
        for _ in logit_chunks(hidden, model.head.weight, bias=model.head.bias):
            pass

    name = f"{model.name} on {encoded.corpus}"

    def seconds(work: Callable[[Batch], None] | None) -> float:
        if work is None:
            steps = measured_ranks(model, encoded, batch_tokens, say)
        else:
            steps = by_batches(partial(batches, encoded), batch_tokens, work, name, say)
        _wait(model)
        start = time.perf_counter()
        for _ in steps:
            pass
        _wait(model)
        return time.perf_counter() - start

    rows = [[seconds(work) for work in (None, with_head, body)] for _ in range(rounds)]
    rates = [encoded.tokens / median(column) for column in zip(*rows, strict=True)]
    weights = sum(p.numel() * p.element_size() for p in model.model.parameters())
    return Speed(
        model=model.name,
        S=model.S,
        V=model.V,
        dtype=model.dtype,
        device=model.device,
        work=model.S + model.head.weight.numel(),
        weights=weights,
        tokens=encoded.tokens,
        batch_tokens=batch_tokens,
        with_ranks=rates[0],
        with_head=rates[1],
        body=rates[2],
    )


def paper_speeds(
    names: Iterable[str] = tuple(ARCHITECTURES),
    *,
    dtype: str = "float32",
    device: str = "cpu",
    batch_tokens: int = BATCH_TOKENS,
    say: Callable[[str], None] = lambda line: None,
    **settings: int,
) -> Iterator[Speed]:
    """The speed of the paper's models (hub ids), with random weights, each as it is done.

    settings: tokens, max_length, rounds, as `speed_of`. A shape for which the free memory is too
    small, or which runs out of it, is skipped and says so. Raises InputError as `speed_of`, and
    for a hub id that is none of the 24 or a dtype that is not known.
    """
    if dtype not in DTYPES:
        raise InputError(f"dtype {dtype!r} is not known; use one of {', '.join(DTYPES)}")
    configs = {name: paper_config(name) for name in names}  # a slip shows before any is run
    for name, config in configs.items():
        gc.collect()  # the model before this one
        torch.cuda.empty_cache()  # does nothing where CUDA was never used
        about = _about(name, config, dtype, device)
        need = needed_bytes(about.weights, config.hidden_size, dtype, batch_tokens)
        free = free_bytes(device)
        if free is not None and need > free:
            reason = f"needs {need / 2**30:.1f} GiB, {free / 2**30:.1f} are free on {device}"
            yield replace(about, skipped=reason)
            continue
        try:
            # No name for the model here: the next one needs its memory.
            found = speed_of(
                random_model(name, config, about.S, dtype, device),
                batch_tokens=batch_tokens,
                say=say,
                **settings,
            )
        except (RuntimeError, DoesNotFitError) as error:
            if not (isinstance(error, DoesNotFitError) or out_of_memory(error)):
                raise
            found = replace(about, skipped=one_line(error))
        yield found


def study_time(speeds: Iterable[Speed], tokens: int = STUDY_TOKENS) -> StudyTime:
    """How long the paper's 24 models take, from those of them that ran.

    tokens: scored by each. Raises InputError where none ran.
    """
    ran = {one.model: one for one in speeds if not one.skipped and one.model in ARCHITECTURES}
    if not ran:
        raise InputError("none of the paper's shapes ran: no estimate of the study's time")
    known = sum(tokens / one.with_ranks for one in ran.values())
    largest = max(ran.values(), key=lambda one: one.work)
    others = [name for name in ARCHITECTURES if name not in ran]
    table = paper.models().set_index("hub_id")
    work = sum(
        int(table.at[name, "S"])
        + int(table.at[name, "vocab_rows"]) * head_width(paper_config(name))
        for name in others
    )
    guessed = tokens * work / (largest.work * largest.with_ranks)
    return StudyTime(len(ARCHITECTURES), tokens, known + guessed, guessed, len(others))


def speed_table(speeds: Iterable[Speed]) -> pd.DataFrame:
    """A row a model; `ranks_cost` is the time that ranks add to body and head, as a share."""
    import pandas as pd

    table = pd.DataFrame([asdict(one) for one in speeds])
    cost = table["with_head"] / table["with_ranks"] - 1
    table.insert(table.columns.get_loc("skipped"), "ranks_cost", cost)
    return table


def plain_speeds(speeds: Iterable[Speed]) -> list[dict]:
    """As JSON takes them: None for NaN, which is not JSON."""
    return [
        {key: None if value != value else value for key, value in asdict(one).items()}
        for one in speeds
    ]


def random_model(
    name: str, config: PreTrainedConfig, S: int, dtype: str, device: str
) -> LoadedModel:
    """A model of this config with random weights, made on the device; it has no tokenizer."""
    with quiet(), torch.device(device):
        network = AutoModelForCausalLM.from_config(config, dtype=DTYPES[dtype])
    network = network.to(device).eval().requires_grad_(False)  # buffers are made elsewhere
    layer = network.get_output_embeddings()
    return LoadedModel(
        name=name,
        revision="random weights",
        family=FAMILIES[config.model_type],
        S=S,
        V=layer.weight.shape[0],
        dtype=dtype,
        device=device,
        context=config.max_position_embeddings,
        tokenizer=None,
        head=Head(layer.weight, layer.bias),
        model=network,
    )


def random_tokens(model: LoadedModel, tokens: int, max_length: int) -> EncodedCorpus:
    """At least `tokens` scored tokens of random ids, in documents of one length, the longest."""
    length = min(max_length, model.context or max_length, tokens + 1)
    if length < 2:
        raise InputError(f"max_length={max_length}: must be 2 or more")
    count = math.ceil(tokens / (length - 1))
    rows = min(model.V, model.model.get_input_embeddings().weight.shape[0])
    ids = np.random.default_rng(0).integers(rows, size=(count, length), dtype=np.int32)
    scored = np.ones(length - 1, dtype=bool)
    documents = tuple(EncodedDocument(i, row, scored) for i, row in enumerate(ids))
    return EncodedCorpus("random tokens", "none", length, documents, 0, count * (length - 1))


def needed_bytes(weights: int, width: int, dtype: str, batch_tokens: int) -> int:
    """An upper guess of what a model takes: weights, head, and what a forward pass holds.

    weights: bytes; width: of the hidden states. 24 of them a token: two inner layers of 5.4 widths,
    the widest of the 24 models, then queries, keys, values, residuals and norms.
    """
    return weights + MEMORY_BYTES + 24 * width * DTYPES[dtype].itemsize * batch_tokens


def free_bytes(device: str) -> int | None:
    """Memory that is free on the device, in bytes; None where the system does not tell."""
    if torch.device(device).type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        (kilobytes,) = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError):
        return None
    return int(kilobytes) * 1024


def _about(name: str, config: PreTrainedConfig, dtype: str, device: str) -> Speed:
    """What is known of a shape before it is run."""
    S, embedding, V = parameter_counts(config)
    head = V * head_width(config)
    numbers = S + embedding + (0 if config.tie_word_embeddings else head)
    weights = numbers * DTYPES[dtype].itemsize
    return Speed(name, S, V, dtype, device, work=S + head, weights=weights)


def head_width(config: PreTrainedConfig) -> int:
    """d of the head: OPT-350m's works on fewer dimensions than its layers have."""
    return getattr(config, "word_embed_proj_dim", config.hidden_size)


def _wait(model: LoadedModel) -> None:
    """Until every GPU that holds a part of the model is done."""
    for device in {parameter.device for parameter in model.model.parameters()}:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
