"""Where a model runs: a device by name, or several, its layers spread over them by accelerate."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from rbpkit.errors import InputError, reason

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

SPREAD = "auto"
"""The name of all GPUs that are here together: a model's layers are spread evenly over them.

What does not fit waits in memory, then on disk, and is slow; without a GPU it is the CPU alone."""


def torch_device(device: str | None) -> torch.device:
    """The device of this name, ready to be used; None or "auto": the first GPU, else the CPU.

    Raises InputError for a name that torch does not know and a device that is not here.
    """
    import torch

    if device in (None, SPREAD):
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        place = torch.device(device)
    except RuntimeError as error:
        raise InputError(f"device {device!r} is not known; use cpu, cuda or auto") from error
    if place.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device {device!r}: torch finds no GPU here; use cpu")
    with reason(f"device {device!r} is not here; use cpu, cuda or auto"):
        torch.empty(0, device=place)
    return place


def set_threads(threads: int) -> None:
    """torch's threads on the CPU, 0 for its default."""
    if threads:
        import torch

        torch.set_num_threads(threads)


def check_device_map(device: str | None) -> None:
    """InputError where a device map cannot be used: a device is given too, or no accelerate."""
    if device is not None:
        raise InputError(f"give device ({device}) or device_map, not both")
    if find_spec("accelerate") is None:
        raise InputError(
            "a model over several devices needs the package accelerate: pip install accelerate, or"
            " use one device"
        )


def input_device(network: PreTrainedModel, name: str) -> torch.device:
    """Where the ids of a spread model go.

    Its layers may wait outside the devices (accelerate brings each in for its part of a pass), but
    not the embedding, whose device this is, nor the output head, which is used without the model.
    Raises InputError for these.
    """
    ends = {"token embedding": network.get_input_embeddings()}
    ends["output head"] = network.get_output_embeddings()
    for what, module in ends.items():
        if module is not None and module.weight.device.type == "meta":
            raise InputError(
                f"{name}: the devices here do not hold the model, and its {what} was left out;"
                " take a lower dtype, more devices, or a device_map with its place"
            )
    return ends["token embedding"].weight.device
