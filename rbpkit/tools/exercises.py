"""Self-checks of the notebooks' exercises: right or wrong, and never the answer."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# What a wrong answer often is: how it is undone, and what to say of it.
MISTAKES: tuple[tuple[Callable[[float], float], str], ...] = (
    (lambda answer: -answer, "Nearly: the sign is wrong."),
    (lambda answer: 1 / answer, "Nearly: this is the inverse."),
    (lambda answer: answer / 100, "Nearly: this is a percentage; give a share."),
    (lambda answer: answer * 100, "Nearly: this is a share; give a percentage."),
    (lambda answer: answer / 1e6, "Nearly: the unit is wrong; give millions."),
    (lambda answer: answer * 1e6, "Nearly: the unit is wrong; this is in millions."),
    (lambda answer: answer * 1e3, "Nearly: the unit is wrong; this is in thousands."),
    (lambda answer: answer * math.log(10), "Nearly: the logarithm is natural, not of base 10."),
    (lambda answer: answer / math.log(10), "Nearly: the logarithm is of base 10, not natural."),
    (lambda answer: answer * math.log(2), "Nearly: the logarithm is natural, not of base 2."),
)


def check(
    number: int,
    answer: Any,
    is_right: Callable[[Any], object],
    mistakes: Sequence[tuple[Callable[[float], float], str]] = (),
) -> str:
    """`NUMBER: right`, `not yet`, or `not answered yet` while the answer is None.

    - is_right gets the answer; an answer that it cannot read (TypeError, ValueError) is wrong
    - mistakes: of this exercise, how each is undone and what to say of it; the general
      `MISTAKES` are tried after them

    A right answer is followed by a line that says where it is explained, a wrong one by a line on
    the first mistake that accounts for it, or on text in place of a number.
    """
    if answer is None:
        return f"{number}: not answered yet"
    if _holds(is_right, answer):
        return f"{number}: right\n   The worked answer: docs/solutions, under this notebook's name."
    if isinstance(answer, str):
        return f"{number}: not yet\n   This is text: give a number, without quotation marks."
    for undo, says in (*mistakes, *MISTAKES):
        try:
            with np.errstate(all="ignore"):  # the logarithm of a negative answer is no answer
                undone = undo(answer)
        except (TypeError, ValueError, ArithmeticError):
            continue
        if _holds(is_right, undone):
            return f"{number}: not yet\n   {says}"
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
