"""Cross-entropy and its parts on halves of each text, for the report.

Yan et al. (2025, arXiv 2510.04067) split cross-entropy by ranks. Let p_r be the share of tokens
whose rank is r, g_r the geometric mean of the true token's probability over these tokens, and
q_r = g_r / Z with Z = sum_r g_r. Then CE is the sum of three terms, in nats:

    Error-Entropy   -sum_r p_r log p_r
    Self-Alignment   sum_r p_r log(p_r / q_r)
    Confidence      -log Z

We sum over the ranks that occur.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from rbpkit import paper
from rbpkit.corpora import load_corpus
from rbpkit.measuring import measure
from rbpkit.models import load_model
from rbpkit_pocket import paths
from rbpkit_pocket.families import POCKET_CONTEXT
from rbpkit_pocket.plugin import TEXT_CORPORA
from rbpkit_pocket.recipes import runs_of

HALVINGS = 5
"""How often each text is halved at random."""
KS = (1, 10, 100)


def parts_of_ce(rank: np.ndarray, nll: np.ndarray) -> dict[str, float]:
    """CE and its three terms, nats. rank: (T,) ints from 1. nll: (T,) nats."""
    _, index, counts = np.unique(rank, return_inverse=True, return_counts=True)
    p = counts / counts.sum()
    log_g = -np.bincount(index, weights=nll) / counts
    log_Z = np.logaddexp.reduce(log_g)
    log_q = log_g - log_Z
    return {
        "CE": float(np.mean(nll, dtype=np.float64)),
        "error_entropy": float(-p @ np.log(p)),
        "self_alignment": float(p @ (np.log(p) - log_q)),
        "confidence": float(-log_Z),
    }


def halves_of_units(units: np.ndarray) -> list[tuple[int, int, np.ndarray]]:
    """(split, half, mask of the documents), from (D,) numbers of the documents' units.

    A unit, such as a source file, lies in one half as a whole. Half 0 and half 1 of a split are
    complementary. The splits are the same for all models of a text.
    """
    random = np.random.default_rng(0)
    halves = []
    for split in range(HALVINGS):
        place = random.permutation(units.max() + 1)
        in_first = place[units] % 2 == 0
        halves += [(split, 0, in_first), (split, 1, ~in_first)]
    return halves


def halves_of_pocket_models() -> pd.DataFrame:
    """A row for each text, model of the paper's families, split and half.

    Columns: corpus, family, model, S, split, half, tokens; those of `parts_of_ce`; and loss_k =
    -log RBP_k for k in KS. Runs on the CPU in some ten minutes.
    """
    corpora = [load_corpus(f"pocket:{name}") for name in TEXT_CORPORA]
    rows = []
    for family in paper.FAMILIES:
        for run in runs_of(family):
            model = load_model(paths.MODELS / run.name, device="cpu")
            for corpus in corpora:
                measured = measure(model, corpus, max_length=POCKET_CONTEXT)
                records, summary = measured.records, measured.summary
                rank = records.rank()
                for split, half, documents in halves_of_units(summary.document_units):
                    kept = np.isin(records.document, summary.document[documents])
                    row = {
                        "corpus": corpus.id,
                        "family": family,
                        "model": run.name,
                        "S": model.S,
                        "split": split,
                        "half": half,
                        "tokens": int(kept.sum()),
                        **parts_of_ce(rank[kept], records.nll[kept]),
                    }
                    for k in KS:
                        row[f"loss_{k}"] = -np.log(np.mean(rank[kept] <= k))
                    rows.append(row)
    return pd.DataFrame(rows)
