"""From documents to scored tokens and padded batches (Appendix A). NumPy only, no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rbpkit.errors import InputError, check_whole, reason

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase as Tokenizer

    from rbpkit.corpora import Corpus

PAD_ID = 0  # any id that the model has: nothing to its left can see it, and it is never scored
CHUNK = 64  # documents tokenized in one call: enough for the threads, little to hold


@dataclass(frozen=True, eq=False)
class EncodedDocument:
    """One document as its model reads it, or one window of it.

    document: its index in the corpus, in the order of the protocol.
    input_ids: int32 (L,), with the special tokens that the tokenizer adds itself.
    scored: bool (L-1,); scored[i] says whether the prediction of input_ids[i + 1] from
        input_ids[: i + 1] counts: neither input_ids[i] nor input_ids[i + 1] is special, and no
        earlier window scores it.
    start: the place of input_ids[0] in the document.
    cut: how many tokens are left out, at the document's end or at the beginning of its prompt.
    """

    document: int
    input_ids: np.ndarray = field(repr=False)
    scored: np.ndarray = field(repr=False)
    start: int = 0
    cut: int = 0

    @property
    def tokens(self) -> int:
        """How many of its tokens are scored."""
        return int(np.count_nonzero(self.scored))


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """A corpus under one tokenizer: the documents with a scored token, in protocol order.

    corpus, fingerprint: the Corpus's id and fingerprint.
    max_length, stride: as `encode` was given them.
    documents: with a stride, their windows.
    skipped: how many documents are empty or a single token, and so not in `documents`.
    past: how many tokens are past `max_length` and left out.
    scored_bytes: UTF-8 bytes of the text that each document's scored tokens decode to, one number
        for each document with such a token; an incomplete character counts as one byte. Empty if
        they are not known.
    left_out: what else is left out, in words; "" for nothing.
    """

    corpus: str
    fingerprint: str
    max_length: int
    documents: tuple[EncodedDocument, ...] = field(repr=False)
    skipped: int
    stride: int = 0
    past: int = 0
    scored_bytes: tuple[int, ...] = field(default=(), repr=False)
    left_out: str = ""

    @property
    def tokens(self) -> int:
        """How many tokens are scored."""
        return sum(document.tokens for document in self.documents)

    @property
    def scored_documents(self) -> int:
        """How many documents have a scored token."""
        return len({document.document for document in self.documents})


@dataclass(frozen=True, eq=False)
class Batch:
    """Documents padded on the right, and the places of their scored tokens.

    input_ids: int64 (B, L). Right padding needs no attention mask in a causal model.
    rows, columns: int64 (T,), one entry for each scored token: the hidden state at
        (rows[j], columns[j]) predicts targets[j].
    targets: int64 (T,).
    documents: int32 (T,), of each scored token the index of its document in protocol order.
    positions: int32 (T,), of each target in its document, from 1.
    """

    input_ids: np.ndarray = field(repr=False)
    rows: np.ndarray = field(repr=False)
    columns: np.ndarray = field(repr=False)
    targets: np.ndarray = field(repr=False)
    documents: np.ndarray = field(repr=False)
    positions: np.ndarray = field(repr=False)

    @property
    def tokens(self) -> int:
        """How many scored tokens, T."""
        return len(self.targets)


def encode(
    corpus: Corpus, tokenizer: Tokenizer, *, max_length: int = 512, stride: int = 0
) -> EncodedCorpus:
    """Tokenize each document, truncate it at `max_length` tokens, mark what is scored.

    tokenizer: the model's own. The special tokens that it adds count towards `max_length`. On
        HumanEval at 512 this scores 42,400 tokens for GPT-2, 42,391 for OPT, 33,233 for Pythia,
        the numbers behind the paper's points.
    stride: from 1 on, nothing is truncated. Documents are read in windows of `max_length` tokens,
        each `stride` tokens after the one before, as in the perplexity guide of `transformers`. A
        token is scored in the first window that predicts it, so with at least
        `max_length - stride` tokens before it, unless that is the document's first window. Only
        that one has a special token that the tokenizer puts first.

    If the corpus has prompts, prompt and document are tokenized in one piece, and scored is every
    token that reaches past the border: one on both sides of it is, too. The first has the position
    1. What does not fit into `max_length` is cut off the beginning of the prompt. A document that
    does not fit after the last token of its prompt is left out.

    Raises InputError for a max_length without room for two tokens of the text, for a stride of
    `max_length` or more, or of prompts, for prompts and a tokenizer without offsets, and if no
    document has a scored token.
    """
    check_whole("max_length", max_length, 2 + tokenizer.num_special_tokens_to_add())
    if stride >= max_length:
        raise InputError(f"stride={stride}: must be less than max_length, here {max_length}")
    read: Iterator[EncodedDocument | None]
    if corpus.prompts is None:
        read = _read(corpus, tokenizer, None if stride else max_length)
    elif stride:
        fault = "texts after prompts are not read in windows; leave it out"
        raise InputError(f"stride={stride}: {fault}")
    else:
        read = _read_after_prompts(corpus, corpus.prompts, tokenizer, max_length)
    return encoded_corpus(corpus, tokenizer, read, max_length, stride)


def encoded_corpus(
    corpus: Corpus,
    tokenizer: Tokenizer,
    read: Iterable[EncodedDocument | None],
    max_length: int,
    stride: int = 0,
) -> EncodedCorpus:
    """The corpus, of what is read of each of its documents.

    read: None for a document that does not fit after its prompt.

    Raises InputError if no document has a scored token.
    """
    documents: list[EncodedDocument] = []
    scored_bytes: list[int] = []
    skipped = too_long = documents_cut = tokens_cut = unknown = 0
    ends = (tokenizer.bos_token_id, tokenizer.eos_token_id)  # may stand for unknown tokens, too
    unknown_id = None if tokenizer.unk_token_id in ends else tokenizer.unk_token_id
    for document in read:
        if document is None:
            too_long += 1
            continue
        documents_cut += document.cut > 0
        tokens_cut += document.cut
        unknown += int(np.count_nonzero(document.input_ids == unknown_id))
        if not document.scored.any():
            skipped += 1
            continue
        documents += _windows(document, max_length, stride) if stride else [document]
        scored_ids = document.input_ids[1:][document.scored].tolist()
        scored_text = str(tokenizer.decode(scored_ids, clean_up_tokenization_spaces=False))
        # A letter that is cut at an end gives U+FFFD for each of its bytes; others are the text's.
        inside = scored_text.strip("\ufffd")
        scored_bytes.append(len(inside.encode()) + len(scored_text) - len(inside))

    after_prompts = corpus.prompts is not None
    if not documents:
        fault = f"none of its {len(corpus.documents)} documents has two tokens to score"
        if after_prompts:
            fault = f"no document has a token that fits after its prompt (max_length={max_length})"
        raise InputError(f"{corpus.id}: {fault}")
    left_out = []
    if after_prompts and documents_cut:
        left_out.append(f"the beginning of {documents_cut:,} prompt(s), {tokens_cut:,} tokens")
    if too_long:
        limit = f"--max-length {max_length} after one token of the prompt"
        left_out.append(f"{too_long:,} document(s) longer than {limit}")
    if unknown:
        left_out.append(
            f"{unknown:,} unknown token(s) ({tokenizer.unk_token}), and those after them"
        )
    return EncodedCorpus(
        corpus=corpus.id,
        fingerprint=corpus.fingerprint,
        max_length=max_length,
        documents=tuple(documents),
        skipped=skipped,
        stride=stride,
        past=0 if after_prompts else tokens_cut,
        scored_bytes=tuple(scored_bytes),
        left_out=", ".join(left_out),
    )


def _read(
    corpus: Corpus, tokenizer: Tokenizer, max_length: int | None
) -> Iterator[EncodedDocument]:
    """Each document, cut at `max_length` tokens; None cuts nothing."""
    special = special_ids(tokenizer)
    tail = added_at_the_end(tokenizer)
    for number, tokens in enumerate(tokenized(corpus.documents, tokenizer)):
        whole = np.array(tokens["input_ids"], dtype=np.int32)
        ids = truncated(whole, max_length or len(whole), tail)
        ordinary = ~np.isin(ids, special)
        scored = ordinary[:-1] & ordinary[1:]  # neither input nor target may be special
        yield EncodedDocument(number, ids, scored, cut=len(whole) - len(ids))


def _read_after_prompts(
    corpus: Corpus, prompts: Sequence[str], tokenizer: Tokenizer, max_length: int
) -> Iterator[EncodedDocument | None]:
    """Each document after its prompt, whose beginning is cut off; None if it does not fit.

    Tokens may begin in the prompt and end in the document. So their places in the text decide what
    is scored, and not how many tokens the prompt alone would have.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(f"{corpus.id}: prompts need a tokenizer that tells its tokens' places")
    special = special_ids(tokenizer)
    added_first = tokenizer.num_special_tokens_to_add() - added_at_the_end(tokenizer)
    texts = [prompt + text for prompt, text in zip(prompts, corpus.documents, strict=True)]
    for number, tokens in enumerate(tokenized(texts, tokenizer, return_offsets_mapping=True)):
        ids = np.array(tokens["input_ids"], dtype=np.int32)
        ends = np.array([end for _, end in tokens["offset_mapping"]])
        past_border = ends > len(prompts[number])
        first = int(past_border.argmax()) if past_border.any() else len(ids)
        cut = max(0, len(ids) - max_length)
        first -= cut
        # One token of the prompt has to stay: the first of the document is predicted from it.
        if cut and first <= added_first:
            yield None
            continue
        ids = np.concatenate((ids[:added_first], ids[added_first + cut :]))
        scored = scored_from(first, ids, special)
        yield EncodedDocument(number, ids, scored, start=1 - first, cut=cut)


