"""What a model is made of: its family, its context, and S, the parameters that are no embeddings.

Importing this module imports neither torch nor transformers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from rbpkit.errors import reason
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

# Parts of a few language models (GIT, IDEFICS, Phi-4-multimodal) that read pictures or sound.
_TOWERS = re.compile(
    "vision|visual|image|img_|audio|speech|perceiver|embed_patches|embed_tokens_extend"
)


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


class ParameterCounts(NamedTuple):
    """S: parameters of the base model, without its token and position embeddings.

    V: rows of the output matrix (`vocab_rows` in `models.csv`).
    """

    S: int
    V: int


def parameter_counts(model: PreTrainedConfig | PreTrainedModel) -> ParameterCounts:
    """Count S (Section 3) and V.

    model: a loaded model, or a config, which takes no memory (meta device).

    The output head is not part of the base model. Of a multimodal model the language model is
    counted, of a model with an adapter (PEFT) the model without it.

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

    language_model = _language_model(network)
    head: Any = output_layer(network)
    # Some have the head inside: decoders of captioners, custom code without a base_model_prefix.
    left_out = set() if head is None else set(head.parameters())
    for module in language_model.modules():
        # Every one of a causal base model embeds tokens or positions. A norm inside is no table.
        if isinstance(module, nn.Embedding):
            left_out.update(module.parameters(recurse=False))
    S = 0
    for name, parameter in language_model.named_parameters():
        if parameter not in left_out and not _TOWERS.search(name):
            S += parameter.numel()

    V = network.config.get_text_config().vocab_size if head is None else head.weight.shape[0]
    return ParameterCounts(S, V)


def active_size(network: PreTrainedModel, S: int) -> int:
    """S without the experts that a token does not use; S itself if there are no experts."""
    text = network.config.get_text_config(decoder=True)
    total, used = 0, getattr(text, "num_experts_per_tok", None) or 0
    for name in ("num_local_experts", "num_experts", "n_routed_experts"):
        total = total or getattr(text, name, None) or 0
    if not 0 < used < total:
        return S
    of_experts = 0
    for name, parameter in _language_model(network).named_parameters():
        is_stacked = parameter.dim() == 3 and parameter.shape[0] == total
        if is_stacked or ".experts." in name:
            of_experts += parameter.numel()
    return S - of_experts * (total - used) // total


@quiet()
def _on_meta(config: PreTrainedConfig) -> PreTrainedModel:
    """A model of this config without memory for its weights."""
    import torch
    from transformers import AutoModelForCausalLM

    with reason("no causal language model has this config"), torch.device("meta"):
        return AutoModelForCausalLM.from_config(config, trust_remote_code=False)


def _language_model(model: PreTrainedModel) -> nn.Module:
    """The base model without the output head; of a multimodal model that of its decoder."""
    text = model.config.get_text_config(decoder=True)
    is_text_alone = text.model_type == model.config.model_type
    if is_text_alone and not model.config.is_encoder_decoder:
        return model.base_model
    decoder = model.get_decoder()
    if text.is_encoder_decoder:  # Florence-2's is a whole BART
        decoder = decoder.get_decoder()
    return decoder.base_model


def output_layer(model: PreTrainedModel) -> nn.Module | None:
    """The layer that gives the logits; a few captioners know only their decoder's."""
    head = model.get_output_embeddings()
    if head is None:
        return model.get_decoder().get_output_embeddings()
    return head
