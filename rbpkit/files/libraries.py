"""Other libraries kept quiet: their loading bars, log lines and warnings held back."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back the libraries' loading bars, log lines and warnings, for this block only."""
    from transformers.utils import logging as transformers_logging

    loggers = [logging.getLogger(n) for n in ("transformers", "huggingface_hub", "accelerate")]
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
