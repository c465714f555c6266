"""Find a model's files: a local folder, or a hub id brought to one commit's folder in the cache.

Model, config and tokenizer are then read from that one folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download
from tqdm.auto import tqdm
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from rbpkit.errors import InputError, reason
from rbpkit.files.architectures import nearest_model

CONFIG = "config.json"
GENERIC_TOKENIZERS = ("PreTrainedTokenizerFast", "TokenizersBackend")
SAFETENSORS = ("model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors")
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin")
TOKENIZER_FILES = ("*token*.json", "vocab.*", "merges.txt", "tekken.json", "*.model", "*.tiktoken")


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
    """The folder of a hub id or a local path; see `load_model` for the arguments.

    Raises InputError if there is no such folder, the hub does not give the model, or the folder
    has no config or no weights of the admitted kind.
    """
    folder = Path(os.path.expanduser(model))
    hub = not os.path.isdir(folder)
    code = ["*.py"] if trust_remote_code else []
    if hub:
        where = {"local_files_only": local_files_only, "tqdm_class": None if progress else NoBar}
        patterns = [CONFIG, *SAFETENSORS, *TOKENIZER_FILES, *code]
        with reason(
            f"{model}: no such folder, and the hub does not give it{nearest_model(str(model))}"
        ):
            folder = Path(
                snapshot_download(model, revision=revision, allow_patterns=patterns, **where)
            )
            if allow_pickle and not any(folder.glob("*.safetensors")):
                # Of the same commit, and only now: most repositories hold the weights both ways.
                snapshot_download(
                    model, revision=folder.name, allow_patterns=list(PICKLES), **where
                )
    elif revision is not None:
        raise InputError(f"{model}: a local folder has no revision {revision!r}; leave it out")
    if not (folder / CONFIG).is_file():
        raise InputError(f"{folder}: no config.json there; give a folder that a model was saved to")
    weights = list(folder.glob("*.safetensors*"))
    if allow_pickle:
        weights = weights or list(folder.glob("pytorch_model*.bin*"))
    if not weights:
        raise InputError(
            f"{folder}: no weights there (model.safetensors); if they are pickle files, which can"
            " hold code, pass allow_pickle (--allow-pickle) or give a revision with safetensors"
        )
    repository = folder.parent.parent.name
    if folder.parent.name == "snapshots" and repository.startswith("models--"):
        # The hub's cache: models--OWNER--NAME/snapshots/COMMIT
        name = repository.removeprefix("models--").replace("--", "/")
        return Checkpoint(folder, str(model) if hub else name, folder.name)
    # A sha256 over the names and contents of all that can change the numbers.
    total = hashlib.sha256()
    others = [path for name in (CONFIG, *TOKENIZER_FILES, *code) for path in folder.glob(name)]
    for path in sorted({*weights, *others}):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.name} {content}\n".encode())
    return Checkpoint(folder, folder.resolve().name, f"sha256:{total.hexdigest()}")


def load_tokenizer(folder: Path, options: dict[str, Any]) -> PreTrainedTokenizerBase:
    """The tokenizer of a model's folder, as its own `tokenizer.json` says.

    If `tokenizer_config.json` names no class of a family, the file is all there is to know.
    `AutoTokenizer` would still rebuild some of these (those of `qwen2` models) from vocabulary and
    merges by the rules of the real family, and cut text differently than in training.
    """
    described = folder / "tokenizer_config.json"
    if (folder / "tokenizer.json").is_file() and described.is_file():
        named = json.loads(described.read_text(encoding="utf-8")).get("tokenizer_class")
        if named in GENERIC_TOKENIZERS:
            return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    return AutoTokenizer.from_pretrained(folder, **options)
