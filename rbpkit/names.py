"""What a model is called in records."""

from __future__ import annotations

import os
import re
from pathlib import Path

AnyPath = str | os.PathLike[str]

# As transformers' Trainer calls the folders that it writes during a run.
_CHECKPOINT = re.compile(r"checkpoint-(\d{1,18})")


def folder_name(folder: Path) -> str:
    """The last two parts of its resolved path: models/small, small/checkpoint-300."""
    return "/".join(folder.resolve().parts[1:][-2:])


def name_of(model: str, revision: str | None = None) -> str:
    """What a model is called in records.

    A hub id by itself, with @REVISION if one was given; a folder as `folder_name`; a .gguf file as
    a folder, without its suffix.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        return folder_name(path)
    if path.suffix == ".gguf" and path.is_file():
        return folder_name(path.with_suffix(""))
    return model if revision is None else f"{model}@{revision}"


def run_and_step(name: str) -> tuple[str, int] | None:
    """The run and the step of a model called RUN/checkpoint-STEP; None for any other name."""
    run, slash, folder = name.rpartition("/")
    checkpoint = _CHECKPOINT.fullmatch(folder)
    if not slash or checkpoint is None:
        return None
    return run, int(checkpoint[1])
