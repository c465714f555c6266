"""The lognormal over ranks (Section 5.2, Figure 8c): maximum likelihood from a rank histogram.

Two forms of it are in use, and one (mu, sigma) means different things in each:

    "discrete"  p_k = psi(k) / c, psi the lognormal density, c its sum over k_min..V: the paper's
                text. An exponential family in (ln k, ln^2 k), so the likelihood has one maximum.
    "rounded"   p_k = Phi(z(k + 1/2)) - Phi(z(k - 1/2)), z(x) = (ln x - mu) / sigma, divided by the
                same from k_min on: a continuous lognormal, rounded. The Python package `powerlaw`
                fits discrete data so, without an upper end (V = None here).

mu and sigma are those of ln R (natural logarithm) before truncation. Where mu is far below 0 only
the lognormal's tail lies on ranks, and the two are almost collinear.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr, logsumexp

from rbpkit.errors import InputError
from rbpkit.summary import Histogram

FORMS = ("discrete", "rounded")
# Two parameters: with fewer distinct values the likelihood need not have a maximum.
MIN_DISTINCT = 3
# A sigma this many times the spread of ln R is a power law as far as any data can tell.
FLAT = 25.0
# Squared length of a Newton step in per-token standard errors: below it, the fit has settled.
SETTLED = 1e-10

Array = NDArray[np.float64]
# Parameters (2,) -> mean log-likelihood, gradient (2,), Hessian (2, 2).
Likelihood = Callable[[Array], tuple[float, Array, Array]]


class NoMaximum(InputError):
    """The likelihood rises without end with sigma: the nearest law is a power law."""


@dataclass(frozen=True)
class LognormalFit:
    """A lognormal over the ranks k_min..V (to infinity where V is None), as fitted.

    mu, sigma: of ln R, before truncation. mu_se, sigma_se and covariance ((var mu, cov), (cov,
    var sigma)): from the observed information, for n independent tokens; those of one text are
    not, so the errors are too small. log_likelihood: nats, of all n ranks >= k_min.
    converged: whether the last step was negligible; where it is False this is no maximum.
    """

    form: str
    mu: float
    sigma: float
    mu_se: float
    sigma_se: float
    covariance: tuple[tuple[float, float], tuple[float, float]]
    log_likelihood: float
    n: float
    k_min: int
    V: int | None
    converged: bool


def lognormal_probability(
    k: ArrayLike,
    mu: float,
    sigma: float,
    V: int | None,
    *,
    k_min: int = 1,
    form: str = "discrete",
) -> Array:
    """p_k in the shape of `k`, of either form, over k_min..V; 0 outside.

    InputError for parameters that cannot be.
    """
    _checked_range(k_min, V, form)
    if not (sigma > 0 and math.isfinite(sigma) and math.isfinite(mu)):
        raise InputError(f"mu must be finite and sigma positive, got {mu!r} and {sigma!r}")
    ranks = np.asarray(k, dtype=np.float64)
    inside = (ranks >= k_min) & (ranks <= (np.inf if V is None else V))
    safe = np.where(inside, ranks, k_min)
    if form == "rounded":
        edges = safe - 0.5, safe + 0.5, k_min - 0.5, np.inf if V is None else V + 0.5
        a, b, first, last = ((np.log(edge) - mu) / sigma for edge in edges)
        log_p = log_mass(a, b) - log_mass(first, last)
    else:
        every = np.log(np.arange(k_min, V + 1))
        log_c = logsumexp(-every - 0.5 * ((every - mu) / sigma) ** 2)
        log_p = -np.log(safe) - 0.5 * ((np.log(safe) - mu) / sigma) ** 2 - log_c
    return np.where(inside, np.exp(log_p), 0.0)


def fit_lognormal(
    ranks: Histogram, V: int | None = None, *, k_min: int = 1, form: str = "discrete"
) -> LognormalFit:
    """The lognormal of either form that makes the ranks >= k_min most likely.

    k_min = 2 leaves out rank 1, as Figure 8c does: data and lognormal over ranks >= 2, which is
    Pr(R = k) / (1 - RBP_1). V: rows of the output matrix; None (only "rounded") has no upper end.

    Raises InputError for fewer than three distinct ranks from k_min on, a rank beyond V, a form or
    k_min that cannot be; NoMaximum (an InputError) where a power law is likelier than all.
    """
    _checked_range(k_min, V, form)
    first = np.searchsorted(ranks.values, k_min)
    values, counts = ranks.values[first:], ranks.counts[first:]
    return fit_lognormal_bins(values, values + 1, counts, V, k_min=k_min, form=form)


def fit_lognormal_bins(
    bin_lo: ArrayLike,
    bin_hi: ArrayLike,
    counts: ArrayLike,
    V: int | None = None,
    *,
    k_min: int = 2,
    form: str = "discrete",
) -> LognormalFit:
    """`fit_lognormal` of ranks that are known by bins only, as `paper.rank_density` has them.

    A bin, (n,) each, holds the ranks bin_lo <= R < bin_hi; bins rise and do not overlap. counts
    may be shares: then n is 1 and the standard errors are those of one token.
    """
    _checked_range(k_min, V, form)
    lo, hi, weight = (np.asarray(a) for a in (bin_lo, bin_hi, counts))
    _check_bins(lo, hi, weight, k_min, V)
    n = float(weight.sum())
    share, x = weight / n, np.log((lo + hi - 1) / 2)
    centre = float(share @ x)
    scale = math.sqrt(share @ (x - centre) ** 2)
    # In u = (ln k - centre) / scale both problems are of unit size, whatever the data.
    if form == "discrete":
        likelihood = _discrete(lo, hi, share, k_min, int(V), centre, scale)
        best, score, hessian, peak, settled = _maximum(likelihood, np.array([0.0, -0.5]))
        # A finite V allows a second parameter of any sign; from 0 on it is no lognormal.
        sd = 1 / math.sqrt(-2 * best[1]) if best[1] < 0 else math.inf
    else:
        likelihood = _rounded(lo, hi, share, k_min, V, centre, scale)
        best, score, hessian, peak, settled = _maximum(likelihood, np.array([0.0, 1.0]))
        sd = 1 / best[1]
    if not (peak and sd < FLAT):
        raise NoMaximum(
            "no lognormal is the most likely: the nearest is a power law, sigma to infinity;"
            " take another k_min, or the rounded form without V"
        )
    # The parameters are (mean / sd^2, -1 / (2 sd^2)) or (mean / sd, 1 / sd); by mean and sd:
    if form == "discrete":
        mean = best[0] * sd**2
        jacobian = np.array([[1 / sd**2, -2 * mean / sd**3], [0, 1 / sd**3]])
    else:
        mean = best[0] * sd
        jacobian = np.array([[1 / sd, -mean / sd**2], [0, -1 / sd**2]])
    covariance = np.linalg.inv(-n * (jacobian.T @ hessian @ jacobian)) * scale**2
    return LognormalFit(
        form=form,
        mu=float(centre + scale * mean),
        sigma=float(scale * sd),
        mu_se=math.sqrt(covariance[0, 0]),
        sigma_se=math.sqrt(covariance[1, 1]),
        covariance=tuple(tuple(map(float, row)) for row in covariance),
        log_likelihood=n * score,
        n=int(n) if weight.dtype.kind in "iu" else n,
        k_min=int(k_min),
        V=V,
        converged=settled,
    )


def _checked_range(k_min: int, V: int | None, form: str) -> None:
    if form not in FORMS:
        raise InputError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    whole = int | np.integer
    if not isinstance(k_min, whole) or k_min < 1:
        raise InputError(f"k_min must be a whole number of at least 1, got {k_min!r}")
    if V is None:
        if form == "discrete":
            raise InputError("the discrete form is a sum over k_min..V: give V, the output rows")
    elif not isinstance(V, whole) or V <= k_min:
        raise InputError(f"V must be a whole number over k_min = {k_min}, got {V!r}")


def _check_bins(lo, hi, weight, k_min: int, V: int | None) -> None:
    if not (lo.ndim == 1 and lo.shape == hi.shape == weight.shape):
        raise InputError("a histogram needs as many counts as ranks, in one dimension")
    if weight.size < MIN_DISTINCT:
        few = f"cannot fit a lognormal to {weight.size} distinct rank(s) >= {k_min}"
        raise InputError(f"{few}; score more tokens, for at least {MIN_DISTINCT}")
    if not all(array.dtype.kind in "iu" for array in (lo, hi)):
        raise InputError("ranks must be whole numbers")
    if weight.dtype.kind not in "iuf" or not (np.isfinite(weight) & (weight > 0)).all():
        raise InputError("counts must be positive; leave out what was never seen")
    if not ((hi > lo).all() and (lo[1:] >= hi[:-1]).all()):
        raise InputError("ranks must rise, each once (bins must not overlap)")
    if lo[0] < k_min:
        raise InputError(f"rank {lo[0]} is below k_min = {k_min}")
    if V is not None and hi[-1] - 1 > V:
        raise InputError(f"rank {hi[-1] - 1} is beyond V = {V}; V is the rows of the output matrix")


# -- the likelihood, of ranks in bins, and where it is largest ---------------------------------
# Parameters are scaled: both problems are of unit size.


def _discrete(lo, hi, share, k_min: int, V: int, centre: float, scale: float) -> Likelihood:
    """By natural parameters: weights exp(-ln k + a u + b u^2) over k_min..V, summed in bins."""
    x = np.log(np.arange(k_min, V + 1))
    u = (x - centre) / scale
    moments = np.stack([np.ones_like(u), u, u**2, u**3, u**4])
    ends = np.stack([lo, hi], axis=1).ravel() - k_min

    def likelihood(natural: Array) -> tuple[float, Array, Array]:
        log_w = moments[1:3].T @ natural - x
        log_w -= logsumexp(log_w)
        weighted = moments * np.exp(log_w)
        # A zero behind the last rank, so that a bin may end there.
        inside = np.add.reduceat(np.pad(weighted, ((0, 0), (0, 1))), ends, axis=1)[:, ::2]
        mass = inside[0]
        mean_in, mean = inside[1:3] / mass, weighted.sum(1)
        gradient = mean_in @ share - mean[1:3]
        index = np.array([[2, 3], [3, 4]])
        spread_in = (inside[index] / mass) @ share - (mean_in * share) @ mean_in.T
        spread = mean[index] - np.outer(mean[1:3], mean[1:3])
        return float(share @ np.log(mass)), gradient, spread_in - spread

    return likelihood


def _rounded(lo, hi, share, k_min: int, V: int | None, centre: float, scale: float) -> Likelihood:
    """By (shift, slope): z = slope * u - shift at a bin's ends, mass Phi - Phi."""
    u = [(np.log(e) - centre) / scale for e in (lo - 0.5, hi - 0.5)]
    ends = [np.log(k_min - 0.5), np.inf if V is None else np.log(V + 0.5)]
    whole = [np.array([(e - centre) / scale]) for e in ends]

    def likelihood(parameters: Array) -> tuple[float, Array, Array]:
        if not parameters[1] > 0:  # a step too far
            return -np.inf, np.zeros(2), np.zeros((2, 2))
        binned = _interval(parameters, *u, share)
        everything = _interval(parameters, *whole, np.ones(1))
        return tuple(a - b for a, b in zip(binned, everything, strict=True))

    return likelihood


