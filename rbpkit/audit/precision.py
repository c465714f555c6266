"""Ties and 16-bit arithmetic: what they do to ranks, RBP_k and CE of the same tokens.

Eq. 3 counts entries as likely as the target before it (pessimistic); counting entries with a
larger logit only puts them behind (optimistic); a top-k list orders them by chance (mean). In
float32 almost no entry ties with the target. In bfloat16, whose significand has 8 bits, many do.
`precision_table` runs a model in five settings; torch is imported where a model is run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import fit_rbp_law
from rbpkit.summary import check_k

KS = (1, 10, 100)
RULES = ("pessimistic", "mean", "optimistic")
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


def rbp_by_rule(n_greater: np.ndarray, n_equal: np.ndarray, k: int) -> dict[str, float]:
    """RBP_k under each of RULES, from (T,) counts of larger and of equal logits (target left out).

    "mean" is the expectation over a random order of the tied, the target among them: of its
    n_equal + 1 possible ranks, all equally likely, the share that is at most k.
    InputError for k < 1, no token, or counts of different length.
    """
    check_k(k)
    greater, equal = (np.asarray(counts, dtype=np.int64) for counts in (n_greater, n_equal))
    if greater.ndim != 1 or greater.shape != equal.shape or not greater.size:
        raise InputError("n_greater and n_equal must be flat, of one length, and not empty")
    inside = np.clip(k - greater, 0, equal + 1) / (equal + 1)
    return {
        "pessimistic": float((greater + equal + 1 <= k).mean()),
        "mean": float(inside.mean()),
        "optimistic": float((greater + 1 <= k).mean()),
    }


def precision_table(
    model_folder: str | Path, corpus: str | Path, documents: int = DOCUMENTS
) -> pd.DataFrame:
    """One model in each of SETTINGS on the same tokens: a row a (setting, k).

    model_folder: a hub-layout folder. corpus: as `corpora.load_corpus`, its first `documents`.
    Columns: setting, tokens, tied (share of targets with an equal logit beside them), changed
    (share whose rank by Eq. 3 is not float32's), CE (nats, computed in float32 from the logits of
    the setting), k, then RBP_k by rule: pessimistic, mean, optimistic. Runs on the CPU. Raises
    InputError as `load_model` and `load_corpus`, and where logits are not finite.
    """
    from rbpkit.corpora import load_corpus
    from rbpkit.encoding import encode
    from rbpkit.measuring import MAX_LENGTH
    from rbpkit.models import load_model

    text = load_corpus(corpus, documents=documents)
    loaded = {
        dtype: load_model(model_folder, dtype=dtype, device="cpu")
        for dtype in dict.fromkeys(dtype for dtype, _ in SETTINGS.values())
    }
    first = next(iter(loaded.values()))
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
    import torch

    from rbpkit.encoding import batches
    from rbpkit.measuring import BATCH_TOKENS, measured_ranks
    from rbpkit.ranking import logit_ranks

    def own() -> object:
        for batch in batches(encoded, BATCH_TOKENS):
            places = torch.from_numpy(batch.rows), torch.from_numpy(batch.columns)
            logits = model.logits(torch.from_numpy(batch.input_ids))[places]
            yield batch, logit_ranks(logits, torch.from_numpy(batch.targets))

    found = [ranks for _, ranks in (own() if rounded else measured_ranks(model, encoded))]
    names = ("n_greater", "n_equal", "nll")
    return tuple(torch.cat([getattr(one, name) for one in found]).numpy() for name in names)


def of_pocket_models(
    table: Callable[[Path, str], pd.DataFrame], corpora: Sequence[str]
) -> pd.DataFrame:
    """`table(model folder, corpus)` of the paper's families in pocket size, one below the other.

    Columns: corpus, family, model, S, V, then the table's own. One thread, since another number of
    them changes last bits. Floats in six digits.
    """
    import torch

    from rbpkit.files.architectures import parameter_counts
    from rbpkit.pocket import recipes
    from rbpkit.pocket.recipes import config_of

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        parts = []
        for corpus in corpora:
            for run in (run for family in paper.FAMILIES for run in recipes.runs_of(family)):
                counts = parameter_counts(config_of(run.family, run.shape))
                part = table(recipes.MODELS / run.name, corpus)
                about = (corpus, run.family, run.name, counts.S, counts.V)
                for place, name in enumerate(("corpus", "family", "model", "S", "V")):
                    part.insert(place, name, about[place])
                parts.append(part)
    finally:
        torch.set_num_threads(threads)
    whole = pd.concat(parts, ignore_index=True)
    floats = whole.select_dtypes("float").columns
    whole[floats] = whole[floats].map(lambda value: float(f"{value:.6g}"))
    return whole


MODEL_TABLES = {"precision": lambda: of_pocket_models(precision_table, CORPORA)}
"""Tables of the audit that need models: name -> function without arguments."""


def by_setting(table: pd.DataFrame) -> pd.DataFrame:
    """A row a setting, over all models and corpora of the table `precision`.

    Columns: setting, models (jobs: a model on a corpus), tied_least, tied_most (share of targets),
    changed_most (share of ranks), CE (largest |change| against float32, relative), rule (largest
    RBP_k optimistic - pessimistic), at (where: model, corpus, k; "" where it is 0), typical (median
    of that difference over models at the smallest k), mean (largest |RBP_k by the mean rule -
    float32's|). Raises InputError where float32 is not among the settings.
    """
    job = ["corpus", "model", "k"]
    reference = table[table["setting"] == "float32"].set_index(job)
    if reference.empty:
        raise InputError("the table has no setting float32 to compare with")
    rows = []
    for setting in (name for name in SETTINGS if (table["setting"] == name).any()):
        here = table[table["setting"] == setting].set_index(job)
        base = reference.loc[here.index]
        rule = here["optimistic"] - here["pessimistic"]
        corpus, model, k = rule.idxmax()
        rows.append(
            {
                "setting": setting,
                "models": len(here) // here.index.get_level_values("k").nunique(),
                "tied_least": here["tied"].min(),
                "tied_most": here["tied"].max(),
                "changed_most": here["changed"].max(),
                "CE": (here["CE"] / base["CE"] - 1).abs().max(),
                "rule": rule.max(),
                "at": f"{model}, {corpus}, k = {k}" if rule.max() > 0 else "",
                "typical": rule.xs(table["k"].min(), level="k").median(),
                "mean": (here["mean"] - base["mean"]).abs().max(),
            }
        )
    return pd.DataFrame(rows)


def fitted(table: pd.DataFrame) -> pd.DataFrame:
    """alpha of every (corpus, family, k, setting, rule), and how far from float32's by Eq. 3.

    Columns: those five, alpha, R2, shift (alpha / alpha of float32, pessimistic, - 1; the same
    tokens and models).
    """
    rows = []
    keys = ["corpus", "family", "k", "setting"]
    for key, group in table.groupby(keys, sort=False):
        group = group.sort_values("S")
        for rule in RULES:
            line = fit_rbp_law(group["S"], group[rule], labels=tuple(group["model"]))
            rows.append((*key, rule, line.alpha, line.r2))
    fits = pd.DataFrame(rows, columns=[*keys, "rule", "alpha", "R2"])
    base = fits[(fits["setting"] == "float32") & (fits["rule"] == "pessimistic")]
    base = base.set_index(keys[:3])["alpha"]
    at = pd.MultiIndex.from_frame(fits[keys[:3]])
    return fits.assign(shift=fits["alpha"].to_numpy() / base.reindex(at).to_numpy() - 1)
