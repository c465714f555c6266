"""Whatever text, file, logits or points come in: the number of a naive oracle, or an error."""

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

from rbpkit import InputError, fit_power_law, load_corpus, load_model, logit_ranks, measure

EXAMPLES = int(os.environ.get("RBPKIT_DOORS", "40"))  # 1500 take minutes
MANY = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

TEXT = st.text(max_size=60) | st.text(st.characters(), max_size=20)  # half characters, too


@pytest.fixture(scope="module")
def model(llama_folder):
    return load_model(llama_folder, device="cpu")


@MANY
@given(texts=st.lists(TEXT, max_size=6), k=st.integers(1, 99))
def test_texts_in_memory(model, texts, k):
    try:
        result = measure(model, texts)
    except InputError as error:
        # Refused without need? A text of visible characters that has two tokens can be scored.
        visible = all(text.isprintable() for text in texts)
        ids = [model.tokenizer(text)["input_ids"] for text in texts] if visible else []
        assert not any(len(row) > 1 and 0 not in row for row in ids), error
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
    # Two ways to the same logits differ in their last bits, so a near tie may fall either way.
    expected = np.mean(np.array(ranks) <= k)
    assert result.rbp(k) == pytest.approx(expected, abs=1.5 / len(ranks))


VALUES = TEXT | st.none() | st.floats() | st.lists(st.integers(), max_size=3)
ROWS = st.builds(lambda value: json.dumps({"text": value}), VALUES)
LINES = ROWS | st.text(max_size=20) | st.just("")


@MANY
@given(lines=st.lists(LINES, max_size=5), noise=st.binary(max_size=2), seed=st.none() | st.just(0))
def test_files_of_json_lines(tmp_path, lines, noise, seed):
    path = Path(tmp_path) / "notes.jsonl"
    content = "\n".join(lines).encode("utf-8", "surrogatepass") + noise
    path.write_bytes(content)
    try:
        corpus = load_corpus(path, seed=seed)
    except InputError:
        return
    found = []
    for line in content.decode("utf-8-sig").split("\n"):
        if line.strip():
            text = json.loads(line)["text"]
            found.append(text if text.strip() else "")
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
    except InputError:
        scored = targets != -100
        in_range = (0 <= targets[scored]) & (targets[scored] < shape[1])
        assert not (in_range.all() and np.isfinite(logits[scored]).all())
        return
    for row, target, rank in zip(logits, targets, ranks.rank().tolist(), strict=True):
        assert rank == (0 if target == -100 else (row >= row[target]).sum())


@MANY
@given(
    S=st.lists(st.integers(1, 10**12) | st.integers(-5, 2**70), max_size=6),
    loss=st.lists(st.floats(1e-6, 50) | st.floats(), max_size=6),
)
def test_points_of_a_law(S, loss):
    try:
        law = fit_power_law(S, loss)
    except InputError:
        plain = all(1 <= s < 2**53 for s in S) and all(1e-6 <= one <= 50 for one in loss)
        assert not (plain and len(S) == len(loss) >= 3 and len({*S}) == len(S) and len({*loss}) > 1)
        return
    line = stats.linregress(np.log(np.array(S, dtype=float)), np.log(loss))
    assert -law.alpha == pytest.approx(line.slope, rel=1e-9, abs=1e-12)
    assert law.r2 == pytest.approx(line.rvalue**2, rel=1e-7, abs=1e-9)
