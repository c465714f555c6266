"""Pairs of runs that differ in one thing, of notebook 20: all ship, at the same size."""

from __future__ import annotations

from itertools import chain

import pytest

from rbpkit_pocket.ablations import load_totals
from rbpkit_pocket.contrasts import PAIRS, SEEDS, new_pairs, side
from rbpkit_pocket.paths import CONTRASTS


def test_every_run_of_a_pair_ships_and_has_the_size_of_the_other():
    S = {run.manifest.model: run.manifest.S for run in load_totals(CONTRASTS)}
    pairs = [*chain.from_iterable(map(new_pairs, PAIRS))]
    assert len(set(pairs)) == 45 and len({*chain.from_iterable(pairs)}) == 63
    for changed, other in pairs:
        assert S[changed] == pytest.approx(S[other], rel=0.02)
    for change in ("unchanged", "tokens", "wide", "deep"):
        for seed in SEEDS:
            sizes = {S[name] for name in side(change, seed)}
            assert len(sizes) == (3 if change == "deep" else 4)
