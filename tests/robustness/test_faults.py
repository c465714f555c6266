"""Faults and hostile input, each met with one clear line, and nothing that was done is lost.

docs/faults.md lists them all, with the tests elsewhere; the last test here reads that list.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import nbformat
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import content, edit_json, save_model, study_file
from test_records import few, make_manifest, make_records, same  # noqa: F401
from transformers import GPT2Config

from rbpkit.corpora import load_corpus
from rbpkit.errors import InputError
from rbpkit.files.manifest import FORMAT
from rbpkit.files.recordfiles import find_done, find_stale, iter_manifests
from rbpkit.fit import fit_all
from rbpkit.models import load_model
from rbpkit.pocket import ladders
from rbpkit.records import Records, load_summaries, write_records
from rbpkit.study import notebooks

ROOT = Path(__file__).resolve().parents[2]
SMALLEST = ladders.model_folder("Pythia", 0)
SECRET = "secret-7f3a9c"


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    """A GPT-2 of two layers and two heads."""
    config = GPT2Config(vocab_size=ladders.V, n_embd=16, n_layer=2, n_head=2, n_positions=64)
    return save_model(config, tmp_path_factory.mktemp("models") / "base")


study = partial(study_file, max_length=64)

# -- the disk --------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    """A disk of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a tmpfs (root)")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path, leave: int) -> Path:
    """Fill the disk but for `leave` pages of 4 KiB; the file that fills it."""
    filler, page = disk / "filler", b"\0" * 4096
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(page) == len(page):
                pass
        except OSError:
            pass
        file.truncate(max(0, file.tell() - leave * len(page)))
    return filler


def test_a_full_disk_stops_a_sweep_which_goes_on_later(rbpkit, disk, text_file, tmp_path):
    second = tmp_path / "second.jsonl"
    second.write_text("".join(json.dumps({"text": f"line {i} of it"}) + "\n" for i in range(40)))
    out = disk / "out"
    assert rbpkit("sweep", study(tmp_path, [SMALLEST], [text_file]), "--out", out)[0] == 0
    before = content(out)
    filler = fill(disk, leave=1)
    both = study(tmp_path, [SMALLEST], [text_file, second])
    status, _, err = rbpkit("sweep", both, "--out", out)
    assert status == 2
    assert re.fullmatch(r"rbpkit: .*No space left on device", err.splitlines()[-1])
    after = content(out)
    assert {name: after[name] for name in before} == before
    assert not [name for name in after.keys() - before.keys() if not Path(name).name[0] == "."]
    assert rbpkit("show", out)[0] == 0
    filler.unlink()
    assert rbpkit("sweep", both, "--out", out)[0] == 0
    assert len(list(iter_manifests(out))) == 2 and len(load_summaries(out)) == 2
    elsewhere = tmp_path / "elsewhere"
    assert rbpkit("sweep", both, "--out", elsewhere)[0] == 0
    for path in elsewhere.rglob("*.parquet"):
        assert path.read_bytes() == (out / path.relative_to(elsewhere)).read_bytes()


def test_a_disk_that_fills_at_any_step_of_a_write(disk):
    """From no room at all, page by page, to room enough: the earlier result or the new one."""
    earlier = make_records([300] * 6, gaps=False)
    other = make_records([250] * 8, seed=5, gaps=False, dtype="float16")
    outcomes = []
    for leave in range(16):
        file = write_records(disk, earlier)
        filler = fill(disk, leave)
        try:
            write_records(disk, other)
        except OSError as error:
            assert error.strerror == "No space left on device"
            outcomes.append("refused")
        else:
            outcomes.append("written")
        filler.unlink()
        assert not [path for path in file.path.parent.iterdir() if path.suffix == ".tmp"]
        there = Records.load(file.path)
        assert same(there, other if find_done(disk, other.manifest) else earlier)
        (summary,) = load_summaries(disk)
        assert summary.to_bytes() == there.summary().to_bytes()
        if outcomes[-1] == "written":
            assert same(there, other)
    assert outcomes[0] == "refused" and outcomes[-1] == "written"


# -- records that are not what they seem -----------------------------------------------------


