"""The paper's study as a parameter file, and what it takes before it is run."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from rbpkit import paper
from rbpkit.cli import fetch as cli_fetch
from rbpkit.corpora import load_corpus
from rbpkit.encoding import encode
from rbpkit.errors import InputError
from rbpkit.files.architectures import ARCHITECTURES
from rbpkit.pocket import ladders
from rbpkit.study.params import Params, load_params
from rbpkit.study.plan import read_speeds, study_jobs
from rbpkit.study.sweep import sweep
from rbpkit.study.token_budget import ModelTokenizer, load_token_budget, model_tokenizers
from rbpkit.tools.bench import needed_bytes, random_model

PARAMS = Path(__file__).resolve().parents[2] / "params"


@pytest.fixture(scope="module")
def jobs():
    return study_jobs(load_params(PARAMS / "paper.yaml"), tflops=30.0)


def test_the_papers_study_is_appendix_a(jobs):
    params = load_params(PARAMS / "paper.yaml")
    assert (params.max_length, params.documents, params.seed) == (512, 1000, 42)
    assert params.families == paper.FAMILIES and params.corpus_names == paper.CORPORA
    shown = {int(k) for k in paper.table1()["k"] if k != "CE"}
    assert shown | {50, 20_000, 30_000} <= set(params.ks)
    assert {(job.model, job.corpus) for job in jobs} == {
        (model, corpus) for model in ARCHITECTURES for corpus in paper.CORPORA
    }
    assert len(jobs) == 144


def test_what_to_run_first_has_published_metrics(capsys):
    params = load_params(PARAMS / "gpt2_wiki.yaml")
    published = paper.gpt2_wiki_metrics()
    assert set(published["k"]) == set(params.ks)
    columns = {f"p_N{N}" for N in params.Ns}
    assert columns == {name for name in published if name.startswith("p_N")}
    cli_fetch.plan(PARAMS / "gpt2_wiki.yaml")
    assert "4 jobs, 1,269,656 scored tokens (4 jobs by the paper's own" in capsys.readouterr().err


def test_tokens_are_the_published_ones_where_the_protocol_is(jobs):
    by = {(job.model, job.corpus): job for job in jobs}
    job = by["EleutherAI/pythia-12b", "HumanEval"]
    assert (job.tokens, job.published) == (33_233, True)
    assert not by["EleutherAI/pythia-12b", "C4"].published
    other = load_params(PARAMS / "paper.yaml").model_copy(update={"max_length": 256})
    assert not any(job.published for job in study_jobs(other))


def test_time_is_operations_over_the_rate(jobs):
    table = paper.models().set_index("hub_id")
    for id, width in {"EleutherAI/pythia-12b": 5120, "facebook/opt-350m": 512}.items():
        row = table.loc[id]
        job = next(job for job in jobs if (job.model, job.corpus) == (id, "Wiki"))
        operations = 2 * (row["S"] + width * row["vocab_rows"]) * job.tokens
        assert job.seconds == pytest.approx(operations / 30e12, rel=1e-12)
    assert [job.S for job in jobs] == sorted((job.S for job in jobs), reverse=True)


def test_memory_holds_the_weights_that_there_are(jobs):
    memory = {job.model: job.memory for job in jobs}
    from rbpkit.files.architectures import paper_config

    for id in ("openai-community/gpt2", "EleutherAI/pythia-160m"):
        network = random_model(id, paper_config(id), 0, "float32", "meta").model
        weights = sum(p.numel() * 4 for p in network.parameters())
        assert memory[id] == needed_bytes(weights, 768, "float32", 8192) < weights + 2.5 * 2**30


def test_measured_speeds_take_the_place_of_the_guess(tmp_path, jobs):
    path = tmp_path / "bench.json"
    rows = [{"model": "openai-community/gpt2", "with_ranks": 50_000.0}]
    rows += [{"model": "Qwen/Qwen2.5-14B", "with_ranks": None}]
    path.write_text(json.dumps({"speeds": rows, "study": None}))
    speeds = read_speeds(path)
    timed = study_jobs(load_params(PARAMS / "paper.yaml"), speeds=speeds)
    by = {(job.model, job.corpus): job for job in timed}
    assert by["openai-community/gpt2", "Wiki"].seconds == pytest.approx(317_414 / 50_000)
    # The others at as many operations a second as the largest that ran.
    guess = {(job.model, job.corpus): job.seconds for job in jobs}
    shares = {job.seconds / guess[job.model, job.corpus] for job in timed}
    assert max(shares) == pytest.approx(min(shares))
    for text in ("{}", "[", json.dumps({"speeds": []}), json.dumps({"speeds": [{}]})):
        path.write_text(text)
        with pytest.raises(InputError, match=r"bench\.json"):
            read_speeds(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_speeds(tmp_path / "none")
    with pytest.raises(InputError, match="tflops"):
        study_jobs(load_params(PARAMS / "gpt2_wiki.yaml"), tflops=0.0)


def test_plan_as_json_has_every_job(capsys):
    cli_fetch.plan(PARAMS / "paper.yaml", as_json=True)
    assert len(json.loads(capsys.readouterr().out)) == 144


def study(**changes) -> Params:
    return Params(**{"source": "hub", "corpus_names": ["Wiki"]} | changes)


def test_revisions_are_owner_name_at_revision():
    pins = ("a/b@v1.0", "gpt2@0123abc", "c/d-e_f@refs/pr/3")
    params = study(revisions=pins)
    assert [params.revision_of(id) for id in ("a/b", "gpt2", "c/d-e_f", "x/y")] == [
        *("v1.0", "0123abc", "refs/pr/3"),
        None,
    ]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"revisions": ["a/b"]}, "'a/b' is not owner/name@revision"),
        ({"revisions": ["a/b@"]}, "not owner/name@revision"),
        ({"revisions": ["a/b/c@v1"]}, "not owner/name@revision"),
        ({"revisions": ["a/b@v1@v2"]}, "not owner/name@revision"),
        ({"revisions": ["a/b@../x y"]}, "not owner/name@revision"),
        ({"revisions": ["a/b@v1", "a/b@v2"]}, "names a/b twice"),
        ({"revisions": {"a/b": "v1"}}, "must be a list"),
        ({"model_ids": ["a/b@v1"]}, "give 'a/b' here and 'a/b@v1' in revisions"),
        ({"allow_pickle": "yes"}, "boolean"),
    ],
)
def test_bad_revisions_are_refused(changes, says):
    with pytest.raises(ValueError, match=next(iter(changes))) as caught:
        study(**changes)
    assert says in str(caught.value)


def test_the_example_of_ones_own_names_models_and_a_revision():
    params = load_params(PARAMS / "own_family.yaml")
    assert len(params.model_ids) >= 3 and params.revision_of(params.model_ids[0])


# --- at least so many tokens ---------------------------------------------------------------


@pytest.fixture
def many(tmp_path) -> Path:
    """2,500 short documents, every seventh of them empty."""
    path = tmp_path / "many.jsonl"
    texts = (
        "" if i % 7 == 0 else f"document {i} has {'so ' * (i % 9)}many words" for i in range(2500)
    )
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def counts(path: Path, documents: int, max_length: int) -> list[int]:
    """Scored tokens of each document in the protocol's order, naively."""
    corpus = load_corpus(path, documents=documents)
    tokenizer = ladders.load_tokenizer()
    special = set(tokenizer.all_special_ids)
    found = []
    for text in corpus.documents:
        ids = tokenizer(text)["input_ids"][:max_length]
        found.append(sum(a not in special and b not in special for a, b in pairwise(ids)))
    return found


