"""Ranks against a naive count on the same fp32 logits, equal to the integer."""

import itertools

import numpy as np
import pytest
import torch
from conftest import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch.autograd.profiler import profile

from rbpkit import InputError, ranking
from rbpkit.kernels import c_loop, head_plan, tiles
from rbpkit.ranking import NonFiniteError, logit_chunks, logit_ranks, token_ranks

DTYPES = [torch.float32, torch.bfloat16, torch.float16]


@pytest.fixture(params=["torch", "compiled"], scope="module", autouse=True)
def path(request):
    """Every test here counts by torch, and again by the compiled loop."""
    if request.param == "compiled" and c_loop.library() is None:
        pytest.skip("needs a C compiler, and AVX2")
    count = c_loop.count if request.param == "compiled" else tiles.count
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "_counter", lambda device: (request.param, count))
        yield request.param


def assert_naive(ranks, logits, targets):
    """NumPy, float64: nothing in common with the code under test but the logits."""
    rows = logits.double().numpy()
    target = rows[np.arange(len(rows)), targets.numpy()][:, None]
    np.testing.assert_array_equal(ranks.n_greater, (rows > target).sum(axis=1))
    np.testing.assert_array_equal(ranks.n_equal, (rows == target).sum(axis=1) - 1)
    top = rows.max(axis=1, keepdims=True)
    total = np.exp(rows - top).sum(axis=1)
    nll = np.log(total) + (top - target)[:, 0]
    np.testing.assert_allclose(ranks.nll.numpy(), nll, rtol=2e-6, atol=2e-6)
    types = ranks.n_greater.dtype, ranks.n_equal.dtype, ranks.nll.dtype
    assert types == (torch.int32, torch.int32, torch.float32)
    moment = ((rows - top) * np.exp(rows - top)).sum(axis=1)
    entropy = np.log(total) - moment / total
    np.testing.assert_allclose(ranks.p_max, 1 / total, rtol=1e-5)
    np.testing.assert_allclose(ranks.entropy, entropy, rtol=1e-6, atol=2e-6)
    assert (ranks.p_max.dtype, ranks.entropy.dtype) == (torch.float32, torch.float32)


def head(T, d, V, dtype=torch.float32, seed=0, scale=1.0):
    g = torch.Generator().manual_seed(seed)
    hidden = torch.randn(T, d, generator=g).to(dtype)
    matrix = (torch.randn(V, d, generator=g) * scale).to(dtype)
    return hidden, matrix, torch.randint(V, (T,), generator=g)


