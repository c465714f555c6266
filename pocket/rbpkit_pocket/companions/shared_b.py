"""What the companions share: how they read what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from rbpkit.records import load_summaries
from rbpkit.tools.choices import Study, asked_and_there
from rbpkit_pocket.paths import SUMMARIES


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
