"""Language models as the measuring needs them: a tokenizer, hidden states, one linear output head.

`load_model` opens a hub id or a local folder, probes the model, and refuses what would silently
give wrong numbers: a tokenizer that encodes nothing, weights that are missing and so would be
random, NaN, a model that looks ahead. `files.model_folders` finds the files, and
`files.architectures` counts S and V.
"""

from __future__ import annotations

import math
import re
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    PreTrainedModel,
)

from rbpkit.captions import PROBE_TEXT, Captioner, load_processor, opened_captioner
from rbpkit.errors import InputError, reason
from rbpkit.files.architectures import context_of, family_of, output_layer, parameter_counts
from rbpkit.files.devices import SPREAD, torch_device
from rbpkit.files.libraries import quiet
from rbpkit.files.model_folders import find_checkpoint, load_tokenizer, put_adapter, quantisation
from rbpkit.plugins import model_folder

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

# Constants that older checkpoints hold: causal masks, a version, XGLM's sinusoids.
_STALE = re.compile(
    r"(.*\.)?(attn\.(attention\.)?(masked_)?bias|attn\.causal_mask|decoder\.version"
    r"|embed_positions\.weights)"
)

# How far two ways to the same logits may differ, relative to the largest logit: a few last bits.
_TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float16: 5e-3}

# What configs call a scale of the logits (some multiply by it, others divide) and a soft cap.
_SCALES = "logit_scale logits_scaling lm_head_multiplier output_multiplier "
_SCALES += "logits_mup_width_multiplier"
_SOFTCAPS = "final_logit_softcapping logits_soft_cap output_logit_soft_cap softcap"