def joined(*args, **kwargs):
    return torch.cat([logits.clone() for _, logits in logit_chunks(*args, **kwargs)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("softcap", [None, 3.0])
@pytest.mark.parametrize(("T", "V"), [(1, 1), (1, 37), (5, 1), (300, 53), (613, 40)])
def test_equals_the_naive_count_on_the_same_logits(dtype, bias, softcap, T, V, monkeypatch):
    # Several tiles a chunk, and several chunks.
    monkeypatch.setattr(tiles, "_TILE_FLOATS", 40 * V)
    hidden, matrix, targets = head(T, 16, V, dtype)
    bias = torch.linspace(-3, 3, V).to(dtype) if bias else None
    options = {"bias": bias, "softcap": softcap, "scale": 1.0 if softcap is None else 0.3}
    logits = joined(hidden, matrix, **options)
    assert logits.dtype == torch.float32
    exact = hidden.double() @ matrix.double().T + (0 if bias is None else bias.double())
    exact = exact if softcap is None else softcap * torch.tanh(0.3 * exact / softcap)
    torch.testing.assert_close(logits.double(), exact, rtol=1e-5, atol=1e-5)
    assert_naive(token_ranks(hidden, matrix, targets, **options), logits, targets)


@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_products_whatever_the_chunks(dtype, monkeypatch):
    # Small integers: the fp32 product has no rounding, so every chunking has the same logits,
    # and ties are many.
    g = torch.Generator().manual_seed(1)
    hidden = torch.randint(-2, 3, (301, 6), generator=g).to(dtype)
    matrix = torch.randint(-2, 3, (97, 6), generator=g).to(dtype)
    targets = torch.randint(97, (301,), generator=g)
    logits = (hidden.double() @ matrix.double().T).float()
    reference = token_ranks(hidden, matrix, targets)
    assert_naive(reference, logits, targets)
    assert (reference.n_equal > 3).sum() > 50
    lengths = set()
    for memory in (30_000, 45_000, 80_000, 10**6):
        monkeypatch.setattr(head_plan, "MEMORY_BYTES", memory)
        lengths.add(next(logit_chunks(hidden, matrix))[1].shape[0])
        ranks = token_ranks(hidden, matrix, targets)
        assert torch.equal(ranks.n_greater, reference.n_greater)
        assert torch.equal(ranks.n_equal, reference.n_equal)
    assert len(lengths) >= 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_leading_shape_with_ignored_places(dtype, monkeypatch):
    monkeypatch.setattr(head_plan, "MEMORY_BYTES", 8 * 31 * 4)  # four rows at a time
    rounded = head(36, 31, 1, dtype)[0].mul(2).round()
    logits = rounded.view(2, 3, 6, 31)[:, :, :-1]
    targets = torch.arange(30).view(2, 3, 5) % 20
    targets[:, :, 0] = -100
    logits[:, :, 0] = torch.nan  # nobody looks there
    ranks = logit_ranks(logits, targets)
    scored = targets >= 0
    assert not ranks.rank()[~scored].any()
    assert ranks.nll.isnan().equal(~scored) and ranks.entropy.isnan().equal(~scored)
    flat = ranking.TokenRanks(*(values[scored] for values in vars(ranks).values()))
    assert_naive(flat, logits[scored], targets[scored])
    alone = logit_ranks(logits[1, 1, 1], targets[1, 1, 1])
    assert alone.rank().shape == ()
    assert alone.rank() == ranks.rank()[1, 1, 1]
    logits[0, 1, 3, 7] = torch.inf
    with pytest.raises(NonFiniteError, match="token row 8, vocabulary column 7, is inf"):
        logit_ranks(logits, targets)


@pytest.mark.parametrize("memory", [2 * 4 * 1004, 1])
def test_chunks_of_one_row(memory, monkeypatch):
    monkeypatch.setattr(head_plan, "MEMORY_BYTES", memory)
    hidden, matrix, targets = head(7, 4, 1000)
    assert [len(x) for _, x in logit_chunks(hidden, matrix)] == [1] * 7
    assert_naive(token_ranks(hidden, matrix, targets), joined(hidden, matrix), targets)


def test_no_tokens():
    hidden, matrix, targets = head(0, 4, 9)
    for ranks in (token_ranks(hidden, matrix, targets), logit_ranks(hidden, targets)):
        assert [len(x) for x in (ranks.n_greater, ranks.n_equal, ranks.nll)] == [0, 0, 0]
        assert ranks.rank().dtype == torch.int32


def test_ties_and_targets_at_both_ends():
    logits = torch.tensor([[2.0, 1.0, 2.0, 3.0], [5.0, 5.0, 5.0, 5.0], [0.0, -0.0, 1.0, -1.0]])
    first = logit_ranks(logits, torch.tensor([0, 0, 0]))
    last = logit_ranks(logits, torch.tensor([3, 3, 3]))
    assert (first.n_greater + 1).tolist() == [2, 1, 2]
    assert first.rank().tolist() == [3, 4, 3]
    assert last.rank().tolist() == [1, 4, 4]
    assert (last.n_greater + 1).tolist() == [1, 1, 4]
    np.testing.assert_allclose(last.nll[1], np.log(4), rtol=1e-6)


def test_neighbouring_floats_are_not_ties():
    one = torch.tensor(1.0)
    row = torch.stack([one, one.nextafter(one + 1), one.nextafter(one - 1), one])
    tiny = torch.tensor([0.0, 1e-45, -1e-45, 0.0])  # the smallest denormals
    ranks = logit_ranks(torch.stack([row, tiny]), torch.tensor([0, 0]))
    assert ranks.n_greater.tolist() == [1, 1]
    assert ranks.n_equal.tolist() == [1, 1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_logits_are_counted_in_their_own_dtype_and_left_alone(dtype):
    logits = head(90, 200, 1, dtype)[0]
    before, targets = logits.clone(), torch.arange(90)
    assert_naive(logit_ranks(logits, targets), logits, targets)
    assert torch.equal(logits, before)
    across = torch.arange(200) % 90
    assert_naive(logit_ranks(logits.T, across), logits.T, across)


def test_large_logits_do_not_overflow():
    logits = torch.tensor([[1e4, 0.0, -1e4], [200.0, 0.0, 100.0], [3e38, 3e38, -1.0]])
    ranks = logit_ranks(logits, torch.tensor([1, 1, 0]))
    assert_naive(ranks, logits, torch.tensor([1, 1, 0]))
    hidden = torch.tensor([[1.0], [2e-38]])
    matrix = torch.tensor([[500.0], [0.0], [3e38]])
    ranks = token_ranks(hidden, matrix, torch.tensor([1, 1]))
    assert_naive(ranks, joined(hidden, matrix), torch.tensor([1, 1]))


def test_entropy_at_both_ends_and_beyond_the_range_of_exp():
    flat, sure = torch.full((1, 5000), -7.0), torch.zeros(1, 5000)
    sure[0, 4000] = 1e4
    far = torch.cat([torch.full((1, 2500), 3e38), torch.full((1, 2500), -3e38)], dim=1)
    logits, targets = torch.cat([flat, sure, far]), torch.tensor([4999, 4000, 3])
    ranks = logit_ranks(logits, targets)
    expected = torch.tensor([np.log(5000), 0, np.log(2500)], dtype=torch.float32)
    torch.testing.assert_close(ranks.entropy, expected)
    torch.testing.assert_close(ranks.p_max, torch.tensor([1 / 5000, 1, 1 / 2500]))
    torch.testing.assert_close(ranks.nll, expected)
    assert ranks.rank().tolist() == [5000, 1, 2500]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("is_target", [False, True])
def test_non_finite_logits_are_named(value, is_target):
    logits, _, _ = head(700, 50, 1)
    targets = torch.full((700,), 7 if is_target else 8)
    logits[613, 7] = logits[650, 3] = value
    with pytest.raises(NonFiniteError, match="token row 613, vocabulary column 7") as error:
        logit_ranks(logits, targets)
    assert (error.value.row, error.value.column) == (613, 7)


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), 1e38])
@pytest.mark.parametrize("where", ["hidden", "unembedding"])
@pytest.mark.parametrize("softcap", [None, 5.0])  # the cap of an infinite logit is finite
def test_non_finite_heads_are_named(value, where, softcap, monkeypatch):
    # Several tiles before row 613.
    monkeypatch.setattr(tiles, "_TILE_FLOATS", 50 * 30)
    hidden, matrix, targets = head(700, 8, 50)
    targets %= 17  # never the bad column: -inf there leaves no trace in the loss
    hidden, matrix = hidden.abs() + 4, matrix.abs() + 4
    (hidden[613] if where == "hidden" else matrix[17])[0] = value
    with pytest.raises(NonFiniteError) as error:
        token_ranks(hidden, matrix, targets, softcap=softcap, scale=100.0)
    assert (error.value.row, error.value.column) == ((613, 0) if where == "hidden" else (0, 17))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden": torch.zeros(3, 5)}, r"unembedding must be \(V, 5\) of"),
        ({"unembedding": torch.zeros(0, 4), "bias": None}, "vocabulary has 0 entries"),
        ({"targets": torch.zeros(2, dtype=torch.int64)}, r"targets must be \(3,\) .* not \(2,\)"),
        ({"scale": 0}, "scale must be a positive, finite number"),
        ({"softcap": float("nan")}, "softcap must be a positive, finite number"),
        ({"targets": torch.tensor([0, -1, 9])}, r"target -1 of token row 1 is not in \[0, 9\)"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    right = {
        "hidden": torch.zeros(3, 4),
        "unembedding": torch.zeros(9, 4),
        "targets": torch.tensor([0, 8, 3], dtype=torch.int32),
        "bias": torch.zeros(9),
    }
    assert token_ranks(**right).rank().tolist() == [9, 9, 9]
    refused(message, token_ranks, **{**right, **change})
    with pytest.raises(InputError, match=r"logits must be \(\.\.\., V\)"):
        logit_ranks(torch.zeros(2, 3, dtype=torch.float64), torch.tensor([0, 1]))


# A few values give ties; wide ones give losses that overflow exp.
NUMBERS = st.sampled_from([0.0, 1.0, -1.0]) | st.floats(-500, 500, width=32)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 40))
def test_any_logits(data, V):
    logits = torch.from_numpy(data.draw(arrays(np.float32, (4, V), elements=NUMBERS)))
    targets = torch.from_numpy(data.draw(arrays(np.int64, 4, elements=st.integers(0, V - 1))))
    ranks = logit_ranks(logits, targets)
    assert_naive(ranks, logits, targets)
    # R entries are at least as likely as the target, so p(t) <= 1 / R.
    assert (ranks.nll.double() >= ranks.rank().double().log() - 1e-6).all()


