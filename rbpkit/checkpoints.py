"""A model's files: found in a folder or on the hub, named, and told from others by a revision.

No weights are read here but to hash them, and those of the hub are downloaded only by
`fetch_weights`. The folder of an adapter leads to the base model that it names.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from huggingface_hub import constants, snapshot_download
from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig, PreTrainedTokenizerFast
from transformers import PreTrainedTokenizerBase as AnyTokenizer

from rbpkit.errors import InputError, reason
from rbpkit.libraries import quiet
from rbpkit.names import AnyPath, name_of

CONFIG, ADAPTER_CONFIG = "config.json", "adapter_config.json"
SAFETENSORS = ("model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors")
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin")
ADAPTERS = ("adapter_model.safetensors", "adapter_model.bin")
TOKENIZER_FILES = ("*token*.json", "vocab.*", "merges.txt", "tekken.json", "*.model", "*.tiktoken")
PROCESSOR_FILES = ("*processor_config.json", "chat_template.*")  # of a model that reads pictures
SMALL_FILES = (CONFIG, ADAPTER_CONFIG, *ADAPTERS, *TOKENIZER_FILES, *PROCESSOR_FILES)

# Layers, heads or experts of a model; the largest have some hundreds.
_TOO_MANY_PARTS = re.compile(r'"\w*(?:layers?|heads?|experts|blocks|cycles)": *\d{5,}\b')

# No code that comes with a model is run, and all of its files are in a folder.
FOLDER_ALONE: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}


@dataclass
class Checkpoint:
    """Where the files of a model are.

    name: what the model is called in the records.
    folder: holds config and weights.
    tokenizer: the folder of the tokenizer, or the .gguf file.
    contents: what decides the numbers: a commit of the hub, or files; of an adapter its own and
        those of its base, and those of a tokenizer that is elsewhere.
    hub_id: of a model of the hub, whose weights may not be in `folder` yet.
    gguf: the file in `folder` that is the whole model, in that format.
    adapter: the folder of an adapter to put on the model.
    """

    name: str
    folder: Path
    tokenizer: Path
    contents: tuple[str | frozenset[Path], ...]
    hub_id: str | None = None
    gguf: str | None = None
    adapter: Path | None = None
    _times: dict[Path, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._times = self._times_now()

    def _times_now(self) -> dict[Path, int]:
        """When each local file was last changed or replaced."""
        local = [part for part in self.contents if not isinstance(part, str)]
        return {path: path.stat().st_ctime_ns for path in frozenset().union(*local)}

    def check_unchanged(self) -> None:
        """InputError if a file was changed since it was found."""
        if self._times_now() != self._times:
            raise InputError(f"{self.folder}: was changed while it was read; measure again")

    @functools.cached_property
    def revision(self) -> str:
        """A commit of the hub, or "sha256:..." over the files, which takes a while."""
        parts = [part if isinstance(part, str) else _sha256(part) for part in self.contents]
        if len(parts) == 1:
            return parts[0]
        return f"sha256:{hashlib.sha256(' on '.join(parts).encode()).hexdigest()}"


# -- where they are ---------------------------------------------------------------------------


def find_checkpoint(
    model: str, revision: str | None = None, tokenizer: AnyPath | None = None
) -> Checkpoint:
    """The files of a hub id, a folder or a .gguf file; of a model of the hub without its weights.

    revision: branch, tag or commit on the hub.
    tokenizer: folder or hub id of the tokenizer, if it is not beside the model.

    Raises InputError if there is no such folder and the hub does not give it.
    """
    found = _with_own_tokenizer(model, revision)
    if tokenizer is None:
        return found
    folder, content = located(tokenizer)
    return replace(found, tokenizer=folder, contents=(*found.contents, content))


def located(source: AnyPath, revision: str | None = None) -> tuple[Path, str | frozenset[Path]]:
    """The folder of a model or a tokenizer, and what decides its numbers: a commit, or its files.

    A folder goes before a hub id of the same name. Errors as `find_checkpoint`.
    """
    folder = Path(source).expanduser()
    if not folder.is_dir():
        folder = _from_hub(str(source), revision, SMALL_FILES)
        return folder, folder.name
    if revision is not None:
        raise InputError(f"{source}: a local folder has no revision {revision!r}; leave it out")
    return folder, _matching(folder, SMALL_FILES) | _weights(folder)


def _with_own_tokenizer(
    model: str, revision: str | None = None, is_base: bool = False
) -> Checkpoint:
    """A model with the tokenizer beside it. is_base: an adapter is to be put on it."""
    path, name = Path(model).expanduser(), name_of(model, revision)
    if path.suffix == ".gguf" and path.is_file():
        return Checkpoint(name, path.parent, path, (frozenset([path]),), gguf=path.name)
    folder, content = located(model, revision)
    found = Checkpoint(name, folder, folder, (content,), hub_id=None if path.is_dir() else model)
    if not (folder / ADAPTER_CONFIG).is_file():
        return found
    if is_base:
        raise InputError(f"{model}: is an adapter itself; merge that first")
    about = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))
    base_name, base_revision = about["base_model_name_or_path"], about.get("revision")
    base = _with_own_tokenizer(base_name, base_revision, is_base=True)
    has_tokenizer = any(folder.glob("tokenizer*.json"))
    return replace(
        base,
        name=name,
        # Another adapter, or the same one on another base, gives other numbers.
        contents=(content, *base.contents),
        tokenizer=folder if has_tokenizer else base.tokenizer,
        adapter=folder,
    )


def fetch_weights(checkpoint: Checkpoint) -> None:
    """Download the weights of a model of the hub, of the commit that its other files are of."""
    if checkpoint.hub_id is None:
        return
    commit = checkpoint.folder.name
    folder = _from_hub(checkpoint.hub_id, commit, SAFETENSORS)
    if not _weights(folder):
        # Only now, as most repositories hold the weights both ways.
        _from_hub(checkpoint.hub_id, commit, PICKLES)


def _from_hub(model: str, revision: str | None, patterns: Iterable[str]) -> Path:
    """The folder of a hub id in the cache, brought up to date if the network is there."""
    with reason(f"{model}: no such folder, and the hub does not give it"):
        folder = snapshot_download(
            model,
            revision=revision,
            allow_patterns=list(patterns),
            # Some versions ask for a commit's files with the network off, too.
            local_files_only=constants.HF_HUB_OFFLINE,
        )
    return Path(folder)


def _weights(folder: Path) -> frozenset[Path]:
    """The files of a model's weights and their index: safetensors, else pickles.

    torch reads pickles as weights only, so that they run no code. InputError for an index that
    names others than these, which alone are in the revision, and for a model.safetensors that it
    does not name, as the library would take either.
    """
    safetensors = _matching(folder, ["*.safetensors*"])
    of_model = frozenset(path for path in safetensors if path.name not in ADAPTERS)
    found = of_model or _matching(folder, ["pytorch_model*.bin*"])
    names = {path.name for path in found}
    for path in found:
        if path.suffix == ".json":
            named = set(json.loads(path.read_text(encoding="utf-8"))["weight_map"].values())
            differ = named - names | {SAFETENSORS[0]} & names - named
            if differ:
                fault = f"{path.name} and the weights there differ: {min(differ)}"
                raise InputError(f"{folder}: {fault}")
    return found


def _matching(folder: Path, patterns: Iterable[str]) -> frozenset[Path]:
    """The files of a folder that have one of these names. No pipes, which would be waited for."""
    found = (path for pattern in patterns for path in folder.glob(pattern))
    return frozenset(path for path in found if path.is_file())


def _sha256(files: Iterable[Path]) -> str:
    """ "sha256:..." over the names and contents of the files."""
    total = hashlib.sha256()
    for path in sorted(files):  # a folder lists its files in any order
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.name} {content}\n".encode())
    return f"sha256:{total.hexdigest()}"


# -- what is in them --------------------------------------------------------------------------


@quiet()
def read_config(checkpoint: Checkpoint) -> PreTrainedConfig:
    """The config of a model. Raises InputError as `_check_config`."""
    folder, gguf = checkpoint.folder, checkpoint.gguf
    if gguf is None:
        _check_config(folder, (folder / CONFIG).read_text(encoding="utf-8"))
    config = AutoConfig.from_pretrained(folder, gguf_file=gguf, **FOLDER_ALONE)
    _check_config(folder, config.to_json_string())
    return config


def _check_config(where: Path, config: str) -> None:
    """InputError for a config, as JSON, with a number of layers, heads or experts that none has.

    The library builds what a config describes before it looks at the weights: ten million layers
    would run until the process is killed.
    """
    found = _TOO_MANY_PARTS.search(config)
    if found:
        raise InputError(f"{where}: {found[0]}; no model has so many")


@quiet()
def read_tokenizer(path: Path) -> AnyTokenizer:
    """The tokenizer of a folder or a .gguf file. If there is a tokenizer.json, it alone decides.

    The library rebuilds many tokenizers from vocabulary and merges by the rules of the class that
    `tokenizer_config.json` or the model's type names, and drops the rules in `tokenizer.json`.
    """
    if path.is_file():
        with TemporaryDirectory() as alone:  # a tokenizer.json beside it would be taken
            (Path(alone) / path.name).symlink_to(path.absolute())
            return AutoTokenizer.from_pretrained(alone, gguf_file=path.name, **FOLDER_ALONE)
    if not (path / "tokenizer.json").is_file():
        return AutoTokenizer.from_pretrained(path, **FOLDER_ALONE)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(path, **FOLDER_ALONE)
    # Without a tokenizer_config.json only the file says what is special.
    special = [token for token in tokenizer.added_tokens_decoder.values() if token.special]
    tokenizer.add_special_tokens({"extra_special_tokens": special})
    # What is put at the ends of a text, if the folder says it; the file need not have it.
    described = path / "tokenizer_config.json"
    config = json.loads(described.read_text(encoding="utf-8")) if described.is_file() else {}
    for name in ("add_bos_token", "add_eos_token"):
        if config.get(name) is not None:
            setattr(tokenizer, name, config[name])
    return tokenizer
