"""Language models as the measuring needs them: a tokenizer, hidden states, one linear output head.

`load_model` opens a hub id or a local folder and refuses what would give wrong numbers without a
word: a tokenizer that is not there, weights that are missing and so would be random, NaN, a model
that looks ahead. `non_embedding_parameters` is the paper's S (Section 3), counted with no weights.
"""

from __future__ import annotations

import hashlib
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
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
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm.auto import tqdm
from transformers import (
    CONFIG_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.utils import logging as transformers_logging

from .architectures import ARCHITECTURES, FAMILIES, Architecture, nearest_model, paper_config
from .errors import InputError

__all__ = [
    "ARCHITECTURES",
    "Architecture",
    "Head",
    "LoadedModel",
    "ParameterCounts",
    "load_model",
    "non_embedding_parameters",
    "paper_config",
    "parameter_counts",
]

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

# How far two ways to the same logits may differ, relative to the largest logit: a few last bits.
_TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float16: 5e-3}

_PROBE_TEXT = "The model ranks 50,257 tokens;\n\tdef rank(x): return x"

# Constants in older checkpoints of GPT-2 and OPT; the library itself knows the other families'.
_STALE = ("attn.masked_bias", "decoder.version")


class ParameterCounts(NamedTuple):
    """Parameters of the base model: S without, `embedding` in token and position embeddings.

    V is the rows of the output matrix (`vocab_rows` in `models.csv`).
    """

    S: int
    embedding: int
    V: int


def parameter_counts(model: str | PreTrainedConfig | PreTrainedModel) -> ParameterCounts:
    """Count S, embedding parameters and V of one of the 24 (hub id), a config or a loaded model.

    The output head is no part of the base model; where it is tied to the token embedding it
    counts once, as an embedding. A hub id or a config takes no memory (meta device).

    Raises InputError: a hub id that is none of the 24, a config that is no causal model's.
    """
    if isinstance(model, str):
        model = paper_config(model)
    if isinstance(model, PreTrainedConfig):
        with _quiet(), _reason("no causal language model has this config"), torch.device("meta"):
            model = AutoModelForCausalLM.from_config(model, trust_remote_code=False)
    base = model.base_model
    # Every nn.Embedding of a causal base model embeds tokens or positions (OPT's with 2 extra
    # rows, GPT-2's, none in the rotary models). parameters() gives a shared weight once.
    tables = nn.ModuleList(module for module in base.modules() if isinstance(module, nn.Embedding))
    embedding = sum(parameter.numel() for parameter in tables.parameters())
    total = sum(parameter.numel() for parameter in base.parameters())
    weight = getattr(model.get_output_embeddings(), "weight", None)
    rows = model.config.get_text_config().vocab_size if weight is None else weight.shape[0]
    return ParameterCounts(total - embedding, embedding, rows)


def non_embedding_parameters(model: str | PreTrainedConfig | PreTrainedModel) -> int:
    """S: parameters of the base model, without output head, token and position embeddings.

    `model` is a hub id of the paper's 24, a transformers config or a loaded model. Equals
    `models.csv` for all 24. Raises InputError as `parameter_counts` does.
    """
    return parameter_counts(model).S


