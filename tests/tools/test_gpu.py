"""`make gpu` where there is none: what it would do, its refusal, and its report."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from rbpkit.tools import gpu

ROOT = Path(__file__).parents[2]


def test_refusal_and_dry_run(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main(["--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert gpu.main(["--dry-run"]) == 0
    out = capsys.readouterr().out
    assert [line.split(":")[0] for line in out.splitlines()] == list(gpu.PARTS)
    assert gpu.main(["benhc"]) == 2
    assert "'benhc' is no part" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(torch.cuda.is_available(), reason="would run everything")
def test_as_a_program():
    run = subprocess.run(
        [sys.executable, "-m", "rbpkit.tools.gpu"], cwd=ROOT, capture_output=True, text=True
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "gpu: torch finds no GPU here (--dry-run says what would be run)\n"


def test_parts_run_one_by_one_join_in_one_report(tmp_path, monkeypatch, capsys):
    """The real bench and dtypes on the CPU stand in for a device; the report is what is tested."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA X (80 GB)")
    monkeypatch.setattr(gpu, "counting_path", lambda device: "triton")
    real = gpu.compare_dtypes
    small = gpu.ladders.model_folder("Pythia", 0)

    def on_cpu(folder, corpus, device, max_length):
        assert device == "cuda"
        return real(small, corpus, ("float32", "bfloat16"), device="cpu", max_length=max_length)

    monkeypatch.setattr(gpu, "compare_dtypes", on_cpu)
    monkeypatch.setattr(gpu, "_FEW", 2)
    paper_speeds = gpu.paper_speeds

    def few(names, **settings):
        assert settings.pop("device") == "cuda"
        if names[0] != "EleutherAI/pythia-14m":
            return [gpu.Speed(names[0], 1, 1, "bfloat16", "cuda", 1, 1, skipped="left out")]
        settings |= {"tokens": 60, "max_length": 30, "rounds": 1, "batch_tokens": 64}
        return list(paper_speeds(names, device="cpu", **settings))

    monkeypatch.setattr(gpu, "paper_speeds", few)
    # Without a GPU both ways are the usual one.
    monkeypatch.setattr(gpu, "_HEADS", ((32, 50),))
    ranks, by_heads = gpu.token_ranks, gpu.fused
    monkeypatch.setattr(gpu, "token_ranks", lambda *given, fused: ranks(*given))
    monkeypatch.setitem(gpu.PARTS, "fused", lambda ends: by_heads(ends, "cpu", 10))
    monkeypatch.chdir(ROOT)
    for parts in (["bench"], ["dtypes"], ["fused"]):
        assert gpu.main([*parts, "--out", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "gpu-nvidia-x-80-gb-.json").read_text())
    assert len(report["dtypes"]) == len(gpu.ladders.LADDERS)
    assert report["bench"]["not_run"] == 23
    assert report["fused"]["heads"][0]["ranks_changed"] == 0
    page = (tmp_path / "gpu-nvidia-x-80-gb-.md").read_text()
    for expected in ("# rbpkit on NVIDIA X", "EleutherAI/pythia-14m", "left out", "GPU-minutes"):
        assert expected in page
    assert "bfloat16" in page and "by triton" in page
