"""Self-checks of the notebooks' exercises: right or wrong, and never the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any


def check(number: int, answer: Any, is_right: Callable[[Any], object]) -> str:
    """`NUMBER: right`, `not yet`, or `not answered yet` while the answer is None.

    is_right gets the answer; an answer that it cannot read (TypeError, ValueError) is wrong.
    """
    if answer is None:
        return f"{number}: not answered yet"
    try:
        right = bool(is_right(answer))
    except (TypeError, ValueError):
        right = False
    return f"{number}: {'right' if right else 'not yet'}"


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
