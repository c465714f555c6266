"""Models spread over devices. Two real devices need a GPU; the hooks of accelerate need only it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from rbpkit import models
from rbpkit.corpora import load_corpus
from rbpkit.encoding import encode
from rbpkit.errors import InputError
from rbpkit.files import devices
from rbpkit.measuring import rank_columns
from rbpkit.models import load_model
from rbpkit.pocket import ladders

NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
NEEDS_TWO = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")


def parts_of(family: str) -> tuple[list[str], list[str]]:
    """The names of the smallest model's layers, and of its modules before and after them."""
    config = AutoConfig.from_pretrained(ladders.model_folder(family, 0))
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    modules = dict(model.named_modules())
    stack = next(name for name, one in modules.items() if isinstance(one, torch.nn.ModuleList))
    single = [name for name, one in modules.items() if not [*one.children()]]
    ends = [name for name in single if not name.startswith(f"{stack}.")]
    return [f"{stack}.{i}" for i in range(len(modules[stack]))], ends


def columns(model) -> dict[str, np.ndarray]:
    corpus = load_corpus("pocket:code", documents=5)
    return rank_columns(model, encode(corpus, model.tokenizer, max_length=256))


def assert_same(found, expected) -> None:
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_without_accelerate_it_says_so(monkeypatch):
    monkeypatch.setattr(devices, "find_spec", lambda _: None)
    for how in ({"device_map": "auto"}, {"device": "auto"}):
        with pytest.raises(InputError, match="over several devices needs the package accelerate"):
            load_model(ladders.model_folder("Pythia", 0), **how)


def test_the_device_auto_is_all_devices(monkeypatch):
    asked = []
    network = models.read_network
    monkeypatch.setattr(models, "read_network", lambda *a: (asked.append(a[-1]), network(*a))[1])
    folder = ladders.model_folder("Pythia", 0)
    spread = load_model(folder, device="auto")
    assert torch.device(spread.device).type == devices.torch_device("auto").type
    assert devices.torch_device("auto") == devices.torch_device(None)
    load_model(folder, device=spread.device)
    assert asked == ["auto", None]


def test_a_device_and_a_map_are_refused():
    with pytest.raises(InputError, match=r"give device \(cpu\) or device_map, not both"):
        load_model(ladders.model_folder("Pythia", 0), device="cpu", device_map="auto")


@pytest.mark.parametrize("family", list(ladders.LADDERS))
@pytest.mark.parametrize("kind", ["auto", "a layer on disk"])
def test_the_same_numbers(family, kind):
    folder = ladders.model_folder(family, 0)
    device_map = "auto"
    if kind != "auto":
        layers, ends = parts_of(family)
        device_map = dict.fromkeys([*ends, *layers], "cpu") | {layers[0]: "disk"}
    spread = load_model(folder, device_map=device_map)
    waiting = sum(parameter.is_meta for parameter in spread.model.parameters())
    assert (waiting > 0) == (kind != "auto")
    plain = load_model(folder, device=spread.device)
    assert (spread.S, spread.V, spread.revision) == (plain.S, plain.V, plain.revision)
    assert_same(columns(spread), columns(plain))


def test_a_head_outside_the_devices_is_refused():
    folder = ladders.model_folder("Pythia", 0)
    with pytest.raises(InputError, match="its output head was left out; take a lower dtype"):
        load_model(folder, device_map={"gpt_neox": "cpu", "lm_head": "disk"})


@NEEDS_CUDA
def test_hidden_states_follow_to_the_heads_device():
    model = load_model(ladders.model_folder("Pythia", 0), device="cuda")
    weight, bias = model.head
    split = dataclasses.replace(model, head=model.head._replace(weight=weight.cpu()))
    assert bias is None
    found, expected = columns(split), columns(model)
    # Another device's product: last bits, now and then a rank by one.
    moved = found["n_greater"] != expected["n_greater"]
    assert moved.mean() <= 0.01


@NEEDS_TWO
@pytest.mark.parametrize("family", list(ladders.LADDERS))
def test_two_devices(family):
    folder = ladders.model_folder(family, 0)
    layers, ends = parts_of(family)
    device_map = dict.fromkeys(ends, 0) | {name: i % 2 for i, name in enumerate(layers)}
    spread = load_model(folder, device_map=device_map)
    assert_same(columns(spread), columns(load_model(folder, device="cuda")))