class Head(NamedTuple):
    """An output head in the form of `token_ranks`, which takes `options` as keyword arguments."""

    weight: Tensor  # (V, d)
    bias: Tensor | None  # (V,)
    scale: float
    softcap: float | None

    @property
    def options(self) -> dict[str, Any]:
        return {"bias": self.bias, "scale": self.scale, "softcap": self.softcap}


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A causal language model ready to be measured: evaluation mode, no gradients.

    `head` is None if the logits are not a linear map, scaled or soft-capped, of the hidden state:
    take `logits` then.
    """

    name: str  # hub id, or the folder's name
    revision: str  # commit of the hub, or "sha256:..." over config, weights and tokenizer
    family: str  # GPT2, OPT, Pythia, Qwen, Mamba; for others the config's model_type
    S: int
    V: int
    dtype: str
    device: str
    context: int | None  # most tokens in a sequence; None if the config sets no limit
    tokenizer: Any = field(repr=False)
    head: Head | None = field(repr=False)
    model: PreTrainedModel = field(repr=False)
    # What a reader must know of how it was loaded: "gguf", "tokenizer", "adapter" -> a few words.
    notes: dict[str, str] = field(default_factory=dict)
    captioner: Captioner | None = field(default=None, repr=False)  # of a model that reads pictures

    @property
    def S_vision(self) -> int:
        """Parameters outside the text decoder, whose S is; 0 of a text model."""
        return self.captioner.S_vision if self.captioner else 0

    @torch.no_grad()
    def hidden(self, input_ids: Tensor) -> Tensor:
        """Last hidden states (B, L, d) as they enter the output head, for ids (B, L).

        No attention mask: a causal model's states do not depend on what follows, so sequences
        may be padded on the right with any id, and the states of the padding are meaningless.
        Never pad on the left. Raises InputError if L is over `context`.
        """
        ids = self._on_device(input_ids)
        states = self.model.base_model(input_ids=ids, use_cache=False).last_hidden_state
        # A 16-bit Mamba adds up its residuals in float32 and rounds them here too.
        return states if self.head is None else states.to(self.head.weight.dtype)

    @torch.no_grad()
    def logits(self, input_ids: Tensor) -> Tensor:
        """The model's own logits (B, L, V) for ids (B, L), in its dtype; padding as in `hidden`.

        Takes B x L x V x 4 bytes or more: keep the batch small. Raises InputError as `hidden`.
        """
        return self.model(input_ids=self._on_device(input_ids), use_cache=False).logits

    def _on_device(self, input_ids: Tensor) -> Tensor:
        if self.context is not None and input_ids.shape[1] > self.context:
            raise InputError(
                f"{self.name}: a sequence of {input_ids.shape[1]} tokens is longer than the"
                f" model's context of {self.context}; truncate at {self.context} or less"
            )
        return input_ids.to(self.device)


def load_model(
    model: str | Path,
    *,
    dtype: str = "float32",
    device: str | None = None,
    revision: str | None = None,
    family: str | None = None,
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    local_files_only: bool = False,
    progress: bool = False,
    device_map: str | dict | None = None,
    image: bool = False,
) -> LoadedModel:
    """Load a hub id, a local folder in the Hugging Face layout, or a plugin's PLUGIN:NAME.

    `dtype` is float32, bfloat16 or float16, whatever the checkpoint's own is. `device` is by
    default the first GPU, else the CPU. `revision` (hub only) is a branch, tag or commit. `family`
    names the models that this one is fitted with; by default it is `family_of` its config.
    Weights are read from safetensors; if there are none, `allow_pickle` admits
    `pytorch_model.bin`, read by torch's weights-only unpickler. `trust_remote_code` runs Python
    code that comes with the model. `local_files_only` never asks the network. `progress` shows the
    hub's download bars; nothing else is ever printed. The device "auto" spreads a model that is
    larger than one device over all of them. So does a `device_map` (module -> device) in place of
    `device`. Both need accelerate. image: it reads pictures, with its own processor: any model
    that `AutoModelForImageTextToText` knows.

    Raises InputError for a model that cannot be found, read or run here, for weights that are
    missing, left over or not finite, for a tokenizer that is missing or has ids over V, and for a
    model that looks ahead.
    """
    model = model_folder(model)
    if dtype not in DTYPES:
        raise InputError(f"dtype {dtype!r} is not known; use one of {', '.join(DTYPES)}")
    if device_map is not None and device is not None:
        raise InputError(f"give device ({device}) or device_map, not both")
    place = torch_device(device)
    if device == SPREAD:
        device_map = SPREAD
    with quiet():
        checkpoint = find_checkpoint(
            model,
            revision=revision,
            allow_pickle=allow_pickle,
            trust_remote_code=trust_remote_code,
            local_files_only=local_files_only,
            progress=progress,
            image=image,
        )
        folder = checkpoint.folder
        # All files are in the folder; only code may be kept in another repository.
        here = local_files_only or not trust_remote_code
        options = {"trust_remote_code": trust_remote_code, "local_files_only": here}
        notes = {}
        if checkpoint.gguf is not None:
            options["gguf_file"] = checkpoint.gguf
            notes["gguf"] = quantisation(folder / checkpoint.gguf)
        with reason(f"{folder}: the model cannot be loaded"):
            options["config"] = AutoConfig.from_pretrained(folder, **options)
        tokenizer, remark = load_tokenizer(checkpoint.tokenizer, options)
        if remark:
            notes["tokenizer"] = remark
        kind = AutoModelForImageTextToText if image else AutoModelForCausalLM
        network = _read_network(kind, folder, DTYPES[dtype], allow_pickle, options, device_map)
        S = parameter_counts(network).S
        if checkpoint.adapter is not None:
            network = put_adapter(network, checkpoint.adapter).eval().requires_grad_(False)
            notes["adapter"] = f"put on {checkpoint.base}"
        spread = "" if device_map is None else " over several devices; do they have room for it?"
        with reason(f"{checkpoint.name}: the model does not run on {place} in {dtype}{spread}"):
            if device_map is None:
                network = network.to(place)
            else:
                place = network.get_input_embeddings().weight.device
            _check_finite(network, checkpoint.name, dtype)
            processor = load_processor(folder, options) if image else None
            captioner = opened_captioner(network, processor, tokenizer) if image else None
            head, V = linear_head(network, checkpoint.name, captioner)
    rows = min(V, network.get_input_embeddings().weight.shape[0])
    _check_tokenizer(tokenizer, rows, checkpoint.tokenizer)
    return LoadedModel(
        name=checkpoint.name,
        revision=checkpoint.revision,
        family=family or family_of(network.config),
        S=S,
        V=V,
        dtype=dtype,
        device=str(place),
        context=context_of(network.config),
        tokenizer=tokenizer,
        head=head,
        model=network,
        notes=notes,
        captioner=captioner,
    )


def _read_network(
    kind: Any, folder: Path, dtype: torch.dtype, allow_pickle: bool, options: dict, device_map: Any
) -> PreTrainedModel:
    """The model with every weight read from the checkpoint, and every weight of it used."""
    if "gguf_file" in options:  # never to be left in blocks of few bits
        from transformers import GgufConfig

        options = {**options, "quantization_config": GgufConfig(dequantize=True)}
    # The reader of GGUF files shows its own bar.
    with reason(f"{folder}: the model cannot be loaded"), redirect_stderr(StringIO()):
        network, info = kind.from_pretrained(
            folder,
            # An adapter is put on afterwards: the library, which would do it here, looks in vain.
            adapter_kwargs={"subfolder": "no adapter"},
            dtype=dtype,
            device_map=device_map,
            use_safetensors=None if allow_pickle else True,
            ignore_mismatched_sizes=True,  # so that they are listed, and refused here
            output_loading_info=True,
            **options,
        )
    if any("_orig_mod." in key for key in info["unexpected_keys"]):
        raise InputError(
            f"{folder}: saved from torch.compile: strip `_orig_mod.` from the names of its weights"
            " (save the model that was compiled)"
        )
    for fault, keys in {
        "missing": info["missing_keys"],
        "in another shape than config.json says": [key for key, *_ in info["mismatched_keys"]],
        "not used by its model": [k for k in info["unexpected_keys"] if not _STALE.fullmatch(k)],
    }.items():
        if keys:
            shown = ", ".join(sorted(keys)[:3]) + (", ..." if len(keys) > 3 else "")
            raise InputError(
                f"{folder}: {len(keys)} weight(s) of the checkpoint are {fault}: {shown};"
                " give the folder of a whole causal language model"
            )
    return network.eval().requires_grad_(False)


def _check_finite(network: PreTrainedModel, name: str, dtype: str) -> None:
    """InputError that names the first weight with NaN or Inf."""
    for key, parameter in network.named_parameters():
        # A layer on meta waits outside the devices, and shows in the logits of every pass.
        if parameter.numel() and parameter.is_floating_point() and not parameter.is_meta:
            # The least and the greatest are NaN if any weight is: one pass, no copy.
            if not all(bound.isfinite() for bound in torch.aminmax(parameter)):
                hint = " (does it fit? try float32)" if dtype == "float16" else ""
                raise InputError(f"{name}: weight {key} holds NaN or Inf in {dtype}{hint}")


def _check_tokenizer(tokenizer: Any, rows: int, folder: Path) -> None:
    """InputError for a tokenizer that encodes text to nothing, or has ids of `rows` or more.

    The library makes up such an empty one for a folder without tokenizer files.
    """
    with reason(f"{folder}: the tokenizer cannot be used"):
        ids = tokenizer(PROBE_TEXT, add_special_tokens=False)["input_ids"]
    largest = max(tokenizer.get_vocab().values(), default=0)
    if largest >= rows or not set(ids) - set(tokenizer.all_special_ids):
        raise InputError(
            f"{folder}: no tokenizer of this model there: it encodes text to {len(ids)} tokens, has"
            f" ids up to {largest}, and the model has {rows} rows; save the model's own tokenizer"
        )


@torch.no_grad()
def linear_head(
    network: PreTrainedModel, name: str, captioner: Captioner | None = None
) -> tuple[Head | None, int]:
    """Run a few random ids: is the model causal, is its head of our form? -> (head or None, V).

    A captioner is given a text and a blank picture.
    """
    embedding = network.get_input_embeddings().weight
    rows = embedding.shape[0]
    ids = torch.randint(rows, (1, 6), generator=torch.Generator().manual_seed(0))
    ids = ids.repeat(2, 1).to(embedding.device)
    ids[1, -1] = (ids[1, -1] + 1) % rows  # only the last token differs
    inputs = captioner.probe(network) if captioner else {"input_ids": ids}
    layer = output_layer(network)
    seen: list[tuple[Tensor, Tensor]] = []
    watched = layer if isinstance(layer, nn.Linear) else nn.Identity()
    with watched.register_forward_hook(lambda _, given, out: seen.append((given[0], out))):
        logits = network(**inputs, use_cache=False).logits
    if not logits.isfinite().all():
        raise InputError(f"{name}: the logits hold NaN or Inf in {network.dtype}; try float32")
    if not _close(logits[0, :-1], logits[1, :-1]):
        raise InputError(
            f"{name}: the model ({network.config.model_type}) is not causal, as a token changes the"
            " logits before it; give a left-to-right language model"
        )
    V = logits.shape[-1]
    base = network.base_model
    if len(seen) != 1 or (base is network and not captioner) or seen[0][1].shape != logits.shape:
        return None, V
    hidden, own = seen[0]
    if not captioner:
        hidden = base(input_ids=ids, use_cache=False).last_hidden_state
    # Two links. First: the layer is linear in the hidden state, which a few models scale before it.
    # A spread model's states may be elsewhere, Mamba's are float32 in any dtype.
    hidden = hidden.to(layer.weight.device, layer.weight.dtype)
    product = F.linear(hidden, layer.weight, layer.bias)
    scales = [1.0, *(scale for x in _named(network, _SCALES) for scale in (x, 1 / x))]
    before = next((scale for scale in scales if _close(product * scale, own)), None)
    # Second: known values in place of the layer's output, small ones and some in the thousands,
    # show what comes after it, even if this model's own logits are too small to feel a cap.
    generator = torch.Generator().manual_seed(0)
    values = (30 * torch.randn(own.shape, generator=generator) ** 3).to(own)
    with layer.register_forward_hook(lambda *_: values):
        logits = network(**inputs, use_cache=False).logits.to(own.device).float()

    def error(after: tuple[float, float | None]) -> float:
        """Largest error of a logit, relative to it (below 0.01, 16 bits lose digits: to 0.01)."""
        z, cap = values.float() * after[0], after[1]
        z = z if cap is None else cap * torch.tanh(z / cap)
        return float(((logits - z) / z.abs().clamp(min=0.01)).abs().max())

    softcaps = [None, *_named(network, _SOFTCAPS)]
    best = min(((scale, softcap) for scale in scales for softcap in softcaps), key=error)
    # A few roundings in the model's own dtype, but none if nothing comes after the layer.
    allowed = 0 if best == (1.0, None) else 4 * torch.finfo(own.dtype).eps
    if before is None or not error(best) <= allowed:
        return None, V
    return Head(layer.weight, layer.bias, before * best[0], best[1]), V


def _named(network: PreTrainedModel, names: str) -> list[float]:
    """The positive numbers that the config has under these names."""
    found = (getattr(network.config.get_text_config(), name, None) for name in names.split())
    return [float(x) for x in found if isinstance(x, int | float) and 0 < x < math.inf]


def _close(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    allowed = _TOLERANCE[one.dtype] * other.abs().max()
    return bool((one.float() - other.float()).abs().max() <= allowed)
