"""The paper's 24 models (its Appendix A) as numbers: what decides the shape of every weight.

The numbers are those of the models' public `config.json` files on the Hugging Face hub, copied
into `data/paper/architectures.jsonl`, so that the paper's S (Section 3) can be counted without a
download. Importing this module imports neither torch nor transformers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from rbpkit.errors import InputError, nearest, reason
from rbpkit.libraries import quiet

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedConfig, PreTrainedModel

FAMILY_OF_TYPE = {
    "gpt2": "GPT2",
    "opt": "OPT",
    "gpt_neox": "Pythia",
    "qwen2": "Qwen",
    "mamba": "Mamba",
}
"""`model_type` in a config -> the family's name in the paper, which has no Mamba."""


def family_of(config: PreTrainedConfig) -> str:
    """The family of a model: GPT2, OPT, Pythia, Qwen or Mamba; of any other its `model_type`.

    Of a multimodal model it is that of its language model. A config may name it as `rbpkit_family`
    if its type does not (the pocket Qwen models).
    """
    kind = config.get_text_config(decoder=True).model_type
    return getattr(config, "rbpkit_family", None) or FAMILY_OF_TYPE.get(kind, kind)


def context_of(config: PreTrainedConfig) -> int | None:
    """The most tokens in a sequence; None if the config sets no limit."""
    text = config.get_text_config(decoder=True)
    # What configs call it. MPT's is the length of its table of biases.
    for name in ("max_position_embeddings", "max_seq_len", "max_target_positions"):
        length = getattr(text, name, None)
        if isinstance(length, int) and length > 0:
            return length
    return None


def short_factor_length(config: PreTrainedConfig) -> int | None:
    """The longest sequence with the short factors of LongRoPE (Phi-3); None of other models.

    In a longer one the rotary frequencies of all its tokens are others.
    """
    text = config.get_text_config(decoder=True)
    tables = []
    for name in ("rope_parameters", "rope_scaling"):
        table = getattr(text, name, None) or {}
        # One table, or one for each type of layer.
        tables += [table, *(part for part in table.values() if isinstance(part, dict))]
    for table in tables:
        if "long_factor" in table:
            length = table.get("original_max_position_embeddings")
            return length or text.original_max_position_embeddings
    return None


def _read_architectures() -> dict[str, dict[str, Any]]:
    file = resources.files("rbpkit") / "data/paper/architectures.jsonl"
    architectures = {}
    for line in file.read_text("ascii").splitlines():
        fields = json.loads(line)
        hub_id = fields.pop("hub_id")
        architectures[hub_id] = fields
    return architectures


ARCHITECTURES = _read_architectures()
"""The paper's 24 models by hub id, family by family and by size: `model_type` and its numbers."""


def paper_config(hub_id: str) -> PreTrainedConfig:
    """The transformers config of one of the paper's 24 models, with no download.

    It has what decides the shape of the weights, enough to count parameters or to build an
    untrained model. The rest (Qwen's rotary base and context, epsilons) is the library's default:
    to run the published weights, load them with `load_model`.

    Raises InputError if `hub_id` is not one of the 24.
    """
    if hub_id not in ARCHITECTURES:
        raise InputError(
            f"{hub_id!r} is not one of the paper's 24 models{nearest(hub_id, ARCHITECTURES)}"
            " (load any other model, or give its config)"
        )
    from transformers import AutoConfig

    return AutoConfig.for_model(**ARCHITECTURES[hub_id])


class ParameterCounts(NamedTuple):
    """Parameters of a model.

    S: of the base model, without its token and position embeddings.
    embedding: of these embeddings.
    V: rows of the output matrix (`vocab_rows` in `models.csv`).
    """

    S: int
    embedding: int
    V: int


