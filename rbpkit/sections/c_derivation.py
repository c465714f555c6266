"""Appendix C: what a discrete lognormal over ranks says of CE and of RBP_1.

The paper supposes that the rank R of the correct token follows p_k = psi(k) / c, k = 1, 2, ...,
with psi the density of a lognormal and c = sum psi(k). It then takes

    -log p_1 = log c + log(sqrt(2 pi) sigma) + mu^2 / (2 sigma^2)        for -log RBP_1,
    CE       = -sum p_k log p_k                                          for the cross-entropy,

and replaces each sum over k >= 1 by the integral from 1 plus half of the term at 1. Here are both:
the sums, with a bound on their error, and the paper's closed form (names ending in `_approx`).

Arguments mu and sigma are numbers or arrays that broadcast; numbers give a float, arrays an array
of the broadcast shape. All logarithms are natural, CE is in nats. Every function raises InputError
for a mu that is not finite and a sigma that is not positive and finite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, zeta

from rbpkit.errors import InputError

# Ranks summed one by one; the rest is an integral with its correction (Euler and Maclaurin).
SUMMED = 2**14
# Largest bound on the relative error of a sum that is handed out.
TOLERANCE = 1e-8
# `invert` looks for a sigma between these two; the published ones lie between 3.6 and 5.8.
SIGMA_RANGE = (0.05, 1e3)

_LOG_K = np.log(np.arange(1, SUMMED))
_POWERS = np.stack([_LOG_K**0, _LOG_K, _LOG_K**2], axis=1)
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)

FloatOrArray = float | NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankSums:
    """The sums over all ranks, for p_k = psi(k) / c; floats or arrays of one shape.

    log_ratio: log(c / psi(1)), which is -log p_1. mean_log, mean_log_sq: E[ln R], E[(ln R)^2].
    bound: no sum is further off than this share of sum psi(k) (1 + ln k)^2 (it covers what the
    integral leaves out; rounding comes on top, some 1e-13).
    """

    log_ratio: FloatOrArray
    mean_log: FloatOrArray
    mean_log_sq: FloatOrArray
    bound: FloatOrArray


def psi(x: ArrayLike, mu: ArrayLike, sigma: ArrayLike) -> FloatOrArray:
    """The lognormal density at x > 0: exp(-(ln x - mu)^2 / (2 sigma^2)) / (x sigma sqrt(2 pi)).

    x broadcasts with mu and sigma. InputError also for an x that is not positive.
    """
    mu, sigma, x = _checked(mu, sigma, x)
    if not np.all(x > 0):
        raise InputError("psi: every x must be positive; ranks start at 1")
    log_x = np.log(x)
    return _plain(np.exp(-log_x - ((log_x - mu) / sigma) ** 2 / 2 - _LOG_SQRT_2PI) / sigma)


def rank_sums(mu: ArrayLike, sigma: ArrayLike) -> RankSums:
    """sum psi(k) (ln k)^j for j = 0, 1, 2 over all k >= 1, without underflow, and its error bound.

    InputError also where the bound exceeds TOLERANCE: a sigma below about 0.4 with a mode beyond
    SUMMED, so narrow that an integral cannot stand for the terms.
    """
    mu, sigma, _ = _checked(mu, sigma)
    cells = np.array([_sums(m, s) for m, s in zip(mu.flat, sigma.flat, strict=True)])
    columns = cells.reshape(*mu.shape, 4)
    bad = columns[..., 3] > TOLERANCE
    if np.any(bad):
        raise InputError(
            f"sum over ranks: mu = {mu[bad][0]:g} with sigma = {sigma[bad][0]:g} is too narrow a "
            f"peak beyond rank {SUMMED}; take a larger sigma"
        )
    return RankSums(*(_plain(columns[..., i]) for i in range(4)))


def log_normaliser(mu: ArrayLike, sigma: ArrayLike) -> FloatOrArray:
    """log c, by the sum; finite where c itself would underflow (mu / sigma below about -38).

    The relative error of c is at most `rank_sums(mu, sigma).bound`, and rounding.
    """
    mu, sigma, _ = _checked(mu, sigma)
    return _plain(rank_sums(mu, sigma).log_ratio - _minus_log_psi_1(mu, sigma))


def log_normaliser_approx(mu: ArrayLike, sigma: ArrayLike) -> FloatOrArray:
    """log(P + psi(1) / 2), P = Phi(mu / sigma) the integral of psi from 1: the paper's log c."""
    mu, sigma, _ = _checked(mu, sigma)
    return _plain(neg_log_p1_approx(mu, sigma) - _minus_log_psi_1(mu, sigma))


def neg_log_p1(mu: ArrayLike, sigma: ArrayLike) -> FloatOrArray:
    """-log p_1 = log(c / psi(1)), by the sum: what the lognormal says of -log RBP_1."""
    return rank_sums(mu, sigma).log_ratio


