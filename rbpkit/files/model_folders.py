"""Find a model's files: a local folder, a GGUF file, or a hub id brought to a folder in the cache.

Model, config and tokenizer are then read from what was found. The folder of an adapter leads to the
base model that it names.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from huggingface_hub import constants, snapshot_download
from tokenizers import AddedToken, Tokenizer
from tqdm.auto import tqdm
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast
from transformers import PreTrainedTokenizerBase as AnyTokenizer

from rbpkit.errors import InputError, check_path, one_line, reason
from rbpkit.files.architectures import nearest_model
from rbpkit.files.limits import check_parts
from rbpkit.files.names import cached_repository, folder_name, whole_path

CONFIG, ADAPTER_CONFIG = "config.json", "adapter_config.json"
GENERIC_TOKENIZERS = ("PreTrainedTokenizerFast", "TokenizersBackend")
SAFETENSORS = ("model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors")
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin")
ADAPTERS = ("adapter_model.safetensors", "adapter_model.bin")
PROCESSOR_FILES = ("*processor_config.json", "chat_template.*")  # of a model that reads pictures
TOKENIZER_FILES = ("*token*.json", "vocab.*", "merges.txt", "tekken.json", "*.model", "*.tiktoken")

# Special tokens that a folder may ask for at the ends of a text.
_ENDS = ("add_bos_token", "add_eos_token")


def _probe_texts() -> list[str]:
    """Texts on which the rules of tokenizers part: every three of these pieces in a row."""
    pieces = " ,   ,\n,\t,a,The,'s,I'LL,7,1984,.,({,é,e\u0301,漢字,русский,\uff11,🙂".split(",")
    texts = []
    for first in pieces:
        triples = itertools.product([first], pieces, pieces)
        texts.append("".join(itertools.chain.from_iterable(triples)))
    return texts


@dataclass(frozen=True)
class Checkpoint:
    """Where the files of a model are.

    folder: holds config and weights.
    name: what the model is called in the records.
    revision: a commit of the hub, or "sha256:..." over the files.
    tokenizer: the folder of the tokenizer.
    weights: the files of the weights.
    gguf: the file in `folder` that is the whole model, in that format.
    adapter: the folder of an adapter to put on the model.
    base: the name of the model that the adapter is put on.
    origin: the local folder that `name` is of, as a whole path; "" of a model of the hub.
    """

    folder: Path
    name: str
    revision: str
    tokenizer: Path
    weights: tuple[Path, ...] = ()
    gguf: str | None = None
    adapter: Path | None = None
    base: str | None = None
    origin: str = ""


@dataclass(frozen=True)
class Source:
    """How the files of a model may be got; the arguments of `load_model` that say so."""

    allow_pickle: bool = False
    trust_remote_code: bool = False
    local_files_only: bool = False
    progress: bool = False
    image: bool = False

    @property
    def extra_files(self) -> list[str]:
        """Patterns of files besides config, weights and tokenizer."""
        code = ["*.py"] if self.trust_remote_code else []
        return [*code, *PROCESSOR_FILES] if self.image else code

    @property
    def adapters(self) -> tuple[str, ...]:
        """Names that the weights of an adapter may have."""
        return ADAPTERS if self.allow_pickle else ADAPTERS[:1]


class NoBar(tqdm):
    """A download bar that shows nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "disable": True})


def find_checkpoint(
    model: str | os.PathLike[str], *, revision: str | None = None, **how: bool
) -> Checkpoint:
    """The files of a hub id or a local path; `how` has fields of `Source`.

    Raises InputError if there is no such folder, the hub does not give the model, the folder has no
    config or no weights of the admitted kind, the base model of an adapter cannot be found, or the
    package that reads an adapter or a GGUF file is not installed.
    """
    return _checkpoint(model, revision, Source(**how))


