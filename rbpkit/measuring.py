"""One job: a model on a corpus -> records and summary in a folder. Done once, kept.

The loop is here: documents, batches that fit in memory, records. What ranks the tokens of a batch
is a `Ranker`, of which nothing else is known.
"""

from __future__ import annotations

import functools
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from tqdm import tqdm
from transformers import PreTrainedModel

import rbpkit
from rbpkit.corpora import Corpus, load_corpus
from rbpkit.encoding import Batch, EncodedCorpus, beginning, padded
from rbpkit.errors import InputError, check_whole, one_line
from rbpkit.manifest import JobKey, Manifest
from rbpkit.models import FoundModel, load_model, model_in_memory, renamed
from rbpkit.ranker import Ranker
from rbpkit.ranking import NonFiniteError
from rbpkit.records import (
    Records,
    check_revision,
    find_done,
    record_path,
    targets_digest,
    write_records,
)
from rbpkit.summary import Summary

BATCH_TOKENS = 8192
MAX_LENGTH = 512
PROBED = 32  # scored tokens of a document, on which a model is tried


@dataclass(frozen=True, eq=False, repr=False)
class Measurement:
    """The result of `measure`.

    summary: what the records say.
    path: the Parquet file; None if nothing was written.
    found_done: whether it was there before.
    coverage: what is scored and what is left out, in one line.
    """

    summary: Summary
    path: Path | None
    found_done: bool
    coverage: str = ""
    _records: Records | None = None

    def __repr__(self) -> str:
        numbers = f"CE {self.ce():.3f}, RBP_1 {self.rbp(1):.4f}, RBP_10 {self.rbp(10):.4f}"
        manifest = self.summary.manifest
        return f"<{manifest.model} on {manifest.corpus}: {numbers}; {self.coverage}>"

    @functools.cached_property
    def records(self) -> Records:
        """One row for each scored token, read from `path` if they were written."""
        if self._records is not None:
            return self._records
        assert self.path is not None, "records are written, or they are kept"
        return Records.load(self.path)

    def rbp(self, k: Any, *, interval: bool = False) -> Any:
        """RBP_k = Pr(R <= k), Eq. 4; with `interval` (low, high) as `Summary.rbp_interval`."""
        return self.summary.rbp_interval(k) if interval else self.summary.rbp(k)

    def ce(self) -> float:
        """Mean negative log-likelihood, nats."""
        return self.summary.ce()


