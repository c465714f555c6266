"""Checks of what a command line gives, made before any work is done."""

from __future__ import annotations

import os
from pathlib import Path

from rbpkit.errors import InputError


def folder_to_write(out: str, option: str = "--out") -> Path:
    """The folder named by an option, which is not made yet.

    Raises InputError, before any work is done, if it is empty, is a file or cannot be made.
    """
    if not out.strip():
        raise InputError(f"{option} is empty: name a folder, as {option} records")
    folder = parent = Path(out)
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise InputError(f"{option} {out}: {parent} is a file, not a folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{option} {out}: nothing can be written to {parent}; name another folder")
    return folder


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
