"""rbpkit as a model class of lm-evaluation-harness, run by the harness itself, offline."""

import random
import re

import numpy as np
import pytest
import yaml
from conftest import refused, write_jsonl

from rbpkit import Corpus, Records, load_corpus, load_summaries, measure

lm_eval = pytest.importorskip("lm_eval", reason="needs the extra: pip install 'rbpkit[harness]'")

from lm_eval.api.instance import Instance  # noqa: E402
from lm_eval.models.huggingface import HFLM  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402

from rbpkit.tools.harness import RankingLM  # noqa: E402

MODEL = "pocket:pythia-w64-l4"
REQUESTS = 250  # of each kind


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
    """Folder of two tasks: last words, and a choice of two words."""
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    data = write_jsonl(tmp_path / "words.jsonl", last_words(80))
    common = {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "doc_to_text": "{{context}}",
        "metric_list": [{"metric": "acc"}],
    }
    last = {"output_type": "loglikelihood", "doc_to_target": " {{word}}"}
    choice = {"output_type": "multiple_choice", "doc_to_target": 0}
    choice["doc_to_choice"] = "{{[word, 'banana']}}"
    for name, kind in (("last_word", last), ("choice", choice)):
        text = yaml.safe_dump({"task": name, **common, **kind})
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def test_accuracy_is_the_harness_s_and_the_records_have_rbp(tasks, tmp_path, rbpkit):
    out = tmp_path / "records"
    ranking = RankingLM(MODEL, records=str(out))
    theirs = HFLM(pretrained=ranking.loaded.model, tokenizer=ranking.tokenizer, batch_size=8)
    names, found = ["last_word", "choice"], []
    for model in (ranking, theirs):
        manager = TaskManager(include_path=str(tasks), include_defaults=False)
        results = lm_eval.simple_evaluate(model=model, tasks=names, task_manager=manager)
        found.append([results["results"][name]["acc,none"] for name in names])
    assert found[0] == found[1] and 0 < found[0][0] < 1

    # A choice has wrong answers among its continuations, so it has no records.
    [summary] = load_summaries(out)
    assert summary.manifest.corpus == "lm_eval:last_word"
    records = Records.load(next(out.rglob("*.parquet")))
    hit = np.bincount(records.document, records.rank() > 1) == 0
    assert hit.mean() == pytest.approx(found[0][0])
    status, table, _ = rbpkit("show", out, "--k", 10)
    assert status == 0 and "lm_eval:last_word" in table

    # The same numbers as a corpus with prompts gives.
    rows = [{"q": row["context"], "a": " " + row["word"]} for row in last_words(80)]
    prompted = measure(MODEL, Corpus.of(rows, field="a", prompt="q"))
    np.testing.assert_array_equal(prompted.records.target, records.target)
    np.testing.assert_allclose(prompted.records.nll, records.nll, atol=2e-4)
    assert np.abs(prompted.records.rank() - records.rank()).max() <= 1


def instance(kind: str, *arguments: str) -> Instance:
    return Instance(kind, {}, arguments, 0, ("made", 0, 1))


def test_what_does_not_fit():
    ranking = RankingLM(MODEL, max_length=12)

    def scored(context: str, continuation: str) -> tuple[float, bool]:
        return ranking.loglikelihood([instance("loglikelihood", context, continuation)])[0]

    # Only the end of a long context is read, so what it begins with changes nothing.
    assert scored("one two three " * 9, "four") == scored("six, " + "one two three " * 7, "four")
    assert scored("", "a text without a context")[0] < 0
    for continuation in (" two three four five" * 9, ""):
        refused("does not fit", scored, "one" if continuation else "", continuation)


def made_requests(kind: str, window: int) -> list[Instance]:
    """No context, white space at its end, texts longer than the window, and plain requests."""
    words = " ".join(load_corpus("pocket:prose", documents=60).documents).split(" ")
    pick = random.Random(0)
    requests = []
    for number in range(REQUESTS):
        start = pick.randrange(len(words) - 3 * window)
        length = (pick.randrange(1, 20), pick.randrange(window, 2 * window))[number % 5 == 4]
        text = " ".join(words[start : start + length])
        if kind == "loglikelihood_rolling":
            requests.append(instance(kind, text))
            continue
        continuation = " ".join(words[start + length : start + length + pick.randrange(1, 6)])
        space = pick.choice(("", " ", "\n", "  "))
        context = (text, "", text + space, text + " ", text)[number % 5]
        # Theirs fails for a context of white space alone.
        context = context if context.strip() else ""
        if number % 10 == 0:  # a pair that occurred before, which a model may get right
            context, space, continuation = "one, two, " * 6 + "one,", " ", "two"
        requests.append(instance(kind, context, space + (continuation or ".")))
    return requests


def test_log_likelihoods_are_those_of_the_harness_s_own_class():
    """On generated requests. Our window has one token fewer, so theirs is made one shorter."""
    window = 64
    ranking = RankingLM(MODEL, max_length=window)
    theirs = HFLM(
        pretrained=ranking.loaded.model,
        tokenizer=ranking.tokenizer,
        batch_size=8,
        max_length=window - 1,
    )
    asked = made_requests("loglikelihood", window)
    ours, expected = ranking.loglikelihood(asked), theirs.loglikelihood(asked, disable_tqdm=True)
    np.testing.assert_allclose([a for a, _ in ours], [a for a, _ in expected], atol=1e-4, rtol=1e-5)
    assert [greedy for _, greedy in ours] == [greedy for _, greedy in expected]
    assert 0 < sum(greedy for _, greedy in ours) < len(asked)

    asked = made_requests("loglikelihood_rolling", window)
    nats = ranking.loglikelihood_rolling(asked)
    expected = theirs.loglikelihood_rolling(asked, disable_tqdm=True)
    np.testing.assert_allclose(nats, expected, atol=1e-4, rtol=1e-5)
    assert ranking.loglikelihood_rolling([instance("loglikelihood_rolling", "")]) == [0]


@pytest.mark.parametrize("space", [" ", "\n", "  "])
def test_a_context_of_white_space_counts_as_the_beginning_of_the_continuation(space):
    """The harness's own class cannot score it."""
    ranking = RankingLM(MODEL)
    split = ranking.loglikelihood([instance("loglikelihood", space, "the cat")])
    joined = ranking.loglikelihood([instance("loglikelihood", "", space + "the cat")])
    assert split == joined and split[0][0] < -5