@pytest.mark.parametrize("setting", sorted(make_manifest().settings()))
def test_no_setting_that_changes_numbers_is_overlooked(setting, few, tmp_path):  # noqa: F811
    """A finished job that differs in any one setting is another job, and is told apart."""
    write_records(tmp_path, few)
    manifest = few.manifest
    if setting in {*manifest.versions, "ranks"}:  # older records do not name what counted
        asked = dataclasses.replace(manifest, versions={**manifest.versions, setting: "99"})
    else:
        value = getattr(manifest, setting)
        changed = value + 1 if isinstance(value, int) else f"{value}x"
        asked = dataclasses.replace(manifest, **{setting: changed})
    assert asked.key() != manifest.key()
    assert find_done(tmp_path, asked) is None
    if setting not in ("model", "corpus"):  # those have files of their own
        assert set(find_stale(tmp_path, asked)) == {setting}


def test_a_folder_of_a_newer_version_is_neither_read_nor_written_over(rbpkit, text_file, tmp_path):
    out, grid = tmp_path / "out", study(tmp_path, [SMALLEST], [text_file])
    assert rbpkit("sweep", grid, "--out", out)[0] == 0
    (marker,) = (job.path.with_suffix(".json") for job in iter_manifests(out))
    edit_json(marker, format=FORMAT + 1, something="new")
    before = content(out)
    for command in ("show", "fit"):
        status, table, err = rbpkit(command, out)
        assert status == 2 and not table and err.count("\n") == 1
        assert f"format {FORMAT + 1}" in err and "use the version that wrote it" in err
    measure = ("measure", "--model", SMALLEST, "--corpus", text_file, "--max-length", 64)
    status, _, err = rbpkit(*measure, "--out", out)
    assert status == 2 and f"format {FORMAT + 1}" in err
    status, _, err = rbpkit("sweep", grid, "--out", out)
    assert status == 1 and f"format {FORMAT + 1}" in err
    after = content(out)
    assert {name: after[name] for name in before} == before


def test_k_above_V_is_certain_and_no_line(few, tmp_path):  # noqa: F811
    """RBP_k = 1 from k = V on, by definition; a law of zero loss is refused, and said."""
    assert few.rbp(few.manifest.V + 5) == 1 == few.summary().rbp(10**9)
    models = [dataclasses.replace(few.manifest, model=f"m{i}", S=10**i, seed=i) for i in (3, 4, 5)]
    every = [dataclasses.replace(few, manifest=one).summary() for one in models]
    found = fit_all(every, (10**6,))
    assert "RBP_1000000" not in set(found.table["quantity"])
    assert any("RBP_1000000" in line and "1" in line for line in found.refused)


# -- models that are not what they say -------------------------------------------------------


def variant(base: Path, folder: Path, **changes) -> Path:
    shutil.copytree(base, folder)
    edit_json(folder / "config.json", **changes)
    return folder


@pytest.mark.parametrize(
    "changes",
    [
        {"n_layer": 3},
        {"n_layer": 1},
        {"n_layer": -1},
        {"n_layer": "2"},
        {"n_embd": 32},
        {"vocab_size": 5000},
        {"vocab_size": 100},
        {"n_positions": 128},
        {"tie_word_embeddings": False},
        {"n_inner": 128},
    ],
    ids=str,
)
def test_a_config_that_lies_about_the_size_is_refused(changes, base, tmp_path):
    with pytest.raises(InputError, match="lie"):
        load_model(variant(base, tmp_path / "lie", **changes))


@pytest.mark.parametrize(
    "index",
    [
        {},
        {"weight_map": {}},
        {"weight_map": []},
        {"weight_map": {"a": 3, "b": "x"}},
        {"weight_map": {"a": "../base/model.safetensors"}},
        {"weight_map": {"a": "/dev/zero"}},
        {"weight_map": {"a": ".."}},
        {"weight_map": {"a": "\0"}},
    ],
    ids=str,
)
def test_an_index_names_files_of_its_folder(index, base, tmp_path):
    folder = variant(base, tmp_path / "lie")
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match="lie"):
        load_model(folder)


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 100_000],
    ids=lambda data: repr(data[:3]),
)
def test_broken_files_of_a_model(file, data, base, tmp_path):
    folder = variant(base, tmp_path / "lie")
    (folder / file).write_bytes(data)
    with pytest.raises(InputError, match="lie"):
        load_model(folder)


