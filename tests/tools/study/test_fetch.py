"""`rbpkit fetch` and what is read of it: a hub cache on this disk, and no network."""

import huggingface_hub
import pytest
from conftest import COMMIT, ROOT, put_on_hub, study_file, write_jsonl
from huggingface_hub import DryRunFileInfo

from rbpkit.corpora import HUB_CORPORA, load_corpus
from rbpkit.errors import InputError
from rbpkit.tools.study.jobs import read_corpora
from rbpkit.tools.study.params import load_params


def test_what_is_here_needs_nothing_and_no_network_is_one_line(hub, rbpkit):
    status, _, err = rbpkit("fetch", ROOT / "params" / "pocket.yaml")
    assert (status, err) == (0, "0 repositories, 0.000 GB to download\n")
    for more in ((), ("--dry-run",)):
        status, out, err = rbpkit("fetch", ROOT / "params" / "gpt2_wiki.yaml", *more)
        assert status == 2 and not out and err.count("\n") == 1
        assert err.startswith("rbpkit: openai-community/gpt2 (")
    assert not hub.exists()


def test_sizes_are_listed_and_pickles_fetched_only_for_want_of_safetensors(
    monkeypatch, rbpkit, tmp_path
):
    files = {
        "me/safe": ["config.json", "model.safetensors", "pytorch_model.bin", "tokenizer.json"],
        "me/pickle": ["config.json", "pytorch_model.bin", "vocab.json"],
        "openai/openai_humaneval": ["README.md", "openai_humaneval/test-00000-of-00001.parquet"],
    }
    fetched = {}

    def snapshot_download(repo_id, *, allow_patterns, revision, repo_type, dry_run=False):
        wanted = huggingface_hub.utils.filter_repo_objects(
            files[repo_id], allow_patterns=allow_patterns
        )
        names = list(wanted)
        if not dry_run:
            fetched[repo_id] = names
        assert revision == (COMMIT if repo_id == "me/safe" else None)
        return [DryRunFileInfo(COMMIT, 10**9, name, "", False, name in names) for name in names]

    monkeypatch.setattr("rbpkit.tools.cli.study.snapshot_download", snapshot_download)
    settings = {"revisions": [f"me/safe@{COMMIT}"]}
    study = study_file(tmp_path, ["me/safe", "me/pickle"], ["HumanEval", "pocket:qa"], **settings)
    status, table, err = rbpkit("fetch", study, "--dry-run")
    assert status == 0 and err == "3 repositories, 7.000 GB to download\n" and not fetched
    assert [row.split()[:3] for row in table.splitlines()[1:]] == [
        [id, COMMIT[:12], size] for id, size in zip(files, ("3.000", "3.000", "1.000"), strict=True)
    ]
    assert rbpkit("fetch", study)[0] == 0
    assert fetched == {
        "me/safe": ["config.json", "model.safetensors", "tokenizer.json"],
        "me/pickle": files["me/pickle"],
        "openai/openai_humaneval": files["openai/openai_humaneval"][1:],
    }
    study_file(tmp_path, ["me/safe"], ["pocket:qa"], revisions=["me/saf@main"])
    assert "me/saf is no model and no data set" in rbpkit("fetch", study)[2]


def test_offline_the_fetched_files_give_the_protocols_documents(hub, tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "arrow")
    folder = put_on_hub(hub, "dataset", HUB_CORPORA["AusLegal"].path)
    write_jsonl(folder / "corpus.jsonl", [f"case {i}" for i in range(40)])
    study = load_params(study_file(tmp_path, ["me/small"], ["AusLegal"], documents=5))
    corpus = read_corpora(study)["AusLegal"]
    order = datasets.Dataset.from_dict({"i": list(range(40))}).shuffle(seed=42)["i"][:5]
    assert list(corpus.documents) == [f"case {i}" for i in order]
    folder = put_on_hub(hub, "dataset", HUB_CORPORA["Wiki"].path) / "20231101.en"
    folder.mkdir()
    (folder / "train-00000-of-00041.parquet").write_bytes(b"1")
    with pytest.raises(InputError, match="only 1 of 41"):
        load_corpus("Wiki")
