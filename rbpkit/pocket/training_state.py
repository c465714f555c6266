"""A training run's checkpoint: one safetensors file, written whole, bound to its recipe."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from rbpkit.errors import InputError, one_line
from rbpkit.pocket.ladders import Recipe, Shape


def replace_file(path: Path, write: Callable[[Path], None]) -> None:
    """Write beside, sync, rename: a kill leaves the old file or the new one, whole."""
    temporary = path.with_name(path.name + ".tmp")
    write(temporary)
    with open(temporary, "rb+") as handle:
        os.fsync(handle.fileno())
    os.replace(temporary, path)


def run_key(family: str, shape: Shape, recipe: Recipe, stream: Tensor, device: str) -> str:
    """All that can change the weights: another text or torch must not go on with a checkpoint."""
    facts = {
        "family": family,
        **{name: value for name, value in asdict(shape).items() if value is not None},
        **asdict(recipe),
        "text": hashlib.sha256(stream.numpy().tobytes()).hexdigest(),
        "torch": torch.__version__,
        "device": device,
    }
    return json.dumps(facts, sort_keys=True)


def save_checkpoint(path: Path, model: nn.Module, optimizer, facts: dict[str, str]) -> None:
    """Weights, optimizer moments and facts (strings) in one safetensors file, atomically."""
    tensors = {}
    for name, parameter in model.named_parameters():
        tensors[f"weight.{name}"] = parameter.detach()
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{key}.{name}"] = value
    tensors = {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
    replace_file(path, lambda p: save_file(tensors, p, metadata=facts))


def load_checkpoint(path: Path, model: nn.Module, optimizer, key: str) -> dict[str, str]:
    """Fill model and optimizer from a checkpoint and return its facts.

    Raises InputError where the checkpoint belongs to another recipe or is damaged.
    """
    try:
        with safe_open(path, framework="pt") as file:
            facts = file.metadata() or {}
            if facts["key"] != key:
                raise InputError(
                    f"{path} was made by another recipe: remove it or train into another folder"
                )
            for name, parameter in model.named_parameters():
                parameter.data.copy_(file.get_tensor(f"weight.{name}"))
                for kind in ("step", "exp_avg", "exp_avg_sq"):
                    place = "cpu" if kind == "step" else parameter.device
                    optimizer.state[parameter][kind] = file.get_tensor(f"{kind}.{name}").to(place)
    except (SafetensorError, KeyError) as error:
        why = one_line(error)
        raise InputError(f"{path}: damaged ({why}); remove it and train again") from error
    return facts
