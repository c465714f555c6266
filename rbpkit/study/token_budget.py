"""The first documents of a corpus that have a given number of scored tokens in every tokenizer.

The paper states about 5 x 10^5 tokens a point. Its 1,000 documents give that on long texts only:
317,000 on Wiki, 24,000 on HotpotQA. Here documents are taken on, in the protocol's order, until
every tokenizer of the study has at least so many scored tokens.

What can be compared: models of one family share a tokenizer, so the law in S is fitted on the
very same tokens, as in the paper. Families read the same text in other tokens: the one whose
tokenizer makes fewest decides how many documents there are, and the others score more. A study
with another family can therefore have more documents; `documents` fixes their number instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rbpkit.corpora import PROTOCOL_DOCUMENTS, Corpus, load_corpus
from rbpkit.encoding import encode
from rbpkit.errors import reason
from rbpkit.files.libraries import quiet
from rbpkit.files.model_folders import find_checkpoint, load_tokenizer
from rbpkit.files.text_files import text_fingerprint
from rbpkit.study.params import Params

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class ModelTokenizer(NamedTuple):
    """A model's tokenizer, and the tokens at which its documents are truncated."""

    tokenizer: PreTrainedTokenizerBase
    max_length: int


def model_tokenizers(models: Iterable[str], params: Params) -> dict[str, ModelTokenizer]:
    """The tokenizers of these models, by hub id or folder; no weights are loaded.

    Raises InputError as `find_checkpoint`, for each model of the study must be there.
    """
    tokenizers = {}
    for model in models:
        options = {"revision": params.revision_of(model), "allow_pickle": params.allow_pickle}
        folder = find_checkpoint(model, **options).folder
        with quiet(), reason(f"{folder}: the tokenizer cannot be loaded"):
            tokenizer = load_tokenizer(folder, {"local_files_only": True})
            tokenizers[model] = ModelTokenizer(tokenizer, truncated_at(folder, params))
    return tokenizers


def truncated_at(folder: Path, params: Params) -> int:
    """The tokens at which documents are truncated: `max_length`, or the model's context if less."""
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder, local_files_only=True).get_text_config()
    context = getattr(config, "max_position_embeddings", None) or params.max_length
    return min(params.max_length, context)


def load_token_budget(
    name: str, least_tokens: int, tokenizers: Mapping[str, ModelTokenizer], **options
) -> tuple[Corpus, dict[str, int]]:
    """The fewest first documents that have `least_tokens` scored tokens for every tokenizer.

    tokenizers: at least one, by a name for it. options: of `load_corpus`, all but `documents`.
    Returns the corpus and its scored tokens for each; a corpus that has too few is taken whole,
    which the numbers then say. `protocol["least_tokens"]` keeps what was asked for. Raises
    InputError as `load_corpus` and `encode`.
    """
    wanted = PROTOCOL_DOCUMENTS
    while True:
        corpus = load_corpus(name, documents=wanted, **options)
        needed, tokens = _needed(corpus, least_tokens, tokenizers)
        available = corpus.protocol["available"]
        read = len(corpus.documents) + corpus.source["empty"]
        if needed is not None or read < wanted or (available is not None and available <= wanted):
            break
        wanted *= 2  # the first ones stay the same: their order does not depend on how many
    kept = corpus.documents[:needed]
    protocol = {**corpus.protocol, "requested": None, "least_tokens": least_tokens}
    found = replace(corpus, documents=kept, fingerprint=text_fingerprint(kept), protocol=protocol)
    return found, tokens


def _needed(
    corpus: Corpus, least: int, tokenizers: Mapping[str, ModelTokenizer]
) -> tuple[int | None, dict[str, int]]:
    """How many first documents do for every tokenizer (None: all are too few), and their tokens."""
    sums = {}
    for name, (tokenizer, max_length) in tokenizers.items():
        counts = np.zeros(len(corpus.documents), dtype=np.int64)
        for document in encode(corpus, tokenizer, max_length=max_length).documents:
            counts[document.document] = document.tokens
        sums[name] = np.cumsum(counts)
    if any(total[-1] < least for total in sums.values()):
        return None, {name: int(total[-1]) for name, total in sums.items()}
    needed = max(int(np.searchsorted(total, least)) + 1 for total in sums.values())
    return needed, {name: int(total[needed - 1]) for name, total in sums.items()}