def _interval(parameters: Array, low: Array, high: Array, share: Array):
    """Sum of share * log(Phi(z(high)) - Phi(z(low))), its gradient and Hessian."""
    a, b = (parameters[1] * u - parameters[0] for u in (low, high))
    mass = log_mass(a, b)
    value, gradients, hessian = share @ mass, 0.0, 0.0
    for z, u, sign in ((a, low, -1), (b, high, 1)):
        u, z = (np.where(np.isinf(u), 0.0, array) for array in (u, z))
        # density at this end over mass; none where the end is at infinity
        ratio = sign * np.exp(-0.5 * z**2 - 0.5 * math.log(2 * math.pi) - mass)
        ratio = np.where(np.isinf(high), 0.0, ratio) if sign == 1 else ratio
        direction = np.stack([-np.ones_like(u), u])
        gradients = gradients + ratio * direction
        hessian = hessian - (direction * (share * ratio * z)) @ direction.T
    return value, gradients @ share, hessian - (gradients * share) @ gradients.T


def log_mass(a: Array, b: Array) -> Array:
    """log(Phi(b) - Phi(a)), b > a, from the tail that is the smaller: no digits lost."""
    flip = a > 0
    low, high = np.where(flip, -b, a), np.where(flip, -a, b)
    upper = log_ndtr(high)
    return upper + np.log(-np.expm1(log_ndtr(low) - upper))


def _maximum(likelihood: Likelihood, start: Array) -> tuple[Array, float, Array, bool, bool]:
    """Where it is largest, value and Hessian there; is that a peak, and is it reached."""
    once = lru_cache(8)(lambda *parameters: likelihood(np.array(parameters)))
    with np.errstate(all="ignore"):  # a trial far off may underflow; it is then not taken
        found = minimize(
            lambda p: -once(*p)[0],
            start,
            jac=lambda p: -once(*p)[1],
            hess=lambda p: -once(*p)[2],
            method="trust-exact",
            options={"gtol": 1e-7, "maxiter": 100},
        ).x
        # What is left is too small to see in the likelihood's value, not in its gradient.
        try:
            for _ in range(3):
                _, gradient, hessian = once(*found)
                found = found - np.linalg.solve(hessian, gradient)
            value, gradient, hessian = once(*found)
            left = abs(gradient @ np.linalg.solve(hessian, gradient))
        except np.linalg.LinAlgError:  # flat in some direction, so there is no peak
            value, _, hessian = once(*found)
            return found, value, hessian, False, False
    peak = bool(np.isfinite(hessian).all() and (np.linalg.eigvalsh(hessian) < 0).all())
    return found, value, hessian, peak, bool(left < SETTLED)
