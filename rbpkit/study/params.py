"""The parameter file of a study: flat YAML, the same for `rbpkit reproduce` and `papermill -f`.

Every key has a meaning here; an unknown, repeated or wrongly typed one is refused before
anything runs. No key is named as a module of rbpkit: papermill makes a variable of it.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from rbpkit.errors import InputError
from rbpkit.study.checks import MOST_THREADS

_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)$")
MOST = 2**31 - 1  # of any count: what the columns of a record can hold

Names = Annotated[tuple[str, ...], Field(strict=False)]
PINNED = re.compile(r"([\w.-]+(?:/[\w.-]+)?)@([\w.-]+(?:/[\w.-]+)*)")
Counts = Annotated[
    tuple[Annotated[int, Field(ge=1, le=MOST)], ...], Field(strict=False, min_length=1)
]


class Params(BaseModel):
    """A study: which models, on which corpora, measured how, and what the notebooks show.

    source: "pocket" (the shipped ladders) or "hub" (the paper's models). families: the ladders,
    in the paper's spelling. model_ids: hub ids, folders or names of shipped models to measure
    instead; then `families` only says what the notebooks show. train_anew: runs of the pocket
    ladders, to be trained from scratch and measured alone: NAME-seedN, a ladder's model with seed
    N, or NAME-3m-seedN on 3 million tokens. corpus_names: names or files.
    revisions: "owner/name@revision" (a commit, tag or branch) for each model or data set of the
    hub that is to be held there; without one its newest. allow_pickle: admit weights that are
    pickle files, as OPT's on the hub.
    ks, Ns: k of RBP_k and N of p_{N,k} in the notebooks. documents: how many a corpus gives, 0
    for all; null for the protocol's 1,000, and all of a pocket corpus.
    max_length: where documents are truncated, in tokens. device: null for a GPU if there is one;
    auto for a model spread over all. threads: of torch on the CPU, 0 for its default.
    records_dir, audit_dir, figures_dir: where notebooks read records and the audit's tables, and
    where they write; empty for what is shipped and for nowhere.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    source: Literal["pocket", "hub"]
    families: Names = ()
    model_ids: Names = ()
    train_anew: Names = ()
    corpus_names: Annotated[Names, Field(min_length=1)]
    revisions: Names = ()
    allow_pickle: bool = False
    ks: Counts = (1, 10, 50, 100)
    Ns: Counts = (1, 2, 5, 10, 20, 50, 100)
    documents: Annotated[int, Field(ge=0, le=MOST)] | None = None
    text_field: str | None = None
    max_length: Annotated[int, Field(ge=2, le=MOST)] = 512
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    device: str | None = None
    batch_tokens: Annotated[int, Field(ge=1, le=MOST)] = 8192
    threads: Annotated[int, Field(ge=0, le=MOST_THREADS)] = 0
    seed: Annotated[int, Field(ge=0, le=MOST)] = 42
    records_dir: str = ""
    audit_dir: str = ""
    figures_dir: str = ""

    @field_validator(
        *("families", "model_ids", "train_anew", "corpus_names", "revisions", "ks", "Ns"),
        mode="before",
    )
    @classmethod
    def _a_list(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise ValueError(f"must be a list, as in [{value}]")
        if len(set(map(str, value))) != len(value):
            raise ValueError("names something twice")
        return tuple(value)

    @field_validator("model_ids")
    @classmethod
    def _without_revision(cls, ids: tuple[str, ...]) -> tuple[str, ...]:
        for one in ids:
            if PINNED.fullmatch(one) and not Path(one).exists():
                hub_id = one.split("@")[0]
                raise ValueError(f"give {hub_id!r} here and {one!r} in revisions")
        return ids

    @field_validator("revisions")
    @classmethod
    def _pins(cls, pins: tuple[str, ...]) -> tuple[str, ...]:
        seen = set()
        for one in pins:
            found = PINNED.fullmatch(one)
            if not found:
                raise ValueError(f"{one!r} is not owner/name@revision")
            if found[1] in seen:
                raise ValueError(f"names {found[1]} twice")
            seen.add(found[1])
        return pins

    def revision_of(self, hub_id: str) -> str | None:
        """The revision that a model or data set of the hub is held at; None for its newest."""
        return dict(one.split("@", 1) for one in self.revisions).get(hub_id)


class _Loader(yaml.SafeLoader):
    """Plain YAML: no object tags, no key given twice, no aliases, whole numbers in decimal only.

    A few lines of aliases of aliases grow without end, and YAML 1.1 reads 010 as 8 and 1:30 as 90.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(
                problem=f"alias *{event.anchor} in line {event.start_mark.line + 1}: write it out"
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                line = key_node.start_mark.line + 1
                raise yaml.constructor.ConstructorError(
                    problem=f"key {key!r} is given twice, the second time in line {line}"
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


_INT = "tag:yaml.org,2002:int"
_Loader.yaml_implicit_resolvers = {
    first: [(tag, _DECIMAL if tag == _INT else pattern) for tag, pattern in resolvers]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load_params(path: str | Path) -> Params:
    """Read and validate a parameter file.

    Raises InputError, one line that names the file and the key, for a missing file, broken
    YAML, and unknown, repeated, missing or wrongly typed keys.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise InputError(f"{path}: cannot be read ({reason})") from error
    try:
        values = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"{path}: {problem}") from error
    if not isinstance(values, dict):
        raise InputError(f"{path}: not a list of `key: value` lines")
    try:
        return Params(**{str(key): value for key, value in values.items()})
    except ValidationError as error:
        raise InputError(f"{path}: {_first_problem(error)}") from error


INJECTED = "# Parameters\n"  # the first line of the cell that papermill adds


def check_parameters(names: Mapping[str, Any]) -> None:
    """Hold what papermill injected into a notebook to the rules of a parameter file.

    papermill makes a variable of any key, and only warns where the notebook has none of that name.
    names: the notebook's `globals()`; its `In` has the cells executed so far.
    Raises InputError, one line that names the key.
    """
    given: dict[str, Any] = {}
    for cell in names.get("In", ()):
        for line in ast.parse(cell).body if cell.startswith(INJECTED) else ():
            key, value = ast.unparse(line.targets[0]), line.value
            try:
                given[key] = ast.literal_eval(value)
            except ValueError:  # float("nan"): text, which no number may be
                given[key] = ast.unparse(value)
    try:
        Params(**{"source": "pocket", "corpus_names": ["pocket:prose"], **given})
    except ValidationError as error:
        raise InputError(f"papermill: {_first_problem(error)}") from None


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    key = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(key, Params.model_fields, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"unknown key {key!r}{hint}"
    if first["type"] == "missing":
        return f"key {key!r} is missing"
    problem = first["msg"].removeprefix("Value error, ")
    return f"{key}: {problem[0].lower()}{problem[1:]} (it is {first['input']!r})"
