"""Two models on the same documents: differences, intervals, what is refused."""

import dataclasses

import numpy as np
import pytest
from conftest import pocket_summaries, refused
from made_summaries import made

from rbpkit.fit import relabelled
from rbpkit.paired import differences, same_tokens
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


def test_from_k_equal_to_V_on_there_is_no_difference():
    ranks = [1, 2, 3] * 20
    a = made(1, ranks, V=60, nll=np.full(60, 2))
    b = made(2, ranks, V=60, nll=np.full(60, 1.5))
    table = differences(a, b, (50, 60, 100)).set_index("quantity")
    assert (table.loc["RBP_60":, ["A", "B"]] == 1).all(axis=None)
    assert (table.loc["RBP_60":, ["B-A", "low", "high"]] == 0).all(axis=None)
    refused("RBP_59", differences, a, b, (59,))


def test_what_does_not_compare_is_refused(pair):
    a, b = pair
    others = {
        "corpus": ("c", "corpus"),
        "fingerprint": ("0" * 64, "fingerprint"),
        "documents": (9, "documents"),
        "max_length": (100, "max_length"),
        "stride": (9, "stride"),
        # As many tokens in each document, and others: of another tokenizer. No bytes are known.
        "targets": ("0" * 16, "bytes of its documents"),
    }
    for setting, (value, says) in others.items():
        refused(says, differences, a, relabelled(b, **{setting: value}), (1,))
    tokens = b.document_tokens.copy()
    tokens[0] += 1
    other = dataclasses.replace(b, document_tokens=tokens)
    refused("bytes of its documents", same_tokens, a, other)


def under_a_tokenizer(summary, targets: str, sizes: list[int]):
    return relabelled(summary, targets=targets, document_bytes=sizes, scored_bytes=sum(sizes))


def test_two_tokenizers_are_compared_in_bits_per_byte_of_the_same_text():
    documents = np.repeat(np.arange(20), 10)
    one = made(1, np.arange(200) % 7 + 1, documents, nll=np.linspace(2, 3, 200))
    two = made(2, np.arange(100) % 5 + 1, documents[::2], nll=np.linspace(3, 5, 100))
    a = under_a_tokenizer(one, "aa", list(range(1000, 3000, 100)))
    b = under_a_tokenizer(two, "bb", list(range(1001, 3001, 100)))
    [row] = differences(a, b, (1, 10)).to_dict("records")
    assert row["quantity"] == "bits_per_byte" and row["A"] == a.bits_per_byte()
    bits_a, bits_b = one.document_nll / np.log(2), two.document_nll / np.log(2)
    size_a, size_b = a.document_bytes(), b.document_bytes()
    assert row["B"] == pytest.approx(bits_b.sum() / size_b.sum())
    weights = resample_weights(20)
    draws = (weights @ bits_b) / (weights @ size_b) - (weights @ bits_a) / (weights @ size_a)
    assert (row["low"], row["high"]) == pytest.approx(interval(draws))
    draws_of_a = (weights @ bits_a) / (weights @ size_a)
    assert a.bits_per_byte_interval() == pytest.approx(interval(draws_of_a))
    # As many bytes in all, and other ones: 1% of each document, in turn more and less.
    other = size_a + np.tile([20, -20], 10)
    c = under_a_tokenizer(two, "bb", other.tolist())
    assert c.manifest.scored_bytes == a.manifest.scored_bytes
    refused("1% of the text", differences, a, c, (1,))


def test_from_the_command_line(rbpkit, shipped, tmp_path):
    for corpus in ("pocket:humaneval", "pocket:qa"):
        summaries = pocket_summaries(tmp_path, corpus, "pythia-w*[28]-l[25]")
    two = ["compare", "pythia-w32-l2", "pythia-w128-l5", "--records", summaries]
    status, out, _ = rbpkit(*two, "--corpus", "pocket:humaneval", "--k", 10)
    lines = out.splitlines()
    assert status == 0 and "RBP_10" in out and len(lines) == 3 + 6
    at_humaneval = [one for one in shipped if one.manifest.corpus == "pocket:humaneval"]
    named = {one.manifest.model: one for one in at_humaneval}
    of_a, of_b = named[two[1]], named[two[2]]
    nats = of_b.document_nll - of_a.document_nll
    largest = np.argsort(-np.abs(nats))[:5]
    for line, place in zip(lines[-5:], largest, strict=True):  # of the documents
        document, tokens, ce_a, ce_b, difference = map(float, line.split())
        assert document == of_a.document[place]
        assert difference == pytest.approx(nats[place], abs=1e-4)
        assert (ce_b - ce_a) * tokens == pytest.approx(nats[place], rel=1e-3)
    no_model = ["compare", "pythia-w32-l2", "no-such", "--records", summaries]
    for several_corpora_or_no_model in (two, no_model):
        status, _, err = rbpkit(*several_corpora_or_no_model)
        assert status == 2 and err.count("\n") == 1
