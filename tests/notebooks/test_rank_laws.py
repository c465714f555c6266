"""The lognormal over ranks: what is planted is found, sums are those of every term, the paper."""

import numpy as np
import pytest
from conftest import refused
from scipy.integrate import quad
from scipy.stats import norm

from rbpkit import paper
from rbpkit_notebooks import rank_laws
from rbpkit_notebooks.rank_laws import fit_lognormal, lognormal_log_p

PRINTED = paper.table("lognormal_params").set_index("model")
PLANTED = [(1.19, 3.69), (-14.29, 5.76), (3.0, 1.0)]  # two of Figure 8c, and a peak


def naive_mass(mu: float, sigma: float, k: np.ndarray, k_min: int) -> np.ndarray:
    """The definition: a difference of two Phi, over all that lies above k_min - 1/2."""
    low = (np.log(k - 0.5) - mu) / sigma
    high = (np.log(k + 0.5) - mu) / sigma
    begin = (np.log(k_min - 0.5) - mu) / sigma
    return (norm.sf(low) - norm.sf(high)) / norm.sf(begin)


# -- the lognormal -------------------------------------------------------------------------------


@pytest.mark.parametrize("k_min", [1, 2])
@pytest.mark.parametrize(("mu", "sigma"), PLANTED)
def test_a_planted_lognormal_is_found_and_is_the_maximum(mu, sigma, k_min):
    n = 100_000
    above = norm.sf((np.log(k_min - 0.5) - mu) / sigma)
    shares = np.random.default_rng(0).uniform(0, above, n)
    drawn = np.floor(np.exp(mu + sigma * norm.isf(shares)) + 0.5)
    ranks, counts = np.unique(np.maximum(drawn, k_min), return_counts=True)
    fit = fit_lognormal(ranks, counts, k_min=k_min)

    def score(mu, sigma):
        return counts @ np.log(naive_mass(mu, sigma, ranks, k_min)) / n

    assert fit.score == pytest.approx(score(fit.mu, fit.sigma), abs=1e-5)
    # Twice the lead in likelihood over the truth is chi-squared with 2 degrees of freedom.
    assert 0 <= 2 * n * (fit.score - score(mu, sigma)) < 14  # P = 0.1%
    for near in ((fit.mu + 0.05, fit.sigma), (fit.mu, fit.sigma - 0.05)):
        assert score(*near) < fit.score
    # Bins of one rank are the ranks; a rank below k_min changes nothing.
    assert fit_lognormal(ranks, counts, upto=ranks + 1, k_min=k_min) == fit
    if k_min == 2:
        assert fit_lognormal(np.append(1, ranks), np.append(99, counts), k_min=2) == fit


@pytest.mark.parametrize(("mu", "sigma"), PLANTED)
def test_probabilities_up_to_V_are_the_definition(mu, sigma):
    p = naive_mass(mu, sigma, np.arange(2, 3001.0), 2)
    assert np.exp(lognormal_log_p(mu, sigma, 3000, k_min=2)) == pytest.approx(p / p.sum())


@pytest.mark.parametrize("model", PRINTED.index)
def test_figure_8c_prints_the_rounded_form_without_an_upper_end(model):
    """From the figure's own bins; they hide the ranks within, which moves mu by 0.03 at most."""
    bins = paper.table("rank_density").query("model == @model")
    fit = fit_lognormal(bins["bin_lo"], bins["mass"], upto=bins["bin_hi"], k_min=2)
    assert fit.mu == pytest.approx(PRINTED["mu"][model], abs=0.04)
    assert fit.sigma == pytest.approx(PRINTED["sigma"][model], abs=0.006)


def test_ranks_that_no_lognormal_fits_are_refused():
    whole = np.unique(np.round(np.geomspace(1, 1e6, 200)))
    edges = np.append(whole, np.inf)
    mass = -np.diff(edges**-1.0 + edges**-0.1)  # falls off ever more slowly
    refused("power law", fit_lognormal, edges[:-1], mass, upto=edges[1:])
    refused("2 distinct", fit_lognormal, [1, 2, 3], [5, 3, 1], k_min=2)


# -- Appendix C ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("mu", "sigma"), [(0.0, 0.3), (0.5, 1.0), (-10.0, 1.0), (2.0, 1.1)])
def test_sums_are_those_of_every_term_one_by_one(mu, sigma):
    k = np.arange(1.0, 2e6)  # beyond, less than 1e-20 of the mass is left
    psi = norm.pdf(np.log(k), mu, sigma) / k
    c, p = psi.sum(), psi[psi > 0] / psi.sum()
    by_sum = rank_laws.rank_sums(mu, sigma)
    assert by_sum.log_c == pytest.approx(np.log(c), rel=1e-10, abs=1e-10)
    assert by_sum.neg_log_p1 == pytest.approx(-np.log(p[0]), rel=1e-9)
    assert by_sum.CE == pytest.approx(-(p @ np.log(p)), rel=1e-9)
    assert by_sum.fraction == pytest.approx(by_sum.CE - by_sum.neg_log_p1)


@pytest.mark.parametrize(("mu", "sigma"), [(1.19, 3.69), (-14.29, 5.76), (3.0, 0.8)])
def test_closed_form_is_the_integrals_and_half_the_first_term(mu, sigma):
    def integral(g):
        def f(L):
            return g(L) * norm.pdf(L, mu, sigma)

        return quad(f, 0, max(mu, 0) + 12 * sigma, epsabs=0, epsrel=1e-12, limit=200)[0]

    half = norm.pdf(0, mu, sigma) / 2
    c = integral(lambda L: 1.0) + half
    rest = integral(lambda L: L + (L - mu) ** 2 / (2 * sigma**2))
    rest += half * (mu / sigma) ** 2 / 2
    found = rank_laws.closed_form(mu, sigma)
    assert found.log_c == pytest.approx(np.log(c), rel=1e-10)
    assert found.neg_log_p1 == pytest.approx(np.log(c / 2 / half), rel=1e-10)
    expected = np.log(c * np.sqrt(2 * np.pi) * sigma) + rest / c
    assert found.CE == pytest.approx(expected, rel=1e-9)


def test_closed_form_gives_figure_8b_and_the_sums_do_not():
    """From (mu, sigma) printed to two decimals: within 0.2%. The sums differ by more than that."""
    laws = rank_laws.published_laws().set_index("model").loc[PRINTED.index]
    closed = rank_laws.closed_form(PRINTED["mu"], PRINTED["sigma"])
    assert closed.CE == pytest.approx(laws["simulated_CE"].to_numpy(), rel=2e-3)
    assert closed.neg_log_p1 == pytest.approx(laws["simulated_neg_log_rbp1"].to_numpy(), rel=2e-3)
    by_sum = rank_laws.rank_sums(PRINTED["mu"], PRINTED["sigma"])
    assert np.abs(by_sum.CE / laws["simulated_CE"] - 1).min() > 0.006


def test_inversion_recovers_what_it_was_given_or_says_that_there_is_nothing():
    mu = np.array([-60.0, -14.0, -1.0, 0.0, 3.0])
    sigma = np.array([30.0, 4.0, 1.5, 4.0, 6.0])
    laws = rank_laws.closed_form(mu, sigma)
    found = rank_laws.invert(laws.CE, laws.neg_log_p1)
    assert found[0] == pytest.approx(mu, abs=1e-6)
    assert found[1] == pytest.approx(sigma)
    refused("CE = 9", rank_laws.invert, [9.0], [1.0])