def neg_log_p1_approx(mu: ArrayLike, sigma: ArrayLike) -> FloatOrArray:
    """-log p_1 with the paper's c: log(1/2 + P / psi(1)). Negative where it takes p_1 beyond 1."""
    mu, sigma, _ = _checked(mu, sigma)
    return _plain(np.logaddexp(np.log(0.5), _log_r(mu, sigma)))


def entropy(mu: ArrayLike, sigma: ArrayLike) -> FloatOrArray:
    """-sum p_k ln p_k in nats, by the sum: the CE of Appendix C."""
    mu, sigma, _ = _checked(mu, sigma)
    sums = rank_sums(mu, sigma)
    return _plain(
        sums.log_ratio + (1 - mu / sigma**2) * sums.mean_log + sums.mean_log_sq / (2 * sigma**2)
    )


def entropy_approx(mu: ArrayLike, sigma: ArrayLike) -> FloatOrArray:
    """CE in nats by the paper's closed form: `neg_log_p1_approx` + `fraction_approx`.

    It gives the simulated CE of Figure 8b from the paper's (mu, sigma).
    """
    return _plain(neg_log_p1_approx(mu, sigma) + fraction_approx(mu, sigma))


def fraction_approx(mu: ArrayLike, sigma: ArrayLike) -> FloatOrArray:
    """CE + log p_1 by the closed form, in nats: the term that Eq. 26 calls negligible.

    [P (1/2 + mu - mu^2 / (2 sigma^2)) + phi(mu / sigma) (sigma - mu / (2 sigma))] / c, with phi the
    normal density; here both parts of the fraction are divided by psi(1).
    """
    mu, sigma, _ = _checked(mu, sigma)
    r = np.exp(_log_r(mu, sigma))
    above = r * (0.5 + mu - (mu / sigma) ** 2 / 2) + sigma**2 - mu / 2
    return _plain(above / (r + 0.5))


def limit(b: ArrayLike) -> tuple[FloatOrArray, FloatOrArray]:
    """(-log p_1, CE in nats) as sigma -> infinity at fixed b = |mu| / sigma^2, mu negative.

    psi(k) / psi(1) tends to k^-(1 + b), so p to Zipf's law: -log p_1 to log zeta(1 + b) and CE to
    log zeta(1 + b) + (1 + b) E[ln R]. InputError for a b that is not positive (no limit there).
    """
    b = np.asarray(b, dtype=np.float64)
    if not np.all(np.isfinite(b) & (b > 0)):
        raise InputError("b must be positive and finite: sum k^-(1 + b) has no end at b = 0")
    # sum k^-(1 + b) ln k, as in `_sums`; the next correction is below 1e-13.
    head = np.exp(-(1 + b[..., None]) * _LOG_K) @ _LOG_K
    L = np.log(SUMMED)
    slope = (1 - (1 + b) * L) / SUMMED
    tail = SUMMED**-b * (L / b + b**-2.0 + (L / 2 - slope / 12) / SUMMED)
    total = zeta(1 + b)
    return _plain(np.log(total)), _plain(np.log(total) + (1 + b) * (head + tail) / total)


def invert(ce: ArrayLike, neg_log_p1: ArrayLike) -> tuple[FloatOrArray, FloatOrArray]:
    """(mu, sigma) at which the closed form gives this CE (nats) and this -log p_1.

    ce, neg_log_p1: numbers or arrays that broadcast; mu and sigma take their shape. At fixed
    -log p_1, CE rises with sigma, so there is one solution or none; then InputError says so.
    """
    ce, target = np.broadcast_arrays(np.asarray(ce, float), np.asarray(neg_log_p1, float))
    pairs = [_invert(float(c), float(t)) for c, t in zip(ce.flat, target.flat, strict=True)]
    mu, sigma = np.array(pairs).reshape(-1, 2).T
    return _plain(mu.reshape(ce.shape)), _plain(sigma.reshape(ce.shape))


def _invert(ce: float, neg_log_p1: float) -> tuple[float, float]:
    r = np.exp(neg_log_p1) - 0.5
    if not (np.isfinite(ce) and np.isfinite(r) and r > 0):
        raise InputError(
            f"no lognormal: CE = {ce:g} and -log p_1 = {neg_log_p1:g} must be finite, and the "
            "closed form keeps -log p_1 above log(1/2)"
        )

    def mu_at(sigma: float) -> float:
        """The mu that gives -log p_1: P / psi(1) = r, solved for a = mu / sigma."""
        aim = np.log(r)
        low, high = -sigma / r - 1, 1.0  # Mills' ratio at x is below 1/x
        while float(_log_r(high * sigma, sigma)) < aim:
            high *= 2
        return sigma * brentq(
            lambda a: float(_log_r(a * sigma, sigma)) - aim, low, high, xtol=1e-13
        )

    def gap(log_sigma: float) -> float:
        sigma = np.exp(log_sigma)
        return float(entropy_approx(mu_at(sigma), sigma)) - ce

    low, high = np.log(SIGMA_RANGE)
    if not gap(low) <= 0 <= gap(high):
        raise InputError(
            f"no lognormal with sigma in [{SIGMA_RANGE[0]:g}, {SIGMA_RANGE[1]:g}] gives CE = "
            f"{ce:g} with -log p_1 = {neg_log_p1:g}: there CE goes from {gap(low) + ce:.3f} to "
            f"{gap(high) + ce:.3f}"
        )
    sigma = float(np.exp(brentq(gap, low, high, xtol=1e-13)))
    return mu_at(sigma), sigma


