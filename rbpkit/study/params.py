"""The parameter file of a study: flat YAML, the same for `rbpkit reproduce` and `papermill -f`.

An unknown, repeated or wrongly typed key is refused before anything runs. papermill makes a
variable of each key, so no key may have the name of a module.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    field_validator,
)

from rbpkit import plugins
from rbpkit.errors import InputError
from rbpkit.records import load_summaries
from rbpkit.study.checks import MOST_THREADS

Names = Annotated[tuple[str, ...], Field(strict=False)]
Counts = Annotated[tuple[PositiveInt, ...], Field(strict=False, min_length=1)]

RENAMED = {"train_models": "name these models in model_ids"}
"""Keys of earlier versions -> what to do instead."""


class Params(BaseModel):
    """A study: which models, on which corpora, how they are measured, what the notebooks show.

    Which models:
        source: "pocket" (the pocket models, or another plugin's) or "hub" (the paper's models).
        families: of that source.
        model_ids: hub ids, folders or names of a plugin's models to measure instead; `families`
            then only says what the notebooks show. `rbpkit reproduce` first trains the models that
            have to be trained: NAME-seedN, or NAME-3m-seedN for 3 million tokens, where NAME is a
            pocket model.
        revisions: "owner/name@revision" pins a model or data set of the hub to a commit, tag or
            branch; the others are taken at their newest.
        allow_pickle: admit weights that are pickle files, such as OPT's on the hub.
    On which text:
        corpus_names: names, files or folders. In a notebook an empty list, as one of `families`,
            shows whatever was measured.
        text_field, picture_field, unit_field: the columns of your own files with the text, with its
            picture (for captioners), and with what it was sampled with (its author).
        prompt_field: the column with what is read before the text and not scored.
        documents: how many of a corpus are measured, 0 for all; null for the protocol's 1,000, and
            for all of a plugin's corpus.
        seed: of their shuffle.
        changed_text: measure a plugin's corpus although it is not the text of its reference.
    How:
        max_length: where documents are truncated, in tokens.
        dtype: of the network; the output head stays in float32.
        device: null for a GPU if there is one; auto to spread a model over all GPUs.
        batch_tokens: most tokens of one forward pass.
        threads: of torch on the CPU, 0 for its default.
    What the notebooks show:
        ks, Ns: k of RBP_k and N of p_{N,k}.
        records_dir: where they read records; empty for those of the pocket models.
        figures_dir: where they write figures; empty for nowhere.
    """

    # "model_" is a prefix of pydantic's own, which some versions warn of.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=())

    source: str
    families: Names = ()
    model_ids: Names = ()
    corpus_names: Names
    revisions: Names = ()
    allow_pickle: bool = False
    ks: Counts = (1, 10, 50, 100)
    Ns: Counts = (1, 2, 5, 10, 20, 50, 100)
    documents: NonNegativeInt | None = None
    text_field: str | None = None
    picture_field: str | None = None
    unit_field: str | None = None
    prompt_field: str | None = None
    max_length: Annotated[int, Field(ge=2)] = 512
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    device: str | None = None
    batch_tokens: PositiveInt = 8192
    threads: Annotated[int, Field(ge=0, le=MOST_THREADS)] = 0
    seed: NonNegativeInt = 42
    changed_text: bool = False
    records_dir: str = ""
    figures_dir: str = ""

    @field_validator(
        *("families", "model_ids", "corpus_names", "revisions", "ks", "Ns"),
        mode="before",
    )
    @classmethod
    def _a_list(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise ValueError("must be a list, in square brackets")
        if len(set(map(str, value))) != len(value):
            raise ValueError("names something twice")
        return tuple(value)

    @field_validator("source")
    @classmethod
    def _a_source(cls, source: str) -> str:
        known = sorted({"hub", *plugins.INSTALL, *plugins.plugin_names()})
        if source not in known:
            raise ValueError(f"must be one of {', '.join(known)}")
        return source

    @field_validator("revisions")
    @classmethod
    def _pins(cls, pins: tuple[str, ...]) -> tuple[str, ...]:
        for pin in pins:
            if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?@[\w./-]+", pin):
                raise ValueError(f"{pin!r} is not owner/name@revision")
        repositories = {pin.split("@")[0] for pin in pins}
        if len(repositories) != len(pins):
            raise ValueError("pins a repository twice")
        return pins

    def revision_of(self, hub_id: str) -> str | None:
        """The revision that a model or data set of the hub is pinned to; None for its newest."""
        for pin in self.revisions:
            repository, _, revision = pin.partition("@")
            if repository == hub_id:
                return revision
        return None


MOST_CHARACTERS = 1_000_000
MOST_LEVELS = 20


def _check_plain(text: str, path: str | Path) -> None:
    """InputError for YAML that no study needs, and that could take hours or all memory to read.

    The parser's events come one by one, before anything is built from them.
    """
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"{path}: over {MOST_CHARACTERS:,} characters; is it a parameter file?")
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise InputError(f"{path}: an alias (*{event.anchor}); write its value out")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MOST_LEVELS:
            raise InputError(f"{path}: lists inside lists, {MOST_LEVELS} deep; a study has two")


def load_params(path: str | Path) -> Params:
    """Read and check a parameter file.

    Raises InputError, one line that names the file and every key at fault, if the file is missing
    or is not YAML, and for unknown, repeated, missing or wrongly typed keys.
    """
    if Path(path).exists() and not Path(path).is_file():  # a pipe would be waited for
        raise InputError(f"{path}: not a file; give a parameter file")
    try:
        text = Path(path).read_text(encoding="utf-8")
        _check_plain(text, path)
        top = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except InputError:  # of _check_plain; it is a ValueError too
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read (not UTF-8 text)") from error
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path}: {_what_is_broken(error)}") from error
    if not isinstance(values, dict):
        raise InputError(f"{path}: not a list of `key: value` lines")
    keys = [key.value for key, _ in top.value]
    if twice := [key for key in values if keys.count(key) > 1]:
        raise InputError(f"{path}: key {twice[0]!r} is given twice")
    try:
        return Params(**{str(key): value for key, value in values.items()})
    except ValidationError as error:
        raise InputError(f"{path}: {'; '.join(problems(error))}") from error


def _what_is_broken(error: Exception) -> str:
    """A fault of YAML in a line, with the number of the line where the parser found it."""
    problem = getattr(error, "problem", None) or str(error)
    problem = " ".join(problem.split())
    if "'\\t'" in problem:
        problem = "use spaces, not tabs"
    mark = getattr(error, "problem_mark", None)
    return f"line {mark.line + 1}: {problem}" if mark is not None else problem


INJECTED = "# Parameters\n"  # the first line of the cell that papermill adds


def check_parameters(names: Mapping[str, Any]) -> None:
    """Check what papermill injected into a notebook by the rules of a parameter file.

    papermill makes a variable of each key, and only warns about one that the notebook lacks.
    names: the notebook's `globals()`; its `In` has the cells that were executed so far.
    With records of the reader's own it says that the text speaks of other models.
    Raises InputError, one line that names every key at fault, or if a records_dir has no records.
    """
    given: dict[str, Any] = {}
    for cell in names.get("In", ()):
        if cell.startswith(INJECTED):
            for assignment in ast.parse(cell).body:
                assert isinstance(assignment, ast.Assign), "papermill injects nothing else"
                name = ast.unparse(assignment.targets[0])
                given[name] = names[name]
    try:
        Params(**{"source": "pocket", "corpus_names": ["pocket:prose"], **given})
    except ValidationError as error:
        raise InputError(f"papermill: {'; '.join(problems(error))}") from None
    records_dir = names.get("records_dir")
    if records_dir:
        manifests = [summary.manifest for summary in load_summaries(records_dir, checkpoint="last")]
        models = {manifest.model for manifest in manifests}
        families = sorted({manifest.family for manifest in manifests})
        corpora = sorted({manifest.corpus for manifest in manifests})
        print(
            f"The text speaks of the pocket models; you gave records of {len(models)} models"
            f" ({', '.join(families)}) on {', '.join(corpora)}."
        )


def problems(error: ValidationError) -> list[str]:
    """What is wrong with a study, a line for each fault."""
    return [_problem(fault) for fault in error.errors()]


def _problem(fault: Mapping[str, Any]) -> str:
    key = str(fault["loc"][0])
    if fault["type"] == "extra_forbidden" and key in RENAMED:
        return f"key {key!r} is no longer used: {RENAMED[key]}"
    if fault["type"] == "extra_forbidden":
        near = difflib.get_close_matches(key, Params.model_fields, n=1)
        return f"unknown key {key!r}" + (f"; did you mean {near[0]}?" if near else "")
    if fault["type"] == "missing":
        return f"key {key!r} is missing"
    problem = fault["msg"].removeprefix("Value error, ")
    return f"{key}: {problem[0].lower()}{problem[1:]} (it is {fault['input']!r})"
