"""Accuracy from loss: planted laws are found, and what the rule cannot be trusted for is said."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from made_summaries import made

from rbpkit import InputError, axis


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
    predicted = axis.predict_pairs(table)
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
    predicted = axis.predict_pairs(table)
    assert predicted["predicted"].to_numpy() == pytest.approx(truth[[4, 7]].to_numpy(), rel=1e-6)
    table.loc[7, "train_loss"] = ce[7] - 1.5
    assert "1.5 nats above the training loss" in axis.predict_pairs(table).loc[7, "note"]


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
    predicted = axis.predict_pairs(pd.concat([table, asked]).reset_index(drop=True))
    assert note in predicted["note"].iloc[0]
    assert 0 < predicted["predicted"].iloc[0] < 1


def test_a_text_that_nothing_is_known_of_gets_no_number():
    unknown = planted([4.0], text="new").assign(acc=np.nan)
    table = pd.concat([planted([3, 4, 5]), unknown])
    predicted = axis.predict_pairs(table.reset_index(drop=True))
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
        axis.read_pairs(path)


def test_two_shown_rows_make_no_slope():
    table = planted([3, 4, 5])
    table.loc[0, "acc"] = np.nan
    with pytest.raises(InputError, match="no text has 3 rows"):
        axis.predict_pairs(table)


@pytest.fixture(scope="module")
def models() -> list:
    models = []
    for seed in range(5):
        log_rank = np.random.default_rng(seed).normal(2 - 0.2 * seed, 2, size=2000)
        ranks = np.exp(log_rank.clip(0, 8)).astype(int)
        models.append(made(10**6 + seed, ranks))
    return models


@pytest.mark.parametrize("name", ["fingerprint", "V", "max_length", "stride", "tokens"])
def test_models_that_did_not_score_the_same_tokens_are_on_no_common_line(name, models):
    *four, last = models
    value = "other" if name == "fingerprint" else 7 + getattr(last.manifest, name)
    other = dataclasses.replace(last, manifest=last.manifest.model_copy(update={name: value}))
    fits, refused = axis.fit_against_ce([*four, other], [1])
    assert [fit.models for fit in fits] == [axis.fit_against_ce(four, [1])[0][0].models]
    assert len(refused) == 1


def test_the_lines_of_measured_models_against_cross_entropy(models):
    fits, refused = axis.fit_against_ce(models, [1, 10])
    assert not refused and [fit.k for fit in fits] == [1, 10]
    fit = fits[0]
    # Least squares of log(-log RBP_k) on log CE, written out.
    x, y = np.log(fit.ce), np.log(-np.log(fit.rbp))
    slope, intercept = np.polyfit(x, y, 1)
    assert fit.line.slope == pytest.approx(slope)
    assert fit.off == pytest.approx(y - intercept - slope * x, abs=1e-12)
    table = axis.axis_table(fits)
    assert table["farthest"].iloc[0] == fit.models[int(np.argmax(np.abs(fit.off)))]
    inside = axis.predict_from_ce(fits, [float(fit.ce.mean())])
    assert (inside["note"] == "").all()
    assert (inside["RBP_low"] < inside["RBP"]).all()
    assert (inside["RBP"] < inside["RBP_high"]).all()
    assert "outside the measured" in axis.predict_from_ce(fits, [99.0])["note"].iloc[0]
    with pytest.raises(InputError, match="cross-entropy must be positive"):
        axis.predict_from_ce(fits, [0.0])
