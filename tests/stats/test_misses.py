"""Counts of missed tokens come back from published digits and from histograms; k by share of V."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import beta

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import Curve, rbp_curve
from rbpkit.stats.curves import models_of, published_curves
from rbpkit.stats.misses import (
    Misses,
    k_at_share,
    measured_misses,
    published_misses,
)


def a_curve(value, S=(1e6, 1e7, 1e8, 1e9)) -> Curve:
    models = tuple(f"m{number}" for number in range(len(value)))
    S = np.array(S[: len(value)])
    return Curve("Wiki", "GPT2", "RBP_20000", models, S, np.array(value, dtype=float))


@pytest.mark.parametrize("V", [*sorted(set(paper.models()["vocab_rows"])), 7, 4096, 256_000])
def test_k_at_share_is_the_nearest_whole_number(V):
    for k in (1, 10, 336, 30_000):
        exact = k * V / paper.PAPER_V
        found = k_at_share(k, int(V))
        assert found == 1 if exact < 1 else abs(found - exact) <= 0.5
    assert [k_at_share(k, 5, of=10) for k in (1, 3, 5)] == [1, 2, 3]  # halves go up


@pytest.mark.parametrize("bad", [(0, 4096), (10, 0), (1.5, 4096), (True, 4096), ("10", 4096)])
def test_k_at_share_refuses(bad):
    with pytest.raises(InputError, match="whole number of at least 1"):
        k_at_share(*bad)


def test_counts_give_the_published_values_back():
    for k in (100, 20_000, 30_000):
        for curve in published_curves(k).values():
            one = published_misses(curve)
            assert np.abs(1 - one.missed / one.tokens - curve.value).max() <= 0.51e-6
    one = published_misses(published_curves(20_000)["Wiki", "GPT2"])
    assert one.missed.tolist() == [265, 381, 607, 704] and set(one.tokens) == {317_414}


def test_measured_counts_are_those_of_the_histogram(shipped):
    models = models_of(shipped, "pocket:prose", "Pythia")
    curve = rbp_curve(models, 1628)
    one = measured_misses(models, curve)
    by_model = {s.manifest.model: s.tokens - int(s.ranks.at_most(1628)) for s in models}
    assert one.missed.tolist() == [by_model[model] for model in curve.models]


def test_intervals_are_quantiles_of_a_beta_distribution():
    missed, T = np.array([3, 40]), 1000
    low, high = Misses.of(a_curve(1 - missed / T), [T, T]).interval()
    assert low == pytest.approx(beta.ppf(0.025, missed, T - missed + 1))
    assert high == pytest.approx(beta.ppf(0.975, missed + 1, T - missed))


@pytest.mark.parametrize(
    ("count", "says"),
    [
        (lambda: Misses.of(published_curves(1)["Wiki", "GPT2"], [317_413] * 4), "no share of 3174"),
        (lambda: Misses.of(a_curve([0.5, 0.6]), [10]), "one count of tokens"),
        (
            lambda: published_misses(dataclasses.replace(a_curve([0.5]), corpus="C4")),
            "tokens is not known",
        ),
        (lambda: measured_misses([], a_curve([0.5])), "not measured: m0"),
    ],
)
def test_counts_refuse_other_tokens(count, says):
    with pytest.raises(InputError, match=says):
        count()
