"""Strata: their counts, and exponents that were planted in them."""

from __future__ import annotations

import numpy as np
import pytest

from rbpkit import figures_strata, pocket
from rbpkit.audit import strata
from rbpkit.audit.strata import Context
from rbpkit.errors import InputError
from rbpkit.manifest import Manifest
from rbpkit.records import Records

V = 40
TEXT = (*(f" w{i}"[:2] + "abcdefghij"[i] for i in range(10)), *"abcdefghij", *"0123456789")
TEXT += (".", ",", "):", "(", " =", "\n", "    ", "\n\n", " x", "[")


def context(counts=None) -> Context:
    return Context(TEXT, np.arange(V) ** 2 if counts is None else np.asarray(counts))


def some_records(rng, rank=None, target=None, documents=20, S=1000, nll=None) -> Records:
    """Records of documents of one length; random where nothing is given."""
    T = 4000 if rank is None else len(rank)
    rank = rng.integers(1, V + 1, T) if rank is None else np.asarray(rank)
    target = rng.integers(0, V, T) if target is None else np.asarray(target)
    length = T // documents
    nll = np.log(rank) + 0.1 if nll is None else nll
    manifest = Manifest(
        model=f"m{S}",
        revision="r",
        family="f",
        S=S,
        V=V,
        corpus="c",
        fingerprint="x",
        documents=documents,
        max_length=256,
        dtype="float32",
        device="cpu",
        threads=1,
        batch_tokens=1,
        seed=0,
        versions=dict.fromkeys(("torch", "transformers", "tokenizers"), "0"),
        tokens=T,
    )
    columns = {
        "document": np.repeat(np.arange(documents), length),
        "position": np.tile(np.arange(1, length + 1), documents),
        "target": target,
        "n_greater": rank - 1,
        "n_equal": np.zeros(T),
    }
    columns = {name: array.astype(np.int32) for name, array in columns.items()}
    return Records(**columns, nll=np.asarray(nll, dtype=np.float32), manifest=manifest)


def test_context_refuses_counts_of_another_length():
    with pytest.raises(InputError, match="40 tokens"):
        Context(TEXT, np.arange(7))
    with pytest.raises(InputError, match="outside the 2 tokens"):
        Context(("a", "b"), None).counts(some_records(np.random.default_rng(0)))


def test_frequency_groups_hold_equal_text():
    counts = np.array([10, 1, 5, 4, 20, 0])
    group = strata.frequency_groups(counts, np.arange(6), (0.25, 0.5))
    # In order 0, 1, 4, 5, 10, 20 the text that is rarer is 0, 0, 1, 5, 10, 20 of 40.
    assert group.tolist() == [1, 0, 0, 0, 2, 0]
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 50, 4096)
    every = strata.frequency_groups(counts, np.arange(4096))
    text = np.bincount(every, weights=counts) / counts.sum()
    assert text == pytest.approx(np.full(4, 0.25), abs=0.001)


def test_stood_before_by_a_loop():
    records = some_records(np.random.default_rng(0))
    seen, expected = set(), []
    for pair in zip(records.document, records.target, strict=True):
        expected.append(pair in seen)
        seen.add(pair)
    assert strata.stood_before(records).tolist() == expected


def test_table_adds_up_and_positions_are_cut_where_said():
    records = some_records(np.random.default_rng(0))
    table = strata.strata_table(records, context())
    for _, part in table.groupby("stratification"):
        assert part["tokens"].sum() == records.tokens
        assert part["nll"].sum() == pytest.approx(records.nll.astype(float).sum())
        for k in strata.KS:
            assert part[f"hits_{k}"].sum() == (records.rank() <= k).sum()
    position = table[table["stratification"] == "position"].set_index("stratum")["tokens"]
    assert position.to_dict() == {"1 to 16": 320, "17 to 64": 960, "65 to 128": 1280} | {
        "129 to 255": 1440
    }


ALPHAS = {"rarest quarter": 0.05, "second quarter": 0.1, "third quarter": 0.15}
ALPHAS |= {"commonest quarter": 0.2}
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)


