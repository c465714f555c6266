"""Scores of any program: a function that gives logits, and a table of ranks and losses."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import assert_same_columns, refused
from scipy.special import softmax

from rbpkit import InputError, fit_curves, load_corpus, load_model, load_summaries, measure
from rbpkit.fit import curves_of_all
from rbpkit.tools.scores import LogitsRanker, ScoreTable
from rbpkit_pocket import families

RNG = np.random.default_rng(0)
TEXTS = ["one two three two one", "three two one", "two two three one one two"]
ABOUT = {"name": "mine", "S": 12, "V": families.V, "family": "grams"}


def bigram(documents: int) -> LogitsRanker:
    """Counts of pairs of tokens, add-one smoothed, of that many documents."""
    tokenizer = families.load_tokenizer()
    counts = np.ones((families.V, families.V), dtype=np.float32)
    for text in load_corpus("pocket:humaneval", documents=documents).documents:
        ids = np.array(tokenizer(text, verbose=False)["input_ids"])
        np.add.at(counts, (ids[:-1], ids[1:]), 1)
    log_counts = np.log(counts)
    return LogitsRanker(
        lambda ids: log_counts[ids],
        tokenizer=tokenizer,
        name=f"bigram-{documents}",
        S=int((counts > 1).sum()),
        V=families.V,
        family="bigram",
        revision=str(documents),
    )


def test_a_function_and_a_table_of_its_scores_give_the_same_fit(rbpkit, tmp_path):
    """Three n-gram models, measured as functions, and again from tables of their scores."""
    corpus = load_corpus("pocket:humaneval", documents=5)
    for documents in (3, 10, 30):
        result = measure(bigram(documents), corpus, tmp_path / "functions", max_length=100)
        about = result.summary.manifest
        form = {3: "csv", 10: "parquet", 30: "csv"}[documents]
        scores = tmp_path / f"{about.model}.{form}"
        table = result.records.to_pandas()
        if form == "csv":
            table.to_csv(scores, index=False)
        else:
            table.to_parquet(scores)
        status, out, err = rbpkit(
            *("measure", "--model", f"scores:{scores}", "--size", about.S, "--vocabulary", about.V),
            *("--corpus", "pocket:humaneval", "--documents", 5, "--max-length", 100),
            *("--family", "bigram", "--out", tmp_path / "tables", "--format", "json"),
        )
        assert status == 0, err
        [row] = json.loads(out)
        assert (row["model"], row["tokens"]) == (about.model, result.summary.tokens)
    tables = [
        fit_curves(curves_of_all(load_summaries(tmp_path / folder), (None, 1, 10))).table
        for folder in ("functions", "tables")
    ]
    pd.testing.assert_frame_equal(*tables, check_exact=True)


def test_a_table_keeps_its_columns(llama_folder, text_file):
    expected = measure(llama_folder, text_file).records
    about = {"name": "again", "S": expected.manifest.S, "V": expected.manifest.V, "family": "x"}
    shuffled = expected.to_pandas().sample(frac=1, random_state=0)
    records = measure(ScoreTable(shuffled, **about), text_file).records
    assert_same_columns(records.columns(), expected.columns())
    ranks_alone = shuffled.drop(columns=["n_equal", "p_max", "entropy"])
    records = measure(ScoreTable(ranks_alone, **about), text_file).records
    assert records.summary.rbp(10) == expected.summary.rbp(10)


def scores(**changed: object) -> pd.DataFrame:
    table = {"document": [0, 0, 1], "position": [1, 2, 1], "target": 5, "rank": 3, "nll": 2.0}
    return pd.DataFrame(table | changed)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (scores().drop(columns="nll"), "nll"),
        (scores().drop(columns="rank"), "n_greater"),
        (scores(nll=["a", "b", "c"]), "needs numbers"),
        (scores(rank=[1, 2, np.nan]), "none missing"),
        (scores(target=0.5), "whole numbers"),
        (scores(target=2**32 + 5), "whole numbers"),
        (scores(position=[1, 600, 1]), "positions 1 to 600: outside"),
        (scores(position=1), "there twice"),
        (scores()[:0], ""),
    ],
)
def test_a_table_that_cannot_be_is_refused(table, says):
    refused(f"mine.*{says}", lambda: measure(ScoreTable(table, **ABOUT), TEXTS))


def peeks(ids, logits):
    """At each place the next id gets one more."""
    logits[np.arange(len(ids))[:, None], np.arange(ids.shape[1] - 1), ids[:, 1:]] += 1
    return logits


def knows(ids, logits):
    """The next id alone is likely, so that p_max and entropy tell nothing."""
    return 1e4 * (peeks(ids, 0 * logits))


@pytest.mark.parametrize(
    ("slip", "says"),
    [
        (peeks, "on the target's own place"),
        (knows, "on the target's own place"),
        (lambda ids, logits: logits * ids.shape[1] / 10, "on what follows"),
        (lambda ids, logits: logits + 0.3 * logits.mean(0, keepdims=True), "on the batch's"),
        (lambda ids, logits: logits + RNG.normal(0, 0.3, logits.shape), "other numbers each time"),
        (lambda ids, logits: softmax(logits, axis=2), "probabilities"),
        (lambda ids, logits: np.where(logits == logits[0, 0, 0], -np.inf, logits), "-?[Ii]nf"),
        (lambda ids, logits: logits.astype(np.float16), "torch.float16; not"),
        (lambda ids, logits: logits[..., 1:], "torch.float32; not"),
    ],
)
def test_a_function_with_a_common_slip_is_refused(slip, says):
    ranker = bigram(5)
    right = ranker.logits
    texts = load_corpus("pocket:humaneval", documents=3).documents
    measure(ranker, texts, max_length=40)
    ranker.logits = lambda ids: slip(ids, right(ids).copy()).astype(
        np.float16 if "float16" in says else np.float32
    )
    refused(says, measure, ranker, texts, max_length=40)


def test_holes_of_a_table_are_counted():
    corpus = load_corpus("pocket:humaneval", documents=6)
    table = measure(bigram(9), corpus, max_length=40).records.to_pandas()
    whole = measure(ScoreTable(table, **ABOUT), corpus, max_length=40)
    assert "left out" not in whole.summary.manifest.versions
    last = table.groupby("document").position.transform("max") == table.position
    kept = (table.document != 3) & ((table.index % 5 > 0) | last)
    found = measure(ScoreTable(table[kept], **ABOUT), corpus, max_length=40)
    lacks = (~kept & (table.document != 3)).sum()
    assert f"1 document(s) without a row, {lacks} token(s) without a row" in found.coverage


def test_a_table_needs_a_size(tmp_path):
    refused("stride=5: a table", measure, ScoreTable(scores(), **ABOUT), TEXTS, stride=5)
    path = tmp_path / "scores.csv"
    scores().to_csv(path)
    refused("give --size", measure, f"scores:{path}", TEXTS)
    with pytest.raises(InputError, match="not a table that can be read"):
        load_model(f"scores:{tmp_path}/none.parquet", size=3, vocabulary=9)
