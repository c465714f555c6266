"""The Triton kernel on CPU tensors, by Triton's interpreter, against the naive count.

The interpreter is chosen before Triton is imported, so this file has a process of its own:
`make test-gpu-dry`, or `test_ranking_triton.py`, which runs the cases of few columns.
"""

import os

import numpy as np
import pytest
import torch

if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("needs TRITON_INTERPRET=1, as in make test-gpu-dry", allow_module_level=True)

from test_ranking import (  # noqa: F401  these are run here too
    assert_naive,
    test_entropy_at_both_ends_and_beyond_the_range_of_exp,
    test_large_logits_do_not_overflow,
    test_neighbouring_floats_are_not_ties,
    test_no_tokens,
    test_ties_and_targets_at_both_ends,
)

from rbpkit import ranking
from rbpkit.kernels import one_pass as kernel_module
from rbpkit.ranking import NonFiniteError, logit_ranks, token_ranks

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
BLOCK = kernel_module.CONFIGS[0].kwargs["BLOCK"]
COLUMNS = [1, 2, 37, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5]
STRIDES = {
    "contiguous": lambda x: x,
    "rows apart": lambda x: torch.cat([x, x + 1], dim=1)[:, : x.shape[1]],
    "columns apart": lambda x: x.T.contiguous().T,
}


@pytest.fixture(autouse=True)
def kernel(monkeypatch):
    one_pass = kernel_module.count if kernel_module.runs_on(torch.device("cpu")) else None
    assert one_pass is not None
    monkeypatch.setattr(ranking, "_counter", lambda device: one_pass)


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
    check(*rows(V, dtype), stride)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_real_vocabulary(dtype):
    logits, targets = rows(50_257, dtype)
    check(logits[1:7:2], targets[1:7:2], "contiguous")


def check(logits, targets, stride):
    logits = STRIDES[stride](logits)
    assert_naive(logit_ranks(logits, targets, entropy=True), logits, targets)


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


def test_any_logits_of_a_few_values():
    logits = torch.from_numpy(np.random.default_rng(0).choice([0, 1, -1, 300, -300.5], (40, 40)))
    targets = torch.arange(40)
    assert_naive(logit_ranks(logits.float(), targets), logits.float(), targets)


def test_a_head_in_chunks():
    g = torch.Generator().manual_seed(1)
    hidden, matrix = torch.randn(30, 8, generator=g), torch.randn(70, 8, generator=g)
    targets, memory = torch.arange(30), 64 * 30 + 4 * 70 * 30 + 7 * 4 * 78
    found = token_ranks(hidden, matrix, targets, memory_bytes=memory)
    chunks = ranking.logit_chunks(hidden, matrix, memory_bytes=memory)
    assert_naive(found, torch.cat([x.clone() for _, x in chunks]), targets)


def test_counts_up_to_the_largest_vocabulary():
    """2^24 - 1 columns; in large blocks, for the interpreter's sake."""
    V = 2**24 - 1
    logits, targets = torch.zeros(2, V), torch.tensor([0, V - 1])
    logits[1, :-1] = 1
    counts = torch.empty((2, 2), dtype=torch.int32)
    numbers, finite = torch.empty((3, 2)), torch.empty(2, dtype=torch.int8)
    arguments = (logits, V, 1, targets, *counts, *numbers, finite, V)
    kernel_module.kernel[(2,)](*arguments, BLOCK=2**20)
    assert counts.tolist() == [[0, V - 1], [V - 1, 0]]
    assert finite.tolist() == [1, 1]
    expected = [np.log(V), np.log(V - 1 + np.exp(-1)) + 1]
    np.testing.assert_allclose(numbers[0], expected, rtol=1e-5)


def whole_numbers(T, d, V, dtype):
    """hidden, matrix, bias of small whole numbers: every product is exact, and many tie."""
    g = torch.Generator().manual_seed(V)
    hidden, matrix = (torch.randint(-3, 4, (n, d), generator=g).to(dtype) for n in (T, V))
    return hidden, matrix, torch.randint(-2, 3, (V,), generator=g).to(dtype)


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
@pytest.mark.parametrize(("T", "d", "V"), [(5, 16, 37), (70, 96, 200), (3, 48, 1), (64, 32, 64)])
def test_a_fused_head_counts_as_the_logits_would(T, d, V, dtype, with_bias):
    hidden, matrix, bias = whole_numbers(T, d, V, dtype)
    bias = bias if with_bias else None
    targets = torch.arange(T) % V
    targets[-1] = V - 1
    found = token_ranks(hidden, matrix, targets, bias=bias, entropy=True, fused=True)
    logits = hidden.float() @ matrix.float().T + (0 if bias is None else bias.float())
    assert_naive(found, logits, targets)


def test_a_fused_head_on_real_numbers_differs_only_among_neighbours():
    g = torch.Generator().manual_seed(1)
    hidden, matrix = (torch.randn(n, 48, generator=g).bfloat16() for n in (40, 300))
    targets = torch.arange(40)
    found = token_ranks(hidden, matrix, targets, fused=True)
    exact = hidden.double() @ matrix.double().T
    own = exact.gather(1, targets[:, None])
    close = ((exact - own).abs() < 1e-4).sum(1) - 1
    away = (found.n_greater - (exact > own).sum(1)).abs()
    assert (away <= close).all()


def test_tokens_whose_own_logit_was_another_are_counted_from_logits(monkeypatch):
    from rbpkit.kernels import fused_head

    hidden, matrix, _ = whole_numbers(9, 16, 50, torch.bfloat16)
    count = fused_head.count

    def doubtful(*arguments):
        met = count(*arguments)
        for result in arguments[-1][:5]:
            result[3:5] = -1
        met[3:5] = False
        return met

    monkeypatch.setattr(fused_head, "count", doubtful)
    targets = torch.arange(9)
    found = token_ranks(hidden, matrix, targets, entropy=True, fused=True)
    assert_naive(found, hidden.float() @ matrix.float().T, targets)
    assert (found.entropy >= 0).all()


def test_a_fused_head_refuses_as_the_other_does():
    hidden, matrix, _ = whole_numbers(9, 16, 50, torch.bfloat16)
    with pytest.raises(ValueError, match="target 50 of token row 0"):
        token_ranks(hidden, matrix, torch.full((9,), 50), fused=True)
    for unfit in ((hidden.float(), matrix), (hidden[:, :8], matrix[:, :8])):
        with pytest.raises(ValueError, match="needs bfloat16 or float16"):
            token_ranks(*unfit, torch.arange(9), fused=True)
    hidden[4, 2] = float("nan")
    with pytest.raises(NonFiniteError) as error:
        token_ranks(hidden, matrix, torch.arange(9), fused=True)
    assert error.value.row == 4
