"""What moves cross-entropy and leaves the ranks: is the axis of notebook 17 more than arithmetic?

CE and RBP_k are two functionals of one distribution, so some relation between them is certain. This
module changes the predictions of finished models in ways that no training does: temperatures
(ranks stay, CE moves), a mixture with the unigram distribution, a cap on the largest probability.
It also takes each model at its word: CE and RBP_1 that its own predictions expect.
`python -m rbpkit_pocket.findings.calibration` writes `paths.CALIBRATION`, in some minutes.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from rbpkit.corpora import load_corpus
from rbpkit.encoding import batches, encode
from rbpkit.files.writing import as_csv, write_whole
from rbpkit.models import load_model
from rbpkit_pocket import paths
from rbpkit_pocket.families import POCKET_FAMILIES
from rbpkit_pocket.recipes import runs_of
from rbpkit_pocket.tables import scored_logits

CORPORA = ("pocket:prose", "pocket:code")
DOCUMENTS = 60
KS = (1, 10, 100)
TEMPERATURES = (0.5, 0.7, 1.0, 1.4, 2.0)
UNIGRAM_SHARES = (0.1, 0.3)
CAPS = (0.5,)
BATCH_TOKENS = 2048


def changed_log_p(logits: Tensor, unigram: Tensor) -> dict[tuple[str, float], Tensor]:
    """(change, value) -> log probabilities (T, V), from logits (T, V) and unigram (V,)."""
    changed = {}
    for temperature in TEMPERATURES:
        changed["temperature", temperature] = (logits / temperature).log_softmax(-1)
    p = logits.softmax(-1)
    for share in UNIGRAM_SHARES:
        changed["unigram", share] = ((1 - share) * p + share * unigram).log()
    for cap in CAPS:
        largest = p.amax(-1, keepdim=True)
        capped = largest.clamp(max=cap)
        # What the largest loses goes to all others, in proportion.
        others = p * (1 - capped) / (1 - largest).clamp(min=1e-12)
        changed["cap", cap] = torch.where(p == largest, capped, others).log()
    return changed


def calibration_of(name: str, family: str, corpus: str) -> pd.DataFrame:
    """A row for each change of a pocket model's predictions on a corpus.

    Columns: corpus, family, model, S, tokens, change, value, CE (nats), RBP_1, RBP_10, RBP_100,
    and what the predictions expect of themselves: expected_CE (mean entropy, nats) and expected_1
    (mean of the largest probability). A calibrated model gets what it expects.
    """
    model = load_model(paths.MODELS / name, device="cpu")
    text = load_corpus(corpus, documents=DOCUMENTS)
    encoded = encode(text, model.tokenizer, max_length=256)
    all_batches = list(batches(encoded, BATCH_TOKENS))
    # Add one to each count, so that no token has the probability 0.
    targets = np.concatenate([batch.targets for batch in all_batches])
    counts = torch.from_numpy(np.bincount(targets, minlength=model.V) + 1.0)
    unigram = (counts / counts.sum()).float()

    sums: dict[tuple[str, float], np.ndarray] = {}
    for batch in all_batches:
        logits = scored_logits(model, batch)
        target = torch.from_numpy(batch.targets).unsqueeze(1)
        for key, log_p in changed_log_p(logits, unigram).items():
            log_p_target = log_p.gather(1, target)
            rank = (log_p >= log_p_target).sum(1)
            p = log_p.exp()
            found = [-log_p_target.sum(), -(p * log_p).sum(), p.amax(1).sum()]
            found += [(rank <= k).sum() for k in KS]
            sums[key] = sums.get(key, 0) + np.array([float(one) for one in found])
    rows = []
    for (change, value), total in sums.items():
        mean = total / encoded.tokens
        row = {"corpus": corpus, "family": family, "model": name, "S": model.S}
        row |= {"tokens": encoded.tokens, "change": change, "value": value, "CE": mean[0]}
        row |= {"expected_CE": mean[1], "expected_1": mean[2]}
        row |= {f"RBP_{k}": share for k, share in zip(KS, mean[3:], strict=True)}
        rows.append(row)
    return pd.DataFrame(rows)


if __name__ == "__main__":
    parts = []
    for family in POCKET_FAMILIES:
        for run in runs_of(family):
            for corpus in CORPORA:
                parts.append(calibration_of(run.name, family, corpus))
    table = as_csv(pd.concat(parts))
    write_whole(paths.TABLES, {paths.CALIBRATION.name: table.encode()})