def test_a_tokenizers_own_code_is_not_run(base, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = variant(base, tmp_path / "model")
    own = {"tokenizer_class": "Mine", "auto_map": {"AutoTokenizer": ["mine.Mine", None]}}
    edit_json(folder / "tokenizer_config.json", **own)
    (folder / "mine.py").write_text("open('ran', 'w')\nclass Mine: pass\n")
    try:
        load_model(folder)
    except InputError:
        pass  # the library may also do without it
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", [b"t\nxt", b"t\xffxt"])
def test_a_column_whose_name_is_no_plain_text(name, tmp_path):
    """Found by fuzzing: such a name was a traceback, or two lines."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["some text"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"text", name))
    with pytest.raises(InputError, match=r"a\.parquet") as caught:
        load_corpus(path)
    assert "\n" not in str(caught.value)


# -- names and paths -------------------------------------------------------------------------


def test_a_name_that_is_no_text_is_refused_before_any_work(rbpkit, base, text_file, tmp_path):
    name = os.fsdecode(b"model-\xff")  # as a folder's name may be
    status, out, err = rbpkit(
        *("measure", "--model", base, "--corpus", text_file, "--name", name),
        *("--out", tmp_path / "out"),
    )
    assert status == 2 and not out and err.count("\n") == 1
    assert r"model must be a text, got 'model-\udcff'" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("path", ["~no-such-user/x", "x" * 300, "a/" + "b" * 300])
@pytest.mark.parametrize("flag", ["--model", "--corpus"])
def test_paths_that_cannot_be_are_one_line(flag, path, rbpkit, base, text_file, tmp_path):
    given = {"--model": base, "--corpus": text_file} | {flag: path}
    status, out, err = rbpkit("measure", *(x for item in given.items() for x in item),
                              "--out", tmp_path / "out")  # fmt: skip
    assert status == 2 and not out and err.count("\n") == 1, err
    assert not (tmp_path / "out").exists()


def test_nothing_in_the_package_runs_what_it_reads():
    """No shell, no pickle, no eval: not a call of them stands in the source.

    One module starts a program: the C compiler, on the package's own `c_loop.c` alone.
    """
    banned_imports = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "subprocess", "pty"}
    banned_calls = {"eval", "exec", "compile", "__import__"}
    banned_attributes = {"os.system", "os.popen", "torch.load", "yaml.unsafe_load", "joblib.load"}
    banned_attributes |= {"pd.read_pickle", "pandas.read_pickle", "yaml.full_load"}
    found = []
    for path in sorted((ROOT / "rbpkit").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = set()
            if isinstance(node, ast.Import):
                names = {alias.name.split(".")[0] for alias in node.names} & banned_imports
            elif isinstance(node, ast.ImportFrom):
                names = {(node.module or "").split(".")[0]} & banned_imports
            elif isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                names = {called} & (banned_calls | banned_attributes)
                for one in node.keywords:
                    if (one.arg, ast.unparse(one.value)) in {
                        ("shell", "True"),
                        ("allow_pickle", "True"),
                        ("trust_remote_code", "True"),
                        ("weights_only", "False"),
                    }:
                        names.add(f"{called}({one.arg}={ast.unparse(one.value)})")
            found += [f"{path.name}:{node.lineno}: {name}" for name in names]
    assert [one.split(":")[::2] for one in found] == [["c_loop.py", " subprocess"]]
    source = (ROOT / "rbpkit" / "kernels" / "c_loop.py").read_text(encoding="utf-8")
    assert source.count("subprocess.run(") == 1
    assert (
        'command = [compiler, *_FLAGS, *vectors, str(_SOURCE), "-o", str(built), "-lm"]' in source
    )


def test_no_secret_of_the_environment_is_written(rbpkit, base, text_file, tmp_path, monkeypatch):
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_PASSWORD"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # else it tries again
    grid = study(tmp_path, [base, tmp_path / "gone", "no-such/model"], [text_file])
    status, out, err = rbpkit("sweep", grid, "--out", tmp_path / "out")
    assert status == 1 and SECRET not in out + err
    written = content(tmp_path / "out")
    assert "failures.csv" in written
    assert not [name for name, data in written.items() if SECRET.encode() in data]


# -- notebooks -------------------------------------------------------------------------------


@pytest.fixture
def own_notebook(tmp_path, monkeypatch):
    """A notebook of these cells in place of the project's -> run it."""

    def run(*cells: str) -> Path:
        folder = tmp_path / "notebooks"
        (folder / "py").mkdir(parents=True, exist_ok=True)
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
            metadata={"kernelspec": kernel},
        )
        nbformat.write(notebook, folder / "own.ipynb")
        monkeypatch.setattr(notebooks, "notebooks_dir", lambda: folder)
        return notebooks.run("own", {}, tmp_path / "out{x}")

    return run


def test_a_kernel_that_dies_is_an_error(own_notebook, tmp_path):
    """papermill saves such a notebook with every cell "completed": that file must not stay."""
    with pytest.raises(InputError, match="notebook own: its kernel died"):
        own_notebook("x = 1", "import os\nos._exit(0)", "print('never')")
    assert not (tmp_path / "out{x}" / "own.ipynb").exists()


