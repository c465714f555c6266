"""Measuring end to end: real folders, real files, ranks compared with a naive count."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from rbpkit.corpora import load_corpus
from rbpkit.encoding import encode
from rbpkit.errors import InputError
from rbpkit.measuring import measure, measured_ranks
from rbpkit.models import load_model
from rbpkit.records import Records


def naive(model, encoded) -> np.ndarray:
    """Rows of document, position, greater, equal, nll; one document at a time, in float64."""
    out = []
    for one in encoded.documents:
        ids = torch.from_numpy(one.input_ids.astype(np.int64))[None]
        logits = model.logits(ids)[0].double()
        for i in np.flatnonzero(one.scored):
            row, target = logits[i], int(one.input_ids[i + 1])
            greater, equal = int((row > row[target]).sum()), int((row == row[target]).sum()) - 1
            nll = float(torch.logsumexp(row, 0) - row[target])
            out.append((one.document, i + 1, greater, equal, nll))
    return np.array(out)


@pytest.mark.parametrize("which", ["llama_folder", "capped_folder"])
def test_records_equal_a_naive_count(which, request, text_file, tmp_path):
    model = load_model(request.getfixturevalue(which))
    assert (model.head is None) == (which == "capped_folder")
    corpus = load_corpus(text_file)
    done = measure(model, corpus, tmp_path / "out", max_length=100, batch_tokens=256)
    records = Records.load(done.path)
    expected = naive(model, encode(corpus, model.tokenizer, max_length=100))
    document, position, greater, equal, nll = expected.T
    np.testing.assert_array_equal(records.document, document)
    np.testing.assert_array_equal(records.position, position)
    # Batched and unbatched forward passes differ in last bits, now and then in a rank by one.
    moved = records.n_greater != greater
    assert moved.mean() <= 0.01
    assert np.abs(records.n_greater - greater).max() <= 1
    assert (records.n_equal != equal).sum() <= moved.sum()
    np.testing.assert_allclose(records.nll, nll, atol=2e-4)
    assert np.ptp(greater) > 100  # the model does rank: not all the same


def test_manifest_says_what_was_measured(llama_folder, text_file, tmp_path):
    model, corpus = load_model(llama_folder), load_corpus(text_file)
    manifest = measure(model, corpus, tmp_path / "out", max_length=64).summary.manifest
    assert manifest.model == "tiny-llama" and manifest.family == "llama"
    assert manifest.S == model.S == 2 * (32 * (32 + 16 + 16 + 32) + 3 * 32 * 64 + 2 * 32) + 32
    assert (manifest.V, manifest.max_length, manifest.dtype) == (4096, 64, "float32")
    assert manifest.documents == 6 and manifest.skipped_documents == 1  # "x": one token
    assert manifest.fingerprint == corpus.fingerprint
    assert manifest.tokens == len(Records.load(next((tmp_path / "out").rglob("*.parquet"))).nll)
    # The model's context, 128, is shorter than the default of 512.
    assert measure(model, corpus, tmp_path / "long").summary.manifest.max_length == 128


def test_a_finished_job_is_not_run_again(llama_folder, text_file, tmp_path, monkeypatch):
    model, corpus = load_model(llama_folder), load_corpus(text_file)
    first = measure(model, corpus, tmp_path / "out")
    monkeypatch.setattr("rbpkit.measuring.measured_ranks", lambda *_: pytest.fail("measured again"))
    again = measure(model, corpus, tmp_path / "out")
    assert again.found_done and not first.found_done
    assert again.summary.rbp(7) == first.summary.rbp(7)


def test_nan_in_a_forward_pass_leaves_nothing(llama_folder, text_file, tmp_path):
    model = load_model(llama_folder)
    weight = model.head.weight.clone()
    weight[17, 3] = float("nan")
    broken = dataclasses.replace(model, head=model.head._replace(weight=weight))
    with pytest.raises(InputError, match="column 17"):
        measure(broken, load_corpus(text_file), tmp_path / "out")
    files = (path for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert {path.suffix for path in files} <= {".lock"}


def test_a_model_that_gives_its_own_logits_gets_small_batches(
    capped_folder, text_file, monkeypatch
):
    model = load_model(capped_folder)
    encoded = encode(load_corpus(text_file), model.tokenizer, max_length=128)
    monkeypatch.setattr("rbpkit.measuring.MEMORY_BYTES", 4 * model.V * 130)
    sizes = [batch.input_ids.size for batch, _ in measured_ranks(model, encoded, 10_000)]
    assert len(sizes) > 1 and max(sizes) <= 130
