"""A model that is larger than a device: its layers spread over several, by accelerate."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from rbpkit.errors import InputError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


def check_device_map(device: str | None) -> None:
    """InputError where a device map cannot be used: a device is given too, or no accelerate."""
    if device is not None:
        raise InputError(f"give device ({device}) or device_map, not both")
    if find_spec("accelerate") is None:
        raise InputError(
            "device_map needs the package accelerate: pip install accelerate, or leave device_map"
            " out and use one device"
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
