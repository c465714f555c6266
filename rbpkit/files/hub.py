"""Files of the Hugging Face hub in its local cache: which a study needs, and which are there."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rbpkit.errors import InputError

_PART = re.compile(r"(\d+)-of-(\d+)")


@dataclass(frozen=True)
class FetchedFiles:
    """A data set's files in the cache, in the order of its rows; commit: the hub's."""

    commit: str
    paths: tuple[Path, ...]


def matching(names: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """The names that a pattern matches: by pattern, then by name; each once."""
    names = sorted(names)
    found = [name for pattern in patterns for name in fnmatch.filter(names, pattern)]
    return list(dict.fromkeys(found))


def lacking(names: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """What is missing: patterns that match nothing, and the parts I of a file in N parts.

    Names tell how many there are ("train-00000-of-00041.parquet"), so that a part of a data set
    is never taken for all of it.
    """
    names = list(names)
    missing = []
    for pattern in patterns:
        found = fnmatch.filter(names, pattern)
        if not found:
            missing.append(pattern)
        parts = [match for name in found if (match := _PART.search(name))]
        if parts and "*" in pattern:
            there = {int(part[1]) for part in parts}
            for i in sorted(set(range(int(parts[0][2]))) - there):
                missing.append(f"part {i} of {int(parts[0][2])} of {pattern}")
    return missing


def fetched_files(
    repository: str, patterns: Sequence[str], revision: str | None = None
) -> FetchedFiles | None:
    """A data set's files where the local cache has all of them, else None. Asks no network.

    revision: a commit, or the name that it was fetched by; "main" if not given. Raises
    InputError where some of the files are there and others are not.
    """
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE) / f"datasets--{repository.replace('/', '--')}"
    revision = revision or "main"
    reference = folder / "refs" / revision
    commit = reference.read_text("ascii").strip() if reference.is_file() else revision
    snapshot = folder / "snapshots" / commit
    # exists() follows the link into the cache's blobs: a dangling one is no file.
    there = [p.relative_to(snapshot).as_posix() for p in snapshot.rglob("*") if p.is_file()]
    chosen = matching(there, patterns)
    if not chosen:
        return None
    missing = lacking(chosen, patterns)
    if missing:
        raise InputError(
            f"{repository}: the local hub cache lacks {missing[0]}"
            + (f" and {len(missing) - 1} more" if missing[1:] else "")
            + "; run `rbpkit fetch` with a network"
        )
    return FetchedFiles(commit, tuple(snapshot / name for name in chosen))
