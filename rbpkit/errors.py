"""`InputError`, the checks that raise it, and a helper that reduces any exception to one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class InputError(ValueError):
    """Something that the user gave cannot be used: a path, a field, a key, a model, a number.

    The message is one plain line that says what was wrong, where, and the way out.
    """

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback: one line in a notebook, too."""
        return [f"{type(self).__name__}: {self}"]


def check_whole(key: str, value: object, least: int) -> None:
    """InputError that names the key, unless the value is a whole number >= `least`."""
    # True and False are ints in Python, and a slip here.
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{key}={shown(value)}: must be a whole number, {least} or more")


def shown(value: object) -> str:
    """A value in one short line; a tensor's numbers would take many."""
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= 60 else f"{shown[:50]}... ({type(value).__name__})"


@contextmanager
def reason(what: str) -> Iterator[None]:
    """Turn whatever the libraries raise in this block into an InputError: `what`, and the error."""
    try:
        yield
    except (InputError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # readers have no common error; Rust's panics are no Exception
        raise InputError(f"{what} ({one_line(error)})") from error


def faults_found(error: Any) -> str:
    """What a ValidationError of pydantic says, on one line: KEY=VALUE: what is wrong."""
    faults = []
    for fault in error.errors()[:10]:  # no line names thousands
        key = ".".join(map(str, fault["loc"]))
        faults.append(f"{key}={shown(fault['input'])}: {fault['msg']}")
    return "; ".join(faults)


def one_line(error: BaseException) -> str:
    """The error's kind and the first line of what it says, or all of a list that begins there."""
    lines = str(error).strip().splitlines() or ["no reason given"]
    said = lines[0].strip()
    if said.endswith(":"):
        said = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {said}"
