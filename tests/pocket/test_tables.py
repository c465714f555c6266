"""Ties under three rules, and 16-bit logits against those of float32."""

from pathlib import Path

import numpy as np
import pytest
from conftest import write_jsonl

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


def test_settings_on_a_model(tmp_path):
    """A few pages of Python: loading a pocket corpus takes longer than the models."""
    sources = sorted(Path(tables.__file__).parent.glob("*.py"))[:6]
    file = write_jsonl(tmp_path / "code.jsonl", [one.read_text("utf-8") for one in sources])
    table = tables.precision_table(MODEL, file)
    tied = table.groupby("setting")["tied"].first()
    # 16-bit logits tie; float32 logits of the same 16-bit body do not.
    assert tied["bfloat16 logits"] > 0.1 > tied["bfloat16 body"]
    assert tied["bfloat16 logits"] > tied["float16 logits"] > 0.01 > tied["float32"]
    assert (table["pessimistic"] <= table["mean"]).all()
    assert (table["mean"] <= table["optimistic"]).all()
    # The setting float32 is what rbpkit measures.
    summary = measure(load_model(MODEL, device="cpu"), load_corpus(file)).summary
    here = table[table["setting"] == "float32"].set_index("k")
    assert here["CE"].iloc[0] == pytest.approx(summary.ce(), rel=1e-6)
    assert here["pessimistic"].tolist() == pytest.approx(summary.rbp(np.array(here.index)))
