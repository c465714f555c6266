"""Download once what a study needs from the Hugging Face hub, and check that it is whole."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from huggingface_hub import constants, hf_hub_download, snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError

from rbpkit.errors import InputError, one_line
from rbpkit.files.libraries import quiet
from rbpkit.files.model_folders import NoBar
from rbpkit.study.hub_repositories import HubListing, ListedRepository, hub_error


def check_space(asked: HubListing, cache: str | Path | None = None) -> None:
    """Raise InputError where the disk of the hub's cache has too little room."""
    folder = Path(cache or constants.HF_HUB_CACHE)
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if asked.space > free:
        raise InputError(
            f"{folder}: {shown(asked.space)} are needed ({shown(asked.missing)} to download, the"
            f" rest to read the corpora), {shown(free)} are free; set HF_HOME to a larger disk"
        )


def download(
    asked: HubListing,
    *,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> None:
    """Download what is missing; each repository is checked against the hub's sizes.

    Files that are complete stay, whatever happens, and half a file is gone on with, not taken
    for whole. Raises InputError, one line, at the first repository that fails.
    """
    todo = [one for one in asked.listed if not one.complete]
    for number, one in enumerate(todo, 1):
        say(f"{number}/{len(todo)} {one.need.id}: {shown(one.size - one.cached)}")
        try:
            with quiet():
                _download(one, progress)
        except Exception as error:  # HTTP library, sockets, a wrong size: no common base class
            cause = error.__cause__ if isinstance(error, LocalEntryNotFoundError) else None
            why = (
                hub_error(cause or error, one.need)
                or f"not downloaded ({one_line(cause or error)})"
            )
            raise InputError(
                f"{one.need.id}: {why}; {number - 1} of {len(todo)} repositories are complete, and"
                " the same command goes on from there"
            ) from error


def shown(size: int) -> str:
    """Bytes for people: "1.23 GB"."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} B"


def _download(one: ListedRepository, progress: bool) -> None:
    need, names = one.need, [name for name, _ in one.files]
    where = {"revision": need.revision, "repo_type": need.kind}
    where |= {"tqdm_class": None if progress else NoBar}
    # One after the other, in this thread: of several, Ctrl-C would wait for those that run.
    for name in names:
        path = Path(hf_hub_download(need.id, name, **where))
    folder = path.parents[names[-1].count("/")]
    if need.kind == "model":
        # Fetches nothing more: it keeps the list of files, by which one that is gone is missed.
        snapshot_download(need.id, allow_patterns=names, **where)
    for name, size in one.files:
        got = (folder / name).stat().st_size
        if got != size:
            raise InputError(f"{folder / name}: {got:,} bytes, the hub has {size:,}; delete it")