def measure(
    model: Ranker | PreTrainedModel | str | os.PathLike[str],
    corpus: Corpus | str | os.PathLike[str] | Iterable[Any],
    out: str | os.PathLike[str] | None = None,
    *,
    tokenizer: Any = None,
    name: str | None = None,
    family: str | None = None,
    size: int | None = None,
    max_length: int = MAX_LENGTH,
    stride: int = 0,
    batch_tokens: int = BATCH_TOKENS,
    force: bool = False,
    progress: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Measurement:
    """Rank every scored token of `corpus` under `model`; with `out`, write records and summary.

    model: a hub id, a folder or a plugin's PLUGIN:NAME, as `load_model` opens it by default; what
        `load_model` gives, or any other `Ranker`; or a `transformers` model, or a `peft` PeftModel
        of one, in memory with its own `tokenizer` (see `model_in_memory`).
    corpus: a name, a file or a folder, of which `load_corpus` takes what the protocol says; what
        `load_corpus` or `Corpus.of` gives; or texts in memory as for `Corpus.of` (a list, a
        `datasets.Dataset`, any iterable), all of them.
    out: a folder; without one, nothing is written.
    tokenizer: That of a model in memory. Of a folder that has none, the folder or hub id of its
        tokenizer.
    name: Call the model so in the records.
    family: The models that it is fitted with; by default the model's type.
    size: S by hand, in place of the parameters that are counted.
    max_length: Truncate documents at this many tokens. The paper's number is 512 (Appendix A). A
        model whose context is shorter truncates there.
    stride: Score all, in windows of max_length this far apart; 0: off. See `encode`.
    batch_tokens: Most tokens of one forward pass, padding included. Another value changes last
        bits, and now and then a rank by one.
    force: Measure again what is done.
    progress: a bar on standard error.
    say: gets lines for people, also if text is left out.

    A finished job with the same key (see `JobKey`) is not run again, but it takes the family, S and
    units that are given now. Jobs with other keys are left alone.

    Raises InputError for a model or corpus that cannot be used or leaves nothing to score, settings
    out of range, a name under which other weights were measured, logits that are NaN or infinite,
    and too little memory for a batch. Nothing is written then.
    """
    check_whole("max_length", max_length, 2)
    check_whole("stride", stride, 0)
    check_whole("batch_tokens", batch_tokens, 1)
    # The corpus first: its faults show at once, a model may take minutes to load. It is loaded for
    # a finished job, too, to count S and what is left out; a sweep finds those without.
    text = opened_corpus(corpus)
    with _opened(model, tokenizer, name, family, size) as ranker:
        for what, note in (ranker.notes or {}).items():
            say(f"{ranker.name}: {what}: {note}")
        encoded = ranker.encode(text, max_length, stride)
        key = job_key(ranker, text, encoded.max_length, stride)
        found = None
        if out is not None:
            check_revision(out, key)
            found = None if force else find_done(out, key)
        planned = _manifest(ranker, text, encoded, key, batch_tokens)
        records = found or ranked(ranker, encoded, planned, progress)
        labels = {"family": family or records.manifest.family, "S": ranker.S, "V": ranker.V}
        for label, value in labels.items():
            if value != (known := getattr(records.manifest, label)):
                say(f"{ranker.name}: had {label} {known}, and now has {value}")
        before: Any = records.unit
        records = _labelled(records, labels, text)
        if not np.array_equal(before, cast(Any, records.unit)):
            say(f"{ranker.name}: has other units of documents now")
    coverage = _coverage(text, encoded)
    if encoded.left_out or text.available > len(text.documents):
        say(coverage)
    if out is None:
        return Measurement(records.summary, None, False, coverage, records)
    if records is not found:
        write_records(out, records)
    return Measurement(records.summary, record_path(out, key), found is not None, coverage)


def _labelled(records: Records, labels: dict[str, Any], corpus: Corpus) -> Records:
    """The same records with these labels and the units of the corpus."""
    manifest = records.manifest.model_copy(update=labels)
    unit = None if corpus.units is None else corpus.unit_numbers()[records.document]
    known: Any = unit, records.unit
    if manifest == records.manifest and np.array_equal(*known):
        return records
    return replace(records, manifest=manifest, unit=unit)


def opened_corpus(corpus: Corpus | str | os.PathLike[str] | Iterable[Any]) -> Corpus:
    """What `measure` takes as a corpus, read."""
    if isinstance(corpus, Corpus):
        return corpus
    if isinstance(corpus, (str, os.PathLike)):
        return load_corpus(corpus)
    return Corpus.of(corpus)


@contextmanager
def _opened(
    model: Any,
    tokenizer: Any,
    name: str | None,
    family: str | None,
    size: int | None,
) -> Iterator[Ranker]:
    """What `measure` takes as a model, ready to be measured in this block."""
    labels: dict[str, Any] = {"name": name, "family": family, "size": size}
    if isinstance(model, (str, os.PathLike)):
        yield load_model(model, tokenizer=tokenizer, **labels)
    elif not isinstance(model, Ranker):
        with model_in_memory(model, tokenizer, name) as loaded:
            yield renamed(loaded, **labels)
    else:
        if tokenizer is not None:
            raise InputError("tokenizer: only for a model in memory; a loaded one has its own")
        yield renamed(model, **labels)


def _coverage(corpus: Corpus, encoded: EncodedCorpus) -> str:
    """What is scored and what is left out, in one line."""
    line = f"{encoded.tokens:,} tokens scored in {encoded.scored_documents:,} documents"
    if corpus.available > len(corpus.documents):
        line += f" of {corpus.available:,}"
    if encoded.left_out:
        counts = [f"{count:,} {what}" for what, count in encoded.left_out.items()]
        line += f"; left out: {', '.join(counts)}"
    return line


def job_key(model: Ranker | FoundModel, corpus: Corpus, max_length: int, stride: int) -> JobKey:
    """The key of a model on a corpus.

    A model whose context is shorter than `max_length` truncates there.
    """
    return JobKey(
        model=model.name,
        revision=model.revision,
        corpus=corpus.id,
        fingerprint=corpus.fingerprint,
        documents=len(corpus.documents),
        seed=corpus.seed or 0,  # 0 also if nothing was shuffled
        dtype=model.dtype,
        max_length=min(max_length, model.context or max_length),
        stride=stride,
    )


def _manifest(
    model: Ranker, corpus: Corpus, encoded: EncodedCorpus, key: JobKey, batch_tokens: int
) -> Manifest:
    """The manifest of a job, as far as it is known before it is run."""
    programs = {"rbpkit": rbpkit.__version__, "python": platform.python_version()}
    return Manifest(
        **key.model_dump(),
        family=model.family,
        S=model.S,
        V=model.V,
        max_bytes=corpus.max_bytes,
        tokens=encoded.tokens,
        skipped_documents=len(corpus.documents) - encoded.scored_documents,
        scored_bytes=sum(encoded.scored_bytes),
        document_bytes=list(encoded.scored_bytes),
        device=model.device,
        batch_tokens=batch_tokens,
        versions=programs | model.versions | dict(model.notes or {}),
    )


def ranked(model: Ranker, encoded: EncodedCorpus, planned: Manifest, progress: bool) -> Records:
    """The records of the job that `planned` describes. Raises InputError as `rank_columns`."""
    if model.is_tried:
        check_ranker(model, encoded)
    start = time.perf_counter()
    columns = rank_columns(model, encoded, planned.batch_tokens, progress)
    seconds = round(time.perf_counter() - start, 3)
    known = {"seconds": seconds, "targets": targets_digest(columns)}
    return Records(**columns, manifest=planned.model_copy(update=known))


def check_ranker(model: Ranker, encoded: EncodedCorpus) -> None:
    """InputError unless what a model says of a target follows from the ids before it alone.

    The beginnings of two documents are ranked, twice; then half of the longer one, alone, with
    another id in the place of the last target.
    """
    # One alone, if padding could change it.
    several = encoded.documents[: 2 if model.pads else 1]
    documents = [beginning(document, PROBED) for document in several]
    documents.sort(key=lambda document: -len(document.input_ids))
    first, again = (_ranks(model, padded(documents))["nll"] for _ in range(2))
    half = padded([beginning(documents[0], PROBED // 2)])
    half.input_ids[0, -1] = (half.input_ids[0, -1] + 1) % model.V
    tolerance = 0.01 if model.dtype == "float32" else 0.1
    if not np.allclose(first, again, rtol=tolerance, atol=tolerance):
        raise InputError(f"{model.name}: the same ids give other numbers each time; is dropout on?")
    of_half = _ranks(model, half)["nll"]
    if not np.allclose(of_half, first[: half.tokens], rtol=tolerance, atol=tolerance):
        raise InputError(
            f"{model.name}: what it says of a target depends on more than the ids before it: on the"
            " target's own place in the ids, on what follows, or on the batch's other documents"
        )


def _ranks(model: Ranker, batch: Batch) -> dict[str, np.ndarray]:
    """`Ranker.ranks` of a batch.

    Raises InputError for NaN and infinite logits, for a batch that does not fit in memory, and for
    a column that has not one number for each scored token.
    """
    try:
        ranks = model.ranks(batch)
    except NonFiniteError as error:
        place = f"document {batch.documents[error.row]}, token {batch.positions[error.row]}"
        raise InputError(f"{model.name}: {place}: {error}") from error
    except (RuntimeError, MemoryError) as error:
        if not isinstance(error, MemoryError) and "memory" not in str(error):
            raise
        fault = f"out of memory; take a smaller batch_tokens ({one_line(error)})"
        raise InputError(f"{model.name}: {fault}") from error
    for name in {"n_greater", "nll", *ranks}:
        if name not in ranks or np.shape(ranks[name]) != (batch.tokens,):
            raise InputError(f"{model.name}: {name} must be {batch.tokens} numbers, one a token")
    return ranks


def rank_columns(
    model: Ranker,
    encoded: EncodedCorpus,
    batch_tokens: int = BATCH_TOKENS,
    progress: bool = False,
) -> dict[str, np.ndarray]:
    """The columns of the records, (T,) each, in the order of the protocol: document and position.

    Longest documents first, so that what does not fit in memory shows at once. Raises InputError as
    `_ranks`, and for a model that changed meanwhile.
    """
    parts: list[dict[str, np.ndarray]] = []
    what = f"{model.name} on {encoded.corpus}"
    with tqdm(total=encoded.tokens, desc=what, unit=" tokens", disable=not progress) as bar:
        for batch in model.batches(encoded, batch_tokens):
            where = {"document": batch.documents, "position": batch.positions}
            parts.append({**where, "target": batch.targets, **_ranks(model, batch)})
            bar.update(batch.tokens)
    model.check_unchanged()
    # Batches go by length; records go by document and position.
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((columns["position"], columns["document"]))
    return {name: column[order] for name, column in columns.items()}
