"""The misses that a line needs are found, and the k where they run out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_summaries import made

from rbpkit.errors import InputError
from rbpkit.fit import fit_rbp_law
from rbpkit.stats import noise


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


def test_without_a_law_no_k_is_trusted():
    rng = np.random.default_rng(1)
    scales = (2.0, 1.9, 2.1, 1.95, 2.05)  # in no order of size
    models = [
        made(10 ** (5 + i), np.minimum(np.exp(rng.exponential(scales[i], 5000)).astype(int), 4096))
        for i in range(5)
    ]
    ((_, line),) = noise.trust_of_all(models).values()
    assert "no k can be trusted, because these 5 models do not show" in line
    assert line.endswith("(the 95% interval of alpha at k = 100 contains 0)")
    growing = sorted(models, key=lambda one: one.ce())
    larger_is_worse = [
        replace(one, manifest=one.manifest.model_copy(update={"S": 10 ** (5 + i)}))
        for i, one in enumerate(growing)
    ]
    ((_, line),) = noise.trust_of_all(larger_is_worse).values()
    assert line.endswith("(the 95% interval of alpha at k = 100 is below 0)")


def test_each_family_gets_a_line_of_trust():
    rng = np.random.default_rng(0)
    models = [
        made(size, np.minimum(np.exp(rng.exponential(scale, 5000)).astype(int), 4096))
        for size, scale in ((10**6, 2.2), (10**7, 2.0), (10**8, 1.8))
    ]
    ((_, line),) = noise.trust_of_all(models).values()
    assert line.startswith("f on c: with 5,000 tokens and these 3 sizes trust k up to ")
    upto = int(line.split("up to ")[1].split(" ")[0].replace(",", ""))
    sizes, rbp = [1e6, 1e7, 1e8], np.array([one.rbp(np.array([100, upto])) for one in models])
    needed = noise.misses_needed(fit_rbp_law(sizes, rbp[:, 0]).alpha, sizes)
    assert 3 / (1 / (5000 * (1 - rbp[:, 1]))).sum() == pytest.approx(needed, rel=0.2)
    assert noise.trust_of_all(models[:2]) == {}
