"""Whatever comes to a public door: the number that a naive oracle gives, or one InputError."""

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from rbpkit import Corpus, fit_power_law, load_corpus, load_model, logit_ranks, measure
from rbpkit.errors import InputError

EXAMPLES = int(os.environ.get("RBPKIT_DOORS", "40"))  # 1500 take minutes
MANY = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
SOME = settings(MANY, max_examples=max(15, EXAMPLES // 5))

ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=20),  # half characters, too
    st.binary(max_size=8),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
)
TEXTS = st.one_of(st.lists(st.text(max_size=60), max_size=6), st.lists(ANYTHING, max_size=4))


def one_line(error: BaseException) -> bool:
    return bool(str(error).strip()) and "\n" not in str(error).strip()


@pytest.fixture(scope="module")
def model(llama_folder):
    return load_model(llama_folder, device="cpu")


@MANY
@given(texts=TEXTS, wrapped=st.sampled_from([list, tuple, iter]), k=ANYTHING | st.integers(1, 99))
def test_texts_in_memory(model, texts, wrapped, k):
    is_text = all(isinstance(text, str) and text.isprintable() for text in texts)
    try:
        result = measure(model, wrapped(texts))
    except InputError as error:
        assert one_line(error)
        # Refused without need? A text of visible characters that has two tokens can be scored.
        ids = [model.tokenizer(text)["input_ids"] for text in texts] if is_text else []
        assert not any(len(row) > 1 and set(row) - {0} == set(row) for row in ids), error
        return
    ranks, nats = [], []
    for text in texts:
        ids = model.tokenizer(text, truncation=True, max_length=128)["input_ids"]
        if len(ids) < 2 or not text.strip():
            continue
        logits = model.logits(torch.tensor([ids]))[0].double().numpy()
        special = set(model.tokenizer.all_special_ids)
        for before, target in enumerate(ids[1:]):
            if target in special or ids[before] in special:
                continue
            row = logits[before]
            ranks.append((row >= row[target]).sum())
            nats.append(np.log(np.exp(row - row.max()).sum()) + row.max() - row[target])
    assert result.ce() == pytest.approx(np.mean(nats), abs=1e-4)
    try:
        share = result.rbp(k)
    except InputError as error:
        assert one_line(error) and not (type(k) is int and 1 <= k < 99)
        return
    # Two ways to the same logits differ in their last bits, so a near tie may fall either way.
    expected = [np.mean(np.array(ranks) <= one) for one in np.atleast_1d(k)]
    np.testing.assert_allclose(np.atleast_1d(share), expected, atol=1.5 / len(ranks))


SETTINGS = ("max_length", "stride", "batch_tokens", "name", "family", "tokenizer", "say", "corpus")


@SOME
@given(name=st.sampled_from(SETTINGS), value=ANYTHING)
def test_settings_of_a_measurement(model, name, value):
    right = {"corpus": ["one two three"], "tokenizer": model.tokenizer}
    try:
        result = measure(model.model, **right | {name: value})
    except InputError as error:
        assert one_line(error) and (name == "corpus" or name in str(error))
        return
    if name in ("batch_tokens", "name", "family"):
        assert result.ce() == measure(model.model, **right).ce()


LINES = st.one_of(
    st.fixed_dictionaries({"text": st.text(max_size=20) | ANYTHING}).map(
        lambda row: json.dumps(row, default=repr)
    ),
    st.text(max_size=20),
    st.just(""),
)


@MANY
@given(lines=st.lists(LINES, max_size=5), noise=st.binary(max_size=2), seed=st.none() | ANYTHING)
def test_files_of_json_lines(tmp_path, lines, noise, seed):
    path = Path(tmp_path) / "notes.jsonl"
    content = "\n".join(lines).encode("utf-8", "surrogatepass") + noise
    path.write_bytes(content)
    try:
        corpus = load_corpus(path, seed=seed)
    except InputError as error:
        assert one_line(error)
        return
    found = []
    for line in content.decode("utf-8-sig").split("\n"):
        if line.strip():
            text = json.loads(line)["text"]
            found += [text] if text.strip() else []
    assert sorted(corpus.documents) == sorted(found)
    assert seed is not None or list(corpus.documents) == found


@MANY
@given(data=st.data())
def test_logits(data):
    shape = data.draw(st.tuples(st.integers(0, 4), st.integers(1, 9)))
    numbers = st.floats(width=32) | st.sampled_from([0.0, 1.0, math.inf, math.nan])
    logits = data.draw(arrays(np.float32, shape, elements=numbers))
    targets = data.draw(arrays(np.int64, shape[0], elements=st.integers(-2, 9) | st.just(-100)))
    try:
        ranks = logit_ranks(torch.from_numpy(logits), torch.from_numpy(targets))
    except InputError as error:
        assert one_line(error)
        scored = targets != -100
        in_range = (0 <= targets[scored]) & (targets[scored] < shape[1])
        assert not (in_range.all() and np.isfinite(logits[scored]).all())
        return
    for row, target, rank in zip(logits, targets, ranks.rank().tolist(), strict=True):
        assert rank == (0 if target == -100 else (row >= row[target]).sum())


@MANY
@given(
    S=st.lists(st.integers(1, 10**12) | ANYTHING, max_size=6),
    loss=st.lists(st.floats(1e-6, 50) | ANYTHING, max_size=6),
)
def test_points_of_a_law(S, loss):
    try:
        law = fit_power_law(S, loss)
    except InputError as error:
        assert one_line(error)
        plain = all(type(s) is int and 1 <= s < 2**53 for s in S)
        plain &= all(type(one) is float and 1e-6 <= one <= 50 for one in loss)
        assert not (plain and len(S) == len(loss) >= 3 and len({*S}) == len(S) and len({*loss}) > 1)
        return
    line = stats.linregress(np.log(S), np.log(loss))
    assert -law.alpha == pytest.approx(line.slope, rel=1e-9, abs=1e-12)
    assert law.r2 == pytest.approx(line.rvalue**2, rel=1e-7, abs=1e-9)


@SOME
@given(
    options=st.dictionaries(
        st.sampled_from(["field", "unit", "prompt", "name"]), ANYTHING, max_size=3
    ),
    rows=st.lists(st.dictionaries(st.sampled_from(["text", "by"]), ANYTHING), max_size=4),
)
def test_rows_and_names_of_columns(options, rows):
    try:
        corpus = Corpus.of(rows, **options)
    except InputError as error:
        assert one_line(error)
        return
    field = options.get("field", "text")
    assert list(corpus.documents) == [row[field] for row in rows if row[field].strip()]


@SOME
@given(words=st.lists(st.text(st.characters(exclude_characters="\0"), max_size=12), max_size=4))
def test_command_lines(rbpkit, tmp_path, words):
    words = [word.encode("utf-8", "replace").decode() for word in words]
    for command in ("show", "fit", "predict", "compare"):
        status, _, err = rbpkit(command, tmp_path, *words)
        is_help = any(word in ("--help", "-h") for word in words)
        assert is_help or (status == 2 and err.startswith("rbpkit: ") and err.count("\n") == 1), err
