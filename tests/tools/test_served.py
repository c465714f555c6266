"""A model behind a vLLM server: recorded answers of a real one, and servers that misbehave."""

import json
import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
from conftest import assert_same_columns, content, edit_json, refused, study_file, write_jsonl

from rbpkit import Records, load_model, measure
from rbpkit.tools import served
from rbpkit_pocket import paths

# Of vLLM 0.32.0 with the pocket model qwen-w96-l3, on a CPU.
RECORDED = json.loads((Path(__file__).parent / "served_answers.json").read_text())
MODEL = "qwen-w96-l3"


def unchanged(path, content, status):
    return content, status


@pytest.fixture
def server(monkeypatch):
    """A server that gives the recorded answers, changed by `server.change`; `server.url`."""
    about = {"id": MODEL, "root": str(paths.MODELS / MODEL), "max_model_len": 257}
    pages = {"/v1/models": {"data": [about]}, "/version": {"version": "0.32.0"}}
    pages["/tokenize"] = {"tokens": RECORDED["tokenize"], "count": len(RECORDED["tokenize"])}
    running = SimpleNamespace(url="http://127.0.0.1:8000/v1", keys=[], change=unchanged)

    def answer(request: httpx.Request) -> httpx.Response:
        running.keys.append(request.headers.get("Authorization"))
        path = request.url.path
        content = pages.get(path)
        if path == "/v1/completions":
            prompt = json.loads(request.content)["prompt"]
            content = RECORDED["completions"][" ".join(map(str, prompt))]
        content, status = running.change(path, content, 200)
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        return httpx.Response(status, content=data)

    client = partial(httpx.Client, transport=httpx.MockTransport(answer))
    monkeypatch.setattr(served.httpx, "Client", client)
    monkeypatch.setattr(served, "PAUSES", (0, 0))
    return running


@pytest.fixture
def texts(tmp_path):
    """A file of the texts that the server knows."""
    return write_jsonl(tmp_path / "texts.jsonl", RECORDED["texts"])


def test_ranks_and_losses_are_those_of_the_model_itself(server, tmp_path):
    remote = measure(server.url, RECORDED["texts"], tmp_path)
    local = measure(load_model(f"pocket:{MODEL}"), RECORDED["texts"])
    assert remote.records.n_equal is None and remote.records.entropy is None
    np.testing.assert_array_equal(remote.records.rank(), local.records.rank())
    np.testing.assert_allclose(remote.records.nll, local.records.nll, atol=2e-5)
    np.testing.assert_allclose(remote.records.p_max, local.records.p_max, atol=2e-5)
    manifest = remote.summary.manifest
    assert (manifest.S, manifest.V, manifest.family) == (517_248, 4096, "Qwen")
    assert manifest.revision.startswith("vllm-0.32.0:sha256:") and manifest.dtype == "served"
    assert measure(server.url, RECORDED["texts"], tmp_path).found_done


def test_a_key_is_sent_and_written_nowhere(server, tmp_path, monkeypatch):
    loaded = load_model(server.url, api_key="secret-123")
    measure(loaded, RECORDED["texts"], tmp_path)
    assert set(server.keys) == {"Bearer secret-123"}
    assert content(tmp_path) and not any(b"secret" in data for data in content(tmp_path).values())
    assert "secret-123" not in repr(loaded.__dict__)
    monkeypatch.setenv(served.KEY_VARIABLE, f"{server.url} of the environment")
    load_model(server.url)
    assert server.keys[-1] == "Bearer of the environment"
    monkeypatch.setenv(served.KEY_VARIABLE, f"{server.url}0 of another port")
    load_model(server.url)
    assert server.keys[-1] is None


def test_another_model_that_answers_at_the_end_is_noticed(server, tmp_path):
    asked = []

    def swap(path, content, status):
        asked.append(path)
        if path == "/version" and "/v1/completions" in asked:
            content = {"version": "0.33.0"}
        return content, status

    server.change = swap
    refused("was another model before", measure, server.url, RECORDED["texts"], tmp_path)
    assert not content(tmp_path)


def test_no_code_of_a_folder_that_a_server_names_is_run(server, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("builtins.input", lambda *_: asked.append(1) or "y")
    root = shutil.copytree(paths.MODELS / MODEL, tmp_path / "root")
    edit_json(root / "config.json", model_type="mine", auto_map={"AutoConfig": "mine.Config"})
    (root / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    about = {"id": MODEL, "root": str(root), "max_model_len": 257}
    server.change = _at("/v1/models", {"data": [about]})
    refused("give --size", load_model, server.url)
    assert not asked and not (tmp_path / "ran").exists()


def _at(page, content, status=200):
    return lambda path, was, code: (content, status) if path == page else (was, code)


def _places(change):
    """A change of what the server says of a prompt's tokens."""

    def changed(path, content, status):
        if path != "/v1/completions":
            return content, status
        places = json.loads(json.dumps(content["choices"][0]["prompt_logprobs"]))
        return {"choices": [{"prompt_logprobs": change(places)}]}, status

    return changed


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_at("/v1/models", b"<html>", 200), "no answer of a vLLM server"),
        (_at("/v1/models", {"data": [{"id": "a"}, {"id": "b"}]}), "--served-model a or b"),
        (_at("/tokenize", {"tokens": [1, 2], "count": 2}), "tokenizer is not the server's"),
        (_places(lambda places: places[:-1]), "no prompt_logprobs"),
        (_places(lambda places: [places[0], {}, *places[2:]]), "KeyError"),
    ],
)
def test_what_a_server_does_wrong_is_one_line_and_nothing_is_written(
    server, tmp_path, change, says
):
    server.change = change
    refused(says, measure, server.url, RECORDED["texts"], tmp_path / "out")
    assert not list(tmp_path.rglob("*.json"))


def test_a_sweep_goes_on_when_the_server_that_died_is_back(server, texts, tmp_path, rbpkit):
    out, asked = tmp_path / "out", []
    study = study_file(tmp_path, [server.url], [texts], seed=None, batch_tokens=1)

    def die(path, content, status):
        asked.append(path)
        return (content, status) if asked.count("/v1/completions") < 2 else ({}, 500)

    server.change = die
    status, _, said = rbpkit("sweep", study, "--out", out)
    assert status == 1 and f"failed: {MODEL} on texts.jsonl" in said and "no answer" in said
    assert not content(out)
    server.change = unchanged
    assert rbpkit("sweep", study, "--out", out)[0] == 0
    assert "done before" in rbpkit("sweep", study, "--out", out)[2]
    undisturbed = measure(server.url, RECORDED["texts"])
    found = Records.load(next(out.rglob("*.parquet")))
    assert_same_columns(found.columns(), undisturbed.records.columns())
    root = str(paths.MODELS / MODEL)
    server.change = _at("/v1/models", {"data": [{"id": "/data/runs/step-5", "root": root}]})
    assert load_model(server.url).name == "runs/step-5"  # as that of a local folder


def test_no_server_and_settings_of_a_server_without_one(server, texts, tmp_path, rbpkit):
    status, _, said = rbpkit("look", "--model", server.url, "--text", texts)
    assert status == 2 and "a model that runs here" in said

    def unreachable(*_):
        raise httpx.ConnectError("refused")

    server.change = unreachable
    for address in (server.url, "http://127.0.0.1:a/v1"):
        command = ("measure", "--model", address, "--corpus", texts, "--out", tmp_path)
        status, _, said = rbpkit(*command)
        assert status == 2 and said.count("\n") == 1 and "no answer" in said
