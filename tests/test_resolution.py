"""The misses that a line needs are found, and the k where they run out."""

from dataclasses import replace

import numpy as np
import pytest
from made_summaries import made

from rbpkit import resolution
from rbpkit.errors import InputError
from rbpkit.fit import fit_rbp_law

V, TOKENS = 4096, 5000


def models_of(scales, seed: int):
    """Models of growing size, whose log ranks are exponential with these scales."""
    rng = np.random.default_rng(seed)
    models = []
    for i, scale in enumerate(scales):
        ranks = np.exp(rng.exponential(scale, TOKENS)).astype(int)
        models.append(made(10 ** (6 + i), np.minimum(ranks, V)))
    return models


def words_of_the_limit(models) -> str:
    [(_, line)] = resolution.resolution_of_all(models).values()
    return line


def test_with_the_misses_needed_r2_is_about_what_was_asked():
    sizes, alpha = np.geomspace(1e6, 1e8, 6), 0.1
    misses = resolution.misses_needed(alpha, sizes, 0.9)
    x = np.log(sizes) - np.log(sizes).mean()
    noise_of_a_point = misses**-0.5
    drawn = np.random.default_rng(0).normal(-alpha * x, noise_of_a_point, (20_000, sizes.size))
    drawn -= drawn.mean(axis=1, keepdims=True)
    explained = (drawn @ x) ** 2 / (x @ x)
    every = (drawn**2).sum(axis=1)
    assert explained.mean() / every.mean() == pytest.approx(0.9, abs=0.01)
    with pytest.raises(InputError, match="three sizes"):
        resolution.misses_needed(alpha, sizes[:2])


def test_the_largest_resolved_k_is_where_the_misses_run_out():
    ks = np.array([1, 10, 100, 1000])
    misses = np.outer([10_000, 1000, 100, 10], np.ones(6))
    assert resolution.largest_resolved_k(ks, misses, 100) == pytest.approx(100)
    assert resolution.largest_resolved_k(ks, misses, 10**2.5) == pytest.approx(10**1.5)
    assert resolution.largest_resolved_k(ks, misses, 1) == np.inf
    assert np.isnan(resolution.largest_resolved_k(ks, misses, 1e5))


def test_without_a_law_no_k_is_resolved():
    models = models_of((2.0, 1.9, 2.1, 1.95, 2.05), seed=1)  # in no order of size
    assert "alpha at k = 100 contains 0" in words_of_the_limit(models)
    worse = sorted(models, key=lambda one: one.ce())
    larger_is_worse = []
    for i, one in enumerate(worse):
        manifest = one.manifest.model_copy(update={"S": 10 ** (6 + i)})
        larger_is_worse.append(replace(one, manifest=manifest))
    assert "alpha at k = 100 is below 0" in words_of_the_limit(larger_is_worse)


def test_each_family_gets_its_resolution_limit():
    models = models_of((2.2, 2.0, 1.8), seed=0)
    line = words_of_the_limit(models)
    assert line.startswith("f on c: with 5,000 tokens and these 3 sizes trust k up to ")
    upto = int(line.split("up to ")[1].split(" ")[0].replace(",", ""))
    sizes = [one.manifest.S for one in models]
    alpha = fit_rbp_law(sizes, [one.rbp(100) for one in models]).alpha
    misses = np.array([TOKENS * (1 - one.rbp(upto)) for one in models])
    harmonic_mean = len(misses) / (1 / misses).sum()
    assert harmonic_mean == pytest.approx(resolution.misses_needed(alpha, sizes), rel=0.2)
    assert resolution.resolution_of_all(models[:2]) == {}
