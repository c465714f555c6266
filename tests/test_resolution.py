"""The misses that a line needs are found, and the k where they run out."""

from dataclasses import replace

import numpy as np
import pytest
from made_summaries import made

from rbpkit import resolution
from rbpkit.errors import InputError
from rbpkit.fit import fit_all, fit_rbp_law

V, TOKENS = 4096, 5000


def models_of(scales, seed: int):
    """Models of growing size, whose log ranks are exponential with these scales."""
    rng = np.random.default_rng(seed)
    models = []
    for i, scale in enumerate(scales):
        ranks = np.exp(rng.exponential(scale, TOKENS)).astype(int)
        models.append(made(10 ** (6 + i), np.minimum(ranks, V)))
    return models


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


def notes(models, k: int) -> str:
    return fit_all(models, [k]).table["note"].iloc[-1]


def test_a_slope_that_may_be_0_or_of_the_wrong_sign_is_noted():
    models = models_of((2.0, 1.9, 2.1, 1.95, 2.05), seed=1)  # in no order of size
    assert notes(models, 100) == "alpha may be 0"
    worse = sorted(models, key=lambda one: one.ce())
    larger_is_worse = []
    for i, one in enumerate(worse):
        manifest = one.manifest.model_copy(update={"S": 10 ** (6 + i)})
        larger_is_worse.append(replace(one, manifest=manifest))
    assert notes(larger_is_worse, 100) == "alpha is below 0"


def test_each_law_has_a_note_on_its_own_misses_models_and_documents():
    models = models_of((1.5, 1.45, 1.4, 1.35, 1.3), seed=0)
    assert notes(models, 100) == ""
    sizes = np.array([one.manifest.S for one in models])
    law = fit_rbp_law(sizes, [one.rbp(2000) for one in models])
    misses = np.array([TOKENS * (1 - one.rbp(2000)) for one in models])
    harmonic_mean = len(misses) / (1 / misses).sum()
    needed = resolution.misses_needed(law.alpha, sizes)
    assert notes(models, 2000) == f"few misses ({harmonic_mean:.0f} of {needed:.0f})"
    one_unit = [replace(one, document_units=one.document // 100) for one in models[:4]]
    assert notes(one_unit, 100) == "few models (4); few documents or units (5)"
