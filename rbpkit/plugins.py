"""Plugins: corpora and models that another distribution brings along, by name.

A distribution registers a `Plugin` under the entry point group `rbpkit.plugins`. What it offers is
then called PLUGIN:NAME, where PLUGIN is the name of the entry point: "pocket:prose" is a corpus of
the plugin "pocket", and "pocket:pythia-w64-l4" one of its models. docs/plugins.md shows how to
write one.

A plugin is imported when a name with its prefix is used, and to find the names that are near a
misspelt one.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rbpkit.errors import InputError, reason

if TYPE_CHECKING:
    from cyclopts import App

    from rbpkit.files.pictures import Picture
    from rbpkit.fit import Measured
    from rbpkit.summary import Summary

GROUP = "rbpkit.plugins"  # of the entry points

INSTALL = {"pocket": "pip install rbpkit-pocket, or from the repository pip install -e pocket"}
"""The plugins of this repository -> how each is installed."""


@dataclass(frozen=True, eq=False)
class PluginText:
    """The documents of a plugin's corpus: all of them, in their own order.

    texts: the documents.
    where: where they are from, in a few words ("installed packages").
    pictures: what each document is a caption of; None for plain texts.
    units: for each document the name of what was sampled with it (a module, an author), which a
        bootstrap resamples; None if the documents themselves were sampled.
    shuffled: whether the protocol's shuffle applies, or the documents are taken as they are.
    as_shipped: False if this is another text than the one behind the plugin's reference numbers.
    """

    texts: Sequence[str]
    where: str
    pictures: Sequence[Picture] | None = None
    units: Sequence[str] | None = None
    shuffled: bool = False
    as_shipped: bool = True


class Train(Protocol):
    """Train models, and return for each its folder in hub layout, called NAME, below `out`.

    A finished model is not trained again. `say` gets lines for people; progress: show a bar.
    """

    def __call__(
        self,
        names: Sequence[str],
        out: Path,
        *,
        device: str,
        say: Callable[[str], None],
        progress: bool,
    ) -> Sequence[Path]: ...


@dataclass(frozen=True, eq=False)
class Plugin:
    """What a distribution offers. All names are without the prefix; everything has a default.

    corpora: name -> a function that reads the documents. In a class, exponents on a student's own
        text are compared with those on the first.
    models: name -> the model's folder in hub layout, which has that name.
    families: name of a family -> the names of its models, smallest first.
    can_train: whether a name that is not in `models` is a model that `train` makes. It may raise
        InputError if it knows what is wrong with the name.
    train: trains models by their names.
    summaries: the reference of `rbpkit reproduce` and `rbpkit classroom`, which compare what they
        measure with the summary of the same model and corpus. A model with another seed is called
        NAME-seedN, one trained on M million tokens NAME-Mm.
    totals: CE and RBP_k of further models, with which the slopes are compared.
    command: the subcommand `rbpkit PLUGIN`.
    """

    corpora: Mapping[str, Callable[[], PluginText]] = field(default_factory=dict)
    models: Mapping[str, Path] = field(default_factory=dict)
    families: Mapping[str, Sequence[str]] = field(default_factory=dict)
    can_train: Callable[[str], bool] = lambda name: False
    train: Train | None = None
    summaries: Callable[[], Sequence[Summary]] = list
    totals: Callable[[], Sequence[Measured]] = list
    command: Callable[[], App] | None = None


@cache
def _entry_points() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def plugin_names() -> tuple[str, ...]:
    """The plugins that are installed, sorted. None is imported."""
    return tuple(sorted(_entry_points()))


@cache
def load_plugin(name: str) -> Plugin:
    """An installed plugin. Raises InputError that says how to install it, or names the nearest."""
    entry = _entry_points().get(name)
    if entry is None and name in INSTALL:
        raise InputError(f"the plugin {name!r} is not installed: {INSTALL[name]}")
    if entry is None:
        raise InputError(f"no plugin {name!r}{_nearest(name, plugin_names())}")
    with reason(f"the plugin {name!r} cannot be loaded ({entry.value})"):
        plugin = entry.load()
    if not isinstance(plugin, Plugin):
        raise InputError(f"the plugin {name!r}: {entry.value} is not an rbpkit.plugins.Plugin")
    return plugin


def prefix_of(name: str) -> str | None:
    """The PLUGIN of "PLUGIN:NAME", in any case; None if no such plugin is known here."""
    prefix, colon, _ = name.partition(":")
    if not colon:
        return None
    known = {plugin.lower(): plugin for plugin in (*INSTALL, *plugin_names())}
    return known.get(prefix.lower())


# -- corpora ----------------------------------------------------------------------------------


def plugin_corpora() -> tuple[str, ...]:
    """The corpora of all installed plugins, each as PLUGIN:NAME."""
    names = []
    for plugin in plugin_names():
        names += [f"{plugin}:{corpus}" for corpus in load_plugin(plugin).corpora]
    return tuple(names)


def corpus_called(name: str) -> str | None:
    """A plugin's corpus by its name in any case -> as the plugin spells it; None if no plugin's.

    Raises InputError for a plugin that is not installed, and for a corpus that it does not have.
    """
    plugin = prefix_of(name)
    if plugin is None:
        return None
    corpora = [f"{plugin}:{corpus}" for corpus in load_plugin(plugin).corpora]
    for corpus in corpora:
        if corpus.lower() == name.lower():
            return corpus
    raise InputError(f"no corpus {name!r}{_nearest(name, corpora)}")


def corpus_text(name: str) -> PluginText:
    """The documents of a corpus, by its name as `corpus_called` gives it."""
    plugin, _, corpus = name.partition(":")
    return load_plugin(plugin).corpora[corpus]()


# -- models -----------------------------------------------------------------------------------


def model_called(name: str) -> tuple[str, Path | None] | None:
    """A plugin's model, "PLUGIN:NAME" -> NAME and its folder; None if the name is no plugin's.

    The folder is None if the model has to be trained first. Raises InputError for a plugin that is
    not installed, and for a model that it does not have.
    """
    prefix = prefix_of(name)
    if prefix is None:
        return None
    plugin = load_plugin(prefix)
    model = name.partition(":")[2]
    folder = plugin.models.get(model)
    if folder is None and not plugin.can_train(model):
        models = [f"{prefix}:{known}" for known in plugin.models]
        raise InputError(f"no model {name!r}{_nearest(name, models)}")
    return model, folder


def resolve_model(model: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The folder of a plugin's model, "PLUGIN:NAME"; any other name or path unchanged.

    Raises InputError as `model_called`, and for a model that has to be trained first.
    """
    called = model_called(os.fspath(model))
    if called is None:
        return model
    _, folder = called
    if folder is None:
        raise InputError(
            f"{model}: has to be trained first; `rbpkit reproduce` does it for a parameter file"
            " that names it in model_ids"
        )
    return folder


def family_models(plugin: str, family: str) -> tuple[str, ...]:
    """The models of a plugin's family, smallest first, as PLUGIN:NAME; the family in any case.

    Raises InputError for an unknown family.
    """
    families = load_plugin(plugin).families
    for known, names in families.items():
        if known.lower() == family.lower():
            return tuple(f"{plugin}:{name}" for name in names)
    raise InputError(f"no {plugin} family {family!r}: there are {', '.join(families)}")


def _nearest(word: str, names: Iterable[str]) -> str:
    """ "; did you mean NAME?" for the name nearest to a word; "" if there are no names."""
    near = difflib.get_close_matches(word.lower(), list(names), n=1, cutoff=0.0)
    return f"; did you mean {near[0]}?" if near else ""
