"""Scores of any program: a function that gives logits, and a table of ranks and losses."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import assert_same_columns

from rbpkit import fit_curves, load_corpus, load_model, measure
from rbpkit.errors import InputError
from rbpkit.fit import curves_of_all
from rbpkit.records import load_summaries
from rbpkit.tools.scores import LogitsRanker, ScoreTable
from rbpkit_pocket import families

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
            *("--family", "bigram", "--out", tmp_path / "tables", "--json"),
        )
        assert status == 0, err
        [row] = json.loads(out)
        assert (row["model"], row["tokens"]) == (about.model, result.summary.tokens)
    tables = [
        fit_curves(curves_of_all(load_summaries(tmp_path / folder), (1, 10))).table
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
    assert records.rbp(10) == expected.rbp(10) and records.ce() == expected.ce()


def scores(**changed: object) -> pd.DataFrame:
    table = {"document": [0, 0, 1], "position": [1, 2, 1], "target": 5, "rank": 3, "nll": 2.0}
    return pd.DataFrame(table | changed)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (scores().drop(columns="nll"), "no column nll"),
        (scores().drop(columns="rank"), "no column rank or n_greater"),
        (scores()[:0], "no rows"),
        (scores(position=1), "two rows of one token"),
        (scores(nll=["a", "b", "c"]), "nll must hold numbers"),
        (scores(rank=[1, 2, np.nan]), "n_greater must hold"),
        (scores(target=0.5), "target must hold whole numbers"),
        (scores(document=[0, 0, 7]), "document 7, position 1 is outside"),
        (scores(position=[1, 600, 1]), "document 0, position 600 is outside"),
        (scores(rank=9), "below ln R"),
    ],
)
def test_a_table_that_cannot_be_is_refused(table, says):
    with pytest.raises(InputError, match=f"mine.*{says}"):
        measure(ScoreTable(table, **ABOUT), TEXTS)


def test_logits_of_another_shape_are_refused():
    ranker = bigram(5)
    ranker.logits = lambda ids: np.zeros((*ids.shape, 7))
    with pytest.raises(InputError, match="its logits are of shape"):
        measure(ranker, TEXTS)


def test_a_table_needs_a_size(tmp_path):
    path = tmp_path / "scores.csv"
    scores().to_csv(path)
    with pytest.raises(InputError, match="give --size"):
        measure(f"scores:{path}", TEXTS)
    with pytest.raises(InputError, match="not a table that can be read"):
        load_model(f"scores:{tmp_path}/none.parquet", size=3, vocabulary=9)
