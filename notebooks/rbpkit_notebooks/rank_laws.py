"""The lognormal over ranks of Section 5.2: its likelihood, and the sums of Appendix C.

mu and sigma are those of ln R (natural logarithm) before ranks are rounded. The package `powerlaw`
fits discrete data in this way, without an upper end:
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
from numpy.typing import ArrayLike
from scipy.optimize import minimize, root
from scipy.special import entr, log_ndtr, logsumexp
from scipy.stats import norm

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import Array
from rbpkit.summary import Summary

MIN_DISTINCT = 3  # two parameters: with fewer distinct ranks the likelihood need not have a maximum
FLAT = np.log(100)  # of log sigma: beyond it, a power law as far as any data can tell
SUMMED = 2**12  # ranks that `rank_sums` adds one by one
_LOG_SQRT_2PI = np.log(2 * np.pi) / 2


# -- the likelihood ------------------------------------------------------------------------------


def _log_mass(lo: Array, hi: Array, b: float, log_sigma: float) -> Array:
    """log Pr(lo <= R < hi) of the lognormal up to a constant; b = -mu / sigma^2."""
    sigma = np.exp(min(log_sigma, 2 * FLAT))
    z_lo = np.log(lo - 0.5) / sigma + b * sigma
    z_hi = np.log(hi - 0.5) / sigma + b * sigma
    # log(Phi(z_hi) - Phi(z_lo)), from the tail that is the smaller so that no digits are lost.
    above = z_lo > 0
    near = np.where(above, -z_lo, z_hi)
    far = np.where(above, -z_hi, z_lo)
    log_near = log_ndtr(near)
    return log_near + np.log(-np.expm1(log_ndtr(far) - log_near))


class LognormalFit(NamedTuple):
    """mu and sigma of ln R, and the score: mean log probability of a rank >= k_min, nats."""

    mu: float
    sigma: float
    score: float


def fit_lognormal(
    ranks: ArrayLike, counts: ArrayLike, *, upto: ArrayLike | None = None, k_min: int = 1
) -> LognormalFit:
    """The lognormal from k_min on that makes the counts of the ranks >= k_min most likely.

    - ranks, counts: (n,) rising ranks and how often each was seen (or its share).
    - upto: (n,) if ranks are known by bins only, as in Figure 8c, where each bin ends:
      ranks <= R < upto.
    - k_min: 2 leaves out rank 1, as that figure does.

    Raises InputError for fewer than three distinct ranks, and if a power law is likelier than every
    lognormal (sigma goes to infinity).
    """
    lo, counts = np.asarray(ranks), np.asarray(counts)
    hi = lo + 1 if upto is None else np.asarray(upto)
    kept = lo >= k_min
    lo, hi, counts = lo[kept], hi[kept], counts[kept]
    if lo.size < MIN_DISTINCT:
        raise InputError(
            f"cannot fit a lognormal to {lo.size} distinct rank(s) >= {k_min};"
            f" score more tokens, for at least {MIN_DISTINCT}"
        )
    # The model's probability is computed on every interval between edges, bins and gaps alike.
    edges = np.unique(np.concatenate(([k_min], lo, hi, [np.inf])))
    bins = np.searchsorted(edges, lo)
    share = counts / counts.sum()

    def loss(parameters: Array) -> float:
        b, log_sigma = parameters
        with np.errstate(all="ignore"):  # a trial far off is nan or inf, and is not taken
            log_mass = _log_mass(edges[:-1], edges[1:], b, log_sigma)
            probability = np.exp(log_mass - logsumexp(log_mass))
            value = -share @ np.log(probability[bins])
        return value if np.isfinite(value) else 1e9

    # A simplex finds the neighbourhood from anywhere; a gradient then finds the digits.
    rough = {"xatol": 1e-2, "fatol": 1e-5}
    near = minimize(loss, (0.1, 1.2), method="Nelder-Mead", options=rough)
    last = minimize(loss, near.x, method="BFGS", jac="3-point", options={"gtol": 1e-9})
    best = min(near, last, key=lambda result: result.fun)
    b, log_sigma = best.x
    if log_sigma > FLAT:
        raise InputError("no lognormal is the most likely: the nearest is a power law")
    sigma = float(np.exp(log_sigma))
    mu = float(-b * sigma**2)
    return LognormalFit(mu, sigma, score=-float(best.fun))


def lognormal_log_p(mu: float, sigma: float, V: int, k_min: int = 1) -> Array:
    """(V - k_min + 1,) log probabilities of the ranks k_min..V, by a lognormal that ends at V."""
    k = np.arange(k_min, V + 1.0)
    log_mass = _log_mass(k, k + 1, -mu / sigma**2, np.log(sigma))
    return log_mass - logsumexp(log_mass)


# -- Appendix C ----------------------------------------------------------------------------------


class TwoLaws(NamedTuple):
    """What a lognormal gives for the two laws; arrays of one shape, nats.

    - log_c: logarithm of the normaliser.
    - neg_log_p1: for -log RBP_1 (Eq. 16).
    - fraction: the rest of CE, which Eq. 26 calls negligible.
    - CE: the entropy of the rank, neg_log_p1 + fraction.
    """

    log_c: Array
    neg_log_p1: Array
    fraction: Array
    CE: Array


def closed_form(mu: ArrayLike, sigma: ArrayLike) -> TwoLaws:
    """The two laws by Appendix C's closed form (Eqs. 16, 20, 21, 26); mu and sigma broadcast."""
    mu, sigma = np.asarray(mu, float), np.asarray(sigma, float)
    ratio = mu / sigma
    exponent = mu**2 / (2 * sigma**2)
    log_Phi, log_phi = norm.logcdf(ratio), norm.logpdf(ratio)
    half_of_first = log_phi - np.log(2 * sigma)
    log_c = np.logaddexp(log_Phi, half_of_first)  # Eq. 20: c = Phi + psi(1) / 2
    neg_log_p1 = log_c + np.log(np.sqrt(2 * np.pi) * sigma) + exponent  # Eq. 16
    # Eq. 26, in two terms: with Phi / c and with phi / c.
    Phi_over_c, phi_over_c = np.exp(log_Phi - log_c), np.exp(log_phi - log_c)
    fraction = Phi_over_c * (0.5 - exponent + mu)
    fraction += phi_over_c * (sigma - mu / (2 * sigma))
    return TwoLaws(log_c, neg_log_p1, fraction, neg_log_p1 + fraction)


