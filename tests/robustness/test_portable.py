"""Nothing that is checked hangs on the processor: other processors are imitated on this one.

Notebooks are executed while numpy, torch and the BLAS libraries take the code paths of other
processors, and with the last bit of what is loaded and computed disturbed. Every printed output
must be the committed one; the points of every figure agree within `RTOL` and `ATOL`.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from nbclient import NotebookClient

from rbpkit.files.changes import ATOL, RTOL
from rbpkit.study.notebooks import QUIET_KERNEL, notebook_names

ROOT = Path(__file__).resolve().parents[2]
SEEDS = range(20)

pytestmark = pytest.mark.slow


def without(*features: str) -> str:
    """Of numpy's dispatched instruction sets, those named that this processor has."""
    from numpy._core import _multiarray_umath as umath

    there = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]
    return " ".join(name for name in features if name in there)


AVX512 = ("X86_V4", "AVX512_ICL", "AVX512_SPR")
PROCESSORS = {
    "no vector extension": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": without("X86_V3", *AVX512),
    },
    "AVX2 as Intel has it": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": without(*AVX512),
    },
    "AVX2 as AMD has it": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "OPENBLAS_CORETYPE": "Zen",
        "NPY_DISABLE_CPU_FEATURES": without(*AVX512),
    },
    "AVX-512, BLAS alone": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "one thread": {"OMP_NUM_THREADS": "1"},
    "two threads": {"OMP_NUM_THREADS": "2"},
}

# Runs in the kernel, before the notebook's own cells.
DISTURB = """
import numpy as np
import pandas as pd
from rbpkit.summary import Summary

_rng = np.random.default_rng({seed})


def _last_bit(value):
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return value
    towards = np.where(_rng.random(array.shape) < 0.5, np.inf, -np.inf).astype(array.dtype)
    moved = np.where(np.isfinite(array) & (array != 0), np.nextafter(array, towards), array)
    if isinstance(value, pd.Series):
        return pd.Series(moved, value.index, name=value.name)
    if isinstance(value, pd.DataFrame):
        return pd.DataFrame(moved, value.index, value.columns)
    return moved if isinstance(value, np.ndarray) else moved[()]


class _Disturbed:
    def __init__(self, function):
        self._function = function

    def __call__(self, *arguments, **named):
        found = self._function(*arguments, **named)
        return found if "out" in named else _last_bit(found)

    def __getattr__(self, name):
        return getattr(self._function, name)


_check = Summary.__post_init__


def _disturbed_summary(self):
    object.__setattr__(self, "document_nll", _last_bit(self.document_nll))
    _check(self)


Summary.__post_init__ = _disturbed_summary
np.log, np.exp = _Disturbed(np.log), _Disturbed(np.exp)
"""


def execute(name: str, *, before: str, figures: Path) -> nbformat.NotebookNode:
    """The committed notebook executed anew, `before` first, its figures written into `figures`."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4)
    (parameters,) = (c for c in notebook.cells if "parameters" in c.metadata.get("tags", ()))
    parameters.source = f"{before}\n{parameters.source}\nfigures_dir = {str(figures)!r}\n"
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(ROOT / "notebooks")}},
        coalesce_streams=True,
        extra_arguments=QUIET_KERNEL,
    )
    client.execute()
    return notebook


def texts(cell: nbformat.NotebookNode) -> list[object]:
    """What a cell prints and shows, but for its pictures."""
    found: list[object] = []
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            found.append((output.name, output.text))
        elif output.output_type == "error":
            found.append((output.ename, output.evalue))
        else:
            shown = {kind: text for kind, text in output.data.items() if "image" not in kind}
            if "image/png" not in output.data:
                found.append(shown)
    return found


def assert_as_committed(name: str, executed: nbformat.NotebookNode, figures: Path) -> None:
    committed = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4)
    for number, (old, new) in enumerate(zip(committed.cells, executed.cells, strict=True)):
        assert texts(new) == texts(old), f"{name}, cell {number}: {old.source[:80]}"
    for path in figures.glob("*.csv"):
        new, old = pd.read_csv(path), pd.read_csv(ROOT / "figures" / path.name)
        assert list(new) == list(old) and len(new) == len(old), path.name
        for column in new:
            if new[column].dtype.kind == old[column].dtype.kind == "f":
                same = np.isclose(new[column], old[column], RTOL, ATOL, equal_nan=True)
                worst = new[~same].head(3).to_string()
                assert same.all(), f"{path.name}, {column}: {(~same).sum()} differ\n{worst}"
            else:
                assert new[column].astype(str).equals(old[column].astype(str)), path.name


@pytest.mark.parametrize("name", notebook_names())
@pytest.mark.parametrize("processor", PROCESSORS)
def test_on_another_processor(processor, name, tmp_path, monkeypatch):
    for key, value in PROCESSORS[processor].items():
        monkeypatch.setenv(key, value)
    assert_as_committed(name, execute(name, before="", figures=tmp_path), tmp_path)


@pytest.mark.parametrize("name", notebook_names())
@pytest.mark.parametrize("seed", SEEDS)
def test_with_the_last_bit_disturbed(seed, name, tmp_path):
    before = DISTURB.format(seed=seed)
    assert_as_committed(name, execute(name, before=before, figures=tmp_path), tmp_path)
