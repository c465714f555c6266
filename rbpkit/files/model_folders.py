"""Find a model's files: a local folder, a GGUF file, or a hub id brought to a folder in the cache.

Model, config and tokenizer are then read from what was found. The folder of an adapter leads to the
base model that it names.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download
from tokenizers import Tokenizer
from tqdm.auto import tqdm
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast
from transformers import PreTrainedTokenizerBase as AnyTokenizer

from rbpkit.errors import InputError, one_line, reason
from rbpkit.files.architectures import nearest_model

CONFIG, ADAPTER_CONFIG = "config.json", "adapter_config.json"
GENERIC_TOKENIZERS = ("PreTrainedTokenizerFast", "TokenizersBackend")
SAFETENSORS = ("model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors")
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin")
ADAPTERS = ("adapter_model.safetensors", "adapter_model.bin")
PROCESSOR_FILES = ("*processor_config.json", "chat_template.*")  # of a model that reads pictures
TOKENIZER_FILES = ("*token*.json", "vocab.*", "merges.txt", "tekken.json", "*.model", "*.tiktoken")

# Texts on which the rules of tokenizers part: every three of these in a row.
_PARTS = " ,   ,\n,\t,a,The,'s,I'LL,7,1984,.,({,é,e\u0301,漢字,русский,\uff11,🙂".split(",")
_ENDS = ("add_bos_token", "add_eos_token")
_PROBES = ["".join(one + two + three for two in _PARTS for three in _PARTS) for one in _PARTS]


@dataclass(frozen=True)
class Checkpoint:
    """Where the files of a model are; `revision` is a hub commit or "sha256:...".

    folder: holds config and weights. tokenizer: the folder of the tokenizer. gguf: the file in
    `folder` that is the whole model, in that format. adapter: the folder of an adapter to put on
    the model; `base` is then the model's own name.
    """

    folder: Path
    name: str
    revision: str
    tokenizer: Path
    gguf: str | None = None
    adapter: Path | None = None
    base: str | None = None


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
    image: bool = False,
) -> Checkpoint:
    """The files of a hub id or a local path; see `load_model` for the arguments.

    Raises InputError if there is no such folder, the hub does not give the model, the folder has no
    config or no weights of the admitted kind, the base model of an adapter cannot be found, or the
    package that reads an adapter or a GGUF file is not installed.
    """
    folder = Path(os.path.expanduser(model))
    if folder.suffix == ".gguf" and folder.is_file():
        _need(folder, "a GGUF file", "gguf", ("gguf", "accelerate"))
        files, revision = folder.parent, _sha256([folder])
        return Checkpoint(files, folder.stem, revision, files, gguf=folder.name)
    hub = not os.path.isdir(folder)
    code = [*(["*.py"] if trust_remote_code else []), *(PROCESSOR_FILES if image else ())]
    options = {"allow_pickle": allow_pickle, "trust_remote_code": trust_remote_code}
    options |= {"image": image, "local_files_only": local_files_only, "progress": progress}
    if hub:
        where = {"local_files_only": local_files_only, "tqdm_class": None if progress else NoBar}
        patterns = [CONFIG, ADAPTER_CONFIG, ADAPTERS[0], *SAFETENSORS, *TOKENIZER_FILES, *code]
        with reason(
            f"{model}: no such folder, and the hub does not give it{nearest_model(str(model))}"
        ):
            folder = Path(
                snapshot_download(model, revision=revision, allow_patterns=patterns, **where)
            )
            if allow_pickle and not any(folder.glob("*.safetensors")):
                # Of the same commit, and only now: most repositories hold the weights both ways.
                pickles = [*PICKLES, ADAPTERS[1]]
                snapshot_download(model, revision=folder.name, allow_patterns=pickles, **where)
    elif revision is not None:
        raise InputError(f"{model}: a local folder has no revision {revision!r}; leave it out")
    weights = [path for path in folder.glob("*.safetensors*") if path.name not in ADAPTERS]
    if allow_pickle:
        weights = weights or list(folder.glob("pytorch_model*.bin*"))
    adapted = (folder / ADAPTER_CONFIG).is_file()
    whole = (folder / CONFIG).is_file() and bool(weights)
    if adapted:
        admitted = ADAPTERS if allow_pickle else ADAPTERS[:1]
        adapter = [folder / name for name in admitted if (folder / name).is_file()][:1]
        if not adapter:
            raise InputError(
                f"{folder}: {ADAPTER_CONFIG} is there, {ADAPTERS[0]} is not; save the adapter whole"
                f" (if it was merged, delete {ADAPTER_CONFIG})"
            )
        weights += [folder / ADAPTER_CONFIG, *adapter]
        _need(folder, "a LoRA adapter", "peft", ("peft",))
    elif not whole:
        _refuse(folder)
    repository = folder.parent.parent.name
    if folder.parent.name == "snapshots" and repository.startswith("models--"):
        # The hub's cache: models--OWNER--NAME/snapshots/COMMIT
        name = str(model) if hub else repository.removeprefix("models--").replace("--", "/")
        found = Checkpoint(folder, name, folder.name, folder)
    else:
        # All that can change the numbers.
        others = [path for kind in (CONFIG, *TOKENIZER_FILES, *code) for path in folder.glob(kind)]
        revision = _sha256({*weights, *others})
        found = Checkpoint(folder, folder.resolve().name, revision, folder)
    if adapted and whole:
        return replace(found, adapter=folder, base=found.name)
    return _on_its_base(found, options) if adapted else found


def _on_its_base(found: Checkpoint, options: dict[str, Any]) -> Checkpoint:
    """The checkpoint of an adapter's base model, with the adapter in `found` put on it."""
    folder = found.folder
    with reason(f"{folder / ADAPTER_CONFIG}: not the config of an adapter"):
        described = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))
        named, revision = str(described["base_model_name_or_path"]), described.get("revision")
    try:
        base = find_checkpoint(named, revision=revision, **options)
    except InputError as error:
        raise InputError(
            f"{folder}: its base model cannot be found: {error} (it is base_model_name_or_path in"
            f" {ADAPTER_CONFIG})"
        ) from error
    if base.adapter is not None:
        raise InputError(f"{folder}: its base model {named} is an adapter itself; merge that first")
    both = hashlib.sha256(f"{found.revision} on {base.revision}".encode()).hexdigest()
    tokenizer = folder if any(folder.glob("tokenizer*.json")) else base.tokenizer
    there = {"gguf": base.gguf, "adapter": folder, "base": base.name}
    return Checkpoint(base.folder, found.name, f"sha256:{both}", tokenizer, **there)


