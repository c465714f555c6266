"""Intervals of exponents: what they cover, what is paired; and the k with the narrowest."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rbpkit.audit import intervals
from rbpkit.errors import InputError
from rbpkit.fit import Curve, fit_power_law

S = np.geomspace(1e6, 1e9, 5)


def test_refusals(shipped):
    humaneval = [one for one in shipped if one.manifest.corpus == "pocket:humaneval"]
    assert "k = 6 is not counted" in intervals.bootstrap(humaneval, ks=(6,)).missing[0]
    manifest = humaneval[0].manifest.model_copy(update={"fingerprint": "other"})
    other = dataclasses.replace(humaneval[0], manifest=manifest)
    assert "different text" in intervals.bootstrap([other, *humaneval[1:]]).missing[0]
    two = [one for one in humaneval if one.manifest.family == "OPT"][:2]
    lost = intervals.bootstrap(two, draws=10)
    assert not lost.cells and "at least 3 sizes" in lost.missing[0]
    with pytest.raises(InputError, match="between must be"):
        intervals.difference_table(lost, "sizes")


# -- differences and scatter --------------------------------------------------------------------


def planted(rng, family: str, alpha: float, sd: float, shared: np.ndarray) -> intervals.Cell:
    """A power law with alpha; the draws move all models by `shared` (B,) and each by sd."""
    loss = 5 * S**-alpha
    draws = loss * np.exp(shared[:, None] + rng.normal(0, sd, (shared.size, S.size)))
    noisy = np.exp(-loss * np.exp(rng.normal(0, 1e-3, S.size)))
    models = tuple(f"{family}{i}" for i in range(S.size))
    curve = Curve("c", family, "RBP_1", models, S, noisy)
    return intervals.Cell(curve, np.full(S.size, 10_000), draws)


def test_difference_of_families_is_paired_and_signed():
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 0.2, 500)
    steep, flat = (
        planted(rng, name, alpha, 0.002, shared) for name, alpha in (("A", 0.1), ("B", 0.08))
    )
    found = intervals.difference(steep, flat)
    assert found["difference"] == pytest.approx(0.02, abs=0.002)
    assert 0 < found["documents_low"] < found["difference"] < found["documents_high"]
    assert 0 < found["line_low"] < found["line_high"]
    back = intervals.difference(flat, steep)
    assert back["documents_low"] == pytest.approx(-found["documents_high"], abs=1e-12)
    moved = dataclasses.replace(flat, curve=dataclasses.replace(flat.curve, corpus="d"))
    with pytest.raises(InputError, match="not paired"):
        intervals.difference(steep, moved)


def test_scatter_knows_noise_from_models_of_their_own():
    """On a line but for the documents p is uniform; with scatter of their own it is 0."""

    def scatter(cell, off):
        curve = dataclasses.replace(cell.curve, value=np.exp(-5 * S**-0.1 * np.exp(off)))
        cells = {("c", "A", "RBP_1"): dataclasses.replace(cell, curve=curve)}
        return intervals.scatter_table(intervals.Bootstrap(cells, ())).iloc[0]

    rng, ps = np.random.default_rng(0), []
    for _ in range(200):
        cell = planted(rng, "A", 0.1, 0.02, rng.normal(0, 0.3, 200))
        ps.append(scatter(cell, rng.normal(0, 0.3) + rng.normal(0, 0.02, S.size))["p"])
    assert np.mean(np.array(ps) < 0.05) == pytest.approx(0.05, abs=0.04)
    assert np.mean(ps) == pytest.approx(0.5, abs=0.07)
    row = scatter(cell, [0.2, -0.2, 0.2, -0.2, 0.2])
    assert row["p"] == 0 and row["documents_sd"] == pytest.approx(0.02, rel=0.1)
    assert row["unpaired_sd"] == pytest.approx(np.hypot(0.3, 0.02), rel=0.1)


# -- which k ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 5, 10])
def test_width_from_r2_is_that_of_the_fit(n):
    rng = np.random.default_rng(0)
    S = np.logspace(6, 10, n)
    fit = fit_power_law(S, 3 * S**-0.1 * np.exp(rng.normal(0, 0.05, n)))
    low, high = fit.alpha_interval
    width = intervals.relative_half_width(fit.r2, n)
    assert width == pytest.approx((high - low) / 2 / fit.alpha, rel=1e-9)
    assert (width < 1) == (low > 0)


def test_width_at_the_ends():
    assert intervals.relative_half_width(1.0, 4) == 0
    assert intervals.relative_half_width(0.0, 4) == np.inf
    assert intervals.relative_half_width(np.array([1.0, 0.5]), np.array([4, 5])).shape == (2,)
    for r2, n in ((0.5, 2), (1.1, 5), (-0.1, 5)):
        with pytest.raises(InputError):
            intervals.relative_half_width(r2, n)


def test_measured_numbers_and_what_is_missing(shipped):
    trade, missing = intervals.measured_trade(
        shipped, ["pocket:humaneval", "none"], ["GPT2"], ks=(1, 10), draws=100
    )
    assert missing == ("not measured: GPT2 on none",) and (trade["documents"] > 0).all()
    of_corpus = [one for one in shipped if one.manifest.corpus == "pocket:humaneval"]
    of_gpt2 = [one for one in of_corpus if one.manifest.family == "GPT2"]
    largest = max(of_gpt2, key=lambda one: one.manifest.S)
    missed = [largest.tokens - largest.ranks.at_most(k) for k in (1, 10)]
    assert trade["missed"].tolist() == missed
