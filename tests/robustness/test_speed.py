"""How much ranking costs beside the forward pass: ratios within one run, interleaved.

One thread: the ratios then hold on a machine with other work too. The asserted numbers are about
a third of what was measured, to catch a real loss of speed and not a busy machine; what was
measured is in the README.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from rbpkit.corpora import load_corpus
from rbpkit.encoding import EncodedCorpus, EncodedDocument, batches, encode
from rbpkit.measuring import BATCH_TOKENS, measured_ranks
from rbpkit.models import LoadedModel, load_model
from rbpkit.paper import FAMILIES
from rbpkit.pocket import ladders
from rbpkit.ranking import logit_chunks
from rbpkit.summary import PAPER_K

PAPER_TOP = 10_000
AUTHORS_BATCH = 4  # documents, their default
FULL = ladders.CONTEXT  # the authors pad each document to max_length: 512, here the context
FEW = 8  # documents for the slow way, spread over the corpus
ROUNDS = 5
ALL = [(family, size) for family in FAMILIES for size in range(len(ladders.LADDERS[family]))]
SMALLEST = [(family, 0) for family in FAMILIES]


def forward_with_head(model: LoadedModel, encoded: EncodedCorpus) -> int:
    """The model's own forward pass on the same batches: all logits, and nothing done with them."""
    for batch in batches(encoded, BATCH_TOKENS):
        model.logits(torch.from_numpy(batch.input_ids))
    return encoded.tokens


def forward_with_chunked_head(model: LoadedModel, encoded: EncodedCorpus) -> int:
    """A harder mark: only scored positions, logits by chunks that stay in cache."""
    for batch in batches(encoded, BATCH_TOKENS):
        ids = torch.from_numpy(batch.input_ids)
        hidden = model.hidden(ids)[torch.from_numpy(batch.rows), torch.from_numpy(batch.columns)]
        for _ in logit_chunks(hidden, model.head.weight, bias=model.head.bias):
            pass
    return encoded.tokens


def with_ranks(model: LoadedModel, encoded: EncodedCorpus) -> int:
    return sum(batch.tokens for batch, _ in measured_ranks(model, encoded))


