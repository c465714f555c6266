"""Language models as the measuring needs them: a tokenizer, hidden states, one linear output head.

`load_model` opens a hub id or a local folder and refuses what would give wrong numbers without a
word: a tokenizer that is not there, weights that are missing and so would be random, NaN, a model
that looks ahead. `files.model_folders` finds the files, `files.networks` reads and probes them, and
`files.architectures` counts S and V.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from rbpkit.errors import InputError, reason
from rbpkit.files.architectures import family_of, non_embedding_parameters
from rbpkit.files.devices import SPREAD, check_device_map, input_device, torch_device
from rbpkit.files.libraries import quiet
from rbpkit.files.model_folders import find_checkpoint, load_tokenizer
from rbpkit.files.networks import Head, check_finite, check_tokenizer, linear_head, read_network

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A causal language model ready to be measured: evaluation mode, no gradients.

    `head` is None where the logits are not one linear map of the hidden state (soft-capped or
    scaled logits): take `logits` then.
    """

    name: str  # hub id, or the folder's name
    revision: str  # commit of the hub, or "sha256:..." over config, weights and tokenizer
    family: str  # GPT2, OPT, Pythia, Qwen, Mamba; for others the config's model_type
    S: int
    V: int
    dtype: str
    device: str
    context: int | None  # most tokens in a sequence; None where the config sets no limit
    tokenizer: Any = field(repr=False)
    head: Head | None = field(repr=False)
    model: PreTrainedModel = field(repr=False)

    @torch.no_grad()
    def hidden(self, input_ids: Tensor) -> Tensor:
        """Last hidden states (B, L, d) as they enter the output head, for ids (B, L).

        No attention mask: a causal model's states do not depend on what follows, so sequences
        may be padded on the right with any id; what stands on the padding is of no use. Never
        pad on the left. Raises InputError where L is over `context`.
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
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    local_files_only: bool = False,
    progress: bool = False,
    device_map: str | dict | None = None,
) -> LoadedModel:
    """Load a hub id or a local folder in the Hugging Face layout, with its own tokenizer.

    `dtype` is float32, bfloat16 or float16, whatever the checkpoint's own is. `device` is by
    default the first GPU, else the CPU. `revision` (hub only) is a branch, tag or commit.
    Weights are read from safetensors; `allow_pickle` admits `pytorch_model.bin` where there are
    none, read by torch's weights-only unpickler. `trust_remote_code` runs Python code that comes
    with the model. `local_files_only` never asks the network. `progress` shows the hub's
    download bars; nothing else is ever printed. A model larger than a device goes over all that
    are here with the device "auto" (or, in place of `device`, by a `device_map`, module ->
    device); it needs accelerate.

    Raises InputError, one line with the way out: no such folder, hub id out of reach, no or
    damaged weights, weights missing or left over, not finite, no usable tokenizer, ids over V,
    a model that looks ahead, a device_map that cannot be used.
    """
    if dtype not in DTYPES:
        raise InputError(f"dtype {dtype!r} is not known; use one of {', '.join(DTYPES)}")
    if device == SPREAD and device_map is None:
        device, device_map = None, SPREAD
    if device_map is not None:
        check_device_map(device)
    place = torch_device(device)
    with quiet():
        checkpoint = find_checkpoint(
            model,
            revision=revision,
            allow_pickle=allow_pickle,
            trust_remote_code=trust_remote_code,
            local_files_only=local_files_only,
            progress=progress,
        )
        options = {
            "trust_remote_code": trust_remote_code,
            # All files are in the folder; only code may be kept in another repository.
            "local_files_only": local_files_only or not trust_remote_code,
        }
        with reason(f"{checkpoint.folder}: the tokenizer cannot be loaded"):
            tokenizer = load_tokenizer(checkpoint.folder, options)
        network = read_network(checkpoint.folder, DTYPES[dtype], allow_pickle, options, device_map)
        if device_map is not None:
            place = input_device(network, checkpoint.name)
        with reason(f"{checkpoint.name}: the model does not run on {place} in {dtype}"):
            network = network.to(place) if device_map is None else network
            check_finite(network, checkpoint.name, dtype)
            head, V = linear_head(network, checkpoint.name)
    rows = min(V, network.get_input_embeddings().weight.shape[0])
    check_tokenizer(tokenizer, rows, checkpoint.folder)
    config = network.config.get_text_config()
    return LoadedModel(
        name=checkpoint.name,
        revision=checkpoint.revision,
        family=family_of(network.config),
        S=non_embedding_parameters(network),
        V=V,
        dtype=dtype,
        device=str(place),
        context=getattr(config, "max_position_embeddings", None),
        tokenizer=tokenizer,
        head=head,
        model=network,
    )
