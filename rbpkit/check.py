"""The parameters of a notebook, as papermill may have set them, and their check.

papermill makes a variable of each key, so no key may have the name of a module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    ValidationError,
)

from rbpkit.errors import InputError, nearest, shown


def _without_doubles(value: Any) -> tuple[Any, ...]:
    """A list of a study as a tuple. Raises ValueError for anything else, and for doubles."""
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list, in square brackets")
    if len(set(map(str, value))) != len(value):
        raise ValueError("names something twice")
    return tuple(value)


Names = Annotated[tuple[str, ...], BeforeValidator(_without_doubles)]
Counts = Annotated[tuple[PositiveInt, ...], Field(min_length=1), BeforeValidator(_without_doubles)]


class Shown(BaseModel):
    """What the notebooks show: their parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())

    families: Names = ()
    corpus_names: Names = ()
    ks: Counts = (1, 10, 50, 100)
    Ns: Counts = (1, 2, 5, 10, 20, 50, 100)
    records_dir: str = ""
    figures_dir: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any], where: str) -> Self:
        """These parameters. Raises InputError, one line that names every key at fault."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            faults = "; ".join(map(cls._problem, error.errors()))
            raise InputError(f"{where}: {faults}") from error

    @classmethod
    def _problem(cls, fault: Any) -> str:
        """One fault that pydantic found, as a line: the key, what is wrong, what was given."""
        key = str(fault["loc"][0])
        if fault["type"] == "extra_forbidden":
            return f"unknown setting {key!r}{nearest(key, cls.model_fields)}"
        if fault["type"] == "missing":
            return f"{key} is missing"
        why = fault["msg"].removeprefix("Value error, ")
        return f"{key}={shown(fault['input'])}: {why[0].lower()}{why[1:]}"


# Keys of a study that say how it is measured: `papermill -f` gives a notebook all of a file.
OF_MEASURING = frozenset(
    "batch_tokens changed_text device documents dtype field max_bytes max_length model_ids prompt"
    " revisions seed source stride tokenizer unit".split()
)


def check_parameters(names: Mapping[str, Any]) -> None:
    """Check a notebook's parameters, as papermill may have set them, by the rules of a study.

    names: the notebook's `globals()`. papermill makes a variable of each key, in a cell that
        it adds, and `In` has the cells that were run.

    With records of the reader's own it says that the text speaks of other models.
    Raises InputError, one line that names every key at fault, or if a records_dir has no records.
    """
    given = {name: names[name] for name in Shown.model_fields if name in names}
    for cell in names.get("In", ()):
        if cell.startswith("# Parameters\n"):  # papermill's own cell, after the notebook's
            assigned = re.findall(r"^(\w+) = ", cell, re.MULTILINE)
            given |= {name: names[name] for name in assigned if name not in OF_MEASURING}
    Shown.of(given, "papermill")
    records_dir = names.get("records_dir")
    if records_dir:
        from rbpkit.records import load_summaries  # most notebooks need no records

        manifests = [summary.manifest for summary in load_summaries(records_dir, checkpoint="last")]
        models = {manifest.model for manifest in manifests}
        families = sorted({manifest.family for manifest in manifests})
        corpora = sorted({manifest.corpus for manifest in manifests})
        print(
            f"The text speaks of the pocket models; you gave records of {len(models)} models"
            f" ({', '.join(families)}) on {', '.join(corpora)}."
        )
