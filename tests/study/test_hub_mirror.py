"""`rbpkit fetch` against a hub on loopback: everything offline afterwards; every fault one line.

Each command runs in a process of its own with a fresh HF_HOME, by huggingface_hub's real client.
A process takes some seconds to import torch: the tests with several of them are marked slow.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_mirror import Fault, Mirror

from rbpkit.pocket import ladders
from rbpkit.records import Records

ROOT = Path(__file__).resolve().parents[2]
SMALL, LARGER = "tiny/pythia-w32-l2", "tiny/pythia-w48-l3"
ROWS = [
    {
        "prompt": f"def f{i}(x):\n    # {'a longer word ' * (i % 5)}",
        "canonical_solution": f"x + {i}",
    }
    for i in range(30)
]


@pytest.fixture(scope="module")
def repositories(tmp_path_factory) -> dict[str, dict[str, Path]]:
    """Two of the smallest shipped models and the paper's corpora, in the hub's layouts."""
    base = tmp_path_factory.mktemp("hub")
    models = {}
    for size, id in enumerate((SMALL, LARGER)):
        models[id] = Path(shutil.copytree(ladders.model_folder("Pythia", size), base / id))
        (models[id] / "pytorch_model.bin").write_bytes(b"never to be fetched")
    datasets = {}

    def made(id: str, name: str) -> Path:
        datasets[id] = base / "sets" / id
        path = datasets[id] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    code = made("openai/openai_humaneval", "openai_humaneval/test-00000-of-00001.parquet")
    pq.write_table(pa.Table.from_pylist(ROWS), code)
    for i in range(2):
        path = made("allenai/c4", f"en/c4-validation.{i:05d}-of-00002.json.gz")
        lines = [json.dumps({"text": f"web text {i} {j}", "url": "u"}) for j in range(5)]
        path.write_bytes(gzip.compress("\n".join(lines).encode()))
    made("allenai/c4", "en/c4-train.00000-of-01024.json.gz").write_bytes(b"not to be fetched")
    for part in (0, 20, 40):
        path = made("wikimedia/wikipedia", f"20231101.en/train-{part:05d}-of-00041.parquet")
        pq.write_table(
            pa.Table.from_pylist([{"text": f"article {part} {j}"} for j in range(4)]), path
        )
    return {"models": models, "datasets": datasets}


@pytest.fixture
def mirror(repositories):
    with Mirror(**{kind: dict(found) for kind, found in repositories.items()}) as hub:
        yield hub


def environment(home: Path, url: str, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))}
    kept = {k: v for k, v in kept.items() if "proxy" not in k.lower()}
    ours = {"HF_HOME": str(home), "HF_ENDPOINT": url, "OMP_NUM_THREADS": "1"}
    ours |= {"HF_HUB_DOWNLOAD_TIMEOUT": "1", "HF_HUB_ETAG_TIMEOUT": "1"}
    return kept | ours | {"HF_HUB_DISABLE_TELEMETRY": "1"} | more


def rbpkit(*arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rbpkit", *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=110
    )


def study(folder: Path, *, models=(SMALL,), corpora=("HumanEval",), more: str = "") -> Path:
    path = folder / "study.yaml"
    path.write_text(
        f"source: hub\nmodel_ids: {json.dumps(models)}\ncorpus_names: {json.dumps(corpora)}\n"
        f"max_length: 64\nthreads: 1\ndevice: cpu\n{more}"
    )
    return path


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    assert "Traceback" not in done.stderr, done.stderr
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.slow
def test_fetched_once_then_all_offline(mirror, tmp_path):
    home = tmp_path / "home"
    commit = mirror.commit(LARGER)
    asked = study(tmp_path, models=(SMALL, LARGER), more=f'revisions: ["{LARGER}@{commit}"]\n')
    online = environment(home, mirror.url)
    dry = rbpkit("fetch", asked, "--dry-run", "--json", **online)
    assert dry.returncode == 0, dry.stderr
    listed = {row["need"]["id"]: row for row in json.loads(dry.stdout)["repositories"]}
    assert set(listed[SMALL]["files"]) == {
        *("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    }
    weights = (mirror.models[SMALL] / "model.safetensors").stat().st_size
    assert listed[SMALL]["files"]["model.safetensors"] == weights
    assert listed[LARGER]["commit"] == commit and not mirror.sent

    done = rbpkit("fetch", asked, **online)
    assert done.returncode == 0, done.stderr
    assert "HF_HUB_OFFLINE=1" in last_line(done)
    assert "pytorch_model.bin" not in mirror.sent
    sent = sum(mirror.sent.values())
    again = rbpkit("fetch", asked, **online)
    assert again.returncode == 0 and sum(mirror.sent.values()) == sent
    assert again.stdout.count("in the cache") == 3
    mirror.stop()

    out = tmp_path / "records"
    swept = rbpkit("sweep", asked, "--out", out, **online | {"HF_HUB_OFFLINE": "1"})
    assert swept.returncode == 0, swept.stderr
    here = tmp_path / "code.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), here)
    folders = [str(ladders.model_folder("Pythia", size)) for size in (0, 1)]
    more = "text_field: prompt+canonical_solution\n"
    (tmp_path / "own").mkdir()
    own = study(tmp_path / "own", models=folders, corpora=(str(here),), more=more)
    local = rbpkit("sweep", own, "--out", tmp_path / "local", **online)
    assert local.returncode == 0, local.stderr
    by_S = [
        {(records := Records.load(path)).manifest.S: records for path in folder.glob("*/*.parquet")}
        for folder in (out, tmp_path / "local")
    ]
    assert len(by_S[0]) == 2 and by_S[0].keys() == by_S[1].keys()
    for S, fetched in by_S[0].items():
        same = by_S[1][S]
        assert fetched.manifest.fingerprint == same.manifest.fingerprint
        for column in ("document", "position", "target", "n_greater", "n_equal", "nll"):
            assert np.array_equal(getattr(fetched, column), getattr(same, column)), column
    revisions = {records.manifest.revision for records in by_S[0].values()}
    assert revisions == {mirror.commit(SMALL), commit}


def test_everything_that_cannot_be_had_is_told_at_once(mirror, tmp_path):
    faulty = {"tiny/limited": 429, "tiny/broken": 500, "tiny/login": 401, "tiny/closed": 403}
    mirror.faults = [Fault(f"/api/models/{id}*", status) for id, status in faulty.items()]
    mirror.models |= {"tiny/gated": mirror.models[SMALL]}
    mirror.gated = {"tiny/gated"}
    gone = ["tiny/gone", "EleutherAI/pythia-170m"]
    pickled = tmp_path / "pickled"
    shutil.copytree(mirror.models[SMALL], pickled)
    (pickled / "model.safetensors").unlink()
    mirror.models["tiny/pickled"] = pickled
    models = (SMALL, LARGER, "tiny/gated", "tiny/pickled", *faulty, *gone)
    asked = study(
        tmp_path,
        models=models,
        corpora=("HumanEval", "Wiki", "HotpotQA"),
        more=f'revisions: ["{LARGER}@v9"]\n',
    )
    home = tmp_path / "home"
    start = time.monotonic()
    done = rbpkit("fetch", asked, **environment(home, mirror.url))
    assert done.returncode == 2 and time.monotonic() - start < 90
    assert last_line(done).endswith("11 of 13 repositories cannot be had; nothing was downloaded")
    lines = {line.split(":")[0]: line for line in done.stderr.splitlines()}
    for id, says in {
        LARGER: "no revision 'v9'",
        "tiny/gated": "gated: accept its terms",
        "tiny/pickled": "`allow_pickle: true` admits them",
        "tiny/limited": "too many requests (429)",
        "tiny/broken": "status 500",
        "tiny/login": "gated",
        "tiny/closed": "gated",
        "tiny/gone": "no such model",
        "EleutherAI/pythia-170m": "did you mean EleutherAI/pythia-",
        "hotpotqa/hotpot_qa": "no such dataset",
        "wikimedia/wikipedia": "has no part 1 of 41",
    }.items():
        assert says in lines[id], (id, lines.get(id))
    assert not mirror.sent and not list(home.rglob("*.safetensors"))


def test_a_connection_dropped_half_way_is_gone_on_with(mirror, tmp_path):
    # The client writes in pieces of 10 MB: only what is larger can be gone on with.
    large = tmp_path / "large"
    shutil.copytree(mirror.models[SMALL], large)
    content = np.random.default_rng(0).bytes(24_000_000)
    (large / "model.safetensors").write_bytes(content)
    mirror.models["tiny/large"] = large
    mirror.faults = [Fault("*/model.safetensors", drop=True, times=1, files_only=True)]
    asked = study(tmp_path, models=("tiny/large",), corpora=("pocket:qa",))
    done = rbpkit("fetch", asked, **environment(tmp_path / "home", mirror.url))
    assert done.returncode == 0, done.stderr
    ranges = [r for _, path, r in mirror.asked if path.endswith("model.safetensors") and r]
    assert ranges == [f"bytes={10 * 2**20}-"]
    (there,) = (tmp_path / "home").rglob("model.safetensors")
    assert there.read_bytes() == content


@pytest.mark.slow
def test_a_file_that_never_ends_is_no_file(mirror, tmp_path):
    mirror.faults = [Fault("*/model.safetensors", hang=True, after=0.3, times=1, files_only=True)]
    mirror.faults += [Fault("*/model.safetensors", status=500, files_only=True)]
    asked = study(tmp_path)
    home = tmp_path / "home"
    online = environment(home, mirror.url)
    start = time.monotonic()
    done = rbpkit("fetch", asked, **online)
    assert done.returncode == 2 and time.monotonic() - start < 90
    assert SMALL in last_line(done) and "0 of 2 repositories are complete" in last_line(done)
    assert not list(home.rglob("model.safetensors"))
    offline = rbpkit("sweep", asked, "--out", tmp_path / "r", **online | {"HF_HUB_OFFLINE": "1"})
    assert offline.returncode == 2 and "rbpkit fetch" in last_line(offline)
    # Well again: only what is missing is sent, and what came before the fault is kept.
    mirror.faults = []
    before = mirror.sent["model.safetensors"]
    again = rbpkit("fetch", asked, **online)
    assert again.returncode == 0, again.stderr
    whole = (mirror.models[SMALL] / "model.safetensors").stat().st_size
    assert mirror.sent["model.safetensors"] - before <= whole


@pytest.mark.slow
def test_a_hub_that_hangs_is_told_in_seconds(mirror, tmp_path):
    mirror.faults = [Fault("/api/*", hang=True)]
    asked = study(tmp_path)
    start = time.monotonic()
    done = rbpkit("fetch", asked, **environment(tmp_path / "home", mirror.url))
    assert done.returncode == 2 and time.monotonic() - start < 90
    assert "the hub is not reached" in done.stderr and "Timeout" in done.stderr
    assert "2 of 2 repositories cannot be had" in last_line(done)


@pytest.mark.slow
def test_interrupted_it_keeps_what_is_complete(mirror, tmp_path):
    mirror.faults = [Fault("*pythia-w48*/model.safetensors", hang=True, files_only=True)]
    asked = study(tmp_path, models=(SMALL, LARGER))
    home = tmp_path / "home"
    online = environment(home, mirror.url, HF_HUB_DOWNLOAD_TIMEOUT="60")
    command = [sys.executable, "-m", "rbpkit", "fetch", str(asked)]
    running = subprocess.Popen(command, cwd=ROOT, env=online, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 60
    stuck = ("GET", f"/{LARGER}/resolve/{mirror.commit(LARGER)}/model.safetensors", "")
    while time.monotonic() < limit and stuck not in mirror.asked:
        time.sleep(0.1)
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130 and "Traceback" not in said, said
    assert len(list(home.rglob("model.safetensors"))) == 1
    mirror.faults = []
    assert rbpkit("fetch", asked, **online).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["C4", "Wiki:part"])
def test_corpora_of_many_files_are_read_offline(mirror, tmp_path, name):
    asked = study(tmp_path, corpora=(name,))
    online = environment(tmp_path / "home", mirror.url)
    done = rbpkit("fetch", asked, **online)
    assert done.returncode == 0, done.stderr
    code = (
        "import json; from rbpkit.corpora import load_corpus; "
        f"c = load_corpus({name!r}, documents=7);"
        "print(json.dumps([c.id, c.documents, dict(c.source), dict(c.protocol)]))"
    )
    mirror.stop()
    read = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=online | {"HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert read.returncode == 0, read.stderr
    id, documents, source, protocol = json.loads(read.stdout.strip().splitlines()[-1])
    assert id == name and source["revision"] == mirror.commit(source["path"])
    if name == "C4":
        assert documents == [f"web text 0 {j}" for j in range(5)] + ["web text 1 0", "web text 1 1"]
        assert protocol["order"] == "in order" and "c4-train" not in str(mirror.sent)
    else:
        assert sorted(documents) == [f"article 20 {j}" for j in range(4)]
        assert protocol == {"order": "shuffled", "seed": 42, "requested": 7, "available": 4}
        assert source["files"] == ["20231101.en/train-00020-of-00041.parquet"]
        assert list(mirror.sent.keys() & set(source["files"])) == source["files"]
