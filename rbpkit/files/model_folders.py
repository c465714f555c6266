"""Find a model's files: a local folder, or a hub id brought to one commit's folder in the cache.

All is checked before anything is loaded, so that an error names the file. Model, config and
tokenizer are then read from that one folder.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HFValidationError,
    IncompleteSnapshotError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from safetensors import SafetensorError, safe_open
from tqdm.auto import tqdm
from transformers import (
    CONFIG_MAPPING,
    AutoTokenizer,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from rbpkit.errors import InputError, one_line
from rbpkit.files.architectures import nearest_model

CONFIG = "config.json"
GENERIC_TOKENIZERS = ("PreTrainedTokenizerFast", "TokenizersBackend")
SAFETENSORS = ("model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors")
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin")
# One of these holds a vocabulary; without any the library makes up a tokenizer of one token.
_VOCABULARY = (
    "tokenizer.json",
    "vocab.json",
    "vocab.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tekken.json",
    "*.tiktoken",
)
TOKENIZER_FILES = (
    *_VOCABULARY,
    "merges.txt",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)


@dataclass(frozen=True)
class Checkpoint:
    """A folder that holds a whole model; `revision` is a hub commit or "sha256:..."."""

    folder: Path
    name: str
    revision: str


class NoBar(tqdm):
    """A download bar that shows nothing."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **{**kwargs, "disable": True})


def find_checkpoint(
    model: str | Path,
    *,
    revision: str | None = None,
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    local_files_only: bool = False,
    progress: bool = False,
) -> Checkpoint:
    """The checked folder of a hub id or a local path; see `load_model` for the arguments.

    Raises InputError: no such folder, hub id out of reach, no config, weights or tokenizer,
    a shard that is missing, a damaged safetensors file, pickle only, its own code needed.
    """
    try:
        folder = Path(model).expanduser()
        there = folder.is_file()
    except (OSError, RuntimeError) as error:  # a name too long, or "~" and no such user
        raise InputError(f"{model}: no such folder, and no hub id either ({error})") from error
    if there:
        raise InputError(f"{model}: a file; give the folder that holds config.json")
    hub = not folder.is_dir()
    if hub:
        if isinstance(model, Path) or model.startswith((".", "/", "~")) or model.count("/") > 1:
            raise InputError(f"{model}: no such folder; give a model's folder or a hub id")
        where = {"revision": revision, "local_files_only": local_files_only}
        where |= {"tqdm_class": None if progress else NoBar}
        code = ["*.py"] if trust_remote_code else []
        folder = _from_hub(model, [CONFIG, *SAFETENSORS, *TOKENIZER_FILES, *code], where)
        if not any(folder.glob("model*.safetensors")):
            if not allow_pickle:
                raise InputError(
                    f"{model}: no safetensors at this revision; give one that has them, or pass"
                    " allow_pickle (--allow-pickle) to read its pickle files"
                )
            # Of the same commit, and only now: most repositories hold the weights in both ways.
            folder = _from_hub(model, list(PICKLES), {**where, "revision": folder.name})
    elif revision is not None:
        raise InputError(f"{model}: a local folder has no revision {revision!r}; leave it out")
    _check_config(folder, trust_remote_code)
    files = _weight_files(folder, allow_pickle)
    tokenizer = [path for pattern in TOKENIZER_FILES for path in folder.glob(pattern)]
    if not any(path.match(pattern) for path in tokenizer for pattern in _VOCABULARY):
        raise InputError(
            f"{folder}: no tokenizer there (tokenizer.json, vocab.json, tokenizer.model, ...);"
            " save the model's own with tokenizer.save_pretrained"
        )
    repository = folder.parent.parent.name
    if folder.parent.name == "snapshots" and repository.startswith("models--"):
        # The hub's cache: models--OWNER--NAME/snapshots/COMMIT
        name = repository.removeprefix("models--").replace("--", "/")
        return Checkpoint(folder, model if hub else name, folder.name)
    code = folder.glob("*.py") if trust_remote_code else []
    digest = _digest(folder, [folder / CONFIG, *files, *tokenizer, *code])
    return Checkpoint(folder, folder.resolve().name, f"sha256:{digest}")


