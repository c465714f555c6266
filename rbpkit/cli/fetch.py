"""`rbpkit fetch`: download the models and corpora of a parameter file, or list their sizes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from rbpkit.cli.common import ParamsFile, print_rows, say
from rbpkit.errors import InputError, reason

if TYPE_CHECKING:
    from huggingface_hub import DryRunFileInfo

    from rbpkit.study.params import Params

Download = dict[str, Any]
"""What `snapshot_download` is given for a repository of the hub."""


def fetch(
    params: ParamsFile,
    /,
    *,
    dry_run: Annotated[bool, Parameter(help="List; download nothing.")] = False,
) -> None:
    """Download the models and corpora of a parameter file into the Hugging Face cache."""
    from rbpkit.study.params import load_params

    study = load_params(params)
    from huggingface_hub import snapshot_download

    downloads = _downloads(study)
    for pin in sorted(study.revisions):
        name = pin.split("@")[0]
        if name not in downloads:
            raise InputError(f"revisions: {name} is no model and no data set of this study")

    rows: list[dict[str, Any]] = []
    # All are listed before the first is downloaded, so that a slip shows at once.
    for name, download in downloads.items():
        files = _listed(download, study.allow_pickle)
        size = sum(file.file_size or 0 for file in files)
        missing = sum(file.file_size or 0 for file in files if file.will_download)
        row = {"repository": name, "commit": files[0].commit_hash[:12]}
        rows.append({**row, "GB": size / 1e9, "GB to download": missing / 1e9})
    print_rows(rows, as_json=False, digits=3)
    in_all = sum(row["GB to download"] for row in rows)
    say(f"{len(rows)} repositories, {in_all:.3f} GB to download")
    if dry_run:
        return

    for name, download in downloads.items():
        with reason(f"{name}: not downloaded; the same command resumes"):
            snapshot_download(**download)


def _downloads(study: Params) -> dict[str, Download]:
    """What a study needs of the hub, by name: its models, then its corpora."""
    from rbpkit import plugins
    from rbpkit.corpora import ON_HUB
    from rbpkit.files.model_folders import SAFETENSORS, SMALL_FILES
    from rbpkit.files.names import is_address
    from rbpkit.study.jobs import corpus_names, study_models

    downloads: dict[str, Download] = {}

    def add(name: str, kind: str, patterns: Sequence[str]) -> None:
        # Two corpora may be out of one data set.
        known = downloads[name]["allow_patterns"] if name in downloads else []
        downloads[name] = {
            "repo_id": name,
            "repo_type": kind,
            "revision": study.revision_of(name),
            "allow_patterns": [*known, *patterns],
        }

    for model in study_models(study).values():
        is_folder = Path(os.path.expanduser(model)).is_dir()
        if not is_folder and not is_address(model) and not plugins.prefix_of(model):
            add(model, "model", [*SMALL_FILES, *SAFETENSORS])
    for corpus in corpus_names(study):
        if corpus in ON_HUB:
            add(ON_HUB[corpus].path, "dataset", ON_HUB[corpus].files)
    return downloads


def _listed(download: Download, allow_pickle: bool) -> Sequence[DryRunFileInfo]:
    """The files that would be downloaded; of pickles only if there are no safetensors."""
    from huggingface_hub import snapshot_download

    from rbpkit.files.libraries import quiet
    from rbpkit.files.model_folders import PICKLES, SMALL_FILES

    name = download["repo_id"]
    with reason(f"{name}: cannot be had from the hub"), quiet():
        files = snapshot_download(**download, dry_run=True)
        has_safetensors = any(file.filename.endswith(".safetensors") for file in files)
        if download["repo_type"] == "model" and not has_safetensors and allow_pickle:
            download["allow_patterns"] = [*SMALL_FILES, *PICKLES]
            files = snapshot_download(**download, dry_run=True)
        if not files:
            raise InputError(f"{name}: has none of {', '.join(download['allow_patterns'])}")
        return files
