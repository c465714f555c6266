"""The jobs of a study, a model on a corpus each; which of them are done, and which failed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock

from rbpkit import paper, plugins
from rbpkit.corpora import ON_HUB, Corpus, known_corpus, load_corpus
from rbpkit.errors import InputError, reason
from rbpkit.files.manifest import Manifest
from rbpkit.files.names import name_of
from rbpkit.files.text_files import Columns
from rbpkit.files.writing import write_whole
from rbpkit.models import find_model
from rbpkit.records import iter_manifests
from rbpkit.tools.served import ServedModel, is_address, served_name
from rbpkit.tools.study.params import Params

COLUMNS = ["model", "corpus", "reason", "trace"]  # of failures.csv


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


def study_models(params: Params) -> dict[str, str]:
    """The study's models: the name in the records -> hub id, folder, PLUGIN:NAME, or address.

    These are `model_ids`, or the models of the study's families, the smallest of each first. A
    server is asked for the name of its model. Raises InputError for an unknown family or model, for
    a server that does not answer, for a study without models, and for two models of one name, since
    their records would overwrite each other.
    """
    if params.model_ids:
        asked = list(params.model_ids)
    elif params.source == "hub":
        asked = _published_models(params.families)
    else:
        asked = []
        for family in params.families:
            asked += _models_of_family(params.source, family)
    if not asked:
        raise InputError("the study names no models: give families or model_ids")
    models: dict[str, str] = {}
    for given in asked:
        name, source = _model_called(given, params)
        if name in models:
            raise InputError(
                f"{models[name]} and {source} are both called {name!r}: rename one folder"
            )
        models[name] = source
    return models


def _published_models(families: Sequence[str]) -> list[str]:
    """The hub ids of the paper's models of these families, the smallest of each first."""
    table = paper.models().sort_values(["family", "S"])
    known = list(table["family"].unique())
    for family in families:
        if family not in known:
            raise InputError(f"no family {family!r} in the paper: {', '.join(known)}")
    return list(table[table["family"].isin(families)]["hub_id"])


def _models_of_family(plugin: str, family: str) -> list[str]:
    """The models of a plugin's family, smallest first, as PLUGIN:NAME; the family in any case."""
    families = plugins.reference_of(plugin).families
    for known, names in families.items():
        if known.lower() == family.lower():
            return [f"{plugin}:{name}" for name in names]
    raise InputError(f"no {plugin} family {family!r}: there are {', '.join(families)}")


def _model_called(given: str, params: Params) -> tuple[str, str]:
    """A model as a study names it -> its name in the records, and what `load_model` takes.

    If the study's source is a plugin, a name without a "/" that is no path is the plugin's.
    """
    if is_address(given):
        return served_name(given), given
    is_bare_name = "/" not in given and plugins.prefix_of(given) is None
    if params.source != "hub" and is_bare_name and not Path(given).expanduser().exists():
        given = f"{params.source}:{given}"
    if plugins.prefix_of(given) is not None:
        return given.partition(":")[2], given
    return name_of(given, params.revision_of(given)), given


def corpus_names(params: Params) -> dict[str, str]:
    """The study's corpora: the name in the records -> the name or path in the parameters.

    Raises InputError for an unknown corpus, for none, and for two corpora of one name.
    """
    if not params.corpus_names:
        raise InputError("the study names no text to measure: give corpus_names")
    names: dict[str, str] = {}
    for given in params.corpus_names:
        name = known_corpus(given)
        if name is None and given.strip() and Path(os.path.expanduser(given)).exists():
            name = Path(os.path.expanduser(given)).resolve().name
        name = name or load_corpus(given).id  # raises, and names the nearest corpus
        if name in names:
            raise InputError(f"two corpora are called {name!r}: rename one file or folder")
        names[name] = given
    return names


def read_corpora(params: Params) -> dict[str, Corpus]:
    """The study's corpora, by the names of `corpus_names`. Raises InputError as `load_corpus`."""
    return {name: _read_corpus(params, name, given) for name, given in corpus_names(params).items()}


def _read_corpus(params: Params, name: str, given: str) -> Corpus:
    is_known = known_corpus(given) is not None
    # The columns of a known corpus are known, too; those given are of own files.
    columns = Columns() if is_known else Columns(params.field, params.unit, params.prompt)
    return load_corpus(
        given,
        documents=params.documents,
        seed=params.seed,
        field=columns.field,
        unit=columns.unit,
        prompt=columns.prompt,
        revision=params.revision_of(ON_HUB[name].path) if name in ON_HUB else None,
        changed_text=params.changed_text,
    )


