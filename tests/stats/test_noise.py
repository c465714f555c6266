"""Sampling and model parts of the scatter are found, and so are the misses that a line needs."""

from __future__ import annotations

import numpy as np
import pytest
from made_summaries import made
from scipy import stats

from rbpkit.errors import InputError
from rbpkit.fit import fit_rbp_law
from rbpkit.stats import noise
from rbpkit.stats.bootstrap import resample_weights

S = np.geomspace(2e4, 1e6, 6)
SIMULATIONS = 2000
NULL_DRAWS = 4000  # the same in every simulation, so their own error does not average out


def splits(model_sd=0.0, tokens=20_000, draws=NULL_DRAWS):
    """Counts drawn about an exact law, with a model scatter of model_sd, and split."""
    rng = np.random.default_rng(0)
    loss = 0.02 * (S / S[0]) ** -0.15
    loss = loss * np.exp(model_sd * rng.standard_normal((SIMULATIONS, S.size)))
    loss = -np.log1p(-rng.binomial(tokens, -np.expm1(-loss)) / tokens)
    covariances = (noise.binomial_covariance(one, np.full(S.size, tokens)) for one in loss)
    return [noise.split_residual(S, *pair, draws) for pair in zip(loss, covariances, strict=True)]


def test_sampling_alone_leaves_no_model_part_and_is_rejected_at_its_rate():
    found = splits()
    model = np.array([one.residual - one.sampling for one in found])
    assert abs(model.mean()) < 3 * model.std() / SIMULATIONS**0.5
    rejected = np.mean([one.p < 0.05 for one in found])
    error = (0.05 * 0.95 * (1 / SIMULATIONS + 1 / NULL_DRAWS)) ** 0.5
    assert abs(rejected - 0.05) < 3 * error


def test_a_planted_model_part_is_found():
    found = splits(model_sd=0.1, draws=1000)
    model = np.array([one.residual - one.sampling for one in found])
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


# -- the misses that a line needs ------------------------------------------------------------


def test_with_the_misses_needed_r2_is_about_what_was_asked():
    sizes, alpha = np.geomspace(1e6, 1e8, 6), 0.1
    m = noise.misses_needed(alpha, sizes, 0.9)
    x = np.log(sizes) - np.log(sizes).mean()
    drawn = np.random.default_rng(0).normal(-alpha * x, m**-0.5, (20_000, sizes.size))
    drawn -= drawn.mean(axis=1, keepdims=True)
    explained = (drawn @ x) ** 2 / (x @ x)
    left = (drawn**2).sum(axis=1) - explained
    assert explained.mean() / (explained + left).mean() == pytest.approx(0.9, abs=0.01)
    with pytest.raises(InputError, match="three sizes"):
        noise.misses_needed(alpha, sizes[:2])


def test_trusted_k_is_where_the_misses_run_out():
    ks, misses = np.array([1, 10, 100, 1000]), np.outer([10_000, 1000, 100, 10], np.ones(6))
    assert noise.trusted_k(ks, misses, 100) == pytest.approx(100)
    assert noise.trusted_k(ks, misses, 10**2.5) == pytest.approx(10**1.5)
    assert noise.trusted_k(ks, misses, 1) == np.inf and np.isnan(noise.trusted_k(ks, misses, 1e5))


def test_each_family_gets_a_line_of_trust():
    rng = np.random.default_rng(0)
    models = [
        made(size, np.minimum(np.exp(rng.exponential(scale, 5000)).astype(int), 4096))
        for size, scale in ((10**6, 2.2), (10**7, 2.0), (10**8, 1.8))
    ]
    (line,) = noise.trust_lines(models)
    assert line.startswith("f on c: with 5,000 tokens and these 3 sizes trust k up to ")
    upto = int(line.split("up to ")[1].split(" ")[0].replace(",", ""))
    sizes, rbp = [1e6, 1e7, 1e8], np.array([one.rbp(np.array([100, upto])) for one in models])
    needed = noise.misses_needed(fit_rbp_law(sizes, rbp[:, 0]).alpha, sizes)
    assert 3 / (1 / (5000 * (1 - rbp[:, 1]))).sum() == pytest.approx(needed, rel=0.2)
    assert noise.trust_lines(models[:2]) == []
