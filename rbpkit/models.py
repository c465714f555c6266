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
import os
import re
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, GgufConfig, PreTrainedModel

from rbpkit import plugins
from rbpkit.architectures import (
    base_of,
    context_of,
    family_of,
    output_layer,
    size_and_note,
)
from rbpkit.checkpoints import (
    Checkpoint,
    Source,
    check_shards,
    fetch_weights,
    find_checkpoint,
    read_tokenizer,
    reading_options,
)
from rbpkit.encoding import Batch, EncodedCorpus
from rbpkit.errors import InputError, check_path, check_whole, reason
from rbpkit.libraries import SPREAD, quiet, torch_device
from rbpkit.output_head import PROBE_TEXT, Head, linear_head, padding_limit
from rbpkit.ranker import Ranker, columns_of
from rbpkit.ranking import MEMORY_BYTES, counting_path, logit_ranks, token_ranks

# Constants that older checkpoints hold: causal masks, a version, XGLM's sinusoids.
_STALE = re.compile(
    r"(.*\.)?(attn\.(attention\.)?(masked_)?bias|attn\.causal_mask|decoder\.version"
    r"|embed_positions\.weights)"
)

# Lines of a config that change no number (the dtype shows in the weights).
_NO_NUMBER = re.compile(r'^ *"(transformers_version|dtype)": .*\n', re.MULTILINE)

# Of the layers of a network: what changes no number, or changes while it runs.
_STATES = {"training", "gradient_checkpointing", "max_seq_len_cached"}

# A hook of these changes no number that the weights and the config do not tell.
_LIBRARIES = {"torch", "transformers", "accelerate", "peft"}

Dtype = Literal["float32", "bfloat16", "float16"]

AnyRanker = TypeVar("AnyRanker", bound=Ranker)

_locks: WeakKeyDictionary[nn.Module, Any] = WeakKeyDictionary()


def lock_of(network: nn.Module) -> Any:
    """The lock of a network, whose mode and hooks are those of one thread at a time."""
    return _locks.setdefault(network, threading.RLock())