def _checkpoint(model: str | os.PathLike[str], revision: str | None, source: Source) -> Checkpoint:
    check_path("model", model)
    path = Path(os.path.expanduser(model))
    if path.suffix == ".gguf" and path.is_file():
        _need(path, "a GGUF file", "gguf", ("gguf", "accelerate"))
        return Checkpoint(
            folder=path.parent,
            name=path.stem,
            revision=_sha256([path]),
            tokenizer=path.parent,
            weights=(path,),
            gguf=path.name,
            origin=whole_path(path.with_suffix("")),
        )
    if os.path.isdir(path):  # goes before a hub id of the same name
        if revision is not None:
            raise InputError(f"{model}: a local folder has no revision {revision!r}; leave it out")
        return _in_folder(path, None, source)
    folder = _from_hub(str(model), revision, source)
    return _in_folder(folder, str(model), source)


def _from_hub(model: str, revision: str | None, source: Source) -> Path:
    """The folder of a hub id in the cache, brought up to date if the network is there."""
    fetch = functools.partial(
        snapshot_download,
        model,
        local_files_only=source.local_files_only,
        tqdm_class=None if source.progress else NoBar,
    )
    patterns = [CONFIG, ADAPTER_CONFIG, ADAPTERS[0], *SAFETENSORS, *TOKENIZER_FILES]
    patterns += source.extra_files
    near = nearest_model(model)
    with reason(f"{model}: no such folder, and the hub does not give it{near}"):
        folder = Path(str(fetch(revision=revision, allow_patterns=patterns)))
        if source.allow_pickle and not any(folder.glob("*.safetensors")):
            # Only now, as most repositories hold the weights both ways; and of the same commit.
            fetch(revision=folder.name, allow_patterns=[*PICKLES, ADAPTERS[1]])
    return folder


def _in_folder(folder: Path, hub_id: str | None, source: Source) -> Checkpoint:
    """The checkpoint in a folder: a whole model, an adapter, or both."""
    weights = _weights(folder, source.allow_pickle)
    whole = (folder / CONFIG).is_file() and bool(weights)
    if whole:
        check_parts(folder / CONFIG)
        _check_beside_config(folder)
    adapted = (folder / ADAPTER_CONFIG).is_file()
    if adapted:
        weights += _adapter_files(folder, source.adapters)
    elif not whole:
        _refuse(folder)

    name = hub_id or cached_repository(folder) or folder_name(folder)
    origin = ""
    if hub_id is not None or _is_in_cache(folder):
        revision = folder.name
    else:
        # All that can change the numbers.
        files = set(weights)
        for pattern in (CONFIG, *TOKENIZER_FILES, *source.extra_files):
            files.update(path for path in folder.glob(pattern) if path.is_file())
        revision = _sha256(files)
        origin = whole_path(folder)
    checkpoint = Checkpoint(folder, name, revision, folder, tuple(weights), origin=origin)

    if not adapted:
        return checkpoint
    if whole:
        return replace(checkpoint, adapter=folder, base=checkpoint.name)
    return _on_its_base(checkpoint, source)


def _is_in_cache(folder: Path) -> bool:
    """Whether a local folder is a commit in the hub's cache, whose files nobody changes.

    A folder elsewhere may be called like one, and may have been changed.
    """
    cache = Path(os.path.abspath(constants.HF_HUB_CACHE))
    is_below = Path(os.path.abspath(folder)).is_relative_to(cache)
    return is_below and cached_repository(folder) is not None


def _check_beside_config(folder: Path) -> None:
    """InputError if weights are read from elsewhere: they would be no part of the revision."""
    named = []
    with reason(f"{folder}: {CONFIG} or the index of its weights is damaged"):
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        named.append(config.get("transformers_weights") or "")
        for index in folder.glob("*.index.json"):
            named += json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
    for name in sorted(set(named)):
        if name != os.path.basename(name):
            raise InputError(f"{folder}: its weights are in {name}; put them next to {CONFIG}")


def _weights(folder: Path, allow_pickle: bool) -> list[Path]:
    """The files of a model's weights and their index: safetensors, else pickles if admitted."""
    safetensors = [path for path in folder.glob("*.safetensors*") if path.name not in ADAPTERS]
    pickles = list(folder.glob("pytorch_model*.bin*")) if allow_pickle else []
    # No pipes, which would be waited for.
    return [path for path in safetensors or pickles if path.is_file()]


