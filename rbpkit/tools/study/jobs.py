"""The models and the corpora of a study."""

from __future__ import annotations

from pathlib import Path

from rbpkit import paper, plugins
from rbpkit.corpora import HUB_CORPORA, Corpus, is_named, load_corpus
from rbpkit.errors import InputError
from rbpkit.tools.study.params import Params
from rbpkit.tools.study.reference import reference_of


def model_sources(params: Params) -> list[str]:
    """The study's models as `load_model` takes them: hub ids, folders, PREFIX:NAME.

    These are `model_ids`, or the models of the study's families, the smallest of each first.
    Raises InputError for an unknown family, and for a study without models.
    """
    if params.model_ids:
        return [_source_of(given, params) for given in params.model_ids]
    known: dict[str, list[str]] = {}
    if params.source == "hub":
        by_size = paper.table("models").sort_values("S")
        known = by_size.groupby("family")["hub_id"].agg(list).to_dict()
    else:
        for family, names in reference_of(params.source).families.items():
            known[family] = [f"{params.source}:{name}" for name in names]
    sources = []
    for family in params.families:
        if family not in known:
            there = ", ".join(known)
            raise InputError(f"no family {family!r} of source {params.source}: there are {there}")
        sources += known[family]
    if not sources:
        raise InputError("the study names no models: give families or model_ids")
    return sources


def _source_of(given: str, params: Params) -> str:
    """One of `model_ids`: a folder by its whole path, a bare name as one of the study's plugin."""
    folder = Path(given).expanduser()
    if folder.exists():
        return str(folder.absolute())  # a worker may be elsewhere
    is_bare_name = "/" not in given and plugins.prefix_of(given) is None
    return f"{params.source}:{given}" if is_bare_name and params.source != "hub" else given


def read_corpora(params: Params) -> list[Corpus]:
    """The study's corpora. Raises InputError as `load_corpus`, and for none."""
    if not params.corpus_names:
        raise InputError("the study names no text to measure: give corpus_names")
    return [_read_corpus(params, given) for given in params.corpus_names]


def _read_corpus(params: Params, given: str) -> Corpus:
    hub = HUB_CORPORA.get(given)
    # The columns of a corpus by name are known, too; those given are of own files.
    columns = {"field": params.field, "unit": params.unit, "prompt": params.prompt}
    return load_corpus(
        given,
        documents=params.documents,
        seed=params.seed,
        max_bytes=params.max_bytes,
        revision=None if hub is None else params.revision_of(hub.path),
        changed_text=params.changed_text,
        **({} if is_named(given) else columns),
    )