def peak_bytes(call):
    """Largest sum of CPU allocations alive at once in `call`, by the allocator's own events."""
    with profile(profile_memory=True) as record:
        result = call()
    events = [e for e in record.kineto_results.events() if e.name() == "[memory]"]
    sizes = [e.nbytes() for e in sorted(events, key=lambda e: e.start_ns())]
    del result
    return max(itertools.accumulate(sizes))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("budget", [3 * 2**19, 2**19, 2**18])  # the last is the matrix
def test_memory_stays_in_the_budget(dtype, budget, monkeypatch):
    monkeypatch.setattr(head_plan, "MEMORY_BYTES", budget)
    T, d, V = 1200, 64, 1024
    hidden, matrix, targets = head(T, d, V, dtype)
    options = {"softcap": 30.0}
    peak = peak_bytes(lambda: token_ranks(hidden, matrix, targets, **options))
    assert budget / 4 < peak <= budget + 21 * T
    assert peak < T * V * 4 / 3


def test_autocast_and_grad_do_not_touch_the_head():
    hidden, matrix, targets = head(50, 16, 300)
    plain = token_ranks(hidden, matrix, targets)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = token_ranks(hidden.requires_grad_(), matrix, targets)
    assert torch.equal(cast.rank(), plain.rank())
    assert torch.equal(cast.nll, plain.nll)
    assert not cast.nll.requires_grad


def test_threads_change_no_bit(path):
    hidden, matrix, targets = head(600, 48, 4096, scale=0.2)
    logits, several = joined(hidden, matrix), []
    for n in (1, 3):
        torch.set_num_threads(n)
        several.append(logit_ranks(logits, targets))
    for name in ("n_greater", "n_equal", "nll", "p_max", "entropy"):
        one, three = (getattr(ranks, name) for ranks in several)
        assert torch.equal(one, three) or path == "torch"


@pytest.mark.parametrize("compiler", [None, "/bin/false", "/bin/true"])
def test_without_a_working_compiler_torch_counts(compiler, monkeypatch):
    monkeypatch.setattr(c_loop.shutil, "which", lambda name: compiler)
    assert c_loop.library.__wrapped__() is None
