"""Small tables of the pocket models that need every token, for notebooks 02, 14, 17 and 18.

`make tables` makes them again in rbpkit/rbpkit_pocket/data/tables, in about 45 minutes on one core:

    precision.csv     ties and 16-bit arithmetic: ranks of the same tokens in five settings; another
                      processor rounds 16-bit numbers otherwise and gives RBP_k within 5e-4
    copying.csv       what the repetition of random tokens brings (`copying`)
    theories.csv      exponents of RBP_k in CE, measured and by theories (`theories`)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import torch

from rbpkit import paper
from rbpkit.corpora import load_corpus
from rbpkit.encoding import batches, encode
from rbpkit.files.architectures import parameter_counts
from rbpkit.files.writing import as_csv, write_whole
from rbpkit.measuring import BATCH_TOKENS, MAX_LENGTH, measured_ranks
from rbpkit.models import load_model
from rbpkit.ranking import logit_ranks
from rbpkit_pocket import families, paths, recipes
from rbpkit_pocket.copying import ship_copying
from rbpkit_pocket.theories import theories_of

KS = (1, 10, 100)
DOCUMENTS = 100
CORPORA = ("pocket:code", "pocket:prose")
SETTINGS = {
    "float32": ("float32", False),
    "bfloat16 body": ("bfloat16", False),
    "float16 body": ("float16", False),
    "bfloat16 logits": ("bfloat16", True),
    "float16 logits": ("float16", True),
}
"""Setting -> the dtype of weights and hidden states, and whether logits are rounded to it too.

"body": logits are float32, as rbpkit makes them from a 16-bit model. "logits": logits as the
model's own forward pass gives them in that dtype, as many programs rank them.
"""


# -- ties and 16 bits ----------------------------------------------------------------------------


def rbp_by_rule(n_greater: np.ndarray, n_equal: np.ndarray, k: int) -> dict[str, float]:
    """RBP_k under three rules for ties, from (T,) counts of larger and of equal logits.

    n_equal leaves the target out. "pessimistic": Eq. 3, ties count before the target.
    "optimistic": behind it. "mean": the expectation over a random order of the tied, the target
    among them: of its n_equal + 1 possible ranks, all equally likely, the share that is at most k.
    """
    greater, equal = (np.asarray(counts, dtype=np.int64) for counts in (n_greater, n_equal))
    return {
        "pessimistic": float((greater + equal + 1 <= k).mean()),
        "mean": float((np.clip(k - greater, 0, equal + 1) / (equal + 1)).mean()),
        "optimistic": float((greater + 1 <= k).mean()),
    }


def precision_table(model_folder: str | Path, corpus: str | Path) -> pd.DataFrame:
    """One model in each of SETTINGS on the same tokens: a row a (setting, k).

    model_folder: a hub-layout folder. corpus: as `corpora.load_corpus`, its first DOCUMENTS.
    Columns: setting, tokens, tied (share of targets with another logit equal to theirs), changed
    (share whose rank by Eq. 3 is not float32's), CE (nats, computed in float32 from the logits of
    the setting), k, then RBP_k by rule. Runs on the CPU. Raises InputError as `load_model` and
    `load_corpus`, and if logits are not finite.
    """
    text = load_corpus(corpus, documents=DOCUMENTS)
    loaded = {
        dtype: load_model(model_folder, dtype=dtype, device="cpu")
        for dtype in dict.fromkeys(dtype for dtype, _ in SETTINGS.values())
    }
    first = loaded["float32"]
    encoded = encode(text, first.tokenizer, max_length=min(first.context or MAX_LENGTH, MAX_LENGTH))
    rows, reference = [], None
    for setting, (dtype, rounded) in SETTINGS.items():
        greater, equal, nll = _counted(loaded[dtype], encoded, rounded)
        rank = greater + equal + 1
        reference = rank if reference is None else reference
        about = {
            "setting": setting,
            "tokens": rank.size,
            "tied": float((equal > 0).mean()),
            "changed": float((rank != reference).mean()),
            "CE": float(nll.mean(dtype=np.float64)),
        }
        rows += [about | {"k": k} | rbp_by_rule(greater, equal, k) for k in KS]
    return pd.DataFrame(rows)


def _counted(model, encoded, rounded: bool) -> tuple[np.ndarray, ...]:
    """n_greater, n_equal, nll of every scored token, (T,) each, in the order of the batches."""

    def own() -> object:
        for batch in batches(encoded, BATCH_TOKENS):
            places = torch.from_numpy(batch.rows), torch.from_numpy(batch.columns)
            logits = model.logits(torch.from_numpy(batch.input_ids))[places]
            yield batch, logit_ranks(logits, torch.from_numpy(batch.targets))

    found = [ranks for _, ranks in (own() if rounded else measured_ranks(model, encoded))]
    names = ("n_greater", "n_equal", "nll")
    return tuple(torch.cat([getattr(one, name) for one in found]).numpy() for name in names)


def precision_of_pocket_models() -> pd.DataFrame:
    """`precision_table` of the paper's families in pocket size on CORPORA.

    One thread, since another number of them changes last bits.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    parts = []
    for corpus in CORPORA:
        for run in (run for family in paper.FAMILIES for run in recipes.runs_of(family)):
            counts = parameter_counts(families.config_of(run.family, run.shape))
            table = precision_table(paths.MODELS / run.name, corpus)
            about = {"corpus": corpus, "family": run.family, "model": run.name}
            about |= {"S": counts.S, "V": counts.V}
            parts.append(pd.DataFrame(about, index=table.index).join(table))
    torch.set_num_threads(threads)
    return pd.concat(parts, ignore_index=True)


if __name__ == "__main__":
    tables = {
        "precision.csv": precision_of_pocket_models(),
        "theories.csv": pd.concat(
            [theories_of(family, corpus) for family in paper.FAMILIES for corpus in CORPORA]
        ),
    }
    write_whole(paths.TABLES, {name: as_csv(one).encode() for name, one in tables.items()})
    runs = (run for family in families.POCKET_FAMILIES for run in recipes.runs_of(family))
    ship_copying({run.name: load_model(paths.MODELS / run.name, device="cpu") for run in runs})
