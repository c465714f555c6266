"""What batches and 16-bit bodies change: counted, and bounded for float32."""

from __future__ import annotations

import numpy as np
import pytest

from rbpkit.corpora import load_corpus
from rbpkit.encoding import encode
from rbpkit.errors import InputError
from rbpkit.measuring import measured_ranks
from rbpkit.models import load_model
from rbpkit.pocket import ladders
from rbpkit.tools import comparisons
from rbpkit.tools.comparisons import compare_batch_sizes, compare_dtypes, comparison_table

MOST = 1e-4  # change in RBP_k that batches may make in float32
ALL = [(family, size) for family in ladders.LADDERS for size in range(len(ladders.LADDERS[family]))]


@pytest.mark.parametrize("family", list(ladders.LADDERS))
def test_batches_hardly_change_float32(family):
    model = load_model(ladders.model_folder(family, 0), device="cpu")
    first, second = compare_batch_sizes(
        model, load_corpus("pocket:code", documents=60), (8192, 256)
    )
    assert first.tokens == second.tokens > 5000
    assert (first.changed, first.largest, first.CE_change) == (0, 0, 0.0)
    assert not any(first.rbp_change.values())
    assert second.changed <= 1e-3 * second.tokens
    assert all(abs(change) <= MOST for change in second.rbp_change.values())
    assert abs(second.CE_change) <= 1e-5
    assert 0.05 < second.rbp[1] < second.rbp[10] < second.rbp[100] < 1


@pytest.mark.slow
@pytest.mark.parametrize(("family", "size"), ALL)
def test_batches_hardly_change_any_pocket_model(family, size, capsys):
    model = load_model(ladders.model_folder(family, size), device="cpu")
    _, second = compare_batch_sizes(model, load_corpus("pocket:code", documents=200), (8192, 256))
    with capsys.disabled():
        most = max(map(abs, second.rbp_change.values()))
        print(
            f"\n{model.name}: {second.changed} of {second.tokens:,} ranks changed, by"
            f" {second.largest} at most; RBP_k by {most:.1e}"
        )
    assert all(abs(change) <= MOST for change in second.rbp_change.values())


def test_dtypes_equal_what_measuring_gives(llama_folder, text_file):
    """Oracle: the ranks of each dtype by another way, batch after batch, compared by hand."""
    corpus = load_corpus(text_file)
    results = compare_dtypes(llama_folder, corpus, device="cpu", ks=(1, 100))
    assert [one.setting for one in results] == ["float32", "bfloat16", "float16"]
    ranks, ties, losses = {}, {}, {}
    for one in results:
        model = load_model(llama_folder, dtype=one.setting, device="cpu")
        encoded = encode(corpus, model.tokenizer, max_length=128)
        found = [ranks for _, ranks in measured_ranks(model, encoded)]
        ranks[one.setting] = np.concatenate([one.rank().numpy() for one in found])
        ties[one.setting] = sum(int((one.n_equal > 0).sum()) for one in found)
        losses[one.setting] = np.concatenate([one.nll.numpy() for one in found])
    for one in results:
        rank, reference = ranks[one.setting], ranks["float32"]
        assert one.tokens == len(rank)
        assert one.changed == (rank != reference).sum()
        assert one.largest == np.abs(rank - reference).max()
        assert one.tied == ties[one.setting]
        assert one.CE == pytest.approx(losses[one.setting].mean(dtype=np.float64), rel=1e-12)
        assert one.CE_change == pytest.approx(one.CE - results[0].CE, abs=1e-12)
        for k in (1, 100):
            assert one.rbp[k] == (rank <= k).mean()
            assert one.rbp_change[k] == (rank <= k).mean() - (reference <= k).mean()
        assert one.speed > 0
    # These weights are wide, so a 16-bit body does move ranks, bfloat16 the more.
    assert results[1].changed > results[2].changed > 0


def test_a_change_is_counted():
    """Made columns: ranks 1, 41, 301 and 10 become 2, 46, 299 and 10."""

    def columns(n_greater, nll):
        return {
            "n_greater": np.array(n_greater, dtype=np.int32),
            "n_equal": np.array([0, 0, 0, 1], dtype=np.int32),
            "nll": np.array(nll, dtype=np.float32),
        }

    first, second = comparisons._compared(
        [
            ("one", columns([0, 40, 300, 8], [1, 2, 3, 4]), 10.0),
            ("two", columns([1, 45, 298, 8], [1, 2, 3, 6]), 20.0),
        ],
        (1, 10, 45),
    )
    assert (first.changed, first.largest, first.tied, first.CE) == (0, 0, 1, 2.5)
    assert (second.changed, second.largest, second.tied, second.CE) == (3, 5, 1, 3.0)
    assert first.rbp == {1: 0.25, 10: 0.5, 45: 0.75} and second.rbp == {1: 0, 10: 0.5, 45: 0.5}
    assert second.rbp_change == {1: -0.25, 10: 0, 45: -0.25}
    assert (second.CE_change, second.speed) == (0.5, 20.0)
    table = comparison_table([first, second])
    assert list(table["RBP_45_change"]) == [0, -0.25] and list(table["changed"]) == [0, 3]


def test_bad_settings_are_refused(llama_folder, text_file):
    model, corpus = load_model(llama_folder, device="cpu"), load_corpus(text_file)
    with pytest.raises(InputError, match=r"two or more different batch budgets .*: 64"):
        compare_batch_sizes(model, corpus, (64,))
    with pytest.raises(InputError, match=r"two or more different batch budgets .*: 64, 64"):
        compare_batch_sizes(model, corpus, (64, 64))
    with pytest.raises(InputError, match="batch_tokens=0"):
        compare_batch_sizes(model, corpus, (0, 64))
    with pytest.raises(InputError, match="k "):
        compare_batch_sizes(model, corpus, (1, 64), ks=(0,))
    with pytest.raises(InputError, match="dtype 'float8' is not known; use float32, bfloat16"):
        compare_dtypes(llama_folder, corpus, ("float32", "float8"))
    with pytest.raises(InputError, match="two or more different dtypes"):
        compare_dtypes(llama_folder, corpus, ("float32",))
