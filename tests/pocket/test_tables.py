"""Ties under three rules and rounded logits, counted by hand; and the table made again."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rbpkit.corpora import load_corpus
from rbpkit.measuring import measure
from rbpkit.models import load_model
from rbpkit_pocket import paths, tables

MODEL = paths.MODELS / "gpt2-w32-l2"


def test_rules_count_planted_ties_exactly():
    # Of 5 entries: two before the target and one equal to it; alone at the top; all alike.
    greater, equal = np.array([2, 0, 0]), np.array([1, 0, 4])
    at = {k: tables.rbp_by_rule(greater, equal, k) for k in (1, 3, 5)}
    assert at[1] == pytest.approx({"pessimistic": 1 / 3, "mean": 1.2 / 3, "optimistic": 2 / 3})
    assert at[3] == pytest.approx({"pessimistic": 1 / 3, "mean": 2.1 / 3, "optimistic": 1})
    assert set(at[5].values()) == {1.0}


def test_mean_rule_is_the_mean_over_random_orders():
    rng = np.random.default_rng(0)
    greater, equal = rng.integers(0, 6, 400), rng.integers(0, 6, 400)
    orders = greater + 1 + rng.integers(0, equal + 1, size=(4000, 400))
    for k in (1, 4, 8):
        shares = (orders <= k).mean(axis=1)
        found = tables.rbp_by_rule(greater, equal, k)["mean"]
        assert found == pytest.approx(shares.mean(), abs=5 * shares.std() / 4000**0.5)


def test_settings_on_a_model(tmp_path):
    """A few pages of Python: loading a pocket corpus takes longer than the models."""
    file = tmp_path / "code.jsonl"
    sources = sorted(Path(tables.__file__).parent.glob("*.py"))[:6]
    file.write_text("\n".join(json.dumps({"text": one.read_text("utf-8")}) for one in sources))
    table = tables.precision_table(MODEL, file)
    by = table.groupby("setting")[["tied", "changed"]].first()
    assert by.loc["float32", "changed"] == 0 and by.loc["float32", "tied"] < 0.001
    # 16-bit logits tie; float32 logits of the same 16-bit body do not.
    assert by.loc["bfloat16 logits", "tied"] > 0.1 > by.loc["bfloat16 body", "tied"]
    assert by.loc["bfloat16 logits", "tied"] > by.loc["float16 logits", "tied"] > 0.01
    assert (table["pessimistic"] <= table["mean"]).all()
    assert (table["mean"] <= table["optimistic"]).all()
    # The setting float32 is what rbpkit measures.
    summary = measure(load_model(MODEL, device="cpu"), load_corpus(file), tmp_path / "out").summary
    here = table[table["setting"] == "float32"].set_index("k")
    assert here["tokens"].iloc[0] == summary.tokens
    assert here["CE"].iloc[0] == pytest.approx(summary.ce(), rel=1e-6)
    assert here["pessimistic"].tolist() == pytest.approx(summary.rbp(np.array(here.index)))


@pytest.mark.slow
def test_the_pocket_table_is_made_again():
    shipped = pd.read_csv(paths.TABLES / "precision.csv")
    shipped = shipped.query("corpus == 'pocket:code' and model == @MODEL.name")
    found = tables.precision_table(MODEL, "pocket:code")
    for name in ("CE", "pessimistic", "optimistic"):
        np.testing.assert_allclose(found[name], shipped[name], rtol=0, atol=2e-4)
    # Of 16-bit logits the last bit depends on the order of a sum: seen, 0.0011 in float16.
    np.testing.assert_allclose(found["tied"], shipped["tied"], rtol=0, atol=2e-3)
