"""The lognormal over ranks of Section 5.2: its likelihood, and the sums of Appendix C.

mu and sigma are those of ln R (natural logarithm) before ranks are rounded. The package `powerlaw`
fits discrete data so, without an upper end:
p_k = Phi(z(k + 1/2)) - Phi(z(k - 1/2)), z(x) = (ln x - mu) / sigma.

Appendix C takes -log p_1 for -log RBP_1 and the entropy -sum p_k log p_k for CE. `rank_sums` has
them by the sums over all k >= 1; `closed_form` as the paper has them, each sum replaced by the
integral from 1 plus half of the term at 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize, root
from scipy.special import entr, log_ndtr, logsumexp
from scipy.stats import norm

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.summary import Summary

MIN_DISTINCT = 3  # two parameters: with fewer distinct ranks the likelihood need not have a maximum
FLAT = np.log(100)  # of log sigma: beyond it, a power law as far as any data can tell
SUMMED = 2**12  # ranks that `rank_sums` adds one by one
_LOG_SQRT_2PI = np.log(2 * np.pi) / 2

Array = NDArray[np.float64]


def _log_mass(lo: Array, hi: Array, b: float, log_sigma: float) -> Array:
    """log Pr(lo <= R < hi) of the lognormal up to a constant; b = -mu / sigma^2."""
    sigma = np.exp(min(log_sigma, 2 * FLAT))
    low, high = (np.log(edge - 0.5) / sigma + b * sigma for edge in (lo, hi))
    # log(Phi(high) - Phi(low)) from the tail that is the smaller: no digits lost
    low, high = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
    upper = log_ndtr(high)
    return upper + np.log(-np.expm1(log_ndtr(low) - upper))


class LognormalFit(NamedTuple):
    """mu and sigma of ln R, and the score: mean log probability of a rank >= k_min, nats."""

    mu: float
    sigma: float
    score: float


def fit_lognormal(
    ranks: ArrayLike, counts: ArrayLike, *, upto: ArrayLike | None = None, k_min: int = 1
) -> LognormalFit:
    """The lognormal from k_min on that makes the counts of the ranks >= k_min most likely.

    ranks, counts: (n,) rising ranks and how often each was seen (or its share). upto: if ranks are
    known by bins only, as in Figure 8c, where each ends: ranks <= R < upto. k_min = 2 leaves out
    rank 1, as that figure does. Raises InputError for bins that are not such, counts that are not
    positive, fewer than three distinct ranks, and if a power law is likelier than every lognormal
    (sigma goes to infinity).
    """
    lo, counts = np.asarray(ranks), np.asarray(counts)
    hi = lo + 1 if upto is None else np.asarray(upto)
    if not (lo.ndim == 1 and lo.shape == hi.shape == counts.shape):
        raise InputError("a histogram of ranks needs as many counts as bins, in one dimension")
    lo, hi, counts = (array[lo >= k_min] for array in (lo, hi, counts))
    if lo.size < MIN_DISTINCT:
        few = f"cannot fit a lognormal to {lo.size} distinct rank(s) >= {k_min}"
        raise InputError(f"{few}; score more tokens, for at least {MIN_DISTINCT}")
    if not ((hi > lo).all() and (lo[1:] >= hi[:-1]).all() and (counts > 0).all()):
        raise InputError("bins must rise without overlap, each with a positive count")
    edges = np.unique(np.concatenate(([k_min], lo, hi, [np.inf])))
    bins, share = np.searchsorted(edges, lo), counts / counts.sum()

    def loss(t: Array) -> float:
        with np.errstate(all="ignore"):  # a trial far off is nan or inf, and is not taken
            log_p = _log_mass(edges[:-1], edges[1:], *t)
            value = -share @ np.log(np.exp(log_p - logsumexp(log_p))[bins])
        return value if np.isfinite(value) else 1e9

    rough = {"xatol": 1e-2, "fatol": 1e-5}
    near = minimize(loss, (0.1, 1.2), method="Nelder-Mead", options=rough)
    last = minimize(loss, near.x, method="BFGS", jac="3-point", options={"gtol": 1e-9})
    best = min(near, last, key=lambda one: one.fun)
    b, log_sigma = best.x
    if log_sigma > FLAT:
        raise InputError("no lognormal is the most likely: the nearest is a power law")
    sigma = float(np.exp(log_sigma))
    return LognormalFit(float(-b * sigma**2), sigma, -float(best.fun))


def lognormal_log_p(mu: float, sigma: float, V: int, k_min: int = 1) -> Array:
    """(V - k_min + 1,) log probabilities of the ranks k_min..V, by a lognormal that ends at V."""
    k = np.arange(k_min, V + 1.0)
    log_p = _log_mass(k, k + 1, -mu / sigma**2, np.log(sigma))
    return log_p - logsumexp(log_p)


# -- Appendix C ----------------------------------------------------------------------------------


class TwoLaws(NamedTuple):
    """What a lognormal gives for the two laws; arrays of one shape, nats.

    log_c: logarithm of the normaliser. neg_log_p1: for -log RBP_1 (Eq. 16). fraction: the rest of
    CE, which Eq. 26 calls negligible. CE: the entropy of the rank, neg_log_p1 + fraction.
    """

    log_c: Array
    neg_log_p1: Array
    fraction: Array
    CE: Array


def closed_form(mu: ArrayLike, sigma: ArrayLike) -> TwoLaws:
    """The two laws by Appendix C's closed form (Eqs. 16, 20, 21, 26); mu and sigma broadcast."""
    mu, sigma = np.asarray(mu, float), np.asarray(sigma, float)
    log_P, log_phi = norm.logcdf(mu / sigma), norm.logpdf(mu / sigma)
    log_c = np.logaddexp(log_P, log_phi - np.log(2 * sigma))  # Eq. 20: c = P + psi(1) / 2
    neg_log_p1 = log_c + np.log(np.sqrt(2 * np.pi) * sigma) + mu**2 / (2 * sigma**2)  # Eq. 16
    fraction = np.exp(log_P - log_c) * (0.5 - mu**2 / (2 * sigma**2) + mu)  # Eq. 26
    fraction += np.exp(log_phi - log_c) * (sigma - mu / (2 * sigma))
    return TwoLaws(log_c, neg_log_p1, fraction, neg_log_p1 + fraction)


