"""Self-checks of the notebooks' exercises: right or wrong, and never the answer."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

# What a wrong answer is often: what to say, and what would make it right.
MISTAKES: tuple[tuple[str, Callable[[float], float]], ...] = (
    ("the sign is wrong", lambda answer: -answer),
    ("this is the inverse", lambda answer: 1 / answer),
    ("this is a percentage; give a share", lambda answer: answer / 100),
    ("this is a share; give a percentage", lambda answer: answer * 100),
    ("the unit is wrong: give millions", lambda answer: answer / 1e6),
    ("the unit is wrong: this is in millions", lambda answer: answer * 1e6),
    ("the unit is wrong: this is in thousands", lambda answer: answer * 1e3),
    ("the logarithm is natural, not of base 10", lambda answer: answer * math.log(10)),
    ("the logarithm is of base 10, not natural", lambda answer: answer / math.log(10)),
    ("the logarithm is natural, not of base 2", lambda answer: answer * math.log(2)),
)


def check(number: int, answer: Any, is_right: Callable[[Any], object]) -> str:
    """`NUMBER: right`, `not yet`, or `not answered yet` while the answer is None.

    is_right gets the answer; an answer that it cannot read (TypeError, ValueError) is wrong. A
    right answer is followed by a line that says where it is explained, a wrong one by the first of
    `MISTAKES` that accounts for it, or by a word on text in place of a number.
    """
    if answer is None:
        return f"{number}: not answered yet"
    if _holds(is_right, answer):
        return f"{number}: right\n   The worked answer: docs/solutions, under this notebook's name."
    if isinstance(answer, str):
        return f"{number}: not yet\n   This is text: give a number, without quotation marks."
    for says, mended in MISTAKES:
        try:
            likely = mended(answer)
        except (TypeError, ValueError, ArithmeticError):
            continue
        if _holds(is_right, likely):
            return f"{number}: not yet\n   Nearly: {says}."
    return f"{number}: not yet"


def _holds(is_right: Callable[[Any], object], answer: Any) -> bool:
    try:
        return bool(is_right(answer))
    except (TypeError, ValueError, OverflowError):
        return False


def close(value: float, within: float) -> Callable[[float], bool]:
    """For `check`: right if the answer is at most `within` from `value`."""
    return lambda answer: abs(answer - value) <= within


def digest_of(value: float) -> str:
    """Eight hexadecimal digits of a rounded number's hash: what `sealed` compares with."""
    return hashlib.sha256(f"{value:g}".encode()).hexdigest()[:8]


def sealed(digest: str, digits: int, within: int = 1) -> Callable[[float], bool]:
    """For `check`: as `close`, when the answer could be read off the cell that checks it.

    The answer is right if, rounded to `digits` decimals, it is at most `within` units of the last
    decimal from the number that `digest` belongs to (`digest_of`).
    """
    unit = 10.0**-digits

    def is_right(answer: float) -> bool:
        near = [round(answer + i * unit, digits) for i in range(-within, within + 1)]
        return digest in [digest_of(value) for value in near]

    return is_right