def rank_sums(mu: ArrayLike, sigma: ArrayLike) -> TwoLaws:
    """The two laws by the sums over all ranks k >= 1; mu and sigma broadcast to (n,).

    The first SUMMED terms are added one by one. The rest is the integral, which is a normal
    distribution's, with two corrections of Euler and Maclaurin's formula: half of its first term
    and a twelfth of its slope. Relative error below 1e-9.

    Raises InputError for a sigma below 0.3: an integral cannot replace so narrow a peak.
    """
    mu, sigma = np.broadcast_arrays(
        np.atleast_1d(np.asarray(mu, float)), np.atleast_1d(np.asarray(sigma, float))
    )
    if not (np.isfinite(mu).all() and (sigma >= 0.3).all() and np.isfinite(sigma).all()):
        raise InputError("rank_sums: mu must be finite and sigma finite and at least 0.3")
    sums, last_term, shift = _first_terms(mu, sigma)  # sums of psi (ln k)^j / psi(1), j = 0, 1, 2

    # The integrals of psi (ln x)^j from K = SUMMED on, by t = (ln x - mu) / sigma.
    exponent, log_sigma = mu**2 / (2 * sigma**2), np.log(sigma)
    log_K = np.log(SUMMED)
    t = (log_K - mu) / sigma
    log_upper = log_ndtr(-t) + exponent + log_sigma + _LOG_SQRT_2PI - shift
    upper = np.exp(log_upper)
    edge = sigma**2 * last_term * SUMMED
    sums[:, 0] += upper
    sums[:, 1] += mu * upper + edge
    sums[:, 2] += (mu**2 + sigma**2) * upper + (mu + log_K) * edge
    for j in range(3):
        # Half of the last term is in the integral already; slope: of the logarithm, times K.
        slope = j / log_K - 1 - t / sigma
        sums[:, j] -= last_term * log_K**j * (0.5 + slope / (12 * SUMMED))

    total, sum_of_logs, sum_of_squares = sums.T
    neg_log_p1 = np.log(total) + shift
    mean_of_logs, mean_of_squares = sum_of_logs / total, sum_of_squares / total
    fraction = (1 - mu / sigma**2) * mean_of_logs + mean_of_squares / (2 * sigma**2)
    log_c = neg_log_p1 - log_sigma - _LOG_SQRT_2PI - exponent
    return TwoLaws(log_c, neg_log_p1, fraction, neg_log_p1 + fraction)


