"""Two models on the same documents: differences, intervals, what is refused."""

import dataclasses
import json

import numpy as np
import pytest
from conftest import pocket_summaries
from made_summaries import made

from rbpkit.errors import InputError
from rbpkit.paired import differences, most_different
from rbpkit.summary import interval, resample_weights


@pytest.fixture
def pair(shipped):
    named = {s.manifest.model: s for s in shipped if s.manifest.corpus == "pocket:code"}
    return named["pythia-w32-l2"], named["pythia-w128-l5"]


def test_differences_are_paired(pair):
    a, b = pair
    table = differences(a, b, (1, 10)).set_index("quantity")
    place = np.unique(a.document_units, return_inverse=True)[1]
    weights = resample_weights(place.max() + 1)[:, place]
    tokens = weights @ a.document_tokens
    column = a.k_grid.tolist().index(10)
    more_hits = (b.document_hits - a.document_hits)[:, column]
    less_nll = b.document_nll - a.document_nll
    gain = b.rbp(10) - a.rbp(10)
    assert table["B-A"]["RBP_10"] == pytest.approx(gain, abs=1e-15)
    for quantity, of_documents in (("RBP_10", more_hits), ("CE", less_nll)):
        found = table.loc[quantity, ["low", "high"]].tolist()
        assert found == pytest.approx(interval(weights @ of_documents / tokens), abs=1e-12)
    # What both models find hard cancels: the interval is narrower than that of either model.
    low, high = table.loc["CE", ["low", "high"]]
    assert high - low < np.ptp(a.ce_interval()) and high < 0


def test_the_documents_that_differ_most(pair):
    a, b = pair
    documents = most_different(a, b, 3)
    nats = b.document_nll - a.document_nll
    largest = np.sort(np.abs(nats))[::-1][:3]
    np.testing.assert_allclose(documents["nats"].abs(), largest)
    per_token = documents["CE_B"] - documents["CE_A"]
    np.testing.assert_allclose(per_token * documents["tokens"], documents["nats"])


def test_from_k_equal_to_V_on_there_is_no_difference():
    ranks = [1, 2, 3] * 20
    a = made(1, ranks, V=60, nll=np.full(60, 2))
    b = made(2, ranks, V=60, nll=np.full(60, 1.5))
    table = differences(a, b, (50, 60, 100)).set_index("quantity")
    assert (table.loc["RBP_60":, ["A", "B"]] == 1).all(axis=None)
    assert (table.loc["RBP_60":, ["B-A", "low", "high"]] == 0).all(axis=None)
    with pytest.raises(InputError, match="RBP_59"):
        differences(a, b, (59,))


def test_what_does_not_compare_is_refused(pair):
    a, b = pair
    others = {
        "corpus": ("c", "corpus"),
        "fingerprint": ("0" * 64, "fingerprint"),
        "documents": (9, "documents"),
        "max_length": (100, "max_length"),
        "stride": (9, "stride"),
        # As many tokens in each document, and others: of another tokenizer.
        "targets": ("0" * 16, "bits_per_byte"),
    }
    for setting, (value, says) in others.items():
        other = dataclasses.replace(b, manifest=b.manifest.model_copy(update={setting: value}))
        with pytest.raises(InputError, match=says):
            differences(a, other, (1,))
    tokens = b.document_tokens.copy()
    tokens[0] += 1
    with pytest.raises(InputError, match="bits_per_byte"):
        most_different(a, dataclasses.replace(b, document_tokens=tokens), 1)


def test_from_the_command_line(rbpkit, tmp_path):
    for corpus in ("pocket:humaneval", "pocket:qa"):
        summaries = pocket_summaries(tmp_path, corpus, "pythia-w*[28]-l[25]")
    two = ["compare", "pythia-w32-l2", "pythia-w128-l5", "--records", summaries]
    status, out, _ = rbpkit(*two, "--corpus", "pocket:humaneval", "--k", 10)
    assert status == 0 and "RBP_10" in out and len(out.splitlines()) == 3 + 6
    found = json.loads(rbpkit(*two, "--corpus", "pocket:humaneval", "--json")[1])
    assert [row["quantity"] for row in found["differences"]][:2] == ["CE", "RBP_1"]
    assert len(found["documents"]) == 5
    no_model = ["compare", "pythia-w32-l2", "no-such", "--records", summaries]
    for several_corpora_or_no_model in (two, no_model):
        status, _, err = rbpkit(*several_corpora_or_no_model)
        assert status == 2 and err.count("\n") == 1
