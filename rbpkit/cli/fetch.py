"""`rbpkit fetch`: download the models and corpora of a parameter file, or list their sizes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from rbpkit.cli.common import ParamsFile, print_table, say
from rbpkit.errors import InputError, reason

if TYPE_CHECKING:
    from huggingface_hub import DryRunFileInfo

    from rbpkit.study.params import Params


def fetch(
    params: ParamsFile,
    /,
    *,
    dry_run: Annotated[bool, Parameter(help="List; download nothing.")] = False,
) -> None:
    """Download the models and corpora of a parameter file into the Hugging Face cache."""
    from rbpkit.study.params import load_params

    study = load_params(params)
    import pandas as pd
    from huggingface_hub import snapshot_download

    repositories = _repositories(study)
    _check_revisions(study, repositories)

    rows = []
    # All are listed before the first is downloaded, so that a slip shows at once.
    for name, repository in repositories.items():
        repository, files = _listed(repository, study.allow_pickle)
        repositories[name] = repository
        size = sum(file.file_size or 0 for file in files)
        missing = sum(file.file_size or 0 for file in files if file.will_download)
        rows.append((name, files[0].commit_hash[:12], size / 1e9, missing / 1e9))
    table = pd.DataFrame(rows, columns=["repository", "commit", "GB", "GB to download"])
    if rows:
        print_table(table, as_json=False, digits=3)
    say(f"{len(rows)} repositories, {table['GB to download'].sum():.3f} GB to download")
    if dry_run:
        return

    for name, repository in repositories.items():
        with reason(f"{name}: not downloaded; the same command resumes"):
            snapshot_download(**repository.arguments)


@dataclass(frozen=True)
class _Repository:
    """A repository of the hub, and which of its files are wanted.

    kind: "model" or "dataset".
    patterns: of the files' names.
    revision: None for the newest.
    """

    name: str
    kind: str
    patterns: tuple[str, ...]
    revision: str | None

    @property
    def arguments(self) -> dict[str, Any]:
        """For `snapshot_download`."""
        return {
            "repo_id": self.name,
            "repo_type": self.kind,
            "revision": self.revision,
            "allow_patterns": [*self.patterns],
        }


def _small_files() -> tuple[str, ...]:
    """Patterns of a model's files, all but its weights."""
    from rbpkit.files.model_folders import CONFIG, PROCESSOR_FILES, TOKENIZER_FILES

    return (CONFIG, *TOKENIZER_FILES, *PROCESSOR_FILES)


def _repositories(study: Params) -> dict[str, _Repository]:
    """What a study needs of the hub, by name: its models, then its corpora."""
    from rbpkit import plugins
    from rbpkit.corpora import ON_HUB
    from rbpkit.files.model_folders import SAFETENSORS
    from rbpkit.study.jobs import corpus_names, study_models

    repositories = {}
    for model in study_models(study).values():
        is_folder = Path(os.path.expanduser(model)).is_dir()
        if not is_folder and not plugins.prefix_of(model):
            patterns = (*_small_files(), *SAFETENSORS)
            repositories[model] = _Repository(model, "model", patterns, study.revision_of(model))
    for corpus in corpus_names(study):
        if corpus not in ON_HUB:
            continue
        name, patterns = ON_HUB[corpus].path, ON_HUB[corpus].files
        if name in repositories:  # two corpora out of one data set
            patterns = (*repositories[name].patterns, *patterns)
        repositories[name] = _Repository(name, "dataset", patterns, study.revision_of(name))
    return repositories


def _check_revisions(study: Params, repositories: dict[str, _Repository]) -> None:
    """InputError for a revision of something that the study does not use."""
    for revision in sorted(study.revisions):
        name = revision.split("@")[0]
        if name not in repositories:
            raise InputError(f"revisions: {name} is no model and no data set of this study")


def _listed(
    repository: _Repository, allow_pickle: bool
) -> tuple[_Repository, Sequence[DryRunFileInfo]]:
    """The files that would be downloaded; of pickles only if there are no safetensors."""
    from huggingface_hub import snapshot_download

    from rbpkit.files.libraries import quiet
    from rbpkit.files.model_folders import PICKLES

    with reason(f"{repository.name}: cannot be had from the hub"), quiet():
        files = snapshot_download(**repository.arguments, dry_run=True)
        has_safetensors = any(file.filename.endswith(".safetensors") for file in files)
        if repository.kind == "model" and not has_safetensors and allow_pickle:
            repository = replace(repository, patterns=(*_small_files(), *PICKLES))
            files = snapshot_download(**repository.arguments, dry_run=True)
        if not files:
            raise InputError(f"{repository.name}: has none of {', '.join(repository.patterns)}")
        return repository, files