def _adapter_files(folder: Path, names: Iterable[str]) -> list[Path]:
    """Config and weights of the adapter in a folder. InputError if there are no weights."""
    for name in names:
        if (folder / name).is_file():
            _need(folder, "a LoRA adapter", "peft", ("peft",))
            return [folder / ADAPTER_CONFIG, folder / name]
    raise InputError(
        f"{folder}: {ADAPTER_CONFIG} is there, {ADAPTERS[0]} is not; save the adapter whole"
        f" (if it was merged, delete {ADAPTER_CONFIG})"
    )


def _on_its_base(adapter: Checkpoint, source: Source) -> Checkpoint:
    """The checkpoint of an adapter's base model, with the adapter put on it."""
    folder = adapter.folder
    config = folder / ADAPTER_CONFIG
    with reason(f"{config}: not the config of an adapter"):
        fields = json.loads(config.read_text(encoding="utf-8"))
        base_name = str(fields["base_model_name_or_path"])
        revision = fields.get("revision")
    base_folder = Path(os.path.expanduser(base_name))
    # Looked for first: an adapter whose base is itself would be looked up for ever.
    if (base_folder / ADAPTER_CONFIG).is_file():
        _refuse_adapted(folder, base_name)
    try:
        base = _checkpoint(base_name, revision, source)
    except InputError as error:
        raise InputError(
            f"{folder}: its base model cannot be found: {error} (it is base_model_name_or_path in"
            f" {ADAPTER_CONFIG})"
        ) from error
    if base.adapter is not None:
        _refuse_adapted(folder, base_name)
    # Another adapter, or the same one on another base, gives other numbers.
    both = f"{adapter.revision} on {base.revision}"
    own_tokenizer = any(folder.glob("tokenizer*.json"))
    return Checkpoint(
        folder=base.folder,
        name=adapter.name,
        revision=f"sha256:{hashlib.sha256(both.encode()).hexdigest()}",
        tokenizer=folder if own_tokenizer else base.tokenizer,
        weights=base.weights,
        gguf=base.gguf,
        adapter=folder,
        base=base.name,
        origin=adapter.origin,
    )


def _refuse_adapted(folder: Path, base: str) -> NoReturn:
    raise InputError(f"{folder}: its base model {base} is an adapter itself; merge that first")


def _refuse(folder: Path) -> NoReturn:
    """InputError for a folder that holds no whole model: what is missing, and the way out."""
    gguf_files = sorted(folder.glob("*.gguf"))
    if gguf_files:
        raise InputError(
            f"{folder}: no model in safetensors there, but a GGUF file: give its path,"
            f" {gguf_files[0]} (and pip install 'rbpkit[gguf]')"
        )
    if not (folder / CONFIG).is_file():
        raise InputError(f"{folder}: no config.json there; give a folder that a model was saved to")
    raise InputError(
        f"{folder}: no weights there (model.safetensors); if they are pickle files, which can"
        " hold code, pass allow_pickle (--allow-pickle) or give a revision with safetensors"
    )


def _need(path: Path, what: str, extra: str, packages: Iterable[str]) -> None:
    """InputError that names the extra, unless the packages are installed."""
    if not all(find_spec(name) for name in packages):
        raise InputError(f"{path}: {what}: pip install 'rbpkit[{extra}]'")


def _sha256(files: Iterable[Path]) -> str:
    """ "sha256:..." over the names and contents of the files."""
    total = hashlib.sha256()
    for path in sorted(files):  # a folder lists its files in any order
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.name} {content}\n".encode())
    return f"sha256:{total.hexdigest()}"


