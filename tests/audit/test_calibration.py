"""Calibration: targets drawn from the predictions leave no gap, sharper predictions a known one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_records import make_manifest

from rbpkit.audit.calibration import (
    BINS,
    DTYPES,
    KS,
    LEAST,
    expected_calibration_error,
    predicted_table,
    predictions,
    reliability_table,
)
from rbpkit.pocket.recipes import MODELS
from rbpkit.ranking import logit_ranks
from rbpkit.records import Records


def drawn_targets(T: int, V: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(T, V) logits z and (T,) targets drawn from softmax(z)."""
    drawn = torch.Generator().manual_seed(0)
    z = 2 * torch.randn(T, V, generator=drawn)
    return z, torch.multinomial(z.softmax(1), 1, generator=drawn)[:, 0]


def records_of(temperature: float, T: int = 20_000, V: int = 40) -> Records:
    """Targets drawn from softmax(z); the model predicts softmax(z / temperature)."""
    z, target = drawn_targets(T, V)
    ranks = logit_ranks(z / temperature, target, entropy=True)
    place = np.arange(T, dtype=np.int32)
    integers = (place // 100, place % 100 + 1, target.numpy(), ranks.n_greater, ranks.n_equal)
    columns = [np.asarray(column).astype(np.int32) for column in integers]
    manifest = make_manifest(V=V, tokens=T, documents=T // 100)
    prediction = (np.asarray(ranks.p_max), np.asarray(ranks.entropy))
    return Records(*columns, np.asarray(ranks.nll), *prediction, manifest)


def test_a_calibrated_model_has_no_gap():
    records = records_of(1)
    table = reliability_table(records)
    assert table["tokens"].sum() == records.tokens and len(table) <= BINS
    assert table["hits"].sum() == (records.rank() == 1).sum()
    spread = np.sqrt(table["p_max"] * (1 - table["p_max"]) / table["tokens"])
    assert ((table["hits"] / table["tokens"] - table["p_max"]).abs() < 4 * spread).all()
    assert expected_calibration_error(table) < 0.01
    inside = table["p_max"].between(table["low"], table["high"])
    assert table["low"].notna().equals(table["tokens"] >= LEAST)
    assert inside[table["tokens"] >= LEAST].sum() >= 8  # of nine 95% intervals


def test_the_mass_of_the_k_largest_is_rbp_k_and_the_entropy_is_ce():
    z, target = drawn_targets(20_000, 400)
    both = predictions(z, target)
    sorted_mass = np.sort(z.double().softmax(1).numpy(), axis=1)[:, ::-1].cumsum(axis=1)
    for name in ("CE", *(f"RBP_{k}" for k in KS)):
        gap = both[name] - both[f"predicted {name}"]
        assert abs(gap.mean()) < 4 * gap.std() / len(gap) ** 0.5
    for k in KS:
        np.testing.assert_allclose(both[f"predicted RBP_{k}"], sorted_mass[:, k - 1], atol=2e-6)
    flat = predictions(z / 2, target)
    assert (flat["CE"] - flat["predicted CE"]).mean() < -0.1
    assert (flat["RBP_10"] - flat["predicted RBP_10"]).mean() > 0.05


@pytest.mark.slow
def test_a_shipped_model_is_summarised_in_every_dtype():
    table = predicted_table(MODELS / "gpt2-w32-l2", "pocket:code", documents=20)
    assert list(dict.fromkeys(table["dtype"])) == list(DTYPES)
    assert len(table) == len(DTYPES) * (1 + len(KS)) and table["tokens"].nunique() == 1
    assert ((table["low"] <= table["gap"]) & (table["gap"] <= table["high"])).all()
    np.testing.assert_allclose(table["gap"], table["measured"] - table["predicted"], atol=1e-12)
    rbp = table[table["quantity"] != "CE"]
    spread = rbp.groupby("quantity")[["measured", "predicted"]].agg(np.ptp)
    assert (spread < 0.01).all(axis=None)  # a 16-bit body moves either by little


@pytest.mark.parametrize(("temperature", "sign"), [(0.5, -1), (2.0, 1)])
def test_too_sharp_is_overconfident_and_too_flat_underconfident(temperature, sign):
    records = records_of(temperature)
    table = reliability_table(records)
    gap = (records.rank() == 1).mean() - records.p_max.mean(dtype=np.float64)
    assert np.sign(gap) == sign and abs(gap) > 0.05
    # All bins err the same way, so the mean of their gaps is the gap of the means.
    assert expected_calibration_error(table) == pytest.approx(abs(gap), abs=0.005)
