"""One job: a model on a corpus -> records and summary in a folder. Done once, kept.

The data flow from tokens through the base model to hidden states at the scored positions, and
through the output head, chunk by chunk, to exact ranks. There are never T x V logits at once,
unless a model's head has an unusual form, so that its own logits must be taken.
"""

from __future__ import annotations

import functools
import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import torch
from tqdm import tqdm
from transformers import PreTrainedModel

import rbpkit
from rbpkit.corpora import Corpus, check_text, load_corpus
from rbpkit.encoding import Batch, EncodedCorpus, batches, encode
from rbpkit.errors import InputError, check_flags, check_names, check_path, check_whole
from rbpkit.files.architectures import family_of
from rbpkit.files.manifest import JobKey, Manifest
from rbpkit.memory import by_batches
from rbpkit.models import LoadedModel, load_model, model_in_memory
from rbpkit.planning import job_key
from rbpkit.ranking import MEMORY_BYTES, TokenRanks, counting_path, logit_ranks, token_ranks
from rbpkit.records import (
    RecordFile,
    Records,
    find_done,
    job_files,
    job_lock,
    of_other_weights,
    rename_family,
    summary_of,
    write_records,
)
from rbpkit.states import states_of
from rbpkit.summary import Summary

BATCH_TOKENS = 8192
MAX_LENGTH = 512


@dataclass(frozen=True, eq=False, repr=False)
class Measurement:
    """The result of `measure`.

    summary: what the records say.
    path: the Parquet file; None if nothing was written.
    found_done: whether it was there before.
    coverage: what is scored and what is left out, in one line.
    scored_bytes: as of `EncodedCorpus`; 0 if a sweep found the job done.
    """

    summary: Summary
    path: Path | None
    found_done: bool
    coverage: str = ""
    scored_bytes: int = 0
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

    @overload
    def rbp(self, k: int, *, interval: Literal[False] = False) -> float: ...
    @overload
    def rbp(self, k: np.ndarray, *, interval: Literal[False] = False) -> np.ndarray: ...
    @overload
    def rbp(self, k: int, *, interval: Literal[True]) -> tuple[float, float]: ...
    def rbp(self, k: Any, *, interval: bool = False) -> Any:
        """RBP_k = Pr(R <= k), Eq. 4; with `interval` (low, high) as `Summary.rbp_interval`."""
        check_flags(interval=interval)
        return self.summary.rbp_interval(k) if interval else self.summary.rbp(k)

    @overload
    def ce(self, *, interval: Literal[False] = False) -> float: ...
    @overload
    def ce(self, *, interval: Literal[True]) -> tuple[float, float]: ...
    def ce(self, *, interval: bool = False) -> Any:
        """Mean negative log-likelihood, nats; with `interval` (low, high) as for RBP_k."""
        check_flags(interval=interval)
        return self.summary.ce_interval() if interval else self.summary.ce()

    def ppl(self) -> float:
        """Perplexity of a token, exp(CE)."""
        return math.exp(self.ce())

    def bits_per_byte(self) -> float:
        """T CE / (ln 2 x scored_bytes): bits for each UTF-8 byte of the text of T scored tokens.

        It compares models whose tokenizers differ. A document's first token, and what is past
        `max_length`, count neither as bits nor as bytes. InputError if a sweep found the job done.
        """
        if not self.scored_bytes:
            raise InputError("the bytes were not counted; call `measure` for this job")
        return self.ce() * self.summary.tokens / (math.log(2) * self.scored_bytes)