def rank_sums(mu: ArrayLike, sigma: ArrayLike) -> TwoLaws:
    """The two laws by the sums over all ranks k >= 1; mu and sigma broadcast to (n,).

    The first SUMMED terms one by one. For the rest the integral, which is a normal distribution's,
    and of Euler and Maclaurin's formula half of its first term and a twelfth of its slope. Relative
    error below 1e-9. InputError for a sigma below 0.3: an integral cannot replace so narrow a
    peak.
    """
    mu, sigma = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, float)) for v in (mu, sigma)))
    if not (np.isfinite(mu).all() and (sigma >= 0.3).all() and np.isfinite(sigma).all()):
        raise InputError("rank_sums: mu must be finite and sigma finite and at least 0.3")
    x = np.log(np.arange(1.0, SUMMED + 1))
    powers = np.stack([x**0, x, x**2], axis=1)
    # By rows, not all at once: psi(k) / psi(1) = k^(-1 + mu / sigma^2) exp(-(ln k)^2 / 2 sigma^2).
    shift = np.maximum(0.0, mu - sigma**2) ** 2 / (2 * sigma**2)  # its largest logarithm
    rows = [
        np.exp((m / s**2 - 1) * x - (x / s) ** 2 / 2 - h)
        for m, s, h in zip(mu, sigma, shift, strict=True)
    ]
    sums = np.array([row @ powers for row in rows])  # sum psi (ln k)^j / psi(1)
    # Integrals of psi (ln x)^j from K on, by t = (ln x - mu) / sigma, and the correction.
    L, at_K = x[-1], np.array([row[-1] for row in rows])
    t = (L - mu) / sigma
    upper = np.exp(log_ndtr(-t) + mu**2 / (2 * sigma**2) + np.log(sigma) + _LOG_SQRT_2PI - shift)
    edge = sigma**2 * at_K * SUMMED
    sums[:, 0] += upper
    sums[:, 1] += mu * upper + edge
    sums[:, 2] += (mu**2 + sigma**2) * upper + (mu + L) * edge
    for j in range(3):  # half of the last term is in the integral already
        slope = j / L - 1 - t / sigma
        sums[:, j] -= at_K * L**j * (0.5 + slope / (12 * SUMMED))
    neg_log_p1 = np.log(sums[:, 0]) + shift
    mean, square = sums[:, 1] / sums[:, 0], sums[:, 2] / sums[:, 0]  # E[ln R], E[(ln R)^2]
    fraction = (1 - mu / sigma**2) * mean + square / (2 * sigma**2)
    log_c = neg_log_p1 - np.log(sigma) - _LOG_SQRT_2PI - mu**2 / (2 * sigma**2)
    return TwoLaws(log_c, neg_log_p1, fraction, neg_log_p1 + fraction)


