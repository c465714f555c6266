"""The likelihood of a lognormal over ranks, of either form, and where it is largest.

`rankdist` says what the two forms are. Parameters are scaled: both problems are of unit size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr, logsumexp

# Squared length of a Newton step in per-token standard errors: below it, the fit has settled.
SETTLED = 1e-10

Array = NDArray[np.float64]
# Parameters (2,) -> mean log-likelihood, gradient (2,), Hessian (2, 2).
Likelihood = Callable[[Array], tuple[float, Array, Array]]


def discrete(lo, hi, share, k_min: int, V: int, centre: float, scale: float) -> Likelihood:
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


def rounded(lo, hi, share, k_min: int, V: int | None, centre: float, scale: float) -> Likelihood:
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


def maximum(likelihood: Likelihood, start: Array) -> tuple[Array, float, Array, bool, bool]:
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