def measure(
    model: LoadedModel | PreTrainedModel | str | os.PathLike[str],
    corpus: Corpus | str | os.PathLike[str] | Iterable[Any],
    out: str | os.PathLike[str] | None = None,
    *,
    tokenizer: Any = None,
    name: str | None = None,
    field: str | None = None,
    image: str | None = None,
    images: str | os.PathLike[str] | None = None,
    unit: str | None = None,
    prompt: str | None = None,
    max_length: int = MAX_LENGTH,
    stride: int | None = 0,
    batch_tokens: int = BATCH_TOKENS,
    changed_text: bool = False,
    force: bool = False,
    progress: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Measurement:
    """Rank every scored token of `corpus` under `model`; with `out`, write records and summary.

    model: a hub id, a folder or a plugin's PLUGIN:NAME; what `load_model` gives; or a
        `transformers` model, or a `peft` PeftModel, in memory with its own `tokenizer` (see
        `model_in_memory`).
    corpus: a name, a file or a folder, of which `load_corpus` takes what the protocol says; what
        `load_corpus` or `Corpus.of` gives; or texts in memory as for `Corpus.of` (a list, a
        `datasets.Dataset`, any iterable), all of them.
    out: a folder; without one, nothing is written.
    tokenizer: of a model in memory; of one that reads pictures its processor.
    name: what to call the model in the records.
    field, image, unit: the columns of the corpus with the text, with the picture that it describes
        (for a model that reads pictures), and with the name of what it was sampled with (its
        author, its repository), which intervals resample.
    images: the folder that the files of pictures are in, if they are not in the corpus's.
    prompt: the column of the corpus with what is read before the text and not scored.
    max_length: truncate documents at this many tokens (Appendix A: 512), or at the model's context
        if that is shorter.
    stride: from 1 on, documents are scored whole, in windows of max_length tokens that are this far
        apart (see `encode`); 0 or None truncates.
    batch_tokens: the most tokens of a forward pass, padding included. Another value changes last
        bits, and now and then a rank by one. If memory runs out, smaller batches are taken and
        `say` gets a line; the manifest keeps the number that was asked for.
    changed_text: measure a plugin's corpus although it is not the text of the reference numbers.
    force: run a finished job again.
    progress: a bar on standard error.
    say: gets lines for people, also if text is left out.

    A finished job with the same key (see `JobKey`) is not run again, but it takes the family that
    `load_model` was given; `say` is told what else differs. Jobs with other keys are left alone. A
    job that another process is measuring is waited for.

    Raises InputError for a model or corpus that cannot be used or leaves nothing to score,
    settings out of range, logits that are NaN or infinite, and too little memory for one document.
    Nothing is written then.
    """
    check_whole("max_length", max_length, 2)
    check_whole("stride", 0 if stride is None else stride, 0)
    check_whole("batch_tokens", batch_tokens, 1)
    check_names(name=name, field=field, image=image, unit=unit, prompt=prompt)
    check_flags(changed_text=changed_text, force=force, progress=progress)
    if out is not None:
        check_path("out", out)
    if not callable(say):
        raise InputError("say: must be a function that takes a line")
    # The corpus first: its faults show at once, a model may take minutes to load.
    if images is not None:
        check_path("images", images)
    text = opened_corpus(corpus, field, image, unit, images, prompt)
    check_text(text, changed_text)
    with _opened(model, tokenizer, name, progress, text) as loaded:
        for what, note in loaded.notes.items():
            say(f"{loaded.name}: {what}: {note}")
        key = job_key(
            loaded, text, max_length=max_length, stride=stride or 0, places=_places_taken(loaded)
        )
        encoded = encode(
            text,
            loaded.tokenizer,
            max_length=key.max_length,
            stride=key.stride,
            captioner=loaded.captioner,
        )
        planned = planned_manifest(loaded, key, encoded, batch_tokens)
        run = functools.partial(_run, loaded, text, encoded, planned, progress=progress, say=say)
        records, path, found_done = None, None, False
        if out is None:
            records = run()
            summary = records.summary()
        else:
            default_family = family_of(loaded.model.config)
            job, found_done = _run_once(out, planned, run, force, default_family, say)
            summary, path = summary_of(job), job.path
    changed = _changed_since(summary, planned, text)
    if changed:
        say(f"done before with other {', '.join(changed)}; --force (force=True) measures it again")
    cut_by_context = encoded.max_length < max_length and not key.stride
    cut_at = f"the model's context of {loaded.context}" if cut_by_context else None
    coverage, is_whole = _coverage(text, encoded, cut_at)
    if not is_whole:
        say(coverage)
    return Measurement(summary, path, found_done, coverage, encoded.scored_bytes, records)


def opened_corpus(
    corpus: Corpus | str | os.PathLike[str] | Iterable[Any],
    field: str | None = None,
    image: str | None = None,
    unit: str | None = None,
    images: str | os.PathLike[str] | None = None,
    prompt: str | None = None,
) -> Corpus:
    """What `measure` takes as a corpus, read."""
    if isinstance(corpus, Corpus):
        return corpus
    if isinstance(corpus, (str, os.PathLike)):
        return load_corpus(
            corpus, field=field, image=image, images=images, unit=unit, prompt=prompt
        )
    return Corpus.of(corpus, field=field or "text", image=image, unit=unit, prompt=prompt)


@contextmanager
def _opened(
    model: Any, tokenizer: Any, name: str | None, progress: bool, corpus: Corpus
) -> Iterator[LoadedModel]:
    """What `measure` takes as a model, ready to be measured on this corpus in this block."""
    pictures = corpus.pictures is not None
    with ExitStack() as stack:
        if isinstance(model, (str, os.PathLike)):
            model = load_model(model, progress=progress, image=pictures)
        if not isinstance(model, LoadedModel):
            loaded = stack.enter_context(model_in_memory(model, tokenizer, name))
        elif tokenizer is None:
            loaded = replace(model, name=name or model.name)
        else:
            raise InputError("tokenizer: only for a model in memory; a loaded one has its own")
        if pictures and loaded.captioner is None:
            fault = "it reads no pictures (in memory it needs its processor as tokenizer=)"
            raise InputError(f"{loaded.name}: {fault}")
        if loaded.captioner is not None and not pictures:
            raise InputError(
                f"{loaded.name}: it reads pictures; name their column, image= (--image)"
            )
        yield loaded


def _places_taken(model: LoadedModel) -> int:
    """How many tokens of the context a picture and its prompt take."""
    if model.captioner is None or model.captioner.start:
        return 0  # a decoder that looks at an encoder's picture has its context for the text alone
    return model.captioner.places


def planned_manifest(
    model: LoadedModel, key: JobKey, encoded: EncodedCorpus, batch_tokens: int
) -> Manifest:
    """The manifest of the job before it is run: everything that can change its numbers."""
    versions = {
        "rbpkit": rbpkit.__version__,
        "python": platform.python_version(),
        "ranks": counting_path(model.device),
    }
    for library in ("torch", "transformers", "tokenizers"):
        versions[library] = metadata.version(library)
    versions.update(model.notes)
    if encoded.prompts_cut or encoded.too_long:
        versions["prompts"] = _left_out_of_prompts(encoded)
    return Manifest(
        **key.model_dump(),
        family=model.family,
        S=model.S,
        V=model.V,
        skipped_documents=encoded.skipped,
        device=model.device,
        threads=torch.get_num_threads(),
        batch_tokens=batch_tokens,
        versions=versions,
    )


def _run(
    model: LoadedModel,
    corpus: Corpus,
    encoded: EncodedCorpus,
    planned: Manifest,
    *,
    progress: bool,
    say: Callable[[str], None],
) -> Records:
    """The records of the job that `planned` describes."""
    if model.head is None and model.dtype != "float32":
        say(
            f"{model.name}: its output head is not a known one (linear, scaled or soft-capped), so"
            f" its own {model.dtype} logits are ranked; many may be tied, so prefer --dtype float32"
        )
    start = time.perf_counter()
    columns = rank_columns(model, encoded, planned.batch_tokens, progress=progress, say=say)
    seconds = round(time.perf_counter() - start, 3)
    if corpus.units is not None:
        columns["unit"] = corpus.unit_numbers()[columns["document"]]
    manifest = planned.model_copy(update={"tokens": encoded.tokens, "seconds": seconds})
    return Records(**columns, manifest=manifest)


def _run_once(
    out: str | os.PathLike[str],
    planned: Manifest,
    run: Callable[[], Records],
    force: bool,
    default_family: str,
    say: Callable[[str], None],
) -> tuple[RecordFile, bool]:
    """The finished job in `out`, run first if it is not there; whether it was there.

    A finished job takes the family that is planned, unless that is only the model's default.
    """
    with job_lock(out, planned.key):
        done = None if force else find_done(out, planned.key)
        if done is None:
            _say_if_of_other_weights(out, planned, say)
            return write_records(out, run()), False
        family_before = done.manifest.family
        if planned.family not in (family_before, default_family):
            say(f"{planned.model} was of family {family_before}, and is now of {planned.family}")
            done = rename_family(done, planned.family)
        return done, True


def _say_if_of_other_weights(
    out: str | os.PathLike[str], planned: Manifest, say: Callable[[str], None]
) -> None:
    """A line if a model of this name was measured with other weights: nothing replaces it."""
    older = of_other_weights(out, planned.key)
    if older:
        which = " and ".join(job.manifest.revision[:15] for job in older)
        files = "; ".join(job_files(job.path) for job in older)
        say(
            f"{planned.model} was measured with other weights before (revision {which}); both are"
            f" kept, and a fit asks for one, as --where revision={planned.revision[:15]}. To"
            f" remove the older records, delete {files}"
        )


def _changed_since(summary: Summary, planned: Manifest, corpus: Corpus) -> list[str]:
    """What differs between a job that was found done and the same job now, its key aside."""
    recorded = ("family", "device", "threads", "batch_tokens", "versions")
    done = summary.manifest
    changed = [field for field in recorded if getattr(done, field) != getattr(planned, field)]
    units = corpus.unit_numbers()[summary.document]
    if not np.array_equal(summary.document_units, units):
        changed.append("units")
    return changed


def _coverage(corpus: Corpus, encoded: EncodedCorpus, cut_at: str | None) -> tuple[str, bool]:
    """What is scored and what is left out, in one line; whether nothing is left out.

    cut_at: what cut the documents, if it was not --max-length.
    """
    taken = len(corpus.documents) + corpus.source.get("empty", 0)
    available = corpus.protocol.get("available", taken)
    scored = len(corpus.documents) - encoded.skipped
    line = f"{encoded.tokens:,} tokens scored in {scored:,}"
    if available > taken:
        line += f" of {available:,} documents (--documents)"
    else:
        line += " document" if scored == 1 else " documents"
    without_tokens = encoded.skipped - encoded.too_long
    if without_tokens:
        line += f", {without_tokens:,} skipped (nothing to score)"
    if encoded.past:
        cut_at = cut_at or f"--max-length {encoded.max_length}"
        line += f"; {encoded.past:,} tokens past {cut_at} left out"
        line += "" if encoded.captions else " (--stride scores all)"
    if encoded.prompts_cut or encoded.too_long:
        line += f"; {_left_out_of_prompts(encoded)}"
        return line, False
    return line, available <= taken and not encoded.past


def _left_out_of_prompts(encoded: EncodedCorpus) -> str:
    """What did not fit into max_length, of prompts and of the documents after them."""
    parts = []
    if encoded.prompts_cut:
        tokens = f"{encoded.prompt_tokens_cut:,} tokens"
        one = encoded.prompts_cut == 1
        who = "prompt lost its" if one else "prompts lost their"
        parts.append(f"{encoded.prompts_cut:,} {who} beginning ({tokens})")
    if encoded.too_long:
        reason = f"longer than --max-length {encoded.max_length} after one token of the prompt"
        who = "document was" if encoded.too_long == 1 else "documents were"
        parts.append(f"{encoded.too_long:,} {who} left out: {reason}")
    return ", ".join(parts)


# -- ranks ------------------------------------------------------------------------------------


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
        states, places = states_of(model, batch, encoded.captions)
        if model.head is None:
            return logit_ranks(states[places], targets.to(states.device), entropy=True)
        weight, options = model.head.weight, model.head.options
        hidden = states[places].to(weight.device)
        del states  # before the head needs memory
        return token_ranks(hidden, weight, targets.to(weight.device), **options, entropy=True)

    make = functools.partial(batches, encoded, padding_limit=model.padding_limit)
    return by_batches(make, batch_tokens, ranked, f"{model.name} on {encoded.corpus}", say)


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
    with tqdm(
        total=encoded.tokens,
        desc=f"{model.name} on {encoded.corpus}",
        unit=" tokens",
        unit_scale=True,
        disable=not progress,
    ) as bar:
        for batch, ranks in measured_ranks(model, encoded, batch_tokens, say):
            part = {
                "document": batch.documents,
                "position": batch.positions,
                "target": batch.targets.astype(np.int32),
            }
            for name in ("n_greater", "n_equal", "nll", "p_max", "entropy"):
                part[name] = getattr(ranks, name).cpu().numpy()
            parts.append(part)
            bar.update(batch.tokens)
    columns = {}
    for name in parts[0]:
        columns[name] = np.concatenate([part[name] for part in parts])
    # Batches go by length; records go by document and position.
    order = np.lexsort((columns["position"], columns["document"]))
    return {name: column[order] for name, column in columns.items()}
