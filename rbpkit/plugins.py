"""Plugins: corpora and models that another distribution brings along, by name.

What a distribution offers is called PLUGIN:NAME: "pocket:prose" is a corpus and
"pocket:pythia-w64-l4" a model of the plugin "pocket". PLUGIN is the name of its entry points, which
are found without importing anything:

- `rbpkit.corpora`: a mapping, NAME -> a function that gives the documents: strings, or a
  `PluginText`.
- `rbpkit.models`: a mapping, NAME -> the folder of a model, or a function that gives a `Ranker`.
- `rbpkit.openers`: a function that opens a model whose name begins with PLUGIN: (see `opened`).
- `rbpkit.reference`: a `Reference`, for `rbpkit reproduce` and `rbpkit classroom`.
- `rbpkit.pairs`: the module with the rule of `rbpkit predict --pairs` (see `pairs_rule`).
- `rbpkit.commands`: a `cyclopts.App`, the subcommand `rbpkit PLUGIN`.

docs/plugins.md shows how to write one. Whatever a plugin's code does wrong is one InputError that
names the plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rbpkit.errors import InputError, nearest, one_line

if TYPE_CHECKING:
    from rbpkit.fit import Measured
    from rbpkit.summary import Summary

    Models = Sequence[Measured]

Offer = TypeVar("Offer")

INSTALL = {"pocket": "pip install rbpkit-pocket, or from the repository pip install -e pocket"}
"""The plugins of this repository -> how each is installed."""


@dataclass(frozen=True, eq=False)
class PluginText:
    """The documents of a plugin's corpus: all of them, in their own order.

    texts: the documents.
    where: where they are from, in a few words ("installed packages").
    units: for each document the name of what was sampled with it (a module, an author), which a
        bootstrap resamples; None if the documents themselves were sampled.
    shuffled: whether the protocol's shuffle applies, or the documents are taken as they are.
    as_shipped: False if this is another text than the one behind the plugin's reference numbers.
    """

    texts: Sequence[str]
    where: str = "a plugin"
    units: Sequence[str] | None = None
    shuffled: bool = False
    as_shipped: bool = True


@dataclass(frozen=True, eq=False)
class Reference:
    """What a study can use of a plugin besides its corpora and models; names without the prefix.

    families: name of a family -> the names of its models, smallest first.
    can_train: whether a name that is no model yet is one that `train` makes.
    train: (names, out, device=, say=, progress=) -> for each name its folder in hub layout, called
        NAME, below `out`. A finished model is not trained again; `say` gets lines for people.
    summaries: the numbers that `rbpkit reproduce` compares with those of the same job.
    beside: models that were measured -> models of the plugin that are fitted together with them,
        and models of the plugin whose slopes are compared with theirs.
    remarks: models that were measured -> lines for people.
    """

    families: Mapping[str, Sequence[str]] = field(default_factory=dict)
    can_train: Callable[[str], bool] = lambda name: False
    train: Callable[..., Sequence[Path]] | None = None
    summaries: Callable[[], Sequence[Summary]] = list
    beside: Callable[[Models], tuple[Models, Models]] = lambda measured: ((), ())
    remarks: Callable[[Models], Sequence[str]] = lambda measured: ()


# -- what is installed ------------------------------------------------------------------------


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=f"rbpkit.{group}")}


def plugin_names(*groups: str) -> tuple[str, ...]:
    """The plugins that are installed and have such entry points, sorted. None is imported.

    By default these are corpora, models and a reference; with "commands", a subcommand.
    """
    names: set[str] = set()
    for group in groups or ("corpora", "models", "reference"):
        names.update(_entries(group))
    return tuple(sorted(names))


def called(plugin: str, what: str, function: Callable[..., Any], *values: Any, **more: Any) -> Any:
    """What a function of a plugin gives. Raises InputError for whatever else it does.

    what: what it is called for, for the message.
    """
    try:
        result = function(*values, **more)
    except (InputError, KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # code that somebody else wrote; it may even exit
        raise InputError(f"the plugin {plugin!r}: {what}: {one_line(error)}") from error
    if result is None:
        raise InputError(f"the plugin {plugin!r}: {what}: it gave nothing")
    return result


@cache
def offered(plugin: str, group: str, kind: type[Offer]) -> Offer | None:
    """What a plugin offers under one of the entry points above; None if it has no such thing.

    Raises InputError for a plugin that is not installed, with the way to install it or with the
    nearest name, for one that cannot be imported, and for what is not of this kind.
    """
    entry = _entries(group).get(plugin)
    if entry is not None:
        found = called(plugin, f"{entry.value} cannot be loaded", entry.load)
        if not isinstance(found, kind):
            raise InputError(f"the plugin {plugin!r}: {entry.value} is no {kind.__name__}")
        return found
    if plugin in plugin_names():
        return None
    if plugin in INSTALL:
        raise InputError(f"the plugin {plugin!r} is not installed: {INSTALL[plugin]}")
    raise InputError(f"no plugin {plugin!r}{nearest(plugin, plugin_names())}")


def _by_name(plugin: str, group: str) -> Mapping[str, Any]:
    """A plugin's corpora or models by name."""
    return offered(plugin, group, Mapping) or {}


