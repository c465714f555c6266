"""The repositories of the Hugging Face hub that a study reads: their files, sizes and faults.

Every repository is asked for, so that all gated, missing and unreachable ones show together.
Where the hub is not reached, sizes are estimates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from huggingface_hub import (
    HfApi,
    constants,
    get_hf_file_metadata,
    hf_hub_url,
    is_offline_mode,
    try_to_load_from_cache,
)
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from rbpkit import paper
from rbpkit.corpora import ON_HUB, corpus_on_hub
from rbpkit.errors import InputError, one_line
from rbpkit.files.architectures import nearest_model
from rbpkit.files.hub import fetched_files, lacking, matching
from rbpkit.files.libraries import quiet
from rbpkit.files.model_folders import (
    CONFIG,
    PICKLES,
    SAFETENSORS,
    TOKENIZER_FILES,
    find_checkpoint,
)
from rbpkit.study.jobs import models_of
from rbpkit.study.params import Params

TIMEOUT = 10.0  # seconds for an answer of the hub's API
ASKED_AT_ONCE = 8
# Reading a corpus makes an uncompressed copy in the cache of the `datasets` library.
COPIES = {"model": 1, "dataset": 3}

# -- sizes where the hub is not asked: rough, for planning
# Bytes of a number in the published weights, by family.
_PUBLISHED = {"GPT2": 4, "OPT": 2, "Pythia": 2, "Qwen": 2}
_UNTIED = {"Pythia"}  # the output head is stored beside the token embedding
_UNTIED_QWEN = {"Qwen2.5-7B", "Qwen2.5-14B"}
_TOKENIZERS = 5_000_000


@dataclass(frozen=True)
class Repository:
    """A repository that the study reads: `kind` of the hub's two, id, revision (None: newest).

    corpora: the study's names of what is read from a data set. patterns: of its files.
    """

    kind: Literal["model", "dataset"]
    id: str
    revision: str | None = None
    corpora: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True)
class ListedRepository:
    """One repository as the hub lists it.

    size, cached: bytes, of all its files and of those in the cache. files: (name, bytes), empty
    where the hub was not reached; then `estimated` is set and size is None where nothing is known
    of it. problem: why it cannot be had, "" where it can.
    """

    need: Repository
    commit: str = ""
    files: tuple[tuple[str, int], ...] = ()
    size: int | None = None
    cached: int = 0
    complete: bool = False
    estimated: bool = False
    problem: str = ""


@dataclass(frozen=True)
class HubListing:
    """A study's repositories, in its order; unreached: why the hub does not answer, else ""."""

    listed: tuple[ListedRepository, ...]
    unreached: str

    @property
    def problems(self) -> tuple[ListedRepository, ...]:
        """Those that cannot be had."""
        return tuple(one for one in self.listed if one.problem)

    @property
    def missing(self) -> int:
        """Bytes that are yet to be downloaded, as far as they are known."""
        return sum((one.size or 0) - one.cached for one in self.listed if not one.complete)

    @property
    def space(self) -> int:
        """Bytes that downloading and then reading will take on the disk."""
        return sum(
            COPIES[one.need.kind] * ((one.size or 0) - one.cached)
            for one in self.listed
            if not one.complete
        )


def repositories_of(params: Params) -> tuple[Repository, ...]:
    """The hub's repositories that a study reads: models smallest first, then data sets.

    Folders, files and pocket corpora need nothing. Raises InputError as `models_of`, for a
    corpus that is not there, and for a revision of something that the study does not read.
    """
    needs = [
        Repository("model", model, params.revision_of(model))
        for model in models_of(params)
        if not Path(model).expanduser().is_dir()
    ]
    for one in needs:
        if one.id.startswith((".", "/", "~")) or one.id.count("/") > 1:
            raise InputError(f"{one.id}: no such folder; give a model's folder or a hub id")
    sets: dict[str, Repository] = {}
    for given in params.corpus_names:
        name = corpus_on_hub(given)
        if name is None:
            continue
        hub = ON_HUB[name]
        before = sets.get(hub.path) or Repository("dataset", hub.path, params.revision_of(hub.path))
        patterns = tuple(dict.fromkeys((*before.patterns, *hub.files)))
        sets[hub.path] = replace(before, corpora=(*before.corpora, name), patterns=patterns)
    needs += sets.values()
    pinned = {one.split("@")[0] for one in params.revisions}
    for stray in sorted(pinned - {one.id for one in needs}):
        raise InputError(f"revisions: {stray} is no model and no data set of this study")
    return tuple(needs)


def list_repositories(needs: Sequence[Repository], *, allow_pickle: bool = False) -> HubListing:
    """Ask the hub for every need; problems are in the result, none is raised.

    Where it does not answer at all, what the cache holds and estimates are given instead.
    """
    if not needs:
        return HubListing((), "")
    unreached, first = "", None
    if is_offline_mode():
        unreached = "HF_HUB_OFFLINE is set"
    else:
        try:
            first = _ask(needs[0], allow_pickle)
        except Exception as error:  # no answer: HTTP library, sockets and names have no base class
            unreached = one_line(error)
    if unreached:
        return HubListing(tuple(_unasked(need, allow_pickle) for need in needs), unreached)
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        rest = list(pool.map(lambda need: _asked(need, allow_pickle), needs[1:]))
    return HubListing((first, *rest), "")


def _asked(need: Repository, allow_pickle: bool) -> ListedRepository:
    try:
        return _ask(need, allow_pickle)
    except Exception as error:  # as in `list_repositories`
        return ListedRepository(need, problem=f"no answer ({one_line(error)})")


