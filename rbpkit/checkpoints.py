"""A model's files: found in a folder or on the hub, named, and told from others by a revision.

No weights are read here but to hash them, and those of the hub are downloaded only by `complete`.
The folder of an adapter leads to the base model that it names.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from huggingface_hub import constants, snapshot_download
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id
from safetensors import safe_open
from tokenizers import AddedToken, Tokenizer
from tqdm.auto import tqdm
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerFast
from transformers import PreTrainedTokenizerBase as AnyTokenizer

from rbpkit.errors import InputError, reason
from rbpkit.names import cached_repository, name_of

CONFIG, ADAPTER_CONFIG = "config.json", "adapter_config.json"
SAFETENSORS = ("model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors")
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin")
ADAPTERS = ("adapter_model.safetensors", "adapter_model.bin")
TOKENIZER_FILES = ("*token*.json", "vocab.*", "merges.txt", "tekken.json", "*.model", "*.tiktoken")
SMALL_FILES = (CONFIG, *TOKENIZER_FILES)  # all but weights

MOST_PARTS = 10_000
"""Layers, heads or experts of a model; the largest have some hundreds."""
_PARTS = re.compile("layers?$|heads?$|experts$|blocks$|cycles$")

# The hub's library makes a file of this name in its cache, so it must not lead out of there.
_REVISION = re.compile(r"(?!.*\.\.)\w[\w./-]*")


@dataclass(frozen=True)
class Source:
    """How the files of a model may be got.

    revision: of the model itself, if it is one of the hub.
    tokenizer: folder or hub id of its tokenizer, if it is not in the model's own folder.
    trust_remote_code: admit Python code that comes with it.
    others: patterns of further files that decide its numbers, as those of a processor.
    local_files_only: never ask the network.
    progress: show the hub's download bars.
    """

    revision: str | None = None
    tokenizer: str | os.PathLike[str] | None = None
    trust_remote_code: bool = False
    others: tuple[str, ...] = ()
    local_files_only: bool = False
    progress: bool = False

    @property
    def extra_files(self) -> list[str]:
        """Patterns of files besides config, weights and tokenizer."""
        code = ["*.py"] if self.trust_remote_code else []
        return [*code, *self.others]


Stamp = tuple[int, ...]


def _stamp(path: Path) -> Stamp:
    """What shows that a file was changed, its inode first; () if it is gone."""
    try:
        about = path.stat()
    except FileNotFoundError:
        return ()
    return about.st_ino, about.st_size, about.st_mtime_ns


@dataclass(frozen=True)
class Checkpoint:
    """Where the files of a model are.

    folder: holds config and weights.
    name: what the model is called in the records.
    contents: what decides the numbers: a commit of the hub, or files; of an adapter its own and
        those of its base, and those of a tokenizer that is elsewhere.
    tokenizer: the folder of the tokenizer.
    hub_id: of a model of the hub, whose weights may not be in `folder` yet.
    gguf: the file in `folder` that is the whole model, in that format.
    adapter: the folder of an adapter to put on the model.
    notes: what a reader has to know: "gguf", "tokenizer" or "adapter" -> a few words.
    """

    folder: Path
    name: str
    contents: tuple[str | frozenset[Path], ...]
    tokenizer: Path
    hub_id: str | None = None
    gguf: str | None = None
    adapter: Path | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    _stamps: dict[Path, Stamp] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = [part for part in self.contents if not isinstance(part, str)]
        stamps = {path: _stamp(path) for part in parts for path in part}
        object.__setattr__(self, "_stamps", stamps)

    def check_unchanged(self, or_moved: bool = True) -> None:
        """InputError if a file was changed since it was found; or_moved: or another took its place.

        Those of a commit of the hub do not change.
        """
        for path, before in self._stamps.items():
            now = _stamp(path)
            if now != before and (or_moved or now[:1] == before[:1]):
                raise InputError(f"{path}: was changed while it was read; measure again")

    @functools.cached_property
    def revision(self) -> str:
        """A commit of the hub, or "sha256:..." over the files, which takes a while."""
        parts = [part if isinstance(part, str) else _sha256(part) for part in self.contents]
        first, *others = parts
        for other in others:
            both = f"{first} on {other}"
            first = f"sha256:{hashlib.sha256(both.encode()).hexdigest()}"
        return first


class NoBar(tqdm):
    """A download bar that shows nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "disable": True})


