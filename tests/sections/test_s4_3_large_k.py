"""Counts of missed tokens, k by share of V, and what chance does to R2."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import Curve
from rbpkit.sections import s4_3_large_k
from rbpkit.sections.s4_3_large_k import Misses, noise_only, noise_table, published_misses
from rbpkit.stats.curves import models_of, published_curves


@pytest.fixture(scope="module")
def shipped(shipped):
    """One family on one corpus of what ships."""
    return models_of(shipped, "pocket:prose", "Pythia")


def a_curve(value, S=(1e6, 1e7, 1e8, 1e9), k=20_000) -> Curve:
    models = tuple(f"m{number}" for number in range(len(value)))
    S = np.array(S[: len(value)])
    return Curve("Wiki", "GPT2", f"RBP_{k}", models, S, np.array(value, dtype=float))


# -- k by share of V -------------------------------------------------------------------------


@pytest.mark.parametrize("V", [*sorted(set(paper.models()["vocab_rows"])), 7, 4096, 256_000])
def test_k_at_share_is_the_nearest_whole_number(V):
    for k in (1, 10, 336, 30_000):
        exact = k * V / paper.PAPER_V
        found = s4_3_large_k.k_at_share(k, int(V))
        assert found == 1 if exact < 1 else abs(found - exact) <= 0.5


def test_halves_go_up_and_the_paper_keeps_its_k():
    assert [s4_3_large_k.k_at_share(k, 5, of=10) for k in (1, 3, 5)] == [1, 2, 3]
    assert s4_3_large_k.k_at_share(np.int64(20_000), paper.PAPER_V) == 20_000


@pytest.mark.parametrize("bad", [(0, 4096), (10, 0), (1.5, 4096), (True, 4096), ("10", 4096)])
def test_k_at_share_refuses(bad):
    with pytest.raises(InputError, match="whole number of at least 1"):
        s4_3_large_k.k_at_share(*bad)


# -- counts ----------------------------------------------------------------------------------


def test_counts_give_the_published_values_back():
    for k in (100, 20_000, 30_000):
        for curve in published_curves(k).values():
            one = published_misses(curve)
            assert np.abs(1 - one.missed / one.tokens - curve.value).max() <= 0.51e-6


def test_measured_counts_are_those_of_the_histogram(shipped):
    (curve,) = s4_3_large_k.curves_at_share(
        shipped, ["pocket:prose"], ["Pythia"], 20_000
    ).curves.values()
    one = s4_3_large_k.measured_misses(shipped, curve)
    by_model = {s.manifest.model: s.tokens - int(s.ranks.at_most(1628)) for s in shipped}
    assert curve.quantity == "RBP_1628"
    assert one.missed.tolist() == [by_model[model] for model in curve.models]


@pytest.mark.parametrize(
    ("count", "says"),
    [
        (lambda: Misses.of(published_curves(1)["Wiki", "GPT2"], [317_413] * 4), "no share of 3174"),
        (lambda: Misses.of(a_curve([0.5, 0.6]), [10]), "one count of tokens"),
        (
            lambda: published_misses(dataclasses.replace(a_curve([0.5]), corpus="C4")),
            "tokens is not known",
        ),
        (lambda: s4_3_large_k.measured_misses([], a_curve([0.5])), "not measured: m0"),
    ],
)
def test_counts_refuse_other_tokens(count, says):
    with pytest.raises(InputError, match=says):
        count()


def test_z_of_the_ends():
    one = published_misses(published_curves(20_000)["Wiki", "GPT2"])
    assert one.missed.tolist() == [265, 381, 607, 704] and set(one.tokens) == {317_414}
    counts = [[265, 317_414 - 265], [704, 317_414 - 704]]
    chi2 = stats.chi2_contingency(counts, correction=False).statistic
    assert one.ends_z() ** 2 == pytest.approx(chi2)
    assert np.isnan(Misses.of(a_curve([1.0, 1.0]), [10, 10]).ends_z())


# -- noise -----------------------------------------------------------------------------------


def test_a_draw_in_which_a_model_misses_no_token_is_left_out():
    misses = published_misses(published_curves(30_000)["Wiki", "Pythia"])
    r2 = noise_only(misses)
    assert s4_3_large_k.DRAWS * 0.9 < r2.size < s4_3_large_k.DRAWS
    assert np.array_equal(r2, noise_only(misses))


def test_noise_only_recovers_a_law_and_sees_what_is_none():
    """Counts drawn from a line: the seen R2 is uniform among the simulated; from a bend: low."""
    S, rng = np.geomspace(1e6, 1e10, 6), np.random.default_rng(1)
    tokens, share = 100_000, 1 - np.exp(-0.5 * S**-0.2)
    every = [
        Misses.of(a_curve(1 - missed / tokens, S), np.full(6, tokens))
        for missed in rng.binomial(tokens, share, (40, 6))
    ]
    places = noise_table(every, draws=300)["seen above"]
    assert stats.kstest(places, "uniform").pvalue > 0.01
    bent = 1 - np.exp(-0.5 * S**-0.2 * np.exp([0, 0.1, -0.1, 0.1, -0.1, 0]))
    one = Misses.of(a_curve(1 - np.rint(bent * 1e7) / 1e7, S), np.full(6, 10**7))
    assert noise_table([one], draws=300)["seen above"].item() == 0


def test_noise_only_refuses():
    good = published_misses(published_curves(20_000)["Wiki", "GPT2"])
    with pytest.raises(InputError, match="draws must be at least 1"):
        noise_only(good, draws=0)
    with pytest.raises(InputError, match="cannot fit"):
        noise_only(Misses.of(a_curve([0.9, 0.95, 1.0]), [100] * 3))
    assert noise_table([]).empty
