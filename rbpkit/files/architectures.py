"""The paper's 24 models (its Appendix A) as numbers: what decides the shape of every weight.

The numbers are those of the models' public `config.json` files on the Hugging Face hub, written
down so that `non_embedding_parameters`, the paper's S (Section 3), can be counted with no download
and no weights. Importing this module imports neither torch nor transformers.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rbpkit.errors import InputError, reason
from rbpkit.files.libraries import quiet

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

FAMILIES = {
    "gpt2": "GPT2",
    "opt": "OPT",
    "gpt_neox": "Pythia",
    "qwen2": "Qwen",
    "mamba": "Mamba",
}
"""`model_type` in a config -> the family's name in the paper, which has no Mamba."""


def family_of(config: PreTrainedConfig) -> str:
    """The family of a model: GPT2, OPT, Pythia, Qwen or Mamba; of any other its `model_type`.

    A config may name it as `rbpkit_family` where its type does not (the pocket Qwen models).
    """
    named = getattr(config, "rbpkit_family", None)
    return named or FAMILIES.get(config.model_type, config.model_type)


@dataclass(frozen=True)
class Architecture:
    """One of the 24: its hub id, its `model_type`, and the config's numbers by their own keys."""

    hub_id: str
    model_type: str
    numbers: dict[str, int | bool]

    @property
    def family(self) -> str:
        """The family's name in the paper: GPT2, OPT, Pythia or Qwen."""
        return FAMILIES[self.model_type]

    @property
    def name(self) -> str:
        """The short name in `models.csv`, the hub id without its owner."""
        return self.hub_id.split("/")[1]


def _gpt2(width: int, layers: int, heads: int) -> dict[str, int | bool]:
    return {
        "vocab_size": 50257,
        "n_positions": 1024,
        "n_embd": width,
        "n_layer": layers,
        "n_head": heads,
        "tie_word_embeddings": True,
    }


def _opt(width: int, layers: int, heads: int, **other: int | bool) -> dict[str, int | bool]:
    return {
        "vocab_size": 50272,
        "max_position_embeddings": 2048,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "ffn_dim": 4 * width,
        "tie_word_embeddings": True,
        **other,
    }


def _pythia(width: int, layers: int, heads: int, vocab: int = 50304) -> dict[str, int | bool]:
    return {
        "vocab_size": vocab,
        "max_position_embeddings": 2048,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": 4 * width,
        "tie_word_embeddings": False,
    }


def _qwen(
    width: int, layers: int, heads: int, kv_heads: int, inner: int, vocab: int, tied: bool
) -> dict[str, int | bool]:
    return {
        "vocab_size": vocab,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": inner,
        "tie_word_embeddings": tied,
    }


# OPT-350m embeds tokens in 512 dimensions and projects in and out of its 1,024; it also
# normalises after each block, and so has no final layer norm.
_OPT_350M = {"word_embed_proj_dim": 512, "do_layer_norm_before": False}

_NUMBERS = {
    "openai-community/gpt2": ("gpt2", _gpt2(768, 12, 12)),
    "openai-community/gpt2-medium": ("gpt2", _gpt2(1024, 24, 16)),
    "openai-community/gpt2-large": ("gpt2", _gpt2(1280, 36, 20)),
    "openai-community/gpt2-xl": ("gpt2", _gpt2(1600, 48, 25)),
    "facebook/opt-125m": ("opt", _opt(768, 12, 12)),
    "facebook/opt-350m": ("opt", _opt(1024, 24, 16, **_OPT_350M)),
    "facebook/opt-1.3b": ("opt", _opt(2048, 24, 32)),
    "facebook/opt-2.7b": ("opt", _opt(2560, 32, 32)),
    "facebook/opt-6.7b": ("opt", _opt(4096, 32, 32)),
    "EleutherAI/pythia-14m": ("gpt_neox", _pythia(128, 6, 4)),
    "EleutherAI/pythia-31m": ("gpt_neox", _pythia(256, 6, 8)),
    "EleutherAI/pythia-70m": ("gpt_neox", _pythia(512, 6, 8)),
    "EleutherAI/pythia-160m": ("gpt_neox", _pythia(768, 12, 12)),
    "EleutherAI/pythia-410m": ("gpt_neox", _pythia(1024, 24, 16)),
    "EleutherAI/pythia-1b": ("gpt_neox", _pythia(2048, 16, 8)),
    "EleutherAI/pythia-1.4b": ("gpt_neox", _pythia(2048, 24, 16)),
    "EleutherAI/pythia-2.8b": ("gpt_neox", _pythia(2560, 32, 32)),
    "EleutherAI/pythia-6.9b": ("gpt_neox", _pythia(4096, 32, 32, vocab=50432)),
    "EleutherAI/pythia-12b": ("gpt_neox", _pythia(5120, 36, 40, vocab=50688)),
    "Qwen/Qwen2.5-0.5B": ("qwen2", _qwen(896, 24, 14, 2, 4864, 151936, True)),
    "Qwen/Qwen2.5-1.5B": ("qwen2", _qwen(1536, 28, 12, 2, 8960, 151936, True)),
    "Qwen/Qwen2.5-3B": ("qwen2", _qwen(2048, 36, 16, 2, 11008, 151936, True)),
    "Qwen/Qwen2.5-7B": ("qwen2", _qwen(3584, 28, 28, 4, 18944, 152064, False)),
    "Qwen/Qwen2.5-14B": ("qwen2", _qwen(5120, 48, 40, 8, 13824, 152064, False)),
}

