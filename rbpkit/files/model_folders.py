"""Find a model's files: a local folder, a GGUF file, or a hub id brought to a folder in the cache.

The folder of an adapter leads to the base model that it names. `files.reading` reads what was
found.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from huggingface_hub import constants, snapshot_download
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id
from tqdm.auto import tqdm

from rbpkit.errors import InputError, nearest, reason
from rbpkit.files.architectures import ARCHITECTURES
from rbpkit.files.names import cached_repository, folder_name, whole_path

CONFIG, ADAPTER_CONFIG = "config.json", "adapter_config.json"
SAFETENSORS = ("model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors")
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin")
ADAPTERS = ("adapter_model.safetensors", "adapter_model.bin")
TOKENIZER_FILES = ("*token*.json", "vocab.*", "merges.txt", "tekken.json", "*.model", "*.tiktoken")
SMALL_FILES = (CONFIG, *TOKENIZER_FILES)  # all but weights

MOST_PARTS = 10_000
"""Layers, heads or experts of a model; the largest have some hundreds."""

# The hub's library makes a file of this name in its cache, so it must not lead out of there.
_REVISION = re.compile(r"(?!.*\.\.)\w[\w./-]*")

_PARTS = re.compile("layers?$|heads?$|experts$|blocks$")


@dataclass(frozen=True)
class Source:
    """How the files of a model may be got.

    revision: of the model itself, if it is one of the hub.
    tokenizer: folder or hub id of its tokenizer, if it is not in the model's own folder.
    trust_remote_code: admit Python code that comes with it.
    others: patterns of further files that decide its numbers, as those of a processor.
    local_files_only: never ask the network.
    progress: show the hub's download bars.
    weights: False if it is only asked whether the hub has the model; its config and tokenizer are
        downloaded then, and no weights.
    """

    revision: str | None = None
    tokenizer: str | os.PathLike[str] | None = None
    trust_remote_code: bool = False
    others: tuple[str, ...] = ()
    local_files_only: bool = False
    progress: bool = False
    weights: bool = True

    @property
    def extra_files(self) -> list[str]:
        """Patterns of files besides config, weights and tokenizer."""
        code = ["*.py"] if self.trust_remote_code else []
        return [*code, *self.others]


@dataclass(frozen=True)
class Checkpoint:
    """Where the files of a model are.

    folder: holds config and weights.
    name: what the model is called in the records.
    contents: what decides the numbers: a commit of the hub, or files; of an adapter its own and
        those of its base, and those of a tokenizer that is elsewhere.
    tokenizer: the folder of the tokenizer.
    gguf: the file in `folder` that is the whole model, in that format.
    adapter: the folder of an adapter to put on the model.
    base: the name of the model that the adapter is put on.
    tokenizer_name: of a tokenizer that is not the model's own.
    origin: the local folder that `name` is of, as a whole path; "" of a model of the hub.
    """

    folder: Path
    name: str
    contents: tuple[str | frozenset[Path], ...]
    tokenizer: Path
    gguf: str | None = None
    adapter: Path | None = None
    base: str | None = None
    tokenizer_name: str | None = None
    origin: str = ""

    @functools.cached_property
    def revision(self) -> str:
        """A commit of the hub, or "sha256:..." over the files, which takes a while."""
        first, *others = (
            part if isinstance(part, str) else _sha256(part) for part in self.contents
        )
        for other in others:
            both = f"{first} on {other}"
            first = f"sha256:{hashlib.sha256(both.encode()).hexdigest()}"
        return first


class NoBar(tqdm):
    """A download bar that shows nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "disable": True})


def find_checkpoint(model: str | os.PathLike[str], source: Source) -> Checkpoint:
    """The files of a hub id or a local path.

    Raises InputError if there is no such folder, the hub does not give the model, the folder has no
    config, no tokenizer or no weights of the admitted kind, the base model of an adapter cannot be
    found, or the package that reads an adapter or a GGUF file is not installed.
    """
    checkpoint = _checkpoint(model, source.revision, source)
    if source.tokenizer is not None:
        folder = Path(os.path.expanduser(source.tokenizer))
        if not folder.is_dir():
            folder = _from_hub(str(source.tokenizer), None, source, [CONFIG, *TOKENIZER_FILES])
        files = _matching(folder, TOKENIZER_FILES)
        own = folder.name if _is_in_cache(folder) else files
        return replace(
            checkpoint,
            tokenizer=folder,
            tokenizer_name=cached_repository(folder) or folder_name(folder),
            contents=(*checkpoint.contents, own),
        )
    return checkpoint


def _checkpoint(model: str | os.PathLike[str], revision: str | None, source: Source) -> Checkpoint:
    path = Path(os.path.expanduser(model))
    if path.suffix == ".gguf" and path.is_file():
        _need(path, "a GGUF file", "gguf", ("gguf", "accelerate"))
        return Checkpoint(
            folder=path.parent,
            name=path.stem,
            contents=(frozenset([path]),),
            tokenizer=path.parent,
            gguf=path.name,
            origin=whole_path(path.with_suffix("")),
        )
    if path.is_dir():  # goes before a hub id of the same name
        if revision is not None:
            raise InputError(f"{model}: a local folder has no revision {revision!r}; leave it out")
        return _in_folder(path, None, source)
    patterns = [CONFIG, ADAPTER_CONFIG, *TOKENIZER_FILES, *source.extra_files]
    if source.weights:
        patterns += [ADAPTERS[0], *SAFETENSORS]
    folder = _from_hub(str(model), revision, source, patterns)
    return _in_folder(folder, str(model), source)


