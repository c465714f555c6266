"""Names: of a model in a folder, of the runs in several."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePath

AnyPath = str | os.PathLike[str]

# As transformers' Trainer calls the folders that it writes during a run.
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")


def cached_repository(folder: Path) -> str | None:
    """The hub id of a folder in the hub's cache, models--OWNER--NAME/snapshots/COMMIT, or None."""
    repository = folder.parent.parent.name
    if folder.parent.name != "snapshots" or not repository.startswith("models--"):
        return None
    return repository.removeprefix("models--").replace("--", "/")


def whole_path(folder: Path) -> str:
    """A folder as manifests have it; bytes that are no text are escaped."""
    path = folder.resolve().as_posix()
    return path.encode("utf-8", "backslashreplace").decode()


def folder_name(folder: Path) -> str:
    """The name of the model in a folder that is not in the hub's cache.

    These are the last two parts of its resolved path: models/small, small/checkpoint-300.
    """
    return "/".join(folder.resolve().parts[1:][-2:])


def name_of(model: str, revision: str | None = None) -> str:
    """What a model is called in records.

    A hub id by itself, with @REVISION if one was given; a folder as `folder_name`, or by its hub id
    if it is in the hub's cache; a .gguf file as a folder, without its suffix.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        return cached_repository(path) or folder_name(path)
    if path.suffix == ".gguf" and path.is_file():
        return folder_name(path.with_suffix(""))
    return model if revision is None else f"{model}@{revision}"


def _run_of(path: PurePath) -> PurePath:
    """The folder of the run whose checkpoint a folder is, or else the folder itself."""
    is_checkpoint = _CHECKPOINT.fullmatch(path.name) and path.parent.name
    return path.parent if is_checkpoint else path


def names_apart(folders: Sequence[str]) -> list[str]:
    """What the models in these folders (whole paths) are called if all of them are read.

    That is `folder_name`, unless two runs would share one: these get as many of the folders above
    them as tell them apart. So there are "runs/a/checkpoint-300" and "runs4/a/checkpoint-600".
    """
    paths = [PurePath(folder) for folder in folders]
    runs = {_run_of(path) for path in paths}
    names = []
    for path in paths:
        run = _run_of(path)
        depth = 1
        while any(other.parts[-depth:] == run.parts[-depth:] for other in runs - {run}):
            depth += 1
        above = max(0, len(run.parts) - depth)
        names.append(PurePath(*path.parts[above:]).as_posix())
    return names


def run_and_step(name: str) -> tuple[str, int] | None:
    """The run and the step of a model called RUN/checkpoint-STEP; None for any other name."""
    run, slash, folder = name.rpartition("/")
    checkpoint = _CHECKPOINT.fullmatch(folder)
    if not slash or checkpoint is None:
        return None
    return run, int(checkpoint[1])
