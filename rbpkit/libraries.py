"""What is asked of other libraries in one place: to keep quiet, and to find a device."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

LOUD = ("transformers", "huggingface_hub", "accelerate")

SPREAD = "auto"
"""The name of all GPUs that are here together: a model's layers are spread evenly over them.

What does not fit waits in memory, then on disk, and is slow; without a GPU it is the CPU alone."""

_is_quiet = ContextVar("_is_quiet", default=False)


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back the libraries' loading bars and log lines, in this block of this thread only."""
    _ask_whether_quiet()
    before = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(before)


@functools.cache
def _ask_whether_quiet() -> None:
    """Let each log line and each bar ask its own thread. Levels and filters are everyone's."""
    from transformers.utils import logging as transformers_logging

    def is_heard(record: logging.LogRecord) -> bool:
        return not _is_quiet.get() or record.name.partition(".")[0] not in LOUD

    handlers = [logging.lastResort]
    for name in LOUD:
        handlers += logging.getLogger(name).handlers
    for handler in filter(None, handlers):
        handler.addFilter(is_heard)

    def bar(factory: Any, args: Any, kwargs: Any) -> Any:
        if _is_quiet.get():
            factory = transformers_logging.EmptyTqdm
        return factory(*args, **kwargs) if before is None else before(factory, args, kwargs)

    before = transformers_logging.set_tqdm_hook(bar)


def torch_device(device: str | None) -> torch.device:
    """The device of this name; None or "auto": the first GPU, else the CPU."""
    import torch

    if device is None or device == SPREAD:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)
