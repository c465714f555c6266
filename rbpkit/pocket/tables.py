"""Small tables of the pocket models that need every token, for notebooks 02, 14, 17 and 18.

`make tables` measures the models and writes them to rbpkit/data/pocket/tables:

    precision.csv     ties and 16-bit arithmetic: ranks of the same tokens in five settings
    calibration.csv   the tokens of each job by their largest probability, p_max
    copying.csv       what the repetition of random tokens brings (`copying.copying_probe`)
    theories.csv      exponents of RBP_k in CE, measured and by theories (`theories_of`)
    corrections.csv   the fits of two of these theories

Each row of the first two begins with corpus, family, model, S and V.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.files.architectures import parameter_counts
from rbpkit.files.writing import as_csv, write_whole
from rbpkit.pocket import recipes
from rbpkit.records import Records, check_one_setting, iter_manifests
from rbpkit.stats.bootstrap import sampling_units
from rbpkit.stats.calibration import reliability_table

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


def precision_table(
    model_folder: str | Path, corpus: str | Path, documents: int = DOCUMENTS
) -> pd.DataFrame:
    """One model in each of SETTINGS on the same tokens: a row a (setting, k).

    model_folder: a hub-layout folder. corpus: as `corpora.load_corpus`, its first `documents`.
    Columns: setting, tokens, tied (share of targets with an another logit equal to theirs), changed
    (share whose rank by Eq. 3 is not float32's), CE (nats, computed in float32 from the logits of
    the setting), k, then RBP_k by rule. Runs on the CPU. Raises InputError as `load_model` and
    `load_corpus`, and if logits are not finite.
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


