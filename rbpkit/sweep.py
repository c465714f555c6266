"""Every model on every corpus: the jobs of a study, each done once, one failure stopping none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from rbpkit import paper, pocket
from rbpkit.corpora import Corpus, load_corpus
from rbpkit.errors import InputError
from rbpkit.measure import Measurement, measure
from rbpkit.models import load_model
from rbpkit.params import Params


@dataclass(frozen=True)
class Failure:
    """A job that came to nothing, and the one line that says why."""

    model: str
    corpus: str
    reason: str


@dataclass(frozen=True)
class SweepResult:
    """What a sweep measured or found done, in the order of its jobs, and what failed."""

    measured: tuple[Measurement, ...]
    failures: tuple[Failure, ...]


def models_of(params: Params, trained: Mapping[str, Path] | None = None) -> tuple[str, ...]:
    """The study's models: `model_ids`, or those of its families, smallest first.

    trained: name -> folder of a pocket model that takes the shipped one's place.

    Folders for the pocket ladders, hub ids for the paper's. Raises InputError for a family that
    is not there, for none at all, and for two folders of one name (their records would be one).
    """
    if params.model_ids:
        models = params.model_ids
    elif params.source == "pocket":
        folders = (
            pocket.model_folder(family, size)
            for family in map(pocket.family_named, params.families)
            for size in range(len(pocket.LADDERS[family]))
        )
        models = tuple(str((trained or {}).get(folder.name, folder)) for folder in folders)
    else:
        table = paper.models()
        for family in params.families:
            if family not in set(table["family"]):
                raise InputError(
                    f"no family {family!r} in the paper: {', '.join(table['family'].unique())}"
                )
        chosen = table[table["family"].isin(params.families)].sort_values(["family", "S"])
        models = tuple(chosen["hub_id"])
    if not models:
        raise InputError("the study names no models: give families or model_ids")
    names: dict[str, str] = {}
    for model in models:
        name = Path(model).resolve().name if Path(model).is_dir() else model
        if name in names:
            raise InputError(
                f"{names[name]} and {model} are both called {name!r}: rename one folder"
            )
        names[name] = model
    return models


def corpora_of(params: Params) -> list[Corpus]:
    """The study's corpora, read.

    Raises InputError as `load_corpus` does, and for two of one name (their records would be one).
    """
    corpora: list[Corpus] = []
    for name in params.corpus_names:
        own = params.text_field if Path(name).exists() else None
        corpus = load_corpus(name, documents=params.documents, field=own, seed=params.seed)
        if corpus.id in {other.id for other in corpora}:
            raise InputError(f"two corpora are called {corpus.id!r}: rename one file or folder")
        corpora.append(corpus)
    return corpora


def sweep(
    params: Params,
    out: str | Path,
    *,
    trained: Mapping[str, Path] | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> SweepResult:
    """Measure all of the study's models on all of its corpora into the records folder `out`.

    trained: name -> folder of a pocket model that takes the shipped one's place.
    A model is loaded once, finished jobs are not run again, and a job that fails is told with
    `say` and in the result. Raises InputError before anything runs where the study is at fault.
    """
    if params.threads:
        torch.set_num_threads(params.threads)
    models, corpora = models_of(params, trained), corpora_of(params)
    measured: list[Measurement] = []
    failures: list[Failure] = []
    for model_id in models:
        try:
            model = load_model(model_id, dtype=params.dtype, device=params.device)
        except InputError as error:
            say(f"failed: {error}")
            failures += [Failure(model_id, corpus.id, str(error)) for corpus in corpora]
            continue
        for corpus in corpora:
            try:
                one = measure(
                    model,
                    corpus,
                    out,
                    max_length=params.max_length,
                    batch_tokens=params.batch_tokens,
                    progress=progress,
                    say=say,
                )
            except InputError as error:
                say(f"failed: {model.name} on {corpus.id}: {error}")
                failures.append(Failure(model.name, corpus.id, str(error)))
                continue
            measured.append(one)
            say(_line(one))
    return SweepResult(tuple(measured), tuple(failures))


def _line(one: Measurement) -> str:
    manifest = one.summary.manifest
    what = f"{manifest.model} on {manifest.corpus}: {manifest.tokens:,} tokens"
    if one.found_done:
        return f"done before: {what}"
    speed = manifest.tokens / max(manifest.seconds, 1e-9)
    return f"measured: {what} in {manifest.seconds:.1f} s ({speed:,.0f} tokens/s)"
