"""The seam: a model of one's own is measured, compared and fitted; columns that it cannot give."""

import re

import numpy as np
import pyarrow.parquet as pq
from conftest import ROOT, refused

from rbpkit import Corpus, Records, load_corpus, load_model, load_summaries, measure
from rbpkit.encoding import encode
from rbpkit.ranker import Ranker
from rbpkit.summary import Summary
from rbpkit_pocket import families

GUIDE = ROOT / "docs/plugins.md"


def test_an_n_gram_model_has_the_ranks_of_its_counts(tmp_path):
    """The model of docs/plugins.md, as it is written there."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), flags=re.DOTALL)
    [source] = [block for block in blocks if "class Bigram" in block]
    namespace: dict = {}
    exec(source, namespace)
    texts = load_corpus("pocket:humaneval", documents=50).documents
    model = namespace["Bigram"](families.load_tokenizer(), texts[:20])
    corpus = Corpus.of(texts[20:])
    result = measure(model, corpus, tmp_path / "out", max_length=60, batch_tokens=500)
    rows = []
    for one in encode(corpus, model.tokenizer, max_length=60).documents:
        for place in np.flatnonzero(one.scored):
            before, target = one.input_ids[place : place + 2]
            counts = model.counts[before].astype(float)
            nll = np.log(counts.sum() / counts[target])
            rank = (counts >= counts[target]).sum()  # Eq. 3
            rows.append((one.document, place + 1, target, rank, nll))
    *expected, nll = np.array(rows).T
    records = Records.load(result.path)
    found = [records.document, records.position, records.target, records.rank()]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(records.nll, nll, atol=1e-4)
    manifest = result.summary.manifest
    assert (manifest.model, manifest.S, manifest.V) == (model.name, model.S, families.V)
    assert measure(model, corpus, tmp_path / "out", max_length=60).found_done
    assert measure(model, corpus, name="mine", max_length=60).summary.manifest.model == "mine"


class OfAnother(Ranker):
    """Ranks as a server may give them: R and the loss, and no more."""

    name, revision, family, S, V = "served", "1", "served", 1000, families.V

    def __init__(self, other, **more):
        self.other, self.more = other, more
        self.tokenizer, self.context = other.tokenizer, other.context

    def ranks(self, batch):
        known = self.other.ranks(batch)
        rank = known["n_greater"] + known["n_equal"] + 1
        more = {name: one(batch) if callable(one) else one for name, one in self.more.items()}
        return {"n_greater": rank - 1, "nll": known["nll"]} | more


def test_columns_that_a_model_cannot_give_are_missing(llama_folder, text_file, tmp_path):
    whole = load_model(llama_folder, device="cpu")
    expected = measure(whole, text_file).records
    result = measure(OfAnother(whole), text_file, tmp_path / "out")
    assert {"n_equal", "p_max", "entropy"}.isdisjoint(pq.read_schema(result.path).names)
    records = Records.load(result.path)
    np.testing.assert_array_equal(records.rank(), expected.rank())
    assert list(records.columns()) == ["document", "position", "target", "n_greater", "nll"]
    [summary] = load_summaries(tmp_path / "out")
    assert summary.to_bytes() == records.summary.to_bytes()
    assert Summary.from_bytes(summary.to_bytes()).document_entropy is None
    assert summary.success(5, 10) == expected.summary.success(5, 10)


def test_columns_of_another_form_are_refused(llama_folder, text_file):
    whole = load_model(llama_folder, device="cpu")
    half = np.full(10**6, 0.5)
    for more, says in (
        ({"nll": np.zeros(3, np.float32)}, "nll must be"),
        ({"n_greater": lambda batch: half[: batch.tokens]}, "n_greater must be int32"),
        ({"nll": lambda batch: half[: batch.tokens]}, "below ln R"),
    ):
        refused(says, measure, OfAnother(whole, **more), text_file)
