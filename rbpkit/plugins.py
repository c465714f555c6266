"""Plugins: corpora and models that another distribution brings along, by name.

What a distribution offers is called PLUGIN:NAME, as the corpus "pocket:prose" and the model
"pocket:pythia-w64-l4". PLUGIN is the name of its entry points, which are found without importing
anything:

- `rbpkit.corpora`: a mapping, NAME -> a function that gives the documents: strings, or a
  `PluginText`.
- `rbpkit.openers`: a function that opens a model (see `opened`).

Tools look for others: `rbpkit.commands` (a subcommand), `rbpkit.reference`, `rbpkit.pairs`.
docs/plugins.md shows how to write one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from rbpkit.errors import InputError, reason

INSTALL = {"pocket": "pip install rbpkit-pocket, or from the repository pip install -e pocket"}
"""The plugins of this repository -> how each is installed."""


@dataclass(frozen=True, eq=False)
class PluginText:
    """The documents of a plugin's corpus: all of them, in their own order.

    texts: the documents.
    units: for each document the name of what was sampled with it (a module, an author), which a
        bootstrap resamples; None if the documents themselves were sampled.
    shuffled: whether the protocol's shuffle applies, or the documents are taken as they are.
    as_shipped: False if this is another text than the one behind the plugin's reference numbers.
    """

    texts: Sequence[str]
    units: Sequence[str] | None = None
    shuffled: bool = False
    as_shipped: bool = True


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=f"rbpkit.{group}")}


def plugin_names(group: str) -> list[str]:
    """The plugins that are installed and have such an entry point, sorted. None is imported."""
    return sorted(_entries(group))


@cache
def offered(plugin: str, group: str) -> Any:
    """What a plugin offers under an entry point; None if it has no such thing.

    Raises InputError for one that cannot be imported, and for a plugin of this repository that is
    not installed, with the way to install it.
    """
    entry = _entries(group).get(plugin)
    if entry is not None:
        with reason(f"the plugin {plugin!r}: {entry.value} cannot be loaded"):
            return entry.load()
    if plugin in INSTALL and plugin not in _entries("corpora"):
        raise InputError(f"the plugin {plugin!r} is not installed: {INSTALL[plugin]}")
    return None


def prefix_of(name: str) -> str | None:
    """The PLUGIN of "PLUGIN:NAME"; None if no such plugin is known here."""
    prefix, colon, _ = name.partition(":")
    known = {*INSTALL, *_entries("corpora"), *_entries("openers")}
    return prefix if colon and prefix in known else None


def corpus_text(name: str) -> PluginText:
    """The documents of a corpus PLUGIN:NAME. Raises InputError as `offered`, and if it has none."""
    plugin, _, corpus = name.partition(":")
    corpora = offered(plugin, "corpora") or {}
    if corpus not in corpora:
        raise InputError(f"no corpus {name!r}; {plugin} has {', '.join(corpora) or 'none'}")
    with reason(f"the plugin {plugin!r}: its corpus {corpus!r}"):
        text = corpora[corpus]()
    return text if isinstance(text, PluginText) else PluginText(text)


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
        raise InputError(f"the plugin {prefix!r} opens no models (docs/plugins.md)")
    with reason(f"the plugin {prefix!r}: its model {rest!r}"):
        return opener(rest, **settings)