class Head(NamedTuple):
    """An output head that is one linear map: logits = hidden @ weight.T + bias."""

    weight: Tensor  # (V, d)
    bias: Tensor | None  # (V,)


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A causal language model ready to be measured: evaluation mode, no gradients.

    `head` is None where the logits are not one linear map of the hidden state (soft-capped or
    scaled logits): take `logits` then.
    """

    name: str  # hub id, or the folder's name
    revision: str  # commit of the hub, or "sha256:..." over config, weights and tokenizer
    family: str  # GPT2, OPT, Pythia, Qwen; for others the config's model_type
    S: int
    V: int
    dtype: str
    device: str
    context: int | None  # most tokens in a sequence; None where the config sets no limit
    tokenizer: Any = field(repr=False)
    head: Head | None = field(repr=False)
    model: PreTrainedModel = field(repr=False)

    @torch.no_grad()
    def hidden(self, input_ids: Tensor) -> Tensor:
        """Last hidden states (B, L, d) as they enter the output head, for ids (B, L).

        No attention mask: a causal model's states do not depend on what follows, so sequences
        may be padded on the right with any id; what stands on the padding is of no use. Never
        pad on the left. Raises InputError where L is over `context`.
        """
        ids = self._on_device(input_ids)
        return self.model.base_model(input_ids=ids, use_cache=False).last_hidden_state

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
    model: str | Path,
    *,
    dtype: str = "float32",
    device: str | None = None,
    revision: str | None = None,
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    local_files_only: bool = False,
    progress: bool = False,
) -> LoadedModel:
    """Load a hub id or a local folder in the Hugging Face layout, with its own tokenizer.

    `dtype` is float32, bfloat16 or float16, whatever the checkpoint's own is. `device` is by
    default the first GPU, else the CPU. `revision` (hub only) is a branch, tag or commit.
    Weights are read from safetensors; `allow_pickle` admits `pytorch_model.bin` where there are
    none, read by torch's weights-only unpickler. `trust_remote_code` runs Python code that comes
    with the model. `local_files_only` never asks the network. `progress` shows the hub's
    download bars; nothing else is ever printed.

    Raises InputError, one line with the way out: no such folder, hub id out of reach, no or
    damaged weights, weights missing or left over, not finite, no usable tokenizer, ids over V,
    a model that looks ahead.
    """
    if dtype not in DTYPES:
        raise InputError(f"dtype {dtype!r} is not known; use one of {', '.join(DTYPES)}")
    place = _device(device)
    with _quiet():
        checkpoint = _find_checkpoint(
            model,
            revision=revision,
            allow_pickle=allow_pickle,
            trust_remote_code=trust_remote_code,
            local_files_only=local_files_only,
            progress=progress,
        )
        options = {
            "trust_remote_code": trust_remote_code,
            # All files are in the folder; only code may be kept in another repository.
            "local_files_only": local_files_only or not trust_remote_code,
        }
        with _reason(f"{checkpoint.folder}: the tokenizer cannot be loaded"):
            tokenizer = AutoTokenizer.from_pretrained(checkpoint.folder, **options)
        network = _network(checkpoint.folder, DTYPES[dtype], allow_pickle, options)
        with _reason(f"{checkpoint.name}: the model does not run on {place} in {dtype}"):
            network = network.to(place)
            _check_finite(network, checkpoint.name, dtype)
            head, V = _probe(network, checkpoint.name)
    rows = min(V, network.get_input_embeddings().weight.shape[0])
    _check_tokenizer(tokenizer, rows, checkpoint.folder)
    config = network.config.get_text_config()
    return LoadedModel(
        name=checkpoint.name,
        revision=checkpoint.revision,
        family=FAMILIES.get(network.config.model_type, network.config.model_type),
        S=non_embedding_parameters(network),
        V=V,
        dtype=dtype,
        device=str(place),
        context=getattr(config, "max_position_embeddings", None),
        tokenizer=tokenizer,
        head=head,
        model=network,
    )


@contextmanager
def _reason(what: str) -> Iterator[None]:
    """Turn whatever the libraries raise into one plain line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # config, weight and tokenizer readers have no common error
        raise InputError(f"{what} ({_line(error)})") from error


def _line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or ["no reason given"]
    return f"{type(error).__name__}: {lines[0].strip()}"


def _device(device: str | None) -> torch.device:
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        place = torch.device(device)
    except RuntimeError as error:
        raise InputError(f"device {device!r} is not known; use cpu or cuda") from error
    if place.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device {device!r}: torch finds no GPU here; use cpu")
    return place


def _network(folder: Path, dtype: torch.dtype, allow_pickle: bool, options: dict) -> Any:
    """The model with every weight read from the checkpoint, and every weight of it used."""
    with _reason(f"{folder / 'config.json'}: no causal language model's config"):
        config = AutoConfig.from_pretrained(folder, **options)
    with _reason(f"{folder}: the weights cannot be loaded"):
        network, info = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=dtype,
            use_safetensors=None if allow_pickle else True,
            ignore_mismatched_sizes=True,  # so that they are listed, and refused here
            output_loading_info=True,
            **options,
        )
    mismatched = [key for key, *_ in info["mismatched_keys"]]
    unexpected = [key for key in info["unexpected_keys"] if not key.endswith(_STALE)]
    for keys, fault in (
        (info["missing_keys"], "lacks, and the library would make up at random,"),
        (mismatched, "has in another shape than config.json says"),
        (unexpected, "has, though config.json's model does not use them,"),
    ):
        if keys:
            shown = ", ".join(sorted(keys)[:3]) + (", ..." if len(keys) > 3 else "")
            raise InputError(
                f"{folder}: the checkpoint {fault} {len(keys)} weight(s): {shown};"
                " give the folder of a whole causal language model"
            )
    return network.eval().requires_grad_(False)