def _first_terms(mu: Array, sigma: Array) -> tuple[Array, Array, Array]:
    """(n, 3) sums over k <= SUMMED of psi(k) (ln k)^j / psi(1), (n,) its last term, (n,) shift.

    All of it is divided by exp(shift), so that nothing overflows.
    """
    log_k = np.log(np.arange(1.0, SUMMED + 1))
    powers = np.stack([log_k**0, log_k, log_k**2], axis=1)
    # psi(k) / psi(1) = k^(-1 + mu / sigma^2) exp(-(ln k)^2 / 2 sigma^2); its largest logarithm is
    shift = np.maximum(0.0, mu - sigma**2) ** 2 / (2 * sigma**2)
    sums, last_term = np.empty((mu.size, 3)), np.empty(mu.size)
    for i in range(mu.size):  # not at once: n x SUMMED terms may not fit in memory
        m, s = mu[i], sigma[i]
        terms = np.exp((m / s**2 - 1) * log_k - (log_k / s) ** 2 / 2 - shift[i])
        sums[i] = terms @ powers
        last_term[i] = terms[-1]
    return sums, last_term, shift


def invert(CE: ArrayLike, neg_log_p1: ArrayLike) -> tuple[Array, Array]:
    """(mu, sigma), (n,) each, at which the closed form gives CE (nats) and -log p_1, (n,) each.

    At fixed -log p_1, CE rises with sigma, so there is one solution or none; then InputError.
    """
    pairs = zip(np.asarray(CE, float), np.asarray(neg_log_p1, float), strict=True)
    solutions = np.array([_invert_one(*pair) for pair in pairs])
    mu, sigma = solutions.T
    return mu, sigma


def _invert_one(CE: float, neg_log_p1: float) -> tuple[float, float]:
    """`invert` of one pair of numbers; the search is over mu / sigma and log sigma."""

    def off(parameters: Array) -> tuple[float, float]:
        ratio, sigma = parameters[0], np.exp(parameters[1])
        laws = closed_form(ratio * sigma, sigma)
        return float(laws.CE) - CE, float(laws.neg_log_p1) - neg_log_p1

    solution = root(off, (0.0, 1.4), options={"xtol": 1e-13})
    if not np.allclose(solution.fun, 0, atol=1e-9):
        raise InputError(f"no lognormal has CE = {CE:g} and -log p_1 = {neg_log_p1:g}")
    ratio, sigma = solution.x[0], np.exp(solution.x[1])
    return ratio * sigma, sigma


# -- tables that several notebooks use -----------------------------------------------------------


def published_laws() -> pd.DataFrame:
    """Figures 8a and 8b, ten Pythias on Wiki by rising S, one row each.

    - model, S
    - CE (nats), neg_log_rbp1: as measured by the paper (8a)
    - simulated_CE, simulated_neg_log_rbp1: of 8b
    - mu, sigma, ratio (mu / sigma): 8b inverted by Appendix C
    """
    table = paper.table("ce_and_rbp1")
    prefix = table["kind"].map({"empirical": "", "simulated": "simulated_"})
    table["column"] = prefix + table["series"]
    wide = table.pivot(index=["S", "model"], columns="column", values="value").reset_index()
    wide.columns.name = None
    mu, sigma = invert(wide["simulated_CE"], wide["simulated_neg_log_rbp1"])
    order = ["model", "S", "CE", "neg_log_rbp1", "simulated_CE", "simulated_neg_log_rbp1"]
    return wide[order].assign(mu=mu, sigma=sigma, ratio=mu / sigma)


