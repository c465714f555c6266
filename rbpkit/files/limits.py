"""Configs that ask for more than any model has, or than the weights next to them hold.

The library builds what a config describes before it looks at the weights: ten million layers would
run until the process is killed.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rbpkit.errors import InputError, reason

MOST_PARTS = 10_000
"""Layers, heads or experts of a model; the largest have some hundreds."""

_PARTS = re.compile("layers?$|heads?$|experts$|blocks$")

# Parameters for each byte of the weights: more than in any quantisation.
_MOST_FOR_A_BYTE = 16


def check_parts(config_file: Path) -> None:
    """InputError for a config.json with more than MOST_PARTS layers, heads or experts."""
    with reason(f"{config_file}: not a config that can be read"):
        fields = json.loads(config_file.read_text(encoding="utf-8"))
    for key, number in _numbers(fields):
        if number > MOST_PARTS and _PARTS.search(key):
            raise InputError(f"{config_file}: {key} is {number:,}; no model has so many")


def _numbers(fields: Any) -> list[tuple[str, int]]:
    """The whole numbers of a config and of its parts, with their names."""
    numbers: list[tuple[str, int]] = []
    if isinstance(fields, dict):
        for key, value in fields.items():
            if isinstance(value, int) and not isinstance(value, bool):
                numbers.append((key, value))
            numbers += _numbers(value)
    return numbers


def check_parameter_count(
    auto: Any, config: Any, weights: Sequence[Path], trust_remote_code: bool
) -> None:
    """InputError for a config with far more parameters than its weights have bytes.

    auto: the class that makes a model of a config. Nothing is allocated (meta device).
    """
    import torch

    config = copy.deepcopy(config)  # some models change theirs
    try:
        with torch.device("meta"):
            model = auto.from_config(config, trust_remote_code=trust_remote_code)
    except Exception:
        return  # whatever is wrong, the library says it when the weights are read
    parameters = sum(parameter.numel() for parameter in model.parameters())
    size = sum(path.stat().st_size for path in weights)
    if parameters > _MOST_FOR_A_BYTE * size:
        raise InputError(
            f"{weights[0].parent}: config.json describes {parameters:,} parameters, but the weights"
            f" have {size:,} bytes; are they whole?"
        )
