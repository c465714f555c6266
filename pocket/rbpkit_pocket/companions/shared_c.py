"""What the companions of notebooks 14 to 20 share: headings of figures, and checks of exercises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from rbpkit.palette import OTHER
from rbpkit.tools import exercises

WIDTH = 5.0  # inches: letters of 10 points can be read on a phone
NOTE = 9.5  # points: what is drawn, and its unit


def headed(axes: Axes, title: str, line: str) -> None:
    """A figure's message in bold, and under it a grey line: what is drawn, and its unit."""
    pad = 8 + 12 * (line.count("\n") + 1)
    axes.set_title(title, loc="left", fontsize=13, weight="bold", pad=pad)
    axes.annotate(
        line,
        (0, 1),
        xytext=(0, 6),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=NOTE,
        color=OTHER,
        va="bottom",
    )


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
