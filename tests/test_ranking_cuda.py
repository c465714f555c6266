"""The rank engine on a GPU: the same integers as a naive count on the same logits."""

import pytest
import torch

from rbpkit.ranking import NonFiniteError, logit_chunks, token_ranks

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def head(T, d, V, dtype):
    g = torch.Generator("cuda").manual_seed(0)
    hidden = torch.randn(T, d, generator=g, device="cuda", dtype=dtype)
    matrix = torch.randn(V, d, generator=g, device="cuda", dtype=dtype)
    return hidden, matrix, torch.randint(V, (T,), generator=g, device="cuda")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_equals_the_naive_count_on_the_same_logits(dtype):
    hidden, matrix, targets = head(1000, 64, 5001, dtype)
    matrix[17] = matrix[18]
    targets[:500] = 17
    ranks = token_ranks(hidden, matrix, targets)
    logits = torch.cat([part.clone() for _, part in logit_chunks(hidden, matrix)])
    assert logits.dtype == torch.float32
    target = logits.gather(1, targets[:, None])
    assert torch.equal(ranks.n_greater.long(), (logits > target).sum(1))
    assert torch.equal(ranks.n_equal.long(), (logits == target).sum(1) - 1)
    assert ranks.n_equal[:500].min() >= 1
    nll = torch.nn.functional.cross_entropy(logits.double(), targets, reduction="none")
    torch.testing.assert_close(ranks.nll.double(), nll, rtol=1e-5, atol=1e-5)
    # 16-bit rounding of the product itself would tie hundreds of logits.
    assert ranks.n_equal[500:].max() < 20


def test_head_memory():
    T, V = 16_384, 50_257
    hidden, matrix, targets = head(T, 256, V, torch.bfloat16)
    token_ranks(hidden[:900], matrix, targets[:900])
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    token_ranks(hidden, matrix, targets)
    peak = torch.cuda.max_memory_allocated() - before
    assert peak <= min(512 * 2**20, T * V * 4 / 16)


def test_one_wait_a_call_and_errors_named():
    hidden, matrix, targets = head(3000, 32, 5000, torch.float32)
    token_ranks(hidden, matrix, targets)
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with pytest.warns(UserWarning, match="synchron") as waits:
            token_ranks(hidden, matrix, targets)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len(waits) == 1
    hidden[2345, 3] = float("-inf")
    with pytest.raises(NonFiniteError) as error:
        token_ranks(hidden, matrix, targets)
    assert error.value.row == 2345
    targets[7] = 5000
    with pytest.raises(ValueError, match="target 5000 of token row 7"):
        token_ranks(hidden, matrix, targets)
