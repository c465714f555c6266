"""What a few passes show of a model: is it causal, may it be padded, is its head a linear map?

Nothing is believed of a config. A scale or a soft cap counts only if the model's own logits have
it, and a head that is not of the known form is left to the model.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel

from rbpkit.architectures import base_of, output_layer, short_factor_length
from rbpkit.encoding import PAD_ID
from rbpkit.errors import InputError

PROBE_TEXT = "The model ranks 50,257 tokens;\n\tdef rank(x): return x"

# How far two ways to the same logits may differ, relative to the largest logit: a few last bits.
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
    ids_alone = inputs is None
    if ids_alone:
        inputs = {"input_ids": _two_rows(network)}
    layer = output_layer(network)
    calls: list[tuple[Tensor, Tensor]] = []  # what the layer was given, what it made of it

    def note_call(_: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
        calls.append((given[0], output))

    watched = layer if isinstance(layer, nn.Linear) else nn.Identity()
    with watched.register_forward_hook(note_call):
        logits = network(**inputs, use_cache=False).logits
    _check_logits(network, name, logits)

    V = logits.shape[-1]
    if not isinstance(layer, nn.Linear) or len(calls) != 1:
        return None, V
    given, product = calls[0]
    states = given
    if product.shape != logits.shape:
        return None, V
    if ids_alone:
        base = base_of(network)
        if base is network:  # its own code: nothing gives the hidden states alone
            return None, V
        states = base(**inputs, use_cache=False).last_hidden_state
        if states.shape[-1] != layer.in_features:  # something comes before the layer
            return None, V
    # Two links: hidden state -> output of the layer -> logits. Both have to be of the known form.
    scales = [1.0]
    for scale in _named(network, _SCALES):
        scales += [scale, 1 / scale]
    scale_before = _scale_before(layer, states, given, product, scales)
    after = _scale_and_cap_after(network, inputs, layer, product, scales)
    if scale_before is None or after is None:
        return None, V
    scale_after, softcap = after
    return Head(layer.weight, layer.bias, scale_before * scale_after, softcap), V


@torch.no_grad()
def padding_limit(network: PreTrainedModel, probes: tuple[Any, Any] | None = None) -> int | None:
    """The longest sequence in which padding on the right changes no logit; None if none does.

    probes: of a model that needs more than ids, the inputs of a row alone, and of the same padded.

    0 if even a short one's logits change (ProphetNet). A model whose rotary frequencies change for
    sequences above some length (Phi-3's long factors) may be padded up to there.
    """
    if probes is None:
        ids = _two_rows(network)[:1]
        longer = F.pad(ids, (0, ids.shape[1]), value=PAD_ID)
        probes = {"input_ids": ids}, {"input_ids": longer}
    alone, padded = probes
    expected = network(**alone, use_cache=False).logits
    logits = network(**padded, use_cache=False).logits[:1, : expected.shape[1]]
    if not _close(logits, expected):
        return 0
    return short_factor_length(network.config)


def _two_rows(network: PreTrainedModel) -> Tensor:
    """Random ids (2, 6); only the last of the second row differs."""
    embedding: Any = network.get_input_embeddings()
    rows, device = embedding.weight.shape[0], embedding.weight.device
    ids = torch.randint(rows, (1, 6), generator=torch.Generator().manual_seed(0))
    ids = ids.repeat(2, 1).to(device)
    ids[1, -1] = (ids[1, -1] + 1) % rows
    return ids


def _check_logits(network: PreTrainedModel, name: str, logits: Tensor) -> None:
    """InputError unless the logits of two rows that differ in the last token are as they should."""
    if not logits.isfinite().all():
        raise InputError(f"{name}: the logits hold NaN or Inf in {network.dtype}; try float32")
    if not _close(logits[0, :-1], logits[1, :-1]):
        raise InputError(
            f"{name}: the model ({network.config.model_type}) is not causal, as a token changes the"
            " logits before it; give a left-to-right language model"
        )


def _named(network: PreTrainedModel, names: tuple[str, ...]) -> list[float]:
    """The positive numbers that the config has under these names."""
    config = network.config.get_text_config()
    numbers = []
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, int | float) and 0 < value < math.inf:
            numbers.append(float(value))
    return numbers


def _scale_before(
    layer: nn.Linear, states: Tensor, given: Tensor, product: Tensor, scales: list[float]
) -> float | None:
    """The scale for which product = scale * layer(states); None if there is none.

    A few models scale the states before the layer, and `given` is what it gets. A scale near 1
    shows there, and in 16 bits not in the product.
    """
    # A spread model's states may be elsewhere, and Mamba's are float32 in any dtype.
    states = states.to(layer.weight.device, layer.weight.dtype)

    def distance(found: Tensor, expected: Tensor) -> float:
        return float((found.float() - expected.float()).norm())

    best = min(scales, key=lambda scale: distance(given, scale * states.float()))
    unscaled = F.linear(states, layer.weight, layer.bias)
    # As a whole, as the largest logit hides what 16 bits lose of the others.
    allowed = torch.finfo(states.dtype).eps + _TOLERANCE[torch.float32]
    for found, expected in ((given, states), (product, unscaled)):
        if not distance(found, best * expected.float()) <= allowed * float(found.float().norm()):
            return None
    return best


def _scale_and_cap_after(
    network: PreTrainedModel, inputs: Any, layer: nn.Linear, product: Tensor, scales: list[float]
) -> tuple[float, float | None] | None:
    """(scale, softcap) with logits = softcap * tanh(scale * product / softcap); None if neither.

    The layer's output is replaced by known values, small ones and some in the thousands. They show
    a cap even if this model's own logits are too small to feel it.
    """
    generator = torch.Generator().manual_seed(0)
    values = 30 * torch.randn(product.shape, generator=generator) ** 3
    values = values.to(product)
    with layer.register_forward_hook(lambda *_: values):
        logits = network(**inputs, use_cache=False).logits
    logits = logits.to(product.device).float()

    def error(form: tuple[float, float | None]) -> float:
        """Largest error of a logit, relative to it (below 0.01, 16 bits lose digits: to 0.01)."""
        scale, softcap = form
        expected = values.float() * scale
        if softcap is not None:
            expected = softcap * torch.tanh(expected / softcap)
        relative = (logits - expected) / expected.abs().clamp(min=0.01)
        return float(relative.abs().max())

    softcaps = [None, *_named(network, _SOFTCAPS)]
    best = min(itertools.product(scales, softcaps), key=error)
    # A few roundings in the model's own dtype, but none if nothing comes after the layer.
    allowed = 0 if best == (1.0, None) else 4 * torch.finfo(product.dtype).eps
    return best if error(best) <= allowed else None


def _close(first: Tensor, second: Tensor) -> bool:
    if first.shape != second.shape:
        return False
    allowed = _TOLERANCE[first.dtype] * second.abs().max()
    return bool((first.float() - second.float()).abs().max() <= allowed)
