"""What is asked of other libraries in one place: to keep quiet, and to find a device."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

LOUD = ("transformers", "huggingface_hub", "accelerate")

SPREAD = "auto"
"""The name of all GPUs that are here together: a model's layers are spread evenly over them.

What does not fit waits in memory, then on disk, and is slow; without a GPU it is the CPU alone."""


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back the libraries' loading bars, log lines and warnings, for this block only."""
    from transformers.utils import logging as transformers_logging

    level_before = {name: logging.getLogger(name).level for name in LOUD}
    # A hook, not disable_progress_bar(): that one switches the hub's bars off for good.
    hook_before = transformers_logging.set_tqdm_hook(
        lambda _, args, kwargs: transformers_logging.EmptyTqdm(*args, **kwargs)
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in LOUD:
                logging.getLogger(name).setLevel(logging.CRITICAL)
            yield
    finally:
        transformers_logging.set_tqdm_hook(hook_before)
        for name, level in level_before.items():
            logging.getLogger(name).setLevel(level)


def torch_device(device: str | None) -> torch.device:
    """The device of this name; None or "auto": the first GPU, else the CPU."""
    import torch

    if device is None or device == SPREAD:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)
