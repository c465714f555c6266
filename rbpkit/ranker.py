"""What measuring needs of a model: it ranks tokens.

`measure` knows nothing else of a model than a `Ranker`. A `transformers` model is one
(`models.LoadedModel`), and so is anything that can say how many entries of a vocabulary it finds
likelier than the token that came (docs/plugins.md has a whole n-gram model).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rbpkit.encoding import Batch, EncodedCorpus, encode, groups, padded
from rbpkit.errors import InputError

if TYPE_CHECKING:
    from rbpkit.corpora import Corpus
    from rbpkit.ranking import TokenRanks


@dataclass(init=False, repr=False, eq=False, kw_only=True)
class Ranker(ABC):
    """A model that can be measured. A subclass sets the attributes and defines `ranks`.

    name: what it is called in the records.
    revision: what tells it from others of this name, such as a hash of its weights.
    family: the models that it is fitted with.
    S, V: its size (non-embedding parameters), and how many tokens it chooses from.
    tokenizer: of `transformers`, or one that can be called in the same way.
    context: most tokens in a sequence; None for any number.
    dtype, device: of its numbers; both are recorded, and the dtype is in the key of a job.
    notes: what a reader must know of it, as "quantised" -> a few words; None for nothing.
    pads: whether padding on the right changes none of its numbers; else only sequences of one
        length go together.
    is_tried: whether it is tried before it is measured (`measuring.check_ranker`).
    """

    name: str
    revision: str
    family: str
    S: int
    V: int
    tokenizer: Any = field(repr=False)
    context: int | None = None
    dtype: str = "float32"
    device: str = "cpu"
    notes: Mapping[str, str] | None = None
    pads: bool = True
    is_tried: ClassVar[bool] = True

    @property
    def versions(self) -> dict[str, str]:
        """The programs that can change its numbers, for the manifest: name -> version."""
        return {}

    def encode(self, corpus: Corpus, max_length: int, stride: int = 0) -> EncodedCorpus:
        """The corpus as this model reads it: by its tokenizer, and cut at its context.

        max_length, stride: as of `measure`. Raises InputError as `encoding.encode`.
        """
        if corpus.needs:
            raise InputError(f"{self.name}: it reads no {corpus.needs}, and {corpus.id} has some")
        max_length = min(max_length, self.context or max_length)
        return encode(corpus, self.tokenizer, max_length=max_length, stride=stride)

    def batches(self, encoded: EncodedCorpus, batch_tokens: int) -> Iterator[Batch]:
        """The documents in batches, as `encoding.groups`."""
        return map(padded, groups(encoded, batch_tokens, self.pads))

    def check_unchanged(self) -> None:  # noqa: B027  # few can change
        """Called after the last batch: InputError if it is not the model of the first one."""

    @abstractmethod
    def ranks(self, batch: Batch) -> dict[str, np.ndarray]:
        """What is known of the T scored tokens of a batch, (T,) each.

        n_greater: how many other tokens have a greater logit than the target.
        nll: negative log-likelihood of the target, nats.
        n_equal: how many other tokens have the same logit. If it is missing, n_greater counts these
            too, so that R = n_greater + 1 is Eq. 3.
        p_max: the largest probability of the prediction.
        entropy: of the prediction, -sum_v p(v) log p(v), nats.

        The first two are needed. What else is missing is missing in the records. The input at
        `batch.input_ids[batch.rows, batch.columns]` is the token before `batch.targets`.
        """


def columns_of(ranks: TokenRanks) -> dict[str, np.ndarray]:
    """The result of `logit_ranks` or `token_ranks` as `Ranker.ranks` gives it."""
    return {name: numbers.cpu().numpy() for name, numbers in vars(ranks).items()}