def study_status(params: Params, out: str | Path) -> pd.DataFrame:
    """A row for each job of the study, in its order: what the records folder `out` says of it.

    Columns: model, corpus, state ("done", "failed" or "left"), tokens and seconds of what is done
    (else missing), and the reason of a failure. Done is a finished manifest with the study's
    settings, as far as the parameters tell them, and with the text of the study's own files, so
    that another prompt counts as left; a sweep also compares other texts, and weights. A job that
    is left has a reason if its model is not here. Raises InputError when the study is at fault.
    """
    failures = read_failures(Path(out))
    models, corpora = study_models(params), corpus_names(params)
    fingerprints = {}
    for name, given in corpora.items():
        if known_corpus(given) is None:  # the others may have to be downloaded first
            fingerprints[name] = _read_corpus(params, name, given).fingerprint
    finished = [file.manifest for file in iter_manifests(out)]
    finished.sort(key=lambda manifest: (manifest.max_length, manifest.documents))
    rows: list[tuple[object, ...]] = []
    for (model, source), corpus in product(models.items(), corpora):
        job = Job(model, corpus)
        done = None
        for manifest in finished:  # the last is of the longest text: nearest to what is asked for
            same_text = manifest.fingerprint == fingerprints.get(corpus, manifest.fingerprint)
            if same_text and _is_of(manifest, job, source, params):
                done = manifest
        if job in failures:
            rows.append((model, corpus, "failed", None, None, failures[job].reason))
        elif done is not None:
            rows.append((model, corpus, "done", done.tokens, done.seconds, ""))
        else:
            missing = _why_missing(source, **params.files_of(source))
            rows.append((model, corpus, "left", None, None, missing))
    columns = ["model", "corpus", "state", "tokens", "seconds", "reason"]
    return pd.DataFrame(rows, columns=columns).astype({"tokens": "Int64", "seconds": float})


def _why_missing(source: str, **files: Any) -> str:
    """Why a model cannot be found on this machine; "" if it can, or if it is an opener's."""
    if plugins.prefix_of(source) is not None:  # it may have to be trained first
        return ""
    try:
        find_model(source, **files, local_files_only=True)
    except InputError as error:
        return str(error)
    return ""


def _is_of(manifest: Manifest, job: Job, source: str, params: Params) -> bool:
    """Whether a finished job is this one of the study, as far as names and settings tell.

    Neither text nor weights are read. A corpus may have fewer documents than are asked for, a model
    a shorter context, and a corpus that is not shuffled has the seed 0.
    """
    dtype = ServedModel.dtype if is_address(source) else params.dtype
    names = (manifest.model, manifest.corpus, manifest.dtype, manifest.stride)
    if names != (job.model, job.corpus, dtype, params.stride):
        return False
    if params.documents and manifest.documents > params.documents:
        return False
    return manifest.max_length <= params.max_length and manifest.seed in (0, params.seed)


def read_failures(out: Path) -> dict[Job, Failure]:
    """The jobs in `failures.csv` of the folder `out`. Raises InputError for a damaged file."""
    path = out / "failures.csv"
    if not path.exists():
        return {}
    with reason(f"{path}: not a table of failures; delete it"):
        rows = pd.read_csv(path, dtype=str, keep_default_na=False)[COLUMNS].itertuples(index=False)
        return {(job := Job(*row[:2])): Failure(job, *row[2:]) for row in rows}


def note_failure(out: Path, job: Job, failure: Failure | None) -> None:
    """Put the job's failure into `failures.csv`; None takes the job out. Raises OSError."""
    path = out / "failures.csv"
    if failure is None and not path.exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    with FileLock(out / ".failures.lock"):
        listed = read_failures(out)
        listed.pop(job, None)
        if failure is not None:
            listed[job] = failure
        rows = [(one.job.model, one.job.corpus, one.reason, one.trace) for one in listed.values()]
        table = pd.DataFrame(rows, columns=COLUMNS).to_csv(index=False)
        write_whole(out, {path.name: table.encode()})
        if not rows:
            path.unlink()
