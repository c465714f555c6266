"""What a measurement is, defined once: its text, how that is read, how the model is found and run.

Each class below is one part. A field's description is the help of its option on the command line,
its place in the docs, and what an error says. Python's keywords (`measure`, `load_corpus`,
`load_model`), the options of the command line, the keys of a study's file, the key of a job and its
manifest all come from these fields. So a new setting is one field here, and one line where it acts.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from rbpkit.errors import InputError, shown

Name = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
PathName = Annotated[
    Name, BeforeValidator(lambda path: os.fspath(path) if isinstance(path, os.PathLike) else path)
]
Dtype = Literal["float32", "bfloat16", "float16"]


class Settings(BaseModel):
    """Frozen and strict; `of` gives one InputError in place of pydantic's errors."""

    # "model_" is a prefix of pydantic's own, which some versions warn of.
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", protected_namespaces=())

    @classmethod
    def of(cls, values: Mapping[str, Any], where: str = "") -> Self:
        """These settings. Raises InputError, one line that names every setting at fault."""
        try:
            return cls(**values)
        except ValidationError as error:
            faults = "; ".join(problem(fault, cls.model_fields) for fault in error.errors())
            raise InputError(f"{where}: {faults}" if where else faults) from None

    @classmethod
    def among(cls, values: Mapping[str, Any]) -> Self:
        """Those of the values that are settings of this class. Raises InputError as `of`."""
        return cls.of({name: value for name, value in values.items() if name in cls.model_fields})

    @property
    def given(self) -> dict[str, Any]:
        """The settings that differ from their defaults."""
        return self.model_dump(exclude_defaults=True)


class TextSettings(Settings):
    """What the text is: which documents of a corpus, and which of their columns."""

    documents: Annotated[int, Field(ge=0)] | None = Field(
        None, description="How many to take, 0 for all; by default 1000, all of a plugin's corpus."
    )
    seed: Annotated[int, Field(ge=0)] | None = Field(
        42,
        description="Of the shuffle that picks the documents; in Python None takes them in order.",
    )
    field: Name | None = Field(None, description="Column with the text; a+b joins two.")
    unit: Name | None = Field(
        None, description="Column with the text's author or source, which intervals resample."
    )
    prompt: Name | None = Field(
        None, description="Column that is read before the text, and not scored."
    )
    image: Name | None = Field(None, description="Column with the text's picture.")
    images: PathName | None = Field(
        None, description="Folder of the pictures, if it is not the corpus's."
    )
    changed_text: bool = Field(
        False, description="Admit another text than that of a plugin's reference numbers."
    )


class ReadingSettings(Settings):
    """How the text is read: where documents are cut."""

    max_length: Annotated[int, Field(ge=2)] = Field(
        512, description="Truncate documents at this many tokens."
    )
    stride: Annotated[int, Field(ge=0)] = Field(
        0, description="Score all, in windows of max_length this far apart; 0: off."
    )


class ModelSettings(Settings):
    """How the model is found, and what it is called."""

    revision: Name | None = Field(None, description="Of a model on the hub: branch, tag or commit.")
    tokenizer: Name | None = Field(
        None, description="Folder or hub id of the tokenizer, if it is not the model's own folder."
    )
    name: Name | None = Field(None, description="Call the model so in the records.")
    family: Name | None = Field(
        None, description="The models that it is fitted with; by default the model's type."
    )
    allow_pickle: bool = Field(False, description="Admit pickled weights.")
    trust_remote_code: bool = Field(False, description="Run Python code that comes with it.")


class RunSettings(Settings):
    """How the model runs. Only `dtype` is in the key of a job; the rest can change last bits."""

    dtype: Dtype = Field(
        "float32", description="float32, bfloat16 or float16 (the head stays in float32)."
    )
    device: Name | None = Field(
        None, description="cpu, cuda, or auto: over all GPUs; by default one GPU if there is."
    )
    batch_tokens: Annotated[int, Field(ge=1)] = Field(
        8192, description="Most tokens of one forward pass, padding included."
    )
    threads: Annotated[int, Field(ge=0, le=1024)] = Field(
        0, description="CPU threads; 0 for torch's default."
    )


def check_known(values: Iterable[str], *kinds: type[Settings]) -> None:
    """InputError that names the nearest setting for a name that is none of these classes'."""
    known = [name for kind in kinds for name in kind.model_fields]
    for key in values:
        if key not in known:
            raise InputError(problem({"loc": (key,), "type": "extra_forbidden"}, known))


def problem(fault: Mapping[str, Any], known: Iterable[str]) -> str:
    """One fault of pydantic's as a line: the setting, what is wrong, and what was given.

    known: the names of all settings, of which the nearest to an unknown one is named.
    """
    key = str(fault["loc"][0])
    if fault["type"] == "extra_forbidden":
        near = difflib.get_close_matches(key, list(known), n=1)
        return f"unknown setting {key!r}" + (f"; did you mean {near[0]}?" if near else "")
    if fault["type"] == "missing":
        return f"{key} is missing"
    message = fault["msg"].removeprefix("Value error, ")
    return f"{key}={shown(fault['input'])}: {message[0].lower()}{message[1:]}"
