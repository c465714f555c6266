"""Language models as the measuring needs them: a tokenizer, hidden states, one linear output head.

`load_model` opens a hub id or a local folder, and refuses what would silently give wrong numbers: a
tokenizer that encodes nothing, weights that are missing and so would be random, NaN, a model that
looks ahead. `model_in_memory` does the same for a model that the caller has loaded.

A model's way to its ranks: `files.model_folders` finds the files, `files.reading` reads the
tokenizer, `output_head` finds out what the output head is, and `LoadedModel.ranks` ranks with it.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from importlib import metadata
from io import StringIO
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedModel

from rbpkit import plugins
from rbpkit.encoding import Batch, EncodedCorpus
from rbpkit.errors import InputError, check_name, check_path, check_whole, reason
from rbpkit.files.architectures import (
    base_of,
    context_of,
    family_of,
    output_layer,
    parameter_counts,
)
from rbpkit.files.devices import SPREAD, torch_device
from rbpkit.files.libraries import quiet
from rbpkit.files.model_folders import Checkpoint, Source, find_checkpoint
from rbpkit.files.names import folder_name, whole_path
from rbpkit.files.reading import read_tokenizer, reading_options
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

Dtype = Literal["float32", "bfloat16", "float16"]

AnyRanker = TypeVar("AnyRanker", bound=Ranker)


@dataclass(eq=False, kw_only=True)
class LoadedModel(Ranker):
    """A causal language model of `transformers`, in evaluation mode and without gradients.

    Its attributes are those of a `Ranker`:
    name: hub id, or the folder's name.
    revision: commit of the hub, or "sha256:..." over config, weights and tokenizer.
    family: GPT2, OPT, Pythia, Qwen, Mamba; for others the config's model_type.
    V: rows of the output matrix.
    dtype, device: of the weights; of a model over several devices, that of its embedding.
    notes: of how it was loaded: "gguf", "tokenizer", "adapter" or "head" -> a few words.

    And:
    head: None if the logits are not a linear map, scaled or soft-capped, of the hidden state. Take
        `logits` then.
    model: the network itself.
    """

    head: Head | None = field(repr=False)
    model: PreTrainedModel = field(repr=False)

    @property
    def default_family(self) -> str:
        """The family that the model's config names."""
        return family_of(self.model.config)

    @property
    def versions(self) -> dict[str, str]:
        """The program that counts, and the libraries."""
        versions = {"ranks": counting_path(self.device)}
        for library in ("torch", "transformers", "tokenizers"):
            versions[library] = metadata.version(library)
        return versions

    def batches(self, encoded: EncodedCorpus, batch_tokens: int, done: int = 0) -> Iterator[Batch]:
        """As `Ranker.batches`, of at most `most_tokens`."""
        return super().batches(encoded, self.most_tokens(batch_tokens), done)

    def most_tokens(self, batch_tokens: int) -> int:
        """The most tokens of a batch: a model's own logits take at most MEMORY_BYTES."""
        if self.head is not None:
            return batch_tokens
        return max(1, min(batch_tokens, MEMORY_BYTES // (4 * self.V)))

    def ranks(self, batch: Batch) -> dict[str, np.ndarray]:
        """All columns, by `token_ranks` (`logit_ranks` without a head); errors as there."""
        # Sent before the pass, not after it: a copy from the host waits for the GPU's pending work.
        targets = torch.from_numpy(batch.targets).to(self.device)
        states = self.scored_states(batch)
        if self.head is None:
            return columns_of(logit_ranks(states, targets.to(states.device), entropy=True))
        weight = self.head.weight
        hidden = states.to(weight.device)
        targets = targets.to(weight.device)
        return columns_of(token_ranks(hidden, weight, targets, **self.head.options, entropy=True))

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
    vocabulary: int | None = None,
    served_model: str | None = None,
    api_key: str | None = None,
    requests: int = 8,
) -> LoadedModel:
    """Load a hub id, a local folder in the Hugging Face layout, or a plugin's PLUGIN:NAME.

    The address of a vLLM server, http://HOST:PORT/v1, is a model too, and so is a file with its
    scores, scores:FILE: whatever has an opener that is registered for its prefix.

    name: Call the model so in the records; by default as its hub id or its folder.
    family: The models that it is fitted with; by default the model's type (`family_of`).
    revision: Branch, tag or commit of a model on the hub.
    tokenizer: Folder or hub id of the tokenizer, if it is not in the model's own folder.
    dtype: Numbers of the network; the output head stays in float32.
    device: cpu, cuda, or auto: over all GPUs; by default a GPU if there is one. A model that is
        larger than one device is spread by "auto" (needs accelerate).
    device_map: Module -> device, in place of `device` (needs accelerate).
    trust_remote_code: Run Python code that comes with it.
    local_files_only: Never ask the network.
    progress: Show the hub's download bars; nothing else is ever printed.

    Of a model behind a vLLM server, or of its scores:
    size: S of a served model whose config is not here, or of scores.
    vocabulary: V of a served model whose config is not here, or of scores.
    served_model: Behind a server: which of its models, if it has several.
    api_key: Key of the server, else OPENAI_API_KEY; never saved.
    requests: Documents sent to a server at a time.

    A plugin's `Ranker` is given as the plugin makes it. Raises InputError for a model that cannot
    be found, read or run here, for weights that are missing, left over or not finite, for a
    tokenizer that is missing or has ids over V, and for a model that looks ahead.
    """
    check_path("model", model)
    words = {"name": name, "family": family, "revision": revision, "device": device}
    for key, word in (words | {"served_model": served_model, "api_key": api_key}).items():
        if word is not None:
            check_name(key, word)
    if dtype not in get_args(Dtype):
        raise InputError(f"dtype={dtype!r}: must be one of {', '.join(get_args(Dtype))}")
    check_whole("requests", requests, 1)
    for key, number in {"size": size, "vocabulary": vocabulary}.items():
        if number is not None:
            check_whole(key, number, 1)

    given = os.fspath(model)
    of_server = {
        "size": size,
        "vocabulary": vocabulary,
        "served_model": served_model,
        "api_key": api_key,
        "requests": requests,
    }
    prefix = plugins.opener_prefix(given)
    if prefix is not None:
        named = {"name": name, "family": family, "tokenizer": tokenizer}
        with quiet():
            opened = plugins.opened(prefix, given, **named, **of_server)
        return cast(LoadedModel, opened)  # callers need no more of it than a Ranker has
    for key, value in of_server.items():
        if value not in (None, 8):
            raise InputError(f"{key}: only of a model behind a server, http://HOST:PORT")

    own_name, found = plugins.resolve_model(given)
    plugin = plugins.prefix_of(given)
    if callable(found):
        loaded: Ranker = _made_by_plugin(str(plugin), own_name, found, dtype)
    else:
        source = Source(
            revision,
            tokenizer,
            trust_remote_code,
            local_files_only=local_files_only,
            progress=progress,
        )
        with quiet():
            loaded = from_files(found, source, dtype, device, device_map)
    # A plugin's model has its name from the plugin, wherever its folder is.
    own_name_or_none = own_name if plugin else None
    return cast(LoadedModel, renamed(loaded, name or own_name_or_none, family))


def renamed(model: AnyRanker, name: str | None, family: str | None = None) -> AnyRanker:
    """The same model with another name, which is not its folder's, or family; None changes none."""
    if name is None and family is None:
        return model
    model = copy.copy(model)
    if name is not None:
        model.name, model.folder = name, ""
    model.family = family or model.family
    return model


def _made_by_plugin(plugin: str, own_name: str, make: Any, dtype: str) -> Ranker:
    """The Ranker that a plugin's function makes."""
    what = f"its model {own_name!r}"
    ranker = plugins.called(plugin, what, make)
    if not isinstance(ranker, Ranker):
        kind = type(ranker).__name__
        raise InputError(f"the plugin {plugin!r}: {what} is no Ranker but a {kind}")
    if dtype not in ("float32", ranker.dtype):
        raise InputError(f"dtype={dtype!r}: {own_name} is in {ranker.dtype}; leave dtype out")
    ranker = renamed(ranker, own_name)
    # What goes wrong in it later is told in the same way.
    vars(ranker)["ranks"] = functools.partial(plugins.called, plugin, what, ranker.ranks)
    return ranker


def _causal(about: dict[str, Any]) -> LoadedModel:
    """A model that reads text; about: those fields that need no pass."""
    network = about["model"]
    head, V = linear_head(network, about["name"])
    return LoadedModel(**about, V=V, head=head, padding_limit=padding_limit(network))


def from_files(
    model: str | os.PathLike[str],
    source: Source,
    dtype: str,
    device: str | None = None,
    device_map: Any = None,
    kind: Any = AutoModelForCausalLM,
    make: Callable[[dict[str, Any]], LoadedModel] = _causal,
) -> LoadedModel:
    """A hub id or a folder: found, read, put on its device, and run once.

    kind: the class of the library that reads it.
    make: makes the model of those of its fields that need no pass, as `_causal`.
    """
    if device_map is not None and device is not None:
        raise InputError(f"give device ({device}) or device_map, not both")
    place = torch_device(device)
    if device == SPREAD:
        device_map = SPREAD

    checkpoint = find_checkpoint(model, source)
    options = reading_options(checkpoint, source)
    tokenizer, remark = read_tokenizer(checkpoint.tokenizer, options)
    options |= {"dtype": dtype, "device_map": device_map}
    network = _read_network(kind, checkpoint, options)
    S = parameter_counts(network).S  # before an adapter adds its own
    if checkpoint.adapter is not None:
        network = _put_adapter(network, checkpoint.adapter)

    spread = "" if device_map is None else " over several devices; do they have room for it?"
    with reason(f"{checkpoint.name}: the model does not run on {place} in {dtype}{spread}"):
        if device_map is None:
            network.to(place)  # type: ignore[arg-type]  # its decorator hides self
        else:
            place = _embedding_weight(network).device
        _check_finite(network, checkpoint.name, dtype)
        about = {
            "name": checkpoint.name,
            "folder": checkpoint.origin,
            "revision": checkpoint.revision,
            "family": family_of(network.config),
            "S": S,
            "dtype": dtype,
            "device": str(place),
            "notes": _notes(checkpoint, remark),
        }
        return _ready(network, tokenizer, make, about, checkpoint.tokenizer)


def _notes(checkpoint: Checkpoint, remark: str) -> dict[str, str]:
    notes = {}
    if checkpoint.gguf is not None:
        notes["gguf"] = _quantisation(checkpoint.folder / checkpoint.gguf)
    of_another = checkpoint.tokenizer_name and f"of {checkpoint.tokenizer_name}"
    if of_another or remark:
        notes["tokenizer"] = "; ".join(filter(None, (of_another, remark)))
    if checkpoint.adapter is not None:
        notes["adapter"] = f"put on {checkpoint.base}"
    return notes


def _ready(
    network: PreTrainedModel,
    tokenizer: Any,
    make: Callable[[dict[str, Any]], LoadedModel],
    about: dict[str, Any],
    where: Path,
) -> LoadedModel:
    """The model with what a few passes show of it.

    make: as of `from_files`.
    about: the fields of `LoadedModel` that depend on how it was got.
    where: the tokenizer is.
    """
    about = {
        **about,
        "context": context_of(network.config),
        "tokenizer": tokenizer,
        "model": network,
    }
    loaded = make(about)
    _check_tokenizer(tokenizer, network, loaded.V, where)
    if loaded.head is None and loaded.dtype != "float32":
        note = (
            f"not a known one (linear, scaled or soft-capped), so the model's own {loaded.dtype}"
            " logits are ranked; many may be tied, so prefer --dtype float32"
        )
        loaded.notes = {**about["notes"], "head": note}
    return loaded


def _embedding_weight(network: PreTrainedModel) -> Tensor:
    embedding: Any = network.get_input_embeddings()
    return embedding.weight


def _check_tokenizer(tokenizer: Any, network: PreTrainedModel, V: int, where: Path) -> None:
    """InputError for a tokenizer that encodes text to nothing, or has ids that the model lacks."""
    rows = min(V, len(_embedding_weight(network)))
    with reason(f"{where}: the tokenizer cannot be used"):
        ids = tokenizer(PROBE_TEXT, add_special_tokens=False)["input_ids"]
    largest = max(tokenizer.get_vocab().values(), default=0)
    if largest >= rows or set(ids) <= set(tokenizer.all_special_ids):
        raise InputError(
            f"{where}: no tokenizer of this model there: it encodes text to {len(ids)} tokens, has"
            f" ids up to {largest}, and the model has {rows} rows; name the model's own,"
            " --tokenizer PATH (tokenizer=)"
        )


# -- the files of a model ---------------------------------------------------------------------


def _read_network(kind: Any, checkpoint: Checkpoint, options: dict[str, Any]) -> PreTrainedModel:
    """The model with every weight read from the checkpoint, and every weight of it used.

    kind: the class of the library that reads it. options: as `reading_options`, dtype, device_map.
    """
    folder = checkpoint.folder
    if checkpoint.gguf is not None:  # never to be left in blocks of few bits
        from transformers import GgufConfig

        options = {**options, "quantization_config": GgufConfig(dequantize=True)}
    # The reader of GGUF files shows its own bar.
    with reason(f"{folder}: the model cannot be loaded"), redirect_stderr(StringIO()):
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

    with reason(f"{folder}: the adapter does not fit its base model"):
        config = PeftConfig.from_pretrained(str(folder), inference_mode=True)
        if config.is_prompt_learning:
            raise InputError(f"{folder}: an adapter of the prompt; give one of the layers (LoRA)")
        adapted = get_peft_model(network, config)
        # The library gives some models' weights other names than their files have.
        renamed = getattr(network, "_checkpoint_conversion_mapping", {})
        loaded = adapted.load_adapter(str(folder), "default", key_mapping=renamed)
    for fault, keys in (("missing", loaded.missing_keys), ("unused", loaded.unexpected_keys)):
        if keys:
            raise InputError(f"{folder}: {len(keys)} weight(s) of the adapter {fault}: {keys[0]}")
    return adapted.get_base_model()


def _quantisation(path: Path) -> str:
    """The type of most weights in a GGUF file, as the file says: Q4_K_M, F16, ..."""
    with reason(f"{path}: not a GGUF file that can be read"):
        from gguf import LlamaFileType
        from transformers.integrations.gguf import read_gguf_metadata

        metadata = read_gguf_metadata(str(path))[0]
        kind = metadata.get("general.file_type")
        return "unknown" if kind is None else LlamaFileType(kind).name.removeprefix("MOSTLY_")


# -- a model in memory ------------------------------------------------------------------------


@contextmanager
def model_in_memory(
    model: Any,
    tokenizer: Any,
    name: str | None = None,
    make: Callable[[dict[str, Any]], LoadedModel] = _causal,
    others: str = "",
) -> Iterator[LoadedModel]:
    """A `transformers` model, or a `peft` PeftModel of one, ready to be measured in this block.

    It is in evaluation mode in the block, and afterwards in the mode it was found in. Its revision
    is a sha256 over its weights, which takes a second or two for each GB, its adapters, its config
    and its tokenizer.

    tokenizer: the model's own.
    name: what to call it in the records; by default the hub id or the folder it came from.
    make: as of `from_files`.
    others: what else decides its numbers, and so belongs to its revision, as of a processor.

    Raises InputError for anything but a causal language model, and as `load_model`.
    """
    network, notes = _unwrapped(model)
    kind = type(model).__name__
    if not hasattr(tokenizer, "get_vocab"):
        raise InputError(
            f"{kind}: a model in memory needs tokenizer=, its own (AutoTokenizer.from_pretrained);"
            f" not a {type(tokenizer).__name__}"
        )
    origin = network.config.name_or_path
    folder = None
    if origin and (os.path.isabs(origin) or os.path.exists(origin)):
        folder = Path(origin)
        origin = folder_name(folder)
    name = name or origin or kind
    dtype = str(network.dtype).removeprefix("torch.")
    if dtype not in ("float32", "bfloat16", "float16"):
        raise InputError(f"{name}: a model in {dtype}; give model.float()")
    about = {
        "name": name,
        "folder": whole_path(folder) if folder and name == origin else "",
        "revision": _revision_in_memory(network, tokenizer, others),
        "family": family_of(network.config),
        "S": parameter_counts(network).S,
        "dtype": dtype,
        "device": str(network.device),
        "notes": notes,
    }
    training_before = {module: module.training for module in network.modules()}
    try:
        network.eval()
        with reason(f"{name}: the model in memory does not run in {dtype}"):
            loaded = _ready(network, tokenizer, make, about, Path(name))
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


def _revision_in_memory(network: PreTrainedModel, tokenizer: Any, others: str) -> str:
    """A sha256 over weights, adapters, config and tokenizer of a model in memory, and others."""
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
    total.update(f"{config}{words}{tokenizer.all_special_ids}{others}".encode())
    return f"sha256:{total.hexdigest()}"