@pytest.mark.parametrize("least", [1, 900, 14_000])
def test_the_fewest_documents_that_have_so_many_tokens(many, least):
    tokenizer = ladders.load_tokenizer()
    tokenizers = {"long": ModelTokenizer(tokenizer, 64), "short": ModelTokenizer(tokenizer, 9)}
    corpus, tokens = load_token_budget(many, least, tokenizers)
    taken = len(corpus.documents)
    naive = {name: counts(many, 2500, reader.max_length) for name, reader in tokenizers.items()}
    assert tokens == {name: sum(found[:taken]) for name, found in naive.items()}
    assert min(tokens.values()) >= least > sum(naive["short"][: taken - 1])
    assert corpus.documents == load_corpus(many, documents=2500).documents[:taken]
    assert corpus.protocol["least_tokens"] == least


def test_a_corpus_with_too_few_is_taken_whole(many):
    corpus, tokens = load_token_budget(
        many, 10**9, {"a": ModelTokenizer(ladders.load_tokenizer(), 64)}
    )
    assert corpus.fingerprint == load_corpus(many, documents=0).fingerprint
    assert 0 < tokens["a"] < 10**9
    poorer, _ = load_token_budget(
        "pocket:humaneval", 10**9, {"a": ModelTokenizer(ladders.load_tokenizer(), 256)}
    )
    assert poorer.fingerprint == load_corpus("pocket:humaneval").fingerprint


def test_a_sweep_gives_every_model_so_many(many, tmp_path):
    folders = [str(ladders.model_folder(family, 0)) for family in ("Pythia", "GPT2")]
    changes = {"model_ids": folders, "corpus_names": [str(many)], "text_field": "text"}
    params = study(**changes, least_tokens=3000, max_length=64, threads=1, device="cpu")
    done = sweep(params, tmp_path / "records")
    assert not done.failures, done.failures
    manifests = [one.summary.manifest for one in done.measured]
    assert len({m.fingerprint for m in manifests}) == 1
    assert all(3000 <= m.tokens < 3100 for m in manifests)
    assert model_tokenizers(folders, params)[folders[0]].max_length == 64
    assert encode(
        load_corpus(many, documents=3), model_tokenizers(folders, params)[folders[1]].tokenizer
    ).tokens


def test_documents_and_tokens_are_not_both_given():
    with pytest.raises(ValueError, match="leave out documents"):
        study(documents=1000, least_tokens=500_000)
    both = load_params(PARAMS / "paper.yaml").model_copy(
        update={"documents": None, "least_tokens": 500_000}
    )
    tokens = {(job.model, job.corpus): job.tokens for job in study_jobs(both)}
    assert tokens["openai-community/gpt2", "Wiki"] == 500_000
    assert tokens["openai-community/gpt2", "HumanEval"] == 42_400
