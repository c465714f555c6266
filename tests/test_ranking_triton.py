"""The Triton kernel without a GPU: compiled for two of them, and run by the interpreter.

`make test` does a part; `make test-gpu-dry` all of it, and there no case may skip.
"""
# ruff: noqa: E402  without triton, nothing below can be imported

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch

ALL = os.environ.get("RBPKIT_GPU_DRY") == "1"
if not ALL:
    pytest.importorskip("triton", reason="needs triton: pip install -e '.[gpu]' (Linux, x86-64)")

import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptxas
from triton.compiler import ASTSource

from rbpkit import ranking
from rbpkit.kernels import one_pass

ARCHITECTURES = {80: "sm_80", 90: "sm_90a"}  # A100; H100 and H200
DTYPES = ("fp32", "bf16", "fp16")
TYPES = {
    **{"row_stride": "i32", "column_stride": "i32", "targets": "*i64", "V": "i32"},
    **{"n_greater": "*i32", "n_equal": "*i32", "finite": "*i8"},
    **{"nll": "*fp32", "p_max": "*fp32", "entropy": "*fp32"},
}


def compiled(dtype, capability, aligned, column_stride):
    """PTX of the kernel as launched on such logits; it is compiled to a cubin without a driver."""
    kernel, types = one_pass.kernel, TYPES | {"logits": f"*{dtype}"}
    place = {name: (i,) for i, name in enumerate(kernel.arg_names)}
    # What is known when it is compiled, and what is a multiple of 16: pointers, and these.
    fixed = {"BLOCK": one_pass.BLOCK} | ({"column_stride": 1} if column_stride == 1 else {})
    types = types | dict.fromkeys(fixed, "constexpr")
    multiples = ["row_stride", "V"] if aligned else []
    multiples += [name for name in types if types[name].startswith("*")]
    source = ASTSource(
        fn=kernel,
        signature={name: types[name] for name in kernel.arg_names},
        constexprs={place[name]: value for name, value in fixed.items()},
        attrs={place[name]: [["tt.divisibility", 16]] for name in multiples},
    )
    options = {"num_warps": one_pass.WARPS, "enable_fp_fusion": True}
    target = GPUTarget("cuda", capability, 32)
    made = triton.compile(source, target=target, options=options)
    assert len(made.asm["cubin"]) > 1000
    return made.asm["ptx"]


def spilled_bytes(ptx, capability):
    """What the assembler says of a kernel's registers: bytes spilled to memory, and the text.

    Triton's own count is known only once a driver has loaded the kernel.
    """
    tool = Path(get_ptxas(capability).path)
    if not os.access(tool, os.X_OK):
        tool.chmod(0o755)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(ptx, encoding="utf-8")
        command = [tool, "-v", "--regAllocOptLevel=2", f"--gpu-name={ARCHITECTURES[capability]}"]
        output = subprocess.run(
            [*command, source, "-o", os.devnull], capture_output=True, text=True, check=True
        ).stderr
    found = [int(number) for number in re.findall(r"(\d+) bytes spill (?:stores|loads)", output)]
    assert len(found) == 2, output
    return sum(found), output


@pytest.mark.parametrize("column_stride", [1, 2] if ALL else [1])
@pytest.mark.parametrize("aligned", [True, False] if ALL else [False])
@pytest.mark.parametrize("dtype", DTYPES if ALL else DTYPES[:1])
@pytest.mark.parametrize("capability", ARCHITECTURES)
def test_compiles_and_spills_nothing(capability, dtype, aligned, column_stride):
    ptx = compiled(dtype, capability, aligned, column_stride)
    spilled, output = spilled_bytes(ptx, capability)
    assert spilled == 0, output
    # Denormals that were flushed to zero would tie with it.
    comparisons = re.findall(r"^\s*setp\.(?:gt|eq|neu|lt)\S*f32", ptx, flags=re.MULTILINE)
    assert comparisons and not any("ftz" in one for one in comparisons)


def test_interpreted():
    few = "ties or neighbouring or (naive and contiguous and float32 and 513) or chunks"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs"]
    run = subprocess.run(
        [*command, *([] if ALL else ["-k", few]), "tests/test_ranking_interpreted.py"],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "passed" in run.stdout and "skipped" not in run.stdout, run.stdout


def test_without_a_driver_torch_counts():
    """A kernel that cannot be launched gives a warning, and another program counts."""
    if torch.cuda.is_available():
        device = torch.device("cuda")
        assert one_pass.runs_on(device)
        return
    with pytest.warns(UserWarning, match="no Triton kernel on cpu, so torch counts"):
        assert not one_pass.runs_on(torch.device("cpu"))
    assert ranking.counting_path("cpu") != "triton"
