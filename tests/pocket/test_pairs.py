"""Pairs of tokens that repeat, and totals over some tokens alone."""

import numpy as np
import pytest
from made_summaries import records_of

from rbpkit_pocket.ablations import completes_pair, totals_of, totals_of_tokens


def some_records(seed: int, T: int = 600, V: int = 12):
    """Random ranks of few kinds of token, in some twenty documents, one or two of one token."""
    rng = np.random.default_rng(seed)
    document = np.sort(np.append(rng.integers(0, 20, T - 1), 20))
    document = np.unique(document, return_inverse=True)[1]
    ranks = rng.integers(1, V + 1, T)
    return records_of(ranks, document, target=rng.integers(0, V, T), V=V)


@pytest.mark.parametrize("seed", range(4))
def test_a_pair_repeats_by_a_loop(seed):
    records = some_records(seed)
    target, document = records.target.tolist(), records.document.tolist()
    expected = []
    for i in range(len(target)):
        begins = document.index(document[i])
        before = {(target[j - 1], target[j]) for j in range(begins + 1, i)}
        expected.append(i > begins and (target[i - 1], target[i]) in before)
    assert 0 < sum(expected) < len(expected)
    assert completes_pair(records).tolist() == expected


def test_totals_of_two_kinds_add_up_to_the_whole():
    records = some_records(0)
    chosen = completes_pair(records)
    pairs = totals_of_tokens(records, chosen)
    others = totals_of_tokens(records, ~chosen)
    assert pairs.manifest.tokens == chosen.sum()
    assert others.manifest.tokens == (~chosen).sum()
    assert pairs.rbp(1) == (records.rank()[chosen] == 1).mean()
    assert pairs.ce() == pytest.approx(records.nll[chosen].astype(float).mean())
    whole, expected = pairs.plus(others), totals_of(records.summary)
    assert whole.manifest == expected.manifest and whole.hits == expected.hits
    assert whole.nll == pytest.approx(expected.nll)
