"""Can the tests fail? The package is copied, broken in one place at a time, and tested.

Each break is one that would give wrong numbers with no error of its own. The tests named beside
it must pass on the copy as it is, and fail on the broken one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

RANKING = ("test_ranking.py",)
RECORDS = ("test_records.py",)
SCORED = ("test_corpora.py", "scored")
SPLIT = ("pocket/test_documents.py", "test_split or side_is or lists_are or nothing_is_there_twice")
FIT = ("test_fit.py",)


@dataclass(frozen=True)
class Break:
    """`old`, which must stand once in `file`, becomes `new`; `tests`: a file, and -k of pytest."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]


BREAKS = {
    "a tie counts as greater": Break(
        "kernels/tiles.py", "torch.gt(logits, target, out=scratch)", "torch.ge(logits, target, "
        "out=scratch)", RANKING,
    ),
    "a tie does not count": Break(
        "kernels/tiles.py", "torch.ge(logits, target, out=scratch)", "torch.gt(logits, target, "
        "out=scratch)", RANKING,
    ),
    "the tie rule of ranks": Break(
        "ranking.py", "return self.n_greater + self.n_equal + 1", "return self.n_greater + 1",
        RANKING,
    ),
    "the tie rule of records": Break(
        "records.py", "return self.n_greater + self.n_equal + 1", "return self.n_greater + 1",
        RECORDS,
    ),
    "the tie rule of summaries": Break(
        "summary.py", "rank = n_greater + n_equal + 1", "rank = n_greater + 1", RECORDS
    ),
    "k itself is out": Break(
        "summary.py", 'check_k(k), side="right")', 'check_k(k), side="left")', RECORDS
    ),
    "windows cross documents": Break(
        "summary.py", "whole = document[:last] == document[N - 1 :]", "whole = document[:last] > "
        "-1", RECORDS,
    ),
    "scored after a special token": Break(
        "encoding.py", "scored = outside[:-1] & outside[1:]", "scored = outside[1:]", SCORED
    ),
    "a special token is scored": Break(
        "encoding.py", "scored = outside[:-1] & outside[1:]", "scored = outside[:-1]", SCORED
    ),
    "the first token is scored": Break(
        "encoding.py", "targets=input_ids[rows, columns + 1]", "targets=input_ids[rows, columns]",
        SCORED,
    ),
    "tested on what was trained on": Break(
        "pocket/split.py", "if u < shares[0]:", "if u >= 1 - shares[0]:", SPLIT
    ),
    "near-duplicates on both sides": Break(
        "pocket/split.py", "if self._index.query(minhash):", "if False:", SPLIT
    ),
    "the slope's sign": Break("fit.py", "slope = dx @ dy / sxx", "slope = -dx @ dy / sxx", FIT),
    "the manifest before the records": Break(
        "files/recordfiles.py",
        "os.replace(new, parquet)\n        os.replace(new_marker, marker)",
        "os.replace(new_marker, marker)\n        os.replace(new, parquet)",
        RECORDS,
    ),
    "a key without the dtype": Break(
        "files/manifest.py", 'names += ("dtype", ', "names += (", RECORDS
    ),
    "the loop in C takes a tie for greater": Break(
        "kernels/c_loop.c", "*greater += x > target;", "*greater += x >= target;", RANKING
    ),
    "the loop in C does not count the target out": Break(
        "kernels/c_loop.c", "n_equal[i] = equal[0] - 1;", "n_equal[i] = equal[0];", RANKING
    ),
    "the order of the protocol": Break(
        "measuring.py", 'np.lexsort((columns["position"], columns["document"]))',
        'np.lexsort((columns["position"],))', ("test_measuring.py",),
    ),
    "p_max of another token": Break(
        "files/columns.py", "& (nll > least + room),", "& (nll > least + 1 + room),", RECORDS
    ),
    "records of format 2 without its columns": Break(
        "files/columns.py", "COLUMNS if manifest.format == 1 else COLUMNS | PREDICTION",
        "COLUMNS", RECORDS,
    ),
    "records of format 1 are refused": Break(
        "files/manifest.py", "READS = (1, 2)", "READS = (2,)", RECORDS
    ),
    "documents drawn in place of modules": Break(
        "sections/bootstrap.py", "return np.unique(modules[documents], return_inverse=True)[1]",
        "return np.arange(documents.size)", ("sections/test_bootstrap.py",),
    ),
    "a curve in the order of names": Break(
        "fit.py", "chosen.sort(key=lambda one: (one.manifest.S, one.manifest.model))",
        "chosen.sort(key=lambda one: one.manifest.model)", FIT,
    ),
    "a figure that changed is kept": Break(
        "files/changes.py", "RTOL = 2e-5", "RTOL = 2e-3", ("files/test_changes.py",)
    ),
    "a claim that holds in most cases holds": Break(
        "audit/verdicts.py", 'return words.pop() if len(words) == 1 else "in most cases"',
        'return "holds"', ("audit/test_verdicts.py",),
    ),
    "bytes that are not verified": Break(
        "files/recordfiles.py", "== manifest.sha256:", "!= '':", RECORDS
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The package and its tests, in a folder of their own; the data are the project's."""
    folder = tmp_path_factory.mktemp("copy")
    without = shutil.ignore_patterns("data", "__pycache__")
    shutil.copytree(ROOT / "rbpkit", folder / "rbpkit", ignore=without)
    (folder / "rbpkit" / "data").symlink_to(ROOT / "rbpkit" / "data", target_is_directory=True)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=without)
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    return folder


def run(copy: Path, *tests: str) -> subprocess.CompletedProcess:
    """pytest on the copy, until the first failure; `tests`: a file, and -k."""
    file, *words = tests
    selected = ["-k", words[0]] if words else []
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"),
            *(f"tests/{file}", *selected),
        ],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.mark.parametrize("name", BREAKS)
def test_each_break_stands_once_in_the_source(name):
    one = BREAKS[name]
    text = (ROOT / "rbpkit" / one.file).read_text(encoding="utf-8")
    assert text.count(one.old) == 1, f"{name}: {one.old!r} is {text.count(one.old)} times there"
    assert one.new != one.old


@pytest.mark.slow
@pytest.mark.parametrize("tests", sorted({one.tests for one in BREAKS.values()}), ids=" ".join)
def test_the_copy_passes_as_it_is(tests, copy):
    where = [sys.executable, "-c", "import rbpkit; print(rbpkit.__file__)"]
    imported = subprocess.run(
        where, cwd=copy, env={**os.environ, "PYTHONPATH": str(copy)}, capture_output=True, text=True
    )
    assert Path(imported.stdout.strip()) == copy / "rbpkit" / "__init__.py"
    done = run(copy, *tests)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_found(name, copy):
    one = BREAKS[name]
    path = copy / "rbpkit" / one.file
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace(one.old, one.new), encoding="utf-8")
    try:
        done = run(copy, *one.tests)
    finally:
        path.write_text(whole, encoding="utf-8")
    # 1: tests ran and one failed. 2 or more: nothing was tested, which finds nothing.
    assert done.returncode == 1, f"{name}: not found\n{done.stdout[-2000:]}"
    assert "SyntaxError" not in done.stdout and "ImportError" not in done.stdout
