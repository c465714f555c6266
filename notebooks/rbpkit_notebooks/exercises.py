"""Self-checks of the notebooks' exercises: right or wrong, and never the answer.

The answers and the usual mistakes are data, sealed, in `exercises.yaml`. A notebook has a line for
each exercise, `draw.check(1, answer_1)`, and its companion one for all: `check = check_of("05")`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from numbers import Real
from typing import Any

import numpy as np
import yaml

# A common mistake, and what to say of it. The function undoes the mistake, so that a right answer
# is left, or it says whether the answer is this mistake (True or False).
Mistake = tuple[Callable[[float], float | bool], str]

MISTAKES: tuple[Mistake, ...] = (
    (lambda answer: -answer, "Nearly: the sign is wrong."),
    (lambda answer: 1 / answer, "Nearly: this is the inverse."),
    (lambda answer: answer / 100, "Nearly: this is a percentage; give a share."),
    (lambda answer: answer * 100, "Nearly: this is a share; give a percentage."),
    (lambda answer: answer / 1e6, "Nearly: the unit is wrong; give millions."),
    (lambda answer: answer * 1e6, "Nearly: the unit is wrong; this is in millions."),
    (lambda answer: answer * 1e3, "Nearly: the unit of this is a thousand times too large."),
    (lambda answer: answer / 1e3, "Nearly: the unit of this is a thousand times too small."),
    (lambda answer: answer * math.log(10), "Nearly: the logarithm is natural, not of base 10."),
    (lambda answer: answer / math.log(10), "Nearly: the logarithm is of base 10, not natural."),
    (lambda answer: answer * math.log(2), "Nearly: the logarithm is natural, not of base 2."),
)


def check(
    number: int,
    answer: Any,
    is_right: Callable[[Any], object],
    mistakes: Sequence[Mistake] = (),
) -> str:
    """`NUMBER: right`, `not yet`, or `not answered yet` while the answer is None.

    - is_right gets the answer; an answer that it cannot read (TypeError, ValueError) is wrong. An
      array or a tensor with one element is taken as its number
    - mistakes: of this exercise; the general `MISTAKES` are tried after them

    A right answer is followed by a line that says where it is explained, a wrong one by a line on
    the first mistake that accounts for it, or on what is in place of one number.
    """
    if answer is None:
        return f"{number}: not answered yet"
    answer = _plain(answer)
    if _holds(is_right, answer):
        return f"{number}: right\n   The worked answer: docs/solutions, under this notebook's name."
    if isinstance(answer, str):
        return f"{number}: not yet\n   This is text: give a number, without quotation marks."
    if isinstance(answer, tuple):  # Python reads 0,5 as the two numbers 0 and 5
        return f"{number}: not yet\n   Decimals have a point, not a comma: 0.5 and not 0,5."
    if not isinstance(answer, Real):
        return f"{number}: not yet\n   Give one number."
    if answer != answer:
        return f"{number}: not yet\n   This is NaN, which is no number."
    for mistake, says in (*mistakes, *MISTAKES):
        if _accounts_for(mistake, answer, is_right):
            return f"{number}: not yet\n   {says}"
    return f"{number}: not yet"


def check_of(notebook: str) -> Callable[[int, Any], None]:
    """A notebook's function of an exercise's number and an answer, which prints what `check` says.

    Its answers and mistakes are those of `exercises.yaml`.
    """
    reply = replies_of(notebook)
    return lambda number, answer: print(reply(number, answer))


@cache
def replies_of(notebook: str) -> Callable[[int, Any], str]:
    """The same, but what `check` says is returned. KeyError for a notebook without exercises."""
    text = files("rbpkit_notebooks").joinpath("exercises.yaml").read_text(encoding="utf-8")
    answers, mistakes = {}, {}
    for number, exercise in yaml.safe_load(text)[notebook].items():
        known = exercise.pop("mistakes", {})
        answers[number] = sealed(**exercise)
        mistakes[number] = [(sealed_mistake(digest), says) for digest, says in known.items()]
    return lambda number, answer: check(number, answer, answers[number], mistakes[number])


def _plain(answer: Any) -> Any:
    """The Python number of an array, a tensor or a NumPy number with one element."""
    try:
        return answer.item()
    except (AttributeError, TypeError, ValueError, RuntimeError):  # a Python object; several
        return answer


def _accounts_for(
    mistake: Callable[[float], float | bool], answer: Any, is_right: Callable[[Any], object]
) -> bool:
    """Whether a wrong answer is this mistake."""

    def is_this(answer: Any) -> object:
        undone = _plain(mistake(float(answer)))
        return undone if isinstance(undone, bool) else is_right(undone)

    return _holds(is_this, answer)


def _holds(test: Callable[[Any], object], answer: Any) -> bool:
    """Whether an answer passes; one that the test cannot read does not."""
    try:
        with np.errstate(all="ignore"):  # the logarithm of a negative answer is no answer
            return bool(test(answer))
    except (TypeError, ValueError, ArithmeticError, LookupError, RuntimeError):
        return False


def digest_of(value: float) -> str:
    """Eight hexadecimal digits of a rounded number's hash: what `sealed` compares with."""
    return hashlib.sha256(f"{value:g}".encode()).hexdigest()[:8]


def sealed(digest: str, digits: int, within: int = 1) -> Callable[[float], bool]:
    """For `check`: a test that does not show the answer to whoever reads it.

    An answer is right if, rounded to `digits` decimals, it is at most `within` units of the last
    decimal from the number that `digest` belongs to (`digest_of`).
    """
    unit = 10.0**-digits

    def is_right(answer: float) -> bool:
        near = [round(answer + i * unit, digits) for i in range(-within, within + 1)]
        return digest in [digest_of(value) for value in near]

    return is_right


def _two_digits(value: float, off: int = 0) -> float:
    """A number rounded to two significant digits, and `off` units of the second beside it."""
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 1)
    return (round(value / unit) + off) * unit


def digest_of_mistake(value: float) -> str:
    """What `exercises.yaml` has of a wrong answer: the hash of its two significant digits."""
    return digest_of(_two_digits(value))


def sealed_mistake(digest: str) -> Callable[[float], bool]:
    """Whether an answer is the wrong one of this digest, by two digits, give or take one unit."""

    def is_this(answer: float) -> bool:
        near = [_two_digits(answer, off) for off in (-1, 0, 1)]
        return digest in [digest_of(value) for value in near]

    return is_this
