"""The parameter file of a study: flat YAML, the same for `rbpkit reproduce` and `papermill -f`.

An unknown, repeated or wrongly typed key is refused before anything runs. papermill makes a
variable of each key, so no key may have the name of a module.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, NonNegativeInt, PositiveInt, ValidationInfo, field_validator

from rbpkit import plugins
from rbpkit.check import Names, Shown
from rbpkit.errors import InputError

Text = Annotated[str, Field(min_length=1, pattern=r"\S")]


class Params(Shown):
    """A study: which models, on which corpora, how they are measured, what the notebooks show.

    Which models:
        source: "pocket" (the pocket models, or another plugin's) or "hub" (the paper's models).
        families: of that source.
        model_ids: hub ids, folders, names of a plugin's models or addresses of servers
            (http://HOST:PORT/v1) to measure instead; `families` then only says what the notebooks
            show. `rbpkit reproduce` first trains the models that have to be trained: NAME-seedN, or
            NAME-3m-seedN for 3 million tokens, where NAME is a pocket model.
        revisions: "owner/name@revision" pins a model or data set of the hub to a commit, tag or
            branch; the others are taken at their newest.
    On which text:
        corpus_names: names, files or folders. In a notebook an empty list, as one of `families`,
            shows whatever was measured. The columns (field, unit, prompt) are those of your
            own files.
    What the notebooks show:
        ks, Ns: k of RBP_k and N of p_{N,k}.
        records_dir: where they read records; empty for those of the pocket models.
        figures_dir: where they write figures; empty for nowhere.
    How it is measured: all other keys, which are arguments of `load_corpus`, `load_model` and
        `measure`, with their defaults.
    """

    source: str
    model_ids: Names = ()
    corpus_names: Names  # to be given here
    revisions: Names = ()

    documents: NonNegativeInt | None = None
    seed: NonNegativeInt | None = 42
    field: Text | None = None
    unit: Text | None = None
    prompt: Text | None = None
    max_bytes: NonNegativeInt = 0
    changed_text: bool = False
    tokenizer: Text | None = None
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    device: Text | None = None
    max_length: Annotated[int, Field(ge=2)] = 512
    stride: NonNegativeInt = 0
    batch_tokens: PositiveInt = 8192

    @field_validator("source")
    @classmethod
    def _a_source(cls, source: str) -> str:
        known = sorted({"hub", *plugins.INSTALL, *plugins.plugin_names("reference")})
        if source not in known:
            raise ValueError(f"must be one of {', '.join(known)}")
        return source

    @field_validator("revisions")
    @classmethod
    def _pins(cls, pins: tuple[str, ...]) -> tuple[str, ...]:
        for pin in pins:
            if ".." in pin or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?@\w[\w./-]*", pin):
                raise ValueError(f"{pin!r} is not owner/name@revision")
        repositories = {pin.split("@")[0] for pin in pins}
        if len(repositories) != len(pins):
            raise ValueError("pins a repository twice")
        return pins

    @field_validator("stride")
    @classmethod
    def _windows_overlap(cls, stride: int, info: ValidationInfo) -> int:
        max_length = info.data.get("max_length")
        if max_length is not None and stride >= max_length:
            raise ValueError(f"must be below max_length, which is {max_length}")
        return stride

    def files_of(self, model: str) -> dict[str, Any]:
        """From which files a model is read: arguments of `load_model`."""
        return {"revision": self.revision_of(model), "tokenizer": self.tokenizer}

    def revision_of(self, hub_id: str) -> str | None:
        """The revision that a model or data set of the hub is pinned to; None for its newest."""
        pins = dict(pin.split("@", 1) for pin in self.revisions)
        return pins.get(hub_id)


MOST_CHARACTERS = 1_000_000
_OTHER_NUMBER = re.compile(r"[-+]?(0[\d_]+|0x[0-9a-fA-F]+|0[ob][0-7]+|[\d_]+(:[\d_]+)+)")
"""Numbers that YAML 1.1 reads otherwise than people do, in base 8, 16, 2 and 60: 0512 is 330."""


class _Loader(yaml.SafeLoader):
    """Refuses what no study needs, and what could take hours or all memory to read."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            raise InputError(f"an alias (*{event.anchor}); write its value out")
        if isinstance(event, yaml.ScalarEvent) and event.style is None:
            if _OTHER_NUMBER.fullmatch(event.value):
                raise InputError(f"{event.value}: write the number in decimal digits")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = Counter(str(key.value) for key, _ in node.value)
        key, times = keys.most_common(1)[0] if keys else ("", 0)
        if times > 1:
            raise InputError(f"key {key!r} is given twice")
        return super().construct_mapping(node, deep)


def load_params(path: str | Path) -> Params:
    """Read and check a parameter file.

    Raises InputError, one line that names the file and every key at fault, if the file is missing
    or is not YAML, and for unknown, repeated, missing or wrongly typed keys.
    """
    if Path(path).exists() and not Path(path).is_file():  # a pipe would be waited for
        raise InputError(f"{path}: not a file; give a parameter file")
    try:
        text = Path(path).read_text(encoding="utf-8")
        if len(text) > MOST_CHARACTERS:
            raise InputError(f"over {MOST_CHARACTERS:,} characters; is it a parameter file?")
        values = yaml.load(text, _Loader)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except RecursionError as error:
        raise InputError(f"{path}: lists inside lists without an end; a study has two") from error
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path}: {_what_is_broken(error)}") from error
    if not isinstance(values, dict):
        raise InputError(f"{path}: not a list of `key: value` lines")
    return Params.of({str(key): value for key, value in values.items()}, str(path))


def _what_is_broken(error: Exception) -> str:
    """A fault in a line, with the number of the line if the parser found it."""
    problem = getattr(error, "problem", None) or str(error)
    problem = " ".join(problem.split())
    if "'\\t'" in problem:
        problem = "use spaces, not tabs"
    mark = getattr(error, "problem_mark", None)
    return f"line {mark.line + 1}: {problem}" if mark is not None else problem
