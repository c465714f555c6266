"""Calibration: do targets fall as often as a model predicts?

A model is calibrated by confidence if, of the tokens with p_max near p, a share p has rank 1
(`reliability_table`). If it is calibrated as a whole, RBP_k is the mean mass of its k largest
probabilities at every k, and CE the mean entropy (`predicted_table`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from rbpkit.audit.precision import DOCUMENTS, of_pocket_models
from rbpkit.records import Records
from rbpkit.stats.bootstrap import DRAWS, interval, resample_weights, sampling_units

BINS = 10  # of equal width on [0, 1], as in Guo et al. (2017, arXiv 1706.04599)
LEAST = 50  # tokens of a bin that gets an interval
KS = (1, 10, 100)
PREDICTED_CORPORA = ("pocket:prose", "pocket:code", "pocket:humaneval")  # as params/pocket.yaml
DTYPES = ("float32", "bfloat16", "float16")  # of weights and hidden states; logits are float32


def reliability_table(records: Records, draws: int = DRAWS) -> pd.DataFrame:
    """The tokens of a job by their p_max: a row for each bin that has any; none from format 1.

    Columns: bin (0 to BINS - 1), tokens, p_max (their mean), hits (those of rank 1, Eq. 3), low,
    high (95% of hits / tokens; bootstrap of the text, over the draws that have tokens in the bin;
    NaN below LEAST tokens, and for text of one unit).
    """
    columns = ["bin", "tokens", "p_max", "hits", "low", "high"]
    if records.p_max is None:
        return pd.DataFrame(columns=columns)
    p = np.minimum(records.p_max.astype(np.float64), 1.0)
    place = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    documents, document = np.unique(records.document, return_inverse=True)
    tokens = np.zeros((documents.size, BINS), dtype=np.int64)
    hits = np.zeros_like(tokens)
    np.add.at(tokens, (document, place), 1)
    np.add.at(hits, (document, place), records.rank() == 1)
    units = sampling_units(records.manifest.corpus, documents)
    weights = resample_weights(units, draws) if units.max() else None
    rows = []
    for b in np.flatnonzero(tokens.sum(axis=0)):
        count, right = int(tokens[:, b].sum()), int(hits[:, b].sum())
        low, high = np.nan, np.nan
        if count >= LEAST and weights is not None:
            drawn = weights @ tokens[:, b]
            low, high = interval((weights @ hits[:, b])[drawn > 0] / drawn[drawn > 0])
        rows.append((b, count, p[place == b].mean(), right, low, high))
    return pd.DataFrame(rows, columns=columns)


def expected_calibration_error(table: pd.DataFrame) -> float:
    """sum over bins of tokens / T * |hits / tokens - p_max|, of one job's `reliability_table`."""
    gap = (table["hits"] / table["tokens"] - table["p_max"]).abs()
    return float((gap * table["tokens"]).sum() / table["tokens"].sum())


def predicted_table(
    model_folder: str | Path, corpus: str | Path, documents: int = DOCUMENTS, draws: int = DRAWS
) -> pd.DataFrame:
    """What a model predicts of its own ranks beside what happens: a row a (dtype, quantity).

    model_folder, corpus, documents: as `precision.precision_table`. Columns: dtype (of DTYPES),
    quantity ("CE", "RBP_1", ...), tokens, measured, predicted, gap = measured - predicted, low,
    high (95% of the gap; bootstrap of the text). With p_(1) >= p_(2) >= ... the probabilities of
    one prediction, RBP_k is predicted as the mean of p_(1) + ... + p_(k), and CE as that of
    -sum_v p(v) log p(v), nats. Runs on the CPU. Raises InputError as `load_model`, `load_corpus`.
    """
    from rbpkit.corpora import load_corpus
    from rbpkit.encoding import encode
    from rbpkit.measuring import MAX_LENGTH
    from rbpkit.models import load_model

    text = load_corpus(corpus, documents=documents)
    parts = []
    for dtype in DTYPES:
        model = load_model(model_folder, dtype=dtype, device="cpu")
        length = min(model.context or MAX_LENGTH, MAX_LENGTH)
        each = _both(model, encode(text, model.tokenizer, max_length=length))
        sums = each.groupby("document").sum()
        weights = resample_weights(sampling_units(text.id, sums.index.to_numpy()), draws)
        counts = each.groupby("document").size().to_numpy()
        for quantity in ("CE", *(f"RBP_{k}" for k in KS)):
            both = sums[[quantity, f"predicted {quantity}"]].to_numpy()
            measured, predicted = both.sum(axis=0) / counts.sum()
            low, high = interval(weights @ (both[:, 0] - both[:, 1]) / (weights @ counts))
            values = (measured, predicted, measured - predicted, low, high)
            parts.append((dtype, quantity, counts.sum(), *values))
    names = ["dtype", "quantity", "tokens", "measured", "predicted", "gap", "low", "high"]
    return pd.DataFrame(parts, columns=names)


def _both(model, encoded) -> pd.DataFrame:
    """A row a scored token: document, and each quantity as measured and as predicted."""
    import torch

    from rbpkit.encoding import batches
    from rbpkit.measuring import BATCH_TOKENS, states_of
    from rbpkit.ranking import logit_chunks

    parts = []
    for batch in batches(encoded, BATCH_TOKENS):
        states, places = states_of(model, batch)
        weight, options = model.head.weight, model.head.options
        targets = torch.from_numpy(batch.targets)
        for start, logits in logit_chunks(states[places], weight, **options):
            here = slice(start, start + len(logits))
            parts.append(predictions(logits, targets[here]).assign(document=batch.documents[here]))
    return pd.concat(parts, ignore_index=True)


def predictions(logits, targets) -> pd.DataFrame:
    """(T, V) logits, (T,) targets -> a row a token: CE, RBP_k and each "predicted ...".

    RBP_k is 1 where the rank (Eq. 3) is at most k; its prediction is the mass of the k largest
    probabilities. k in KS, at most V.
    """
    from rbpkit.ranking import logit_ranks

    found = logit_ranks(logits, targets, entropy=True)
    rank = found.rank().numpy()
    most = min(max(KS), logits.shape[1])
    p = logits.softmax(dim=1).numpy()
    # Partly sorted first: torch's topk takes three times as long.
    largest = np.sort(np.partition(p, -most, axis=1)[:, -most:], axis=1)[:, ::-1]
    mass = largest.cumsum(axis=1, dtype=np.float64).clip(max=1)
    columns = {"CE": found.nll, "predicted CE": found.entropy}
    columns = {name: column.double().numpy() for name, column in columns.items()}
    for k in KS:
        columns[f"RBP_{k}"] = (rank <= k).astype(np.float64)
        columns[f"predicted RBP_{k}"] = mass[:, min(k, most) - 1]
    return pd.DataFrame(columns)


def _predicted() -> pd.DataFrame:
    return of_pocket_models(predicted_table, PREDICTED_CORPORA)


TABLES = {"calibration": reliability_table}
MODEL_TABLES = {"predicted": _predicted}
