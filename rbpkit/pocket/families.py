"""What each pocket family is, in one table: its sizes, rate and config, and what else is its own.

Heads, norms, biases, positions, activation, tied or untied output matrix are those of the real
family. Two things are one rule for all, so that the families differ by architecture alone: no
dropout (every token is seen once), and the initialisation (`pocket.configs`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PretrainedConfig

V = 4096
CONTEXT = 256


@dataclass(frozen=True)
class Shape:
    """Width d, number of layers, number of attention heads (Mamba: none) of one pocket model.

    Two more where the family's sizes differ by them: `inner`, the width of the gated MLP (None:
    4d), and `untied`, whether the output matrix is one of its own (None: as its family has it).
    """

    width: int
    layers: int
    heads: int
    inner: int | None = None
    untied: bool | None = None


@dataclass(frozen=True)
class Family:
    """A family: its sizes, how they are trained and built, what is its own in them.

    shapes: smallest first. rate: `Recipe.rate`, from the rate search. config: a shape and what is
    one for all families -> the transformers config. residual: the ends of the names of a layer's
    matrices that write to the residual stream. positions: of its learned positions, if it has
    any. over_time: multiplications by which a layer brings tokens together, a token and unit of
    width: causal attention over a context, half of it masked, scores and values. note: what its
    model cards say of its class.
    """

    shapes: tuple[Shape, ...]
    rate: float
    config: Callable[[Shape, dict], PretrainedConfig]
    residual: tuple[str, ...]
    positions: tuple[str, ...] = ()
    over_time: int = CONTEXT
    note: str = ""


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


# Heads of 32 where that divides: a quarter of a small head, as NeoX rotates it, would leave two
# frequencies. Widths under 32 broke the line in a trial (the rank of the head). Depths follow the
# real ladders'.
FAMILIES: dict[str, Family] = {
    "GPT2": Family(
        # The depth grows with the width (12, 24, 36, 48 layers).
        shapes=(
            Shape(32, 2, 1),
            Shape(48, 4, 2),
            Shape(64, 6, 2),
            Shape(80, 8, 2),
            Shape(96, 10, 3),
        ),
        rate=0.175,
        config=_gpt2,
        residual=("attn.c_proj.weight", "mlp.c_proj.weight"),
        positions=("wpe.weight",),
    ),
    "OPT": Family(
        # In two steps (12, 24, 24, 32, 32).
        shapes=(
            Shape(32, 2, 1),
            Shape(48, 4, 2),
            Shape(80, 4, 2),
            Shape(96, 5, 3),
            Shape(128, 5, 4),
            Shape(160, 6, 5),
        ),
        rate=0.175,
        config=_opt,
        residual=("self_attn.out_proj.weight", "fc2.weight"),
        positions=("embed_positions.weight",),
    ),
    "Pythia": Family(
        shapes=(
            Shape(32, 2, 1),
            Shape(48, 3, 2),
            Shape(64, 4, 2),
            Shape(80, 4, 2),
            Shape(96, 4, 3),
            Shape(128, 5, 4),
            Shape(160, 6, 5),
            Shape(192, 7, 6),
        ),
        rate=0.7,
        config=_pythia,
        residual=("attention.dense.weight", "mlp.dense_4h_to_h.weight"),
    ),
    "Qwen": Family(
        # Not always with the width (24, 28, 36, 28, 48, 64), with a gated MLP of 5.3 to 5.8 d but
        # 2.7 d at the fifth, and an output matrix of its own in the three largest.
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
        note=(
            "the same layers as Qwen2's, equal to the bit. A folder of type `qwen2` could not keep "
            "a tokenizer of its own: `AutoTokenizer` puts the rules of the real Qwen2 in its place."
        ),
    ),
    "Mamba": Family(
        # None of the paper's: a state-space family to hold beside them. A layer of it has fewer
        # weights than the others' (6 d^2 and what the state takes, for 12 d^2), so there are more:
        # 24, 48, 48, 48, 64 in the real ladder.
        shapes=(
            Shape(32, 4, 0),
            Shape(40, 5, 0),
            Shape(48, 6, 0),
            Shape(64, 6, 0),
            Shape(96, 6, 0),
        ),
        rate=0.7,
        config=_mamba,
        residual=("mixer.out_proj.weight",),
        over_time=3 * 2 * 16,  # decay, write and read a state of 16 for each of 2 d channels
    ),
}
"""Each pocket family by its name in the paper, which has no Mamba."""