def _check_finite(network: PreTrainedModel, name: str, dtype: str) -> None:
    for key, parameter in network.named_parameters():
        if parameter.numel() and parameter.is_floating_point():
            # The least and the greatest are NaN where any is: one pass, no copy.
            if not all(bound.isfinite() for bound in torch.aminmax(parameter)):
                hint = " (does it fit? try float32)" if dtype == "float16" else ""
                raise InputError(f"{name}: weight {key} holds NaN or Inf in {dtype}{hint}")


@torch.no_grad()
def _probe(network: PreTrainedModel, name: str) -> tuple[Head | None, int]:
    """Run a few random ids: is the model causal, is its head one linear map? -> (head, V)."""
    rows = network.get_input_embeddings().weight.shape[0]
    ids = torch.randint(rows, (1, 6), generator=torch.Generator().manual_seed(0))
    ids = ids.repeat(2, 1).to(network.device)
    ids[1, -1] = (ids[1, -1] + 1) % rows  # only the last token differs
    layer = network.get_output_embeddings()
    seen: list[Tensor] = []
    hook = None
    if isinstance(layer, nn.Linear):
        hook = layer.register_forward_hook(lambda _, given, out: seen.append(out))
    logits = network(input_ids=ids, use_cache=False).logits
    if hook is not None:
        hook.remove()
    if not logits.isfinite().all():
        raise InputError(f"{name}: the logits hold NaN or Inf in {network.dtype}; try float32")
    if not _close(logits[0, :-1], logits[1, :-1]):
        raise InputError(
            f"{name}: changing a token changes the logits before it, so the model"
            f" ({network.config.model_type}) is not causal; give a left-to-right language model"
        )
    V = logits.shape[-1]
    base = network.base_model
    if len(seen) != 1 or base is network:
        return None, V
    hidden = base(input_ids=ids, use_cache=False).last_hidden_state
    # Two links, so that a soft cap is found even where the probe's logits are too small to feel
    # it: what the head gives is linear in the hidden state, and nothing touches it afterwards.
    linear = _close(F.linear(hidden, layer.weight, layer.bias), seen[0])
    linear = linear and torch.equal(seen[0].float(), logits.float())
    return (Head(layer.weight, layer.bias) if linear else None), V