def test_a_folder_with_braces_is_no_template(own_notebook, tmp_path):
    assert own_notebook("print(1 + 1)") == tmp_path / "out{x}" / "own.ipynb"
    assert '"2\\n"' in (tmp_path / "out{x}" / "own.ipynb").read_text()


# Put into every Python below: an address that is not of this machine is noted and refused.
NO_NETWORK = """
import os, socket
connect, resolve = socket.socket.connect, socket.getaddrinfo
def far(host):
    return str(host) not in ("127.0.0.1", "::1", "localhost", "", "None")
def noted(host):
    with open(os.environ["NETWORK_LOG"], "a") as log:
        log.write(f"{host}\\n")
    raise OSError(f"no network here: {host}")
def connect_near(self, address):
    if isinstance(address, tuple) and far(address[0]):
        noted(address[0])
    return connect(self, address)
def resolve_near(host, *rest, **options):
    if far(host):
        noted(host)
    return resolve(host, *rest, **options)
socket.socket.connect, socket.getaddrinfo = connect_near, resolve_near
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", notebooks.notebook_names())
def test_notebooks_need_no_network_and_write_no_secret(name, tmp_path, monkeypatch):
    """Each on its defaults but for a k beyond V, with no network and a token at hand."""
    (tmp_path / "sitecustomize.py").write_text(NO_NETWORK)
    log = tmp_path / "asked"
    monkeypatch.setenv("NETWORK_LOG", str(log))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
    monkeypatch.setenv("HF_TOKEN", SECRET)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    check = "import socket; socket.create_connection(('192.0.2.1', 80), 1)"
    assert b"no network here" in subprocess.run([sys.executable, "-c", check],
                                                capture_output=True).stderr  # fmt: skip
    log.unlink()
    values = {"ks": [1, 10, 50, 100, 5000], "figures_dir": str(tmp_path / "figures")}
    notebooks.run(name, values, tmp_path / "out")
    assert not log.exists(), log.read_text()
    written = content(tmp_path / "out") | (
        content(tmp_path / "figures") if (tmp_path / "figures").is_dir() else {}
    )
    assert written and not [path for path, data in written.items() if SECRET.encode() in data]


# -- a line of 100 MB ------------------------------------------------------------------------

# VmHWM: ru_maxrss of a process begins with that of the one that started it, the tests' own.
LONG_LINE = """
import re, sys, time
from pathlib import Path
from rbpkit.corpora import load_corpus
start = time.monotonic()
corpus = load_corpus(sys.argv[1])
assert len(corpus.documents) == 2 and max(map(len, corpus.documents)) == 100_000_000
peak = re.search("VmHWM:[^0-9]*([0-9]+)", Path("/proc/self/status").read_text())
print(time.monotonic() - start, int(peak[1]) / 2**10)
"""


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".jsonl", ".txt"])
def test_a_line_of_100_MB_is_read_in_bounded_memory(suffix, tmp_path, capsys):
    folder = tmp_path / "long"
    folder.mkdir()
    text = "many words " * (100_000_000 // 11) + "x" * (100_000_000 % 11)
    row = json.dumps({"text": text}) + '\n{"text": "short"}\n'
    (folder / f"a{suffix}").write_text(text if suffix == ".txt" else row)
    if suffix == ".txt":
        (folder / "b.txt").write_text("short")
    run = subprocess.run(
        [sys.executable, "-c", LONG_LINE, str(folder)],
        **{"cwd": ROOT, "capture_output": True, "text": True, "timeout": 110},
    )
    assert run.returncode == 0, run.stderr
    seconds, mib = map(float, run.stdout.split())
    with capsys.disabled():
        print(f"\n100 MB in one {suffix}: {seconds:.1f} s, at most {mib:.0f} MiB in all")
    assert mib < 600


# -- the list --------------------------------------------------------------------------------


def test_every_test_that_docs_faults_names_exists():
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]*test_\w+)\.py::(test_\w+)`", page)
    assert len(named) > 60
    there = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        name = path.relative_to(ROOT / "tests").with_suffix("").as_posix()
        there[name] = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    missing = [f"{file}.py::{test}" for file, test in named if test not in there.get(file, ())]
    assert not missing
    rows = [line for line in page.splitlines() if re.match(r"\| [^-|]", line)]
    rows = [line for line in rows if re.search(r"`[\w/]*test_", line)]
    (count,) = re.findall(r"(\d+) faults", page)
    assert int(count) == len(rows)
