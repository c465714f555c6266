"""Plugins: corpora and models that another distribution brings along, by name.

What a distribution offers is called PLUGIN:NAME, as the corpus "pocket:prose" and the model
"pocket:pythia-w64-l4". PLUGIN is the name of its entry points, which are found without importing
anything:

- `rbpkit.corpora`: a mapping, NAME -> a function that gives the documents: strings, or a
  `PluginText`.
- `rbpkit.openers`: a function that opens a model (see `opened`).
- `rbpkit.reference`: a `Reference`, for `rbpkit reproduce` and `rbpkit classroom`.
- `rbpkit.pairs`: the module with the rule of `rbpkit predict --pairs` (see `pairs_rule`).
- `rbpkit.commands`: a `cyclopts.App`, the subcommand `rbpkit PLUGIN`.

docs/plugins.md shows how to write one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from rbpkit.errors import InputError, nearest, reason

if TYPE_CHECKING:
    from rbpkit.fit import Measured
    from rbpkit.summary import Summary

    Models = Sequence[Measured]

GROUPS = ("corpora", "openers", "reference")
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
    train: (names, out, device=, say=, progress=) makes those of these models that are not there
        yet, so that its opener opens them. `out` is a folder for them; a finished model is not
        trained again; `say` gets lines for people.
    summaries: the numbers that `rbpkit reproduce` compares with those of the same job.
    beside: models that were measured -> models of the plugin that are fitted together with them,
        and models of the plugin whose slopes are compared with theirs.
    remarks: models that were measured -> lines for people.
    """

    families: Mapping[str, Sequence[str]] = field(default_factory=dict)
    train: Callable[..., object] = lambda names, out, **options: None
    summaries: Callable[[], Sequence[Summary]] = list
    beside: Callable[[Models], tuple[Models, Models]] = lambda measured: ((), ())
    remarks: Callable[[Models], Sequence[str]] = lambda measured: ()


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=f"rbpkit.{group}")}


def plugin_names(*groups: str) -> tuple[str, ...]:
    """The plugins that are installed and have such entry points, sorted. None is imported."""
    return tuple(sorted({name for group in groups for name in _entries(group)}))


@cache
def offered(plugin: str, group: str) -> Any:
    """What a plugin offers under one of the entry points above; None if it has no such thing.

    Raises InputError for one that cannot be imported, and for a plugin of this repository that is
    not installed, with the way to install it.
    """
    entry = _entries(group).get(plugin)
    if entry is not None:
        with reason(f"the plugin {plugin!r}: {entry.value} cannot be loaded"):
            return entry.load()
    if plugin in INSTALL and plugin not in plugin_names(*GROUPS):
        raise InputError(f"the plugin {plugin!r} is not installed: {INSTALL[plugin]}")
    return None


def reference_of(plugin: str) -> Reference:
    """What a study can use of a plugin. Raises InputError as `offered`."""
    return offered(plugin, "reference") or Reference()


def pairs_rule() -> Any:
    """The module with the rule that predicts accuracies from losses: read_pairs, predict_pairs.

    Raises InputError, with the way to install the laboratory, if no rule is registered.
    """
    [plugin, *_] = [*_entries("pairs"), "pocket"]
    return offered(plugin, "pairs")


def prefix_of(name: str) -> str | None:
    """The PLUGIN of "PLUGIN:NAME"; None if no such plugin is known here."""
    prefix, colon, _ = name.partition(":")
    is_known = prefix in INSTALL or prefix in plugin_names(*GROUPS, "models")
    return prefix if colon and is_known else None


# -- corpora ----------------------------------------------------------------------------------


def plugin_corpora() -> list[str]:
    """The corpora of all plugins that are installed, each as PLUGIN:NAME."""
    names = []
    for plugin in plugin_names("corpora"):
        names += [f"{plugin}:{corpus}" for corpus in offered(plugin, "corpora")]
    return names


def corpus_called(name: str) -> str | None:
    """The name of a plugin's corpus; None if it begins with no plugin's prefix.

    Raises InputError for a plugin that is not installed, and for a corpus that it does not have.
    """
    plugin, _, corpus = name.partition(":")
    if prefix_of(name) is None:
        return None
    corpora = offered(plugin, "corpora") or {}
    if corpus not in corpora:
        raise InputError(f"no corpus {name!r}{nearest(name, plugin_corpora())}")
    return name


def corpus_text(name: str) -> PluginText:
    """The documents of a corpus, by its name as `corpus_called` gives it."""
    plugin, _, corpus = name.partition(":")
    with reason(f"the plugin {plugin!r}: its corpus {corpus!r}"):
        text = offered(plugin, "corpora")[corpus]()
    return text if isinstance(text, PluginText) else PluginText(text)


# -- models -----------------------------------------------------------------------------------


def opened(model: str, **settings: Any) -> Any:
    """What the opener of its prefix makes of a model "PREFIX:REST"; None if there is none.

    That is a `Ranker`, or the path of a folder that is read like any other, but called REST. The
    opener gets REST, and as keywords the other arguments of `load_model`.
    Raises InputError as `offered`, and for whatever the opener raises.
    """
    prefix, _, rest = model.partition(":")
    if prefix_of(model) is None:
        return None
    opener = offered(prefix, "openers")
    if opener is None:
        raise InputError(
            f"the plugin {prefix!r} opens no models: register an opener (docs/plugins.md)"
        )
    with reason(f"the plugin {prefix!r}: its model {rest!r}"):
        return opener(rest, **settings)
