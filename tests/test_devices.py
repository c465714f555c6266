"""Models spread over devices. Two real devices need a GPU; accelerate's hooks need only a disk."""

import dataclasses

import numpy as np
import pytest
import torch
from conftest import assert_same_columns

from rbpkit.corpora import load_corpus
from rbpkit.encoding import encode
from rbpkit.errors import InputError
from rbpkit.measuring import rank_columns
from rbpkit.models import load_model
from rbpkit_pocket import families

NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
NEEDS_TWO = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")


def parts(model) -> tuple[list[str], list[str]]:
    """The names of a model's layers, and of all its other parts."""
    lists = (name for name, one in model.named_modules() if isinstance(one, torch.nn.ModuleList))
    stack = next(lists)
    base = model.get_submodule(stack.rpartition(".")[0])
    layers = [f"{stack}.{i}" for i in range(len(model.get_submodule(stack)))]
    others = [name for name, one in model.named_modules() if one in base.children()]
    return layers, [*(name for name in others if name != stack), "lm_head"]


def columns(model) -> dict[str, np.ndarray]:
    corpus = load_corpus("pocket:humaneval", documents=5)
    return rank_columns(model, encode(corpus, model.tokenizer, max_length=256))


@pytest.mark.parametrize("family", ["OPT", "Mamba"])
@pytest.mark.parametrize("other", ["disk", pytest.param(1, marks=NEEDS_TWO)])
def test_a_layer_elsewhere_gives_the_same_numbers(family, other):
    folder = families.model_folder(family, 0)
    plain = load_model(folder, device="cpu" if other == "disk" else "cuda")
    layers, others = parts(plain.model)
    home = "cpu" if other == "disk" else 0
    places = dict.fromkeys([*others, *layers], home) | {layers[0]: other}
    spread = load_model(folder, device_map=places)
    assert other != "disk" or any(one.is_meta for one in spread.model.parameters())
    assert (spread.S, spread.V, spread.revision) == (plain.S, plain.V, plain.revision)
    assert_same_columns(columns(spread), columns(plain))


def test_the_device_auto_takes_what_is_there():
    device = load_model(families.model_folder("Pythia", 0), device="auto").device
    assert device.startswith("cuda" if torch.cuda.is_available() else "cpu")


def test_a_head_outside_the_devices_is_refused():
    places = {"gpt_neox": "cpu", "lm_head": "disk"}
    with pytest.raises(InputError, match="the model cannot be loaded"):
        load_model(families.model_folder("Pythia", 0), device_map=places)


@NEEDS_CUDA
def test_hidden_states_follow_to_the_heads_device():
    model = load_model(families.model_folder("Pythia", 0), device="cuda")
    split = dataclasses.replace(model, head=model.head._replace(weight=model.head.weight.cpu()))
    # Another device's product: last bits, now and then a rank by one.
    moved = columns(split)["n_greater"] != columns(model)["n_greater"]
    assert moved.mean() <= 0.01
