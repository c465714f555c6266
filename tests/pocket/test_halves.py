"""The parts of cross-entropy on halves of the texts."""

import numpy as np
import pytest
from scipy.special import entr

from rbpkit_pocket.halves import HALVINGS, halves_of_units, parts_of_ce


def test_the_three_parts_of_cross_entropy_add_up_to_it():
    random = np.random.default_rng(0)
    rank = random.geometric(0.3, size=500)
    nll = np.log(rank) + random.exponential(size=500)
    parts = parts_of_ce(rank, nll)
    terms = parts["error_entropy"] + parts["self_alignment"] + parts["confidence"]
    assert parts["CE"] == pytest.approx(nll.mean()) == pytest.approx(terms)
    shares = np.bincount(rank)[1:] / rank.size
    assert parts["error_entropy"] == pytest.approx(entr(shares).sum())


def test_halves_are_complementary_and_split_no_unit():
    units = np.repeat(np.arange(20), 3)
    halves = {(split, half): mask for split, half, mask in halves_of_units(units)}
    assert len(halves) == 2 * HALVINGS
    for split in range(HALVINGS):
        first, second = halves[split, 0], halves[split, 1]
        assert (first ^ second).all() and first.sum() == second.sum()
        assert set(units[first]).isdisjoint(units[second])