def _ask(need: Repository, allow_pickle: bool) -> ListedRepository:
    """Raises what the network does; what the hub answers is in the result."""
    try:
        with quiet():
            return _list(need, allow_pickle)
    except (HfHubHTTPError, HFValidationError) as error:
        return ListedRepository(need, problem=hub_error(error, need))


def _list(need: Repository, allow_pickle: bool) -> ListedRepository:
    api, revision = HfApi(), need.revision or constants.DEFAULT_REVISION
    if need.kind == "model":
        info = api.model_info(need.id, revision=revision, files_metadata=True, timeout=TIMEOUT)
        sizes = {one.rfilename: one.size or 0 for one in info.siblings or ()}
        names, problem = _model_files(sizes, allow_pickle)
    else:
        # Not the whole repository: some data sets have tens of thousands of files.
        info = api.dataset_info(need.id, revision=revision, expand=["sha"], timeout=TIMEOUT)
        folders = dict.fromkeys(pattern.rpartition("/")[0] for pattern in need.patterns)
        sizes = {
            entry.path: entry.size
            for folder in folders
            for entry in api.list_repo_tree(
                need.id, folder or None, revision=info.sha, repo_type="dataset"
            )
            if hasattr(entry, "size")
        }
        names = matching(sizes, need.patterns)
        missing = lacking(sizes, need.patterns)
        problem = f"has no {missing[0]} (any more)" if missing else ""
    if problem:
        return ListedRepository(need, info.sha, problem=problem)
    # A gated repository tells its files to everybody, but gives none.
    address = hf_hub_url(need.id, names[0], repo_type=need.kind, revision=info.sha)
    get_hf_file_metadata(address, timeout=TIMEOUT)
    files = tuple((name, sizes[name]) for name in names)
    cached = [one for one in files if _in_cache(need, one[0], info.sha)]
    # By name too: offline, a revision is found by the name that it was fetched by.
    complete = len(cached) == len(files) and _in_cache(need, names[0], revision)
    total, there = (sum(size for _, size in some) for some in (files, cached))
    return ListedRepository(need, info.sha, files, total, there, complete)


def _model_files(names: Iterable[str], allow_pickle: bool) -> tuple[list[str], str]:
    """The files that `find_checkpoint` reads, and what is wrong with them, if anything is."""
    names = list(names)
    weights = matching(names, SAFETENSORS)
    if not weights and allow_pickle:
        weights = matching(names, PICKLES)
    elif not weights and matching(names, PICKLES):
        return [], "has its weights as pickle files only; `allow_pickle: true` admits them"
    if CONFIG not in names or not weights:
        return [], f"has no {'safetensors' if CONFIG in names else CONFIG}: no model to load"
    return list(dict.fromkeys([CONFIG, *weights, *matching(names, TOKENIZER_FILES)])), ""


def _in_cache(need: Repository, name: str, revision: str) -> bool:
    found = try_to_load_from_cache(need.id, name, repo_type=need.kind, revision=revision)
    return isinstance(found, str)


def _unasked(need: Repository, allow_pickle: bool) -> ListedRepository:
    """What can be said without the hub."""
    size = model_bytes(need.id) if need.kind == "model" else corpus_bytes(need.corpora)
    try:
        if need.kind == "model":
            options = {"revision": need.revision, "allow_pickle": allow_pickle}
            complete = bool(find_checkpoint(need.id, local_files_only=True, **options))
        else:
            complete = fetched_files(need.id, need.patterns, need.revision) is not None
    except InputError:
        complete = False
    problem = "" if complete else "not in the cache, and the hub is not reached"
    return ListedRepository(need, size=size, complete=complete, estimated=True, problem=problem)


def model_bytes(model: str) -> int | None:
    """Weights of one of the paper's 24 as published: parameters x bytes. None for others."""
    table = paper.models().set_index("hub_id")
    if model not in table.index:
        return None
    row = table.loc[model]
    numbers = int(row["S"]) + int(row["embedding_params"])
    if row["family"] in _UNTIED or row["model"] in _UNTIED_QWEN:
        numbers += int(row["embedding_params"])
    return numbers * _PUBLISHED[row["family"]] + _TOKENIZERS


def corpus_bytes(names: Iterable[str]) -> int | None:
    """Bytes of the hub corpora's files that are read; None where one's size is not known.

    Wikipedia whole has its part.
    """
    names = set(names)
    if "Wiki" in names:
        names.discard("Wiki:part")
    sizes = [ON_HUB[name].size for name in names]
    return None if None in sizes else int(sum(sizes))


def hub_error(error: Exception, need: Repository) -> str:
    """The hub's refusal in words; "" where it is none."""
    place = "datasets/" if need.kind == "dataset" else ""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, GatedRepoError) or status == 403:
        return (
            f"gated: accept its terms at {constants.ENDPOINT}/{place}{need.id}, then log in with"
            " `hf auth login`"
        )
    if isinstance(error, RevisionNotFoundError):
        return f"has no revision {need.revision!r}"
    if isinstance(error, RepositoryNotFoundError | HFValidationError):
        near = nearest_model(need.id) if need.kind == "model" else ""
        return f"no such {need.kind} on the hub, or a private one (`hf auth login`){near}"
    if status == 401:
        return "the hub wants a login: `hf auth login`"
    if status == 429:
        return "the hub refuses for now, too many requests (429): wait some minutes"
    if status is not None:
        return f"the hub failed to answer (status {status}); try again later"
    return ""
