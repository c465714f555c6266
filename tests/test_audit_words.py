"""Words of a toy tokenizer, counted by hand; RBP per word beside RBP per token."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from test_audit_strata import some_records

from rbpkit.audit import words
from rbpkit.audit.strata import Context
from rbpkit.errors import InputError

TEXT = ("The", " cat", "s", " sat", ".", "\n", "    ", " on", "ly", "end")
TEXT += tuple(f"x{i}" for i in range(30))
KNOWN = Context(TEXT, None)


def toy(texts, rank, documents=1):
    target = [TEXT.index(text) for text in texts]
    return some_records(np.random.default_rng(0), rank, target, documents)


def test_words_of_a_toy_tokenizer_are_exact():
    texts = ["s", " cat", "s", " sat", ".", "\n", "    ", "The", " on", "ly", " cat", "end"]
    found = words.words_of(toy(texts, np.ones(12)), KNOWN)
    # "s" and " catend" stand at the ends; the line end and the spaces belong to the word after.
    made = ["".join(texts[a : a + n]) for a, n in zip(found.start, found.length, strict=True)]
    assert made == [" cats", " sat.", "\n    The", " only"]


def test_a_word_does_not_cross_documents_or_gaps():
    texts = ["s", " cat", "s", " sat"] * 2
    found = words.words_of(toy(texts, np.ones(8), documents=2), KNOWN)
    assert found.start.tolist() == [1, 5] and found.length.tolist() == [2, 2]
    records = toy(texts, np.ones(8))
    position = np.array([1, 2, 3, 4, 9, 10, 11, 12], dtype=np.int32)
    found = words.words_of(dataclasses.replace(records, position=position), KNOWN)
    assert found.start.tolist() == [1, 5]


def test_table_counts_by_hand():
    texts = ["s", " cat", "s", " sat", " on", "ly", " sat", " cat"]
    #             one at 5: missed at 1    right at 1   all right   last
    rank = np.array([1, 1, 5, 1, 1, 1, 20, 1])
    table = words.words_table(toy(texts, rank), KNOWN).set_index(["length", "k"])
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


def test_one_token_words_are_tokens():
    rng = np.random.default_rng(0)
    rank = rng.integers(1, 41, 400)
    table = words.words_table(toy([" cat"] * 400, rank), KNOWN)
    assert (table["words"] == table["tokens"]).all()
    assert (table["word_hits"] == table["token_hits"]).all()


def test_independent_tokens_give_the_power_and_the_fits_show_it():
    """Words of two tokens, independent: -log RBP per word is twice that per token, alpha equal."""
    rng, tables, T = np.random.default_rng(0), [], 40_000
    for S in (1_000, 10_000, 100_000, 1_000_000):
        loss = 0.6 * (S / 1_000) ** -0.1
        rank = np.where(rng.random(T) < np.exp(-loss), 1, 30)
        table = words.words_table(toy([" cat", "s"] * (T // 2), rank, 20), KNOWN)
        tables.append(table.assign(corpus="c", family="f", model=f"m{S}", S=S))
    every = pd.concat(tables)
    fits = words.word_fits(every)
    one = fits[fits["k"] == 1].iloc[0]
    assert one["alpha_token"] == pytest.approx(0.1, abs=0.01)
    assert one["low"] < 0.0 < one["high"] and abs(one["difference"]) < 0.01
    assert np.log(one["word"]) == pytest.approx(2 * np.log(one["token"]), rel=0.03)
    assert fits["k"].tolist() == [1, 10]  # at k = 100 every rank is within: no line
    bits = words.bits_table(every)
    assert (bits["bits_word"] == 2 * bits["bits_token"]).all() and len(bits) == 4


def test_no_word_and_unknown_tokens_are_refused():
    with pytest.raises(InputError, match="no whole word"):
        words.words_table(toy(["s"] * 6, np.ones(6)), KNOWN)
    with pytest.raises(InputError, match="outside the 3 tokens"):
        words.words_of(toy(["end"] * 6, np.ones(6)), Context(TEXT[:3], None))


def test_published_families_cut_one_text_differently():
    table = words.published_by_text(1e9).set_index(["corpus", "family"])
    assert table.loc[("HumanEval", "GPT2"), "tokens"] == 42_400
    assert table.loc[("HumanEval", "Qwen"), "tokens"] == 30_655
    assert np.allclose(table["text"], table["token"] * table["tokens"])
    # A token of GPT-2 and one of Pythia are about as hard; the text is not.
    code = table.loc["HumanEval"]
    assert code.loc["GPT2", "token"] / code.loc["Pythia", "token"] < 1.1
    assert code.loc["GPT2", "text"] / code.loc["Pythia", "text"] > 1.3
    assert not table["beyond"].any() and words.published_by_text(1e5)["beyond"].all()
