"""One job: a model on a corpus -> records and summary in a folder. Done once, kept.

The loop is here: documents, batches that fit in memory, records. What ranks the tokens of a batch
is a `Ranker`, of which nothing else is known.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm
from transformers import PreTrainedModel

import rbpkit
from rbpkit.corpora import Corpus, load_corpus
from rbpkit.encoding import Batch, EncodedCorpus, beginning, padded
from rbpkit.errors import InputError, check_name, check_path, check_whole, one_line
from rbpkit.manifest import JobKey, Manifest
from rbpkit.models import FoundModel, load_model, model_in_memory, renamed
from rbpkit.ranker import Ranker
from rbpkit.ranking import NonFiniteError
from rbpkit.records import (
    COLUMNS,
    OPTIONAL,
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

    def ce(self, *, interval: bool = False) -> Any:
        """Mean negative log-likelihood, nats; with `interval` (low, high) as for RBP_k."""
        return self.summary.ce_interval() if interval else self.summary.ce()

    def ppl(self) -> float:
        """Perplexity of a token, exp(CE)."""
        return math.exp(self.ce())

    def bits_per_byte(self) -> float:
        """Bits for each UTF-8 byte of the scored text, as `Summary.bits_per_byte`."""
        return self.summary.bits_per_byte()


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

    A finished job with the same key (see `JobKey`) is not run again, but it takes the family that
    was given here, S and V; `say` is told, and what else differs. Jobs with other keys are left
    alone.

    Raises InputError for a model or corpus that cannot be used or leaves nothing to score, settings
    out of range, a name under which other weights were measured, logits that are NaN or infinite,
    and too little memory for a batch. Nothing is written then.
    """
    if out is not None:
        check_path("out", out)
    if not callable(say):
        raise InputError("say: must be a function that takes a line")
    for key, word in {"name": name, "family": family}.items():
        if word is not None:
            check_name(key, word)
    if size is not None:
        check_whole("size", size, 1)
    check_whole("max_length", max_length, 2)
    check_whole("stride", stride, 0)
    check_whole("batch_tokens", batch_tokens, 1)
    # The corpus first: its faults show at once, a model may take minutes to load.
    text = opened_corpus(corpus)
    with _opened(model, tokenizer, name, family, size) as ranker:
        for what, note in (ranker.notes or {}).items():
            say(f"{ranker.name}: {what}: {note}")
        encoded = ranker.encode(text, max_length, stride)
        planned = planned_manifest(ranker, text, encoded, batch_tokens)
        found = None
        if out is not None:
            check_revision(out, planned.key)
            found = None if force else find_done(out, planned.key)
        records = found
        if records is None:
            records = ranked(ranker, text, encoded, planned, progress)
        else:
            records = _amended(records, family, ranker, say)
    path = None
    if out is not None:
        path = record_path(out, planned.key)
        if records is not found:
            write_records(out, records)
    summary = records.summary()
    changed = _changed_since(summary, planned, text)
    if changed:
        say(f"done before with other {', '.join(changed)}; --force (force=True) measures it again")
    cut_at = f"--max-length {encoded.max_length}"
    if encoded.max_length < max_length:
        cut_at = f"the model's context of {ranker.context}"
    coverage, is_whole = _coverage(text, encoded, cut_at)
    if not is_whole:
        say(coverage)
    kept = records if path is None else None  # else they are read when they are asked for
    return Measurement(summary, path, found is not None, coverage, kept)


def _amended(
    records: Records, family: str | None, ranker: Ranker, say: Callable[[str], None]
) -> Records:
    """The records of a job that was done before, with what may be changed later."""
    manifest = records.manifest
    labels = {"family": family or manifest.family, "S": ranker.S, "V": ranker.V}
    changed = {name: label for name, label in labels.items() if label != getattr(manifest, name)}
    for name, label in changed.items():
        say(f"{manifest.model} had {name} {getattr(manifest, name)}, and now has {label}")
    if not changed:
        return records
    return dataclasses.replace(records, manifest=manifest.model_copy(update=changed))


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
        missing = [one.name for one in fields(Ranker) if not hasattr(model, one.name)]
        if missing:
            raise InputError(f"{type(model).__name__}: a Ranker needs {', '.join(missing)}")
        yield renamed(model, **labels)


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
        seed=corpus.protocol.get("seed") or 0,  # 0 also if nothing was shuffled
        dtype=model.dtype,
        max_length=min(max_length, model.context or max_length),
        stride=stride,
        max_bytes=corpus.protocol.get("max_bytes", 0),
    )


