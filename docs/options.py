"""The reference of options, made from signatures: `python docs/options.py` writes it.

`make site` makes the page again, and a test compares the committed one with the signatures.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rbpkit import load_corpus, load_model, measure
from rbpkit.manifest import JobKey
from rbpkit.tools.cli.options import arguments_help

PAGE = Path(__file__).with_name("options.md")
HEAD = """# Options

After this page you know every setting of a measurement. It is made from the signatures of
`load_corpus`, `load_model` and `measure`.

A setting has one name everywhere: `--max-length 256` on the command line, `max_length=256` in
Python, `max_length: 256` in a parameter file. Of the settings of *load_model* a parameter file has
`tokenizer`, `dtype` and `device`. A setting *in the key* changes what is measured: a job with
another value is another job. [Measure](measure.md) shows the settings in use, and
`rbpkit COMMAND --help` lists the other options of a command.
"""
TABLE = (
    "| argument | value | default | in the key | what it is |\n| --- | --- | --- | --- | --- |\n"
)
# Another text has another fingerprint, which is in the key.
IN_THE_KEY = {*JobKey.model_fields, "max_bytes"} - {"revision"}
# Of a running program, and not of a measurement.
LEFT_OUT = ("progress", "say")


def value_of(annotation: str) -> str:
    """What may be given, in words."""
    kind = annotation.removesuffix(" | None")
    words = {"int": "a whole number", "bool": "true or false", "str": "words"}
    return words.get(kind, "float32, bfloat16, float16" if kind == "Dtype" else "an object")


def rows_of(function: Callable[..., Any]) -> str:
    """The rows of a function's keyword arguments."""
    helps = arguments_help(function)
    rows = ""
    for name, argument in inspect.signature(function).parameters.items():
        if argument.kind is not argument.KEYWORD_ONLY or name in LEFT_OUT:
            continue
        has_default = argument.default not in (None, False)
        cells = (
            f"`{name}`",
            value_of(argument.annotation),
            str(argument.default) if has_default else "",
            "yes" if name in IN_THE_KEY else "",
            helps[name],
        )
        rows += f"| {' | '.join(cells)} |\n"
    return rows


def page() -> str:
    """The whole page, in Markdown."""
    parts = HEAD
    for function in (load_corpus, load_model, measure):
        parts += f"\n## {function.__name__}\n\n{TABLE}{rows_of(function)}"
    return parts


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