def precision_of_pocket_models() -> pd.DataFrame:
    """`precision_table` of the paper's families in pocket size on CORPORA.

    One thread, since another number of them changes last bits.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    parts = []
    for corpus in CORPORA:
        for run in (run for family in paper.FAMILIES for run in recipes.runs_of(family)):
            counts = parameter_counts(recipes.config_of(run.family, run.shape))
            table = precision_table(recipes.MODELS / run.name, corpus)
            parts.append(_of_job(table, corpus, run.family, run.name, counts.S, counts.V))
    torch.set_num_threads(threads)
    return pd.concat(parts, ignore_index=True)


# -- calibration ----------------------------------------------------------------------------------


def calibration_of(records_dir: str | Path) -> pd.DataFrame:
    """`reliability_table` of every job in a folder of records.

    Raises InputError for a folder without records, and as `records.check_one_setting`.
    """
    jobs = list(iter_manifests(records_dir))
    if not jobs:
        raise InputError(f"{records_dir}: no records here; summaries alone are not enough")
    check_one_setting(job.manifest for job in jobs)
    parts = []
    for job in jobs:
        one, table = job.manifest, reliability_table(Records.load(job.path))
        parts.append(_of_job(table, one.corpus, one.family, one.model, one.S, one.V))
    whole = pd.concat(parts, ignore_index=True)
    return whole.sort_values(["corpus", "family", "S", "model", "bin"], ignore_index=True)


def _of_job(table: pd.DataFrame, *about: object) -> pd.DataFrame:
    names = ("corpus", "family", "model", "S", "V")
    first = pd.DataFrame([about] * len(table), columns=names, index=table.index)
    return pd.concat([first, table], axis=1)


# -- theories of the exponents in cross-entropy ----------------------------------------------------

EPS_KS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
LOG_TAUS = np.array([-0.12, -0.06, 0, 0.06, 0.12, 0.2, 0.3])  # what is computed; splines between


def theories_of(family: str, corpus: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """eps_k, the slope of log(-log RBP_k) on log CE over the sizes: measured, and by theories.

    Let p be a model's prediction, and let targets be drawn from q = (1 - delta) p^(1/tau) / Z +
    delta u, u the unigrams of the training text. Then CE = E[-sum q log p], and RBP_k is the mean
    mass of q on the k largest p. The columns after `k` and `measured`:

        tempering        p and q are p^(1/T) / Z of the largest model; CE of each size gives its T
        mixture          1 - RBP_k proportional to CE: mean of (1 - RBP_k) / (-RBP_k ln RBP_k)
        self_prediction  q = p
        tau, tau_delta   by maximum likelihood for each model (`tau_and_delta`)

    These are fitted on half of the source modules; the other half gives the exponents. The second
    table has by model tau_alone, tau, delta, and of the other half the share of ranks over 1,000,
    `missed`, with the mass that p has there, `believed`. InputError if training text is missing.
    """
    from rbpkit.corpora import load_corpus
    from rbpkit.encoding import encode
    from rbpkit.models import load_model
    from rbpkit.pocket.training import token_stream

    text = load_corpus(corpus)
    unit = sampling_units(corpus, np.arange(len(text.documents)))
    modules = np.random.default_rng(0).permutation(unit.max() + 1)
    fitted = np.isin(unit, modules[: modules.size // 2])
    counts = np.bincount(token_stream("train")[: recipes.Recipe.tokens], minlength=recipes.V) + 1.0
    models = [load_model(recipes.MODELS / r.name, device="cpu") for r in recipes.runs_of(family)]
    encoded = encode(text, models[0].tokenizer, max_length=recipes.CONTEXT)
    found = [_of_tokens(model, encoded, counts / counts.sum(), fitted) for model in models]
    alone, tau, delta = zip(*(tau_and_delta(logp, u) for _, logp, u in found), strict=True)
    means = np.array([one for one, _, _ in found])
    ce, q, none = means[:, -1, 1], means[:, -1, 2:], np.zeros(len(models))
    spline = CubicSpline(LOG_TAUS, means[:, :-2], axis=1)  # at log tau: (models, 2 + K)

    def slopes(ce: np.ndarray, rbp: np.ndarray) -> np.ndarray:
        return np.polyfit(np.log(ce), np.log(-np.log(rbp)), 1)[0]

    def by_theory(taus: Sequence[float], deltas: Sequence[float]) -> np.ndarray:
        """The slopes if the targets of model i are drawn with taus[i] and deltas[i]."""
        tempered = np.array([spline(t)[i] for i, t in enumerate(np.log(taus))])
        rows = tempered + np.array(deltas)[:, None] * (means[:, -2] - tempered)
        return slopes(rows[:, 1], rows[:, 2:])

    T = [brentq(lambda t, c=c: spline(t)[-1, 0] - c, LOG_TAUS[0], LOG_TAUS[-1]) for c in ce]
    about = {"corpus": corpus, "family": family}
    exponents = {
        "k": EPS_KS,
        "measured": slopes(ce, q),
        "tempering": slopes(ce, np.array([spline(t)[-1, 2:] for t in T])),
        "mixture": ((1 - q) / (-q * np.log(q))).mean(axis=0),
        "self_prediction": by_theory(none + 1, none),
        "tau": by_theory(alone, none),
        "tau_delta": by_theory(tau, delta),
    }
    corrections = {"model": [m.name for m in models], "S": [m.S for m in models]}
    corrections |= {"tau_alone": alone, "tau": tau, "delta": delta}
    corrections |= {"missed": 1 - q[:, -1], "believed": 1 - spline(0)[:, -1]}
    return pd.DataFrame(about | exponents), pd.DataFrame(about | corrections)


def tau_and_delta(logp: np.ndarray, u: np.ndarray) -> tuple[float, float, float]:
    """Maximum likelihood of targets drawn from q: tau with delta = 0; tau and delta.

    logp: (T, n) log of p^(1/tau) / Z at each target, for LOG_TAUS. u: (T,) its unigram share.
    """
    p = np.exp(logp)

    def delta_of(p: np.ndarray) -> float:
        def slope(delta: float) -> float:
            return ((u - p) / (p + delta * (u - p))).mean()

        return brentq(slope, 0, 0.9) if slope(0) > 0 else 0.0

    deltas = np.array([delta_of(one) for one in p.T])
    fine = np.linspace(LOG_TAUS[0], LOG_TAUS[-1], 5001)
    logq = np.log(p + deltas * (u[:, None] - p))
    alone, best = (fine[CubicSpline(LOG_TAUS, x.mean(axis=0))(fine).argmax()] for x in (logp, logq))
    return np.exp(alone), np.exp(best), max(0.0, float(CubicSpline(LOG_TAUS, deltas)(best)))


def _of_tokens(model, encoded, unigrams: np.ndarray, fitted: np.ndarray) -> tuple[np.ndarray, ...]:
    """What the theories need of a model: means over the text's other half, logp and u of the fit's.

    means: (n + 2, 2 + K): entropy, CE and RBP_k if q is p at each of LOG_TAUS, the unigrams, and
    (entropy aside) as measured.
    """
    import torch

    from rbpkit.encoding import batches

    shares, taus = torch.from_numpy(unigrams).float(), np.exp(LOG_TAUS)
    logp, u, sums, tokens = [], [], 0.0, 0
    for batch in batches(encoded, 2048):
        places = torch.from_numpy(batch.rows), torch.from_numpy(batch.columns)
        z = model.logits(torch.from_numpy(batch.input_ids))[places]
        target, fit = torch.from_numpy(batch.targets)[:, None], fitted[batch.documents]
        own = z.gather(1, target)
        logp.append(torch.cat([own / t - (z / t).logsumexp(1, keepdim=True) for t in taus], 1)[fit])
        u.append(shares[target[fit, 0]])
        (z, order), own = z[~fit].sort(descending=True), own[~fit]
        log_p = z.log_softmax(1)
        rows = []
        for log_q in (*((z / t).log_softmax(1) for t in taus), shares[order].log()):
            q = log_q.exp()
            mass = (q[:, :k].sum(1) for k in EPS_KS)
            rows.append([-(q * log_q).sum(1), -(q * log_p).sum(1), *mass])
        nll, rank = z.logsumexp(1) - own[:, 0], (z >= own).sum(1)
        rows.append([nll, nll, *((rank <= k).float() for k in EPS_KS)])
        sums = sums + np.array([[float(x.sum(dtype=torch.float64)) for x in row] for row in rows])
        tokens += len(own)
    return sums / tokens, torch.cat(logp).double().numpy(), torch.cat(u).double().numpy()


def main(records_dir: str) -> None:
    """Write the tables: calibration from these records, the others from the models themselves."""
    from rbpkit.models import load_model
    from rbpkit.pocket.copying import ship_copying

    theories = [theories_of("Pythia", corpus) for corpus in CORPORA]
    exponents, corrections = (pd.concat(parts) for parts in zip(*theories, strict=True))
    tables = {
        "theories.csv": exponents,
        "corrections.csv": corrections,
        "calibration.csv": calibration_of(records_dir),
        "precision.csv": precision_of_pocket_models(),
    }
    write_whole(
        recipes.DATA / "tables", {name: as_csv(one).encode() for name, one in tables.items()}
    )
    runs = (run for family in recipes.FAMILIES for run in recipes.runs_of(family))
    folders = [recipes.MODELS / run.name for run in runs]
    ship_copying({one.name: load_model(one, device="cpu") for one in folders})


if __name__ == "__main__":
    main(sys.argv[1])