def invert(CE: ArrayLike, neg_log_p1: ArrayLike) -> tuple[Array, Array]:
    """(mu, sigma), (n,) each, at which the closed form gives CE (nats) and -log p_1, (n,) each.

    At fixed -log p_1, CE rises with sigma, so there is one solution or none; then InputError.
    """
    found = []
    for aim in zip(np.asarray(CE, float), np.asarray(neg_log_p1, float), strict=True):

        def off(t: Array, aim=aim) -> tuple[float, float]:
            laws = closed_form(t[0] * np.exp(t[1]), np.exp(t[1]))
            return laws.CE - aim[0], laws.neg_log_p1 - aim[1]

        best = root(off, (0.0, 1.4), options={"xtol": 1e-13})
        if not np.allclose(best.fun, 0, atol=1e-9):
            raise InputError(f"no lognormal has CE = {aim[0]:g} and -log p_1 = {aim[1]:g}")
        sigma = np.exp(best.x[1])
        found.append((best.x[0] * sigma, sigma))
    mu, sigma = np.array(found).T
    return mu, sigma


# -- tables that several notebooks use -----------------------------------------------------------


def published_laws() -> pd.DataFrame:
    """Figures 8a and 8b, ten Pythias on Wiki by rising S, one row each.

    Columns: model, S, CE (nats) and neg_log_rbp1 as measured by the paper, simulated_CE and
    simulated_neg_log_rbp1 of 8b, and mu, sigma, ratio (mu / sigma): 8b inverted by Appendix C.
    """
    table = paper.ce_and_rbp1()
    names = {"empirical": "", "simulated": "simulated_"}
    table["column"] = table["kind"].map(names) + table["series"]
    wide = table.pivot(index=["S", "model"], columns="column", values="value").reset_index()
    wide.columns.name = None
    mu, sigma = invert(wide["simulated_CE"], wide["simulated_neg_log_rbp1"])
    order = ["model", "S", "CE", "neg_log_rbp1", "simulated_CE", "simulated_neg_log_rbp1"]
    return wide[order].assign(mu=mu, sigma=sigma, ratio=mu / sigma)


def lognormals(measured: Iterable[Summary], k_min: int = 2) -> tuple[pd.DataFrame, list[str]]:
    """A lognormal for the ranks of each model, and a line for each model that has none.

    Columns: corpus, family, model, S; as measured CE, neg_log_rbp1 and entropy (of the ranks),
    nats; mu, sigma, ratio (mu / sigma); as Figure 8b has it, by the closed form from mu and sigma,
    simulated_CE and simulated_neg_log_rbp1; over 1..V by the fit itself, fitted_entropy and
    fitted_neg_log_p1.
    """
    rows, refused = [], []
    for one in measured:
        about, ranks = one.manifest, one.ranks
        try:
            fit = fit_lognormal(ranks.values, ranks.counts, k_min=k_min)
        except InputError as error:
            refused.append(f"{about.model} on {about.corpus}, k_min = {k_min}: {error}")
            continue
        log_p, laws = lognormal_log_p(fit.mu, fit.sigma, about.V), closed_form(*fit[:2])
        row = {"corpus": about.corpus, "family": about.family, "model": about.model}
        row |= {"S": about.S, "CE": one.ce()}
        with np.errstate(divide="ignore"):  # inf if no token is first
            row |= {"neg_log_rbp1": -np.log(one.rbp(1))}
        row |= {"simulated_CE": float(laws.CE), "simulated_neg_log_rbp1": float(laws.neg_log_p1)}
        row |= {"mu": fit.mu, "sigma": fit.sigma, "ratio": fit.mu / fit.sigma}
        row |= {"entropy": entr(ranks.counts / ranks.total).sum()}
        row |= {"fitted_entropy": -(np.exp(log_p) @ log_p), "fitted_neg_log_p1": -log_p[0]}
        rows.append(row)
    return pd.DataFrame(rows), refused
