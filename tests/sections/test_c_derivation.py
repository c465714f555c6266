"""Appendix C: the sums against brute force, the closed form against Figure 8b, the inversion."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.sections import c_derivation

mpmath = pytest.importorskip("mpmath")  # comes with sympy

PUBLISHED = paper.lognormal_params()


def simulated() -> pd.DataFrame:
    """Figure 8b: S as index, columns CE and neg_log_rbp1."""
    table = paper.ce_and_rbp1().query("kind == 'simulated'")
    return table.pivot(index="S", columns="series", values="value").sort_index()


def exactly(mu: float, sigma: float) -> tuple[float, float, float]:
    """log(c / psi(1)), E ln R, E (ln R)^2 in 20 digits: 63 terms, then an integral.

    Not as the module does it: numerical quadrature, and corrections up to the fifth derivative.
    """
    with mpmath.workdps(20):
        m, s = mpmath.mpf(mu), mpmath.mpf(sigma)

        def term(j):
            def w(k):
                L = mpmath.log(k)
                return L**j * mpmath.exp(-L - ((L - m) ** 2 - m**2) / (2 * s**2))

            return w

        totals = []
        for j in range(3):
            head = mpmath.fsum(term(j)(k) for k in range(1, 64))
            # The integral over L, in pieces, else a peak far from the start is missed.
            f = term(j)
            ends = [mpmath.log(64) + i * s for i in range(0, 13, 3)]
            ends += [max(ends[-1], m + 15 * s)]
            area = mpmath.quad(lambda L, f=f: f(mpmath.exp(L)) * mpmath.exp(L), ends)
            d1, d3, d5 = (mpmath.diff(f, 64, n) for n in (1, 3, 5))
            totals.append(head + area + f(64) / 2 - d1 / 12 + d3 / 720 - d5 / 30240)
        return tuple(
            float(v) for v in (mpmath.log(totals[0]), totals[1] / totals[0], totals[2] / totals[0])
        )


# -- oracle ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("mu", "sigma"), [(0.0, 0.3), (0.5, 1.0), (-10.0, 1.0), (2.0, 1.1)])
def test_sums_are_those_of_every_term_one_by_one(mu, sigma):
    k = np.arange(1.0, 2e6)  # beyond, less than 1e-20 of the mass is left
    p = c_derivation.psi(k, mu, sigma)
    c, L = p.sum(), np.log(k)
    assert np.exp(c_derivation.log_normaliser(mu, sigma)) == pytest.approx(c, rel=1e-12)
    assert c_derivation.neg_log_p1(mu, sigma) == pytest.approx(np.log(c / p[0]), rel=1e-10)
    p = p[p > 0] / c
    assert c_derivation.entropy(mu, sigma) == pytest.approx(-(p @ np.log(p)), rel=1e-10)
    sums = c_derivation.rank_sums(mu, sigma)
    assert sums.mean_log == pytest.approx(c_derivation.psi(k, mu, sigma) @ L / c, rel=1e-10)


@pytest.mark.parametrize(
    ("mu", "sigma"),
    [(1.19, 3.69), (-14.29, 5.76), (-100.0, 10.0), (-1.0, 50.0)],
)
def test_sums_with_a_long_tail_are_mpmaths(mu, sigma):
    sums = c_derivation.rank_sums(mu, sigma)
    log_ratio, mean_log, mean_log_sq = exactly(mu, sigma)
    assert 0 <= sums.bound < c_derivation.TOLERANCE
    whole = 1 + 2 * mean_log + mean_log_sq
    allowed = sums.bound * whole + 1e-12 * whole
    assert abs(np.expm1(sums.log_ratio - log_ratio)) <= allowed
    # a quotient of two sums: the error of each
    assert abs(sums.mean_log - mean_log) <= allowed * (1 + mean_log)
    assert abs(sums.mean_log_sq - mean_log_sq) <= allowed * (1 + mean_log_sq)
    # and in fact far below the bound
    assert sums.mean_log_sq == pytest.approx(mean_log_sq, rel=3e-12)


def test_a_smooth_peak_beyond_the_summed_ranks_is_all_there():
    assert c_derivation.log_normaliser(12.0, 1.0) == pytest.approx(0.0, abs=1e-8)
    differential = 12 + np.log(np.sqrt(2 * np.pi * np.e))  # entropy of the density itself
    assert c_derivation.entropy(12.0, 1.0) == pytest.approx(differential, rel=1e-8)


@pytest.mark.parametrize(("mu", "sigma"), [(1.19, 3.69), (-14.29, 5.76), (3.0, 0.8)])
def test_closed_form_is_the_integrals_and_half_the_first_term(mu, sigma):
    def integral(g):
        def f(L):
            x = np.exp(L)
            return g(L) * c_derivation.psi(x, mu, sigma) * x

        return quad(f, 0, max(mu, 0) + 12 * sigma, epsabs=0, epsrel=1e-12, limit=200)[0]

    half = c_derivation.psi(1.0, mu, sigma) / 2
    c = integral(lambda L: 1.0) + half
    first = -np.log(c_derivation.psi(1.0, mu, sigma))
    ce = integral(lambda L: L + (L - mu) ** 2 / (2 * sigma**2)) + half * mu**2 / (2 * sigma**2)
    assert np.exp(c_derivation.log_normaliser_approx(mu, sigma)) == pytest.approx(c, rel=1e-11)
    assert c_derivation.neg_log_p1_approx(mu, sigma) == pytest.approx(np.log(c) + first, rel=1e-11)
    expected = np.log(c) + np.log(np.sqrt(2 * np.pi) * sigma) + ce / c
    assert c_derivation.entropy_approx(mu, sigma) == pytest.approx(expected, rel=1e-10)


def test_limit_is_zipfs_law():
    for b in (0.05, 0.43, 1.0, 3.0):
        kept, ce = c_derivation.limit(b)
        slope = float(mpmath.zeta(1 + b, derivative=1) / mpmath.zeta(1 + b))
        assert kept == pytest.approx(float(mpmath.log(mpmath.zeta(1 + b))), rel=1e-12)
        assert ce == pytest.approx(kept - (1 + b) * slope, rel=1e-11)
    sigma = 3000.0
    kept, ce = c_derivation.limit(0.43)
    assert c_derivation.neg_log_p1(-0.43 * sigma**2, sigma) == pytest.approx(kept, rel=1e-5)
    assert c_derivation.entropy(-0.43 * sigma**2, sigma) == pytest.approx(ce, rel=1e-5)


# -- published -------------------------------------------------------------------------------


def test_closed_form_gives_figure_8b_and_the_sums_do_not():
    """From (mu, sigma) printed to two decimals: within 0.2%. The sums differ by more than that."""
    at = simulated().loc[PUBLISHED["S"]]
    mu, sigma = PUBLISHED["mu"], PUBLISHED["sigma"]
    assert c_derivation.entropy_approx(mu, sigma) == pytest.approx(at["CE"].to_numpy(), rel=2e-3)
    assert c_derivation.neg_log_p1_approx(mu, sigma) == pytest.approx(
        at["neg_log_rbp1"].to_numpy(), rel=2e-3
    )

    off = c_derivation.entropy(mu, sigma) / at["CE"].to_numpy() - 1
    assert np.abs(off).min() > 0.006


def test_inverted_figure_8b_is_what_figure_8c_prints():
    figure_8b = simulated()
    mu, sigma = c_derivation.invert(figure_8b["CE"], figure_8b["neg_log_rbp1"])
    found = pd.DataFrame({"mu": mu, "sigma": sigma}, index=figure_8b.index).loc[PUBLISHED["S"]]
    assert np.abs(found["mu"].to_numpy() - PUBLISHED["mu"]).max() <= 0.005
    assert np.abs(found["sigma"].to_numpy() - PUBLISHED["sigma"]).max() <= 0.005
    # the authors' program lists the ten pairs in full; these are its first and its 6.9B
    assert (mu[0], sigma[0]) == pytest.approx((1.1892951, 3.6899895), abs=1e-6)
    assert (mu[8], sigma[8]) == pytest.approx((-12.8474902, 5.5850037), abs=1e-6)


@pytest.mark.parametrize("sigma", [0.5, 2.0, 10.0, 80.0])
def test_beyond_two_sigma_squared_the_closed_form_is_no_probability(sigma):
    b = np.array([2.0, 2.5, 10.0])
    assert np.all(c_derivation.neg_log_p1_approx(-b * sigma**2, sigma) < 0)
    assert np.all(c_derivation.neg_log_p1(-b * sigma**2, sigma) >= 0)


# -- recovery and shape ----------------------------------------------------------------------


def test_inversion_recovers_what_it_was_given():
    mu, sigma = (v.ravel() for v in np.meshgrid([-60.0, -14.0, -1.0, 0.0, 3.0], [1.5, 4.0, 30.0]))
    inside = -mu < 1.9 * sigma**2
    mu, sigma = mu[inside], sigma[inside]
    found = c_derivation.invert(
        c_derivation.entropy_approx(mu, sigma), c_derivation.neg_log_p1_approx(mu, sigma)
    )
    assert found[0] == pytest.approx(mu, rel=1e-6, abs=1e-6)
    assert found[1] == pytest.approx(sigma, rel=1e-6)


def test_numbers_give_floats_and_arrays_their_shape():
    for name in ("log_normaliser", "neg_log_p1_approx", "entropy"):
        function = getattr(c_derivation, name)
        assert type(function(-1, 2)) is float
        assert function([[-1.0], [0.0]], [1.0, 2.0, 3.0]).shape == (2, 3)
    assert type(c_derivation.psi(1, 0, 1)) is float
    assert [type(v) for v in c_derivation.invert(3.0, 1.0)] == [float, float]
    assert c_derivation.invert([[3.0, 3.5]], 1.0)[0].shape == (1, 2)


@pytest.mark.filterwarnings("error")
def test_no_overflow_where_c_underflows():
    underflown = -5e5 - np.log(10 * np.sqrt(2 * np.pi))
    assert c_derivation.log_normaliser(-1e4, 10) == pytest.approx(underflown, abs=1e-6)
    assert c_derivation.neg_log_p1(-1e4, 10) == pytest.approx(0.0, abs=1e-20)
    assert c_derivation.neg_log_p1_approx(50.0, 0.5) == pytest.approx(5000.2258, abs=1e-4)


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mu", "sigma", "says"),
    [
        (np.nan, 1, "mu must be finite"),
        (0, 0, "sigma must be positive"),
        (0, [1, np.inf], "sigma must be positive"),
        ([1, 2], [1, 2, 3], "shapes fit"),
        ("x", 1, "numbers"),
    ],
)
def test_bad_parameters_are_refused(mu, sigma, says):
    for function in (c_derivation.neg_log_p1, c_derivation.entropy_approx):
        with pytest.raises(InputError, match=says):
            function(mu, sigma)


@pytest.mark.parametrize(
    ("function", "given", "says"),
    [
        (c_derivation.rank_sums, (12.0, 0.05), "too narrow a peak"),
        (c_derivation.psi, (0, 0, 1), "x must be positive"),
        (c_derivation.limit, ([0.1, 0.0],), "b must be positive"),
        (c_derivation.invert, (9.0, 1.0), r"CE goes from -0\.867 to 3\.626"),
        (c_derivation.invert, (1.0, -0.8), r"above log\(1/2\)"),
        (c_derivation.invert, (np.nan, 1.0), "must be finite"),
    ],
)
def test_what_cannot_be_computed_is_refused(function, given, says):
    with pytest.raises(InputError, match=says):
        function(*given)
