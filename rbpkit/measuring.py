"""One job: a model on a corpus -> records and summary in a folder. Done once, kept.

The data flow from tokens through the base model to hidden states at the scored positions, and
through the output head, chunk by chunk, to exact ranks. There are never T x V logits at once,
unless a model's head is not one linear map, so that its own logits must be taken.
"""

from __future__ import annotations

import functools
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

import rbpkit
from rbpkit.corpora import Corpus
from rbpkit.encoding import Batch, EncodedCorpus, batches, encode
from rbpkit.errors import InputError, check_whole
from rbpkit.files.manifest import Manifest
from rbpkit.kernels.memory import by_batches
from rbpkit.models import LoadedModel
from rbpkit.ranking import MEMORY_BYTES, TokenRanks, counting_path, logit_ranks, token_ranks
from rbpkit.records import Records, find_done, find_stale, summary_of, write_records
from rbpkit.summary import Summary

BATCH_TOKENS = 8192
MAX_LENGTH = 512


@dataclass(frozen=True)
class Measurement:
    """The result of `measure`: summary, Parquet file, and whether the job was done before."""

    summary: Summary
    path: Path
    found_done: bool


def measure(
    model: LoadedModel,
    corpus: Corpus,
    out: str | Path,
    *,
    max_length: int = MAX_LENGTH,
    batch_tokens: int = BATCH_TOKENS,
    progress: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Measurement:
    """Rank every scored token of `corpus` under `model`; write records and summary into `out`.

    max_length: truncate documents at this many tokens (Appendix A: 512), or at the model's context
    if that is shorter. batch_tokens: the most tokens of a forward pass, padding included; another
    value changes last bits, and now and then a rank by one. If memory runs out, smaller batches
    are taken and `say` gets a line; the manifest keeps the number that was asked for. progress: a
    bar on standard error. A finished job with the same settings is not run again; one with other
    settings is replaced, and `say` is told which differ. `say` also gets a line if a pocket corpus
    is not the text that the shipped numbers come from.

    Raises InputError for a corpus that leaves nothing to score, settings out of range, logits that
    are NaN or infinite, too little memory for one document, and another model of the same name in
    `out`. Nothing is written then.
    """
    check_whole("batch_tokens", batch_tokens, 1)
    if corpus.source.get("as_shipped") is False:
        say(
            f"{corpus.id}: the installed packages have other versions, and so another text, than"
            " the shipped numbers come from: do not compare with them"
        )
    if model.context is not None:
        max_length = min(max_length, model.context)
    for what, note in model.notes.items():
        say(f"{model.name}: {what}: {note}")
    encoded = encode(corpus, model.tokenizer, max_length=max_length)
    planned = _planned(model, corpus, encoded, batch_tokens)
    done = find_done(out, planned)
    if done is not None:
        return Measurement(summary_of(done), done.path, found_done=True)
    stale = find_stale(out, planned)
    if "revision" in stale:
        raise InputError(
            f"{out} holds another model called {model.name!r} on {corpus.id} (other weights):"
            " give this one another name (--name) or another folder (--out), or delete that one"
        )
    for setting, (there, asked) in stale.items():
        say(f"replaces an earlier measurement in {out}: {setting} was {there}, is {asked}")
    start = time.perf_counter()
    columns = rank_columns(model, encoded, batch_tokens, progress=progress, say=say)
    seconds = round(time.perf_counter() - start, 3)
    manifest = planned.model_copy(update={"tokens": encoded.tokens, "seconds": seconds})
    records = Records(**columns, manifest=manifest)
    written = write_records(out, records)
    return Measurement(summary_of(written), written.path, found_done=False)


def measured_ranks(
    model: LoadedModel,
    encoded: EncodedCorpus,
    batch_tokens: int = BATCH_TOKENS,
    say: Callable[[str], None] = lambda line: None,
) -> Iterator[tuple[Batch, TokenRanks]]:
    """Each batch of the corpus with the ranks of its scored tokens, on the device of the head.

    Longest documents first, so that what does not fit in memory shows at once. A model that must
    give its own logits gets batches of at most MEMORY_BYTES of them, or a single document. A batch
    that does not fit is done again in halves, and the rest with that budget: no document is lost
    or done twice, and `say` gets a line.

    Raises InputError if a single document does not fit, and as `token_ranks`.
    """
    if model.head is None:
        batch_tokens = max(1, min(batch_tokens, MEMORY_BYTES // (4 * model.V)))

    def ranked(batch: Batch) -> TokenRanks:
        targets = torch.from_numpy(batch.targets).to(model.device)
        states, places = states_of(model, batch)
        if model.head is None:
            return logit_ranks(states[places], targets.to(states.device), entropy=True)
        weight, bias = model.head
        hidden = states[places].to(weight.device)
        del states  # before the head needs memory
        return token_ranks(hidden, weight, targets.to(weight.device), bias=bias, entropy=True)

    make = functools.partial(batches, encoded)
    return by_batches(make, batch_tokens, ranked, f"{model.name} on {encoded.corpus}", say)


def states_of(model: LoadedModel, batch: Batch) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """A forward pass -> states, and the (rows, columns) of the T scored tokens in them.

    The states are hidden (B, L, d), or logits (B, L, V) if the model has no `head`. Both results
    are on one device: of a model on several, the last layer's.
    """
    # Sent before the pass, not after it: a copy from the host waits for the GPU's pending work.
    ids, *places = (
        torch.from_numpy(array).to(model.device)
        for array in (batch.input_ids, batch.rows, batch.columns)
    )
    states = model.logits(ids) if model.head is None else model.hidden(ids)
    rows, columns = (place.to(states.device) for place in places)
    return states, (rows, columns)


def rank_columns(
    model: LoadedModel,
    encoded: EncodedCorpus,
    batch_tokens: int = BATCH_TOKENS,
    *,
    progress: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, np.ndarray]:
    """The columns of the records, (T,) each, in the order of the protocol: document and position.

    progress, say, errors: as `measure` and `measured_ranks`.
    """
    parts: list[dict[str, np.ndarray]] = []
    what = f"{model.name} on {encoded.corpus}"
    shown = {"desc": what, "unit": " tokens", "unit_scale": True, "disable": not progress}
    with tqdm(total=encoded.tokens, **shown) as bar:
        for batch, ranks in measured_ranks(model, encoded, batch_tokens, say):
            targets = batch.targets.astype(np.int32)
            part = {"document": batch.documents, "position": batch.positions, "target": targets}
            for name in ("n_greater", "n_equal", "nll", "p_max", "entropy"):
                part[name] = getattr(ranks, name).cpu().numpy()
            parts.append(part)
            bar.update(batch.tokens)
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((columns["position"], columns["document"]))
    return {name: column[order] for name, column in columns.items()}


def _planned(
    model: LoadedModel, corpus: Corpus, encoded: EncodedCorpus, batch_tokens: int
) -> Manifest:
    """The manifest of the job before it is run: everything that can change its numbers."""
    versions = {name: metadata.version(name) for name in ("torch", "transformers", "tokenizers")}
    return Manifest(
        model=model.name,
        revision=model.revision,
        family=model.family,
        S=model.S,
        V=model.V,
        corpus=corpus.id,
        fingerprint=corpus.fingerprint,
        documents=len(corpus.documents),
        skipped_documents=encoded.skipped,
        max_length=encoded.max_length,
        dtype=model.dtype,
        device=model.device,
        threads=torch.get_num_threads(),
        batch_tokens=batch_tokens,
        seed=corpus.protocol.get("seed") or 0,  # 0 also if nothing was shuffled
        versions={
            "rbpkit": rbpkit.__version__,
            "python": platform.python_version(),
            "ranks": counting_path(model.device),
            **versions,
            **model.notes,
        },
    )