def special_ids(tokenizer: Tokenizer) -> np.ndarray:
    """The ids of the tokenizer's special tokens, int64."""
    # None means a special token that the vocabulary does not have.
    known_ids = [i for i in tokenizer.all_special_ids if i is not None]
    return np.array(known_ids, dtype=np.int64)


def added_at_the_end(tokenizer: Tokenizer) -> int:
    """How many special tokens the tokenizer puts after a text."""
    text = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    for after in range(len(whole) - len(text) + 1):
        start = len(whole) - len(text) - after
        if whole[start : start + len(text)] == text:
            return after
    return 0


def tokenized(
    texts: Sequence[str], tokenizer: Tokenizer, **options: bool
) -> Iterator[dict[str, Any]]:
    """What the tokenizer gives for each text: its "input_ids", and what the options ask for."""
    for begin in range(0, len(texts), CHUNK):
        with reason(f"the tokenizer fails on documents from {begin}"):
            encoded = tokenizer(list(texts[begin : begin + CHUNK]), verbose=False, **options)
        for number in range(len(encoded["input_ids"])):
            yield {name: column[number] for name, column in encoded.items()}


def truncated(ids: np.ndarray, max_length: int, tail: int) -> np.ndarray:
    """The first ids and the last `tail`, those that the tokenizer adds, as when it truncates."""
    if len(ids) <= max_length:
        return ids
    return np.concatenate((ids[: max_length - tail], ids[len(ids) - tail :]))


