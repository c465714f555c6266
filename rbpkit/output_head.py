"""What a few passes show of a model: is it causal, may it be padded, is its head a linear map?

A scale or a soft cap that the config names counts only if the model's own logits have it, and a
head that is not of the known form is left to the model.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel

from rbpkit.architectures import output_layer
from rbpkit.encoding import PAD_ID
from rbpkit.errors import InputError

PROBE_TEXT = "The model ranks 50,257 tokens;\n\tdef rank(x): return x"

# How far logits of two passes may differ, relative to the largest logit: a few last bits.
_TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float16: 5e-3}

# What configs call a scale of the logits (some multiply by it, others divide) and a soft cap.
_SCALES = (
    "logit_scale",
    "logits_scaling",
    "lm_head_multiplier",
    "output_multiplier",
    "logits_mup_width_multiplier",
)
_SOFTCAPS = (
    "final_logit_softcapping",
    "logits_soft_cap",
    "output_logit_soft_cap",
    "softcap",
)


class Head(NamedTuple):
    """An output head in the form of `token_ranks`, which takes `options` as keyword arguments.

    weight: (V, d).
    bias: (V,), or None.
    scale: of the logits.
    softcap: of the scaled logits, or None.
    """

    weight: Tensor
    bias: Tensor | None
    scale: float
    softcap: float | None

    @property
    def options(self) -> dict[str, Any]:
        return {"bias": self.bias, "scale": self.scale, "softcap": self.softcap}


@torch.no_grad()
def linear_head(network: PreTrainedModel, name: str, inputs: Any = None) -> tuple[Head | None, int]:
    """Run a few random ids -> (the head or None, V).

    inputs: of a model that needs more than ids, two rows that differ in the last token.

    The head is None if the logits are not a linear map, scaled or soft-capped, of the last hidden
    state. Raises InputError for logits that are not finite, and for a model that looks ahead.
    """
    given_inputs = inputs or {"input_ids": _two_rows(network)}
    logits = network(**given_inputs, use_cache=False).logits
    if not logits.isfinite().all():
        raise InputError(f"{name}: the logits hold NaN or Inf in {network.dtype}; try float32")
    if not _close(logits[0, :-1], logits[1, :-1]):
        raise InputError(
            f"{name}: the model ({network.config.model_type}) is not causal, as a token changes the"
            " logits before it; give a left-to-right language model"
        )
    V, layer, base = logits.shape[-1], output_layer(network), network.base_model
    # A quantised layer is of another class, and the weight of an offloaded one is elsewhere. Of
    # code that is its own base nothing gives the hidden states alone.
    if type(layer) is not nn.Linear or layer.weight.is_meta or base is network:
        return None, V
    seen: list[tuple[Tensor, Tensor]] = []  # what the layer was given, what is put in its place

    def replaced(_: nn.Module, given: tuple[Tensor, ...], product: Tensor) -> Tensor:
        """Small values and some in the thousands, which show a cap that small logits do not."""
        values = 30 * torch.randn(product.shape, generator=torch.Generator().manual_seed(0)) ** 3
        seen.append((given[0], values.to(product)))
        return seen[-1][1]

    with layer.register_forward_hook(replaced):
        of_values = network(**given_inputs, use_cache=False).logits
    if len(seen) != 1:
        return None, V
    given, values = seen[0]
    states = given
    if inputs is None:
        # A spread model's states may be elsewhere, and Mamba's are float32 in any dtype.
        states = base(**given_inputs, use_cache=False).last_hidden_state.to(given)
    scales = [1.0]
    for scale in _named(network, _SCALES):
        scales += [scale, 1 / scale]
    softcaps = [None, *_named(network, _SOFTCAPS)]
    # Two links: hidden state -> what the layer is given; what it makes -> logits.
    before = _form(states, given, scales, [None])
    after = _form(values, of_values, scales, softcaps)
    if before is None or after is None:
        return None, V
    head = Head(layer.weight, layer.bias, before[0] * after[0], after[1])
    # Whatever else changes the logits, as a hook on the layer, shows here.
    of_head = head.scale * F.linear(states.to(layer.weight.dtype), layer.weight, layer.bias).float()
    if head.softcap is not None:
        of_head = head.softcap * torch.tanh(of_head / head.softcap)
    return (head if _close(of_head.to(logits), logits) else None), V


def _form(
    plain: Tensor, found: Tensor, scales: list[float], softcaps: list[float | None]
) -> tuple[float, float | None] | None:
    """(scale, softcap) with found = softcap * tanh(scale * plain / softcap); None if neither."""
    if plain.shape != found.shape:
        return None

    def error(form: tuple[float, float | None]) -> float:
        scale, softcap = form
        expected = scale * plain.float()
        if softcap is not None:
            expected = softcap * torch.tanh(expected / softcap)
        return float((found.to(plain.device).float() - expected).norm() / expected.norm())

    best = min(itertools.product(scales, softcaps), key=error)
    # A few roundings in the model's own dtype, of all numbers together: a scale of 1.01 shows.
    allowed = torch.finfo(plain.dtype).eps + _TOLERANCE[torch.float32]
    return best if error(best) <= allowed else None


@torch.no_grad()
def can_be_padded(network: PreTrainedModel, probes: tuple[Any, Any] | None = None) -> bool:
    """Whether padding on the right changes no logit.

    probes: of a model that needs more than ids, the inputs of a row alone, and of the same padded.

    A probe shows a model that sees the padding (ProphetNet), and the config one whose rotary
    frequencies change for all of a sequence above some length (Phi-3's long factors).
    """
    if '"long_factor"' in network.config.to_json_string():
        return False
    if probes is None:
        ids = _two_rows(network)[:1]
        longer = F.pad(ids, (0, ids.shape[1]), value=PAD_ID)
        probes = {"input_ids": ids}, {"input_ids": longer}
    alone, padded = probes
    expected = network(**alone, use_cache=False).logits
    logits = network(**padded, use_cache=False).logits[:1, : expected.shape[1]]
    return _close(logits, expected)


def _two_rows(network: PreTrainedModel) -> Tensor:
    """Random ids (2, 6); only the last of the second row differs."""
    rows = len(embedding_of(network))
    ids = torch.randint(rows, (1, 6), generator=torch.Generator().manual_seed(0))
    ids = ids.repeat(2, 1).to(embedding_of(network).device)
    ids[1, -1] = (ids[1, -1] + 1) % rows
    return ids


def embedding_of(network: PreTrainedModel) -> Tensor:
    """The matrix of the token embedding, a row for each id."""
    layer: Any = network.get_input_embeddings()
    return layer.weight


def _named(network: PreTrainedModel, names: tuple[str, ...]) -> list[float]:
    """The positive numbers that the config has under these names."""
    config = network.config.get_text_config()
    numbers = []
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, int | float) and 0 < value < math.inf:
            numbers.append(float(value))
    return numbers


def _close(first: Tensor, second: Tensor) -> bool:
    allowed = _TOLERANCE[second.dtype] * float(second.abs().max())
    return first.shape == second.shape and torch.allclose(first, second, rtol=0, atol=allowed)
