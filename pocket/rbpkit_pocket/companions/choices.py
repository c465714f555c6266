"""What was measured, and what a notebook shows of it when its parameters do not agree with that."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rbpkit.records import load_summaries
from rbpkit.stats.curves import in_order
from rbpkit.summary import Summary
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
        return in_order(self.summaries, self.corpora, self.families)


def asked_and_there(
    asked: Sequence[str], there: Collection[str], what: str, own_records: bool
) -> list[str]:
    """The names to show: those asked for that were measured; all that were, if there are none.

    - asked: names from the parameters; an empty list asks for whatever is there
    - there: names that were measured
    - what: the kind of name, such as "family", for the lines that are printed
    - own_records: whether the records are the reader's; then what is left out is said as well

    Prints one line on names that were not measured, and one on measured names that are left out.
    """
    absent = [name for name in asked if name not in there]
    if absent:
        print(f"No records of the {what} {', '.join(absent)}.")
    shown = [name for name in asked if name in there]
    if not shown:
        return list(there)
    others = [name for name in there if name not in shown]
    if others and own_records:
        print(f"Not asked for, and not shown: the {what} {', '.join(others)}.")
    return shown


def read_study(records_dir: str, families: Sequence[str], corpus_names: Sequence[str]) -> Study:
    """The summaries in `records_dir` (empty: the pocket models'), and what of them to show.

    Prints a line on what was asked for and not measured, as `asked_and_there` does.
    """
    summaries = load_summaries(records_dir or SUMMARIES, checkpoint="last", say=print)
    there = [summary.manifest for summary in summaries]
    own = bool(records_dir)
    corpora = asked_and_there(corpus_names, sorted({one.corpus for one in there}), "corpus", own)
    shown = asked_and_there(families, sorted({one.family for one in there}), "family", own)
    return Study(summaries, shown, corpora, "your models" if own else "pocket models")
