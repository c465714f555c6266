"""Faults: each ends in one clear line and the right exit status, and nothing done is lost."""

from __future__ import annotations

import ast
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import content, edit_json
from test_records import make_records

from rbpkit.files.manifest import FORMAT
from rbpkit.pocket import ladders
from rbpkit.records import find_done, iter_manifests, load_summaries, write_records

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def measure(rbpkit, text_file):
    """Measure the smallest pocket model into a folder -> (exit status, stdout, stderr)."""
    model = ladders.model_folder("Pythia", 0)
    command = ("measure", "--model", model, "--corpus", text_file, "--max-length", 64)
    return lambda out, *flags: rbpkit(*command, "--out", out, *flags)


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
    """Fill the disk except for `leave` pages of 4 KiB; the file that fills it."""
    filler = disk / "filler"
    filler.write_bytes(bytes(shutil.disk_usage(disk).free - 4096 * leave))
    return filler


def test_a_full_disk_costs_nothing_that_was_done(disk, measure):
    """From no room at all, page by page, to enough: the earlier result stays, or the new is there.

    The command says so in one line, and works once there is room.
    """
    earlier = make_records([300] * 6, gaps=False)
    other = make_records([250] * 8, seed=5, gaps=False, dtype="float16")
    outcomes = []
    for leave in range(16):
        file = write_records(disk, earlier)
        filler, before = fill(disk, leave), content(file.path.parent)
        try:
            outcomes.append(write_records(disk, other) == find_done(disk, other.manifest))
        except OSError as error:
            outcomes.append(False)
            assert error.strerror == "No space left on device"
            assert content(file.path.parent) == before
        filler.unlink()
    assert outcomes == sorted(outcomes) and not outcomes[0] and outcomes[-1]
    filler, before = fill(disk, leave=1), content(file.path.parent)
    status, _, err = measure(disk)
    assert status == 2 and err.splitlines()[-1].endswith("No space left on device")
    assert content(file.path.parent) == before
    filler.unlink()
    assert measure(disk)[0] == 0 and len(load_summaries(disk)) == 2


def test_records_of_another_version_are_neither_read_nor_written_over(rbpkit, measure, tmp_path):
    assert measure(tmp_path / "out")[0] == 0
    (job,) = iter_manifests(tmp_path / "out")
    edit_json(job.path.with_suffix(".json"), format=FORMAT + 1, something="new")
    before = content(tmp_path / "out")
    for status, table, err in (rbpkit("fit", tmp_path / "out"), measure(tmp_path / "out")):
        assert status == 2 and not table
        assert f"format {FORMAT + 1}" in err and "use the version" in err
    assert content(tmp_path / "out") == before


def test_nothing_in_the_package_runs_what_it_reads():
    """No shell, no pickle, no eval in the source.

    One module starts a program: the C compiler, on the package's own `c_loop.c`.
    """
    banned = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "subprocess", "pty", "eval"}
    banned |= {"exec", "compile", "__import__", "os.system", "os.popen", "torch.load"}
    banned |= {"yaml.unsafe_load", "yaml.full_load", "joblib.load", "pd.read_pickle"}
    banned |= {"shell=True", "allow_pickle=True", "trust_remote_code=True", "weights_only=False"}
    found = []
    for path in sorted((ROOT / "rbpkit").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name.split(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [str(node.module).split(".")[0]]
            elif isinstance(node, ast.Call | ast.keyword):
                names = [ast.unparse(node.func if isinstance(node, ast.Call) else node)]
            found += [(path.name, name) for name in banned.intersection(names)]
    assert found == [("c_loop.py", "subprocess")]
