"""The Triton kernel on CPU tensors, by Triton's interpreter, against the naive count.

The interpreter is chosen before Triton is imported, so this file has its own process:
`make test-gpu-dry`, or `test_ranking_triton.py`, which runs the cases of few columns.
"""

import os

import pytest
import torch

if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("needs TRITON_INTERPRET=1, as in make test-gpu-dry", allow_module_level=True)

from test_ranking import (  # noqa: F401  these are run here too
    assert_naive,
    test_any_leading_shape_with_ignored_places,
    test_chunks_of_one_row,
    test_entropy_at_both_ends_and_beyond_the_range_of_exp,
    test_large_logits_do_not_overflow,
    test_neighbouring_floats_are_not_ties,
    test_no_tokens,
    test_ties_and_targets_at_both_ends,
)

from rbpkit import ranking
from rbpkit.kernels import one_pass as kernel_module
from rbpkit.ranking import NonFiniteError, logit_ranks

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
BLOCK = kernel_module.BLOCK
COLUMNS = [1, 2, 37, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5]
STRIDES = {
    "contiguous": lambda x: x,
    "rows apart": lambda x: torch.cat([x, x + 1], dim=1)[:, : x.shape[1]],
    "columns apart": lambda x: x.T.contiguous().T,
}


@pytest.fixture(autouse=True)
def kernel(monkeypatch):
    assert kernel_module.runs_on(torch.device("cpu"))
    monkeypatch.setattr(ranking, "_counter", lambda device: ("triton", kernel_module.count))


def rows(V, dtype):
    """Random, with many ties, all equal, and far below zero -> (8, V), targets at both ends."""
    g = torch.Generator().manual_seed(V)
    random = torch.randn(4, V, generator=g) * 3
    ties = torch.randint(-1, 2, (2, V), generator=g)
    logits = torch.cat([random[:2], ties, torch.full((2, V), 0.5), random[2:] - 90]).to(dtype)
    return logits, torch.tensor([0, V - 1] * 4)


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("V", COLUMNS)
def test_equals_the_naive_count(V, dtype, stride):
    logits, targets = rows(V, dtype)
    logits = STRIDES[stride](logits)
    assert_naive(logit_ranks(logits, targets), logits, targets)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_real_vocabulary(dtype):
    logits, targets = (part[1:7:2] for part in rows(50_257, dtype))
    assert_naive(logit_ranks(logits, targets), logits, targets)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("column", [0, 7, BLOCK, BLOCK + 36])  # the last one is the last
def test_non_finite_logits_are_named(value, column, dtype):
    logits, _ = rows(BLOCK + 37, dtype)
    logits[3, column] = logits[5, 1] = value
    for target in (column, 8):
        with pytest.raises(NonFiniteError) as error:
            logit_ranks(logits, torch.full((8,), target))
        assert (error.value.row, error.value.column) == (3, column)
