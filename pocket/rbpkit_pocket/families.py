"""The families of pocket models: small models of the paper's architectures, and of Mamba.

`POCKET_FAMILIES` says what each family is: its sizes, rate, config and whatever else it has. Heads,
norms, biases, positions, activation, tied or untied output matrix are those of the real family. Two
things are one rule for all, so that the families differ by architecture alone: no dropout (every
token is seen once), and the initialisation: Pythia's, with learned positions at zero. (What Mamba's
state has, its decay, step sizes and convolution, starts as in that family.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbpkit.architectures import family_of
from rbpkit.errors import InputError
from rbpkit_pocket import paths

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

END_OF_TEXT = "<|endoftext|>"
V = 4096
"""Tokens of the pocket models' vocabulary, and rows of their output matrix."""
POCKET_CONTEXT = 256
"""Tokens that a pocket model reads at once."""


@dataclass(frozen=True)
class Shape:
    """The shape of one pocket model.

    - width: d.
    - layers, heads: how many; Mamba has no attention heads.
    - inner: width of the gated MLP, if the family's sizes differ by it (None: 4d).
    - untied: whether the output matrix is separate from the embedding, if the family's sizes differ
      by it (None: as in its family).
    """

    width: int
    layers: int
    heads: int
    inner: int | None = None
    untied: bool | None = None


@dataclass(frozen=True)
class Family:
    """A family: its sizes, how they are trained and built, and what they have in particular.

    - shapes: smallest first.
    - rate: `Recipe.rate`, from the rate search.
    - config: a shape and what all families share -> the transformers config.
    - residual: how the names of a layer's matrices end that write to the residual stream.
    - positions: the same of its learned positions, if it has any.
    """

    shapes: tuple[Shape, ...]
    rate: float
    config: Callable[[Shape, dict[str, Any]], PretrainedConfig]
    residual: tuple[str, ...]
    positions: tuple[str, ...] = ()


# --- configs ---------------------------------------------------------------------------------


def _transformer(shape: Shape) -> dict[str, Any]:
    return {
        "max_position_embeddings": POCKET_CONTEXT,
        "hidden_size": shape.width,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
    }


def _gpt2(shape: Shape, common: dict[str, Any]) -> PretrainedConfig:
    from transformers import GPT2Config

    return GPT2Config(
        **common,
        **_transformer(shape),
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        tie_word_embeddings=True,
    )


def _opt(shape: Shape, common: dict[str, Any]) -> PretrainedConfig:
    # The real family's second size normalises after each block and embeds in half its width.
    # None of these sizes does, so that only S changes within the family.
    from transformers import OPTConfig

    std = common.pop("initializer_range")  # OPT has another name for it
    return OPTConfig(
        **common,
        **_transformer(shape),
        init_std=std,
        word_embed_proj_dim=shape.width,
        ffn_dim=4 * shape.width,
        do_layer_norm_before=True,
        tie_word_embeddings=True,
        dropout=0.0,
        pad_token_id=None,
    )


def _pythia(shape: Shape, common: dict[str, Any]) -> PretrainedConfig:
    from transformers import GPTNeoXConfig

    rotary = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.25}
    return GPTNeoXConfig(
        **common,
        **_transformer(shape),
        intermediate_size=4 * shape.width,
        rope_parameters=rotary,
        use_parallel_residual=True,
        tie_word_embeddings=False,
    )


def _qwen(shape: Shape, common: dict[str, Any]) -> PretrainedConfig:
    # Qwen2's layers, to the bit, under the name of a family that has the same ones. If a folder has
    # the type "qwen2", AutoTokenizer ignores its tokenizer and applies Qwen2's rules.
    from transformers import SeedOssConfig

    return SeedOssConfig(
        **common,
        **_transformer(shape),
        pad_token_id=None,
        num_key_value_heads=1,
        head_dim=shape.width // shape.heads,
        attention_bias=True,  # on queries, keys and values
        attention_out_bias=False,
        residual_dropout=0.0,
        attention_dropout=0.0,
        intermediate_size=shape.inner or 4 * shape.width,
        rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
        tie_word_embeddings=not shape.untied,
    )


def _mamba(shape: Shape, common: dict[str, Any]) -> PretrainedConfig:
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


def _shapes(*columns: tuple[int, ...]) -> tuple[Shape, ...]:
    """Widths, layers, heads, column by column -> one shape per size."""
    return tuple(Shape(*row) for row in zip(*columns, strict=True))


