"""The transformers config and the untrained weights of a pocket model, family by family.

Heads, norms, biases, positions, activation, tied or untied output matrix are those of the real
family. Two things are one rule for all, so that the families differ by architecture alone: no
dropout (every token is seen once), and the initialisation: Pythia's, learned positions at zero.
(What Mamba's state has, its decay, step sizes, convolution, starts as in that family.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rbpkit.errors import InputError
from rbpkit.pocket.ladders import CONTEXT, LADDERS, V

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

    from rbpkit.pocket.ladders import Shape

RESIDUAL_OUTPUTS = (
    "attention.dense.weight",  # GPT-NeoX
    "mlp.dense_4h_to_h.weight",
    "attn.c_proj.weight",  # GPT-2
    "mlp.c_proj.weight",
    "self_attn.out_proj.weight",  # OPT
    "fc2.weight",
    "self_attn.o_proj.weight",  # Qwen2
    "mlp.down_proj.weight",
    "mixer.out_proj.weight",  # Mamba
)
"""How the matrices that write to the residual stream are named: two a layer, Mamba's one."""

POSITION_TABLES = ("wpe.weight", "embed_positions.weight")
"""Learned positions (GPT-2, OPT). They start at zero."""


def config_of(family: str, shape: Shape) -> PretrainedConfig:
    """The transformers config of one pocket model.

    Raises InputError for a family that has no ladder.
    """
    makers = {"GPT2": _gpt2, "OPT": _opt, "Pythia": _pythia, "Qwen": _qwen, "Mamba": _mamba}
    if family not in makers:
        raise InputError(f"no pocket family {family!r}: there are {', '.join(LADDERS)}")
    common = {
        "vocab_size": V,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "dtype": "float16",
        "initializer_range": initial_std(shape),
    }
    return makers[family](shape, common)


def _gpt2(shape: Shape, common: dict) -> PretrainedConfig:
    from transformers import GPT2Config

    return GPT2Config(
        **common,
        n_positions=CONTEXT,
        n_embd=shape.width,
        n_layer=shape.layers,
        n_head=shape.heads,
        tie_word_embeddings=True,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )


def _opt(shape: Shape, common: dict) -> PretrainedConfig:
    # The real family's second size normalises after each block and embeds in half its width.
    # No size of ours does, so that S is all that changes along the ladder.
    from transformers import OPTConfig

    std = common.pop("initializer_range")
    return OPTConfig(
        **common,
        init_std=std,
        max_position_embeddings=CONTEXT,
        hidden_size=shape.width,
        word_embed_proj_dim=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        ffn_dim=4 * shape.width,
        do_layer_norm_before=True,
        tie_word_embeddings=True,
        dropout=0.0,
        pad_token_id=None,
    )


def _pythia(shape: Shape, common: dict) -> PretrainedConfig:
    from transformers import GPTNeoXConfig

    return GPTNeoXConfig(
        **common,
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.width,
        max_position_embeddings=CONTEXT,
        rope_parameters={
            "rope_type": "default",
            "rope_theta": 10_000.0,
            "partial_rotary_factor": 0.25,
        },
        use_parallel_residual=True,
        tie_word_embeddings=False,
    )


def _qwen(shape: Shape, common: dict) -> PretrainedConfig:
    # Qwen2's layers, to the bit, under the name of a family that has the same ones. A folder of
    # type "qwen2" keeps no tokenizer of its own: AutoTokenizer puts Qwen2's rules in its place.
    from transformers import SeedOssConfig

    return SeedOssConfig(
        **common,
        rbpkit_family="Qwen",
        pad_token_id=None,
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=1,
        head_dim=shape.width // shape.heads,
        attention_bias=True,  # on queries, keys and values
        attention_out_bias=False,
        residual_dropout=0.0,
        attention_dropout=0.0,
        intermediate_size=shape.inner,
        max_position_embeddings=CONTEXT,
        rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
        tie_word_embeddings=not shape.untied,
    )


def _mamba(shape: Shape, common: dict) -> PretrainedConfig:
    from transformers import MambaConfig

    return MambaConfig(
        **common,
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        state_size=16,
        expand=2,
        conv_kernel=4,
        time_step_rank="auto",  # width / 16
        residual_in_fp32=True,
        tie_word_embeddings=True,
        pad_token_id=None,
    )


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
    named = list(model.named_parameters())
    additions = sum(name.endswith(RESIDUAL_OUTPUTS) for name, _ in named)
    for name, parameter in named:
        # Pythia's second rule ("wang_init"), for what is added to the residual: 2 / (L sqrt d)
        # for the two additions of each of L layers.
        if name.endswith(RESIDUAL_OUTPUTS):
            nn.init.normal_(parameter, std=4 / (additions * math.sqrt(shape.width)))
        # As large as the tokens' they drown them: 0.26 nats worse after 1.5 million tokens.
        if name.endswith(POSITION_TABLES):
            nn.init.zeros_(parameter)
    return model
