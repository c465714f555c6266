"""What is asked of other libraries in one place: to keep quiet, and to find a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

SPREAD = "auto"
"""The name of all GPUs that are here together: a model's layers are spread evenly over them.

What does not fit waits in memory, then on disk, and is slow; without a GPU it is the CPU alone."""


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back the bars and the log lines of `transformers` in this block."""
    from transformers.utils import logging

    level, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if had_bars:
            logging.enable_progress_bar()


def torch_device(device: str | None) -> torch.device:
    """The device of this name; None or "auto": the first GPU, else the CPU."""
    import torch

    if device is None or device == SPREAD:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)