def _from_hub(model: str, revision: str | None, source: Source, patterns: Iterable[str]) -> Path:
    """The folder of a hub id in the cache, brought up to date if the network is there."""
    near = _nearest(model)
    try:
        validate_repo_id(model)
    except HFValidationError:
        raise InputError(f"{model}: no such folder{near}") from None
    fetch = functools.partial(
        snapshot_download,
        model,
        # Some versions ask for a commit's files with the network off, too.
        local_files_only=source.local_files_only or constants.HF_HUB_OFFLINE,
        tqdm_class=None if source.progress else NoBar,
    )
    if revision is not None and not _REVISION.fullmatch(revision):
        raise InputError(f"{model}: revision {revision!r}: give a branch, a tag or a commit")
    with reason(f"{model}: no such folder, and the hub does not give it{near}"):
        folder = Path(str(fetch(revision=revision, allow_patterns=list(patterns))))
        has_pickles_alone = source.weights and not any(folder.glob("*.safetensors"))
        if has_pickles_alone:
            # Only now, as most repositories hold the weights both ways; and of the same commit.
            fetch(revision=folder.name, allow_patterns=[*PICKLES, ADAPTERS[1]])
    return folder


def _nearest(model: str) -> str:
    """ "; did you mean NAME?": the nearest of the paper's models, or folder next to the path."""
    if model in ARCHITECTURES:  # right, but out of reach
        return ""
    path = Path(os.path.expanduser(model))
    folders = path.parent.glob("*/") if path.parent.is_dir() else ()
    return nearest(model, ARCHITECTURES) or nearest(path.name, [one.name for one in folders])


def _in_folder(folder: Path, hub_id: str | None, source: Source) -> Checkpoint:
    """The checkpoint in a folder: a whole model, an adapter, or both."""
    weights = _weights(folder)
    still_on_hub = hub_id is not None and not source.weights
    whole = (folder / CONFIG).is_file() and (bool(weights) or still_on_hub)
    if whole:
        _check_config(folder)
    adapted = (folder / ADAPTER_CONFIG).is_file()
    if adapted and not still_on_hub:
        weights += _adapter_files(folder)
    elif not whole and not adapted:
        _refuse(folder)

    files = {*weights, *_matching(folder, (CONFIG, *TOKENIZER_FILES, *source.extra_files))}
    in_cache = hub_id is not None or _is_in_cache(folder)
    checkpoint = Checkpoint(
        folder=folder,
        name=hub_id or cached_repository(folder) or folder_name(folder),
        contents=(folder.name if in_cache else frozenset(files),),
        tokenizer=folder,
        origin="" if in_cache else whole_path(folder),
    )
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


def _matching(folder: Path, patterns: Iterable[str]) -> frozenset[Path]:
    """The files of a folder that have one of these names. No pipes, which would be waited for."""
    found = (path for pattern in patterns for path in folder.glob(pattern))
    return frozenset(path for path in found if path.is_file())


def check_tokenizer_files(folder: Path) -> None:
    """InputError for a folder without any: the library would make up an empty tokenizer."""
    if not _matching(folder, TOKENIZER_FILES):
        raise InputError(
            f"{folder}: no tokenizer files, such as tokenizer.json (Trainer saves them if it has"
            " processing_class=tokenizer); save them there, or name their folder, --tokenizer PATH"
            " (tokenizer=)"
        )


def _check_config(folder: Path) -> None:
    """InputError for a config that cannot be trusted with what is in the folder.

    The library builds what a config describes before it looks at the weights: ten million layers
    would run until the process is killed. Weights in another folder would be no part of the
    revision.
    """

    def checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for key, value in pairs:
            if _PARTS.search(key) and isinstance(value, int) and value > MOST_PARTS:
                raise InputError(f"{folder}: {key} is {value:,}; no model has so many")
        return dict(pairs)

    with reason(f"{folder}: {CONFIG} or the index of its weights is damaged"):
        text = (folder / CONFIG).read_text(encoding="utf-8")
        config = json.loads(text, object_pairs_hook=checked)
        named = [config.get("transformers_weights") or ""]
        for index in folder.glob("*.index.json"):
            named += json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
    for name in sorted(set(named)):
        if name != os.path.basename(name):
            raise InputError(f"{folder}: its weights are in {name}; put them next to {CONFIG}")


def _weights(folder: Path) -> list[Path]:
    """The files of a model's weights and their index: safetensors, else pickles.

    torch reads pickles as weights only, so that they run no code.
    """
    safetensors = _matching(folder, ["*.safetensors*"])
    of_model = [path for path in safetensors if path.name not in ADAPTERS]
    if of_model:
        return of_model
    return list(_matching(folder, ["pytorch_model*.bin*"]))


def _adapter_files(folder: Path) -> list[Path]:
    """Config and weights of the adapter in a folder. InputError if there are no weights."""
    for name in ADAPTERS:
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
    is_adapter = (base_folder / ADAPTER_CONFIG).is_file()
    if not is_adapter:
        try:
            base = _checkpoint(base_name, revision, source)
        except InputError as error:
            raise InputError(
                f"{folder}: its base model cannot be found: {error} (it is"
                f" base_model_name_or_path in {ADAPTER_CONFIG})"
            ) from error
        is_adapter = base.adapter is not None
    if is_adapter:
        raise InputError(
            f"{folder}: its base model {base_name} is an adapter itself; merge that first"
        )
    own_tokenizer = any(folder.glob("tokenizer*.json"))
    return replace(
        base,
        name=adapter.name,
        # Another adapter, or the same one on another base, gives other numbers.
        contents=(*adapter.contents, *base.contents),
        tokenizer=folder if own_tokenizer else base.tokenizer,
        adapter=folder,
        base=base.name,
        origin=adapter.origin,
    )


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
    raise InputError(f"{folder}: no weights there (model.safetensors)")


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
