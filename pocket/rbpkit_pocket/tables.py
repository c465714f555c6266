"""Small tables of the pocket models that need every token, for notebooks 02 and 14.

`make tables` makes them again in `paths.TABLES`:

- precision.csv: ties and 16-bit arithmetic, ranks of the same tokens in five settings; another
  processor rounds 16-bit numbers otherwise and gives RBP_k within 5e-4
- copying.csv: what the repetition of random tokens brings (`copying`)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from rbpkit import paper
from rbpkit.corpora import load_corpus
from rbpkit.encoding import Batch, EncodedCorpus, batches, encode
from rbpkit.files.architectures import parameter_counts
from rbpkit.files.writing import as_csv, write_whole
from rbpkit.measuring import BATCH_TOKENS, MAX_LENGTH, measured_ranks
from rbpkit.models import LoadedModel, load_model
from rbpkit.ranker import columns_of
from rbpkit.ranking import logit_ranks
from rbpkit_pocket import paths
from rbpkit_pocket.copying import ship_copying
from rbpkit_pocket.families import POCKET_FAMILIES, config_of
from rbpkit_pocket.recipes import Run, runs_of

TABLE_KS = (1, 10, 100)
TABLE_CORPORA = ("pocket:code", "pocket:prose")
PRECISIONS = {
    "float32": ("float32", False),
    "bfloat16 body": ("bfloat16", False),
    "float16 body": ("float16", False),
    "bfloat16 logits": ("bfloat16", True),
    "float16 logits": ("float16", True),
}
"""Setting -> the dtype of weights and hidden states, and whether logits are rounded to it too.

- "body": logits are float32, as rbpkit makes them from a 16-bit model.
- "logits": logits as the model's own forward pass gives them in that dtype, as many programs rank
  them.
"""
_DOCUMENTS = 100


# -- ties and 16 bits ----------------------------------------------------------------------------


def rbp_by_rule(n_greater: np.ndarray, n_equal: np.ndarray, k: int) -> dict[str, float]:
    """RBP_k under three rules for ties, from (T,) counts of larger and of equal logits.

    n_equal leaves the target out.

    - pessimistic: Eq. 3, ties count before the target.
    - optimistic: behind it.
    - mean: the expectation over a random order of the tied, the target among them. Of its
      n_equal + 1 possible ranks, all equally likely, it is the share that is at most k.
    """
    greater, equal = np.asarray(n_greater, dtype=np.int64), np.asarray(n_equal, dtype=np.int64)
    possible_ranks = equal + 1
    possible_hits = np.clip(k - greater, 0, possible_ranks)
    return {
        "pessimistic": float((greater + equal + 1 <= k).mean()),
        "mean": float((possible_hits / possible_ranks).mean()),
        "optimistic": float((greater + 1 <= k).mean()),
    }


def precision_table(model_folder: str | Path, corpus: str | Path) -> pd.DataFrame:
    """One model in each of PRECISIONS on the same tokens: a row for each setting and k.

    model_folder: a hub-layout folder. corpus: as `corpora.load_corpus`, its first 100 documents.
    Columns:

    - setting
    - tokens: T
    - tied: share of targets with another logit equal to theirs
    - changed: share whose rank by Eq. 3 is not float32's
    - CE: nats, computed in float32 from the logits of the setting
    - k, pessimistic, mean, optimistic: RBP_k by rule

    Runs on the CPU. Raises InputError as `load_model` and `load_corpus`, and if logits are not
    finite.
    """
    text = load_corpus(corpus, documents=_DOCUMENTS)
    models: dict[str, LoadedModel] = {}  # by dtype: two settings share each of the 16-bit ones
    for dtype, _ in PRECISIONS.values():
        if dtype not in models:
            models[dtype] = load_model(model_folder, dtype=dtype, device="cpu")
    whole = models["float32"]
    max_length = min(whole.context or MAX_LENGTH, MAX_LENGTH)
    encoded = encode(text, whole.tokenizer, max_length=max_length)
    counted = {}
    for setting, (dtype, rounded) in PRECISIONS.items():
        counted[setting] = _counted(models[dtype], encoded, rounded)
    exact_rank, _, _ = counted["float32"]
    rows = []
    for setting, (rank, equal, nll) in counted.items():
        about = {
            "setting": setting,
            "tokens": rank.size,
            "tied": float((equal > 0).mean()),
            "changed": float((rank != exact_rank).mean()),
            "CE": float(nll.mean(dtype=np.float64)),
        }
        greater = rank - equal - 1
        for k in TABLE_KS:
            rows.append({**about, "k": k, **rbp_by_rule(greater, equal, k)})
    return pd.DataFrame(rows)


def _counted(
    model: LoadedModel, encoded: EncodedCorpus, rounded: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rank (Eq. 3), n_equal and nll of every scored token, (T,) each, in the order of the batches.

    rounded: by the logits of the model's own forward pass.
    """
    ranked = _own_ranks(model, encoded) if rounded else measured_ranks(model, encoded)
    rank, equal, nll = [], [], []
    for _, ranks in ranked:
        rank.append(ranks["n_greater"] + ranks["n_equal"] + 1)
        equal.append(ranks["n_equal"])
        nll.append(ranks["nll"])
    return np.concatenate(rank), np.concatenate(equal), np.concatenate(nll)


def _own_ranks(
    model: LoadedModel, encoded: EncodedCorpus
) -> Iterator[tuple[Batch, dict[str, np.ndarray]]]:
    for batch in batches(encoded, BATCH_TOKENS):
        logits = scored_logits(model, batch)
        yield batch, columns_of(logit_ranks(logits, torch.from_numpy(batch.targets)))


def scored_logits(model: LoadedModel, batch: Batch) -> Tensor:
    """(T, V) logits at the scored tokens of a batch, by the model's own forward pass."""
    places = torch.from_numpy(batch.rows), torch.from_numpy(batch.columns)
    return model.logits(torch.from_numpy(batch.input_ids))[places]


def precision_of_pocket_models() -> pd.DataFrame:
    """`precision_table` of the paper's families in pocket size on TABLE_CORPORA.

    One thread, since another number of them changes last bits.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums in one order on every machine
    parts = []
    for corpus in TABLE_CORPORA:
        for family in paper.FAMILIES:
            for run in runs_of(family):
                parts.append(_precision_of(run, corpus))
    torch.set_num_threads(threads)
    return pd.concat(parts, ignore_index=True)


def _precision_of(run: Run, corpus: str) -> pd.DataFrame:
    counts = parameter_counts(config_of(run.family, run.shape))
    table = precision_table(paths.MODELS / run.name, corpus)
    about = {
        "corpus": corpus,
        "family": run.family,
        "model": run.name,
        "S": counts.S,
        "V": counts.V,
    }
    return pd.DataFrame(about, index=table.index).join(table)


def _all_models() -> dict[str, LoadedModel]:
    models = {}
    for family in POCKET_FAMILIES:
        for run in runs_of(family):
            models[run.name] = load_model(paths.MODELS / run.name, device="cpu")
    return models


if __name__ == "__main__":
    precision = as_csv(precision_of_pocket_models())
    write_whole(paths.TABLES, {"precision.csv": precision.encode()})
    ship_copying(_all_models())
