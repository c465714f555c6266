"""A text as one model ranks it, token by token, and a page that shows it.

The encoding and the ranks are those of `measure`. `rank_view.html` is the page's layout.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources

import torch
from jinja2 import Template
from transformers import PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

from rbpkit.corpora import Corpus
from rbpkit.encoding import Batch
from rbpkit.errors import InputError
from rbpkit.measuring import BATCH_TOKENS, MAX_LENGTH, measure
from rbpkit.models import LoadedModel
from rbpkit.palette import RANK_FILLS, RANK_GROUPS, RANK_LETTERS, rank_group
from rbpkit.ranking import logit_chunks


@dataclass(frozen=True)
class Token:
    """One token of the text. The first token and special tokens are not scored: their rank is None.

    - piece: its bytes, which may be only a part of a character.
    - rank: R of Eq. 3, ties before it.
    - n_equal: how many entries tie with it.
    - nll: in nats.
    - alternatives: (id, piece, probability) of the likeliest entries, best first; the token may be
      one of them.
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

    @property
    def ranks(self) -> list[int]:
        """The ranks of the scored tokens."""
        return [token.rank for token in self.tokens if token.rank is not None]

    def share(self, group: int) -> float:
        """Which share of the scored tokens has a rank of this group of the palette."""
        groups = [rank_group(rank) for rank in self.ranks]
        return groups.count(group) / len(groups)

    def rbp(self, k: int) -> float:
        """RBP_k = Pr(R <= k), Eq. 4, over the scored tokens."""
        hits = sum(rank <= k for rank in self.ranks)
        return hits / len(self.ranks)

    def ce(self) -> float:
        """Mean negative log-likelihood of the scored tokens, nats."""
        nll = [token.nll for token in self.tokens if token.nll is not None]
        return math.fsum(nll) / len(nll)


@torch.no_grad()
def look(
    model: LoadedModel,
    text: str | Corpus,
    *,
    top: int = 5,
    max_length: int = MAX_LENGTH,
    stride: int = 0,
) -> Look:
    """Rank each token of `text` under `model`, and find the `top` likeliest entries at its place.

    text: one document, or a corpus of one, which may have a prompt. As in `measure`, it is cut at
        `max_length` tokens, or at the model's context if that is less, unless there is a `stride`.

    Raises InputError as `measure`, and for a model that is no `LoadedModel`.
    """
    if not isinstance(model, LoadedModel):  # another Ranker, which may give ranks alone
        raise InputError(f"{model.name}: only the predictions of a model that runs here are shown")
    corpus = text if isinstance(text, Corpus) else Corpus("text", (text,))
    records = measure(model, corpus, max_length=max_length, stride=stride).records
    encoded = model.encode(corpus, max_length, stride)
    ids: dict[int, int] = {}  # by position
    for window in encoded.documents:
        ids.update(enumerate(window.input_ids.tolist(), window.start))
    likeliest: dict[int, list[tuple[int, float]]] = {}
    for batch in model.batches(encoded, BATCH_TOKENS):
        entries = _likeliest(model, batch, top)
        likeliest.update(zip(batch.positions.tolist(), entries, strict=True))

    spelling = pieces(model.tokenizer, range(model.V))
    tokens = {position: Token(id, spelling[id]) for position, id in sorted(ids.items())}
    assert records.n_equal is not None, "a loaded model gives all columns"
    columns = (records.position, records.rank(), records.n_equal, records.nll)
    for position, rank, ties, nll in zip(*(column.tolist() for column in columns), strict=True):
        alternatives = tuple((id, spelling[id], p) for id, p in likeliest[position])
        scored = {"rank": rank, "n_equal": ties, "nll": nll, "alternatives": alternatives}
        tokens[position] = replace(tokens[position], **scored)
    text_tokens = len(ids) + sum(window.cut for window in encoded.documents)
    return Look(model.name, model.S, model.V, corpus.id, text_tokens, tuple(tokens.values()))


def _likeliest(model: LoadedModel, batch: Batch, top: int) -> list[list[tuple[int, float]]]:
    """For each scored token the ids and probabilities of the `top` likeliest entries.

    They come from the same logits as the ranks.
    """
    states = model.scored_states(batch)
    chunks: Iterable[tuple[int, torch.Tensor]]
    if model.head is None:  # the model gives logits in the place of states
        chunks = [(0, states.float())]
    else:
        weight = model.head.weight
        chunks = logit_chunks(states.to(weight.device), weight, **model.head.options)
    likeliest = []
    for _, logits in chunks:
        ids = logits.topk(min(top, model.V), dim=1).indices
        probabilities = logits.softmax(dim=1).gather(1, ids)
        for row_ids, row_probabilities in zip(ids.tolist(), probabilities.tolist(), strict=True):
            likeliest.append(list(zip(row_ids, row_probabilities, strict=True)))
    return likeliest


def pieces(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> list[bytes]:
    """The bytes of text that each id stands for; a byte-level token may be half a character.

    Joined, they are the text as the tokenizer saw it, after its normaliser if it has one. A row of
    the output matrix that the tokenizer does not know is named in angle brackets.
    """
    byte_of_character = {character: byte for byte, character in bytes_to_unicode().items()}
    added = {id: str(token) for id, token in tokenizer.added_tokens_decoder.items()}
    decoder = getattr(getattr(tokenizer, "backend_tokenizer", None), "decoder", None)
    byte_level = decoder is not None and b'"ByteLevel"' in decoder.__getstate__()

    spelt = []
    for id, token in zip(ids, tokenizer.convert_ids_to_tokens(list(ids)), strict=True):
        if id in added or token is None:
            spelt.append(added.get(id, f"<no token {id}>").encode())
        elif byte_level and byte_of_character.keys() >= set(token):
            spelt.append(bytes(byte_of_character[character] for character in token))
        elif fallback := re.fullmatch("<0x([0-9A-F]{2})>", token):  # of SentencePiece
            spelt.append(bytes.fromhex(fallback[1]))
        else:
            spelt.append(token.replace("\u2581", " ").encode())  # SentencePiece's space
    return spelt


def visible(
    piece: bytes, newline: str = "\u21b5", tab: str = "\u21e5", space: str = "\u2423"
) -> str:
    """A token's bytes as text in which nothing is hidden.

    Control and format characters, unusual spaces, and bytes that are not UTF-8 become escapes.
    """
    signs = {"\n": newline, "\t": tab, " ": space}
    written = []
    for character in piece.decode("utf-8", "backslashreplace"):
        if character in signs:
            written.append(signs[character])
        elif character.isprintable():
            written.append(character)
        else:
            written.append(character.encode("unicode_escape").decode())
    return "".join(written)


def page(*looks: Look) -> str:
    """One HTML page: of each `look` its numbers, a key, and the text with tokens coloured by rank.

    Pointing at a token, or focusing it, shows its rank, probability, nll and alternatives.
    """
    source = resources.files("rbpkit").joinpath("tools/rank_view.html").read_text("utf-8")
    template = Template(source, autoescape=True, trim_blocks=True)
    colours = list(zip(RANK_GROUPS, RANK_FILLS, RANK_LETTERS, strict=True))
    return template.render(
        looks=looks, colours=colours, visible=visible, rank_group=rank_group, exp=math.exp
    )
