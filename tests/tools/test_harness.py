"""rbpkit as a model class of lm-evaluation-harness, run by the harness itself, offline."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import yaml

from rbpkit.corpora import Corpus, load_corpus
from rbpkit.errors import InputError
from rbpkit.measuring import measure
from rbpkit.records import Records, load_summaries

lm_eval = pytest.importorskip("lm_eval", reason="needs the extra: pip install 'rbpkit[harness]'")

from lm_eval.api.instance import Instance  # noqa: E402
from lm_eval.models.huggingface import HFLM  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402

from rbpkit.tools.harness import RankingLM  # noqa: E402

MODEL = "pocket:pythia-w64-l4"


def last_words(count: int) -> list[dict[str, str]]:
    """Passages of the pocket prose without their last word, as LAMBADA has them."""
    rows = []
    for text in load_corpus("pocket:prose", documents=count).documents:
        sentence = re.match(r".{40,300}?\w(?=[.,;])", text, flags=re.DOTALL)
        if sentence is not None and " " in sentence[0]:
            context, _, word = sentence[0].rpartition(" ")
            rows.append({"context": context, "word": word})
    return rows


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    """Folder of three tasks: last words, a choice of two words, whole passages."""
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    data = tmp_path / "words.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in last_words(80)))
    common = {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "doc_to_text": "{{context}}",
    }
    kinds = {
        "last_word": {
            "output_type": "loglikelihood",
            "doc_to_target": " {{word}}",
            "metric_list": [{"metric": "acc"}, {"metric": "perplexity"}],
        },
        "choice": {
            "output_type": "multiple_choice",
            "doc_to_choice": "{{[word, 'banana']}}",
            "doc_to_target": 0,
            "metric_list": [{"metric": "acc"}],
        },
        "passages": {
            "output_type": "loglikelihood_rolling",
            "doc_to_text": "",
            "doc_to_target": "{{context}}",
            "metric_list": [{"metric": "bits_per_byte"}],
        },
    }
    folder = tmp_path / "tasks"
    folder.mkdir()
    for name, kind in kinds.items():
        text = yaml.safe_dump({"task": name, **common, **kind})
        (folder / f"{name}.yaml").write_text(text)
    return folder


def test_accuracy_is_the_harness_s_and_the_records_have_rbp(tasks, tmp_path, rbpkit):
    out = tmp_path / "records"
    ranking = RankingLM(MODEL, records=str(out))
    theirs = HFLM(pretrained=ranking.loaded.model, tokenizer=ranking.tokenizer, batch_size=8)
    names = ["last_word", "choice", "passages"]
    found = []
    for model in (ranking, theirs):
        manager = TaskManager(include_path=str(tasks), include_defaults=False)
        results = lm_eval.simple_evaluate(model=model, tasks=names, task_manager=manager)
        found.append(results["results"])
    ours, expected = found
    assert ours["last_word"]["acc,none"] == expected["last_word"]["acc,none"]
    assert 0 < ours["last_word"]["acc,none"] < 1
    assert ours["choice"]["acc,none"] == expected["choice"]["acc,none"]
    for name, metric in (("last_word", "perplexity,none"), ("passages", "bits_per_byte,none")):
        assert ours[name][metric] == pytest.approx(expected[name][metric], rel=1e-4)

    # A choice has wrong answers among its continuations, so it has no records.
    summaries = {s.manifest.corpus: s for s in load_summaries(out)}
    assert set(summaries) == {"lm_eval:last_word", "lm_eval:passages"}
    records = Records.load(next((out / "lm_eval%3Alast_word").glob("*.parquet")))
    hit = np.bincount(records.document, records.rank() > 1) == 0
    assert hit.mean() == pytest.approx(ours["last_word"]["acc,none"])
    status, table, _ = rbpkit("show", out, "--k", 10)
    assert status == 0 and "lm_eval:last_word" in table

    # The same numbers as a corpus with prompts gives.
    rows = [{"q": row["context"], "a": " " + row["word"]} for row in last_words(80)]
    prompted = measure(MODEL, Corpus.of(rows, field="a", prompt="q"))
    np.testing.assert_array_equal(prompted.records.target, records.target)
    np.testing.assert_allclose(prompted.records.nll, records.nll, atol=2e-4)
    assert np.abs(prompted.records.rank() - records.rank()).max() <= 1


def test_what_does_not_fit_and_what_is_generated(tmp_path):
    ranking = RankingLM(MODEL, max_length=12)

    def asked(context: str, continuation: str) -> Instance:
        return Instance("loglikelihood", {}, (context, continuation), 0, ("made", 0, 1))

    # Only the end of a long context is read, so what it begins with changes nothing.
    long_contexts = ["one two three " * 9, "seven, " + "one two three " * 7]
    answers = [ranking.loglikelihood([asked(context, "four")])[0] for context in long_contexts]
    assert answers[0] == answers[1]
    no_context = ranking.loglikelihood([asked("", "a text without a context")])
    assert no_context[0][0] < 0
    with pytest.raises(InputError, match="does not fit"):
        ranking.loglikelihood([asked("one", " two three four five" * 9)])
    with pytest.raises(InputError, match="generates none"):
        ranking.generate_until([])