def planned_manifest(
    model: Ranker,
    corpus: Corpus,
    encoded: EncodedCorpus,
    batch_tokens: int,
) -> Manifest:
    """The manifest of the job before it is run: everything that can change its numbers."""
    key = job_key(model, corpus, encoded.max_length, encoded.stride)
    versions = {
        "rbpkit": rbpkit.__version__,
        "python": platform.python_version(),
        **model.versions,
        **(model.notes or {}),
    }
    if encoded.left_out:
        versions["left out"] = encoded.left_out
    return Manifest(
        **key.model_dump(),
        family=model.family,
        S=model.S,
        V=model.V,
        skipped_documents=len(corpus.documents) - encoded.scored_documents,
        scored_bytes=sum(encoded.scored_bytes),
        document_bytes=list(encoded.scored_bytes),
        device=model.device,
        batch_tokens=batch_tokens,
        versions=versions,
    )


def ranked(
    model: Ranker,
    corpus: Corpus,
    encoded: EncodedCorpus,
    planned: Manifest,
    progress: bool = False,
) -> Records:
    """The records of the job that `planned` describes. Raises InputError as `measured_ranks`."""
    if model.is_tried:
        check_ranker(model, encoded)
    start = time.perf_counter()
    columns = rank_columns(model, encoded, planned.batch_tokens, progress)
    seconds = round(time.perf_counter() - start, 3)
    unit = None
    if corpus.units is not None:
        unit = corpus.unit_numbers()[columns["document"]]
    known = {
        "tokens": encoded.tokens,
        "seconds": seconds,
        "targets": targets_digest(columns),
    }
    manifest = planned.model_copy(update=known)
    return Records.of(columns, manifest, unit)


def _changed_since(summary: Summary, planned: Manifest, corpus: Corpus) -> list[str]:
    """What differs between a job that was found done and the same job now, its key aside."""
    recorded = ("family", "device", "batch_tokens", "versions")
    done = summary.manifest
    changed = [field for field in recorded if getattr(done, field) != getattr(planned, field)]
    units = corpus.unit_numbers()[summary.document]
    if not np.array_equal(summary.document_units, units):
        changed.append("units")
    return changed


def _coverage(corpus: Corpus, encoded: EncodedCorpus, cut_at: str) -> tuple[str, bool]:
    """What is scored and what is left out, in one line; whether nothing is left out.

    cut_at: what cuts documents that are longer.
    """
    taken = len(corpus.documents)
    available = corpus.protocol.get("available", taken)
    scored = encoded.scored_documents
    documents = "1 document" if scored == 1 else f"{scored:,} documents"
    if available > taken:
        documents = f"{scored:,} of {available:,} documents (--documents)"
    line = f"{encoded.tokens:,} tokens scored in {documents}"
    if encoded.skipped:
        line += f", {encoded.skipped:,} skipped (nothing to score)"
    left_out = [encoded.left_out] if encoded.left_out else []
    if encoded.past:
        scores_all = "" if corpus.needs else " (--stride scores all)"
        left_out.append(f"{encoded.past:,} tokens past {cut_at}{scores_all}")
    if left_out:
        line += f"; left out: {', '.join(left_out)}"
    return line, available <= taken and not left_out


