"""Laws over ranks: each is recognised when planted, fits are maxima, published values, figures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_summaries import records_of
from scipy.special import entr
from scipy.stats import nbinom, weibull_min

from rbpkit.audit import rank_laws
from rbpkit.audit.rank_laws import CANDIDATES, LOGNORMAL, PARAMETERS, fit_law
from rbpkit.errors import InputError
from rbpkit.sections.s5_2_rank_fits import FORMS, fit_lognormal, lognormal_probability
from rbpkit.summary import Histogram

V = 500
EVERY = np.arange(1, V + 1)


def planted(name: str) -> np.ndarray:
    """p over 1..V of a law of this name, not by the code under test; near what models give."""
    k = EVERY.astype(float)
    if name == "lognormal":
        p = lognormal_probability(EVERY, 0.5, 2.2, V)
    elif name == "power law":
        p = k**-1.3
    elif name == "Zipf-Mandelbrot":
        p = (k + 4) ** -1.8
    elif name == "Weibull":
        p = weibull_min.cdf(k + 0.5, 0.4, scale=20) - weibull_min.cdf(k - 0.5, 0.4, scale=20)
    elif name == "normal":
        p = np.exp(-((k - 150) ** 2) / (2 * 80**2))
    else:
        p = nbinom.pmf(k - 1, 0.3, 0.01)
    return p / p.sum()


def counted(p: np.ndarray, n: int, rng) -> tuple[np.ndarray, np.ndarray]:
    dense = rng.multinomial(n, p)
    return EVERY[dense > 0], dense[dense > 0]


def held_out_scores(p: np.ndarray, rng) -> dict[str, float]:
    """Log probability, in all, of 20,000 ranks by each candidate fitted to 20,000 others."""
    (values, counts), (held, weights) = counted(p, 20_000, rng), counted(p, 20_000, rng)
    return {
        one: weights @ fit_law(one, values, values + 1, counts, V, 1).log_p[held - 1]
        for one in CANDIDATES
    }


@pytest.mark.parametrize(
    "name", ["lognormal", "Zipf-Mandelbrot", "Weibull", "normal", "negative binomial"]
)
def test_a_planted_law_has_the_highest_held_out_score(name):
    """In 2 of 2 samples; the two forms of the lognormal count as one."""
    rng = np.random.default_rng(0)
    for _ in range(2):
        scores = held_out_scores(planted(name), rng)
        assert max(scores, key=scores.get).startswith(name)


def test_a_planted_power_law_is_lost_to_no_law_by_more_than_a_parameter():
    """Four candidates contain it as a limit, so held-out they tie with it: no winner to be seen."""
    scores = held_out_scores(planted("power law"), np.random.default_rng(0))
    lead = pd.Series(scores) - scores["power law"]
    assert lead.max() < 4  # nats in all; one needless parameter moves the score by about 1
    assert lead["Zipf-Mandelbrot"] > -8 and lead["lognormal, discrete"] > -8
    assert lead["negative binomial"] < -50 and lead["normal"] < -50


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("mu", "sigma"), [(-14.29, 5.76), (1.19, 3.69), (3.0, 1.0)])
def test_the_lognormals_are_those_of_rankdist(form, mu, sigma):
    p = lognormal_probability(EVERY, mu, sigma, V, form=form)
    values, counts = counted(p / p.sum(), 50_000, np.random.default_rng(0))
    fit = fit_lognormal(Histogram(values, counts), V, form=form)
    law = fit_law(f"lognormal, {form}", values, values + 1, counts, V, 1)
    score = counts @ law.log_p[values - 1]
    assert fit.log_likelihood - 0.05 <= score <= fit.log_likelihood + 1e-6
    fitted = lognormal_probability(EVERY, fit.mu, fit.sigma, V, form=form)
    assert law.entropy() == pytest.approx(entr(fitted).sum(), abs=1e-3)


@pytest.mark.parametrize("name", CANDIDATES)
@pytest.mark.parametrize("k_min", [1, 2])
def test_a_fit_is_normalised_and_a_maximum(name, k_min):
    p = planted("Weibull") if name != "normal" else planted("normal")
    values, counts = counted(p, 20_000, np.random.default_rng(0))
    inside = values >= k_min
    values, counts = values[inside], counts[inside]
    law = fit_law(name, values, values + 1, counts, V, k_min)
    assert law.log_p.shape == (V - k_min + 1,)
    assert np.exp(law.log_p).sum() == pytest.approx(1, abs=1e-9)
    assert law.rbp(V, 0.3) == pytest.approx(1) and law.rbp(1, 0.3) > 0
    best, k = counts @ law.log_p[values - k_min], np.arange(k_min, V + 1.0)
    for place in range(PARAMETERS[name]):
        for step in (-0.02, 0.02):
            near = np.array(law.values)
            near[place] += step
            with np.errstate(all="ignore"):
                weight = CANDIDATES[name].log_weight(k, k_min, near)
            log_p = weight - np.logaddexp.reduce(weight)
            assert counts @ log_p[values - k_min] <= best + 0.02


def test_bins_and_exact_ranks_give_one_law():
    values, counts = counted(planted("Weibull"), 50_000, np.random.default_rng(0))
    edges = np.unique(np.round(np.geomspace(1, V + 1, 60)).astype(int))
    mass = np.histogram(values, edges, weights=counts)[0]
    for name in ("Weibull", "lognormal, rounded", "negative binomial"):
        exact = fit_law(name, values, values + 1, counts, V, 1)
        binned = fit_law(name, edges[:-1], edges[1:], mass, V, 1)
        assert np.abs(exact.rbp(EVERY) - binned.rbp(EVERY)).max() < 0.003


def test_what_no_bins_can_be_is_refused():
    with pytest.raises(InputError, match="no candidate"):
        fit_law("cauchy", [1, 2], [2, 3], [1, 1], 10, 1)
    with pytest.raises(InputError, match="positive counts"):
        fit_law("Weibull", [1, 2], [2, 3], [1, 1], 10, 2)


def test_the_tables_of_a_job():
    """Document means in the score, the interval around the difference, errors on the odd half."""
    p = planted("Weibull")
    ranks = np.random.default_rng(0).choice(EVERY, 20_000, p=p)
    records = records_of(ranks, np.arange(20_000) // 500, V=V)
    table = rank_laws.rank_models_table(records)
    assert len(table) == 2 * len(CANDIDATES)
    for k_min, rows in table.groupby("k_min"):
        assert rows["behind"].min() == 0
        assert rows["behind"].between(rows["behind_low"], rows["behind_high"]).all()
        assert rows.loc[rows["score"].idxmax(), "candidate"] == "Weibull"
        assert rows.set_index("candidate").loc["Weibull", "error"] < 0.02
        assert (rows["scored"] == (ranks[records.document % 2 == 1] >= k_min).sum()).all()
    pd.testing.assert_frame_equal(table, rank_laws.rank_models_table(records))
    levels = rank_laws.rank_levels_table(records).set_index("candidate")
    assert levels.loc["Weibull", ["error_1", "error_10", "error_100"]].abs().max() < 0.01
    assert levels.loc["Weibull", "entropy"] == pytest.approx(entr(p).sum(), abs=0.02)


def test_the_lead_is_over_the_best_other_law_of_two_parameters():
    rows = [("m", name, 2, -3.0) for name in LOGNORMAL] + [("m", "Weibull", 2, -2.99)]
    rows += [("m", "normal", 2, -4.0), ("m", "power law", 1, -1.0)]
    names = ["model", "candidate", "parameters", "score"]
    (found,) = rank_laws.lognormal_lead(pd.DataFrame(rows, columns=names), ["model"]).itertuples()
    assert found.lead == pytest.approx(-0.01) and found.other == "Weibull"
