"""Where a model runs: a device by name, or several."""

from __future__ import annotations

import re
from importlib import metadata
from typing import TYPE_CHECKING

from rbpkit.errors import InputError, reason

if TYPE_CHECKING:
    import torch

SPREAD = "auto"
"""The name of all GPUs that are here together: a model's layers are spread evenly over them.

What does not fit waits in memory, then on disk, and is slow; without a GPU it is the CPU alone."""


# Kinds of devices that torch can run a model on, with a number if there are several.
_DEVICE = re.compile(r"(auto|cpu|cuda|mps|xpu|hpu|xla|npu|mtia)(:\d+)?")


def check_device(device: str) -> str:
    """The device, unless its name says that it cannot be used. Raises InputError; loads no torch.

    `torch_device` finds out whether it is here.
    """
    if not _DEVICE.fullmatch(device):
        raise InputError(f"device {device!r} is not known; use cpu, cuda or auto")
    version = metadata.version("torch")
    if device.startswith("cuda") and version.endswith("+cpu"):
        raise InputError(f"device {device!r}: torch {version} is built for CPUs alone; use cpu")
    return device


def torch_device(device: str | None) -> torch.device:
    """The device of this name, ready to be used; None or "auto": the first GPU, else the CPU.

    Raises InputError for a name that torch does not know and for a device that is missing.
    """
    import torch

    if device is None or device == SPREAD:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    with reason(f"device {device!r} cannot be used; use cpu, cuda or auto"):
        place = torch.device(device)
        torch.empty(0, device=place)
    return place
