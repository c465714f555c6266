"""What the companions of notebooks 07 to 13 share: reading a study, and checks of exercises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rbpkit.records import load_summaries
from rbpkit.stats.curves import in_order
from rbpkit.summary import Summary
from rbpkit.tools import exercises
from rbpkit.tools.choices import asked_and_there
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


def checker(
    answers: Mapping[int, Callable[[Any], object]],
    mistakes: Mapping[int, Sequence[exercises.Mistake]] | None = None,
) -> Callable[[int, Any], None]:
    """A function of an exercise's number and an answer that prints whether the answer is right.

    - answers: number -> whether an answer is right (`exercises.sealed`)
    - mistakes: number -> what the check recognises, in addition to what it always does
    """

    def check(number: int, answer: Any) -> None:
        known = (mistakes or {}).get(number, ())
        print(exercises.check(number, answer, answers[number], known))

    return check
