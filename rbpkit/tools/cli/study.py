"""The commands that take a parameter file (fetch, sweep, reproduce), and classroom."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
from cyclopts import Parameter
from cyclopts.types import PositiveFloat, PositiveInt
from huggingface_hub import DryRunFileInfo, snapshot_download

from rbpkit import plugins
from rbpkit.checkpoints import PICKLES, SAFETENSORS, SMALL_FILES
from rbpkit.corpora import ON_HUB
from rbpkit.errors import InputError, reason
from rbpkit.libraries import quiet
from rbpkit.tools.cli.app import say
from rbpkit.tools.cli.common import TEXT_TABLE, Out, ParamsFile, Table, print_table
from rbpkit.tools.served import is_address
from rbpkit.tools.study.checks import folder_to_write
from rbpkit.tools.study.jobs import corpus_names, study_models
from rbpkit.tools.study.params import Params, load_params

Download = dict[str, Any]
"""What `snapshot_download` is given for a repository of the hub."""


def sweep(
    params: ParamsFile,
    /,
    *,
    out: Out,
    engine: Annotated[
        Literal["process", "ray"],
        Parameter(help="process: on this machine; ray: on a Ray cluster."),
    ] = "process",
    address: Annotated[
        str | None, Parameter(help="Address of a running Ray cluster; by default one is started.")
    ] = None,
    workers: Annotated[
        PositiveInt | None, Parameter(help="Models at a time; by default 1, on Ray all that fit.")
    ] = None,
    hours: Annotated[
        PositiveFloat, Parameter(help="The most that a job may take; then its worker is killed.")
    ] = 24,
    dry_run: Annotated[bool, Parameter(help="List the jobs: done or left. Measure none.")] = False,
) -> None:
    """Measure all models of a parameter file on all of its corpora."""
    loaded = load_params(params)
    folder = folder_to_write(out)
    # A name that is not known shows now: the next line loads torch, which takes seconds.
    study_models(loaded)
    corpus_names(loaded)
    from rbpkit.tools.study.sweep import found_done, tasks_of
    from rbpkit.tools.study.sweep import sweep as run

    if dry_run:
        rows = []
        for task, path in found_done(tasks_of(loaded, folder)):
            state = "left" if path is None else "done"
            rows.append({"model": task.job.model, "corpus": task.job.corpus, "state": state})
        jobs = pd.DataFrame(rows)
        print_table(jobs, TEXT_TABLE)
        left = (jobs["state"] == "left").sum()
        say(f"{len(jobs)} jobs: {len(jobs) - left} done, {left} left")
        return
    try:
        result = run(
            loaded,
            folder,
            engine=engine,
            address=address,
            workers=workers,
            hours=hours,
            say=say,
            progress=sys.stderr.isatty(),
        )
    except KeyboardInterrupt:
        say("what is done stays; the same command resumes")
        raise
    say(f"{len(result.measured)} jobs done, {len(result.failures)} failed; records in {folder}")
    if result.failures:
        say("the same command runs those that failed again")
        raise SystemExit(1)


def reproduce(
    params: ParamsFile,
    /,
    *,
    out: Annotated[str | None, Parameter(help="Where to write; by default out/NAME.")] = None,
    notebook: Annotated[
        tuple[str, ...], Parameter(help="Only this notebook, as 03; may be given again.")
    ] = (),
    form: Annotated[
        str | None, Parameter("--format", help="Format of figures: png (default), pdf or svg.")
    ] = None,
) -> None:
    """Measure a study, run the notebooks on it, and compare with what ships and is published."""
    loaded = load_params(params)
    folder = folder_to_write(out or f"out/{params.stem}")
    # Of the extra `notebooks`.
    from rbpkit.plots import FORMAT_VARIABLE, figure_format
    from rbpkit.tools.study.reproduce import reproduce as run

    os.environ[FORMAT_VARIABLE] = figure_format(form)  # the notebooks' kernels have it too
    tell = functools.partial(print, flush=True)  # a line is seen when it is said, in a file too
    if not run(loaded, folder, notebooks=notebook, say=tell, progress=sys.stderr.isatty()):
        raise SystemExit(1)


def classroom(
    folder: Annotated[Path, Parameter(help="A folder of what students handed in.")],
    /,
    *,
    out: Annotated[str, Parameter(help="The folder for the page and the tables.")],
    names: Annotated[Path | None, Parameter(help="A file with a student's name a line.")] = None,
) -> None:
    """Gather a class's parameter files and notebooks in tables and on one page."""
    report: Any = plugins.offered("notebooks", "class_report")
    if report is None:
        raise InputError("its code is not installed: from the repository pip install -e notebooks")
    if report(folder, folder_to_write(out), names=names, say=say):
        raise SystemExit(1)


# -- downloads --------------------------------------------------------------------------------


def fetch(
    params: ParamsFile,
    /,
    *,
    dry_run: Annotated[bool, Parameter(help="List; download nothing.")] = False,
    form: Table = TEXT_TABLE,
) -> None:
    """Download the models and corpora of a parameter file into the Hugging Face cache."""
    study = load_params(params)
    downloads = _downloads(study)
    for pin in sorted(study.revisions):
        name = pin.split("@")[0]
        if name not in downloads:
            raise InputError(f"revisions: {name} is no model and no data set of this study")

    rows = []
    # All are listed before the first is downloaded, so that a slip shows at once.
    for name, download in downloads.items():
        files = _listed(download)
        size = sum(file.file_size or 0 for file in files)
        missing = sum(file.file_size or 0 for file in files if file.will_download)
        rows.append((name, files[0].commit_hash[:12], size / 1e9, missing / 1e9))
    table = pd.DataFrame(rows, columns=["repository", "commit", "GB", "GB to download"])
    print_table(table, form, digits=3)
    say(f"{len(rows)} repositories, {table['GB to download'].sum():.3f} GB to download")
    if not dry_run:
        for name, download in downloads.items():
            with reason(name):
                snapshot_download(**download)


def _downloads(study: Params) -> dict[str, Download]:
    """What a study needs of the hub, by name: its models, then its corpora."""
    files: dict[tuple[str, str], list[str]] = {}  # patterns, by kind and name
    for model in study_models(study).values():
        is_folder = Path(model).expanduser().is_dir()
        if not is_folder and not is_address(model) and not plugins.prefix_of(model):
            files["model", model] = [*SMALL_FILES, *SAFETENSORS]
    for corpus in corpus_names(study):
        if corpus in ON_HUB:  # two corpora may be out of one data set
            files.setdefault(("dataset", ON_HUB[corpus].path), []).extend(ON_HUB[corpus].files)
    downloads = {}
    for (kind, name), patterns in files.items():
        about = {"repo_id": name, "repo_type": kind, "revision": study.revision_of(name)}
        downloads[name] = {**about, "allow_patterns": patterns}
    return downloads


def _listed(download: Download) -> list[DryRunFileInfo]:
    """The files that would be downloaded; of pickles only if there are no safetensors."""
    with reason(download["repo_id"]), quiet():
        files = snapshot_download(**download, dry_run=True)
        has_safetensors = any(file.filename.endswith(".safetensors") for file in files)
        if download["repo_type"] == "model" and not has_safetensors:
            download["allow_patterns"] = [*SMALL_FILES, *PICKLES]
            files = snapshot_download(**download, dry_run=True)
    if not files:
        patterns = ", ".join(download["allow_patterns"])
        raise InputError(f"{download['repo_id']}: has none of {patterns}")
    return files
