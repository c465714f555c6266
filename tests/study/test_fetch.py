"""`rbpkit fetch` and what is read of it: a hub cache on this disk, and no network."""

from __future__ import annotations

import json
from pathlib import Path

import huggingface_hub
import pytest
from conftest import study_file
from huggingface_hub import DryRunFileInfo, constants

from rbpkit.corpora import HUB_CORPORA, load_corpus
from rbpkit.errors import InputError
from rbpkit.study.jobs import read_corpora
from rbpkit.study.params import load_params

ROOT = Path(__file__).resolve().parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty hub cache, and the network off as HF_HUB_OFFLINE=1 does at start."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def put(cache: Path, kind: str, id: str, files: dict[str, bytes]) -> Path:
    """A repository as the hub's library keeps it -> its folder."""
    repository = cache / f"{kind}s--{id.replace('/', '--')}"
    folder = repository / "snapshots" / COMMIT
    for name, content in {"../../refs/main": COMMIT.encode(), **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_what_is_here_needs_nothing_and_no_network_is_one_line(cache, rbpkit):
    assert rbpkit("fetch", ROOT / "params" / "pocket.yaml") == (
        *(0, "", "0 repositories, 0.000 GB to download\n"),
    )
    for more in ((), ("--dry-run",)):
        status, out, err = rbpkit("fetch", ROOT / "params" / "gpt2_wiki.yaml", *more)
        assert status == 2 and not out and err.count("\n") == 1
        assert err.startswith("rbpkit: openai-community/gpt2: cannot be had from the hub")
    assert not cache.exists()


def test_sizes_are_listed_and_pickles_fetched_only_for_want_of_safetensors(
    monkeypatch, rbpkit, tmp_path
):
    hub = {
        "me/safe": ["config.json", "model.safetensors", "pytorch_model.bin", "tokenizer.json"],
        "me/pickle": ["config.json", "preprocessor_config.json", "pytorch_model.bin", "vocab.json"],
        "openai/openai_humaneval": ["README.md", "openai_humaneval/test-00000-of-00001.parquet"],
    }
    fetched = {}

    def snapshot_download(repo_id, *, allow_patterns, revision, repo_type, dry_run=False):
        wanted = huggingface_hub.utils.filter_repo_objects(
            hub[repo_id], allow_patterns=allow_patterns
        )
        names = list(wanted)
        if not dry_run:
            fetched[repo_id] = names
        assert revision == (COMMIT if repo_id == "me/safe" else None)
        return [DryRunFileInfo(COMMIT, 10**9, name, "", False, name in names) for name in names]

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    settings = {"revisions": [f"me/safe@{COMMIT}"], "allow_pickle": True}
    study = study_file(tmp_path, ["me/safe", "me/pickle"], ["HumanEval", "pocket:qa"], **settings)
    status, table, err = rbpkit("fetch", study, "--dry-run")
    assert status == 0 and err == "3 repositories, 8.000 GB to download\n" and not fetched
    assert [row.split()[:3] for row in table.splitlines()[1:]] == [
        [id, COMMIT[:12], size] for id, size in zip(hub, ("3.000", "4.000", "1.000"), strict=True)
    ]
    assert rbpkit("fetch", study)[0] == 0
    assert fetched == {
        "me/safe": ["config.json", "model.safetensors", "tokenizer.json"],
        "me/pickle": hub["me/pickle"],
        "openai/openai_humaneval": hub["openai/openai_humaneval"][1:],
    }
    study_file(tmp_path, ["me/safe"], ["pocket:qa"], revisions=["me/saf@main"])
    assert "me/saf is no model and no data set" in rbpkit("fetch", study)[2]


def test_offline_the_fetched_files_give_the_protocols_documents(cache, tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "arrow")
    rows = "\n".join(json.dumps({"text": f"case {i}", "type": "x"}) for i in range(40))
    put(cache, "dataset", HUB_CORPORA["AusLegal"].path, {"corpus.jsonl": rows.encode()})
    study = load_params(study_file(tmp_path, ["me/small"], ["AusLegal"], documents=5))
    corpus = read_corpora(study)["AusLegal"]
    order = datasets.Dataset.from_dict({"i": list(range(40))}).shuffle(seed=42)["i"][:5]
    assert list(corpus.documents) == [f"case {i}" for i in order]
    part = "20231101.en/train-00000-of-00041.parquet"
    put(cache, "dataset", HUB_CORPORA["Wiki"].path, {part: b"1"})
    with pytest.raises(InputError, match="only 1 of 41"):
        load_corpus("Wiki")