ARCHITECTURES = {
    hub_id: Architecture(hub_id, model_type, numbers)
    for hub_id, (model_type, numbers) in _NUMBERS.items()
}
"""The paper's 24 models by hub id, family by family and by size."""


def nearest_model(word: str) -> str:
    """`"; did you mean ID?"` for the nearest of the 24 hub ids, or `""` where none is near."""
    by_name = {a.name.lower(): a.hub_id for a in ARCHITECTURES.values()}
    near = difflib.get_close_matches(word.split("/")[-1].lower(), by_name, n=1, cutoff=0.7)
    return f"; did you mean {by_name[near[0]]}?" if near and by_name[near[0]] != word else ""


def paper_config(hub_id: str) -> PreTrainedConfig:
    """The transformers config of one of the paper's 24 models, with no download.

    It has what decides the shape of the weights, enough to count parameters or to build the
    model anew. What has no shape (Qwen's rotary base and context, epsilons) is the library's
    default: to run the published weights, load them with `load_model`.

    Raises InputError where `hub_id` is none of the 24.
    """
    if hub_id not in ARCHITECTURES:
        raise InputError(
            f"{hub_id!r} is none of the paper's 24 models{nearest_model(hub_id)}"
            " (any other model: load it, or give its config)"
        )
    from transformers import AutoConfig

    architecture = ARCHITECTURES[hub_id]
    return AutoConfig.for_model(architecture.model_type, **architecture.numbers)


class ParameterCounts(NamedTuple):
    """Parameters of the base model: S without, `embedding` in token and position embeddings.

    V is the rows of the output matrix (`vocab_rows` in `models.csv`).
    """

    S: int
    embedding: int
    V: int


def parameter_counts(model: str | PreTrainedConfig | PreTrainedModel) -> ParameterCounts:
    """Count S, embedding parameters and V of one of the 24 (hub id), a config or a loaded model.

    The output head is no part of the base model; where it is tied to the token embedding it
    counts once, as an embedding. A hub id or a config takes no memory (meta device).

    Raises InputError: a hub id that is none of the 24, a config that is no causal model's.
    """
    import torch
    from torch import nn
    from transformers import AutoModelForCausalLM, PreTrainedConfig

    if isinstance(model, str):
        model = paper_config(model)
    if isinstance(model, PreTrainedConfig):
        with quiet(), reason("no causal language model has this config"), torch.device("meta"):
            model = AutoModelForCausalLM.from_config(model, trust_remote_code=False)
    base = model.base_model
    # Every nn.Embedding of a causal base model embeds tokens or positions (OPT's with 2 extra
    # rows, GPT-2's, none in the rotary models). parameters() gives a shared weight once.
    tables = nn.ModuleList(module for module in base.modules() if isinstance(module, nn.Embedding))
    head = model.get_output_embeddings()
    # Custom code without a base_model_prefix is its own base model, and has the head inside.
    inside = base is model and isinstance(head, nn.Module)
    outside = nn.ModuleList([*tables, head]) if inside else tables
    total, embedding, left_out = (
        sum(parameter.numel() for parameter in part.parameters())
        for part in (base, tables, outside)
    )
    weight = getattr(head, "weight", None)
    rows = model.config.get_text_config().vocab_size if weight is None else weight.shape[0]
    return ParameterCounts(total - left_out, embedding, rows)


def non_embedding_parameters(model: str | PreTrainedConfig | PreTrainedModel) -> int:
    """S: parameters of the base model, without output head, token and position embeddings.

    `model` is a hub id of the paper's 24, a transformers config or a loaded model. Equals
    `models.csv` for all 24. Raises InputError as `parameter_counts` does.
    """
    return parameter_counts(model).S
