"""Nothing that is checked hangs on the processor: one with AVX2 is imitated on this one.

Every printed output must be the committed one, and the points of every figure agree to five digits.
"""

import nbformat
import pandas as pd
import pytest
from conftest import ROOT

from rbpkit.tools.study.notebooks import notebook_names, run

RTOL, ATOL = 2e-5, 1e-9  # a step in the last digit that is written; differences of about 1e-16


def without_avx512() -> str:
    """Of numpy's dispatched instruction sets, those beyond AVX2 that this processor has."""
    from numpy._core import _multiarray_umath as umath

    beyond = ("X86_V4", "AVX512_ICL", "AVX512_SPR")
    there = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]
    return " ".join(name for name in beyond if name in there)


def texts(cell: nbformat.NotebookNode) -> list[object]:
    """What a cell prints and shows, without its pictures."""
    found: list[object] = []
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            found.append((output.name, output.text))
        elif "image/png" not in output.data:
            found.append(output.data)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", notebook_names())
def test_on_a_processor_with_avx2(name, tmp_path, monkeypatch):
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    monkeypatch.setenv("MKL_ENABLE_INSTRUCTIONS", "AVX2")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", without_avx512())
    path = run(name, {"figures_dir": str(tmp_path)}, tmp_path / "notebooks")
    executed = [c for c in nbformat.read(path, 4).cells if c.source[:12] != "# Parameters"]
    committed = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4).cells
    for number, (old, new) in enumerate(zip(committed, executed, strict=True)):
        assert texts(new) == texts(old), f"{name}, cell {number}: {old.source[:80]}"
    for path in tmp_path.glob("*.csv"):
        new, old = pd.read_csv(path), pd.read_csv(ROOT / "figures" / path.name)
        pd.testing.assert_frame_equal(new, old, rtol=RTOL, atol=ATOL, obj=path.name)
