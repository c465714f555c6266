"""Theories of eps_k, the exponent of -log RBP_k in CE on one text (notebook 17)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

from rbpkit.corpora import load_corpus
from rbpkit.encoding import batches, encode
from rbpkit.models import load_model
from rbpkit_pocket import families, paths, recipes
from rbpkit_pocket.training import token_stream

EPS_KS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
LOG_TAUS = np.array([-0.12, -0.06, 0, 0.06, 0.12, 0.2, 0.3])  # what is computed; splines between


def theories_of(family: str, corpus: str) -> pd.DataFrame:
    """eps_k, the slope of log(-log RBP_k) on log CE over the sizes: measured, and by theories.

    Let p be a model's prediction, and let targets be drawn from q = (1 - delta) p^(1/tau) / Z +
    delta u, u the unigrams of the training text. Then CE = E[-sum q log p], and RBP_k is the mean
    mass of q on the k largest p. The columns after `k` and `measured`:

        tempering        p and q are p^(1/T) / Z of the largest model; CE of each size gives its T
        mixture          1 - RBP_k proportional to CE: mean of (1 - RBP_k) / (-RBP_k ln RBP_k)
        self_prediction  q = p
        tau, tau_delta   by maximum likelihood for each model (`tau_and_delta`)

    The last two are fitted on half of the source modules; the other half gives all exponents.
    Raises InputError if training text is missing.
    """
    text = load_corpus(corpus)
    unit = text.unit_numbers()
    modules = np.random.default_rng(0).permutation(unit.max() + 1)
    fitted = np.isin(unit, modules[: modules.size // 2])
    counts = np.bincount(token_stream("train")[: recipes.Recipe.tokens], minlength=families.V) + 1.0
    models = [load_model(paths.MODELS / r.name, device="cpu") for r in recipes.runs_of(family)]
    encoded = encode(text, models[0].tokenizer, max_length=families.POCKET_CONTEXT)
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
    return pd.DataFrame(about | exponents)


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
