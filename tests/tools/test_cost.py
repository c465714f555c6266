"""The model of the cost: its operations against torch's own count, its times against a clock."""

import json
import time

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig

from rbpkit.errors import InputError
from rbpkit.files.architectures import ARCHITECTURES, paper_config
from rbpkit.models import load_model
from rbpkit.pocket import ladders
from rbpkit.study.plan import read_speeds
from rbpkit.tools.bench import speed_of
from rbpkit.tools.cost import DEVICES, Shape, cost, cpu_rates, parts, predicted_speeds, rates_of


@pytest.mark.parametrize(
    ("family", "size"), [("GPT2", 3), ("OPT", 4), ("Pythia", 5), ("Qwen", 3), ("Qwen", 4)]
)
def test_operations_are_what_torch_counts(family, size):
    folder, L = ladders.model_folder(family, size), 128
    model = load_model(folder, device="cpu").model
    model.set_attn_implementation("eager")  # the counter does not know the fused one
    with FlopCounterMode(display=False) as counted, torch.no_grad():
        model(torch.zeros((2, L), dtype=torch.int64), use_cache=False)
    found = parts(Shape.of(folder.name, model.config), length=L)
    # torch counts all scores, those ahead of a position too.
    expected = found["body"].operations + 2 * found["body"].attention + found["head"].operations
    assert counted.get_total_flops() / (2 * L) == pytest.approx(expected, rel=0.02)


def test_the_slowest_of_three_decides():
    shape = Shape.of("x", paper_config("EleutherAI/pythia-14m"))
    rates = DEVICES["H100"]
    quick = rates._replace(launch=0, memory=float("inf"))
    one = cost(shape, quick)
    assert one.ranks == 0 and one.bound["body"] == "matrix"
    assert one.head == pytest.approx(2 * shape.V * 128 / quick.matrix)
    assert cost(shape, rates._replace(launch=1)).bound["body"] == "launches"
    assert cost(shape, rates._replace(memory=1)).bound == dict.fromkeys(one.bound, "memory")


@pytest.mark.parametrize("device", DEVICES)
def test_all_shapes_on_all_devices(device):
    found = predicted_speeds(DEVICES[device])
    assert [speed.model for speed, _ in found] == list(ARCHITECTURES)
    for speed, _ in found:
        assert 0 < speed.with_ranks < speed.with_head < speed.body


def test_rates_by_name_or_number():
    assert rates_of("L4") is DEVICES["L4"]
    assert rates_of("500,40,2500")[1:4] == (500e12, 40e12, 2500e9)
    for bad in ("H1000", "1,2", "1,2,0", "1,2,inf", ""):
        with pytest.raises(InputError, match="no rates are known"):
            rates_of(bad)
    mamba = AutoConfig.from_pretrained(ladders.model_folder("Mamba", 0))
    with pytest.raises(InputError, match="no model of the cost"):
        Shape.of("mamba", mamba)


def test_plan_reads_a_prediction(tmp_path, rbpkit):
    code, out, _ = rbpkit("bench", "--predict", "H200", "--dtype", "bfloat16", "--json")
    path = tmp_path / "speeds.json"
    path.write_text(out, encoding="utf-8")
    assert code == 0 and len(read_speeds(path)) == 24
    assert json.loads(out)["study"]["not_run"] == 0
    for wrong in (["--shapes", "pocket", "--predict", "H200"], ["--predict", "cpu"]):
        code, _, err = rbpkit("bench", *wrong)
        assert code == 2 and "--predict cpu needs models" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "size"),
    [(f, i) for f in ladders.LADDERS if f != "Mamba" for i in range(len(ladders.LADDERS[f]))],
)
def test_prediction_on_this_cpu(family, size, capsys, monkeypatch):
    """The speed with ranks over that with the head alone, within a quarter of what is measured."""
    folder, threads = ladders.model_folder(family, size), torch.get_num_threads()
    shape = Shape.of(folder.name, AutoConfig.from_pretrained(folder))
    torch.set_num_threads(1)
    # Of this thread, so that other programs take no part in it.
    monkeypatch.setattr(time, "perf_counter", time.thread_time)
    try:
        speed = speed_of(load_model(folder, device="cpu"), tokens=4000, max_length=256, rounds=5)
        guess = cost(shape, cpu_rates(shape, 256), "float32", length=256)
    finally:
        torch.set_num_threads(threads)
    measured = speed.with_ranks / speed.with_head
    predicted = (guess.body + guess.head) / sum(guess[:3])
    with capsys.disabled():
        print(f"\n{folder.name}: ranks over head {measured:.2f}, predicted {predicted:.2f}")
    assert predicted / measured == pytest.approx(1, abs=0.25)
