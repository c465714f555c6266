"""The jobs of a study: its models, its corpora, and `failures.csv`, the jobs that failed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from filelock import FileLock

from rbpkit import paper
from rbpkit.corpora import ON_HUB, POCKET_CORPORA, Corpus, load_corpus
from rbpkit.errors import InputError, reason
from rbpkit.files.manifest import Manifest
from rbpkit.files.recordfiles import slug
from rbpkit.pocket import ladders
from rbpkit.study.params import Params


@dataclass(frozen=True)
class Job:
    """A model on a corpus, by the names that their records carry."""

    model: str
    corpus: str


@dataclass(frozen=True)
class Failure:
    """A job that could not be measured.

    reason: one line for people. trace: the traceback, empty when the reason is bad input.
    """

    job: Job
    reason: str
    trace: str = ""


def job_stem(out: str | Path, job: Job) -> Path:
    """Where the job's files are in the records folder `out`, without their suffix."""
    return Path(out) / slug(job.corpus) / slug(job.model)


def has_settings(manifest: Manifest, asked: Mapping[str, str | int]) -> bool:
    """Whether a job was measured with the settings `asked`, of those that its key holds."""
    there = manifest.settings()
    return all(there.get(name, value) == value for name, value in asked.items())


def read_failures(out: Path) -> dict[Job, Failure]:
    """The jobs in `failures.csv` of the folder `out`. Raises InputError for a damaged file."""
    path = out / "failures.csv"
    if not path.exists():
        return {}
    with reason(f"{path}: not a table of failures; delete it"):
        rows = pd.read_csv(path, dtype=str, keep_default_na=False).itertuples(index=False)
        return {(job := Job(*row[:2])): Failure(job, *row[2:]) for row in rows}


def note(out: Path, job: Job, failure: Failure | None) -> None:
    """Put the job's failure into `failures.csv`; None takes the job out. Raises OSError."""
    path = out / "failures.csv"
    if failure is None and not path.exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    with FileLock(out / ".failures.lock"):
        rest = [one for other, one in read_failures(out).items() if other != job]
        rows = [
            {"model": one.job.model, "corpus": one.job.corpus, "reason": one.reason}
            | {"trace": one.trace}
            for one in (*rest, failure)
            if one is not None
        ]
        temporary = path.with_suffix(".tmp")
        pd.DataFrame(rows).to_csv(temporary, index=False)
        os.replace(temporary, path)
        if not rows:
            path.unlink()


def models_of(params: Params) -> dict[str, str]:
    """The study's models: the name in the records -> hub id or folder.

    These are `model_ids`, or the models of the study's families, the smallest of each first. With
    source pocket, a model id may be the name of a pocket model. Raises InputError for an unknown
    family, for a study without models, for models that are still to be trained, and for two models
    of one name, since their records would overwrite each other.
    """
    if params.train_anew:
        raise InputError("train_anew: `rbpkit reproduce` trains these models and measures them")
    if params.model_ids:
        pocket = {p.name: str(p) for p in ladders.models_root().glob("*") if p.is_dir()}
        here = pocket if params.source == "pocket" else {}
        models = [here.get(one, one) for one in params.model_ids]
    elif params.source == "pocket":
        models = [
            str(ladders.model_folder(family, size))
            for family in map(ladders.family_named, params.families)
            for size in range(len(ladders.LADDERS[family]))
        ]
    else:
        table = paper.models().sort_values(["family", "S"])
        for family in params.families:
            if family not in set(table["family"]):
                raise InputError(
                    f"no family {family!r} in the paper: {', '.join(table['family'].unique())}"
                )
        models = list(table[table["family"].isin(params.families)]["hub_id"])
    if not models:
        raise InputError("the study names no models: give families or model_ids")
    names: dict[str, str] = {}
    for model in models:
        name = _model_name(model)
        if name in names:
            raise InputError(
                f"{names[name]} and {model} are both called {name!r}: rename one folder"
            )
        names[name] = model
    return names


def _model_name(model: str) -> str:
    """What the records call a hub id or a folder: the name that `find_checkpoint` gives it."""
    folder = Path(model).expanduser()
    if not folder.is_dir():
        return model
    repository = folder.parent.parent.name
    if folder.parent.name == "snapshots" and repository.startswith("models--"):
        return repository.removeprefix("models--").replace("--", "/")
    return folder.resolve().name


def corpus_names(params: Params) -> dict[str, str]:
    """The study's corpora: the name in the records -> the name or path in the parameters.

    Raises InputError for an unknown corpus, and for two corpora of one name.
    """
    known = {name.lower(): name for name in (*ON_HUB, *POCKET_CORPORA)}
    names: dict[str, str] = {}
    for given in params.corpus_names:
        name = known.get(given.lower())
        if name is None and given.strip() and Path(given).expanduser().exists():
            name = Path(given).expanduser().resolve().name
        name = name or load_corpus(given).id  # raises, and names the nearest corpus
        if name in names:
            raise InputError(f"two corpora are called {name!r}: rename one file or folder")
        names[name] = given
    return names


def read_corpora(params: Params) -> dict[str, Corpus]:
    """The study's corpora, by the names of `corpus_names`. Raises InputError as `load_corpus`."""
    return {
        name: load_corpus(
            given,
            documents=params.documents,
            field=None if name in (*ON_HUB, *POCKET_CORPORA) else params.text_field,
            seed=params.seed,
            revision=params.revision_of(ON_HUB[name].path) if name in ON_HUB else None,
        )
        for name, given in corpus_names(params).items()
    }
