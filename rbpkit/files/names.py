"""What a model in a folder is called in the records."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

AnyPath = str | os.PathLike[str]

# As transformers' Trainer calls the folders that it writes during a run.
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")


def cached_repository(folder: Path) -> str | None:
    """The hub id of a folder in the hub's cache, models--OWNER--NAME/snapshots/COMMIT, or None."""
    repository = folder.parent.parent.name
    if folder.parent.name != "snapshots" or not repository.startswith("models--"):
        return None
    return repository.removeprefix("models--").replace("--", "/")


def folder_name(folder: Path) -> str:
    """The name of the model in a folder that is not in the hub's cache: the folder's own name.

    The checkpoint of a run is called RUN/checkpoint-300, as the checkpoints of all runs have the
    same names.
    """
    folder = folder.resolve()
    if _CHECKPOINT.fullmatch(folder.name) and folder.parent.name:
        return f"{folder.parent.name}/{folder.name}"
    return folder.name


def names_apart(folders: Sequence[Path]) -> list[str]:
    """The names of models in several folders: `folder_name`, unless two runs would share one.

    Runs of one name get as many of the folders above them as tell them apart: "runs/a" and
    "runs4/a", and their checkpoints "runs/a/checkpoint-300" and "runs4/a/checkpoint-300".
    """
    paths = [folder.resolve() for folder in folders]
    runs = [path.parent if _CHECKPOINT.fullmatch(path.name) else path for path in paths]
    names = []
    for path, run in zip(paths, runs, strict=True):
        depth = 1
        others = {other for other in runs if other != run}
        while any(other.parts[-depth:] == run.parts[-depth:] for other in others):
            depth += 1
        if depth == 1:
            names.append(folder_name(path))
        else:
            checkpoint = [path.name] if path != run else []
            names.append("/".join([*run.parts[-depth:], *checkpoint]))
    return names


def run_and_step(name: str) -> tuple[str, int] | None:
    """The run and the step of a model called RUN/checkpoint-STEP; None for any other name."""
    run, slash, folder = name.rpartition("/")
    checkpoint = _CHECKPOINT.fullmatch(folder)
    if not slash or checkpoint is None:
        return None
    return run, int(checkpoint[1])
