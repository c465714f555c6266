"""Eq. 8 as a Gumbel distribution of ln S: what N does, what alpha does, planted exponents."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from rbpkit import emergence, pocket
from rbpkit.audit import gumbel
from rbpkit.audit.verdicts import judge, load_claims
from rbpkit.errors import InputError
from rbpkit.store import load_summaries

SIZES = np.array([25e3, 1e5, 3e5, 1e6])


def ladder(rng, c=3.0, alpha=0.1, D=150, family="Pythia", sizes=SIZES) -> list[SimpleNamespace]:
    """Models whose RBP_100 follows the law in expectation, on documents that differ for all."""
    tokens = rng.integers(20, 200, D)
    ease = rng.normal(0, 0.05, D)
    models = []
    for S in sizes:
        chance = np.clip(np.exp(-c * S**-alpha) + ease, 0, 1)
        hits = rng.binomial(tokens, chance)
        manifest = SimpleNamespace(model=f"m{S:.0f}", S=int(S), family=family, corpus="c")
        models.append(
            SimpleNamespace(
                manifest=manifest,
                document=np.arange(D),
                document_tokens=tokens,
                document_hits=hits[:, None],
                k_grid=np.array([100]),
                rbp=(lambda share: lambda k: share)(hits.sum() / tokens.sum()),
            )
        )
    return models


# -- Eq. 8 --------------------------------------------------------------------------------------


def test_knee_width_and_shift_are_those_of_the_curve():
    c, alpha = 3.3, 0.08
    for N in (1, 10, 1000):
        ends = 10 ** gumbel.knee(N, c, alpha, np.float64(0.1)), 10 ** gumbel.knee(N, c, alpha, 0.9)
        assert emergence.success_at(ends, N, c, alpha) == pytest.approx([0.1, 0.9])
        assert np.log10(ends[1] / ends[0]) == pytest.approx(gumbel.width_decades(alpha))
        moved = gumbel.knee(N, c, alpha) - gumbel.knee(1, c, alpha)
        assert moved == pytest.approx(gumbel.shift_decades(N, alpha), abs=1e-9)
    assert gumbel.width_decades(alpha) == pytest.approx(16.74, abs=0.01)
    assert gumbel.width_decades(1.3395) == pytest.approx(1, abs=1e-3)
    assert np.isinf(gumbel.width_decades([0.0, -0.1])).all()


def test_published_shapes():
    found = gumbel.published_shapes().set_index("k")
    assert found["alpha"].to_numpy() == pytest.approx([0.079, 0.134, 0.196], abs=5e-4)
    assert found["width"].to_numpy() == pytest.approx(1.3393 / found["alpha"], rel=1e-3)
    assert found["shift"].to_numpy() == pytest.approx(2 / found["alpha"])
    assert found.loc[1, "p"] <= 1.7e-24
    assert (found["knee_N"] - found["knee_1"]).to_numpy() == pytest.approx(found["shift"])
    assert len(gumbel.table1_widths()) == 24


# -- recovery -----------------------------------------------------------------------------------


def test_exponents_that_N_moves_are_found_and_others_are_not():
    """100 noisy ladders: the interval covers the planted difference in 95%, +- 3 errors."""
    rng = np.random.default_rng(0)
    S = np.geomspace(1e6, 1e10, 10)
    for planted in (0.0, 0.02):
        inside = []
        for _ in range(100):
            common, own = (rng.normal(0, sd, S.size) for sd in (0.05, 0.01))
            loss = 3 * S**-0.1 * np.exp(common)
            effective = 5 * S**-planted * np.exp(own)
            rows = pd.DataFrame({"S": S, "model": [f"{s:.0f}" for s in S], "k": 1})
            rows = rows.assign(corpus="c", family="f")
            ones = rows.assign(N=1, p=np.exp(-loss), effective=1.0)
            fives = rows.assign(N=5, p=np.exp(-loss * effective), effective=effective)
            row = gumbel.exponent_shifts(pd.concat([ones, fives]), (5,)).iloc[0]
            assert row["difference"] == pytest.approx(row["alpha_N"] - row["alpha_1"])
            inside.append(row["low"] <= planted <= row["high"])
        assert np.mean(inside) == pytest.approx(0.95, abs=3 * np.sqrt(0.95 * 0.05 / 100))


def test_a_planted_exponent_lies_in_its_bootstrap_interval_at_the_stated_rate():
    """200 ladders on 400 documents that are easy or hard for all models alike: 95%, +- 3 errors.

    With fewer documents percentile intervals are somewhat narrow: 93 to 94% of 400 ladders on 150.
    """
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(200):
        row = gumbel.measured_widths(ladder(rng, D=400), draws=400).table.iloc[0]
        assert row["width_low"] == pytest.approx(gumbel.width_decades(row["alpha_high"]))
        inside.append(row["alpha_low"] <= 0.1 <= row["alpha_high"])
    assert np.mean(inside) == pytest.approx(0.95, abs=3 * np.sqrt(0.95 * 0.05 / 200))


def test_median_of_ladders_and_what_is_refused():
    rng = np.random.default_rng(0)
    steep, flat, middle = (ladder(rng, 3, a, 150, f"f{a}") for a in (0.3, 0.05, 0.1))
    short = ladder(rng, family="short", sizes=SIZES[:2])
    found = gumbel.measured_widths([*steep, *flat, *middle, *short], draws=100)
    assert list(found.table["family"]) == ["f0.05", "f0.1", "f0.3"]
    assert found.median == found.table["width"][1] and found.low <= found.median <= found.high
    assert len(found.missing) == 1 and "short" in found.missing[0]
    with pytest.raises(InputError, match="short"):
        gumbel.measured_widths(short)
    with pytest.raises(InputError, match="nothing was measured"):
        gumbel.measured_widths([])
    middle[1].document = np.arange(1, 151)
    with pytest.raises(InputError, match="other documents"):
        gumbel.measured_widths(middle)
    with pytest.raises(InputError, match="k = 7"):
        gumbel.measured_widths(steep, 7)


# -- findings -----------------------------------------------------------------------------------


def test_findings():
    claims = load_claims()
    summaries = load_summaries(pocket.summaries_root())
    published, ours, figure_7 = gumbel.findings_gumbel(summaries)
    assert published.value == pytest.approx(8.79, abs=0.01) and published.n == 24
    assert ours.value == pytest.approx(14.46, abs=0.01) and ours.n == 16
    assert ours.low < ours.value < ours.high and ours.high - ours.low < 1.5
    assert figure_7.value == 1 / 8 and figure_7.when == "k = 2500"
    assert "8 of 8" in figure_7.note
    for one in (published, ours, figure_7):
        assert judge(claims[one.claim], one) == "contradicted"
    alone = gumbel.findings_gumbel([])
    assert [f.source for f in alone] == ["published", "published"]