def check_ranker(model: Ranker, encoded: EncodedCorpus) -> None:
    """InputError unless what a model says of a target follows from the ids before it alone.

    The beginnings of two documents are ranked, twice; then half of the longer one, alone, with
    another id in the place of the last target.
    """

    def losses(batch: Batch) -> np.ndarray:
        return _columns(model, batch, model.ranks(batch))["nll"]

    # One alone, if padding could change it.
    several = encoded.documents[: 2 if model.padding_limit is None else 1]
    documents = [beginning(document, PROBED) for document in several]
    documents.sort(key=lambda document: -len(document.input_ids))
    first, again = losses(padded(documents)), losses(padded(documents))
    half = padded([beginning(documents[0], PROBED // 2)])
    half.input_ids[0, -1] = (half.input_ids[0, -1] + 1) % model.V
    tolerance = 0.01 if model.dtype == "float32" else 0.1
    if not np.allclose(first, again, rtol=tolerance, atol=tolerance):
        raise InputError(f"{model.name}: the same ids give other numbers each time; is dropout on?")
    if not np.allclose(losses(half), first[: half.tokens], rtol=tolerance, atol=tolerance):
        raise InputError(
            f"{model.name}: what it says of a target depends on more than the ids before it: on the"
            " target's own place in the ids, on what follows, or on the batch's other documents"
        )


# -- ranks ------------------------------------------------------------------------------------


def measured_ranks(
    model: Ranker, encoded: EncodedCorpus, batch_tokens: int = BATCH_TOKENS
) -> Iterator[tuple[Batch, dict[str, np.ndarray]]]:
    """Each batch of the corpus with what `Ranker.ranks` gives for its scored tokens.

    Longest documents first, so that what does not fit in memory shows at once.

    Raises InputError for a batch that does not fit, and as `Ranker.ranks`.
    """
    what = f"{model.name} on {encoded.corpus}"
    for batch in model.batches(encoded, batch_tokens):
        try:
            # A copy, so that records have the text's tokens whatever a model does with them.
            ranks = model.ranks(dataclasses.replace(batch, targets=batch.targets.copy()))
        except NonFiniteError as error:
            place = f"document {batch.documents[error.row]}"
            place += f", token {batch.positions[error.row]}"
            raise InputError(f"{what}: {place}: {error}") from error
        except (RuntimeError, MemoryError) as error:
            if not isinstance(error, MemoryError) and "memory" not in str(error):
                raise
            raise InputError(
                f"{what}: out of memory with a batch of {batch.input_ids.size:,} tokens; take"
                " a smaller --batch-tokens, cut documents shorter (--max-length), or take a lower"
                f" --dtype ({one_line(error)})"
            ) from error
        yield batch, ranks
    model.check_unchanged()


def rank_columns(
    model: Ranker,
    encoded: EncodedCorpus,
    batch_tokens: int = BATCH_TOKENS,
    progress: bool = False,
) -> dict[str, np.ndarray]:
    """The columns of the records, (T,) each, in the order of the protocol: document and position.

    progress, errors: as `measure` and `measured_ranks`; InputError for columns that `Records`
    does not know or that are not of the batch's length.
    """
    parts: list[dict[str, np.ndarray]] = []
    with tqdm(
        total=encoded.tokens,
        desc=f"{model.name} on {encoded.corpus}",
        unit=" tokens",
        unit_scale=True,
        disable=not progress,
    ) as bar:
        for batch, ranks in measured_ranks(model, encoded, batch_tokens):
            parts.append(_columns(model, batch, ranks))
            bar.update(batch.tokens)
    columns = {}
    for name in parts[0]:
        columns[name] = np.concatenate([part[name] for part in parts])
    # Batches go by length; records go by document and position.
    order = np.lexsort((columns["position"], columns["document"]))
    return {name: column[order] for name, column in columns.items()}


def _columns(model: Ranker, batch: Batch, ranks: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is known of a batch's tokens, in the types and the order of records."""
    where = {"document": batch.documents, "position": batch.positions, "target": batch.targets}
    given = {**where, **ranks}
    missing = COLUMNS.keys() - OPTIONAL - given.keys()
    if missing:
        raise InputError(f"{model.name}: its ranks lack {' and '.join(sorted(missing))}")
    unknown = given.keys() - COLUMNS.keys()
    if unknown:
        raise InputError(
            f"{model.name}: its ranks have {min(unknown)!r}; records have {', '.join(COLUMNS)}"
        )
    columns = {}
    for name, dtype in COLUMNS.items():
        if name in given:
            array = np.asarray(given[name])
            if array.shape != (batch.tokens,) or array.dtype.kind not in "iuf":
                given_one = f"{array.dtype} of shape {array.shape}"
                raise InputError(f"{model.name}: {name} is {given_one}, for {batch.tokens} tokens")
            columns[name] = array.astype(dtype, copy=False)
            if dtype is np.int32 and not np.array_equal(columns[name], array):
                raise InputError(f"{model.name}: {name} must be whole numbers below 2^31")
    return columns