def _refuse(folder: Path) -> None:
    """InputError for a folder that holds no whole model: what is missing, and the way out."""
    if gguf := sorted(folder.glob("*.gguf")):
        raise InputError(
            f"{folder}: no model in safetensors there, but a GGUF file: give its path, {gguf[0]}"
            " (and pip install 'rbpkit[gguf]')"
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
    for path in sorted(files):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.name} {content}\n".encode())
    return f"sha256:{total.hexdigest()}"


def load_tokenizer(folder: Path, options: dict[str, Any]) -> tuple[AnyTokenizer, str]:
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
        described = {}
        if (folder / "tokenizer_config.json").is_file():
            described = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        build, given = AutoTokenizer.from_pretrained, options
        if "gguf_file" in options or not (folder / "tokenizer.json").is_file():
            return build(folder, **given), ""
        own = Tokenizer.from_file(str(folder / "tokenizer.json"))
        own.no_truncation()
        own.no_padding()
        vocabulary = own.get_vocab()
        special = [token for token in own.get_added_tokens_decoder().values() if token.special]
        words = random.Random(0).choices(sorted(vocabulary.values()), k=4000)
        ends = {key: described[key] for key in _ENDS if described.get(key) is not None}
        if described.get("tokenizer_class") in GENERIC_TOKENIZERS:
            # The file is all there is to know, and AutoTokenizer may take the model type's class.
            build, given = PreTrainedTokenizerFast.from_pretrained, {"local_files_only": True}
        why = "differs"
        try:
            tokenizer = build(folder, **given)
            # The tokenizer's own code was asked for. Ends that the folder asks for may not be
            # the file's.
            # If only the file tells what is special, the library may not know it.
            known = described or {str(token) for token in special} <= {
                *tokenizer.all_special_tokens
            }
            if not type(tokenizer).__module__.startswith("transformers.") or all(
                known
                and tokenizer(text, add_special_tokens=not ends)["input_ids"]
                == own.encode(text, add_special_tokens=not ends).ids
                for text in (*_PROBES, own.decode(words))
            ):
                return tokenizer, ""
        except Exception as error:
            if "trust_remote_code" in str(error):
                raise
            why = f"fails ({one_line(error)})"
        generic = PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
        # A special token that the file lacks would get an id that the model does not know.
        named = {key: t for key, t in generic.special_tokens_map.items() if str(t) in vocabulary}
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=own, extra_special_tokens=special, **named, **ends
        )
    return tokenizer, f"tokenizer.json, because what transformers makes of the folder {why}"


def put_adapter(network: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """The model with the adapter of a PEFT folder in its layers, not merged into their weights.

    Raises InputError for an adapter that works on the prompt, and for one whose weights are not
    all those that its config says, and no others.
    """
    from peft import PeftConfig, get_peft_model

    with reason(f"{folder}: the adapter does not fit its base model"):
        config = PeftConfig.from_pretrained(folder, inference_mode=True)
        if config.is_prompt_learning:
            raise InputError(f"{folder}: an adapter of the prompt; give one of the layers (LoRA)")
        adapted = get_peft_model(network, config)
        renamed = getattr(network, "_checkpoint_conversion_mapping", {})
        found = adapted.load_adapter(folder, "default", key_mapping=renamed)
    for fault, keys in (("missing", found.missing_keys), ("unused", found.unexpected_keys)):
        if keys:
            raise InputError(f"{folder}: {len(keys)} weight(s) of the adapter {fault}: {keys[0]}")
    return adapted.get_base_model()


def quantisation(path: Path) -> str:
    """The type of most weights in a GGUF file, as the file says: Q4_K_M, F16, ..."""
    with reason(f"{path}: not a GGUF file that can be read"):
        from gguf import LlamaFileType
        from transformers.integrations.gguf import read_gguf_metadata

        kind = read_gguf_metadata(str(path))[0].get("general.file_type")
        return "unknown" if kind is None else LlamaFileType(kind).name.removeprefix("MOSTLY_")
