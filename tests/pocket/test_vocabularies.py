"""Runs with another number of tokens: their text, their models, the table that ships."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from rbpkit import load_summaries
from rbpkit_pocket import paths, training, vocabularies
from rbpkit_pocket.families import POCKET_CONTEXT, SHAPES, V, initial_model, load_tokenizer
from rbpkit_pocket.recipes import Recipe
from rbpkit_pocket.split import train_tokenizer

SENTENCES = ["def rank(logits, target):\n    return 1\n", "Naïve façades: 漢字 🙂"] * 3


def test_a_token_has_as_many_characters_as_bytes():
    tokenizer = load_tokenizer()
    for text in SENTENCES:
        tokens = tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])
        assert sum(map(len, tokens)) == len(text.encode())


def test_V_changes_the_embeddings_alone():
    usual = initial_model("Pythia", SHAPES["Pythia"][0], 1)
    smaller = initial_model("Pythia", SHAPES["Pythia"][0], 1, 512)
    assert smaller.config.vocab_size == len(smaller.get_output_embeddings().weight) == 512
    # Neither tying nor padding: two matrices of V rows.
    width = SHAPES["Pythia"][0].width
    count = sum(p.numel() for p in usual.parameters()) - sum(
        p.numel() for p in smaller.parameters()
    )
    assert count == 2 * (V - 512) * width


def test_the_documents_are_those_of_the_usual_tokens(monkeypatch):
    """Whole documents within the first tokens: the last, which the count cuts, is left out."""
    tokenizer = load_tokenizer()
    stream = training.as_stream(SENTENCES, tokenizer, "")
    lengths = [len(tokenizer(text)["input_ids"]) + 1 for text in SENTENCES]
    assert len(stream) == sum(lengths) and (stream == 0).sum() == len(SENTENCES)
    monkeypatch.setattr(vocabularies, "token_stream", lambda split: stream)
    monkeypatch.setattr(vocabularies, "shuffled_texts", lambda split: SENTENCES)
    monkeypatch.setattr(vocabularies, "ABLATION_TOKENS", sum(lengths[:3]) + 2)
    assert vocabularies.training_documents() == SENTENCES[:3]


def test_a_run_is_measured_with_its_own_tokens(tmp_path, monkeypatch):
    tokenizer = train_tokenizer(SENTENCES, 300)
    tokens = len(tokenizer)
    assert 256 < tokens <= 300
    random = torch.Generator().manual_seed(0)
    stream = torch.randint(tokens, (16 * POCKET_CONTEXT + 1,), generator=random)
    text = training.TrainingText(stream, stream, tokenizer)
    recipe = Recipe(tokens=len(stream) - 1)
    trained = training.train("Pythia", SHAPES["Pythia"][0], recipe, tmp_path, text=text)
    monkeypatch.setattr(vocabularies, "TEXTS", ("pocket:humaneval",))
    [row] = vocabularies.measured_rows(tokens, 0, trained)
    assert row["tokens"] > 164 and row["bytes"] >= row["tokens"]
    # After one step of training the model is still near the uniform distribution.
    assert row["nll"] / row["tokens"] == pytest.approx(np.log(tokens), rel=0.1)
    assert 0 <= row["hits_1"] <= row["hits_10"] <= row["hits_100"] <= row["tokens"]


def test_the_table_that_ships():
    table = pd.read_csv(paths.VOCABULARIES)
    assert len(table) == 3 * 2 * 5
    assert (table.groupby("corpus")["S"].nunique() == 2).all()  # S does not depend on V
    # With the usual V the same tokens are scored as by the pocket models.
    usual = table[table["V"] == V]
    for summary in load_summaries(paths.SUMMARIES):
        if summary.manifest.model == "pythia-w32-l2":
            [tokens] = usual[usual["corpus"] == summary.manifest.corpus]["tokens"].unique()
            assert tokens == summary.manifest.tokens
    # More tokens in the vocabulary, fewer and longer tokens in the text.
    bytes_a_token = (table["bytes"] / table["tokens"]).groupby(table["V"]).mean()
    assert bytes_a_token.is_monotonic_increasing
