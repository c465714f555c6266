"""Options of the command line, made of the arguments of functions: one name and one help for both.

The first sentence of an argument in the docstring is the help of its option.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Collection
from typing import Annotated, Any, get_type_hints

from cyclopts import Parameter


def arguments_help(function: Callable[..., Any]) -> dict[str, str]:
    """The first sentence that a function's docstring has of each argument ("name: Sentence.")."""
    docstring = inspect.getdoc(function) or ""
    found = {}
    for name, text in re.findall(r"^(\w+): (.+(?:\n    .+)*)", docstring, re.MULTILINE):
        words = " ".join(text.split())
        found[name] = re.split(r"(?<=\.) ", words)[0]
    return found


def options_of(
    function: Callable[..., Any],
    group: str,
    *,
    only: Collection[str] = (),
    leave_out: Collection[str] = (),
) -> Any:
    """A dataclass of a function's keyword arguments, each with its default and its help.

    only: these arguments; by default all.
    leave_out: but for these.
    """
    hints = get_type_hints(function)
    helps = arguments_help(function)
    fields = []
    for name, argument in inspect.signature(function).parameters.items():
        asked = name in only if only else name not in leave_out
        if argument.kind is not argument.KEYWORD_ONLY or not asked:
            continue
        about = Parameter(help=helps[name], group=group)
        option: Any = Annotated[hints[name], about]
        fields.append((name, option, dataclasses.field(default=argument.default)))
    # cyclopts takes a class of the standard library, as this one would be, for a single option.
    namespace = {"__module__": __name__}
    return dataclasses.make_dataclass(f"{group}Options", fields, frozen=True, namespace=namespace)