@dataclass(eq=False, kw_only=True)
class LoadedModel(Ranker):
    """A causal language model of `transformers`, in evaluation mode and without gradients.

    Its attributes are those of a `Ranker`:
    name: hub id, or the last two parts of the folder's path.
    revision: commit of the hub, or "sha256:..." over config, weights and tokenizer.
    family: GPT2, OPT, Pythia, Qwen, Mamba; for others the config's model_type.
    V: rows of the output matrix.
    dtype, device: of the weights; of a model over several devices, that of its embedding.
    notes: of how it was loaded: "gguf", "tokenizer", "adapter" or "head" -> a few words.

    And:
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
        rows = min(self.V, len(_embedding_weight(self.model)))
        ids = self.tokenizer(PROBE_TEXT, add_special_tokens=False)["input_ids"]
        largest = max(self.tokenizer.get_vocab().values(), default=0)
        if largest >= rows or set(ids) <= set(self.tokenizer.all_special_ids):
            raise InputError(
                f"{self.name}: not this model's tokenizer: it encodes text to {len(ids)} tokens,"
                f" has ids up to {largest}, and the model has {rows} rows; name the model's own,"
                " --tokenizer PATH (tokenizer=)"
            )
        if self.head is None and self.dtype != "float32":
            note = (
                f"not a known one (linear, scaled or soft-capped), so the model's own {self.dtype}"
                " logits are ranked; many may be tied, so prefer --dtype float32"
            )
            self.notes = {**(self.notes or {}), "head": note}

    @property
    def versions(self) -> dict[str, str]:
        """The program that counts, and the libraries."""
        versions = {"ranks": counting_path(self.device)}
        for library in ("torch", "transformers", "tokenizers"):
            versions[library] = metadata.version(library)
        return versions

    def batches(self, encoded: EncodedCorpus, batch_tokens: int) -> Iterator[Batch]:
        """As `Ranker.batches`, of at most `most_tokens`."""
        return super().batches(encoded, self.most_tokens(batch_tokens))

    def most_tokens(self, batch_tokens: int) -> int:
        """The most tokens of a batch: a model's own logits take at most MEMORY_BYTES."""
        if self.head is not None:
            return batch_tokens
        return max(1, min(batch_tokens, MEMORY_BYTES // (4 * self.V)))

    def ranks(self, batch: Batch) -> dict[str, np.ndarray]:
        """All columns, by `token_ranks` (`logit_ranks` without a head); errors as there."""
        # Sent before the pass, not after it: a copy from the host waits for the GPU's pending work.
        targets = torch.from_numpy(batch.targets).to(self.device)
        with lock_of(self.model):
            states = self.scored_states(batch)
        if self.head is None:
            return columns_of(logit_ranks(states, targets.to(states.device), entropy=True))
        weight = self.head.weight
        hidden = states.to(weight.device)
        targets = targets.to(weight.device)
        return columns_of(token_ranks(hidden, weight, targets, **self.head.options, entropy=True))

    def check_unchanged(self) -> None:
        """InputError if its files were written over: on a CPU its weights may be read from them."""
        if self.checkpoint is not None and self.device == "cpu":
            self.checkpoint.check_unchanged(or_moved=False)

    def scored_states(self, batch: Batch) -> Tensor:
        """The hidden states (T, d) at the scored tokens; logits (T, V) if there is no `head`.

        They are on one device: of a model on several, the last layer's.
        """
        ids = torch.from_numpy(batch.input_ids).to(self.device)
        rows = torch.from_numpy(batch.rows).to(self.device)
        columns = torch.from_numpy(batch.columns).to(self.device)
        states = self.logits(ids) if self.head is None else self.hidden(ids)
        # All others are released on return, before the head needs memory.
        return states[rows.to(states.device), columns.to(states.device)]

    @torch.no_grad()
    def hidden(self, input_ids: Tensor) -> Tensor:
        """Last hidden states (B, L, d) as they enter the output head, for ids (B, L).

        No attention mask: a causal model's states do not depend on what follows, so sequences of
        up to `padding_limit` may be padded on the right with any id, and the states of the padding
        are meaningless. Never pad on the left. Raises InputError if L is over `context`.
        """
        ids = self._on_device(input_ids)
        states = base_of(self.model)(input_ids=ids, use_cache=False).last_hidden_state
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
    load: Callable[[], Ranker] = field(repr=False)

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
    device_map: str | dict[str, Any] | None = None,
    trust_remote_code: bool = False,
    local_files_only: bool = False,
    progress: bool = False,
    size: int | None = None,
    active: bool = False,
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
    dtype: Numbers of the network; the output head stays in float32.
    device: cpu, cuda, or auto: over all GPUs; by default a GPU if there is one. A model that is
        larger than one device is spread by "auto" (needs accelerate).
    device_map: Module -> device, in place of `device` (needs accelerate).
    trust_remote_code: Run Python code that comes with it.
    local_files_only: Never ask the network.
    progress: Show the hub's download bars; otherwise only the reader of GGUF files shows one.
    size: S by hand, in place of the parameters that are counted.
    active: Count only the experts that a token uses, of a mixture of experts.

    Of a model behind a vLLM server, or of its scores:
    vocabulary: V of a served model whose config is not here, or of scores.
    served_model: Behind a server: which of its models, if it has several.
    api_key: Key of the server, else that of RBPKIT_API_KEY; never saved.
    requests: Documents sent to a server at a time.

    Gives a `LoadedModel`, or the `Ranker` that the opener makes. Raises InputError for a model that
    cannot be found, read or run here, for weights that are missing, left over or not finite, for a
    tokenizer that is missing or has ids over V, and for a model that looks ahead.
    """
    loaded = find_model(**locals()).load()
    return cast(LoadedModel, loaded)  # callers need no more of an opener's than a Ranker has


def find_model(
    model: str | os.PathLike[str],
    *,
    name: str | None = None,
    family: str | None = None,
    revision: str | None = None,
    tokenizer: str | None = None,
    dtype: Dtype = "float32",
    device: str | None = None,
    device_map: str | dict[str, Any] | None = None,
    trust_remote_code: bool = False,
    local_files_only: bool = False,
    progress: bool = False,
    size: int | None = None,
    active: bool = False,
    vocabulary: int | None = None,
    served_model: str | None = None,
    api_key: str | None = None,
    requests: int = 8,
) -> FoundModel:
    """Find a model; the arguments are those of `load_model`, and its errors as far as they show.

    Of a model of the hub all but the weights is downloaded. An opener makes its model here.
    """
    check_path("model", model)
    if dtype not in get_args(Dtype):
        raise InputError(f"dtype={dtype!r}: must be one of {', '.join(get_args(Dtype))}")
    if size is not None:
        check_whole("size", size, 1)
    given = os.fspath(model)
    of_opener = {
        "vocabulary": vocabulary,
        "served_model": served_model,
        "api_key": api_key,
        "requests": requests,
    }
    shared = {"name": name, "family": family, "tokenizer": tokenizer, "size": size}
    with quiet():
        opened = plugins.opened(given, **shared, dtype=dtype, device=device, **of_opener)
    if isinstance(opened, Ranker):
        ranker = renamed(opened, name, family, size)
        return FoundModel(ranker.name, ranker.dtype, ranker.context, ranker, lambda: ranker)
    for key, value in of_opener.items():
        if value not in (None, 8):
            raise InputError(f"{key}: only of a model behind a server, http://HOST:PORT")

    source = Source(
        revision,
        tokenizer,
        trust_remote_code,
        local_files_only=local_files_only,
        progress=progress,
    )
    with quiet(), reason(f"{given}: the model cannot be found"):
        checkpoint = find_checkpoint(given if opened is None else opened, source)
        options = reading_options(checkpoint, source)
    if opened is not None:  # called so wherever its folder is
        name = name or given.partition(":")[2]

    def load() -> LoadedModel:
        with quiet(), reason(f"{given}: the model cannot be loaded"):
            fetch_weights(checkpoint, source)
            about = read_model(checkpoint, options, dtype, device, device_map, active=active)
            return renamed(_causal(about), name, family, size)

    context = context_of(options["config"])
    return FoundModel(name or checkpoint.name, dtype, context, checkpoint, load)


def renamed(
    model: AnyRanker, name: str | None, family: str | None = None, size: int | None = None
) -> AnyRanker:
    """The same model with another name, family or S; None changes none."""
    model = copy.copy(model)
    model.name = name or model.name
    model.family = family or model.family
    model.S = size or model.S
    return model


def _causal(about: dict[str, Any]) -> LoadedModel:
    """A model that reads text; about: those fields that need no pass."""
    network = about["model"]
    head, V = linear_head(network, about["name"])
    return LoadedModel(**about, V=V, head=head, padding_limit=padding_limit(network))


def read_model(
    checkpoint: Checkpoint,
    options: dict[str, Any],
    dtype: str,
    device: str | None = None,
    device_map: Any = None,
    kind: Any = AutoModelForCausalLM,
    active: bool = False,
) -> dict[str, Any]:
    """A model read and put on its device: those fields of `LoadedModel` that need no pass.

    options: as `reading_options`.
    kind: the class of the library that reads it.
    active: as of `size_and_note`.
    """
    if device == SPREAD:
        device_map = SPREAD
    revision = checkpoint.revision  # of what is read after it, or the check below finds a change
    tokenizer = read_tokenizer(checkpoint.tokenizer, options)
    options = {**options, "dtype": dtype, "device_map": device_map}
    network = _read_network(kind, checkpoint, options)
    S, note = size_and_note(network, active)  # before an adapter adds its own
    if checkpoint.adapter is not None:
        network = _put_adapter(network, checkpoint.adapter)
    if device_map is None:
        network.to(torch_device(device))  # type: ignore[arg-type]  # its decorator hides self
    _check_finite(network, checkpoint.name, dtype)
    checkpoint.check_unchanged()
    known = {"name": checkpoint.name, "revision": revision, "S": S, "dtype": dtype}
    notes = {**checkpoint.notes, **note}
    return _fields(network, tokenizer, **known, notes=notes, checkpoint=checkpoint)


def _fields(network: PreTrainedModel, tokenizer: Any, **known: Any) -> dict[str, Any]:
    """Those fields of `LoadedModel` that need no pass."""
    return {
        "model": network,
        "tokenizer": tokenizer,
        "family": family_of(network.config),
        "context": context_of(network.config),
        "device": str(_embedding_weight(network).device),
        **known,
    }


def _embedding_weight(network: PreTrainedModel) -> Tensor:
    embedding: Any = network.get_input_embeddings()
    return embedding.weight


def _read_network(kind: Any, checkpoint: Checkpoint, options: dict[str, Any]) -> PreTrainedModel:
    """The model with every weight read from the checkpoint, and every weight of it used.

    kind: the class of the library that reads it. options: as `reading_options`, dtype, device_map.
    """
    folder = checkpoint.folder
    if checkpoint.gguf is None:
        check_shards(folder)
    else:  # never to be left in blocks of few bits
        options = {**options, "quantization_config": GgufConfig(dequantize=True)}
    network, info = kind.from_pretrained(
        folder,
        # An adapter is put on afterwards: the library, which would do it here, looks in vain.
        adapter_kwargs={"subfolder": "no adapter"},
        ignore_mismatched_sizes=True,  # so that they are listed, and refused here
        output_loading_info=True,
        **options,
    )
    unused = [key for key in info["unexpected_keys"] if not _STALE.fullmatch(key)]
    faults = {
        "missing": info["missing_keys"],
        "in another shape than config.json says": [key for key, *_ in info["mismatched_keys"]],
        "not used by its model": unused,
    }
    for fault, keys in faults.items():
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
        if parameter.is_meta or not parameter.is_floating_point() or not parameter.numel():
            continue
        # The least and the greatest are NaN if any weight is: one pass, no copy.
        least, greatest = torch.aminmax(parameter)
        if least.isnan():  # no conversion makes one: the file has it
            raise InputError(f"{name}: weight {key} holds NaN in its file, so no dtype helps")
        if not least.isfinite() or not greatest.isfinite():
            hint = " (does it fit? try float32)" if dtype == "float16" else ""
            raise InputError(f"{name}: weight {key} holds Inf in {dtype}{hint}")


def _put_adapter(network: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """The model with the adapter of a PEFT folder in its layers, not merged into their weights.

    Raises InputError for an adapter that works on the prompt, and for one whose weights are not
    all those that its config says, and no others.
    """
    from peft import PeftConfig, get_peft_model

    config = PeftConfig.from_pretrained(str(folder), inference_mode=True)
    if config.is_prompt_learning:
        raise InputError(f"{folder}: an adapter of the prompt; give one of the layers (LoRA)")
    adapted = get_peft_model(network, config)
    # The library gives some models' weights other names than their files have.
    key_mapping = getattr(network, "_checkpoint_conversion_mapping", {})
    loaded = adapted.load_adapter(str(folder), "default", key_mapping=key_mapping)
    for fault, keys in (("missing", loaded.missing_keys), ("unused", loaded.unexpected_keys)):
        if keys:
            raise InputError(f"{folder}: {len(keys)} weight(s) of the adapter {fault}: {keys[0]}")
    return adapted.get_base_model()


# -- a model in memory ------------------------------------------------------------------------


@contextmanager
def model_in_memory(model: Any, tokenizer: Any, name: str | None = None) -> Iterator[LoadedModel]:
    """A `transformers` model, or a `peft` PeftModel of one, ready to be measured in this block.

    In the block it is in evaluation mode, and another thread that measures it waits; afterwards it
    is in the mode it was found in. Its revision is a sha256 over its weights, which takes a second
    or two for each GB, its adapters, its config, what was changed in its layers, and its tokenizer.
    What a hook of yours does is in no hash, so a model with one is never found done.

    tokenizer: the model's own.
    name: what to call it in the records; by default its class.

    Raises InputError for anything but a causal language model, and as `load_model`.
    """
    network, notes = _unwrapped(model)
    name = name or type(model).__name__
    if not hasattr(tokenizer, "get_vocab"):
        raise InputError(
            f"{name}: a model in memory needs tokenizer=, its own (AutoTokenizer.from_pretrained);"
            f" not a {type(tokenizer).__name__}"
        )
    dtype = str(network.dtype).removeprefix("torch.")
    if dtype not in get_args(Dtype):
        raise InputError(f"{name}: a model in {dtype}; give model.float()")
    with lock_of(network):
        training_before = {module: module.training for module in network.modules()}
        try:
            network.eval()
            with reason(f"{name}: the model in memory does not run"):
                revision = _revision_in_memory(network, tokenizer)
                S, note = size_and_note(network)
                known = {"name": name, "revision": revision, "S": S, "dtype": dtype}
                fields = _fields(network, tokenizer, **known, notes={**notes, **note})
                loaded = _causal(fields)
            yield loaded
        finally:
            for module, training in training_before.items():
                module.training = training


def _unwrapped(model: Any) -> tuple[PreTrainedModel, dict[str, str]]:
    """The network of what `measure` was given, and notes on it.

    Raises InputError for what is no language model, or is inside another module.
    """
    kind = type(model).__name__
    network, notes = model, {}
    if hasattr(model, "get_base_model"):  # a PeftModel: the layers of its base model are adapted
        if model.active_peft_config.is_prompt_learning:
            raise InputError(f"{kind}: an adapter of the prompt; give one of the layers (LoRA)")
        network = model.get_base_model()
        notes["adapter"] = f"put on {network.config.name_or_path or type(network).__name__}"
    is_network = isinstance(network, PreTrainedModel) and output_layer(network) is not None
    if not is_network or network.config.is_encoder_decoder:
        raise InputError(
            f"{kind}: not a causal language model of transformers; give one"
            " (AutoModelForCausalLM or a PeftModel of it, not in torch.compile or DataParallel; no"
            " encoder-decoder), a hub id or a folder"
        )
    return network, notes


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
    backend = getattr(tokenizer, "backend_tokenizer", None)  # of one with a tokenizer.json
    words = backend.to_str() if backend else str(sorted(tokenizer.get_vocab().items()))
    config = _NO_NUMBER.sub("", network.config.to_json_string())
    changes = " ".join(_changes(network))
    total.update(f"{config}{words}{tokenizer.all_special_ids}{changes}".encode())
    return f"sha256:{total.hexdigest()}"


def _changes(network: PreTrainedModel) -> Iterator[str]:
    """What its config does not say of a network: other layers, other numbers in them, hooks."""
    with quiet(), torch.device("meta"):
        as_built = dict(type(network)(copy.deepcopy(network.config)).named_modules())
    for name, module in network.named_modules():
        built = as_built.get(name, module)
        if type(module) is not type(built):
            yield f"{name} {type(module).__name__}"
            built = module
        for key, value in vars(module).items():
            is_number = isinstance(value, int | float | str | None) and not key.startswith("_")
            if is_number and key not in _STATES and value != vars(built).get(key):
                yield f"{name}.{key} {value}"
        hooks = [*module._forward_hooks.values(), *module._forward_pre_hooks.values()]
        for hook in (*hooks, vars(module).get("forward", nn.Module.forward)):
            if str(hook.__module__).partition(".")[0] not in _LIBRARIES:
                yield uuid.uuid4().hex  # nothing tells what it does
