"""The jobs of a study, a model on a corpus each; which of them are done, and which failed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from filelock import FileLock

from rbpkit import paper
from rbpkit.corpora import GLYPH_CORPORA, ON_HUB, POCKET_CORPORA, Corpus, load_corpus
from rbpkit.errors import InputError, reason
from rbpkit.records import iter_manifests, slug
from rbpkit.study.params import Params
from rbpkit_pocket import paths, recipes

NAMED = (*ON_HUB, *POCKET_CORPORA, *GLYPH_CORPORA)  # their columns are known


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


def models_of(params: Params) -> dict[str, str]:
    """The study's models: the name in the records -> hub id or folder.

    These are `model_ids`, or the models of the study's families, the smallest of each first. With
    source pocket, a model id may be the name of a pocket model. Raises InputError for an unknown
    family, for a study without models, for models that are still to be trained, and for two models
    of one name, since their records would overwrite each other.
    """
    if params.train_models:
        raise InputError("train_models: `rbpkit reproduce` trains these models and measures them")
    if params.model_ids:
        pocket = {p.name: str(p) for p in paths.MODELS.glob("*") if p.is_dir()}
        here = pocket if params.source == "pocket" else {}
        models = [here.get(one, one) for one in params.model_ids]
    elif params.source == "pocket":
        models = [
            str(recipes.model_folder(family, size))
            for family in map(recipes.family_named, params.families)
            for size in range(len(recipes.SHAPES[family]))
        ]
    else:
        table = paper.models().sort_values(["family", "S"])
        unknown = [one for one in params.families if one not in set(table["family"])]
        if unknown:
            known = ", ".join(table["family"].unique())
            raise InputError(f"no family {unknown[0]!r} in the paper: {known}")
        models = list(table[table["family"].isin(params.families)]["hub_id"])
    if not models:
        raise InputError("the study names no models: give families or model_ids")
    names: dict[str, str] = {}
    for model in models:
        name, folder = model, Path(os.path.expanduser(model))
        if folder.is_dir():
            name, repository = folder.resolve().name, folder.parent.parent.name
            if folder.parent.name == "snapshots" and repository.startswith("models--"):
                name = repository.removeprefix("models--").replace("--", "/")  # the hub's cache
        if name in names:
            raise InputError(
                f"{names[name]} and {model} are both called {name!r}: rename one folder"
            )
        names[name] = model
    return names


def corpus_names(params: Params) -> dict[str, str]:
    """The study's corpora: the name in the records -> the name or path in the parameters.

    Raises InputError for an unknown corpus, and for two corpora of one name.
    """
    known = {name.lower(): name for name in NAMED}
    names: dict[str, str] = {}
    for given in params.corpus_names:
        name = known.get(given.lower())
        if name is None and given.strip() and Path(os.path.expanduser(given)).exists():
            name = Path(os.path.expanduser(given)).resolve().name
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
            field=None if name in NAMED else params.text_field,
            image=None if name in NAMED else params.picture_field,
            seed=params.seed,
            revision=params.revision_of(ON_HUB[name].path) if name in ON_HUB else None,
        )
        for name, given in corpus_names(params).items()
    }


def job_path(out: str | Path, job: Job) -> Path:
    """What the paths of the job's files begin with, whatever its settings."""
    return Path(out) / slug(job.corpus) / slug(job.model)


def study_status(params: Params, out: str | Path) -> pd.DataFrame:
    """A row for each job of the study, in its order: what the records folder `out` says of it.

    Columns: model, corpus, state ("done", "failed" or "left"), tokens and seconds of what is done
    (else missing), and the reason of a failure. Done is a finished manifest with the study's
    settings, as far as the parameters tell them; a sweep also compares text and weights.
    Raises InputError when the study is at fault.
    """
    failures, corpora, rows = read_failures(Path(out)), corpus_names(params), []
    jobs = (one.manifest for one in iter_manifests(out))
    finished = sorted(jobs, key=lambda one: (one.max_length, one.documents))  # the nearest last
    for job in (Job(model, corpus) for model in models_of(params) for corpus in corpora):
        row = {"model": job.model, "corpus": job.corpus, "state": "left", "tokens": None}
        row |= {"seconds": None, "reason": ""}
        if job in failures:
            row |= {"state": "failed", "reason": failures[job].reason}
        for there in () if job in failures else finished:
            asked = {
                "model": job.model,
                "corpus": job.corpus,
                "dtype": params.dtype,
                # A model's context, or a corpus, can be shorter than what is asked for.
                "max_length": min(there.max_length, params.max_length),
                "documents": min(there.documents, params.documents or there.documents),
                "seed": params.seed if there.seed else 0,  # 0: nothing was shuffled
            }
            if there.has(asked):
                row |= {"state": "done", "tokens": there.tokens, "seconds": there.seconds}
        rows.append(row)
    return pd.DataFrame(rows).astype({"tokens": "Int64", "seconds": float})


def read_failures(out: Path) -> dict[Job, Failure]:
    """The jobs in `failures.csv` of the folder `out`. Raises InputError for a damaged file."""
    path = out / "failures.csv"
    if not path.exists():
        return {}
    with reason(f"{path}: not a table of failures; delete it"):
        rows = pd.read_csv(path, dtype=str, keep_default_na=False).itertuples(index=False)
        return {(job := Job(*row[:2])): Failure(job, *row[2:]) for row in rows}


def note_failure(out: Path, job: Job, failure: Failure | None) -> None:
    """Put the job's failure into `failures.csv`; None takes the job out. Raises OSError."""
    path = out / "failures.csv"
    if failure is None and not path.exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    with FileLock(out / ".failures.lock"):
        rest = [one for one in read_failures(out).values() if one.job != job]
        listed = rest if failure is None else [*rest, failure]
        rows = [(one.job.model, one.job.corpus, one.reason, one.trace) for one in listed]
        new = path.with_suffix(".tmp")
        pd.DataFrame(rows, columns=["model", "corpus", "reason", "trace"]).to_csv(new, index=False)
        os.replace(new, path)
        if not rows:
            path.unlink()
