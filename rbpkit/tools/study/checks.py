"""Checks of what a command line gives, made before any work is done."""

from __future__ import annotations

import os
from pathlib import Path

from rbpkit.errors import InputError


def folder_to_write(out: str, option: str = "--out") -> Path:
    """The folder named by an option, which is not made yet.

    Raises InputError, before any work is done, if it is empty, is a file or cannot be made.
    """
    folder = parent = Path(out)
    while not parent.exists():
        parent = parent.parent
    if not out.strip() or not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{option} {out!r}: no folder that can be made and written; name another")
    return folder


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
