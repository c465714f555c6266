"""Where a model runs: a device by name, or several, its layers spread over them by accelerate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbpkit.errors import reason

if TYPE_CHECKING:
    import torch

SPREAD = "auto"
"""The name of all GPUs that are here together: a model's layers are spread evenly over them.

What does not fit waits in memory, then on disk, and is slow; without a GPU it is the CPU alone."""


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


def set_threads(threads: int) -> None:
    """Set torch's threads on the CPU; 0 leaves its default."""
    if threads:
        import torch

        torch.set_num_threads(threads)