def counted_ranks() -> pd.DataFrame:
    """The ranks of Figure 8c with rank 1, as counted; a row for each of its four Pythias, nats.

    - S; CE, neg_log_rbp1: as measured by the paper (8a)
    - entropy: of the ranks, -sum p_k log p_k over all k. The ranks of one bar get equal shares
    """
    laws = published_laws().set_index("model")[["S", "CE", "neg_log_rbp1"]]
    entropies = {}
    for model, bars in paper.table("rank_density").groupby("model"):
        rbp_1 = np.exp(-laws["neg_log_rbp1"][model])
        width = bars["bin_hi"] - bars["bin_lo"]
        share = (1 - rbp_1) * bars["mass"]  # the bars are shares of the ranks from 2 on
        entropies[model] = entr(rbp_1) - share @ np.log(share / width)
    return laws.join(pd.Series(entropies, name="entropy"), how="inner").sort_values("S")


def like_a_lognormal(points: pd.DataFrame) -> pd.DataFrame:
    """The same models with the `loss` of a lognormal: RBP_k = Phi(a + b ln(k + 1/2)).

    points: corpus, model, k and rbp; a and b are fitted to those of each model, by least squares.
    """
    points = points.assign(x=np.log(points["k"] + 0.5), y=norm.ppf(points["rbp"]))
    parts = []
    for _, part in points.groupby(["corpus", "model"], sort=False):
        b, a = np.polyfit(part["x"], part["y"], 1)
        parts.append(part.assign(loss=-norm.logcdf(a + b * part["x"])))
    return pd.concat(parts)


def off_parabola(CE: pd.Series, neg_log_rbp1: pd.Series) -> float:
    """How far the logarithm of -log RBP_1 is, at most, from a parabola in log CE."""
    x, y = np.log(CE), np.log(neg_log_rbp1)
    parabola = np.polynomial.Polynomial.fit(x, y, 2)
    return float(np.abs(y - parabola(x)).max())


def lognormals(measured: Iterable[Summary], k_min: int = 2) -> tuple[pd.DataFrame, list[str]]:
    """A lognormal for the ranks of each model, and a line for each model that has none.

    - corpus, family, model, S
    - CE, neg_log_rbp1, entropy (of the ranks): as measured, nats
    - simulated_CE, simulated_neg_log_rbp1: by the closed form from mu and sigma, as in Figure 8b
    - mu, sigma, ratio (mu / sigma)
    - fitted_entropy, fitted_neg_log_p1: by the fit itself over the ranks 1..V
    """
    rows, refused = [], []
    for summary in measured:
        try:
            rows.append(_lognormal_row(summary, k_min))
        except InputError as error:
            about = summary.manifest
            refused.append(f"{about.model} on {about.corpus}, k_min = {k_min}: {error}")
    return pd.DataFrame(rows), refused


def _lognormal_row(summary: Summary, k_min: int) -> dict[str, object]:
    about, ranks = summary.manifest, summary.ranks
    fit = fit_lognormal(ranks.values, ranks.counts, k_min=k_min)
    laws = closed_form(fit.mu, fit.sigma)
    log_p = lognormal_log_p(fit.mu, fit.sigma, about.V)
    with np.errstate(divide="ignore"):  # inf if no token is first
        neg_log_rbp1 = -np.log(summary.rbp(1))
    return {
        "corpus": about.corpus,
        "family": about.family,
        "model": about.model,
        "S": about.S,
        "CE": summary.ce(),
        "neg_log_rbp1": neg_log_rbp1,
        "simulated_CE": float(laws.CE),
        "simulated_neg_log_rbp1": float(laws.neg_log_p1),
        "mu": fit.mu,
        "sigma": fit.sigma,
        "ratio": fit.mu / fit.sigma,
        "entropy": entr(ranks.counts / ranks.total).sum(),
        "fitted_entropy": -(np.exp(log_p) @ log_p),
        "fitted_neg_log_p1": -log_p[0],
    }
