"""The benchmark, run for real on the CPU: its rows, what it keeps, and what it refuses."""

from __future__ import annotations

import pytest
import torch

from rbpkit.errors import InputError
from rbpkit.ranking import token_ranks
from rbpkit.tools import bench
from rbpkit.tools.bench import naive_ranks, timed_rows

PYTHIA_14M, OPT_350M = "EleutherAI/pythia-14m", "facebook/opt-350m"


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.split("|")[1:-1]]


def test_both_ways_give_the_same_numbers():
    g = torch.Generator().manual_seed(0)
    hidden, matrix = torch.randn(40, 16, generator=g), torch.randn(300, 16, generator=g)
    targets = torch.arange(40)
    exact = token_ranks(hidden, matrix, targets, entropy=True)
    rank, *others = naive_ranks(hidden, matrix, targets)
    assert torch.equal(exact.rank().long(), rank)
    torch.testing.assert_close([exact.nll, exact.p_max, exact.entropy], others)


def test_rows_are_kept_and_not_timed_again(rbpkit, tmp_path, monkeypatch):
    common = ("bench", "--device", "cpu", "--tokens", 4, "--out", tmp_path / "new" / "gpu.md")
    status, out, _ = rbpkit(*common, "--shapes", PYTHIA_14M)
    page = (tmp_path / "new" / "gpu.md").read_text()
    assert status == 0 and page.endswith(out)
    found = dict(zip(cells(out.splitlines()[0]), cells(out.splitlines()[-1]), strict=True))
    assert (found["shape of"], found["d"], found["V"]) == (PYTHIA_14M, "128", "50,304")
    assert (found["dtype"], found["tokens"], found["torch"]) == ("float32", "4", torch.__version__)
    assert float(found["exact, ms"]) > 0 and float(found["naive, ms"]) > 0
    # The kept row is printed as it is; another shape and another dtype are timed.
    timed = []
    monkeypatch.setattr(bench, "_seconds", lambda *shape: timed.append(shape) or (0.002, None))
    assert rbpkit(*common, "--shapes", PYTHIA_14M, "--shapes", OPT_350M)[1].startswith(out)
    rbpkit(*common, "--shapes", PYTHIA_14M, "--dtype", "bfloat16")
    assert [shape[:4] for shape in timed] == [
        (4, 512, 50_272, torch.float32),  # the head of OPT-350m is narrower than its layers
        (4, 128, 50_304, torch.bfloat16),
    ]
    rows = (tmp_path / "new" / "gpu.md").read_text().removeprefix(page).splitlines()
    assert len(rows) == 2 and cells(rows[0])[7:10] == ["2.00", "does not fit", ""]


def test_the_paper_has_24_shapes(rbpkit, monkeypatch):
    shapes = []
    monkeypatch.setattr(bench, "_seconds", lambda *shape: shapes.append(shape) or (1.0, 2.0))
    out = rbpkit("bench", "--shapes", "paper", "--device", "cpu")[1]
    assert len(out.splitlines()) == 2 + 24 and {shape[0] for shape in shapes} == {8192}
    assert {shape[2] for shape in shapes} == {
        50_257,
        50_272,
        50_304,
        50_432,
        50_688,
        151_936,
        152_064,
    }


def test_naive_ranking_is_left_out_when_it_does_not_fit(monkeypatch):
    monkeypatch.setattr(bench, "_memory_bytes", lambda device: 16 * 4 * 50_304 - 1)
    monkeypatch.setattr(bench, "naive_ranks", lambda *_: pytest.fail("was run"))
    (row,) = timed_rows([PYTHIA_14M], tokens=4)
    assert "| does not fit |" in row


def test_bad_input_is_one_line(rbpkit, tmp_path, monkeypatch):
    (tmp_path / "notes.md").write_text("# Notes\n")
    for arguments, message in (
        (("--shapes", "EleutherAI/pythia-14"), f"did you mean {PYTHIA_14M}"),
        (("--dtype", "float8"), "float32, bfloat16, float16"),
        (("--tokens", 0), "'--tokens': Input should be greater than or equal to 1"),
        (("--out", tmp_path / "notes.md"), "notes.md holds no table"),
    ):
        status, out, err = rbpkit("bench", "--device", "cpu", *arguments)
        assert (status, out) == (2, "") and message in err and err.count("\n") == 1

    def full(*shape):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(bench, "_seconds", full)
    with pytest.raises(InputError, match="pythia-14m does not fit"):
        next(timed_rows([PYTHIA_14M]))
