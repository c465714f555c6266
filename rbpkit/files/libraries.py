"""Other libraries kept quiet: their loading bars, log lines and warnings held back."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

LOUD = ("transformers", "huggingface_hub", "accelerate")


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
