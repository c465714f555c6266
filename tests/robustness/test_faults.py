"""Faults: each ends in one clear line and the right exit status, and nothing done is lost."""

from __future__ import annotations

import ast
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import content
from test_records import make_records

from rbpkit.records import find_done, load_summaries, write_records
from rbpkit_pocket import families

ROOT = Path(__file__).resolve().parents[2]


def test_a_full_disk_costs_nothing_that_was_done(rbpkit, text_file, tmp_path):
    """From no room at all, page by page, to enough: the earlier result stays, or the new is there.

    The command says so in one line, and works once there is room.
    """
    disk, filler = tmp_path / "disk", tmp_path / "disk" / "filler"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a tmpfs (root)")
    earlier = make_records([300] * 6, gaps=False)
    other = make_records([250] * 8, seed=5, gaps=False, threads=2)
    measure = ("measure", "--model", families.model_folder("Pythia", 0), "--max-length", 64)
    measure += ("--corpus", text_file, "--out", disk)
    written = []
    try:
        for pages in range(16):
            file = write_records(disk, earlier)
            filler.write_bytes(bytes(shutil.disk_usage(disk).free - 4096 * pages))
            before = content(file.path.parent)
            try:
                written.append(write_records(disk, other) == find_done(disk, other.manifest.key))
            except OSError as error:
                written.append(False)
                assert error.strerror == "No space left on device"
                assert content(file.path.parent) == before
            filler.unlink()
        assert written == sorted(written) and not written[0] and written[-1]
        filler.write_bytes(bytes(shutil.disk_usage(disk).free - 4096))
        status, _, err = rbpkit(*measure)
        assert status == 2 and err.splitlines()[-1].endswith("No space left on device")
        filler.unlink()
        assert rbpkit(*measure)[0] == 0 and len(load_summaries(disk)) == 2
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_nothing_in_the_package_runs_what_it_reads():
    """No shell, no pickle, no eval in the source.

    One module starts a program: the C compiler, on the package's own `c_loop.c`. One reads a
    checkpoint by torch's unpickler, of weights only.
    """
    banned = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "subprocess", "pty", "eval"}
    banned |= {"exec", "compile", "__import__", "os.system", "os.popen", "torch.load"}
    banned |= {"yaml.unsafe_load", "yaml.full_load", "joblib.load", "pd.read_pickle"}
    banned |= {"shell=True", "allow_pickle=True", "trust_remote_code=True", "weights_only=False"}
    found = []
    sources = [*sorted((ROOT / "rbpkit").rglob("*.py")), *sorted((ROOT / "pocket").rglob("*.py"))]
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name.split(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [str(node.module).split(".")[0]]
            elif isinstance(node, ast.Call | ast.keyword):
                names = [ast.unparse(node.func if isinstance(node, ast.Call) else node)]
            found += [(path.name, name) for name in banned.intersection(names)]
    assert found == [("c_loop.py", "subprocess"), ("training.py", "torch.load")]