# -- where they are ---------------------------------------------------------------------------


def find_checkpoint(model: str | os.PathLike[str], source: Source) -> Checkpoint:
    """The files of a hub id or a local path.

    It is called by its hub id, OWNER/NAME or OWNER/NAME@REVISION, or by the last two parts of the
    path, a .gguf file without its suffix.

    Raises InputError if there is no such folder and the hub does not give it, and for a folder
    without config, weights or tokenizer.
    """
    checkpoint = _checkpoint(os.fspath(model), source.revision, source)
    if source.tokenizer is None:
        if checkpoint.gguf is None:
            _check_tokenizer_files(checkpoint.tokenizer)
        return checkpoint

    folder, content = find_tokenizer(source.tokenizer, source)
    return replace(
        checkpoint,
        tokenizer=folder,
        contents=(*checkpoint.contents, content),
        notes={**checkpoint.notes, "tokenizer": f"of {name_of(str(folder))}"},
    )


def find_tokenizer(
    tokenizer: str | os.PathLike[str], source: Source
) -> tuple[Path, str | frozenset[Path]]:
    """The folder of a tokenizer, and what decides its numbers; errors as `find_checkpoint`."""
    folder = Path(tokenizer).expanduser()
    if not folder.is_dir():
        folder = _from_hub(str(tokenizer), None, source, SMALL_FILES)
    _check_tokenizer_files(folder)
    # Without a tokenizer.json its class decides, which config.json may name.
    return folder, folder.name if _is_in_cache(folder) else _matching(folder, SMALL_FILES)


def _checkpoint(
    model: str, revision: str | None, source: Source, is_base: bool = False
) -> Checkpoint:
    """A model with the tokenizer beside it. is_base: an adapter is to be put on it."""
    path, name = Path(model).expanduser(), name_of(model, revision)
    if path.suffix == ".gguf" and path.is_file():
        return Checkpoint(
            folder=path.parent,
            name=name,
            contents=(frozenset([path]),),
            tokenizer=path.parent,
            gguf=path.name,
            notes={"gguf": path.name},
        )
    if path.is_dir():  # goes before a hub id of the same name
        if revision is not None:
            raise InputError(f"{model}: a local folder has no revision {revision!r}; leave it out")
        found = Checkpoint(path, name, (_content(path, source),), tokenizer=path)
    else:
        found = _on_hub(model, revision, source)
    path = found.folder
    is_adapter = (path / ADAPTER_CONFIG).is_file()
    if is_adapter and is_base:
        raise InputError(f"{model}: is an adapter itself; merge that first")
    is_whole = (path / CONFIG).is_file()
    # Those of the hub come later, but for an adapter's.
    if found.hub_id is None or is_adapter:
        is_whole = is_whole and bool(_weights(path))
    if is_adapter:
        return _adapted(found, source, is_whole)
    if not is_whole:
        missing = "model.safetensors" if (path / CONFIG).is_file() else CONFIG
        inside = sorted(one.parent.name for one in path.glob(f"*/{CONFIG}"))
        there = f", as {inside[-1]} in it" if inside else ""
        raise InputError(f"{model}: no {missing} there; give a folder of a saved model{there}")
    return found


def _on_hub(model: str, revision: str | None, source: Source) -> Checkpoint:
    """A model of the hub, without its weights if it is no adapter."""
    patterns = [*SMALL_FILES, ADAPTER_CONFIG, *ADAPTERS, *source.extra_files]
    folder = _from_hub(model, revision, source, patterns)
    name = name_of(model, revision)
    found = Checkpoint(folder, name, (folder.name,), tokenizer=folder, hub_id=model)
    if (folder / ADAPTER_CONFIG).is_file():
        fetch_weights(found, source)
    return found


def fetch_weights(checkpoint: Checkpoint, source: Source) -> None:
    """Download the weights of a model of the hub, of the commit that its other files are of."""
    if checkpoint.hub_id is None:
        return
    commit = checkpoint.folder.name
    folder = _from_hub(checkpoint.hub_id, commit, source, SAFETENSORS)
    if not _weights(folder):
        # Only now, as most repositories hold the weights both ways.
        _from_hub(checkpoint.hub_id, commit, source, PICKLES)


