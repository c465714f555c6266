"""What was measured, and what a notebook shows of it when its parameters do not agree with that."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product

import pandas as pd

from rbpkit.fit import models_of
from rbpkit.records import load_summaries
from rbpkit.summary import Summary, labelled
from rbpkit_pocket.paths import SUMMARIES


@dataclass(frozen=True)
class Study:
    """What a notebook shows of what was measured.

    - summaries: of all models that were measured
    - families, corpora: those to show, in order
    - ours: what the text calls these models
    """

    summaries: list[Summary]
    families: list[str]
    corpora: list[str]
    ours: str

    def shown(self) -> list[Summary]:
        """The models of these families on these corpora, in this order, and by rising S."""
        shown = product(self.corpora, self.families)
        return [one for pair in shown for one in models_of(self.summaries, *pair)]

    def models(self) -> pd.DataFrame:
        """The family, the name and S of each of these models."""
        rows = [(one.manifest.family, one.manifest.model, one.manifest.S) for one in self.shown()]
        return pd.DataFrame(rows, columns=["family", "model", "S"]).drop_duplicates()


def _to_show(asked: Sequence[str], there: Collection[str], what: str, own: bool) -> list[str]:
    """The names asked for that were measured; all that were, if there are none.

    Prints a line on names that were not measured; with records of one's own also on those left out.
    """
    absent = [name for name in asked if name not in there]
    if absent:
        print(f"No records of the {what} {', '.join(absent)}.")
    shown = [name for name in asked if name in there]
    if not shown:
        return list(there)
    others = [name for name in there if name not in shown]
    if others and own:
        print(f"Not asked for, and not shown: the {what} {', '.join(others)}.")
    return shown


def read_study(records_dir: str, families: Sequence[str], corpus_names: Sequence[str]) -> Study:
    """The summaries in `records_dir` (empty: the pocket models'), and what of them to show.

    families: NAME, or NAME=PATTERN for the models whose name fits the pattern, as in `rbpkit fit`.

    Prints a line on what was asked for and not measured, and on own records that are left out.
    """
    measured = load_summaries(records_dir or SUMMARIES, checkpoint="last", say=print)
    summaries = labelled(measured, families)
    names = [family.partition("=")[0] for family in families]
    own = bool(records_dir)
    there = [summary.manifest for summary in summaries]
    corpora = _to_show(corpus_names, sorted({one.corpus for one in there}), "corpus", own)
    shown = _to_show(names, sorted({one.family for one in there}), "family", own)
    return Study(summaries, shown, corpora, "your models" if own else "pocket models")
