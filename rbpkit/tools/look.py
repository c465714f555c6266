"""A text as one model ranks it, token by token, and a page that shows it.

The encoding and the ranks are those of `measure`. `look.html` is the page's layout.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources

import torch
from jinja2 import Template
from transformers import PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

from rbpkit.corpora import Corpus
from rbpkit.encoding import encode
from rbpkit.measuring import MAX_LENGTH, measured_ranks
from rbpkit.models import LoadedModel
from rbpkit.palette import RANK_FILLS, RANK_GROUPS, RANK_LETTERS, rank_group
from rbpkit.ranking import logit_chunks
from rbpkit.states import states_of


@dataclass(frozen=True)
class Token:
    """One token of the text. The first token and special tokens are not scored: their rank is None.

    piece: its bytes, which may be only a part of a character. rank: R of Eq. 3, ties before it.
    n_equal: how many entries tie with it. nll: in nats. alternatives: (id, piece, probability) of
    the likeliest entries, best first; the token may be one of them.
    """

    id: int
    piece: bytes
    rank: int | None = None
    n_equal: int | None = None
    nll: float | None = None
    alternatives: tuple[tuple[int, bytes, float], ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Look:
    """A text under a model. text_tokens: of the whole text, more than len(tokens) if it was cut."""

    model: str
    S: int
    V: int
    text: str  # its name
    text_tokens: int
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
    model: LoadedModel, text: str, *, name: str = "text", top: int = 5, max_length: int = MAX_LENGTH
) -> Look:
    """Rank each token of `text` under `model`, and find the `top` likeliest entries at its place.

    The text is one document. As in `measure`, it is cut at `max_length` tokens, or at the model's
    context if that is less. name: what to call the text.

    Raises InputError for a text that leaves nothing to score, a max_length below 2, and logits
    that are NaN or infinite.
    """
    max_length = min(max_length, model.context or max_length)
    encoded = encode(Corpus(name, (text,)), model.tokenizer, max_length=max_length)
    ((batch, ranks),) = measured_ranks(model, encoded)
    # The alternatives come from the same logits as the ranks.
    states, places = states_of(model, batch)
    if model.head is None:
        chunks = [(0, states[places].float())]
    else:
        weight = model.head.weight
        chunks = logit_chunks(states[places].to(weight.device), weight, **model.head.options)
    best = []
    for _, logits in chunks:
        entries = logits.topk(min(top, model.V), dim=1).indices
        probabilities = logits.softmax(dim=1).gather(1, entries)
        best += map(list, map(zip, entries.tolist(), probabilities.tolist()))
    ids = encoded.documents[0].input_ids.tolist()
    known = sorted({*ids, *(id for row in best for id, _ in row)})
    spelt = dict(zip(known, pieces(model.tokenizer, known), strict=True))
    columns = (column.tolist() for column in (ranks.rank(), ranks.n_equal, ranks.nll))
    likeliest = (tuple((id, spelt[id], p) for id, p in row) for row in best)
    scores = dict(zip(batch.positions.tolist(), zip(*columns, likeliest, strict=True), strict=True))
    tokens = tuple(Token(id, spelt[id], *scores.get(at, ())) for at, id in enumerate(ids))
    uncut = model.tokenizer(text, verbose=False)["input_ids"]
    return Look(model.name, model.S, model.V, name, len(uncut), tokens)


def pieces(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> list[bytes]:
    """The bytes of text that each id stands for; a byte-level token may be half a character.

    Joined, they are the text as the tokenizer saw it, after its normaliser if it has one. A row of
    the output matrix that the tokenizer does not know is named in angle brackets.
    """
    as_byte = {character: byte for byte, character in bytes_to_unicode().items()}
    added = {id: str(token) for id, token in tokenizer.added_tokens_decoder.items()}
    decoder = getattr(getattr(tokenizer, "backend_tokenizer", None), "decoder", None)
    byte_level = decoder is not None and b'"ByteLevel"' in decoder.__getstate__()
    found = []
    for id, token in zip(ids, tokenizer.convert_ids_to_tokens(list(ids)), strict=True):
        if id in added or token is None:
            found.append(added.get(id, f"<no token {id}>").encode())
        elif byte_level and as_byte.keys() >= set(token):
            found.append(bytes(as_byte[character] for character in token))
        elif byte := re.fullmatch("<0x([0-9A-F]{2})>", token):  # SentencePiece's byte fallback
            found.append(bytes.fromhex(byte[1]))
        else:
            found.append(token.replace("\u2581", " ").encode())
    return found


def visible(
    piece: bytes, newline: str = "\u21b5", tab: str = "\u21e5", space: str = "\u2423"
) -> str:
    """A token's bytes as text in which nothing is hidden.

    Control and format characters, unusual spaces, and bytes that are not UTF-8 become escapes.
    """
    signs = {"\n": newline, "\t": tab, " ": space}
    return "".join(
        signs.get(c) or (c if c.isprintable() else c.encode("unicode_escape").decode())
        for c in piece.decode("utf-8", "backslashreplace")
    )


def page(look: Look) -> str:
    """`look` as one HTML page: its numbers, a key, and the text with tokens coloured by rank.

    Pointing at a token, or focusing it, shows its rank, probability, nll and alternatives.
    """
    groups = [rank_group(token.rank) for token in look.scored]
    colours = list(zip(RANK_FILLS, RANK_LETTERS, strict=True))
    key = [(name, colours[n], groups.count(n) / len(groups)) for n, name in enumerate(RANK_GROUPS)]
    source = resources.files("rbpkit").joinpath("tools/look.html").read_text("utf-8")
    template = Template(source, autoescape=True, trim_blocks=True)
    return template.render(look=look, key=key, visible=visible, rank_group=rank_group, exp=math.exp)
