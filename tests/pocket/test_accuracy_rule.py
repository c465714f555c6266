"""Accuracy from loss: planted laws are found, and what the rule cannot be trusted for is said."""

import json

import numpy as np
import pandas as pd
import pytest

from rbpkit import InputError
from rbpkit_pocket.accuracy_rule import predict_pairs, read_pairs


def planted(ce, eps: float = 1.3, level: float = -0.6, text: str = "t", k: int = 1) -> pd.DataFrame:
    """Pairs of one text on the law log(-log acc) = level + eps log CE."""
    ce = np.asarray(ce, dtype=float)
    acc = np.exp(-np.exp(level + eps * np.log(ce)))
    return pd.DataFrame({"text": text, "ce": ce, "k": k, "acc": acc, "model": "m"})


def test_a_planted_law_is_found_from_a_table(rbpkit, tmp_path):
    other = planted([2.5, 3.3, 4.1, 6.0], text="u")
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
    status, out, _ = rbpkit("predict", "--pairs", tmp_path / "pairs.csv", "--json")
    read = [row["predicted"] for row in json.loads(out)]
    assert status == 0 and read == pytest.approx(predicted["predicted"].tolist())


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
    predicted = predict_pairs(pd.concat([table, asked]).reset_index(drop=True))
    assert note in predicted["note"].iloc[0]
    assert 0 < predicted["predicted"].iloc[0] < 1


def test_a_text_that_nothing_is_known_of_gets_no_number():
    unknown = planted([4.0], text="new").assign(acc=np.nan)
    table = pd.concat([planted([3, 4, 5]), unknown])
    predicted = predict_pairs(table.reset_index(drop=True))
    assert predicted["predicted"].isna().all()
    assert "no row of this text" in predicted["note"].iloc[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ce": -1.0}, "row 1: ce"),
        ({"acc": 1.0}, "row 1: acc"),
        ({"acc": np.nan}, "no row has an acc"),
        ({"k": 0}, "row 1: k"),
        ({"ce": "many"}, "column 'ce'"),
    ],
)
def test_a_broken_table_is_one_line(tmp_path, change, message):
    path = tmp_path / "pairs.csv"
    planted([3, 4, 5]).assign(**change).to_csv(path, index=False)
    with pytest.raises(InputError, match=message):
        read_pairs(path)


def test_two_shown_rows_make_no_slope():
    table = planted([3, 4, 5])
    table.loc[0, "acc"] = np.nan
    with pytest.raises(InputError, match="no text has 3 rows"):
        predict_pairs(table)
