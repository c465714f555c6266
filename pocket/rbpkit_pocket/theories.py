"""Theories of eps_k, the exponent of -log RBP_k in CE on one text (notebook 17)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq
from torch import Tensor

from rbpkit.corpora import load_corpus
from rbpkit.encoding import Batch, EncodedCorpus, batches, encode
from rbpkit.fit import Array, fit_power_law, minus_log
from rbpkit.models import LoadedModel, load_model
from rbpkit_pocket import paths
from rbpkit_pocket.families import POCKET_CONTEXT, V
from rbpkit_pocket.recipes import Recipe, runs_of
from rbpkit_pocket.training import token_stream

EPS_KS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
LOG_TAUS = np.array([-0.12, -0.06, 0, 0.06, 0.12, 0.2, 0.3])  # what is computed; splines between
_TAUS = np.exp(LOG_TAUS)
_ENTROPY, _CE, _FIRST_K = 0, 1, 2  # columns of the tables of `_OnText`


def theories_of(family: str, corpus: str) -> pd.DataFrame:
    """eps_k, the slope of log(-log RBP_k) on log CE over the sizes: measured, and by theories.

    Let p be a model's prediction, and let targets be drawn from q = (1 - delta) p^(1/tau) / Z +
    delta u, u the unigrams of the training text. Then CE = E[-sum q log p], and RBP_k is the mean
    mass of q on the k largest p. The columns after `k` and `measured`:

    - tempering: p and q are p^(1/T) / Z of the largest model; CE of each size gives its T
    - mixture: 1 - RBP_k proportional to CE: mean of (1 - RBP_k) / (-RBP_k ln RBP_k)
    - self_prediction: q = p
    - tau: by maximum likelihood for each model with delta = 0 (`tau_and_delta`)
    - tau_delta: by maximum likelihood for each model

    The last two are fitted on half of the source modules; the other half gives all exponents.
    Raises InputError if training text is missing.
    """
    text = load_corpus(corpus)
    is_fitted = _half_of(text.unit_numbers())
    unigrams = _unigrams()
    models = [load_model(paths.MODELS / run.name, device="cpu") for run in runs_of(family)]
    encoded = encode(text, models[0].tokenizer, max_length=POCKET_CONTEXT)
    on_text = [_on_text(model, encoded, unigrams, is_fitted) for model in models]

    measured = np.stack([one.measured for one in on_text])
    of_unigrams = np.stack([one.of_unigrams for one in on_text])
    tempered = CubicSpline(LOG_TAUS, np.stack([one.tempered for one in on_text]), axis=1)
    CE, rbp = measured[:, _CE], measured[:, _FIRST_K:]

    def by_theory(taus: Sequence[float], deltas: Sequence[float]) -> Array:
        """The slopes if the targets of model i are drawn with taus[i] and deltas[i]."""
        rows = []
        for i, log_tau in enumerate(np.log(taus)):
            of_model, of_unigram = tempered(log_tau)[i], of_unigrams[i]
            rows.append(of_model + deltas[i] * (of_unigram - of_model))
        drawn = np.stack(rows)
        return _slopes(drawn[:, _CE], drawn[:, _FIRST_K:])

    def entropy_above(log_T: float, CE: float) -> float:
        return tempered(log_T)[-1, _ENTROPY] - CE

    # The entropy rises with the temperature, so there is one T for each CE.
    rbp_of_largest = []
    for CE_of_size in CE:
        log_T = brentq(entropy_above, LOG_TAUS[0], LOG_TAUS[-1], args=(CE_of_size,))
        rbp_of_largest.append(tempered(log_T)[-1, _FIRST_K:])

    fits = [tau_and_delta(one.log_p, one.unigram) for one in on_text]
    ones, zeros = [1.0] * len(models), [0.0] * len(models)
    exponents = {
        "corpus": corpus,
        "family": family,
        "k": EPS_KS,
        "measured": _slopes(CE, rbp),
        "tempering": _slopes(CE, np.stack(rbp_of_largest)),
        "mixture": ((1 - rbp) / (-rbp * np.log(rbp))).mean(axis=0),
        "self_prediction": by_theory(ones, zeros),
        "tau": by_theory([fit.tau_alone for fit in fits], zeros),
        "tau_delta": by_theory([fit.tau for fit in fits], [fit.delta for fit in fits]),
    }
    return pd.DataFrame(exponents)


def _half_of(unit: np.ndarray) -> np.ndarray:
    """(D,) bool: whether a document is of the half of the units that theories are fitted on."""
    shuffled = np.random.default_rng(0).permutation(unit.max() + 1)
    return np.isin(unit, shuffled[: shuffled.size // 2])


def _unigrams() -> Array:
    """(V,) the share of each token in the training text; none is zero."""
    tokens = token_stream("train")[: Recipe.tokens]  # as many as a pocket model sees
    counts = np.bincount(tokens, minlength=V) + 1.0
    return counts / counts.sum()


def _slopes(CE: Array, rbp: Array) -> Array:
    """The slope of log(-log RBP_k) on log CE for each k: CE (models,), rbp (models, K) -> (K,)."""
    losses = minus_log(rbp)
    return np.array([fit_power_law(CE, loss).slope for loss in losses.T])


class TauAndDelta(NamedTuple):
    """tau_alone: the most likely tau with delta = 0. tau, delta: the most likely pair."""

    tau_alone: float
    tau: float
    delta: float


def tau_and_delta(logp: Array, u: Array) -> TauAndDelta:
    """Maximum likelihood of targets drawn from q: tau with delta = 0; tau and delta.

    logp: (T, n) log of p^(1/tau) / Z at each target, for LOG_TAUS. u: (T,) its unigram share.
    """
    p = np.exp(logp)
    deltas = np.array([_best_delta(p_at_tau, u) for p_at_tau in p.T])
    log_q = np.log(p + deltas * (u[:, None] - p))  # with the best delta of each tau
    log_tau_alone = _argmax(logp.mean(axis=0))
    log_tau = _argmax(log_q.mean(axis=0))
    delta = float(CubicSpline(LOG_TAUS, deltas)(log_tau))
    return TauAndDelta(np.exp(log_tau_alone), np.exp(log_tau), max(0.0, delta))


def _best_delta(p: Array, u: Array) -> float:
    """The delta that makes targets of probability p + delta (u - p), (T,), most likely."""

    def slope(delta: float) -> float:
        return ((u - p) / (p + delta * (u - p))).mean()

    # The log likelihood is concave in delta: if it falls at once, nothing above 0 is better.
    if slope(0) <= 0:
        return 0.0
    return brentq(slope, 0, 0.9)


def _argmax(values: Array) -> float:
    """The log tau at which the spline through values at LOG_TAUS is largest."""
    fine = np.linspace(LOG_TAUS[0], LOG_TAUS[-1], 5001)
    return fine[CubicSpline(LOG_TAUS, values)(fine).argmax()]


# -- a model on a text ---------------------------------------------------------------------------


class _OnText(NamedTuple):
    """What the theories need of a model on a text. n is the number of LOG_TAUS.

    Means over the documents that nothing is fitted on; columns: entropy of q, CE, RBP_k:

    - tempered: (n, 2 + K), if q is p^(1/tau) / Z
    - of_unigrams: (2 + K,), if q is the unigrams
    - measured: (2 + K,), of the targets themselves; in the place of the entropy is CE again

    Of the T targets of the other documents:

    - log_p: (T, n) log of p^(1/tau) / Z
    - unigram: (T,) their unigram shares
    """

    tempered: Array
    of_unigrams: Array
    measured: Array
    log_p: Array
    unigram: Array


def _on_text(
    model: LoadedModel, encoded: EncodedCorpus, unigrams: Array, is_fitted: np.ndarray
) -> _OnText:
    """is_fitted: (D,) bool of the documents."""
    shares = torch.from_numpy(unigrams).float()
    log_p, unigram = [], []
    sums: Array = np.zeros((len(_TAUS) + 2, _FIRST_K + len(EPS_KS)))
    tokens = 0
    for batch in batches(encoded, 2048):
        logits = scored_logits(model, batch)
        target = torch.from_numpy(batch.targets)[:, None]
        of_target = logits.gather(1, target)
        fit = torch.from_numpy(is_fitted[batch.documents])

        by_tau = []
        for tau in _TAUS:
            log_Z = (logits / tau).logsumexp(1, keepdim=True)
            by_tau.append(of_target / tau - log_Z)
        log_p.append(torch.cat(by_tau, 1)[fit])
        unigram.append(shares[target[fit, 0]])

        sums = sums + _sums_over(logits[~fit], of_target[~fit], shares)
        tokens += int((~fit).sum())
    means = sums / tokens
    return _OnText(
        tempered=means[:-2],
        of_unigrams=means[-2],
        measured=means[-1],
        log_p=torch.cat(log_p).double().numpy(),
        unigram=torch.cat(unigram).double().numpy(),
    )


def scored_logits(model: LoadedModel, batch: Batch) -> Tensor:
    """(T, V) logits at the scored tokens of a batch, by the model's own forward pass."""
    places = torch.from_numpy(batch.rows), torch.from_numpy(batch.columns)
    return model.logits(torch.from_numpy(batch.input_ids))[places]


def _sums_over(logits: Tensor, of_target: Tensor, shares: Tensor) -> Array:
    """The sums over tokens whose means are in `_OnText`: logits (T, V), of_target (T, 1)."""
    # In the order of p, the mass on the k largest is that of the first k.
    logits, order = logits.sort(descending=True)
    log_p = logits.log_softmax(1)

    def row_of(log_q: Tensor) -> list[float]:
        q = log_q.exp()
        entropy = -(q * log_q).sum(1)
        CE = -(q * log_p).sum(1)
        mass = [q[:, :k].sum(1) for k in EPS_KS]
        return _totals([entropy, CE, *mass])

    rows = [row_of((logits / tau).log_softmax(1)) for tau in _TAUS]
    rows.append(row_of(shares[order].log()))

    nll = logits.logsumexp(1) - of_target[:, 0]
    rank = (logits >= of_target).sum(1)
    hits = [(rank <= k).float() for k in EPS_KS]
    rows.append(_totals([nll, nll, *hits]))
    return np.array(rows)


def _totals(columns: Sequence[Tensor]) -> list[float]:
    return [float(column.sum(dtype=torch.float64)) for column in columns]
