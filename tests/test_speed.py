"""How much ranking costs beside the forward pass: ratios within one run, interleaved."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import pytest
import torch

from rbpkit import pocket
from rbpkit.corpora import batches, encode, load_corpus
from rbpkit.measure import measured_ranks
from rbpkit.models import LoadedModel, load_model
from rbpkit.ranking import logit_chunks

PAPER_TOP = 10_000


def forward_and_head(model: LoadedModel, encoded, batch_tokens: int) -> None:
    """The same batches and the same logits, and nothing done with them."""
    for batch in batches(encoded, batch_tokens):
        ids = torch.from_numpy(batch.input_ids)
        hidden = model.hidden(ids)[torch.from_numpy(batch.rows), torch.from_numpy(batch.columns)]
        for _ in logit_chunks(hidden, model.head.weight, bias=model.head.bias):
            pass


def token_by_token(model: LoadedModel, encoded, tokens: int) -> None:
    """Rank as the authors' program does, without its padding: softmax, top 10,000, a Python loop.

    Kinder than theirs: one membership test a token, where they make one for each k.
    """
    seen = 0
    for one in encoded.documents:
        ids = torch.from_numpy(one.input_ids.astype(np.int64))
        logits = model.logits(ids[None])[0]
        for i in np.flatnonzero(one.scored):
            probabilities = torch.softmax(logits[i], dim=-1)
            top = torch.topk(probabilities, min(PAPER_TOP, model.V)).indices
            place = (top == ids[i + 1]).nonzero()
            _ = (logits[i] > logits[i, ids[i + 1]]).sum().item() + 1, place.numel()
            seen += 1
            if seen == tokens:
                return


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 2, 5])
def test_ranking_costs_little(size, capsys):
    """>= 0.6 of forward with head, >= 15 times the authors' way (medians of five pairs)."""
    folder = pocket.model_folder("Pythia", size)
    if not folder.is_dir():
        pytest.skip(f"{folder.name} is not shipped")
    model = load_model(folder, device="cpu")
    corpus = load_corpus("pocket:code", documents=None)
    encoded = encode(corpus, model.tokenizer, max_length=256)

    def ranks() -> None:
        for _ in measured_ranks(model, encoded):
            pass

    ranks()
    pairs = []
    for _ in range(5):
        with_ranks = seconds(ranks)
        pairs.append((seconds(lambda: forward_and_head(model, encoded, 8192)), with_ranks))
    ratio = median(head / ranked for head, ranked in pairs)
    ranked = encoded.tokens / median(ranked for _, ranked in pairs)
    few = 1500
    naive = median(few / seconds(lambda: token_by_token(model, encoded, few)) for _ in range(3))
    with capsys.disabled():
        print(
            f"\n{model.name}: with ranks {ranked:,.0f} tokens/s, {ratio:.2f} of forward with head, "
            f"{ranked / naive:.0f} times the authors' way ({naive:,.0f} tokens/s)"
        )
    assert ratio >= 0.6
    assert ranked / naive >= 15