def authors_way(model: LoadedModel, encoded: EncodedCorpus) -> int:
    """Rank a few documents as the authors' program does -> how many tokens were ranked.

    Documents are padded to full length, four to a batch. Softmax, the top k of the largest k, the
    rank by a strict comparison and the loss are taken at all positions. For each k there follow
    the mass of the top k and a membership test, and then one scored token after the other, each
    number waited for: place, rank, position, loss, mass, probability, mass again, membership
    twice. (Their k over V, which they count as V, are left out here: less work for them.)
    """
    ks = [k for k in PAPER_K if k <= model.V]
    tokens = 0
    few = encoded.documents[:: max(1, len(encoded.documents) // FEW)][:FEW]
    for start in range(0, len(few), AUTHORS_BATCH):
        ids, scored = padded(few[start : start + AUTHORS_BATCH])
        labels = ids[:, 1:]
        logits = model.logits(ids[:, :-1])
        p = torch.softmax(logits, dim=-1)
        top = torch.topk(p, min(PAPER_TOP, model.V), dim=-1)
        rank = (logits > logits.gather(-1, labels[..., None])).sum(-1) + 1
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        loss = loss.view(labels.shape)
        positions = torch.arange(1, FULL).expand_as(labels)
        for k in ks:
            mass = top.values[..., :k].sum(-1)
            inside = (labels[..., None] == top.indices[..., :k]).any(-1)
            for i in range(len(ids)):
                for place in scored[i].nonzero().squeeze(-1):
                    j = place.item()
                    _ = rank[i, j].item(), positions[i, j].item(), loss[i, j].item()
                    _ = mass[i, j].item(), p[i, j, labels[i, j]].item()
                    _ = top.values[i, j, :k].sum().item(), inside[i, j].item(), inside[i, j].item()
        tokens += int(scored.sum())
    return tokens


def token_by_token(model: LoadedModel, encoded: EncodedCorpus) -> int:
    """The least of it: no mass, no loss; for each scored token its rank and a test for each k.

    One document at a time, padded; softmax and the top at all positions.
    """
    ks = [k for k in PAPER_K if k <= model.V]
    tokens = 0
    for one in encoded.documents[:: max(1, len(encoded.documents) // FEW)][:FEW]:
        ids, scored = (array[0] for array in padded((one,)))
        logits = model.logits(ids[None])[0]
        top = torch.topk(torch.softmax(logits, dim=-1), min(PAPER_TOP, model.V), dim=-1).indices
        for i in scored.nonzero().squeeze(-1).tolist():
            target = ids[i + 1]
            _ = (logits[i] > logits[i, target]).sum().item() + 1
            _ = [(top[i, :k] == target).any().item() for k in ks]
        tokens += one.tokens
    return tokens


def padded(documents: tuple[EncodedDocument, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids (B, FULL) and the scored places (B, FULL - 1) of documents padded to full length."""
    ids = torch.zeros((len(documents), FULL), dtype=torch.int64)
    scored = torch.zeros((len(documents), FULL - 1), dtype=torch.bool)
    for row, one in enumerate(documents):
        ids[row, : len(one.input_ids)] = torch.from_numpy(one.input_ids)
        scored[row, : len(one.scored)] = torch.from_numpy(one.scored)
    return ids, scored


def rate(work: Callable[[LoadedModel, EncodedCorpus], int], model, encoded) -> float:
    """Scored tokens a second."""
    start = time.perf_counter()
    tokens = work(model, encoded)
    return tokens / (time.perf_counter() - start)


@contextmanager
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def costs(model: LoadedModel, documents: int = 60, rounds: int = ROUNDS) -> dict[str, float]:
    """tokens/s with ranks, and how many times that of each other way: medians of ratios."""
    encoded = encode(
        load_corpus("pocket:code", documents=documents), model.tokenizer, max_length=FULL
    )
    works = (with_ranks, forward_with_head, forward_with_chunked_head, token_by_token, authors_way)
    with one_thread():
        with_ranks(model, encoded)
        table = [[rate(work, model, encoded) for work in works] for _ in range(rounds)]
    found = {
        name: median(row[0] / row[i] for row in table)
        for i, name in enumerate(("head", "chunked", "least", "authors"), 1)
    }
    return {"tokens/s": median(row[0] for row in table)} | found


def full_length(model: LoadedModel, corpus: str, tokens: int) -> EncodedCorpus:
    """The first `tokens` of a corpus, its documents end to end, cut into full-length ones."""
    text = load_corpus(corpus, documents=200)
    ids = np.concatenate(
        [one.input_ids for one in encode(text, model.tokenizer, max_length=FULL).documents]
    )
    scored = np.ones(FULL - 1, dtype=bool)
    documents = tuple(
        EncodedDocument(i, ids[i * FULL : (i + 1) * FULL], scored)
        for i in range(min(tokens, len(ids)) // FULL)
    )
    return EncodedCorpus(text.id, text.fingerprint, FULL, documents, 0, len(documents) * (FULL - 1))


def short_and_long(model: LoadedModel, documents: int = 300) -> tuple[float, float]:
    """How long the short documents are (mean, tokens), and full-length tokens/s over theirs."""
    short = encode(load_corpus("pocket:qa", documents=documents), model.tokenizer, max_length=FULL)
    long = full_length(model, "pocket:prose", sum(len(one.input_ids) for one in short.documents))
    with one_thread():
        with_ranks(model, short)
        pairs = [[rate(with_ranks, model, one) for one in (short, long)] for _ in range(ROUNDS)]
    return short.tokens / len(short.documents) + 1, median(pair[1] / pair[0] for pair in pairs)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "size"), ALL)
def test_ranking_costs_little(family, size, capsys):
    model = load_model(ladders.model_folder(family, size), device="cpu")
    found = costs(model)
    with capsys.disabled():
        print(
            f"\n{model.name}: {found['tokens/s']:,.0f} tokens/s with ranks; {found['head']:.2f} of"
            f" forward with head ({found['chunked']:.2f} of forward with chunked head),"
            f" {found['authors']:.0f} times the authors' way ({found['least']:.0f} the least of it)"
        )
    assert found["head"] >= 0.3
    # The larger a model, the more of either way is its forward pass.
    assert found["least"] >= (10 if size == 0 else 2)
    assert found["authors"] >= (20 if size == 0 else 4)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "size"), SMALLEST)
def test_short_documents_cost_little_more(family, size, capsys):
    model = load_model(ladders.model_folder(family, size), device="cpu")
    length, ratio = short_and_long(model)
    with capsys.disabled():
        print(f"\n{model.name}: documents of {length:.0f} tokens, full-length ones {ratio:.2f}x")
    assert ratio <= 3
