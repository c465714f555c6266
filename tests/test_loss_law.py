"""Accuracy from loss: the lines of measured models against cross-entropy."""

import dataclasses

import numpy as np
import pytest
from made_summaries import made

from rbpkit import InputError, loss_law
from rbpkit.fit import by_tokenizer, fit_all


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
        loss_law.fit_against_ce([*four, other], [1])


def test_each_tokenizer_has_a_line_of_its_own_when_that_is_asked_for(models):
    others = []
    for one in models:
        name = f"{one.manifest.model}b"
        known = one.manifest.model_copy(update={"targets": "ab12cd34", "model": name})
        others.append(dataclasses.replace(one, manifest=known))
    mixed = [*models, *others]
    for laws in (loss_law.fit_against_ce, fit_all):
        with pytest.raises(InputError, match="--by-tokenizer"):
            laws(mixed, [1])
    table = fit_all(by_tokenizer(mixed), [1]).table
    assert sorted(set(table["corpus"])) == ["c V4096-2000", "c V4096-ab12cd"]
    assert (table["n"] == len(models)).all()
    assert by_tokenizer(models)[0].manifest == models[0].manifest


def test_the_lines_of_measured_models_against_cross_entropy(models):
    fits, refused = loss_law.fit_against_ce(models, [1, 10])
    assert not refused and [fit.k for fit in fits] == [1, 10]
    fit = fits[0]
    # Least squares of log(-log RBP_k) on log CE, written out.
    x, y = np.log(fit.ce), np.log(-np.log(fit.rbp))
    slope, intercept = np.polyfit(x, y, 1)
    assert fit.line.slope == pytest.approx(slope)
    assert fit.residual == pytest.approx(y - intercept - slope * x, abs=1e-12)
    table = loss_law.loss_table(fits)
    assert table["farthest"].iloc[0] == fit.models[int(np.argmax(np.abs(fit.residual)))]
    inside = loss_law.predict_from_ce(fits, [float(fit.ce.mean())])
    assert (inside["note"] == "").all()
    assert (inside["RBP_low"] < inside["RBP"]).all()
    assert (inside["RBP"] < inside["RBP_high"]).all()
    assert "outside the measured" in loss_law.predict_from_ce(fits, [99.0])["note"].iloc[0]
    with pytest.raises(InputError, match="cross-entropy must be positive"):
        loss_law.predict_from_ce(fits, [0.0])