def _from_hub(hub_id: str, patterns: list[str], where: dict) -> Path:
    try:
        return Path(snapshot_download(hub_id, allow_patterns=patterns, **where))
    except HFValidationError as error:
        raise InputError(f"{hub_id!r}: no such folder, and no hub id either") from error
    except GatedRepoError as error:
        raise InputError(
            f"{hub_id}: gated; accept its terms at https://huggingface.co/{hub_id}, then log in"
            " with `hf auth login`"
        ) from error
    except RepositoryNotFoundError as error:
        raise InputError(
            f"{hub_id}: no such folder, and no such model on the hub (or a private one: log in"
            f" with `hf auth login`){nearest_model(hub_id)}"
        ) from error
    except RevisionNotFoundError as error:
        raise InputError(f"{hub_id}: the hub has no revision {where['revision']!r}") from error
    except IncompleteSnapshotError as error:
        raise InputError(
            f"{hub_id}: the local hub cache lacks some of its files and the hub is not reached;"
            " load it once with a network"
        ) from error
    except LocalEntryNotFoundError as error:
        reason = "it is not asked" if error.__cause__ is None else one_line(error.__cause__)
        raise InputError(
            f"{hub_id}: no such folder, not in the local hub cache, and not from the hub"
            f" ({reason}); give a folder, or load it once with a network{nearest_model(hub_id)}"
        ) from error
    except Exception as error:  # the hub's HTTP library has errors of its own
        raise InputError(f"{hub_id}: the hub did not give it ({one_line(error)})") from error


def _check_config(folder: Path, trust_remote_code: bool) -> None:
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(f"{folder}: no config.json there; give a folder that a model was saved to")
    config = _json(path)
    own_code = "auto_map" in config and config.get("model_type") not in CONFIG_MAPPING
    if own_code and not trust_remote_code:
        raise InputError(
            f"{folder}: the model needs Python code of its own; read it, then pass"
            " trust_remote_code (--trust-remote-code)"
        )


def _weight_files(folder: Path, allow_pickle: bool) -> list[Path]:
    for whole, index, _ in (SAFETENSORS, PICKLES) if allow_pickle else (SAFETENSORS,):
        if (folder / whole).is_file():
            files = [folder / whole]
        elif (folder / index).is_file():
            files = [folder / index, *_parts(folder / index)]
        else:
            continue
        for path in files:
            _check_weights(path)
        return files
    if any(any(folder.glob(pattern)) for pattern in PICKLES):
        raise InputError(
            f"{folder}: its weights are pickle files (pytorch_model*.bin), which can hold code;"
            " pass allow_pickle (--allow-pickle), or a revision with safetensors"
        )
    raise InputError(f"{folder}: no weights there (model.safetensors); give a model's folder")


def _parts(index: Path) -> list[Path]:
    """The files that an index of weights names, all of them in its own folder."""
    places = _json(index).get("weight_map")
    names = set(map(str, places.values())) if isinstance(places, dict) else set()
    if not names or any(Path(name).name != name or "\0" in name for name in names):
        raise InputError(f"{index}: names no files of this folder; fetch the model again")
    return [index.parent / name for name in sorted(names)]


def _check_weights(path: Path) -> None:
    if not path.is_file():
        raise InputError(f"{path}: this part of the weights is missing; fetch the model again")
    if path.suffix == ".safetensors":
        try:
            with safe_open(path, framework="pt"):  # compares the header with the file's length
                pass
        except (SafetensorError, OSError) as error:
            with path.open("rb") as file:
                pointer = file.read(40).startswith(b"version https://git-lfs")
            reason = "a Git LFS pointer, not the weights" if pointer else str(error)
            raise InputError(f"{path}: damaged ({reason}); fetch the file again") from error


def _json(path: Path) -> dict:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); fetch the file again") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: not a JSON object; fetch the file again")
    return content


def _digest(folder: Path, files: list[Path]) -> str:
    """sha256 over the names and contents of all that can change the numbers."""
    total = hashlib.sha256()
    for path in sorted(set(files)):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return total.hexdigest()


def load_tokenizer(folder: Path, options: dict[str, Any]) -> PreTrainedTokenizerBase:
    """The tokenizer of a model's folder, as its own `tokenizer.json` says.

    Where `tokenizer_config.json` names no class of a family, the file is all there is to know.
    `AutoTokenizer` would still rebuild some (those of `qwen2` models) from vocabulary and merges
    by the rules of the real family, and cut text otherwise than in training.
    """
    described = folder / "tokenizer_config.json"
    if (folder / "tokenizer.json").is_file() and described.is_file():
        named = json.loads(described.read_text(encoding="utf-8")).get("tokenizer_class")
        if named in GENERIC_TOKENIZERS:
            return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    return AutoTokenizer.from_pretrained(folder, **options)
