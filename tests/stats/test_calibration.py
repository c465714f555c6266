"""Calibration: targets drawn from the predictions leave no gap, sharper predictions a known one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from test_records import make_manifest

from rbpkit.ranking import logit_ranks
from rbpkit.records import Records
from rbpkit.stats.calibration import BINS, LEAST, reliability_table


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
    return Records(*columns, np.asarray(ranks.nll), *prediction, manifest)


def expected_calibration_error(table: pd.DataFrame) -> float:
    off = (table["hits"] / table["tokens"] - table["p_max"]).abs()
    return np.average(off, weights=table["tokens"])


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


@pytest.mark.parametrize(("temperature", "sign"), [(0.5, -1), (2.0, 1)])
def test_too_sharp_is_overconfident_and_too_flat_underconfident(temperature, sign):
    records = records_of(temperature)
    gap = (records.rank() == 1).mean() - records.p_max.mean(dtype=np.float64)
    assert np.sign(gap) == sign and abs(gap) > 0.05
    # All bins err the same way, so the mean of their gaps is the gap of the means.
    ece = expected_calibration_error(reliability_table(records))
    assert ece == pytest.approx(abs(gap), abs=0.005)
