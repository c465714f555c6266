"""A text as one model ranks it: every token with its rank, its probability and what stood above.

`look` goes the way of `measure` (its encoding, its ranks), so the integers are those of a record
of the same text. `look_page` makes a page of what it gives.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch

from rbpkit.corpora import Corpus
from rbpkit.encoding import Batch, encode
from rbpkit.errors import InputError
from rbpkit.files.text_files import text_fingerprint
from rbpkit.measuring import MAX_LENGTH, measured_ranks, states_of
from rbpkit.models import LoadedModel
from rbpkit.ranking import logit_chunks

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")  # how SentencePiece writes a byte of its fallback
# How byte-level tokenizers write bytes: those that show as themselves, the others from U+0100 on.
_SHOWN = (*range(33, 127), *range(161, 173), *range(174, 256))
_HIDDEN = sorted(set(range(256)) - set(_SHOWN))
_BYTES = {chr(b): b for b in _SHOWN} | {chr(256 + i): b for i, b in enumerate(_HIDDEN)}


@dataclass(frozen=True)
class Alternative:
    """An entry of the vocabulary that the model found likely: its id, bytes and probability."""

    id: int
    piece: bytes
    probability: float


@dataclass(frozen=True)
class Token:
    """One token of the text. What is None is not scored: the first, and special tokens.

    position: from 0. piece: its bytes, which may be a part of a character only; whole is then
    the text of all the characters that it has a part of, else None. rank: R, Eq. 3, ties before
    it; n_equal: how many entries tie with it. nll in nats; probability = exp(-nll).
    alternatives: the likeliest entries, the first one first; the token may be one of them.
    """

    position: int
    id: int
    piece: bytes
    whole: str | None = None
    rank: int | None = None
    n_equal: int | None = None
    nll: float | None = None
    probability: float | None = None
    alternatives: tuple[Alternative, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Look:
    """A text under a model: its tokens in order, those cut off left out.

    text: what the text is called. text_tokens: how many tokens all of it has, which is more than
    len(tokens) where it was cut at max_length, the smaller of what was asked and the context.
    """

    model: str
    family: str
    S: int
    V: int
    dtype: str
    text: str
    text_tokens: int
    max_length: int
    tokens: tuple[Token, ...] = field(repr=False)

    @property
    def scored(self) -> tuple[Token, ...]:
        """The tokens that have a rank; never empty."""
        return tuple(token for token in self.tokens if token.rank is not None)

    def rbp(self, k: int) -> float:
        """RBP_k = Pr(R <= k), Eq. 4, over the scored tokens."""
        return sum(token.rank <= k for token in self.scored) / len(self.scored)

    def ce(self) -> float:
        """Mean negative log-likelihood of the scored tokens, nats."""
        return math.fsum(token.nll for token in self.scored) / len(self.scored)


@torch.no_grad()
def look(
    model: LoadedModel,
    text: str,
    *,
    name: str = "text",
    top: int = 5,
    max_length: int = MAX_LENGTH,
) -> Look:
    """Rank each token of `text` under `model`, with the `top` likeliest entries at its place.

    The text is one document, read once from its beginning: at `max_length` tokens, or at the
    model's context if that is less, it is cut, as in `measure`. name: what to call the text.

    Raises InputError for a text that leaves nothing to score, top below 1, max_length below 2,
    and logits that are NaN or infinite.
    """
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise InputError(f"top={top!r}: must be a whole number, 1 or more")
    if not text.strip():
        raise InputError(f"{name}: the text is empty; give some words")
    try:
        corpus = Corpus(name, (text,), text_fingerprint((text,)), {}, {})
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name}: half a surrogate pair at character {error.start}; remove it"
        ) from error
    if model.context is not None:
        max_length = min(max_length, model.context)
    encoded = encode(corpus, model.tokenizer, max_length=max_length)
    all_ids = model.tokenizer(text, return_attention_mask=False, verbose=False)["input_ids"]
    ids = encoded.documents[0].input_ids.tolist()
    spelt = pieces(model.tokenizer, ids)
    parts = zip(ids, spelt, _wholes(spelt), strict=True)
    tokens = [Token(position, *part) for position, part in enumerate(parts)]
    ((batch, ranks),) = measured_ranks(model, encoded)
    found = zip(
        batch.positions.tolist(),
        ranks.rank().tolist(),
        ranks.n_equal.tolist(),
        ranks.nll.tolist(),
        _alternatives(model, batch, top),
        strict=True,
    )
    for position, rank, n_equal, nll, alternatives in found:
        tokens[position] = replace(
            tokens[position],
            rank=rank,
            n_equal=n_equal,
            nll=nll,
            probability=math.exp(-nll),
            alternatives=alternatives,
        )
    return Look(
        model=model.name,
        family=model.family,
        S=model.S,
        V=model.V,
        dtype=model.dtype,
        text=name,
        text_tokens=len(all_ids),
        max_length=max_length,
        tokens=tuple(tokens),
    )


def _alternatives(model: LoadedModel, batch: Batch, top: int) -> list[tuple[Alternative, ...]]:
    """The likeliest entries at each scored position, from the logits that the ranks are of."""
    states, places = states_of(model, batch)
    if model.head is None:
        chunks = iter([(0, states[places].float())])
    else:
        weight, bias = model.head
        chunks = logit_chunks(states[places].to(weight.device), weight, bias=bias)
    ids, probabilities = [], []
    for _, logits in chunks:
        best = logits.topk(min(top, model.V), dim=1)
        log_p = best.values - logits.logsumexp(dim=1, keepdim=True)
        ids += best.indices.tolist()
        probabilities += log_p.exp().tolist()
    known = sorted({id for row in ids for id in row})
    spelt = dict(zip(known, pieces(model.tokenizer, known), strict=True))
    return [
        tuple(Alternative(id, spelt[id], p) for id, p in zip(row, row_p, strict=True))
        for row, row_p in zip(ids, probabilities, strict=True)
    ]


def pieces(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> list[bytes]:
    """The bytes of text that each id stands for; a byte-level token may be half a character.

    Joined they are the text as the tokenizer saw it: exactly for a byte-level tokenizer without
    a normaliser, else up to what it normalised (a space before the first word, say). A row of
    the output matrix that the tokenizer does not know is named in angle brackets.
    """
    added = {id: str(token) for id, token in tokenizer.added_tokens_decoder.items()}
    decoder = getattr(getattr(tokenizer, "backend_tokenizer", None), "decoder", None)
    byte_level = decoder is not None and b'"ByteLevel"' in decoder.__getstate__()
    found = []
    for id, token in zip(ids, tokenizer.convert_ids_to_tokens(list(ids)), strict=True):
        if id in added or token is None:
            found.append(added.get(id, f"<no token {id}>").encode())
        elif byte_level and _BYTES.keys() >= set(token):
            found.append(bytes(_BYTES[character] for character in token))
        elif byte := _BYTE_TOKEN.fullmatch(token):
            found.append(bytes([int(byte[1], 16)]))
        else:
            found.append(token.replace("\u2581", " ").encode("utf-8", "surrogatepass"))
    return found


def _wholes(spelt: Sequence[bytes]) -> Iterator[str | None]:
    """For each piece, the characters that it has a part of; None where it begins and ends whole."""
    data, end = b"".join(spelt), 0
    for piece in spelt:
        start, end = end, end + len(piece)
        first, last = start, end
        while first > max(0, start - 3) and _continues(data, first):
            first -= 1
        while last < min(len(data), end + 3) and _continues(data, last):
            last += 1
        if (first, last) == (start, end):
            yield None
        else:
            yield data[first:last].decode("utf-8", "replace")


def _continues(data: bytes, at: int) -> bool:
    """Whether the byte there goes on with a character begun before it."""
    return at < len(data) and data[at] & 0xC0 == 0x80
