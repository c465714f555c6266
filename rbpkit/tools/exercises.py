"""Self-checks of the notebooks' exercises: right or wrong, and never the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def check(number: int, answer: Any, is_right: Callable[[Any], object]) -> str:
    """`NUMBER: right`, `not yet`, or `not answered yet` while the answer is None.

    is_right gets the answer; an answer that it cannot read (TypeError, ValueError) is not right.
    """
    if answer is None:
        return f"{number}: not answered yet"
    try:
        right = bool(is_right(answer))
    except (TypeError, ValueError):
        right = False
    return f"{number}: {'right' if right else 'not yet'}"


def close(value: float, within: float) -> Callable[[float], bool]:
    """For `check`: a number no further than `within` from `value`."""
    return lambda answer: abs(answer - value) <= within
