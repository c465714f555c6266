"""The transformers config and the untrained weights of a pocket model, by its family's row.

The initialisation is one rule for all families: Pythia's, learned positions at zero. (What Mamba's
state has, its decay, step sizes, convolution, starts as in that family.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rbpkit.files.architectures import family_of
from rbpkit.pocket.families import FAMILIES, V
from rbpkit.pocket.ladders import family_named

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

    from rbpkit.pocket.families import Shape


def config_of(family: str, shape: Shape) -> PretrainedConfig:
    """The transformers config of one pocket model.

    Raises InputError for a family that has no ladder.
    """
    family = family_named(family)
    common = {
        "vocab_size": V,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "dtype": "float16",
        "initializer_range": initial_std(shape),
    }
    config = FAMILIES[family].config(shape, common)
    if family_of(config) != family:  # its type is another family's, or one that has no name here
        config.rbpkit_family = family
    return config


def initial_std(shape: Shape) -> float:
    """Pythia's first rule ("small_init"), sqrt(2 / 5d): every matrix and embedding."""
    return math.sqrt(2 / (5 * shape.width))


def initial_model(family: str, shape: Shape, seed: int) -> PreTrainedModel:
    """The untrained model in float32, from a seed of its own."""
    import torch
    from torch import nn
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config_of(family, shape), dtype=torch.float32)
    row = FAMILIES[family]
    named = list(model.named_parameters())
    additions = sum(name.endswith(row.residual) for name, _ in named)
    for name, parameter in named:
        # Pythia's second rule ("wang_init"), for what is added to the residual: 2 / (L sqrt d)
        # for the two additions of each of L layers.
        if name.endswith(row.residual):
            nn.init.normal_(parameter, std=4 / (additions * math.sqrt(shape.width)))
        # As large as the tokens' they drown them: 0.26 nats worse after 1.5 million tokens.
        if name.endswith(row.positions):
            nn.init.zeros_(parameter)
    return model
