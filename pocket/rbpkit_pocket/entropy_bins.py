"""What the predictions of a model look like at each entropy: a table of bins for one text.

Records hold the entropy h of each prediction, but not the probability of its k most likely tokens.
So this script runs the model itself. A table has a row for each half of the documents, each
temperature, and each of 36 equal bins of h on [0, ln V]:

    n, entropy, nll      scored tokens, and their sums of h and of the negative log-likelihood, nats
    hits_K               how many of them have R <= K (Eq. 3)
    mass_K               the sum of the probability of the K most likely tokens

`docs/margins.md`, three reasons for one axis, says what is predicted from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from rbpkit.corpora import Corpus
from rbpkit.encoding import EncodedCorpus
from rbpkit.models import LoadedModel
from rbpkit_pocket.reasons import BINS, KS

MAX_LENGTH = 512
"""The protocol's. Pocket models hold 256 tokens."""
ROWS = 64
"""Tokens whose logits are held at a time."""
BATCH_TOKENS = 8_192
NEWTON_STEPS = 2
PLAIN_HEAD = {"bias": None, "scale": 1.0, "softcap": None}
COLUMNS = ("n", "entropy", "nll", *(f"hits_{k}" for k in KS), *(f"mass_{k}" for k in KS))


def halves(corpus: Corpus) -> np.ndarray:
    """(D,) 0 or 1: the half of each document. Whole units are halved, in a random order, seed 0."""
    units = corpus.unit_numbers()
    order = np.random.default_rng(0).permutation(units.max() + 1)
    first_half = order[: order.size // 2]
    return np.where(np.isin(units, first_half), 0, 1)


def first_documents(corpus: EncodedCorpus, tokens: int) -> EncodedCorpus:
    """The first documents, until they have so many scored tokens."""
    ends = np.cumsum([document.tokens for document in corpus.documents])
    kept = int(np.searchsorted(ends, tokens)) + 1
    return replace(corpus, documents=corpus.documents[:kept])


class Predictions:
    """The predictions of a model at the scored tokens of a text, made again whenever needed."""

    def __init__(self, model: LoadedModel, corpus: Corpus, encoded: EncodedCorpus):
        assert model.head is not None and model.head.options == PLAIN_HEAD, model.name
        self.matrix = model.head.weight
        states, targets, documents = [], [], []
        for batch in model.batches(encoded, BATCH_TOKENS):
            states.append(model.scored_states(batch))
            targets.append(torch.from_numpy(batch.targets))
            documents.append(batch.documents)
        self.states, self.targets = torch.cat(states), torch.cat(targets)
        self.half = halves(corpus)[np.concatenate(documents)]

    def logits(self) -> Iterator[tuple[slice, Tensor]]:
        """The logits (ROWS, V) in float32, block by block."""
        for start in range(0, len(self.states), ROWS):
            rows = slice(start, start + ROWS)
            yield rows, (self.states[rows] @ self.matrix.T).float()

    def fitted_inverse_temperatures(self) -> np.ndarray:
        """(2,) beta of each half by its own CE: softmax(beta z) makes its targets most likely.

        Newton's method from beta = 1: the gradient of CE is the mean of E[z] - z_target, its
        derivative the mean of Var z, both under softmax(beta z).
        """
        beta = np.ones(2)
        for _ in range(NEWTON_STEPS):
            gradient, curvature = np.zeros(2), np.zeros(2)  # sums over tokens: their ratio counts
            for rows, logits in self.logits():
                half = self.half[rows]
                p = torch.softmax(_of_rows(beta, half) * logits, dim=1)
                mean = (p * logits).sum(1)
                variance = (p * logits**2).sum(1) - mean**2
                of_target = logits.gather(1, self.targets[rows, None])[:, 0]
                gradient += np.bincount(half, weights=(mean - of_target).double(), minlength=2)
                curvature += np.bincount(half, weights=variance.double(), minlength=2)
            beta -= gradient / curvature
        return beta

    def table(self, beta: np.ndarray) -> pd.DataFrame:
        """The rows of both halves, each at its inverse temperature."""
        sums = np.zeros((len(COLUMNS), 2 * BINS))
        for rows, logits in self.logits():
            half = self.half[rows]
            values = _of_tokens(_of_rows(beta, half) * logits, self.targets[rows])
            entropy = values[1]
            bins = np.minimum((BINS * entropy / math.log(len(self.matrix))).astype(int), BINS - 1)
            place = half * BINS + np.maximum(bins, 0)
            for total, value in zip(sums, values, strict=True):
                total += np.bincount(place, weights=value, minlength=2 * BINS)
        table = pd.DataFrame(sums.T, columns=list(COLUMNS))
        table.insert(0, "bin", np.tile(np.arange(BINS), 2))
        table.insert(0, "T", np.repeat(1 / beta, BINS))
        table.insert(0, "half", np.repeat([0, 1], BINS))
        return table[table["n"] > 0]


def _of_rows(of_half: np.ndarray, half: np.ndarray) -> Tensor:
    """(T, 1) what each half has, for each row's half."""
    return torch.from_numpy(of_half[half]).float()[:, None]


def _of_tokens(logits: Tensor, targets: Tensor) -> list[np.ndarray]:
    """The columns of each token: one, entropy, nll, then hits and mass at each k."""
    log_p = torch.log_softmax(logits, dim=1)
    p = log_p.exp()
    entropy = -(p * log_p).sum(1)
    nll = -log_p.gather(1, targets[:, None])[:, 0]
    of_target = logits.gather(1, targets[:, None])
    rank = (logits >= of_target).sum(1)  # Eq. 3: the target itself counts
    hits = [rank <= k for k in KS]
    # NumPy's partition takes a tenth of torch.topk's time.
    largest = np.partition(p.numpy(), -max(KS), axis=1)[:, -max(KS) :]
    falling = np.sort(largest, axis=1)[:, ::-1]
    mass = np.cumsum(falling, axis=1, dtype=np.float64)
    masses = [torch.from_numpy(mass[:, k - 1]) for k in KS]
    values = [torch.ones(len(p)), entropy, nll, *hits, *masses]
    return [value.double().numpy() for value in values]


def bin_table(
    model: LoadedModel, corpus: Corpus, *, tokens: int | None = None, temperature: bool = False
) -> pd.DataFrame:
    """The table of one model on one text, with columns `model` and `text`.

    tokens: take the first documents until they have so many scored tokens.
    temperature: add rows in which each half has the temperature that was fitted on the other.
    """
    encoded = model.encode(corpus, MAX_LENGTH)
    if tokens is not None:
        encoded = first_documents(encoded, tokens)
    predictions = Predictions(model, corpus, encoded)
    parts = [predictions.table(np.ones(2))]
    if temperature:
        of_other_half = predictions.fitted_inverse_temperatures()[::-1]
        parts.append(predictions.table(of_other_half.copy()))
    table = pd.concat(parts, ignore_index=True)
    table.insert(0, "text", corpus.id.removeprefix("pocket:"))
    table.insert(0, "model", model.name)
    return table
