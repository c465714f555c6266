"""A checkpoint's weights read into a network, and refused where they are not whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from rbpkit.errors import InputError, reason

_PROBE_TEXT = "The model ranks 50,257 tokens;\n\tdef rank(x): return x"

# Constants in older checkpoints of GPT-2 and OPT; the library itself knows the other families'.
_STALE = ("attn.masked_bias", "decoder.version")


def read_network(
    folder: Path, dtype: torch.dtype, allow_pickle: bool, options: dict, device_map: Any
) -> Any:
    """The model with every weight read from the checkpoint, and every weight of it used."""
    with reason(f"{folder / 'config.json'}: no causal language model's config"):
        config = AutoConfig.from_pretrained(folder, **options)
    with reason(f"{folder}: the weights cannot be loaded"):
        network, info = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=dtype,
            device_map=device_map,
            use_safetensors=None if allow_pickle else True,
            ignore_mismatched_sizes=True,  # so that they are listed, and refused here
            output_loading_info=True,
            **options,
        )
    mismatched = [key for key, *_ in info["mismatched_keys"]]
    unexpected = [key for key in info["unexpected_keys"] if not key.endswith(_STALE)]
    for keys, fault in (
        (info["missing_keys"], "lacks, and the library would make up at random,"),
        (mismatched, "has in another shape than config.json says"),
        (unexpected, "has, though config.json's model does not use them,"),
    ):
        if keys:
            shown = ", ".join(sorted(keys)[:3]) + (", ..." if len(keys) > 3 else "")
            raise InputError(
                f"{folder}: the checkpoint {fault} {len(keys)} weight(s): {shown};"
                " give the folder of a whole causal language model"
            )
    return network.eval().requires_grad_(False)


def check_finite(network: PreTrainedModel, name: str, dtype: str) -> None:
    """InputError that names the first weight with NaN or Inf."""
    for key, parameter in network.named_parameters():
        # A layer on meta waits outside the devices: the logits tell, in every pass.
        if parameter.numel() and parameter.is_floating_point() and not parameter.is_meta:
            # The least and the greatest are NaN where any is: one pass, no copy.
            if not all(bound.isfinite() for bound in torch.aminmax(parameter)):
                hint = " (does it fit? try float32)" if dtype == "float16" else ""
                raise InputError(f"{name}: weight {key} holds NaN or Inf in {dtype}{hint}")


def check_tokenizer(tokenizer: Any, rows: int, folder: Path) -> None:
    """InputError for a tokenizer that encodes text to nothing, or has ids of `rows` or more."""
    ids = tokenizer(_PROBE_TEXT, add_special_tokens=False)["input_ids"]
    if not set(ids) - set(tokenizer.all_special_ids):
        raise InputError(
            f"{folder}: the tokenizer encodes text to nothing; save the model's own there"
        )
    largest = max(tokenizer.get_vocab().values())
    if largest >= rows:
        raise InputError(
            f"{folder}: the tokenizer has ids up to {largest}, the model only {rows} rows;"
            " save the model's own tokenizer there"
        )
