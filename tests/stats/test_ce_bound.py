"""What CE forces on ranks: the bound holds for any distribution, and is sharp."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rbpkit.stats.bounds import ce_bound


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    logits=arrays(np.float64, (7, 12), elements=st.floats(-30, 30).map(lambda x: round(x, 1))),
    targets=arrays(np.int64, 7, elements=st.integers(0, 11)),
)
def test_the_bound_holds_for_any_distribution(logits, targets):
    """Ties included: the logits are rounded, and R counts them against the target."""
    p = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    at = logits[np.arange(7), targets]
    rank = (logits >= at[:, None]).sum(axis=1)
    nll = -np.log(p[np.arange(7), targets])
    assert (nll >= np.log(rank) - 1e-12).all()
    assert np.log(rank).mean() <= nll.mean() + 1e-12
    for k in range(1, 13):
        assert (rank <= k).mean() >= ce_bound(max(nll.mean(), 0.0), k) - 1e-12


def test_the_bound_is_sharp_and_there_is_none_from_above():
    k, share = 9, 0.3
    ce = share * np.log(k + 1)  # a share of tokens at rank k + 1 of k + 1 tied, the rest certain
    assert ce_bound(ce, k) == pytest.approx(1 - share)
    assert ce_bound(np.log(k + 1) + 1, k) == 0
    # 1 - 3.416736 / ln 101, by hand
    assert ce_bound(3.416736, 100) == pytest.approx(0.2597, abs=1e-4)
    V = 1000  # rank 1 with nearly uniform probability: RBP_1 = 1 and CE near ln V
    p = np.full(V, (1 - 1.001 / V) / (V - 1))
    p[0] = 1.001 / V
    assert p[0] > p[1] and -np.log(p[0]) == pytest.approx(np.log(V), abs=0.002)
