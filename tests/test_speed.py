"""How much ranking costs beside the forward pass: ratios within one run, interleaved.

One thread: the ratios then hold on a machine with other work too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import pytest
import torch

from rbpkit import pocket
from rbpkit.corpora import load_corpus
from rbpkit.encoding import batches, encode
from rbpkit.measure import BATCH_TOKENS, measured_ranks
from rbpkit.models import LoadedModel, load_model
from rbpkit.ranking import logit_chunks
from rbpkit.summary import PAPER_K

PAPER_TOP = 10_000
FEW = 1000  # tokens for the slow way
ROUNDS = 5


def forward_with_head(model: LoadedModel, encoded) -> None:
    """The model's own forward pass on the same batches: all logits, and nothing done with them."""
    for batch in batches(encoded, BATCH_TOKENS):
        model.logits(torch.from_numpy(batch.input_ids))


def forward_with_chunked_head(model: LoadedModel, encoded) -> None:
    """A harder mark: only scored positions, logits by chunks that stay in cache."""
    for batch in batches(encoded, BATCH_TOKENS):
        ids = torch.from_numpy(batch.input_ids)
        hidden = model.hidden(ids)[torch.from_numpy(batch.rows), torch.from_numpy(batch.columns)]
        for _ in logit_chunks(hidden, model.head.weight, bias=model.head.bias):
            pass


def with_ranks(model: LoadedModel, encoded) -> None:
    for _ in measured_ranks(model, encoded):
        pass


def token_by_token(model: LoadedModel, encoded) -> None:
    """Rank `FEW` tokens as the authors' program does, without its padding to full length.

    For each token: softmax, the top min(10,000, V), the rank by a strict comparison, and a
    membership test for each k, every one of them waited for.
    """
    ks = [k for k in PAPER_K if k <= model.V]
    seen = 0
    for one in encoded.documents:
        ids = torch.from_numpy(one.input_ids.astype(np.int64))
        logits = model.logits(ids[None])[0]
        for i in np.flatnonzero(one.scored):
            target = ids[i + 1]
            top = torch.topk(torch.softmax(logits[i], dim=-1), min(PAPER_TOP, model.V)).indices
            _ = (logits[i] > logits[i, target]).sum().item() + 1
            _ = [(top[:k] == target).any().item() for k in ks]
            seen += 1
            if seen == FEW:
                return


def seconds(work: Callable[[LoadedModel, object], None], model: LoadedModel, encoded) -> float:
    start = time.perf_counter()
    work(model, encoded)
    return time.perf_counter() - start


@pytest.mark.slow
@pytest.mark.parametrize("size", range(len(pocket.LADDERS["Pythia"])))
def test_ranking_costs_little(size, capsys):
    """>= 0.6 of the forward pass with head; >= 15 times the authors' way for the three smallest.

    The larger a model, the more of either way is its forward pass: from width 80 on that alone is
    hardly 15 times faster than the authors' loop. The README has what was measured.
    """
    torch.set_num_threads(1)
    model = load_model(pocket.model_folder("Pythia", size), device="cpu")
    encoded = encode(load_corpus("pocket:code", documents=200), model.tokenizer, max_length=256)
    works = (with_ranks, forward_with_head, forward_with_chunked_head, token_by_token)
    with_ranks(model, encoded)
    rounds = [[seconds(work, model, encoded) for work in works] for _ in range(ROUNDS)]
    plain = median(row[1] / row[0] for row in rounds)
    chunked = median(row[2] / row[0] for row in rounds)
    authors = median((row[3] / FEW) / (row[0] / encoded.tokens) for row in rounds)
    speed = encoded.tokens / median(row[0] for row in rounds)
    with capsys.disabled():
        print(
            f"\n{model.name}: {speed:,.0f} tokens/s with ranks; {plain:.2f} of forward with head"
            f" ({chunked:.2f} of forward with chunked head), {authors:.0f} times the authors' way"
        )
    assert plain >= 0.6
    if size < 3:
        assert authors >= 15
