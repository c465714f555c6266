"""From documents to scored tokens and padded batches (Appendix A). NumPy only, no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

    corpus: its id.
    max_length: as `encode` was given it.
    documents: with a stride, their windows.
    scored_bytes: UTF-8 bytes of the text that each document's scored tokens decode to, one number
        for each document with such a token; an incomplete character counts as one byte. Empty if
        they are not known.
    left_out: what is not scored, in words -> how many of it.
    """

    corpus: str
    max_length: int
    documents: tuple[EncodedDocument, ...] = field(repr=False)
    scored_bytes: tuple[int, ...] = field(default=(), repr=False)
    left_out: Mapping[str, int] = field(default_factory=dict)

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
    if corpus.prompts is None:
        read = _read(corpus, tokenizer, None if stride else max_length)
    elif stride:
        raise InputError(f"stride={stride}: texts after prompts are not read in windows")
    else:
        read = _read_after_prompts(corpus, corpus.prompts, tokenizer, max_length)
    return encoded_corpus(corpus, tokenizer, read, max_length, stride)


def encoded_corpus(
    corpus: Corpus,
    tokenizer: Tokenizer,
    read: Iterable[EncodedDocument],
    max_length: int,
    stride: int = 0,
) -> EncodedCorpus:
    """The corpus, of what is read of each of its documents.

    Raises InputError if no document has a scored token.
    """
    documents: list[EncodedDocument] = []
    scored_bytes: list[int] = []
    left_out: Counter[str] = Counter()
    cut_off = "past max_length" if corpus.prompts is None else "at the beginning of prompts"
    ends = (tokenizer.bos_token_id, tokenizer.eos_token_id)  # may stand for unknown tokens, too
    unknown_id = None if tokenizer.unk_token_id in ends else tokenizer.unk_token_id
    for document in read:
        left_out[f"token(s) {cut_off}"] += document.cut
        unknown = np.count_nonzero(document.input_ids == unknown_id)
        left_out["unknown token(s)"] += int(unknown)
        if not document.scored.any():
            left_out["document(s) with nothing to score"] += 1
            continue
        documents += _windows(document, max_length, stride) if stride else [document]
        scored_ids = document.input_ids[1:][document.scored].tolist()
        scored_text = str(tokenizer.decode(scored_ids, clean_up_tokenization_spaces=False))
        # A letter that is cut at an end gives one U+FFFD, or more, each of which counts as a byte.
        inside = scored_text.strip("\ufffd")
        scored_bytes.append(len(inside.encode()) + len(scored_text) - len(inside))

    if not documents:
        count = len(corpus.documents)
        raise InputError(
            f"{corpus.id}: none of its {count} documents has a token to score within"
            f" max_length={max_length}"
        )
    return EncodedCorpus(
        corpus=corpus.id,
        max_length=max_length,
        documents=tuple(documents),
        scored_bytes=tuple(scored_bytes),
        left_out=dict(+left_out),  # without those that are 0
    )


def _read(
    corpus: Corpus, tokenizer: Tokenizer, max_length: int | None
) -> Iterator[EncodedDocument]:
    """Each document, cut at `max_length` tokens; None cuts nothing."""
    special = special_ids(tokenizer)
    _, tail = added_around(tokenizer)
    for number, tokens in enumerate(tokenized(corpus.documents, tokenizer)):
        whole = np.array(tokens["input_ids"], dtype=np.int32)
        ids = truncated(whole, max_length or len(whole), tail)
        ordinary = ~np.isin(ids, special)
        scored = ordinary[:-1] & ordinary[1:]  # neither input nor target may be special
        yield EncodedDocument(number, ids, scored, cut=len(whole) - len(ids))


def _read_after_prompts(
    corpus: Corpus, prompts: Sequence[str], tokenizer: Tokenizer, max_length: int
) -> Iterator[EncodedDocument]:
    """Each document after its prompt, whose beginning is cut off; nothing is scored if it does not
    fit.

    Tokens may begin in the prompt and end in the document. So their places in the text decide what
    is scored, and not how many tokens the prompt alone would have.
    """
    special = special_ids(tokenizer)
    head, _ = added_around(tokenizer)
    texts = [prompt + text for prompt, text in zip(prompts, corpus.documents, strict=True)]
    for number, tokens in enumerate(tokenized(texts, tokenizer, return_offsets_mapping=True)):
        whole = np.array(tokens["input_ids"], dtype=np.int32)
        ends = np.array([end for _, end in tokens["offset_mapping"]])
        past_border = ends > len(prompts[number])
        cut = max(0, len(whole) - max_length)
        ids = np.concatenate((whole[:head], whole[head + cut :]))
        first = int(past_border.argmax()) - cut if past_border.any() else len(ids)
        if cut and first <= head:
            # One token of the prompt has to stay: the first of the document is predicted from it.
            yield EncodedDocument(number, ids, np.zeros(len(ids) - 1, dtype=bool))
        else:
            scored = scored_from(first, ids, special)
            yield EncodedDocument(number, ids, scored, start=1 - first, cut=cut)


def special_ids(tokenizer: Tokenizer) -> np.ndarray:
    """The ids of the tokenizer's special tokens, int64."""
    # None means a special token that the vocabulary does not have.
    known_ids = [i for i in tokenizer.all_special_ids if i is not None]
    return np.array(known_ids, dtype=np.int64)


def added_around(tokenizer: Tokenizer) -> tuple[int, int]:
    """How many special tokens the tokenizer puts before a text, and how many after it."""
    is_added = tokenizer("a", return_special_tokens_mask=True)["special_tokens_mask"]
    return is_added.index(0), is_added[::-1].index(0)


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
    pads: bool = True,
    places: int = 0,
) -> Iterator[list[EncodedDocument]]:
    """Documents (or windows) of similar length, the longest first, the same every time.

    batch_tokens: the most tokens of a group with its padding (B x L), at least 1; a longer document
        goes alone.
    pads: False puts only documents of one length together.
    places: how many more than its ids a document takes, such as those of a picture.

    Longest first shows at once whether a batch fits in memory. Each document is in exactly one.
    """
    by_length = sorted(encoded.documents, key=lambda d: (-len(d.input_ids), d.document, d.start))
    done = 0
    while done < len(by_length):
        longest = len(by_length[done].input_ids)
        most_documents = max(1, batch_tokens // (longest + places))
        group = by_length[done : done + most_documents]
        if not pads:
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