def scored_from(first: int, ids: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Which predictions count if the text begins at place `first` of the ids, (L - 1,) bool.

    The target may not be special. The first token is predicted from the last one before the text,
    whatever that is.
    """
    in_text = np.arange(1, len(ids)) >= first
    return in_text & ~np.isin(ids[1:], special)


def _windows(whole: EncodedDocument, max_length: int, stride: int) -> Iterator[EncodedDocument]:
    """The windows of a document that score a token."""
    length = len(whole.input_ids)
    reached = 0  # how far the windows so far reach
    for start in range(0, length, stride):
        end = min(start + max_length, length)
        scored = whole.scored[start : end - 1].copy()
        scored[: max(0, reached - start - 1)] = False  # an earlier window scores these
        if scored.any():
            ids = whole.input_ids[start:end]
            yield EncodedDocument(whole.document, ids, scored, whole.start + start)
        if end == length:
            return
        reached = end


def beginning(document: EncodedDocument, tokens: int) -> EncodedDocument:
    """A document up to so many scored tokens; its ids are a copy."""
    end = int(np.flatnonzero(document.scored)[:tokens][-1]) + 2
    ids = document.input_ids[:end].copy()
    return replace(document, input_ids=ids, scored=document.scored[: end - 1])


def groups(
    encoded: EncodedCorpus,
    batch_tokens: int,
    padding_limit: int | None = None,
    places: int = 0,
) -> Iterator[list[EncodedDocument]]:
    """Documents (or windows) of similar length, the longest first, the same every time.

    batch_tokens: the most tokens of a group with its padding (B x L), at least 1; a longer document
        goes alone.
    padding_limit: the longest group that is padded, None for any. In longer ones all documents have
        one length.
    places: how many more than its ids a document takes, such as those of a picture.

    Longest first shows at once whether a batch fits in memory. Each document is in exactly one.
    """
    by_length = sorted(encoded.documents, key=lambda d: (-len(d.input_ids), d.document, d.start))
    done = 0
    while done < len(by_length):
        longest = len(by_length[done].input_ids)
        most_documents = max(1, batch_tokens // (longest + places))
        group = by_length[done : done + most_documents]
        if padding_limit is not None and longest > padding_limit:
            group = [document for document in group if len(document.input_ids) == longest]
        yield group
        done += len(group)


def padded(group: Sequence[EncodedDocument]) -> Batch:
    """These documents, the longest first, as one batch."""
    longest = len(group[0].input_ids)
    input_ids = np.full((len(group), longest), PAD_ID, dtype=np.int64)
    scored = np.zeros((len(group), longest), dtype=bool)
    for row, document in enumerate(group):
        input_ids[row, : len(document.input_ids)] = document.input_ids
        scored[row, : len(document.scored)] = document.scored
    rows, columns = np.nonzero(scored)
    indices = np.array([document.document for document in group], dtype=np.int32)
    starts = np.array([document.start for document in group])
    positions = starts[rows] + columns + 1
    return Batch(
        input_ids=input_ids,
        rows=rows,
        columns=columns,
        targets=input_ids[rows, columns + 1],
        documents=indices[rows],
        positions=positions.astype(np.int32),
    )
