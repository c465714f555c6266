"""The lines of measured models against cross-entropy, and models that are on no common line."""

import dataclasses

import numpy as np
import pytest
from made_summaries import made

from rbpkit import InputError, fit_curves
from rbpkit.fit import by_tokenizer, curves_in_ce, fit_all
from rbpkit.prediction import predict_sizes


@pytest.fixture(scope="module")
def models() -> list:
    models = []
    for seed in range(5):
        log_rank = np.random.default_rng(seed).normal(2 - 0.2 * seed, 2, size=2000)
        ranks = np.exp(log_rank.clip(0, 8)).astype(int)
        models.append(made(10**6 + seed, ranks))
    return models


@pytest.mark.parametrize("name", ["fingerprint", "max_length", "stride", "targets"])
def test_models_that_did_not_score_the_same_tokens_are_on_no_common_line(name, models):
    *four, last = models
    value = getattr(last.manifest, name)
    value += "other" if isinstance(value, str) else 7
    other = dataclasses.replace(last, manifest=last.manifest.model_copy(update={name: value}))
    says = r"V4096-2000 \(m1.*\) and V4096-other" if name == "targets" else f"different {name}"
    with pytest.raises(InputError, match=says):
        curves_in_ce([*four, other], [1])


def test_each_tokenizer_has_a_line_of_its_own_when_that_is_asked_for(models):
    others = []
    for one in models:
        name = f"{one.manifest.model}b"
        known = one.manifest.model_copy(update={"targets": "ab12cd34", "model": name})
        others.append(dataclasses.replace(one, manifest=known))
    mixed = [*models, *others]
    for laws in (curves_in_ce, fit_all):
        with pytest.raises(InputError, match="--by-tokenizer"):
            laws(mixed, [1])
    table = fit_all(by_tokenizer(mixed), [1]).table
    assert sorted(set(table["corpus"])) == ["c V4096-2000", "c V4096-ab12cd"]
    assert (table["n"] == len(models)).all()
    assert by_tokenizer(models)[0].manifest == models[0].manifest


def test_the_lines_of_measured_models_against_cross_entropy(models):
    curves = curves_in_ce(models, [1, 10])
    assert [curve.quantity for curve in curves] == ["RBP_1", "RBP_10"]
    # Least squares of log(-log RBP_k) on log CE, written out.
    x = np.log([model.ce() for model in models])
    y = np.log([-np.log(model.rbp(1)) for model in models])
    slope, intercept = np.polyfit(x, y, 1)
    fits = fit_curves(curves).table
    assert fits["slope"].iloc[0] == pytest.approx(slope) and fits["note"].iloc[0] == ""
    ce = float(np.exp(x.mean()))
    row = predict_sizes(curves[:1], [ce]).table.iloc[0]
    assert row["loss"] == pytest.approx(np.exp(intercept + slope * x.mean()))
    assert row["RBP_low"] < row["RBP"] < row["RBP_high"] and row["decades"] == 0
    with pytest.raises(InputError, match="positive"):
        predict_sizes(curves, [0.0])
