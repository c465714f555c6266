"""k by share of V."""

from __future__ import annotations

import pytest

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.stats.misses import k_at_share


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