def reference_of(plugin: str) -> Reference:
    """What a study can use of a plugin. Raises InputError as `offered`."""
    return offered(plugin, "reference", Reference) or Reference()


def pairs_rule() -> Any:
    """The module with the rule that predicts accuracies from losses: read_pairs, predict_pairs.

    Raises InputError, with the way to install the laboratory, if no rule is registered.
    """
    [plugin, *_] = [*_entries("pairs"), "pocket"]
    return offered(plugin, "pairs", ModuleType)


def prefix_of(name: str) -> str | None:
    """The PLUGIN of "PLUGIN:NAME", in any case; None if no such plugin is known here."""
    prefix, colon, _ = name.partition(":")
    if not colon:
        return None
    known = {plugin.lower(): plugin for plugin in (*INSTALL, *plugin_names())}
    return known.get(prefix.lower())


# -- corpora ----------------------------------------------------------------------------------


def plugin_corpora(plugin: str | None = None) -> list[str]:
    """The corpora of a plugin, or of all that are installed, each as PLUGIN:NAME."""
    names = []
    for one in plugin_names() if plugin is None else (plugin,):
        names += [f"{one}:{corpus}" for corpus in _by_name(one, "corpora")]
    return names


def corpus_called(name: str) -> str | None:
    """A plugin's corpus by its name in any case -> as the plugin spells it; None if no plugin's.

    Raises InputError for a plugin that is not installed, and for a corpus that it does not have.
    """
    plugin = prefix_of(name)
    if plugin is None:
        return None
    corpora = plugin_corpora(plugin)
    for corpus in corpora:
        if corpus.lower() == name.lower():
            return corpus
    raise InputError(f"no corpus {name!r}{nearest(name, corpora)}")


def corpus_text(name: str) -> PluginText:
    """The documents of a corpus, by its name as `corpus_called` gives it."""
    plugin, _, corpus = name.partition(":")
    text = called(plugin, f"its corpus {corpus!r}", _by_name(plugin, "corpora")[corpus])
    return text if isinstance(text, PluginText) else PluginText(text)


# -- models -----------------------------------------------------------------------------------


def model_called(name: str) -> tuple[str, Any]:
    """A model's name without the prefix of a plugin, and what is loaded.

    That is the folder of a plugin's model, or the function that makes it; None if it has to be
    trained first; the name itself if it is no plugin's. Raises InputError for a plugin that is not
    installed, and for a model that it does not have.
    """
    plugin = prefix_of(name)
    if plugin is None:
        return name, name
    model = name.partition(":")[2]
    models = _by_name(plugin, "models")
    if model in models:
        return model, models[model]
    if called(plugin, f"its model {model!r}", reference_of(plugin).can_train, model):
        return model, None
    known = [f"{plugin}:{other}" for other in models]
    raise InputError(f"no model {name!r}{nearest(name, known)}")


def resolve_model(model: str) -> tuple[str, Any]:
    """As `model_called`. Raises InputError also for a model that has to be trained first."""
    name, found = model_called(model)
    if found is None:
        raise InputError(
            f"{model}: has to be trained first; `rbpkit reproduce` does it for a parameter file"
            " that names it in model_ids"
        )
    return name, found


def opener_prefix(model: str) -> str | None:
    """The PREFIX of "PREFIX:REST" if an opener is registered for it. Nothing is imported."""
    prefix, colon, _ = model.partition(":")
    return prefix if colon and prefix in _entries("openers") else None


def opened(prefix: str, model: str, **settings: Any) -> Any:
    """The `Ranker` of a model by its whole name, "PREFIX:REST", from the opener of its prefix.

    settings: name, family, tokenizer, size, vocabulary, served_model, api_key and requests, as of
        `load_model`.
    """
    opener = cast(Callable[..., Any], offered(prefix, "openers", object))
    return called(prefix, f"its model {model!r}", opener, model, **settings)


def family_models(plugin: str, family: str) -> tuple[str, ...]:
    """The models of a plugin's family, smallest first, as PLUGIN:NAME; the family in any case.

    Raises InputError for an unknown family.
    """
    families = reference_of(plugin).families
    for known, names in families.items():
        if known.lower() == family.lower():
            return tuple(f"{plugin}:{name}" for name in names)
    raise InputError(f"no {plugin} family {family!r}: there are {', '.join(families)}")
