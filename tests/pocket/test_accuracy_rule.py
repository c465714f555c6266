"""Accuracy from loss: planted laws are found, and what the rule cannot be trusted for is said."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import refused

from rbpkit_pocket import paths
from rbpkit_pocket.accuracy_rule import predict_pairs, read_pairs


def planted(ce, eps: float = 1.3, level: float = -0.6, text: str = "t", k: int = 1) -> pd.DataFrame:
    """Pairs of one text on the law log(-log acc) = level + eps log CE."""
    ce = np.asarray(ce, dtype=float)
    acc = np.exp(-np.exp(level + eps * np.log(ce)))
    return pd.DataFrame({"text": text, "ce": ce, "k": k, "acc": acc, "model": "m"})


def test_a_planted_law_is_found_from_a_table(rbpkit, tmp_path):
    other = planted([2.5, 3.3, 4.1, 5.0, 6.0], text="u")
    table = pd.concat([planted(np.linspace(3, 5, 9)), other])
    truth = table["acc"].to_numpy().copy()
    hidden = [2, 5, 10]
    table = table.reset_index(drop=True)
    table.loc[hidden, "acc"] = np.nan
    predicted = predict_pairs(table)
    assert predicted["predicted"].to_numpy() == pytest.approx(truth[hidden], rel=1e-9)
    assert (predicted["low"] < truth[hidden]).all()
    assert (truth[hidden] < predicted["high"]).all()
    assert (predicted["note"] == "").all()
    table.to_csv(tmp_path / "pairs.csv", index=False)
    status, out, _ = rbpkit("predict", "--pairs", tmp_path / "pairs.csv", "--format", "json")
    found = pd.DataFrame(json.loads(out))[["predicted", "low", "high"]].to_numpy()
    expected = predicted[["predicted", "low", "high"]].to_numpy()
    assert status == 0 and found == pytest.approx(expected)


def test_the_committed_predictions_are_those_of_the_registered_rule():
    evidence = paths.SUMMARIES.parent / "evidence"
    columns = ["predicted", "low", "high"]
    predicted = predict_pairs(read_pairs(evidence / "pairs_to_predict.csv"), registered=True)
    committed = pd.read_csv(evidence / "pairs_predicted.csv")
    assert predicted[columns].to_numpy() == pytest.approx(committed[columns].to_numpy(), abs=6e-6)


def scattered(**columns) -> pd.DataFrame:
    """Twelve rows of three runs that are off the law by 5% or so, and one that is asked for."""
    table = planted([*np.linspace(3, 5, 12), 4.02]).assign(k=1)
    off = np.random.default_rng(0).normal(0, 0.05, 13)
    table["acc"] = np.exp(-np.exp(np.log(-np.log(table["acc"])) + off)).where(table.index < 12)
    return table.assign(model=[*"abcabcabcabca"]).assign(**columns)


def width(table: pd.DataFrame, registered: bool = False) -> float:
    [row] = predict_pairs(table, registered).itertuples()
    return row.high - row.low


def test_the_interval_has_the_scatter_of_the_table_and_never_less_than_the_registered_one():
    assert width(scattered()) > 3 * width(scattered(), registered=True)
    exact = planted(np.linspace(3, 5, 12))
    exact.loc[5, "acc"] = np.nan
    assert width(exact) == pytest.approx(width(exact, registered=True))


def test_a_model_that_is_not_named_never_makes_it_narrower():
    for table in (scattered(), planted([*np.linspace(3, 5, 12), 4.0])):
        table.loc[12, "acc"] = np.nan
        widths = [width(table)]
        widths.append(width(table.assign(model=[*"abcabcabcabcd"])))
        for nameless in (table.assign(model=""), table.drop(columns="model")):
            assert width(nameless) >= max(widths) * (1 - 1e-9)
        of_no_model = table.assign(model=[*"abcabcabcabc", None])
        assert width(of_no_model) >= widths[0]


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"k": 20}, "no row of this text has an acc at k = 20"),
        ({"text": "new"}, "no row of this text"),
        ({"ce": 1.7}, "too few rows to see how far the rule errs here"),
    ],
)
def test_where_the_rule_cannot_be_tried_there_is_no_number(change, note):
    table = scattered()
    table.loc[12, list(change)] = list(change.values())
    [row] = predict_pairs(table).itertuples()
    assert np.isnan([row.predicted, row.low, row.high]).all() and note in row.note


def test_an_effect_of_overfitting_is_found_and_a_large_gap_is_named():
    ce = np.linspace(3, 4, 12)
    gap = np.tile([0.0, 0.2, 0.4], 4)
    table = planted(ce)
    table["acc"] = np.exp(-np.exp(-0.6 + 1.3 * np.log(ce) - 0.12 * gap))
    truth = table["acc"].copy()
    table["train_loss"] = ce - gap
    table.loc[[4, 7], "acc"] = np.nan
    predicted = predict_pairs(table)
    assert predicted["predicted"].to_numpy() == pytest.approx(truth[[4, 7]].to_numpy(), rel=1e-6)
    table.loc[7, "train_loss"] = ce[7] - 1.5
    assert "1.5 nats above the training loss" in predict_pairs(table).loc[7, "note"]


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"ce": 9.0}, "CE 9 is outside the shown 3 to 5"),
        ({"k": 5}, "no shown row at k = 5: taken from k = 1"),
        ({"k": 200}, "beyond the rule's 10"),
        ({"tokenizer": "b"}, "another tokenizer (b)"),
        ({"smoothing": 0.1}, "targets smoothed by 0.1"),
    ],
)
def test_what_the_rule_was_not_tried_on_is_named(change, note):
    table = planted(np.linspace(3, 5, 9)).assign(tokenizer="a", smoothing=0.0)
    asked = planted([4.0]).assign(**{"tokenizer": "a", "smoothing": 0.0, "acc": np.nan} | change)
    table = pd.concat([table, asked]).reset_index(drop=True)
    predicted = predict_pairs(table, registered=True)
    assert note in predicted["note"].iloc[0]
    assert 0 < predicted["predicted"].iloc[0] < 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ce": -1.0}, "row 1: ce"),
        ({"acc": 1.0}, "row 1: acc"),
        ({"acc": np.nan}, "no row has an acc"),
        ({"k": 0}, "row 1: k"),
        ({"ce": "many"}, "column 'ce'"),
        ({"acc": [np.nan, 0.4, 0.5]}, "no text has 3 rows"),
    ],
)
def test_a_broken_table_is_one_line(tmp_path, change, message):
    path = tmp_path / "pairs.parquet"
    planted([3, 4, 5]).assign(**change).to_parquet(path)
    refused(message, lambda: predict_pairs(read_pairs(path)))
