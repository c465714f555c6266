"""Sampling and model parts of the scatter: found where planted, and not where not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rbpkit.audit import noise, noise_figures
from rbpkit.errors import InputError
from rbpkit.fit import Curve
from rbpkit.sections.s4_3_large_k import Misses
from rbpkit.stats.bootstrap import resample_weights

S = np.geomspace(2e4, 1e6, 6)
SIMULATIONS = 2000
NULL_DRAWS = 4000  # the same in every simulation, so their own error does not average out


def three_errors(rate):
    return 3 * (rate * (1 - rate) * (1 / SIMULATIONS + 1 / NULL_DRAWS)) ** 0.5


def planted(rng, tokens=20_000, level=0.02, alpha=0.15, model_sd=0.0):
    """Losses (m, n) of counts drawn about an exact law, with a model scatter of model_sd."""
    loss = level * (S / S[0]) ** -alpha
    loss = loss * np.exp(model_sd * rng.standard_normal((SIMULATIONS, S.size)))
    misses = rng.binomial(tokens, -np.expm1(-loss))
    return -np.log1p(-misses / tokens), misses


def splits(loss, tokens=20_000, draws=NULL_DRAWS):
    covariances = (noise.binomial_covariance(one, np.full(S.size, tokens)) for one in loss)
    return [noise.split_residual(S, *pair, draws) for pair in zip(loss, covariances, strict=True)]


def test_sampling_alone_leaves_no_model_part_and_is_rejected_at_its_rate():
    found = splits(planted(np.random.default_rng(0))[0])
    model = np.array([one.model for one in found])
    standard_error = model.std() / SIMULATIONS**0.5
    assert abs(model.mean()) < 3 * standard_error
    rejected = np.mean([one.p < 0.05 for one in found])
    assert abs(rejected - 0.05) < three_errors(0.05)
    below = np.mean([one.r2 < one.r2_low for one in found])
    assert abs(below - 0.025) < three_errors(0.025)


def test_a_planted_model_part_is_found():
    found = splits(planted(np.random.default_rng(0), model_sd=0.1)[0], draws=1000)
    model = np.array([one.model for one in found])
    assert model.mean() == pytest.approx(0.01, abs=3 * model.std() / SIMULATIONS**0.5)
    # The residual sum of squares is then that of noise, times 1 + 0.01 / sampling part.
    times = 1 + 0.01 / np.mean([one.sampling for one in found])
    power = stats.chi2.sf(stats.chi2.isf(0.05, S.size - 2) / times, S.size - 2)
    assert np.mean([one.p < 0.05 for one in found]) == pytest.approx(power, abs=0.05)


def test_covariance_is_that_of_binomial_counts():
    rng = np.random.default_rng(0)
    loss = np.array([0.5, 0.05, 0.01])
    tokens = np.array([5_000, 20_000, 40_000])
    drawn = rng.binomial(tokens, np.exp(-loss), (4_000, 3))
    seen = np.log(-np.log(drawn / tokens)).var(axis=0)
    assert noise.binomial_covariance(loss, tokens).diagonal() == pytest.approx(seen, rel=0.1)


def test_what_all_models_share_is_no_scatter():
    loss = 0.1 * S**-0.1 * np.exp(0.01 * np.array([1, -1, 0, 1, -1, 0]))
    own = np.diag(np.full(S.size, 1e-4))
    alone = noise.split_residual(S, loss, own)
    shared = noise.split_residual(S, loss, own + 0.04)
    assert alone.sampling == pytest.approx(1e-4) and shared.sampling == pytest.approx(1e-4)


@pytest.mark.parametrize("bad", [np.eye(3), np.full((6, 6), np.nan)])
def test_a_covariance_that_is_none_is_refused(bad):
    with pytest.raises(InputError, match="finite, n by n"):
        noise.split_residual(S, 0.1 * S**-0.1, bad)


# -- floor, figure -----------------------------------------------------------------


def test_floor_between_two_k_by_logs():
    split = pd.DataFrame(
        {
            "corpus": "c",
            "family": "f",
            "k": [1, 100, 10_000],
            "missed": [100_000, 10_000, 100],
            "residual": [1e-3, 1e-3, 1.0],  # so that 1,000 misses are needed
            "sampling": [1e-5, 1e-4, 1e-2],
        }
    )
    floor = noise.noise_floor(split).iloc[0]
    assert floor["needed"] == pytest.approx(1000) and floor["floor"] == pytest.approx(1000)
    assert floor["sampled"] == 10_000
    assert np.isnan(noise.noise_floor(split[:2]).iloc[0]["floor"])


def test_nothing_to_draw_is_said():
    with pytest.raises(InputError, match="nothing to draw"):
        noise_figures.figure_noise({"none": pd.DataFrame()})


# -- trend -----------------------------------------------------------------------------------

TREND_S = np.geomspace(1e5, 1e8, 5)


def counted(counts, tokens=100_000):
    counts = np.asarray(counts)
    curve = Curve("c", "f", "RBP_9", tuple("abcde")[: counts.size], TREND_S, 1 - counts / tokens)
    return Misses(curve, np.full(counts.size, tokens), counts)


def test_trend_z_is_normal_without_a_trend_and_finds_one():
    rng = np.random.default_rng(0)
    flat = [noise.trend_z(counted(rng.binomial(100_000, 0.002, 5))) for _ in range(1000)]
    assert abs(np.mean(flat)) < 3 / 1000**0.5 and np.std(flat) == pytest.approx(1, abs=0.07)
    rising = rng.binomial(100_000, 0.002 * (TREND_S / TREND_S[0]) ** 0.1)
    assert noise.trend_z(counted(rising)) > 8
    assert noise.trend_z(counted(rising[::-1])) < -8
    assert np.isnan(noise.trend_z(counted([0, 0, 0, 0, 0])))


@pytest.mark.parametrize("shared", [0.0, 0.8])
def test_bootstrap_finds_the_noise_of_documents_that_differ(shared):
    """Documents have misses in clumps, in part common to all models: D = 300, 40 simulations."""
    rng, D, m = np.random.default_rng(0), 300, 40
    weights = resample_weights(np.arange(D), 200)
    expected, seen = [], []
    for _ in range(m):
        common = rng.standard_normal((D, 1)) * shared
        own = rng.standard_normal((D, S.size)) * (1 - shared**2) ** 0.5
        rate = 0.1 * (S / S[0]) ** -0.15 * np.exp(0.8 * (common + own) - 0.32)
        hits = 100 - rng.binomial(100, np.minimum(rate, 0.9))
        drawn = np.log(-np.log(weights @ hits / 30_000))
        covariance = np.cov(drawn, rowvar=False)
        split = noise.split_residual(S, -np.log(hits.sum(0) / 30_000), covariance, draws=1)
        expected.append(split.sampling)
        seen.append(split.residual)
    assert np.mean(seen) == pytest.approx(np.mean(expected), rel=3 * (2 / (4 * m)) ** 0.5)
