"""Kinds of tokens: exponents planted in strata, misses by kind, words counted by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from made_summaries import records_of

from rbpkit.audit import strata, tokens
from rbpkit.audit.strata import Context
from rbpkit.errors import InputError
from rbpkit.pocket import recipes
from rbpkit.records import Records

V = 40
TEXT = (*(f" w{i}"[:2] + "abcdefghij"[i] for i in range(10)), *"abcdefghij", *"0123456789")
TEXT += (".", ",", "):", "(", " =", "\n", "    ", "\n\n", " x", "[")


def context(counts=None) -> Context:
    return Context(TEXT, np.arange(V) ** 2 if counts is None else np.asarray(counts))


def some_records(rng, rank=None, target=None, documents=20, S=1000, nll=None) -> Records:
    """Records of documents of one length; random where nothing is given."""
    T = 4000 if rank is None else len(rank)
    rank = rng.integers(1, V + 1, T) if rank is None else rank
    target = rng.integers(0, V, T) if target is None else target
    document = np.repeat(np.arange(documents), T // documents)
    nll = np.log(rank) + 0.1 if nll is None else nll
    return records_of(rank, document, target=target, nll=nll, S=S, V=V, max_length=256)


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
    with pytest.raises(InputError, match="nothing to draw"):
        strata.figure_strata(found.assign(corpus="c", family="OPT"), "RBP_5")


def test_models_of_other_tokens_are_refused():
    rng = np.random.default_rng(0)
    every = [some_records(rng, S=S) for S in SIZES]
    with pytest.raises(InputError, match="different tokens"):
        strata.strata_alpha(every, context())
    with pytest.raises(InputError, match="at least 3 models"):
        strata.strata_alpha(every[:2], context())


def test_pocket_tokens_are_those_of_the_models(monkeypatch):
    """The training text is long: one short document a corpus stands for it here."""

    class Short:
        documents = ("def f(x):\n    return x",)

    monkeypatch.setattr(strata, "load_pocket_documents", lambda corpus, split: Short())
    found = strata.pocket_context.__wrapped__()  # what is kept is the long text's
    tokenizer = recipes.load_tokenizer()
    ids = tokenizer(Short.documents[0], add_special_tokens=False)["input_ids"]
    assert "".join(found.token_text[i] for i in ids) == Short.documents[0]
    assert found.train_counts.sum() == 4 * (len(ids) + 1) and len(found.token_text) == recipes.V


# -- missed tokens ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((" foo", "word start"), ("foo", "letters, no space before")),
        ("é", "letters, no space before"),
        *((" 12", "number"), ("7", "number"), (".", "punctuation"), (" --", "punctuation")),
        *(("):", "symbol"), (" =", "symbol"), ("\n   ", "whitespace"), (" ", "whitespace")),
        *(("\N{REPLACEMENT CHARACTER}", "part of a character"), ("_name", "symbol")),
    ],
)
def test_kinds(text, kind):
    assert tokens.kind_of(text) == kind


def test_table_counts_every_token_once_per_stratification():
    records = some_records(np.random.default_rng(0))
    table = tokens.missed_table(records, context())
    for k in tokens.missed_ks(V):
        here = table[table["k"] == k]
        total = int((records.rank() > k).sum())
        for by in ("all", "frequency", "kind"):
            part = here[here["by"] == by]
            assert part["tokens"].sum() == records.tokens and part["missed"].sum() == total
            assert part["expected"].sum() == pytest.approx(total)


def test_misses_by_chance_are_as_expected_and_planted_ones_are_found():
    rng = np.random.default_rng(0)
    rank = rng.integers(1, V + 1, 20_000)  # ranks that know nothing of token and document
    records = some_records(rng, rank=rank, documents=100)
    table = tokens.missed_table(records, context())
    large = table[(table["expected"] > 50) & (table["by"] != "document")]
    z = (large["missed"] - large["expected"]) / large["expected"] ** 0.5
    assert z.abs().max() < 3.5
    worst = table[table["by"] == "document"]
    assert (worst["missed"] / worst["expected"]).between(0.9, 1.1).all()

    bad = np.where(records.document < 10, V, 1)  # all misses in ten documents
    worst = tokens.missed_table(some_records(rng, rank=bad, documents=100), context())
    worst = worst[worst["by"] == "document"]
    assert (worst["missed"] == 2000).all() and (worst["expected"] < 500).all()


def test_unknown_training_text_takes_the_targets_themselves():
    records = some_records(np.random.default_rng(0))
    own = np.bincount(records.target, minlength=V)
    table = tokens.missed_table(records, Context(TEXT, None))
    assert table.equals(tokens.missed_table(records, Context(TEXT, own)))


def test_shared_misses_of_independent_and_of_equal_models():
    rng = np.random.default_rng(0)
    rank = rng.integers(1, V + 1, (4, 20_000))
    target = rng.integers(0, V, 20_000)
    ladder = [some_records(rng, rank=r, S=10**i, target=target) for i, r in enumerate(rank, 3)]
    table = tokens.shared_misses(ladder)
    assert (table["both"] / table["expected"]).between(0.9, 1.1).all()
    alike = [some_records(rng, rank=rank[0], S=10**i, target=target) for i in range(3, 7)]
    for row in tokens.shared_misses(alike).itertuples():
        assert row.smallest == row.largest == row.both == row.all == row.any
    with pytest.raises(InputError, match="S ascending"):
        tokens.shared_misses(ladder[::-1])


# -- words -----------------------------------------------------------------------------------

WORDS = ("The", " cat", "s", " sat", ".", "\n", "    ", " on", "ly", "end")
WORDS += tuple(f"x{i}" for i in range(30))
KNOWN = Context(WORDS, None)


def toy(texts, rank, documents=1):
    target = [WORDS.index(text) for text in texts]
    return some_records(np.random.default_rng(0), rank, target, documents)


def test_words_of_a_toy_tokenizer_are_exact():
    texts = ["s", " cat", "s", " sat", ".", "\n", "    ", "The", " on", "ly", " cat", "end"]
    found = tokens.words_of(toy(texts, np.ones(12)), KNOWN)
    # "s" and " catend" stand at the ends; the line end and the spaces belong to the word after.
    made = ["".join(texts[a : a + n]) for a, n in zip(found.start, found.length, strict=True)]
    assert made == [" cats", " sat.", "\n    The", " only"]


def test_a_word_does_not_cross_documents_or_gaps():
    texts = ["s", " cat", "s", " sat"] * 2
    found = tokens.words_of(toy(texts, np.ones(8), documents=2), KNOWN)
    assert found.start.tolist() == [1, 5] and found.length.tolist() == [2, 2]
    records = toy(texts, np.ones(8))
    position = np.array([1, 2, 3, 4, 9, 10, 11, 12], dtype=np.int32)
    found = tokens.words_of(dataclasses.replace(records, position=position), KNOWN)
    assert found.start.tolist() == [1, 5]


def test_table_counts_by_hand():
    texts = ["s", " cat", "s", " sat", " on", "ly", " sat", " cat"]
    #             one at 5: missed at 1    right at 1   all right   last
    rank = np.array([1, 1, 5, 1, 1, 1, 20, 1])
    table = tokens.words_table(toy(texts, rank), KNOWN).set_index(["length", "k"])
    assert table.loc[("all", 1), ["words", "word_hits", "tokens", "token_hits"]].tolist() == [
        *(4, 2, 6, 4)
    ]
    assert table.loc[("all", 10), ["word_hits", "token_hits"]].tolist() == [3, 5]
    assert table.loc[("all", 100), ["word_hits", "token_hits"]].tolist() == [4, 6]
    assert table.loc[("2", 1), ["words", "word_hits"]].tolist() == [2, 1]
    assert table.loc[("1", 10), ["words", "word_hits"]].tolist() == [2, 1]
    assert table.loc[("4 or more", 1), "words"] == 0
    nll = np.log(rank[1:7]) + 0.1
    assert table.loc[("all", 1), "nll"] == pytest.approx(nll.sum(), rel=1e-6)


def test_independent_tokens_give_the_power():
    """Words of two tokens, independent: -log RBP per word is twice that per token."""
    T = 40_000
    rank = np.where(np.random.default_rng(0).random(T) < 0.55, 1, 30)
    table = tokens.words_table(toy([" cat", "s"] * (T // 2), rank, 20), KNOWN)
    one = table.set_index(["length", "k"]).loc["all", 1]
    token, word = one["token_hits"] / one["tokens"], one["word_hits"] / one["words"]
    assert np.log(word) == pytest.approx(2 * np.log(token), rel=0.03)


def test_no_word_and_unknown_tokens_are_refused():
    with pytest.raises(InputError, match="no whole word"):
        tokens.words_table(toy(["s"] * 6, np.ones(6)), KNOWN)
    with pytest.raises(InputError, match="outside the 3 tokens"):
        tokens.words_of(toy(["end"] * 6, np.ones(6)), Context(WORDS[:3], None))
