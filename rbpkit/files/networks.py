"""A checkpoint read into a network, probed, and refused where it would give wrong numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from rbpkit.errors import InputError, reason

_PROBE_TEXT = "The model ranks 50,257 tokens;\n\tdef rank(x): return x"

# Constants in older checkpoints of GPT-2 and OPT; the library itself knows the other families'.
_STALE = ("attn.masked_bias", "decoder.version")

# How far two ways to the same logits may differ, relative to the largest logit: a few last bits.
_TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float16: 5e-3}


class Head(NamedTuple):
    """An output head that is one linear map: logits = hidden @ weight.T + bias."""

    weight: Tensor  # (V, d)
    bias: Tensor | None  # (V,)


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


@torch.no_grad()
def linear_head(network: PreTrainedModel, name: str) -> tuple[Head | None, int]:
    """Run a few random ids: is the model causal, is its head one linear map? -> (head, V)."""
    embedding = network.get_input_embeddings().weight
    rows = embedding.shape[0]
    ids = torch.randint(rows, (1, 6), generator=torch.Generator().manual_seed(0))
    ids = ids.repeat(2, 1).to(embedding.device)
    ids[1, -1] = (ids[1, -1] + 1) % rows  # only the last token differs
    layer = network.get_output_embeddings()
    seen: list[Tensor] = []
    hook = None
    if isinstance(layer, nn.Linear):
        hook = layer.register_forward_hook(lambda _, given, out: seen.append(out))
    logits = network(input_ids=ids, use_cache=False).logits
    if hook is not None:
        hook.remove()
    if not logits.isfinite().all():
        raise InputError(f"{name}: the logits hold NaN or Inf in {network.dtype}; try float32")
    if not _close(logits[0, :-1], logits[1, :-1]):
        raise InputError(
            f"{name}: changing a token changes the logits before it, so the model"
            f" ({network.config.model_type}) is not causal; give a left-to-right language model"
        )
    V = logits.shape[-1]
    base = network.base_model
    if len(seen) != 1 or base is network:
        return None, V
    hidden = base(input_ids=ids, use_cache=False).last_hidden_state
    # Two links, so that a soft cap is found even where the probe's logits are too small to feel
    # it: what the head gives is linear in the hidden state, and nothing touches it afterwards.
    # A spread model's states may be elsewhere, Mamba's are float32 in any dtype.
    hidden, own = hidden.to(layer.weight.device, layer.weight.dtype), seen[0]
    linear = _close(F.linear(hidden, layer.weight, layer.bias), own)
    linear = linear and torch.equal(own.to(logits.device).float(), logits.float())
    return (Head(layer.weight, layer.bias) if linear else None), V


def _close(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    allowed = _TOLERANCE[one.dtype] * other.abs().max()
    return bool((one.float() - other.float()).abs().max() <= allowed)
