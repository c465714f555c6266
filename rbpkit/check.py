"""The parameters of a notebook, as papermill may have set them, and their check.

papermill makes a variable of each key, so no key may have the name of a module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from rbpkit.errors import InputError, faults_found

# A list of a study, which YAML and papermill give as such, is a tuple here.
Names = Annotated[tuple[str, ...], Field(strict=False)]
Counts = Annotated[tuple[PositiveInt, ...], Field(strict=False, min_length=1)]


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
            raise InputError(f"{where}: {faults_found(error)}") from error


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
    Raises InputError, one line that names every key at fault.
    """
    given = {name: names[name] for name in Shown.model_fields if name in names}
    for cell in names.get("In", ()):
        if cell.startswith("# Parameters\n"):  # papermill's own cell, after the notebook's
            assigned = re.findall(r"^(\w+) = ", cell, re.MULTILINE)
            given |= {name: names[name] for name in assigned if name not in OF_MEASURING}
    Shown.of(given, "papermill")
    if names.get("records_dir"):
        print(
            f"The text speaks of the pocket models, not of the records in {names['records_dir']}."
        )