def _from_hub(model: str, revision: str | None, source: Source, patterns: Iterable[str]) -> Path:
    """The folder of a hub id in the cache, brought up to date if the network is there."""
    if Path(model).is_file():
        raise InputError(f"{model}: a file; of files only .gguf are models (a text is --corpus)")
    try:
        validate_repo_id(model)
    except HFValidationError:
        raise InputError(f"{model}: no such folder") from None
    if revision is not None and not _REVISION.fullmatch(revision):
        raise InputError(f"{model}: revision {revision!r}: give a branch, a tag or a commit")
    with reason(f"{model}: no such folder, and the hub does not give it"):
        folder = snapshot_download(
            model,
            revision=revision,
            allow_patterns=list(patterns),
            # Some versions ask for a commit's files with the network off, too.
            local_files_only=source.local_files_only or constants.HF_HUB_OFFLINE,
            tqdm_class=None if source.progress else NoBar,
        )
    return Path(str(folder))


def _adapted(adapter: Checkpoint, source: Source, is_whole: bool) -> Checkpoint:
    """The base model with the adapter put on it; is_whole: they are in one folder."""
    folder = adapter.folder
    if is_whole:
        return replace(adapter, adapter=folder, notes={"adapter": f"put on {adapter.name}"})
    with reason(f"{folder / ADAPTER_CONFIG}: not the config of an adapter"):
        fields = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))
        base_name = str(fields["base_model_name_or_path"])
    base = _checkpoint(base_name, fields.get("revision"), source, is_base=True)
    has_tokenizer = any(folder.glob("tokenizer*.json"))
    return replace(
        base,
        name=adapter.name,
        # Another adapter, or the same one on another base, gives other numbers.
        contents=(*adapter.contents, *base.contents),
        tokenizer=folder if has_tokenizer else base.tokenizer,
        adapter=folder,
        notes={"adapter": f"put on {base.name}"},
    )


def _content(folder: Path, source: Source) -> str | frozenset[Path]:
    """What decides the numbers of a model in a local folder."""
    if _is_in_cache(folder):
        return folder.name
    names = (*SMALL_FILES, ADAPTER_CONFIG, *ADAPTERS, *source.extra_files)
    return _matching(folder, names) | _weights(folder)


def _is_in_cache(folder: Path) -> bool:
    """Whether a local folder is a commit in the hub's cache, whose files nobody changes.

    A folder elsewhere may be called like one, and may have been changed.
    """
    cache = Path(os.path.abspath(constants.HF_HUB_CACHE))
    is_below = Path(os.path.abspath(folder)).is_relative_to(cache)
    return is_below and cached_repository(folder) is not None


def _weights(folder: Path) -> frozenset[Path]:
    """The files of a model's weights and their index: safetensors, else pickles.

    torch reads pickles as weights only, so that they run no code.
    """
    safetensors = _matching(folder, ["*.safetensors*"])
    of_model = frozenset(path for path in safetensors if path.name not in ADAPTERS)
    found = of_model or _matching(folder, ["pytorch_model*.bin*"])
    named = map(_named_in, _matching(folder, [CONFIG, "*.index.json"]))
    return found.union(*named)


def _named_in(index: Path) -> set[Path]:
    """The files of weights that an index or a config names, as far as they are there.

    InputError for one in another folder, which would be no part of the revision.
    """
    with reason(f"{index}: cannot be read"):
        about = json.loads(index.read_text(encoding="utf-8"))
        names = {*about.get("weight_map", {}).values(), about.get("transformers_weights")} - {None}
        for name in names:
            if name != os.path.basename(name):
                raise InputError(f"{index.parent}: its weights are in {name}; put them next to it")
    return {path for name in names if (path := index.with_name(name)).is_file()}


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


def check_config(where: Path, config: str) -> None:
    """InputError for a config, as JSON, with a number of layers, heads or experts that none has.

    The library builds what a config describes before it looks at the weights: ten million layers
    would run until the process is killed.
    """

    def checked(pairs: list[tuple[str, Any]]) -> None:
        for key, value in pairs:
            if _PARTS.search(key) and isinstance(value, int) and value > MOST_PARTS:
                raise InputError(f"{where}: {key} is {value:,}; no model has so many")

    json.loads(config, object_pairs_hook=checked)


