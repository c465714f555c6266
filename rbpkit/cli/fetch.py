"""`rbpkit fetch`: download the models and corpora of a parameter file, or list their sizes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rbpkit.cli.common import ParamsFile, print_table, say
from rbpkit.errors import InputError, reason
from rbpkit.study.params import load_params


def fetch(
    params: ParamsFile,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List; download nothing.")] = False,
) -> None:
    """Download the models and corpora of a parameter file into the Hugging Face cache."""
    loaded = load_params(params)
    import pandas as pd
    from huggingface_hub import snapshot_download

    from rbpkit import plugins
    from rbpkit.corpora import ON_HUB
    from rbpkit.files.libraries import quiet
    from rbpkit.files.model_folders import (
        CONFIG,
        PICKLES,
        PROCESSOR_FILES,
        SAFETENSORS,
        TOKENIZER_FILES,
    )
    from rbpkit.study.jobs import corpus_names, models_of

    small = [CONFIG, *TOKENIZER_FILES, *PROCESSOR_FILES]
    wanted: dict[str, tuple[str, list[str]]] = {}  # repository -> its type, patterns of its files
    for model in models_of(loaded).values():
        here = Path(os.path.expanduser(model)).is_dir() or plugins.prefix_of(model)
        if not here:
            wanted[model] = "model", [*small, *SAFETENSORS]
    for corpus in corpus_names(loaded):
        if corpus in ON_HUB:
            wanted.setdefault(ON_HUB[corpus].path, ("dataset", []))[1].extend(ON_HUB[corpus].files)
    stray = {one.split("@")[0] for one in loaded.revisions} - wanted.keys()
    if stray:
        raise InputError(f"revisions: {min(stray)} is no model and no data set of this study")
    rows, downloads = [], []
    for repository, (kind, patterns) in wanted.items():
        where = {"repo_type": kind, "revision": loaded.revision_of(repository)}
        with reason(f"{repository}: cannot be had from the hub"), quiet():
            files = snapshot_download(repository, allow_patterns=patterns, dry_run=True, **where)
            weights = any(file.filename.endswith(".safetensors") for file in files)
            if kind == "model" and not weights and loaded.allow_pickle:
                patterns = [*small, *PICKLES]
                files = snapshot_download(
                    repository, allow_patterns=patterns, dry_run=True, **where
                )
            if not files:
                raise InputError(f"{repository}: has none of {', '.join(patterns)}")
        missing = sum(file.file_size or 0 for file in files if file.will_download)
        size = sum(file.file_size or 0 for file in files)
        rows.append((repository, files[0].commit_hash[:12], size / 1e9, missing / 1e9))
        downloads.append((repository, patterns, where))
    table = pd.DataFrame(rows, columns=["repository", "commit", "GB", "GB to download"])
    if rows:
        print_table(table, as_json=False, digits=3)
    say(f"{len(rows)} repositories, {table['GB to download'].sum():.3f} GB to download")
    for repository, patterns, where in downloads if not dry_run else ():
        with reason(f"{repository}: not downloaded; the same command resumes"):
            snapshot_download(repository, allow_patterns=patterns, **where)