def _sums(mu: float, sigma: float) -> tuple[float, float, float, float]:
    """log(c / psi(1)), E[ln R], E[(ln R)^2] and the bound, for one pair."""
    a, s2 = 1 - mu / sigma**2, sigma**2

    # w(k) = psi(k) / psi(1) = exp(-a L - L^2 / (2 s2)), L = ln k, has its mode at L = mu - s2.
    shift = max(0.0, mu - s2) ** 2 / (2 * s2)
    head = np.exp(-a * _LOG_K - _LOG_K**2 / (2 * s2) - shift) @ _POWERS

    # The tail's integrals, by z = (L - mu) / sigma: m[n] = integral of z^n from z_K.
    L = np.log(SUMMED)
    z = (L - mu) / sigma
    at_K = np.exp(-a * L - L**2 / (2 * s2) - shift)
    m = [np.exp(log_ndtr(-z) + mu**2 / (2 * s2) + np.log(sigma) + _LOG_SQRT_2PI - shift)]
    m.append(sigma * at_K * SUMMED)
    for n in (2, 3, 4):
        m.append(z ** (n - 1) * m[1] + (n - 1) * m[n - 2])
    integrals = np.array([m[0], mu * m[0] + sigma * m[1], 0.0])
    integrals[2] = mu**2 * m[0] + 2 * mu * sigma * m[1] + s2 * m[2]

    # f = w L^j: f(K) / 2 - f'(K) / 12, with f' = f h' / x and h = log f as a function of L.
    j = np.arange(3)
    ends = at_K * L**j * (0.5 - (j / L - a - L / s2) / (12 * SUMMED))
    total = head + integrals + ends

    # What is left is at most (1/12) * integral of |f''|, and f'' = f (h'' + h'^2 - h') / x^2 with
    # h' = j/L - 1 - z/sigma. So |h''| + h'^2 + |h'| <= A + B z^2; times (1 + L)^2, in powers of z.
    t = 2 / L
    A = 1 / s2 + 2 / L**2 + 4.5 * (1 + t**2) + 0.5
    B = 4.5 / s2
    weight = np.polynomial.polynomial.polymul([A, 0, B], np.array([1 + mu, sigma]))
    weight = np.polynomial.polynomial.polymul(weight, np.array([1 + mu, sigma]))
    left_out = float(np.dot(weight, m)) / (12 * SUMMED**2)
    bound = left_out / float(total[0] + 2 * total[1] + total[2])

    mean_log, mean_log_sq = total[1:] / total[0]
    return float(np.log(total[0]) + shift), float(mean_log), float(mean_log_sq), bound


def _log_r(mu: NDArray[np.float64] | float, sigma: NDArray[np.float64] | float):
    """log(P / psi(1)) = log(sigma Phi(a) / phi(a)), a = mu / sigma, stable at both ends."""
    a = np.asarray(mu) / sigma
    left = np.minimum(a, 0)  # erfcx overflows to the right, the difference of squares to the left
    right = np.maximum(a, 0)
    mills = np.where(
        a < 0,
        np.log(erfcx(-left / np.sqrt(2))) + np.log(0.5) + _LOG_SQRT_2PI,
        log_ndtr(right) + right**2 / 2 + _LOG_SQRT_2PI,
    )
    return np.log(sigma) + mills


def _minus_log_psi_1(mu: NDArray[np.float64], sigma: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(sigma) + _LOG_SQRT_2PI + (mu / sigma) ** 2 / 2


def _checked(mu: ArrayLike, sigma: ArrayLike, x: ArrayLike = 1.0) -> list[NDArray[np.float64]]:
    try:
        arrays = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (mu, sigma, x)))
    except (TypeError, ValueError) as error:
        raise InputError(f"mu, sigma and x must be numbers whose shapes fit: {error}") from error
    if not np.all(np.isfinite(arrays[0])):
        raise InputError("mu must be finite")
    if not np.all(np.isfinite(arrays[1]) & (arrays[1] > 0)):
        raise InputError("sigma must be positive and finite")
    return list(arrays)


def _plain(values: ArrayLike) -> FloatOrArray:
    """A float where there is one number without a shape."""
    array = np.asarray(values, dtype=np.float64)
    return float(array) if array.ndim == 0 else array
