"""Two models on the same documents: differences, intervals, what is refused."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from made_summaries import made

from rbpkit.corpora import load_corpus
from rbpkit.errors import InputError
from rbpkit.resampling import interval, resample_weights
from rbpkit.stats.paired import differences, most_different
from rbpkit_pocket import paths


@pytest.fixture
def pair(shipped):
    small, large = "pythia-w32-l2", "pythia-w128-l5"
    named = {s.manifest.model: s for s in shipped if s.manifest.corpus == "pocket:code"}
    return named[small], named[large]


def test_differences_are_paired(pair):
    a, b = pair
    table = differences(a, b, (1, 10)).set_index("quantity")
    weights = resample_weights(a.document_units)
    tokens = weights @ a.document_tokens
    place = a.k_grid.tolist().index(10)
    more_hits = (b.document_hits - a.document_hits)[:, place]
    assert table["B-A"]["RBP_10"] == pytest.approx(b.rbp(10) - a.rbp(10), abs=1e-15)
    found = table.loc["RBP_10", ["low", "high"]].tolist()
    assert found == pytest.approx(interval(weights @ more_hits / tokens), abs=1e-12)
    less_nll = b.document_nll - a.document_nll
    found = table.loc["CE", ["low", "high"]].tolist()
    assert found == pytest.approx(interval(weights @ less_nll / tokens), abs=1e-12)
    # What both models find hard cancels: the interval is narrower than that of either model.
    alone = np.ptp(a.ce_interval())
    assert alone == pytest.approx(np.ptp(interval(weights @ a.document_nll / tokens)), abs=1e-12)
    assert np.ptp(found) < alone and found[1] < 0

    documents = most_different(a, b, 3)
    largest = np.sort(np.abs(less_nll))[::-1][:3]
    np.testing.assert_allclose(documents["nats"].abs(), largest)
    per_token = (documents["CE_B"] - documents["CE_A"]) * documents["tokens"]
    np.testing.assert_allclose(per_token, documents["nats"])


def test_from_k_equal_to_V_on_there_is_no_difference():
    a, b = (made(S, [1, 2, 3] * 20, V=60, nll=np.full(60, nll)) for S, nll in ((1, 2), (2, 1.5)))
    table = differences(a, b, (50, 60, 100)).set_index("quantity")
    assert table.loc[["RBP_60", "RBP_100"], ["A", "B"]].to_numpy().tolist() == [[1, 1]] * 2
    assert (table.loc["RBP_60":, ["B-A", "low", "high"]] == 0).all(axis=None)
    with pytest.raises(InputError, match="no interval of RBP_59"):
        differences(a, b, (59,))


def test_what_does_not_compare_is_one_line(pair, shipped):
    a, b = pair
    for setting, value in {"fingerprint": "0" * 64, "max_length": 100}.items():
        other = dataclasses.replace(b, manifest=b.manifest.model_copy(update={setting: value}))
        with pytest.raises(InputError, match=f"not measured on the same text: {setting}"):
            differences(a, other, (1,))
    tokens = b.document_tokens.copy()
    tokens[0] += 1
    with pytest.raises(InputError, match="bits_per_byte"):
        most_different(a, dataclasses.replace(b, document_tokens=tokens), 1)


def test_from_the_command_line(rbpkit):
    arguments = ["pythia-w32-l2", "pythia-w128-l5", "--records", paths.SUMMARIES]
    status, out, _ = rbpkit("compare", *arguments, "--corpus", "pocket:code", "--k", 10)
    assert status == 0 and "RBP_10" in out and len(out.splitlines()) == 3 + 6
    status, out, _ = rbpkit("compare", *arguments, "--corpus", "pocket:code", "--json")
    found = json.loads(out)
    assert [row["quantity"] for row in found["differences"]][:2] == ["CE", "RBP_1"]
    assert len(found["documents"]) == 5
    documents = load_corpus("pocket:code").documents
    for row in found["documents"]:
        assert row["begins"] == " ".join(documents[row["document"]].split())[:40]
    status, _, err = rbpkit("compare", *arguments, "--corpus", "pocket:code", "--text", __file__)
    assert status == 2 and "no corpus file" in err and err.count("\n") == 1
    assert rbpkit("compare", *arguments)[0] == 2  # several corpora
    unknown = ["pythia-w32-l2", "no-such", "--records", paths.SUMMARIES]
    assert rbpkit("compare", *unknown)[0] == 2
    status, out, _ = rbpkit("show", paths.SUMMARIES, "--k", 1, "--json")
    assert all(row["CE_low"] < row["CE"] < row["CE_high"] for row in json.loads(out))
