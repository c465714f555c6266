"""The models and the corpora of a study, by the names that their records carry."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rbpkit import paper, plugins
from rbpkit.corpora import ON_HUB, Corpus, known_corpus, load_corpus
from rbpkit.errors import InputError
from rbpkit.names import name_of
from rbpkit.text_files import Columns
from rbpkit.tools.served import is_address, served_name
from rbpkit.tools.study.params import Params


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
    table = paper.table("models").sort_values(["family", "S"])
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
        max_bytes=params.max_bytes,
        revision=params.revision_of(ON_HUB[name].path) if name in ON_HUB else None,
        changed_text=params.changed_text,
    )
