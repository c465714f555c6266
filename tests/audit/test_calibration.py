"""Calibration: targets drawn from the predictions leave no gap, sharper predictions a known one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from test_records import make_manifest

from rbpkit.audit.calibration import BINS, expected_calibration_error, reliability_table
from rbpkit.ranking import logit_ranks
from rbpkit.records import Records


def records_of(temperature: float, T: int = 20_000, V: int = 40) -> Records:
    """Targets drawn from softmax(z); the model predicts softmax(z / temperature)."""
    drawn = torch.Generator().manual_seed(0)
    z = 2 * torch.randn(T, V, generator=drawn)
    target = torch.multinomial(z.softmax(1), 1, generator=drawn)[:, 0]
    ranks = logit_ranks(z / temperature, target, entropy=True)
    place = np.arange(T, dtype=np.int32)
    integers = (place // 100, place % 100 + 1, target.numpy(), ranks.n_greater, ranks.n_equal)
    columns = [np.asarray(column).astype(np.int32) for column in integers]
    manifest = make_manifest(V=V, tokens=T, documents=T // 100)
    prediction = (np.asarray(ranks.p_max), np.asarray(ranks.entropy))
    return Records(*columns, np.asarray(ranks.nll), manifest, *prediction)


def test_a_calibrated_model_has_no_gap():
    records = records_of(1)
    table = reliability_table(records)
    assert table["tokens"].sum() == records.tokens and len(table) <= BINS
    assert table["hits"].sum() == (records.rank() == 1).sum()
    spread = np.sqrt(table["p_max"] * (1 - table["p_max"]) / table["tokens"])
    assert ((table["hits"] / table["tokens"] - table["p_max"]).abs() < 4 * spread).all()
    assert expected_calibration_error(table) < 0.01


@pytest.mark.parametrize(("temperature", "sign"), [(0.5, -1), (2.0, 1)])
def test_too_sharp_is_overconfident_and_too_flat_underconfident(temperature, sign):
    records = records_of(temperature)
    table = reliability_table(records)
    gap = (records.rank() == 1).mean() - records.p_max.mean(dtype=np.float64)
    assert np.sign(gap) == sign and abs(gap) > 0.05
    # All bins err the same way, so the mean of their gaps is the gap of the means.
    assert expected_calibration_error(table) == pytest.approx(abs(gap), abs=0.005)


def test_records_of_format_1_give_no_rows():
    records = records_of(1, T=100)
    old = dataclasses.replace(
        records,
        manifest=dataclasses.replace(records.manifest, format=1),
        p_max=None,
        entropy=None,
    )
    assert reliability_table(old).empty
