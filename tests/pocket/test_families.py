"""The pocket families: S by hand, the real architectures, names of runs, and what ships."""

import math

import pytest
import torch
from conftest import refused
from transformers import AutoModelForCausalLM, Qwen2Config

from rbpkit.architectures import family_of, parameter_counts
from rbpkit_pocket import recipes
from rbpkit_pocket.ablations import ABLATION_RUNS, run_called
from rbpkit_pocket.families import SHAPES, Shape, config_of, initial_model


def S_by_hand(family: str, shape: Shape) -> int:
    """S by the family's architecture, written out: its layers and the norm after the last."""
    d = shape.width
    if family == "Qwen":  # q and o d x d, one head of k and v, biases on q, k, v, a gated MLP
        head = d // shape.heads
        layer = 2 * d * d + 2 * d * head + d + 2 * head + 3 * d * shape.inner + 2 * d
        return shape.layers * layer + d
    if family == "Mamba":  # projections in and out 6 d^2; for 2 d channels a convolution of 4
        # with bias, D, a state of 16, what makes step sizes, B and C; a norm
        rank = math.ceil(d / 16)
        layer = 6 * d * d + 2 * d * (4 + 1 + 1 + 16 + (rank + 2 * 16) + (rank + 1)) + d
        return shape.layers * layer + d
    # Attention 4 d^2 + 4 d, feed-forward 8 d^2 + 5 d, two norms with bias 4 d.
    return shape.layers * (12 * d * d + 13 * d) + 2 * d


@pytest.mark.parametrize("family", SHAPES)
def test_S_of_a_family_is_that_of_its_architecture_and_rises(family):
    sizes = []
    for shape in SHAPES[family]:
        config = config_of(family, shape)
        assert family_of(config) == family
        S = parameter_counts(config).S
        assert S == S_by_hand(family, shape)
        sizes.append(S)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] > 10 * sizes[0]


def test_a_pocket_qwen_is_a_qwen2_to_the_bit():
    ours = initial_model("Qwen", SHAPES["Qwen"][0], 0)
    own_type = {"model_type", "architectures", "transformers_version"}
    values = {name: one for name, one in ours.config.to_dict().items() if name not in own_type}
    real = AutoModelForCausalLM.from_config(Qwen2Config(**values), dtype=torch.float32)
    for parameter in ours.parameters():  # biases start at zero: make them count
        torch.nn.init.normal_(parameter, std=0.1)
    real.load_state_dict(ours.state_dict())
    inputs = torch.arange(2 * 64).view(2, 64)
    with torch.no_grad():
        assert torch.equal(ours(inputs).logits, real(inputs).logits)


# --- names of runs ---------------------------------------------------------------------------


def test_a_run_is_found_by_its_name():
    for run in ABLATION_RUNS:
        assert run_called(run.name) is run
    own = run_called("pythia-w64-l4-1.5m-seed7")
    assert own == recipes.runs_of("Pythia", tokens=1_500_000, seed=7)[2]
    for name in ("gpt2-w32-l2", "qwen-w64-l4-6m", "mamba-w32-l4-seed3"):
        assert recipes.run_named(name).name == name
    for name in ("nothing", "pythia-w32-l2-3m-seed07", "pythia-w32-l2-seed0"):
        refused(name, run_called, name)


# --- what ships ------------------------------------------------------------------------------
