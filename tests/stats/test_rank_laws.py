"""Laws over ranks: what is planted is found, the sums are those of every term, published values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.stats import rank_laws
from rbpkit.stats.rank_laws import LOGNORMAL, fit_lognormal, lognormal_log_p

PRINTED = paper.lognormal_params().set_index("model")
PLANTED = [(1.19, 3.69), (-14.29, 5.76), (3.0, 1.0)]  # two of Figure 8c, and a peak


def naive_p(mu: float, sigma: float, V: int, k_min: int, form: str) -> np.ndarray:
    """The definition, term by term: a density over ranks, or a difference of two Phi."""
    k = np.arange(k_min, V + 1.0)
    if form == "discrete":
        mass = norm.pdf(np.log(k), mu, sigma) / k
    else:
        mass = norm.sf(np.log(k - 0.5), mu, sigma) - norm.sf(np.log(k + 0.5), mu, sigma)
    return mass / mass.sum()


def counted(p: np.ndarray, n: int, k_min: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Ranks from k_min on, n of them drawn from p, and how often each was seen."""
    dense = np.random.default_rng(seed).multinomial(n, p)
    return np.flatnonzero(dense) + k_min, dense[dense > 0]


# -- the lognormal -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", LOGNORMAL)
@pytest.mark.parametrize("k_min", [1, 2])
@pytest.mark.parametrize(("mu", "sigma"), PLANTED)
def test_a_planted_lognormal_is_found_and_is_the_maximum(mu, sigma, k_min, form):
    V, n = 3000, 100_000
    p = naive_p(mu, sigma, V, k_min, form)
    assert np.exp(lognormal_log_p(mu, sigma, V, k_min=k_min, form=form)) == pytest.approx(p)
    ranks, counts = counted(p, n, k_min)
    fit = fit_lognormal(ranks, counts, V, k_min=k_min, form=form)

    def score(*parameters):
        return counts @ np.log(naive_p(*parameters, V, k_min, form))[ranks - k_min] / n

    assert fit.score == pytest.approx(score(fit.mu, fit.sigma), abs=1e-5)
    # Twice the lead in likelihood over the truth is chi-squared with 2 degrees of freedom.
    assert 0 <= 2 * n * (fit.score - score(mu, sigma)) < 14  # P = 0.1%
    for near in ((fit.mu + 0.05, fit.sigma), (fit.mu, fit.sigma - 0.05)):
        assert score(*near) < fit.score
    # A rank that is left out below k_min changes nothing; bins of one rank are the ranks.
    if k_min == 2:
        more = np.append(1, ranks), np.append(99, counts)
        assert fit_lognormal(*more, V, k_min=2, form=form) == fit
    assert fit_lognormal(ranks, counts, V, upto=ranks + 1, k_min=k_min, form=form) == fit


@pytest.mark.parametrize("model", PRINTED.index)
def test_figure_8c_prints_the_rounded_form_without_an_upper_end(model):
    """From the figure's own bins; they hide the ranks within, which moves mu by 0.03 at most."""
    bins = paper.rank_density().query("model == @model")
    fit = fit_lognormal(bins["bin_lo"], bins["mass"], upto=bins["bin_hi"], k_min=2)
    assert fit.mu == pytest.approx(PRINTED["mu"][model], abs=0.04)
    assert fit.sigma == pytest.approx(PRINTED["sigma"][model], abs=0.006)


@pytest.mark.parametrize("form", LOGNORMAL)
def test_ranks_that_no_lognormal_fits_are_refused(form):
    k = np.arange(1, 2001)
    p = k**-1.3 * np.exp(0.02 * np.log(k) ** 2)  # falls off ever more slowly
    counts = np.maximum(1, np.round(1e6 * p / p.sum()))
    with pytest.raises(InputError, match="nearest is a power law"):
        fit_lognormal(k, counts, 2000, form=form)


@pytest.mark.parametrize(
    ("ranks", "counts", "settings", "says"),
    [
        ([1, 2, 3], [5, 3, 1], {"form": "discrete"}, "give V"),
        ([1, 2, 3], [5, 3, 1], {"form": "round"}, "form must be one of"),
        ([1, 2, 9], [5, 3, 1], {"V": 8}, "not all from k_min = 1 to V = 8"),
        ([1, 2, 3], [5, 3, 1], {"k_min": 2}, r"2 distinct rank\(s\) >= 2"),
        ([1, 2, 3], [5, 0, 1], {}, "positive count"),
        ([1, 3, 3], [5, 2, 1], {}, "without overlap"),
        ([1, 2, 3], [5, 2], {}, "as many counts"),
    ],
)
def test_bad_histograms_are_refused(ranks, counts, settings, says):
    with pytest.raises(InputError, match=says):
        fit_lognormal(ranks, counts, **settings)


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


@pytest.mark.parametrize(("mu", "sigma"), [(1.19, 3.69), (-14.29, 5.76), (-100.0, 10.0)])
def test_sums_with_a_long_tail_do_not_depend_on_how_many_are_summed(mu, sigma, monkeypatch):
    short = rank_laws.rank_sums(mu, sigma)
    monkeypatch.setattr(rank_laws, "SUMMED", 10**6)
    for one, other in zip(short, rank_laws.rank_sums(mu, sigma), strict=True):
        assert one == pytest.approx(other, rel=1e-10)