def check_shards(folder: Path) -> None:
    """InputError for weights that are in two files: the library would take those of either."""
    single, index = (folder / name for name in SAFETENSORS[:2])
    shards = _named_in(index) if index.is_file() else set()
    place: dict[str, Path] = {}
    for path in sorted(shards | ({single} if single.is_file() else set())):
        with safe_open(path, "pt") as weights:
            for key in weights.keys():
                if place.setdefault(key, path) != path:
                    both = f"{place[key].name} and {path.name}"
                    raise InputError(f"{folder}: {key} is in {both}; remove the older one")


def _check_tokenizer_files(folder: Path) -> None:
    """InputError for a folder without any: the library would make up an empty tokenizer."""
    if not _matching(folder, TOKENIZER_FILES):
        raise InputError(
            f"{folder}: no tokenizer files, such as tokenizer.json (Trainer saves them if it has"
            " processing_class=tokenizer); save them there, or name their folder, --tokenizer PATH"
            " (tokenizer=)"
        )


def reading_options(checkpoint: Checkpoint, source: Source) -> dict[str, Any]:
    """What every reader of the library is given: the config, and how to read the folder."""
    options: dict[str, Any] = {
        "trust_remote_code": source.trust_remote_code,
        # All files are in the folder; only code may be kept in another repository.
        "local_files_only": source.local_files_only or not source.trust_remote_code,
    }
    folder = checkpoint.folder
    if checkpoint.gguf is None:
        check_config(folder, (folder / CONFIG).read_text(encoding="utf-8"))
    else:
        options["gguf_file"] = checkpoint.gguf
    options["config"] = AutoConfig.from_pretrained(folder, **options)
    check_config(folder, options["config"].to_json_string())
    return options


def read_tokenizer(folder: Path, options: Mapping[str, Any]) -> AnyTokenizer:
    """The tokenizer of a folder. If there is a tokenizer.json, it alone decides.

    The library rebuilds many tokenizers from vocabulary and merges by the rules of the class that
    `tokenizer_config.json` or the model's type names, and drops the rules in `tokenizer.json`. A
    tokenizer with code of its own is left to the library, if that code is trusted.

    options: as `reading_options`; a folder that is not the model's is read with its own config.
    """
    gguf_file = options.get("gguf_file")
    if gguf_file and (folder / gguf_file).is_file():
        with TemporaryDirectory() as alone:  # a tokenizer.json beside it would be taken
            (Path(alone) / gguf_file).symlink_to((folder / gguf_file).absolute())
            return AutoTokenizer.from_pretrained(alone, **options)
    described = folder / "tokenizer_config.json"
    config = json.loads(described.read_text("utf-8")) if described.is_file() else {}
    has_own_code = options.get("trust_remote_code") and "AutoTokenizer" in str(
        [config.get("auto_map"), getattr(options.get("config"), "auto_map", None)]
    )
    if (folder / "tokenizer.json").is_file() and not has_own_code:
        return _tokenizer_of_file(folder, config)
    has_config = (folder / CONFIG).is_file()
    left_out = {"gguf_file", "config"} if has_config else {"gguf_file"}
    kept = {name: value for name, value in options.items() if name not in left_out}
    return AutoTokenizer.from_pretrained(folder, **kept)


def _tokenizer_of_file(folder: Path, config: Mapping[str, Any]) -> AnyTokenizer:
    """The tokenizer of tokenizer.json, with the special tokens that tokenizer_config.json names."""
    own = Tokenizer.from_file(str(folder / "tokenizer.json"))
    # Where texts are cut is decided here, and not by the file.
    own.no_truncation()
    own.no_padding()
    vocabulary = own.get_vocab()
    generic = PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    # A special token that the file lacks would get an id that the model does not know.
    named = {}
    for role, token in generic.special_tokens_map.items():
        if str(token) in vocabulary:
            named[role] = token
    # What is put at the ends of a text, if the folder says it; the file need not have it.
    ends = {}
    for name in ("add_bos_token", "add_eos_token"):
        if config.get(name) is not None:
            ends[name] = config[name]
    added = own.get_added_tokens_decoder().values()
    special: list[AddedToken] = [token for token in added if token.special]
    return PreTrainedTokenizerFast(
        tokenizer_object=own, extra_special_tokens=special, **named, **ends
    )
