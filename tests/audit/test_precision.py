"""Ties under three rules, rounding of logits, rows without a token: counted by hand."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rbpkit.audit import precision, rank_findings, verdicts
from rbpkit.errors import InputError

torch = pytest.importorskip("torch")


def test_rules_count_planted_ties_exactly():
    # Of 5 entries: two before the target and one beside it; alone at the top; all alike.
    greater, equal = np.array([2, 0, 0]), np.array([1, 0, 4])
    at = {k: precision.rbp_by_rule(greater, equal, k) for k in (1, 3, 5)}
    assert at[1] == pytest.approx({"pessimistic": 1 / 3, "mean": 1.2 / 3, "optimistic": 2 / 3})
    assert at[3] == pytest.approx({"pessimistic": 1 / 3, "mean": 2.1 / 3, "optimistic": 1})
    assert set(at[5].values()) == {1.0}


def test_mean_rule_is_the_mean_over_random_orders_and_lies_between():
    rng = np.random.default_rng(0)
    greater, equal = rng.integers(0, 6, 400), rng.integers(0, 6, 400)
    orders = greater + 1 + rng.integers(0, equal + 1, size=(4000, 400))
    for k in (1, 4, 8):
        rules = precision.rbp_by_rule(greater, equal, k)
        assert rules["pessimistic"] <= rules["mean"] <= rules["optimistic"]
        shares = (orders <= k).mean(axis=1)
        assert rules["mean"] == pytest.approx(shares.mean(), abs=5 * shares.std() / 4000**0.5)


@pytest.mark.parametrize("bad", [([1], [1, 2], 1), ([], [], 1), ([0], [0], 0)])
def test_rules_refuse_what_cannot_be_counted(bad):
    greater, equal, k = bad
    with pytest.raises(InputError):
        precision.rbp_by_rule(np.array(greater), np.array(equal), k)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A few pages of Python: loading a pocket corpus takes longer than the models."""
    sources = sorted(Path(precision.__file__).parent.glob("*.py"))[:6]
    file = tmp_path_factory.mktemp("text") / "code.jsonl"
    lines = [json.dumps({"text": source.read_text(encoding="utf-8")}) for source in sources]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def one_model(text):
    from rbpkit.pocket import recipes

    folder = recipes.MODELS / "gpt2-w32-l2"
    return folder, precision.precision_table(folder, text)


def test_settings_on_a_model(one_model):
    _, table = one_model
    assert list(table["setting"].unique()) == list(precision.SETTINGS)
    assert table["tokens"].nunique() == 1 and len(table) == 5 * len(precision.KS)
    by = table.groupby("setting")[["tied", "changed"]].first()
    assert by.loc["float32", "changed"] == 0 and by.loc["float32", "tied"] < 0.001
    # 16-bit logits tie; float32 logits of the same 16-bit body do not.
    assert by.loc["bfloat16 logits", "tied"] > 0.1 > by.loc["bfloat16 body", "tied"]
    assert by.loc["bfloat16 logits", "tied"] > by.loc["float16 logits", "tied"] > 0.01
    assert (table["pessimistic"] <= table["mean"]).all()
    assert (table["mean"] <= table["optimistic"]).all()


def test_float32_setting_is_what_rbpkit_measures(one_model, text, tmp_path):
    from rbpkit.corpora import load_corpus
    from rbpkit.measuring import measure
    from rbpkit.models import load_model

    folder, table = one_model
    documents = load_corpus(text, documents=precision.DOCUMENTS)
    summary = measure(load_model(folder, device="cpu"), documents, tmp_path).summary
    here = table[table["setting"] == "float32"].set_index("k")
    assert here["tokens"].iloc[0] == summary.tokens
    assert here["CE"].iloc[0] == pytest.approx(summary.ce(), rel=1e-6)
    for k in precision.KS:
        assert here.loc[k, "pessimistic"] == pytest.approx(summary.rbp(k), abs=1e-9)


def _table(shift, fine=0.0):
    """A made-up table: exact laws. Optimistic is higher by `shift` in 16 bits, by `fine` in 32."""
    rows, settings = [], (("float32", fine, 0.0, 3.0), ("bfloat16 logits", shift, 0.2, 3.03))
    for name, S in (("a", 1e4), ("b", 1e5), ("c", 1e6)):
        for k in (1, 10):
            rbp = np.exp(-3 / k**0.3 * S**-0.1)
            about = {"corpus": "x", "family": "F", "model": name, "S": int(S), "V": 9, "k": k}
            for setting, width, tied, ce in settings:
                found = {"setting": setting, "tokens": 100, "tied": tied, "changed": tied, "CE": ce}
                rules = zip(precision.RULES, (rbp, rbp + width / 2, rbp + width), strict=True)
                rows.append(about | found | dict(rules))
    return pd.DataFrame(rows)


def test_by_setting_finds_the_planted_change():
    table = precision.by_setting(_table(0.004)).set_index("setting")
    assert table.loc["float32", "rule"] == 0 and table.loc["float32", "models"] == 3
    half = table.loc["bfloat16 logits"]
    assert half["rule"] == pytest.approx(0.004) and half["mean"] == pytest.approx(0.002)
    assert half["CE"] == pytest.approx(0.01) and half["changed_most"] == 0.2
    with pytest.raises(InputError, match="float32"):
        precision.by_setting(_table(0.1).query("setting != 'float32'"))


def test_fitted_finds_the_planted_exponent_and_its_shift():
    fits = precision.fitted(_table(0.004))
    exact = fits[(fits["setting"] == "float32") | (fits["rule"] == "pessimistic")]
    np.testing.assert_allclose(exact["alpha"], 0.1, rtol=1e-9)
    np.testing.assert_allclose(exact["shift"], 0, atol=1e-9)
    moved = fits[(fits["setting"] == "bfloat16 logits") & (fits["rule"] == "optimistic")]
    assert (moved["shift"].abs() > 1e-4).all()


@pytest.mark.parametrize(
    ("shift", "word"),
    [(0.0005, "holds"), (0.004, "depends on the margin"), (0.02, "contradicted")],
)
def test_ties_are_judged_on_float32_logits(shift, word):
    (one,) = rank_findings.ties(_table(0.01, shift))
    known = verdicts.load_claims()["ties"]
    assert one.value == pytest.approx(shift) and verdicts.verdict(known, one) == word
    assert "bfloat16 logits" in verdicts.sentence(known, one)
