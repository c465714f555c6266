"""Language models as the measuring needs them: a tokenizer, hidden states, one linear output head.

`load_model` opens a hub id or a local folder, and refuses what would silently give wrong numbers:
weights that are missing and so would be random, NaN, a model that looks ahead. `find_model` finds
it without reading its weights, and `model_in_memory` takes what the caller has loaded.

A model's way to its ranks: `checkpoints` finds the files, `output_head` finds out what the output
head is, and `LoadedModel.ranks` ranks with it.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import os
import re
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, get_args
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, GgufConfig, PreTrainedConfig, PreTrainedModel

from rbpkit import plugins
from rbpkit.architectures import (
    active_size,
    context_of,
    family_of,
    output_layer,
    parameter_counts,
)
from rbpkit.checkpoints import (
    FOLDER_ALONE,
    Checkpoint,
    fetch_weights,
    find_checkpoint,
    read_config,
    read_tokenizer,
)
from rbpkit.encoding import Batch
from rbpkit.errors import InputError, reason
from rbpkit.libraries import SPREAD, quiet, torch_device
from rbpkit.output_head import PROBE_TEXT, Head, can_be_padded, embedding_of, linear_head
from rbpkit.ranker import Ranker, columns_of
from rbpkit.ranking import counting_path, logit_ranks, token_ranks

# Constants that older checkpoints hold: causal masks, a version, XGLM's sinusoids.
_STALE = re.compile(
    r"(.*\.)?(attn\.(attention\.)?(masked_)?bias|attn\.causal_mask|decoder\.version"
    r"|embed_positions\.weights)"
)

# Lines of a config that change no number (the dtype shows in the weights).
_NO_NUMBER = re.compile(r'^ *"(transformers_version|dtype)": .*\n', re.MULTILINE)

# What hooks of these libraries do follows from the weights and the config.
_LIBRARIES = {"torch", "transformers", "accelerate", "peft"}

Dtype = Literal["float32", "bfloat16", "float16"]

_locks: WeakKeyDictionary[nn.Module, Any] = WeakKeyDictionary()


def _lock_of(network: nn.Module) -> Any:
    """The lock of a network, whose mode and hooks are those of one thread at a time."""
    return _locks.setdefault(network, threading.RLock())


@dataclass(eq=False, kw_only=True)
class LoadedModel(Ranker):
    """A causal language model of `transformers`, in evaluation mode and without gradients.

    Its attributes are those of a `Ranker`; V is the rows of the output matrix, and dtype and device
    are those of the weights, of a model over several devices that of its embedding. And:

    head: None if the logits are not a linear map, scaled or soft-capped, of the hidden state. Take
        `logits` then.
    model: the network itself. If you change it, measure it as a model in memory.
    checkpoint: its files; None of a model in memory.
    """

    head: Head | None = field(repr=False)
    model: PreTrainedModel = field(repr=False)
    checkpoint: Checkpoint | None = field(default=None, repr=False)
    is_tried = False  # `output_head` has tried it

    def __post_init__(self) -> None:
        """InputError for a tokenizer that encodes nothing, or has ids that the model lacks."""
        rows = min(self.V, len(embedding_of(self.model)))
        ids = self.tokenizer(PROBE_TEXT, add_special_tokens=False)["input_ids"]
        largest = max(self.tokenizer.get_vocab().values(), default=0)
        if largest >= rows or set(ids) <= set(self.tokenizer.all_special_ids):
            raise InputError(
                f"{self.name}: not this model's tokenizer: a text has {len(ids)} tokens, ids go up"
                f" to {largest}, and the model has {rows} rows; name its own, tokenizer="
            )
        if self.head is None and self.dtype != "float32":
            note = f"not a known one, so {self.dtype} logits are ranked, of which many may be tied"
            self.notes = {**(self.notes or {}), "head": note}

    @property
    def versions(self) -> dict[str, str]:
        """The program that counts, and the libraries."""
        libraries = ("torch", "transformers", "tokenizers")
        versions = {library: metadata.version(library) for library in libraries}
        return {"ranks": counting_path(self.device), **versions}

    def ranks(self, batch: Batch) -> dict[str, np.ndarray]:
        """All columns, by `token_ranks` (`logit_ranks` without a head); errors as there."""
        # Sent before the pass, not after it: a copy from the host waits for the GPU's pending work.
        targets = torch.from_numpy(batch.targets).to(self.device)
        with _lock_of(self.model):
            states = self.scored_states(batch)
        if self.head is None:
            return columns_of(logit_ranks(states, targets.to(states.device)))
        weight = self.head.weight
        hidden = states.to(weight.device)
        targets = targets.to(weight.device)
        return columns_of(token_ranks(hidden, weight, targets, **self.head.options))

    def check_unchanged(self) -> None:
        """InputError if its files were written over: on a CPU its weights may be read from them."""
        if self.checkpoint is not None and self.device == "cpu":
            self.checkpoint.check_unchanged()

    def scored_states(self, batch: Batch) -> Tensor:
        """The hidden states (T, d) at the scored tokens; logits (T, V) if there is no `head`.

        They are on one device: of a model on several, the last layer's.
        """
        ids = torch.from_numpy(batch.input_ids)
        states = self.logits(ids) if self.head is None else self.hidden(ids)
        rows = torch.from_numpy(batch.rows).to(states.device)
        columns = torch.from_numpy(batch.columns).to(states.device)
        # All others are released on return, before the head needs memory.
        return states[rows, columns]

    @torch.no_grad()
    def hidden(self, input_ids: Tensor) -> Tensor:
        """Last hidden states (B, L, d) as they enter the output head, for ids (B, L).

        No attention mask: a causal model's states do not depend on what follows, so if `pads`,
        sequences may be padded on the right with any id, and the states of the padding are
        meaningless. Never pad on the left. L is at most `context`.
        """
        base = self.model.base_model
        states = base(input_ids=input_ids.to(self.device), use_cache=False).last_hidden_state
        # A 16-bit Mamba adds up its residuals in float32 and rounds them here too.
        return states if self.head is None else states.to(self.head.weight.dtype)

    @torch.no_grad()
    def logits(self, input_ids: Tensor) -> Tensor:
        """The model's own logits (B, L, V) for ids (B, L), in its dtype; padding as in `hidden`.

        Takes B x L x V x 4 bytes or more: keep the batch small.
        """
        return self.model(input_ids=input_ids.to(self.device), use_cache=False).logits


# -- a model that has a name ------------------------------------------------------------------


@dataclass(frozen=True)
class FoundModel:
    """A model that was found; its weights are not read before `load`.

    name: as of a `Ranker`.
    dtype: in which it is loaded.
    context: the most tokens in a sequence; None if there is no limit.
    origin: its files, or what an opener made.
    load: gives the model. Raises InputError as `load_model`.
    """

    name: str
    dtype: str
    context: int | None
    origin: Checkpoint | Ranker = field(repr=False)
    load: Callable[[], Any] = field(repr=False)

    @property
    def revision(self) -> str:
        """As of a `Ranker`. That of a folder is a sha256 over its files, which takes a while."""
        return self.origin.revision


def load_model(
    model: str | os.PathLike[str],
    *,
    name: str | None = None,
    family: str | None = None,
    revision: str | None = None,
    tokenizer: str | None = None,
    dtype: Dtype = "float32",
    device: str | None = None,
    size: int | None = None,
    vocabulary: int | None = None,
    served_model: str | None = None,
    api_key: str | None = None,
    requests: int = 8,
) -> LoadedModel:
    """Load a hub id, a local folder in the Hugging Face layout, an adapter's, or a .gguf file.

    Or PREFIX:REST, which the opener of this prefix opens: a pocket model, pocket:NAME; the model of
    a vLLM server by its address, http://HOST:PORT/v1; a table of its scores, scores:FILE.

    name: Call the model so in the records; by default by its hub id, the last two parts of its
        folder's path, or what stands after the prefix.
    family: The models that it is fitted with; by default the model's type (`family_of`).
    revision: Branch, tag or commit of a model on the hub.
    tokenizer: Folder or hub id of the tokenizer, if it is not in the model's own folder.
    dtype: Numbers of the network; its logits are float32.
    device: cpu, cuda, or auto: over all GPUs; by default a GPU if there is one. A model that is
        larger than one device is spread by "auto" (needs accelerate).
    size: S by hand, in place of the parameters that are counted.

    Of a model behind a vLLM server, or of its scores:
    vocabulary: V of a served model whose config is not here, or of scores.
    served_model: Behind a server: which of its models, if it has several.
    api_key: Key of the server, else that of RBPKIT_API_KEY; never saved.
    requests: Documents sent to a server at a time.

    Gives a `LoadedModel`, or the `Ranker` that the opener makes. Raises InputError for a model that
    cannot be found, read or run here or has code of its own, for weights that are missing, left
    over or not finite, for a tokenizer that has ids over V, and for a model that looks ahead.
    """
    return find_model(**locals()).load()  # locals: all arguments, and nothing else yet


def find_model(model: str | os.PathLike[str], **settings: Any) -> FoundModel:
    """Find a model; the settings are those of `load_model`, and its errors as far as they show.

    Of a model of the hub all but the weights is downloaded. An opener makes its model here.
    """
    asked = inspect.signature(load_model).bind(model, **settings)
    asked.apply_defaults()
    settings = asked.kwargs
    labels = {key: settings[key] for key in ("name", "family", "size")}
    given, dtype = os.fspath(model), settings["dtype"]
    if dtype not in get_args(Dtype):
        raise InputError(f"dtype={dtype!r}: must be one of {', '.join(get_args(Dtype))}")
    opened = plugins.opened(given, **settings)
    if isinstance(opened, Ranker):
        ranker = renamed(opened, **labels)
        return FoundModel(ranker.name, ranker.dtype, ranker.context, ranker, lambda: ranker)
    if opened is not None:  # called so wherever its folder is
        labels["name"] = labels["name"] or given.partition(":")[2]
    code = "if it brings code of its own, load it yourself and give it in memory"
    with reason(f"{given}: the model cannot be found; {code}"):
        folder = os.fspath(opened or given)
        checkpoint = find_checkpoint(folder, settings["revision"], settings["tokenizer"])
        config = read_config(checkpoint)

    def load() -> LoadedModel:
        with reason(f"{given}: the model cannot be loaded"):
            fetch_weights(checkpoint)
            about = read_model(checkpoint, config, dtype, settings["device"])
            return renamed(_causal(about), **labels)

    name = labels["name"] or checkpoint.name
    return FoundModel(name, dtype, context_of(config), checkpoint, load)


def renamed(
    model: Any, name: str | None, family: str | None = None, size: int | None = None
) -> Any:
    """The same model with another name, family or S; None changes none."""
    model = copy.copy(model)
    model.name = name or model.name
    model.family = family or model.family
    model.S = size or model.S
    return model


@quiet()
def _causal(about: dict[str, Any]) -> LoadedModel:
    """A model that reads text; about: those fields that need no pass."""
    network = about["model"]
    head, V = linear_head(network, about["name"])
    return LoadedModel(**about, V=V, head=head, pads=can_be_padded(network))


@quiet()
def read_model(
    checkpoint: Checkpoint,
    config: PreTrainedConfig,
    dtype: str,
    device: str | None = None,
    kind: Any = AutoModelForCausalLM,
) -> dict[str, Any]:
    """A model read and put on its device: those fields of `LoadedModel` that need no pass.

    kind: the class of the library that reads it.
    """
    folder, revision = checkpoint.folder, checkpoint.revision
    tokenizer = read_tokenizer(checkpoint.tokenizer)
    options: dict[str, Any] = {"config": config, "dtype": dtype, **FOLDER_ALONE}
    if device == SPREAD:
        options["device_map"] = SPREAD
    if checkpoint.gguf is not None:  # never to be left in blocks of few bits
        options["gguf_file"] = checkpoint.gguf
        options["quantization_config"] = GgufConfig(dequantize=True)
    network, info = kind.from_pretrained(folder, output_loading_info=True, **options)
    unused = [key for key in info["unexpected_keys"] if not _STALE.fullmatch(key)]
    _check_all_used(folder, info["missing_keys"], unused)
    S = parameter_counts(network).S  # before an adapter adds its own
    if checkpoint.adapter is not None:
        network = _put_adapter(network, checkpoint.adapter)
    if device != SPREAD:
        network.to(torch_device(device))
    network.eval().requires_grad_(False)
    for key, weight in network.named_parameters():
        # A layer on meta waits outside the devices, and shows in the logits of every pass.
        if not weight.is_meta and not weight.isfinite().all():
            raise InputError(f"{checkpoint.name}: weight {key} holds NaN or Inf in {dtype}")
    checkpoint.check_unchanged()
    known = {"name": checkpoint.name, "revision": revision, "S": S, "checkpoint": checkpoint}
    return _fields(network, tokenizer, **known)


def _fields(network: PreTrainedModel, tokenizer: Any, **known: Any) -> dict[str, Any]:
    """Those fields of `LoadedModel` that need no pass."""
    return {
        "model": network,
        "tokenizer": tokenizer,
        "family": family_of(network.config),
        "context": context_of(network.config),
        "dtype": str(network.dtype).removeprefix("torch."),
        "device": str(embedding_of(network).device),
        "notes": _experts(network, known["S"]),
        **known,
    }


def _experts(network: PreTrainedModel, S: int) -> dict[str, str]:
    """A note on a mixture of experts, since S counts all of them."""
    active = active_size(network, S)
    if active == S:
        return {}
    return {"experts": f"S counts all, {S:,}; --size {active} (size=) counts those a token uses"}


def _check_all_used(folder: Path, missing: Any, unused: Any) -> None:
    """InputError unless every weight was found, and every weight that was found is used."""
    for fault, keys in (("missing", missing), ("not used by its model", unused)):
        if keys:
            shown = ", ".join(sorted(keys)[:3])
            raise InputError(f"{folder}: {len(keys)} weight(s) are {fault}: {shown}")


def _put_adapter(network: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """The model with the adapter of a PEFT folder in its layers, not merged into their weights.

    Raises InputError for an adapter that works on the prompt, and for one whose weights are not
    all those that its config says, and no others.
    """
    from peft import PeftConfig, get_peft_model

    config = PeftConfig.from_pretrained(str(folder), inference_mode=True)
    adapted = get_peft_model(network, config)
    base = _without_peft(adapted)
    # The library gives some models' weights other names than their files have.
    key_mapping = getattr(network, "_checkpoint_conversion_mapping", {})
    loaded = adapted.load_adapter(str(folder), "default", key_mapping=key_mapping)
    _check_all_used(folder, loaded.missing_keys, loaded.unexpected_keys)
    return base


def _without_peft(model: Any) -> Any:
    """The base model of a PeftModel, whose layers are adapted. InputError for prompt adapters."""
    if model.active_peft_config.is_prompt_learning:
        raise InputError("an adapter of the prompt; give one of the layers (LoRA)")
    return model.get_base_model()


# -- a model in memory ------------------------------------------------------------------------


@contextmanager
def model_in_memory(model: Any, tokenizer: Any, name: str | None = None) -> Iterator[LoadedModel]:
    """A `transformers` model, or a `peft` PeftModel of one, ready to be measured in this block.

    In the block it is in evaluation mode, and another thread that measures it waits; afterwards it
    is in the mode it was found in. Its revision is a sha256 over its weights, which takes a second
    or two for each GB, its adapters, its config and its tokenizer. A model with a hook of yours is
    never found done, as no hash tells what the hook does. Other changes to the code or attributes
    of its layers are in no hash: give it another name then.

    tokenizer: the model's own.
    name: what to call it in the records; by default its class.

    Raises InputError for anything but a causal language model, and as `load_model`.
    """
    name = name or type(model).__name__
    network = _without_peft(model) if hasattr(model, "get_base_model") else model
    is_network = isinstance(network, PreTrainedModel) and output_layer(network) is not None
    if not is_network or network.config.is_encoder_decoder:
        raise InputError(
            f"{name}: not a causal language model of transformers; give one"
            " (AutoModelForCausalLM or a PeftModel of it, not in torch.compile or DataParallel; no"
            " encoder-decoder), a hub id or a folder"
        )
    if not hasattr(tokenizer, "get_vocab"):
        raise InputError(f"{name}: a model in memory needs tokenizer=, its own (AutoTokenizer)")
    with _lock_of(network):
        training_before = {module: module.training for module in network.modules()}
        try:
            network.eval()
            with reason(f"{name}: the model in memory does not run"):
                revision, S = _revision_in_memory(network, tokenizer), parameter_counts(network).S
                loaded = _causal(_fields(network, tokenizer, name=name, revision=revision, S=S))
            yield loaded
        finally:
            for module, training in training_before.items():
                module.training = training


def _revision_in_memory(network: PreTrainedModel, tokenizer: Any) -> str:
    """A sha256 over weights, adapters, config and tokenizer of a model in memory."""
    total = hashlib.sha256()
    for key, tensor in network.state_dict().items():
        total.update(f"{key} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        total.update(tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    for module in network.modules():
        if hasattr(module, "adapter_layer_names"):  # of peft: how its weights are used
            used = (module.active_adapters, module.disable_adapters)
            total.update(f"{used} {getattr(module, 'scaling', '')}".encode())
        for hook in (*module._forward_hooks.values(), *module._forward_pre_hooks.values()):
            if str(hook.__module__).partition(".")[0] not in _LIBRARIES:
                total.update(uuid.uuid4().bytes)
    backend = getattr(tokenizer, "backend_tokenizer", None)  # of one with a tokenizer.json
    words = backend.to_str() if backend else str(sorted(tokenizer.get_vocab().items()))
    config = _NO_NUMBER.sub("", network.config.to_json_string())
    total.update(f"{config}{words}{tokenizer.all_special_ids}".encode())
    return f"sha256:{total.hexdigest()}"