def read_tokenizer(folder: Path, options: dict[str, Any]) -> tuple[AnyTokenizer, str]:
    """The tokenizer of a model's folder -> (the tokenizer, why it is not the library's, or "").

    The library rebuilds many tokenizers from vocabulary and merges by the rules of the class that
    `tokenizer_config.json` or the model's type names, and drops the rules in `tokenizer.json`. So
    both encode probe texts, and the file is used if they differ or if the library fails.

    Raises InputError if there is no tokenizer that can be read.
    """
    way_out = ""
    if any(folder.glob("*.model")) and not find_spec("sentencepiece"):
        way_out = "; pip install sentencepiece"
    with reason(f"{folder}: the tokenizer cannot be loaded{way_out}"):
        if "gguf_file" in options or not (folder / "tokenizer.json").is_file():
            return AutoTokenizer.from_pretrained(folder, **options), ""
        config = _tokenizer_config(folder)
        own = Tokenizer.from_file(str(folder / "tokenizer.json"))
        # Where texts are cut is decided here, and not by the file.
        own.no_truncation()
        own.no_padding()
        fault = "differs"
        try:
            tokenizer = _librarys_tokenizer(folder, config, options)
            if _encodes_as(tokenizer, own, config):
                return tokenizer, ""
        except Exception as error:
            if "trust_remote_code" in str(error):
                raise
            fault = f"fails ({one_line(error)})"
        remark = f"tokenizer.json, because what transformers makes of the folder {fault}"
        return _tokenizer_of_file(folder, config, own), remark


def _tokenizer_config(folder: Path) -> dict[str, Any]:
    path = folder / "tokenizer_config.json"
    if not path.is_file():
        return {}
    return json.loads(path.read_text(encoding="utf-8"))


def _librarys_tokenizer(
    folder: Path, config: dict[str, Any], options: dict[str, Any]
) -> AnyTokenizer:
    """What transformers makes of a folder."""
    if config.get("tokenizer_class") in GENERIC_TOKENIZERS:
        # The file is all there is to know, and AutoTokenizer may take the model type's class.
        return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    return AutoTokenizer.from_pretrained(folder, **options)


def _ends(config: dict[str, Any]) -> dict[str, Any]:
    """What the folder asks for at the ends of a text; the file need not have it."""
    return {key: config[key] for key in _ENDS if config.get(key) is not None}


def _special_tokens(own: Tokenizer) -> list[AddedToken]:
    return [token for token in own.get_added_tokens_decoder().values() if token.special]


def _encodes_as(tokenizer: AnyTokenizer, own: Tokenizer, config: dict[str, Any]) -> bool:
    """Whether the library's tokenizer encodes the probe texts as the file's does."""
    if not type(tokenizer).__module__.startswith("transformers."):
        return True  # the tokenizer's own code, which was asked for
    if not config:
        # Only the file tells what is special, and the library may not know it.
        special = {str(token) for token in _special_tokens(own)}
        if not special <= set(tokenizer.all_special_tokens):
            return False
    # Also words of its own vocabulary, whatever its language is; the same ones each time.
    words = random.Random(0).choices(sorted(own.get_vocab().values()), k=4000)
    with_ends = not _ends(config)
    for text in (*_probe_texts(), own.decode(words)):
        ids = tokenizer(text, add_special_tokens=with_ends)["input_ids"]
        if ids != own.encode(text, add_special_tokens=with_ends).ids:
            return False
    return True


def _tokenizer_of_file(folder: Path, config: dict[str, Any], own: Tokenizer) -> AnyTokenizer:
    """The tokenizer of `tokenizer.json`, with the special tokens that the folder names."""
    generic = PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    vocabulary = own.get_vocab()
    # A special token that the file lacks would get an id that the model does not know.
    named = {}
    for role, token in generic.special_tokens_map.items():
        if str(token) in vocabulary:
            named[role] = token
    return PreTrainedTokenizerFast(
        tokenizer_object=own,
        extra_special_tokens=_special_tokens(own),
        **named,
        **_ends(config),
    )


def put_adapter(network: PreTrainedModel, folder: Path) -> PreTrainedModel:
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


def quantisation(path: Path) -> str:
    """The type of most weights in a GGUF file, as the file says: Q4_K_M, F16, ..."""
    with reason(f"{path}: not a GGUF file that can be read"):
        from gguf import LlamaFileType
        from transformers.integrations.gguf import read_gguf_metadata

        metadata = read_gguf_metadata(str(path))[0]
        kind = metadata.get("general.file_type")
        return "unknown" if kind is None else LlamaFileType(kind).name.removeprefix("MOSTLY_")
