"""Configs of any model type, made small: what a type is made of, not how large it is."""

import json
from importlib import resources
from typing import Any

import torch
from tokenizers import Tokenizer, models, processors
from tokenizers.pre_tokenizers import PreTokenizer
from transformers import (
    CONFIG_MAPPING,
    AutoConfig,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

# Names that configs have for one number, by a small value.
SIZES = {
    256: "vocab_size",
    64: """intermediate_size ffn_dim d_ff n_inner decoder_ffn_dim encoder_ffn_dim
        feed_forward_size max_position_embeddings n_positions max_seq_len max_target_positions""",
    32: """hidden_size n_embd d_model dim embedding_size word_embed_proj_dim
        moe_intermediate_size image_size lru_width""",
    16: "qk_head_dim q_lora_rank sliding_window",
    8: "head_dim kv_channels d_kv kv_lora_rank v_head_dim patch_size state_size",
    4: """num_attention_heads n_head n_heads num_heads decoder_attention_heads
        encoder_attention_heads num_decoder_attention_heads num_encoder_attention_heads
        num_key_value_heads num_kv_heads qk_nope_head_dim qk_rope_head_dim rotary_dim
        num_experts num_local_experts n_routed_experts moe_num_experts""",
    2: """num_hidden_layers n_layer n_layers num_layers decoder_layers encoder_layers
        num_decoder_layers num_encoder_layers num_experts_per_tok moe_topk top_k
        max_window_layers""",
    1: "n_shared_experts n_group topk_group first_k_dense_replace bos_token_id",
    0: "pad_token_id",
}
SMALL = {name: size for size, names in SIZES.items() for name in names.split()}


def paper_configs() -> dict[str, PreTrainedConfig]:
    """Configs of the paper's 24 models by hub id, with all that decides the shapes of weights."""
    lines = (resources.files("rbpkit") / "data/paper/architectures.jsonl").read_text("ascii")
    rows = map(json.loads, lines.splitlines())
    return {row.pop("hub_id"): AutoConfig.for_model(**row) for row in rows}


def spread_weights(model: PreTrainedModel, std: float = 0.3) -> PreTrainedModel:
    """Draw all matrices again, wide enough that logits differ clearly."""
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=std)
    return model


def word_tokenizer(words: list[str], cuts: PreTokenizer, template: str) -> PreTrainedTokenizerFast:
    """One token a word: <s> = 0 and <x> = 1, which are special, then the words; <unk> is last.

    cuts: how a text is cut. template: where <s> and <x> are put around it.
    """
    vocabulary = {word: id for id, word in enumerate(["<s>", "<x>", *words, "<unk>"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = cuts
    tokenizer.post_processor = processors.TemplateProcessing(
        template, special_tokens=[("<s>", 0), ("<x>", 1)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="<x>")


def small_config(kind: str, **changes: Any) -> PreTrainedConfig:
    """A config of this model type with small numbers, in its parts too; `changes` go first."""
    config_class = CONFIG_MAPPING[kind]
    known = {}
    for name, value in vars(config_class()).items():
        if name in SMALL and isinstance(value, int):
            known[name] = SMALL[name]
    config = config_class(**{**known, **changes})
    for part in vars(config).values():
        if isinstance(part, PreTrainedConfig):
            _shrink(part)
    return config


def _shrink(config: PreTrainedConfig) -> None:
    for name, value in list(vars(config).items()):
        if isinstance(value, PreTrainedConfig):
            _shrink(value)
        elif name in SMALL and isinstance(value, int):
            setattr(config, name, SMALL[name])
        elif name == "layer_types" and isinstance(value, list):
            kinds = list(dict.fromkeys(value))
            config.layer_types = (kinds * 2)[:2]
