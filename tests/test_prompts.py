"""Corpora with prompts: what is read and not scored, to the token."""

import dataclasses

import numpy as np
import pytest
import torch
from conftest import TEXTS, refused, study_file, write_jsonl
from oracle import assert_counted, counted
from small_models import word_tokenizer
from tokenizers import Regex, pre_tokenizers

from rbpkit import Corpus, load_corpus, load_model, load_summaries, measure
from rbpkit.encoding import encode
from rbpkit.text_files import text_fingerprint

ROWS = (
    {"q": "Which token is ranked first?", "a": "the most likely one"},
    {"q": "Complete: a model that is twice as", "a": " large"},  # white space: no newline is added
    {"q": TEXTS[4], "a": "Figure 5."},  # longer than max_length: loses its beginning
    {"q": "Say x:\n", "a": "x"},  # a single token, scored after the prompt's last
    {"q": "Say nothing.", "a": "  "},  # empty
    {"q": "Write a program.", "a": TEXTS[2] * 9},  # does not fit at all
    {"q": "Ünïcödé 漢字?", "a": "🙂 漢"},
)


@pytest.fixture
def rows_file(tmp_path):
    return write_jsonl(tmp_path / "questions.jsonl", ROWS)


def naive(model, corpus, max_length) -> np.ndarray:
    """Rows of document, position, target, greater, equal, nll: one token at a time.

    The border is where the decoded text grows past the prompt.
    """
    out = []
    for number, (prompt, text) in enumerate(zip(corpus.prompts, corpus.documents, strict=True)):
        ids = model.tokenizer(prompt + text)["input_ids"]
        size = len(prompt.encode())
        lengths = [len(model.tokenizer.decode(ids[:n]).encode()) for n in range(len(ids) + 1)]
        first = next((n for n in range(len(ids)) if lengths[n + 1] > size), len(ids))
        if len(ids) - first >= max_length:
            continue
        for place in range(first, len(ids)):
            start = max(0, len(ids) - max_length)
            with torch.no_grad():
                logits = model.logits(torch.tensor([ids[start:place]]))[0, -1]
            row = (number, place - first + 1, ids[place], *counted(logits, ids[place]))
            out.append(row)
    return np.array(out)


def test_only_the_continuation_is_scored_as_a_naive_loop_says(llama_folder, rows_file):
    model = load_model(llama_folder)
    corpus = load_corpus(rows_file, field="a", prompt="q", seed=None)
    assert corpus.prompts[0].endswith("?\n") and corpus.prompts[1].endswith("as")
    said = []
    result = measure(model, corpus, max_length=60, say=said.append)
    expected = naive(model, corpus, 60)
    assert_counted(result.records.columns(), expected)
    length = len(model.tokenizer(corpus.prompts[2] + corpus.documents[2])["input_ids"])
    left_out = f"left out: {length - 60} token(s) at the beginning of prompts, 2 document(s) with"
    assert left_out in said[0] and result.summary.manifest.skipped_documents == 2
    text = "".join(corpus.documents[n] for n in np.unique(expected[:, 0]).astype(int))
    space = 1  # of " Figure": a token on both sides of the border is scored whole
    assert result.summary.manifest.scored_bytes == len(text.encode()) + space


@pytest.mark.parametrize("pattern", [r"\?\n|\n\n|.|\n", r".|\n"])
def test_the_border_is_that_of_the_text_and_not_of_the_tokens_of_the_prompt(pattern):
    """A question mark and a newline may be one token, and so may the newlines of both sides."""
    corpus = Corpus.of(
        [{"q": "a?", "a": "bc"}, {"q": "a\n", "a": "\nc"}, {"q": "b", "a": "c"}],
        field="a",
        prompt="q",
    )
    pieces = ["a", "b", "\n", "?\n", "?", "\n\n", "c"]
    cuts = pre_tokenizers.Split(Regex(pattern), "isolated")
    tokenizer = word_tokenizer(pieces, cuts, "<s> $A <x>")
    encoded = encode(corpus, tokenizer)
    scored = [
        tokenizer.convert_ids_to_tokens(one.input_ids[1:][one.scored]) for one in encoded.documents
    ]
    on_both_sides = ["\n\n", "c"] if "n\\n" in pattern else ["\n", "c"]
    assert scored == [["b", "c"], on_both_sides, ["c"]]
    assert [one.start + np.flatnonzero(one.scored)[0] for one in encoded.documents] == [0, 0, 0]
    # Five tokens with the two that the tokenizer adds: one of the prompt is left, and <s> stays.
    cut = encode(corpus, tokenizer, max_length=5)
    first = cut.documents[0].input_ids.tolist()
    assert tokenizer.convert_ids_to_tokens(first)[0] == "<s>" and len(first) == 5
    assert cut.tokens == encoded.tokens and "token(s) at the beginning of prompts" in cut.left_out
    too_short = encode(corpus, tokenizer, max_length=4).left_out
    assert too_short["document(s) with nothing to score"] == 2


def test_a_prompted_corpus_is_another_job(rbpkit, llama_folder, rows_file, tmp_path):
    joined = load_corpus(rows_file, field="q+a", seed=None)
    prompted = load_corpus(rows_file, field="a", prompt="q", seed=None)
    alone = load_corpus(rows_file, field="a", seed=None)
    assert len({joined.fingerprint, prompted.fingerprint, alone.fingerprint}) == 3
    assert alone.fingerprint == text_fingerprint(alone.documents)
    moved = dataclasses.replace(prompted, prompts=prompted.prompts[::-1])
    assert moved.fingerprint != prompted.fingerprint
    in_memory = Corpus.of(ROWS, field="a", prompt="q")
    assert in_memory.fingerprint == prompted.fingerprint

    out = tmp_path / "out"
    settings = {"field": "a", "prompt": "q", "max_length": 60}
    study = study_file(tmp_path, [llama_folder], [rows_file], **settings)
    assert rbpkit("sweep", study, "--out", out)[0] == 0
    arguments = ["measure", "--model", llama_folder, "--corpus", rows_file, "--field", "a"]
    arguments += ["--max-length", 60, "--out", out]
    status, _, err = rbpkit(*arguments, "--prompt", "q")
    assert status == 0 and "done before, not measured again" in err
    assert len(load_summaries(out)) == 1
    assert rbpkit(*arguments)[0] == 0
    assert len(load_summaries(out, several=True)) == 2


def test_what_cannot_be_is_one_line(rbpkit, llama_folder, rows_file, tmp_path):
    measured = ["measure", "--model", llama_folder, "--out", tmp_path / "out", "--field", "a"]
    given = [*measured, "--corpus", rows_file, "--prompt", "q"]
    long = write_jsonl(tmp_path / "long.jsonl", ROWS[5:6])
    cases = {
        "in field 'Q'": [*measured, "--corpus", rows_file, "--prompt", "Q"],
        "not read in windows": [*given, "--stride", 5],
        "none of its 1 documents has a token": [*measured, "--corpus", long, "--prompt", "q"],
    }
    for part, arguments in cases.items():
        status, _, err = rbpkit(*arguments)
        assert status == 2 and part in err.splitlines()[-1], (part, err)
    refused("nothing to use in field 'q'", Corpus.of, TEXTS, prompt="q")