# Heads of 32 if the width allows it: NeoX rotates a quarter of a head, and a quarter of a small one
# would have only two frequencies. Widths under 32 broke the line in a trial (the rank of the head).
# Depths follow those of the real families.
POCKET_FAMILIES: dict[str, Family] = {
    "GPT2": Family(
        # The depth grows with the width (12, 24, 36, 48 layers).
        shapes=_shapes((32, 48, 64, 80, 96), (2, 4, 6, 8, 10), (1, 2, 2, 2, 3)),
        rate=0.175,
        config=_gpt2,
        residual=("attn.c_proj.weight", "mlp.c_proj.weight"),
        positions=("wpe.weight",),
    ),
    "OPT": Family(
        # The depth grows in two steps (12, 24, 24, 32, 32).
        shapes=_shapes((32, 48, 80, 96, 128, 160), (2, 4, 4, 5, 5, 6), (1, 2, 2, 3, 4, 5)),
        rate=0.175,
        config=_opt,
        residual=("self_attn.out_proj.weight", "fc2.weight"),
        positions=("embed_positions.weight",),
    ),
    "Pythia": Family(
        shapes=_shapes(
            (32, 48, 64, 80, 96, 128, 160, 192), (2, 3, 4, 4, 4, 5, 6, 7), (1, 2, 2, 2, 3, 4, 5, 6)
        ),
        rate=0.7,
        config=_pythia,
        residual=("attention.dense.weight", "mlp.dense_4h_to_h.weight"),
    ),
    "Qwen": Family(
        # The depth does not always grow with the width (24, 28, 36, 28, 48, 64). The gated MLP is
        # 5.3 to 5.8 d wide, but 2.7 d in the fifth. The three largest have an untied output matrix.
        shapes=(
            Shape(32, 2, 1, inner=176),
            Shape(48, 3, 2, inner=272),
            Shape(64, 4, 2, inner=352),
            Shape(96, 3, 3, inner=512, untied=True),
            Shape(128, 6, 4, inner=352, untied=True),
            Shape(128, 8, 4, inner=704, untied=True),
        ),
        rate=0.495,
        config=_qwen,
        residual=("self_attn.o_proj.weight", "mlp.down_proj.weight"),
    ),
    "Mamba": Family(
        # A state-space family to compare with the paper's. A layer has fewer weights than theirs
        # (6 d^2 and the state's, against 12 d^2), so there are more layers: 24, 48, 48, 48, 64 in
        # the real family.
        shapes=_shapes((32, 40, 48, 64, 96), (4, 5, 6, 6, 6), (0,) * 5),
        rate=0.7,
        config=_mamba,
        residual=("mixer.out_proj.weight",),
    ),
}
"""Each pocket family by its name in the paper, which has no Mamba."""

SHAPES: dict[str, tuple[Shape, ...]] = {
    name: family.shapes for name, family in POCKET_FAMILIES.items()
}
"""Each family's sizes, smallest first."""


# --- models ----------------------------------------------------------------------------------


def family_named(name: str) -> str:
    """The family's name as the paper writes it, in any spelling of upper and lower case.

    Raises InputError for a family without pocket models.
    """
    for family in POCKET_FAMILIES:
        if family.lower() == name.lower():
            return family
    raise InputError(f"no pocket family {name!r}: there are {', '.join(POCKET_FAMILIES)}")


def config_of(family: str, shape: Shape) -> PretrainedConfig:
    """The transformers config of one pocket model.

    Raises InputError for a family without pocket models.
    """
    family = family_named(family)
    common = {
        "vocab_size": V,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "dtype": "float16",
        # Pythia's first rule ("small_init"), for every matrix and embedding.
        "initializer_range": math.sqrt(2 / (5 * shape.width)),
    }
    config = POCKET_FAMILIES[family].config(shape, common)
    if family_of(config) != family:  # its type is named after another family
        config.rbpkit_family = family
    return config


def initial_model(family: str, shape: Shape, seed: int) -> PreTrainedModel:
    """The untrained model in float32; its weights depend on shape and seed alone."""
    import torch
    from torch import nn
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config_of(family, shape), dtype=torch.float32)
    residual = POCKET_FAMILIES[family].residual
    positions = POCKET_FAMILIES[family].positions
    named = list(model.named_parameters())
    additions = sum(name.endswith(residual) for name, _ in named)
    for name, parameter in named:
        # Pythia's second rule ("wang_init"), for what is added to the residual stream:
        # 2 / (L sqrt d) for the two additions of each of L layers.
        if name.endswith(residual):
            nn.init.normal_(parameter, std=4 / (additions * math.sqrt(shape.width)))
        # Positions as large as the tokens drown them: 0.26 nats worse after 1.5 million tokens.
        if name.endswith(positions):
            nn.init.zeros_(parameter)
    return model


def model_name(family: str, shape: Shape) -> str:
    """Folder and model name, by width and depth: `pythia-w64-l4`."""
    return f"{family.lower()}-w{shape.width}-l{shape.layers}"


# --- what ships ------------------------------------------------------------------------------


def model_folder(family: str, size: int) -> Path:
    """The folder of the pocket model `size` (0 is the smallest) of a family.

    Raises InputError if there is no such family or size.
    """
    family = family_named(family)
    shapes = SHAPES[family]
    if not 0 <= size < len(shapes):
        raise InputError(f"{family} has pocket sizes 0 to {len(shapes) - 1}, not {size}")
    return paths.MODELS / model_name(family, shapes[size])


def load_tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer that all pocket models share.

    Byte-level BPE with V = 4,096, trained on the training text.
    """
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(paths.TOKENIZER, local_files_only=True)
