"""Windows of N tokens: against simulation."""

import itertools

import numpy as np
import pytest
from conftest import refused
from made_summaries import made

from rbpkit_notebooks import windows


def test_independent_tokens_give_eq_6():
    ranks = np.where(np.random.default_rng(3).random(400_000) < 0.7, 1, 2)
    summary = made(10_000, ranks, documents=np.zeros_like(ranks))
    table, _ = windows.measured_windows([summary], ["c"], ["f"], [2, 5, 10], [1])
    table = table.set_index("N")
    assert table["p"].to_numpy() == pytest.approx(table["independent"], abs=0.004)
    assert table["effective"].to_numpy() == pytest.approx(table.index, rel=0.02)


def test_denominator_finds_the_count_that_shares_come_from():
    rng = np.random.default_rng(5)
    shares = rng.integers(1, 9001, 12) / 9001
    noisy = shares + rng.uniform(-4e-7, 4e-7, 12)
    assert windows.denominator(noisy, 20_000) == 9001
    refused("up to 9000", windows.denominator, shares, 9000, reading=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_run_bounds_hold_the_true_number_of_runs(seed):
    rng = np.random.default_rng(seed)
    documents = [rng.random(200) < rng.uniform(0.5, 0.98) for _ in range(30)]
    runs = []
    for document in documents:
        groups = itertools.groupby(document)
        runs += [len([*group]) for hit, group in groups if hit]
    hits = {}
    for N in (1, 2, 5, 10, 20, 50):
        hits[N] = sum(max(run - N + 1, 0) for run in runs)
    for N in hits:
        low, high = windows.run_bounds(hits, N, longest=200)
        assert low <= sum(run >= N for run in runs) <= high
