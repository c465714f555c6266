"""Small real models and texts that several tests share."""

import importlib.util
import json
import shutil
import sys
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from huggingface_hub import constants
from small_models import spread_weights
from transformers import AutoModelForCausalLM, Gemma2Config, LlamaConfig

from rbpkit import InputError, plugins
from rbpkit.manifest import checksum
from rbpkit.records import Records, load_summaries, slug
from rbpkit.tools.cli import app
from rbpkit.tools.study import engines, sweep
from rbpkit_pocket import families, paths

ROOT = Path(__file__).resolve().parents[1]

TEXTS = (
    "The rank of a token is the number of tokens that score at least as high.",
    "A model that is twice as large is a little better, at every k, on every corpus.",
    "def rank(logits, target):\n    return (logits >= logits[target]).sum()\n" * 3,
    "x",
    "Figures 3, 4 and 5 plot -log RBP_k against S on logarithmic axes. " * 12,
    "Ünïcödé, naïve façade, 漢字 and emoji 🙂 are bytes to this tokenizer.",
)


# A shell starts background jobs, as CI may be one, with Ctrl-C ignored: undo that first.
COMMAND_LINE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from rbpkit.tools.cli.app import main
main()
"""


@pytest.fixture(autouse=True)
def figures_and_threads_as_before():
    """Close what a test drew (pyplot keeps every figure), and give torch its threads back."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def in_this_process(number, function, *given) -> Future:
    """A worker of a sweep that does things when they are submitted."""
    done = Future()
    try:
        done.set_result(function(*given))
    except OSError as error:
        done.set_exception(error)
    return done


@pytest.fixture(autouse=True)
def only_worker_here(monkeypatch):
    """A sweep's only worker starts no process, which would import torch again."""

    def in_processes(count):
        return engines.in_processes(count) if count > 1 else nullcontext(in_this_process)

    monkeypatch.setattr(sweep, "in_processes", in_processes)


def docs_module(name: str):
    """A module of docs/, which is not a package."""
    path = ROOT / "docs" / f"{name}.py"
    found = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # dataclasses look their module up
    found.loader.exec_module(module)
    return module


def forget() -> None:
    """Look for plugins again."""
    plugins._entries.cache_clear()
    plugins.offered.cache_clear()


def install(site: Path, module: str, source: str, **places: str) -> None:
    """A distribution in this folder: a module, and what it offers as "group=attribute"."""
    about = site / f"{module}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    plugin = module.split("_")[0]
    entries = [f"[rbpkit.{group}]\n{plugin} = {module}:{at}\n" for group, at in places.items()]
    (about / "entry_points.txt").write_text("".join(entries))
    (site / f"{module}.py").write_text(source)
    forget()


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    """A folder on the path for distributions, which are forgotten afterwards."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    before = set(sys.modules)
    forget()
    yield site
    forget()
    for module in set(sys.modules) - before:
        if Path(getattr(sys.modules[module], "__file__", None) or "").parent == site:
            sys.modules.pop(module)


def write_jsonl(path: Path, rows) -> Path:
    """One JSON object a line; a string stands for a row with that text."""
    whole = [{"text": row} if isinstance(row, str) else row for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in whole), encoding="utf-8")
    return path


def study_file(folder: Path, models, corpora, **settings) -> Path:
    """A parameter file: these models (hub ids, folders) on these corpora, on the CPU."""
    values = {
        "source": "hub",
        "model_ids": [str(one) for one in models],
        "corpus_names": [str(one) for one in corpora],
        **{"device": "cpu", **settings},
    }
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(values))
    return path


def assert_same_columns(found: dict, expected: dict) -> None:
    """Records' columns, equal to the bit."""
    assert list(found) == list(expected)
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def edit_json(path: Path, **changes: object) -> None:
    """Change some keys of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def content(folder: Path) -> dict[str, bytes]:
    """Every file below."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def digests(out: Path) -> dict[str, str]:
    """The checksum of every record below, by its path, without its family and its time."""
    found = {}
    for path in sorted(out.rglob("[!.]*.parquet")):
        records = Records.load(path)
        manifest = records.manifest.model_copy(update={"seconds": 0.0, "family": ""})
        digest = checksum(manifest.to_json().encode(), records.columns())
        found[str(path.relative_to(out))] = digest
    return found


def refused(words: str, call, *given, **options) -> None:
    """The call ends with an InputError of one line that has these words (a regular expression)."""
    with pytest.raises(InputError, match=words) as caught:
        call(*given, **options)
    assert "\n" not in str(caught.value)


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


def save_model(config, folder: Path, seed: int = 0) -> Path:
    """A randomly initialised model in hub layout, with the pocket tokenizer."""
    torch.manual_seed(seed)
    model = spread_weights(AutoModelForCausalLM.from_config(config, dtype=torch.float32))
    model.save_pretrained(folder)
    families.load_tokenizer().save_pretrained(folder)
    return folder


TINY = {
    "vocab_size": families.V,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 128,
    "bos_token_id": 0,
    "eos_token_id": 0,
}


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory) -> Path:
    """A family that none of the code names: two layers of width 32."""
    return save_model(LlamaConfig(**TINY), tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.fixture(scope="session")
def capped_folder(tmp_path_factory) -> Path:
    """A model whose logits are soft-capped."""
    config = Gemma2Config(**TINY, head_dim=16, final_logit_softcapping=3.0, pad_token_id=0)
    return save_model(config, tmp_path_factory.mktemp("models") / "tiny-gemma2")


@pytest.fixture(scope="session")
def shipped() -> list:
    """The summaries of the pocket models, on all of their corpora."""
    return load_summaries(paths.SUMMARIES)


def pocket_summaries(folder: Path, corpus: str, models: str) -> Path:
    """A folder with those of the shipped summaries that are named like this: little to load."""
    (folder / slug(corpus)).mkdir(parents=True)
    for path in paths.SUMMARIES.joinpath(slug(corpus)).glob(f"{models}.summary.npz"):
        shutil.copy(path, folder / slug(corpus))
    return folder


@pytest.fixture
def text_file(tmp_path) -> Path:
    """A .jsonl of six documents, one of them a single token."""
    return write_jsonl(tmp_path / "notes.jsonl", TEXTS)


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub(tmp_path, monkeypatch) -> Path:
    """An empty hub cache, not made yet, and the network off as HF_HUB_OFFLINE=1 does at start."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def put_on_hub(hub: Path, kind: str, id: str) -> Path:
    """Begin a model or a dataset in the cache -> the folder of its one commit, COMMIT."""
    repository = hub / f"{kind}s--{id.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    folder = repository / "snapshots" / COMMIT
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def rbpkit(monkeypatch, capsys):
    """Run a command line in this process -> (exit status, standard output, standard error)."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rbpkit", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            app.main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return int(stop.value.code or 0), out, err

    return run
