"""What a study uses of a plugin besides corpora and models: its entry point rbpkit.reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rbpkit.plugins import offered

if TYPE_CHECKING:
    from rbpkit.fit import Measured
    from rbpkit.summary import Summary

    Models = Sequence[Measured]


@dataclass(frozen=True, eq=False)
class Reference:
    """For `rbpkit reproduce` and `rbpkit classroom`; names are without the plugin's prefix.

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


def reference_of(plugin: str) -> Reference:
    """That of a plugin. Raises InputError as `plugins.offered`."""
    return offered(plugin, "reference") or Reference()
