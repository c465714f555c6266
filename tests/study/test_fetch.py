"""What a study needs from the hub, and what is said of it where the hub is not reached."""

from __future__ import annotations

import json
import shutil
from collections import namedtuple
from pathlib import Path

import pytest
from huggingface_hub import constants

from rbpkit.cli import fetch as cli_fetch
from rbpkit.corpora import HUB_CORPORA, MORE_CORPORA, corpus_on_hub, load_corpus
from rbpkit.errors import InputError
from rbpkit.files import hub
from rbpkit.pocket import ladders
from rbpkit.study import fetch, hub_repositories
from rbpkit.study.hub_repositories import (
    HubListing,
    ListedRepository,
    Repository,
    corpus_bytes,
    list_repositories,
    model_bytes,
    repositories_of,
)
from rbpkit.study.params import Params, load_params

ROOT = Path(__file__).resolve().parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def study(**changes) -> Params:
    values = {
        "source": "hub",
        "corpus_names": ["HumanEval"],
        "model_ids": ["EleutherAI/pythia-14m"],
    }
    return Params(**values | changes)


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty hub cache, and the network off as HF_HUB_OFFLINE=1 does at start."""
    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return folder


def put(cache: Path, kind: str, id: str, files: dict[str, bytes], commit: str = COMMIT) -> Path:
    repository = cache / f"{kind}s--{id.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True, exist_ok=True)
    (repository / "refs" / "main").write_text(commit)
    for name, content in files.items():
        path = repository / "snapshots" / commit / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return repository / "snapshots" / commit


# --- what is needed ------------------------------------------------------------------------


def test_the_papers_study_needs_24_models_and_six_data_sets():
    found = repositories_of(load_params(ROOT / "params" / "paper.yaml"))
    assert [one.kind for one in found] == ["model"] * 24 + ["dataset"] * 6
    assert len({one.id for one in found}) == 30
    assert {one.id for one in found[24:]} == {hub.path for hub in HUB_CORPORA.values()}
    assert all(one.patterns for one in found[24:])


def test_what_is_here_needs_nothing(tmp_path, text_file):
    folder = str(ladders.model_folder("Pythia", 0))
    assert (
        repositories_of(study(model_ids=[folder], corpus_names=[str(text_file), "pocket:qa"])) == ()
    )
    assert list_repositories(()) == HubListing((), "")
    with pytest.raises(InputError, match=r"\./none: no such folder"):
        repositories_of(study(model_ids=["./none"]))
    with pytest.raises(InputError, match="did you mean Wiki"):
        repositories_of(study(corpus_names=["wikki"]))


def test_one_data_set_for_two_corpora_of_it():
    (_, one) = repositories_of(study(corpus_names=["wiki", "Wiki:part"]))
    assert one.corpora == ("Wiki", "Wiki:part") and len(one.patterns) == 2
    assert corpus_on_hub("WIKI:PART") == "Wiki:part" and corpus_on_hub("pocket:qa") is None


def test_revisions_go_to_what_they_name():
    pins = [f"EleutherAI/pythia-14m@{COMMIT}", "openai/openai_humaneval@refs/pr/1"]
    model, corpus = repositories_of(study(revisions=pins))
    assert (model.revision, corpus.revision) == (COMMIT, "refs/pr/1")
    with pytest.raises(InputError, match="pythia-31m is no model and no data set"):
        repositories_of(study(revisions=["EleutherAI/pythia-31m@main"]))


def test_files_of_a_model():
    safe = ["config.json", "model.safetensors", "pytorch_model.bin", "tokenizer.json", "x.msgpack"]
    wanted = ["config.json", "model.safetensors", "tokenizer.json"]
    files = hub_repositories._model_files
    assert files(safe, False) == files(safe, True) == (wanted, "")
    pickles = [name for name in safe if "safe" not in name]
    assert "allow_pickle" in files(pickles, False)[1]
    assert files(pickles, True)[0] == ["config.json", "pytorch_model.bin", "tokenizer.json"]
    assert "no model" in files(["config.json"], True)[1]
    assert "no config.json" in files(["model.safetensors"], True)[1]
    parts = ["config.json", "model-00001-of-00002.safetensors", "model.safetensors.index.json"]
    assert set(files(parts, False)[0]) == set(parts)


# --- files of a data set -------------------------------------------------------------------


def test_a_part_is_never_taken_for_the_whole():
    names = ["a/train-00000-of-00003.parquet", "a/train-00002-of-00003.parquet", "a/test.jsonl"]
    assert hub.matching(names, ("a/train-*",)) == names[:2]
    assert hub.matching(names, ("a/test.jsonl", "a/*")) == [names[2], *names[:2]]
    assert hub.lacking(names, ("a/train-*",)) == ["part 1 of 3 of a/train-*"]
    assert hub.lacking(names, ("b/*", "a/test.jsonl")) == ["b/*"]
    assert hub.lacking(names, (names[2],)) == hub.lacking(names, (names[1],)) == []


def test_fetched_files_are_all_or_an_error(cache):
    assert hub.fetched_files("a/b", ("x-*.parquet",)) is None
    put(cache, "dataset", "a/b", {"x-00000-of-00002.parquet": b"1"})
    with pytest.raises(InputError, match="lacks part 1 of 2"):
        hub.fetched_files("a/b", ("x-*.parquet",))
    folder = put(cache, "dataset", "a/b", {"x-00001-of-00002.parquet": b"2"})
    found = hub.fetched_files("a/b", ("x-*.parquet",))
    assert found.commit == COMMIT and [p.parent for p in found.paths] == [folder] * 2
    assert hub.fetched_files("a/b", ("x-*.parquet",), COMMIT) == found
    assert hub.fetched_files("a/b", ("x-*.parquet",), "other") is None
    found.paths[1].unlink()
    found.paths[1].symlink_to("nowhere")  # a link whose blob was deleted
    with pytest.raises(InputError, match="lacks part 1 of 2"):
        hub.fetched_files("a/b", ("x-*.parquet",))


def test_offline_the_files_give_the_protocols_documents(cache, tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "arrow")
    rows = "\n".join(json.dumps({"text": f"case {i}", "type": "x"}) for i in range(40))
    put(cache, "dataset", HUB_CORPORA["AusLegal"].path, {"corpus.jsonl": rows.encode()})
    corpus = load_corpus("AusLegal", documents=5)
    order = datasets.Dataset.from_dict({"i": list(range(40))}).shuffle(seed=42)["i"][:5]
    assert list(corpus.documents) == [f"case {i}" for i in order]
    assert corpus.source["revision"] == COMMIT and corpus.protocol["available"] == 40
    local = tmp_path / "corpus.jsonl"
    local.write_text(rows)
    assert load_corpus(local, documents=5).fingerprint == corpus.fingerprint


def test_a_part_has_a_name_of_its_own():
    assert "Wiki:part" in MORE_CORPORA and not MORE_CORPORA.keys() & HUB_CORPORA.keys()
    with pytest.raises(InputError, match="is fixed; leave field out"):
        load_corpus("Wiki:part", field="text")


# --- with no network -----------------------------------------------------------------------


def test_dry_run_of_the_paper_with_no_network(cache, capsys):
    cli_fetch.fetch(ROOT / "params" / "paper.yaml", dry_run=True)
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 31
    assert "HF_HUB_OFFLINE is set" in said.err and "sizes are estimates" in said.err
    assert "30 of 30 repositories to download: about 159 GB" in said.err
    with pytest.raises(InputError, match="30 of 30 repositories cannot be had"):
        cli_fetch.fetch(ROOT / "params" / "paper.yaml")
    assert not list(cache.iterdir())


def test_what_is_in_the_cache_is_known_offline(cache, tmp_path, capsys):
    shutil.copytree(
        ladders.model_folder("Pythia", 0), put(cache, "model", "me/small", {}), dirs_exist_ok=True
    )
    asked = list_repositories(repositories_of(study(model_ids=["me/small", "me/none"])))
    assert [one.complete for one in asked.listed] == [True, False, False]
    assert asked.listed[1].size is None and asked.listed[2].size == 84_000
    path = tmp_path / "one.yaml"
    path.write_text("source: hub\nmodel_ids: [me/small]\ncorpus_names: ['pocket:qa']\n")
    cli_fetch.fetch(path)
    assert "set HF_HUB_OFFLINE=1" in capsys.readouterr().err
    (weights,) = cache.rglob("model.safetensors")
    weights.write_bytes(weights.read_bytes()[:-9])
    assert not list_repositories(repositories_of(load_params(path))).listed[0].complete


def test_json_is_json(cache, capsys):
    cli_fetch.fetch(ROOT / "params" / "gpt2_wiki.yaml", dry_run=True, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert [row["need"]["kind"] for row in found["repositories"]] == ["model"] * 4 + ["dataset"]
    assert found["unreached"] and found["missing_bytes"] < found["space_bytes"]


def test_estimates_are_near_the_published_sizes():
    # Bytes of the weights on the hub, from its pages; buffers and masks are in some of them.
    for id, published in {
        "openai-community/gpt2": 548e6,
        "facebook/opt-125m": 251e6,
        "EleutherAI/pythia-160m": 375e6,
        "Qwen/Qwen2.5-0.5B": 988e6,
    }.items():
        assert model_bytes(id) == pytest.approx(published, rel=0.15)
    assert model_bytes("me/own") is None
    assert corpus_bytes(["Wiki", "Wiki:part"]) == corpus_bytes(["Wiki"]) > 1e10


# --- space, refusals -----------------------------------------------------------------------


def listed(size: int, kind: str = "model", cached: int = 0) -> ListedRepository:
    return ListedRepository(Repository(kind, f"a/{kind}"), COMMIT, (("x", size),), size, cached)


def test_space_is_checked_before(monkeypatch, tmp_path):
    asked = HubListing((listed(100, cached=40), listed(10, "dataset")), "")
    assert asked.missing == 70 and asked.space == 90
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(fetch.shutil, "disk_usage", lambda _: usage(0, 0, 90))
    fetch.check_space(asked, tmp_path / "not" / "there")
    monkeypatch.setattr(fetch.shutil, "disk_usage", lambda _: usage(0, 0, 89))
    with pytest.raises(InputError, match=r"90 B are needed \(70 B to download"):
        fetch.check_space(asked, tmp_path)


def test_a_file_of_another_size_than_the_hubs_is_refused(monkeypatch, tmp_path):
    (tmp_path / "x").write_bytes(b"12345")
    monkeypatch.setattr(fetch, "hf_hub_download", lambda _, name, **__: str(tmp_path / name))
    monkeypatch.setattr(fetch, "snapshot_download", lambda *_, **__: None)
    fetch.download(HubListing((listed(5),), ""))
    with pytest.raises(InputError, match=r"a/model: .*5 bytes, the hub has 6.*0 of 1"):
        fetch.download(HubListing((listed(6),), ""))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_ctrl_c_goes_through(monkeypatch, error):
    def stop(*_, **__):
        raise error

    monkeypatch.setattr(fetch, "hf_hub_download", stop)
    with pytest.raises(error):
        fetch.download(HubListing((listed(5),), ""))


def test_sizes_for_people():
    shown = [fetch.shown(n) for n in (0, 999, 84_000, 11_600_000_000, 2_500_000_000_000)]
    assert shown == ["0 B", "999 B", "84 kB", "11.6 GB", "2.5 TB"]
