"""Windows of N tokens: against simulation, the counts behind Figure 7."""

import itertools

import numpy as np
import pytest
from made_summaries import made

from rbpkit.errors import InputError
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
    with pytest.raises(InputError, match="up to 9000"):
        windows.denominator(shares, 9000, reading=1e-9)


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


def test_windows_of_the_paper_stay_inside_its_1000_documents():
    published = windows.published_windows()
    count = published.groupby("N")["windows"].first()
    # W_N = sum of (n_d - N + 1): every further token costs one window a document that has it.
    assert count[1] == 317_684 and count[2] == count[1] - 1000 and count[10] == count[1] - 9000
    # The counts must give the shares back, to the precision of the reading.
    assert (published["hits"] / published["windows"] - published["p"]).abs().max() <= 6e-7
    # 353 of the 428 windows of 100 of the largest model lie in one run of 452 tokens.
    largest = published.query("model == 'pythia-12b' and k == 1").set_index("N")
    assert largest["hits"][100] == 428
    assert largest["runs_low"][200] == largest["runs_high"][200] == 1
    assert largest["hits"][200] + 199 == 452