def _close(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    allowed = _TOLERANCE[one.dtype] * other.abs().max()
    return bool((one.float() - other.float()).abs().max() <= allowed)


def _check_tokenizer(tokenizer: Any, rows: int, folder: Path) -> None:
    ids = tokenizer(_PROBE_TEXT, add_special_tokens=False)["input_ids"]
    if not set(ids) - set(tokenizer.all_special_ids):
        raise InputError(
            f"{folder}: the tokenizer encodes text to nothing; save the model's own there"
        )
    largest = max(tokenizer.get_vocab().values())
    if largest >= rows:
        raise InputError(
            f"{folder}: the tokenizer has ids up to {largest}, the model only {rows} rows;"
            " save the model's own tokenizer there"
        )


# ---- Where the files are: all of it checked before anything is loaded, so that an error names
# the file. Model, config and tokenizer are then read from one folder, of one commit.

_CONFIG = "config.json"
_SAFE = ("model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors")
_PICKLE = ("pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin")
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
_TOKENIZER = (
    *_VOCABULARY,
    "merges.txt",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)


@dataclass(frozen=True)
class _Checkpoint:
    """A folder that holds a whole model; `revision` is a hub commit or "sha256:..."."""

    folder: Path
    name: str
    revision: str


class _NoBar(tqdm):
    """A download bar that shows nothing."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **{**kwargs, "disable": True})


@contextmanager
def _quiet() -> Iterator[None]:
    """Hold back the libraries' loading bars, log lines and warnings, for this block only."""
    loggers = [logging.getLogger("transformers"), logging.getLogger("huggingface_hub")]
    levels = [logger.level for logger in loggers]
    # A hook, not disable_progress_bar(): that one switches the hub's bars off for good.
    bars = transformers_logging.set_tqdm_hook(
        lambda _, args, kwargs: transformers_logging.EmptyTqdm(*args, **kwargs)
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for logger in loggers:
                logger.setLevel(logging.CRITICAL)
            yield
    finally:
        transformers_logging.set_tqdm_hook(bars)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _find_checkpoint(
    model: str | Path,
    *,
    revision: str | None = None,
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    local_files_only: bool = False,
    progress: bool = False,
) -> _Checkpoint:
    """The checked folder of a hub id or a local path; see `load_model` for the arguments.

    Raises InputError: no such folder, hub id out of reach, no config, weights or tokenizer,
    a shard that is missing, a damaged safetensors file, pickle only, its own code needed.
    """
    folder = Path(model).expanduser()
    if folder.is_file():
        raise InputError(f"{model}: a file; give the folder that holds config.json")
    hub = not folder.is_dir()
    if hub:
        if isinstance(model, Path) or model.startswith((".", "/", "~")) or model.count("/") > 1:
            raise InputError(f"{model}: no such folder; give a model's folder or a hub id")
        where = {"revision": revision, "local_files_only": local_files_only}
        where |= {"tqdm_class": None if progress else _NoBar}
        code = ["*.py"] if trust_remote_code else []
        folder = _from_hub(model, [_CONFIG, *_SAFE, *_TOKENIZER, *code], where)
        if not any(folder.glob("model*.safetensors")):
            if not allow_pickle:
                raise InputError(
                    f"{model}: no safetensors at this revision; give one that has them, or pass"
                    " allow_pickle (--allow-pickle) to read its pickle files"
                )
            # Of the same commit, and only now: most repositories hold the weights in both ways.
            folder = _from_hub(model, list(_PICKLE), {**where, "revision": folder.name})
    elif revision is not None:
        raise InputError(f"{model}: a local folder has no revision {revision!r}; leave it out")
    _check_config(folder, trust_remote_code)
    files = _weight_files(folder, allow_pickle)
    tokenizer = [path for pattern in _TOKENIZER for path in folder.glob(pattern)]
    if not any(path.match(pattern) for path in tokenizer for pattern in _VOCABULARY):
        raise InputError(
            f"{folder}: no tokenizer there (tokenizer.json, vocab.json, tokenizer.model, ...);"
            " save the model's own with tokenizer.save_pretrained"
        )
    repository = folder.parent.parent.name
    if folder.parent.name == "snapshots" and repository.startswith("models--"):
        # The hub's cache: models--OWNER--NAME/snapshots/COMMIT
        name = repository.removeprefix("models--").replace("--", "/")
        return _Checkpoint(folder, model if hub else name, folder.name)
    code = folder.glob("*.py") if trust_remote_code else []
    digest = _digest(folder, [folder / _CONFIG, *files, *tokenizer, *code])
    return _Checkpoint(folder, folder.resolve().name, f"sha256:{digest}")


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
        reason = "it is not asked" if error.__cause__ is None else _line(error.__cause__)
        raise InputError(
            f"{hub_id}: no such folder, not in the local hub cache, and not from the hub"
            f" ({reason}); give a folder, or load it once with a network{nearest_model(hub_id)}"
        ) from error
    except Exception as error:  # the hub's HTTP library has errors of its own
        raise InputError(f"{hub_id}: the hub did not give it ({_line(error)})") from error


def _check_config(folder: Path, trust_remote_code: bool) -> None:
    path = folder / _CONFIG
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
    for whole, index, _ in (_SAFE, _PICKLE) if allow_pickle else (_SAFE,):
        if (folder / whole).is_file():
            files = [folder / whole]
        elif (folder / index).is_file():
            names = _json(folder / index).get("weight_map", {}).values()
            files = [folder / index, *(folder / name for name in sorted(set(names)))]
        else:
            continue
        for path in files:
            _check_weights(path)
        return files
    if any(any(folder.glob(pattern)) for pattern in _PICKLE):
        raise InputError(
            f"{folder}: its weights are pickle files (pytorch_model*.bin), which can hold code;"
            " pass allow_pickle (--allow-pickle), or a revision with safetensors"
        )
    raise InputError(f"{folder}: no weights there (model.safetensors); give a model's folder")


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
    except ValueError as error:
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