def parameter_counts(model: PreTrainedConfig | PreTrainedModel) -> ParameterCounts:
    """Count S (Section 3), embedding parameters and V.

    model: a loaded model, or a config, which takes no memory (meta device).

    The output head is not part of the base model; if it is tied to the token embedding, it counts
    once, as an embedding. Of a multimodal model the language model is counted, of a model with an
    adapter (PEFT) the model without it.

    Raises InputError for a config of another kind of model.
    """
    from torch import nn
    from transformers import PreTrainedConfig

    if isinstance(model, PreTrainedConfig):
        network = _on_meta(model)
    elif getattr(model, "peft_config", None):
        network = _on_meta(model.config)  # without the adapter's own parameters
    else:
        network = model

    head = output_layer(network)
    # Sets, so that a parameter that is shared counts once.
    in_text = _text_parameters(network)
    in_tables = in_text & _embedding_parameters(_language_model(network))
    # Some have the head inside: decoders of captioners, custom code without a base_model_prefix.
    in_head = set(head.parameters()) if isinstance(head, nn.Module) else set()
    S = _size(in_text - in_tables - in_head)

    matrix = getattr(head, "weight", None)
    V = network.config.get_text_config().vocab_size if matrix is None else matrix.shape[0]
    return ParameterCounts(S, _size(in_tables), V)


def size_and_note(network: PreTrainedModel, active: bool = False) -> tuple[int, dict[str, str]]:
    """S of a loaded model; and a note if it has experts, of which a token uses a few.

    active: count the experts that a token uses, and not all.
    """
    S = parameter_counts(network).S
    text = network.config.get_text_config(decoder=True)
    total, used = 0, getattr(text, "num_experts_per_tok", None) or 0
    for name in ("num_local_experts", "num_experts", "n_routed_experts"):
        total = total or getattr(text, name, None) or 0
    if not 0 < used < total:
        return S, {}
    of_experts = 0
    for name, parameter in _language_model(network).named_parameters():
        is_stacked = parameter.dim() == 3 and parameter.shape[0] == total
        if is_stacked or ".experts." in name:
            of_experts += parameter.numel()
    if active:
        S -= of_experts * (total - used) // total
        return S, {"experts": f"S counts {used} of {total}, those that a token uses"}
    note = f"S counts all {total}; a token uses {used}, which --active (active=True) counts"
    return S, {"experts": note}


def _on_meta(config: PreTrainedConfig) -> PreTrainedModel:
    """A model of this config without memory for its weights."""
    import torch
    from transformers import AutoModelForCausalLM

    with quiet(), reason("no causal language model has this config"), torch.device("meta"):
        return AutoModelForCausalLM.from_config(config, trust_remote_code=False)


def _size(parameters: Iterable[nn.Parameter]) -> int:
    return sum(parameter.numel() for parameter in parameters)


def base_of(model: PreTrainedModel) -> nn.Module:
    """The model without its output head; the model itself if it has no such part."""
    base = model.base_model
    if base is model:  # Llama 4 and Mllama call it by another name than they say
        base = getattr(model, "model", model)
    return base


def _language_model(model: PreTrainedModel) -> nn.Module:
    """The base model without the output head; of a multimodal model that of its decoder."""
    text = model.config.get_text_config(decoder=True)
    is_text_alone = text.model_type == model.config.model_type
    if is_text_alone and not model.config.is_encoder_decoder:
        return base_of(model)
    decoder = model.get_decoder()
    if text.is_encoder_decoder:  # Florence-2's is a whole BART
        decoder = decoder.get_decoder()
    return base_of(decoder)


# Parts of a few language models (GIT, IDEFICS, Phi-4-multimodal) that read pictures or sound.
_TOWERS = re.compile(
    "vision|visual|image|img_|audio|speech|perceiver|embed_patches|embed_tokens_extend"
)


def _text_parameters(model: PreTrainedModel) -> set[nn.Parameter]:
    """The parameters of the language model, without towers that are a part of it."""
    parameters = set()
    for name, parameter in _language_model(model).named_parameters():
        if not _TOWERS.search(name):
            parameters.add(parameter)
    return parameters


def _embedding_parameters(base: nn.Module) -> set[nn.Parameter]:
    """The parameters of the token and position embeddings.

    Every nn.Embedding of a causal base model embeds one or the other: OPT's with 2 extra rows,
    GPT-2's, none for positions in the rotary models. Reformer's factors of a position table are no
    nn.Embedding.
    """
    from torch import nn

    parameters: set[nn.Parameter] = set()
    for name, module in base.named_modules():
        if isinstance(module, nn.Embedding):
            parameters.update(module.parameters(recurse=False))  # a norm inside is no table
        elif name.endswith("position_embeddings"):
            parameters.update(module.parameters())
    return parameters


def output_layer(model: PreTrainedModel) -> nn.Module | None:
    """The layer that gives the logits; a few captioners know only their decoder's."""
    head = model.get_output_embeddings()
    if head is None:
        return model.get_decoder().get_output_embeddings()
    return head
