"""The reference of options, made from rbpkit/settings.py: `python docs/options.py` writes it.

`make site` makes the page again, and a test compares the committed one with the settings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rbpkit import settings

PAGE = Path(__file__).with_name("options.md")
HEAD = """# Options

After this page you know every setting of a measurement. It is made from `rbpkit/settings.py`.

A setting has one name everywhere: `--max-length 256` on the command line, `max_length=256` in
Python, `max_length: 256` in a parameter file. Those of *model*, except `allow_pickle` and
`tokenizer`, and of *server* are not in parameter files. A setting *in the key* changes what is
measured: a job with another value is another job. [Measure](measure.md) shows the settings in use,
and `rbpkit COMMAND --help` lists the other options of a command.
"""
TABLE = "| option | value | default | in the key | what it is |\n| --- | --- | --- | --- | --- |\n"


def value_of(schema: dict[str, Any]) -> str:
    """What may be given: of a choice, the one that is not nothing."""
    [one] = [kind for kind in schema.get("anyOf", [schema]) if kind.get("type") != "null"]
    if "enum" in one:
        return ", ".join(one["enum"])
    if one["type"] == "boolean":
        return "none: a switch"
    if one["type"] == "string":
        return "words"
    top = f" to {one['maximum']}" if "maximum" in one else " or more"
    return f"{one['minimum']}{top}"


def page() -> str:
    """The whole page, in Markdown."""
    parts = HEAD
    for kind in (*settings.PARTS, settings.ServerSettings):
        parts += f"\n## {kind.__name__.removesuffix('Settings')}\n\n{TABLE}"
        for name, schema in kind.model_json_schema()["properties"].items():
            default = schema.get("default")
            cells = (
                f"`--{name.replace('_', '-')}`",
                value_of(schema),
                "" if default is None or default is False else str(default),
                "yes" if schema.get("in_key") else "",
                schema["description"],
            )
            parts += f"| {' | '.join(cells)} |\n"
    return parts


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