def ladder(rng, alphas, T=40_000, documents=200):
    """Models whose -log RBP_1 falls with S by another exponent in each frequency group."""
    counts = np.ones(V)
    target = rng.integers(0, V, T)
    group = strata.frequency_groups(counts, target)
    every = []
    for S in SIZES:
        loss = 0.8 * (S / SIZES[0]) ** -np.asarray(alphas)[group]
        rank = np.where(rng.random(T) < np.exp(-loss), 1, 30)
        every.append(some_records(rng, rank, target, documents, S, nll=loss + np.log(rank)))
    return every, context(counts)


def test_planted_exponents_are_found_by_stratum():
    every, known = ladder(np.random.default_rng(0), list(ALPHAS.values()))
    found = strata.strata_alpha(every, known, draws=200)
    found = found[found["quantity"] == "RBP_1"].set_index("stratum")
    for name, alpha in ALPHAS.items():
        row = found.loc[name]
        assert row["low"] - 0.005 < alpha < row["high"] + 0.005
        assert row["alpha"] == pytest.approx(alpha, abs=0.015)
    last = found.loc["commonest quarter"]
    assert last["difference"] == pytest.approx(0.15, abs=0.02)
    assert last["difference_low"] > 0 and last["t_difference_low"] > 0
    # Frequency says nothing of where a token stands, so position has no difference to be found.
    assert abs(found.loc["129 to 255", "difference"]) < 0.03
    fits = [strata.strata_table(one, known).assign(S=one.manifest.S) for one in every]
    table = strata.pd.concat(fits).assign(corpus="c", family="f")
    fits = strata.stratum_fits(table).set_index(["stratum", "quantity"])
    for name in ALPHAS:
        assert fits.loc[(name, "RBP_1"), "alpha"] == pytest.approx(found.loc[name, "alpha"])
        assert fits.loc[(name, "RBP_1"), "low"] == pytest.approx(found.loc[name, "t_low"])
    summed = strata.differences(found.reset_index().assign(corpus="c", family="f"))
    assert summed.set_index("stratification").loc["frequency", "above, documents"] == 1


def test_equal_exponents_differ_at_the_stated_rate():
    """Alphas all 0.1: a 95% interval of a difference leaves out 0 in one of twenty."""
    rng, outside, m = np.random.default_rng(0), [], 60
    for _ in range(m):
        every, known = ladder(rng, [0.1] * 4, T=8_000, documents=80)
        found = strata.strata_alpha(every, known, draws=200)
        row = found[(found["stratum"] == "commonest quarter") & (found["quantity"] == "RBP_1")]
        outside.append(not row["difference_low"].item() < 0 < row["difference_high"].item())
    assert np.mean(outside) <= 0.05 + 3 * (0.05 * 0.95 / m) ** 0.5


def test_a_stratum_without_a_line_is_missing_not_a_number():
    every, known = ladder(np.random.default_rng(0), [0.1] * 4, T=4_000, documents=20)
    found = strata.strata_alpha(every, known, draws=20)
    assert found.loc[found["quantity"] == "RBP_100", "alpha"].isna().all()


def test_models_of_other_tokens_are_refused():
    rng = np.random.default_rng(0)
    every = [some_records(rng, S=S) for S in SIZES]
    with pytest.raises(InputError, match="different tokens"):
        strata.strata_alpha(every, context())
    with pytest.raises(InputError, match="at least 3 models"):
        strata.strata_alpha(every[:2], context())


def test_figure_of_strata():
    every, known = ladder(np.random.default_rng(0), list(ALPHAS.values()), T=8_000, documents=80)
    table = strata.strata_alpha(every, known, draws=20).assign(corpus="c", family="OPT")
    figure, points = figures_strata.figure_audit_strata(table, "RBP_1")
    assert len(figure.axes) == 3 and len(points) == 10
    with pytest.raises(InputError, match="nothing to draw"):
        figures_strata.figure_audit_strata(table, "RBP_5")


def test_pocket_tokens_are_those_of_the_models(monkeypatch):
    """The training text is long: one short document a corpus stands for it here."""

    class Short:
        documents = ("def f(x):\n    return x",)

    monkeypatch.setattr(strata, "load_pocket_documents", lambda corpus, split: Short())
    found = strata.pocket_context()
    tokenizer = pocket.load_tokenizer()
    ids = tokenizer(Short.documents[0], add_special_tokens=False)["input_ids"]
    assert "".join(found.token_text[i] for i in ids) == Short.documents[0]
    assert found.train_counts.sum() == 4 * (len(ids) + 1) and len(found.token_text) == pocket.V