@pytest.mark.parametrize(("mu", "sigma"), [(1.19, 3.69), (-14.29, 5.76), (3.0, 0.8)])
def test_closed_form_is_the_integrals_and_half_the_first_term(mu, sigma):
    def integral(g):
        def f(L):
            return g(L) * norm.pdf(L, mu, sigma)

        return quad(f, 0, max(mu, 0) + 12 * sigma, epsabs=0, epsrel=1e-12, limit=200)[0]

    half = norm.pdf(0, mu, sigma) / 2
    c = integral(lambda L: 1.0) + half
    rest = integral(lambda L: L + (L - mu) ** 2 / (2 * sigma**2)) + half * (mu / sigma) ** 2 / 2
    found = rank_laws.closed_form(mu, sigma)
    assert found.log_c == pytest.approx(np.log(c), rel=1e-10)
    assert found.neg_log_p1 == pytest.approx(np.log(c / 2 / half), rel=1e-10)
    assert found.CE == pytest.approx(np.log(c * np.sqrt(2 * np.pi) * sigma) + rest / c, rel=1e-9)


def test_closed_form_gives_figure_8b_and_the_sums_do_not():
    """From (mu, sigma) printed to two decimals: within 0.2%. The sums differ by more than that."""
    laws = rank_laws.published_laws().set_index("model").loc[PRINTED.index]
    closed = rank_laws.closed_form(PRINTED["mu"], PRINTED["sigma"])
    assert closed.CE == pytest.approx(laws["simulated_CE"].to_numpy(), rel=2e-3)
    assert closed.neg_log_p1 == pytest.approx(laws["simulated_neg_log_rbp1"].to_numpy(), rel=2e-3)
    by_sum = rank_laws.rank_sums(PRINTED["mu"], PRINTED["sigma"])
    assert np.abs(by_sum.CE / laws["simulated_CE"] - 1).min() > 0.006


def test_figure_8b_inverted_is_what_figure_8c_prints():
    laws = rank_laws.published_laws().set_index("model")
    names = ["mu", "sigma"]
    assert (laws.loc[PRINTED.index, names] - PRINTED[names]).abs().to_numpy().max() <= 0.005
    # The authors' program lists the ten pairs in full; these are its first and its 6.9B.
    assert laws.iloc[0][names].tolist() == pytest.approx([1.1892951, 3.6899895], abs=1e-6)
    assert laws.iloc[8][names].tolist() == pytest.approx([-12.8474902, 5.5850037], abs=1e-6)


def test_inversion_recovers_what_it_was_given_or_says_that_there_is_nothing():
    mu, sigma = np.array([-60.0, -14.0, -1.0, 0.0, 3.0]), np.array([30.0, 4.0, 1.5, 4.0, 6.0])
    laws = rank_laws.closed_form(mu, sigma)
    found = rank_laws.invert(laws.CE, laws.neg_log_p1)
    assert found[0] == pytest.approx(mu, abs=1e-6) and found[1] == pytest.approx(sigma)
    with pytest.raises(InputError, match="no lognormal has CE = 9"):
        rank_laws.invert([9.0], [1.0])
    with pytest.raises(InputError, match="finite and at least"):
        rank_laws.rank_sums(12.0, 0.05)


# -- other laws ----------------------------------------------------------------------------------


LAWS = {"Weibull": lambda z: -np.expm1(-np.exp(z)), "log-logistic": expit, "normal": norm.cdf}


@pytest.mark.parametrize("name", LAWS)
def test_a_planted_law_is_found_from_ranks_and_from_bins(name):
    """ln R has the distribution function F(a + b ln k); of the three, the planted one is best."""
    V, t = 500, (-0.5, 0.6)

    def log_mass_of(law):
        return lambda lo, hi, t: np.log(
            LAWS[law](t[0] + t[1] * np.log(hi - 0.5)) - LAWS[law](t[0] + t[1] * np.log(lo - 0.5))
        )

    def fit(law, *histogram):
        return rank_laws.fit_rank_law(log_mass_of(law), [(0.0, 0.5)], *histogram, V)

    p = np.exp(rank_laws.rank_log_p(log_mass_of(name), t, V))
    values, counts = counted(p, 50_000)
    found = {law: fit(law, values, values + 1, counts) for law in LAWS}
    assert found[name][0] == pytest.approx(t, abs=0.05)
    assert max(found, key=lambda law: found[law][1]) == name
    edges = np.unique(np.round(np.geomspace(1, V + 1, 60)).astype(int))
    mass = np.histogram(values, edges, weights=counts)[0]
    some = mass > 0
    binned, _ = fit(name, edges[:-1][some], edges[1:][some], mass[some])
    by_bins, by_rank = (
        np.cumsum(np.exp(rank_laws.rank_log_p(log_mass_of(name), one, V)))
        for one in (binned, found[name][0])
    )
    assert np.abs(by_bins - by_rank).max() < 0.003
