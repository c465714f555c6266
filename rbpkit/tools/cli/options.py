"""Options of the command line, made of the arguments of functions: one name and one help for both.

The first sentence of an argument in the docstring is the help of its option.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
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


def options_of(function: Callable[..., Any], group: str, *names: str) -> Any:
    """A dataclass of these keyword arguments of a function, each with its default and its help."""
    hints, helps = get_type_hints(function), arguments_help(function)
    arguments = inspect.signature(function).parameters
    fields = []
    for name in names:
        option: Any = Annotated[hints[name], Parameter(help=helps[name], group=group)]
        fields.append((name, option, dataclasses.field(default=arguments[name].default)))
    # cyclopts takes a class of the standard library, as this one would be, for a single option.
    namespace = {"__module__": __name__}
    return dataclasses.make_dataclass(f"{group}Options", fields, frozen=True, namespace=namespace)
