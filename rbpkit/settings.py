"""What a measurement is, defined once: its text, how that is read, how the model is found and run.

Each class below is one part. A field's description is the help of its option on the command line,
and its type and limits are what an error says. Python's keywords (`measure`, `load_corpus`,
`load_model`), the options of the command line, the keys of a study's file, the key of a job and its
manifest all come from these fields. So a new setting is one field here, and one line where it acts.

A setting that changes which numbers are measured is marked IN_KEY, so that jobs that differ in it
are different jobs (`rbpkit.files.manifest.JobKey`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic.fields import FieldInfo

from rbpkit.errors import InputError, nearest, shown
from rbpkit.files.devices import check_device

Name = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
PathName = Annotated[
    Name, BeforeValidator(lambda path: os.fspath(path) if isinstance(path, os.PathLike) else path)
]
_SHORT_DTYPES = {"bf16": "bfloat16", "fp16": "float16"}
Dtype = Annotated[
    Literal["float32", "bfloat16", "float16", "bf16", "fp16"],
    AfterValidator(lambda dtype: _SHORT_DTYPES.get(dtype, dtype)),
]

IN_KEY: dict[str, Any] = {"in_key": True}


class Settings(BaseModel):
    """A part of the settings. They cannot be changed, and there are no others.

    Words become numbers, as the command line needs it; `of` takes values of the right type alone.
    """

    # "model_" is a prefix of pydantic's own, which some versions warn of. Not strict: all that the
    # command line has are words.
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    @classmethod
    def of(cls, values: Mapping[str, Any], where: str = "") -> Self:
        """These settings. Raises InputError, one line that names every setting at fault."""
        try:
            return cls.model_validate(dict(values), strict=True)
        except ValidationError as error:
            faults = "; ".join(cls.problem(fault) for fault in error.errors())
            raise InputError(f"{where}: {faults}" if where else faults) from error

    @classmethod
    def problem(cls, fault: Mapping[str, Any]) -> str:
        """One fault that pydantic found, as a line: the setting, what is wrong, what was given."""
        key = str(fault["loc"][0])
        if fault["type"] == "extra_forbidden":
            return f"unknown setting {key!r}{nearest(key, cls.model_fields)}"
        if fault["type"] == "missing":
            return f"{key} is missing"
        return f"{key}={shown(fault['input'])}: {why(fault)}"

    def part(self, kind: type[Settings]) -> dict[str, Any]:
        """Those of these settings that `kind` defines, as keywords."""
        return self.model_dump(include=set(kind.model_fields))

    @classmethod
    def among(cls, values: Mapping[str, Any]) -> Self:
        """Those of the values that are settings of this class. Raises InputError as `of`."""
        return cls.of({name: value for name, value in values.items() if name in cls.model_fields})

    @property
    def given(self) -> dict[str, Any]:
        """The settings that differ from their defaults."""
        return self.model_dump(exclude_defaults=True)


def why(fault: Mapping[str, Any]) -> str:
    """What is wrong with a value, of a fault that pydantic found."""
    message = fault["msg"].removeprefix("Value error, ")
    return f"{message[0].lower()}{message[1:]}"


class TextSettings(Settings):
    """What the text is: which documents of a corpus, and which of their columns."""

    documents: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="How many to take, 0 for all; by default 1000, all of a plugin's corpus.",
        json_schema_extra=IN_KEY,
    )
    seed: Annotated[int, Field(ge=0)] | None = Field(
        default=42,
        description="Seed of the shuffle that picks documents; in Python None takes them in order.",
        json_schema_extra=IN_KEY,
    )
    field: Name | None = Field(default=None, description="Column with the text; a+b joins two.")
    unit: Name | None = Field(
        default=None,
        description="Column with the text's author or source, which intervals resample.",
    )
    prompt: Name | None = Field(
        default=None, description="Column that is read before the text, and not scored."
    )
    changed_text: bool = Field(
        default=False, description="Admit another text than that of a plugin's reference numbers."
    )


class ReadingSettings(Settings):
    """How the text is read: where documents are cut."""

    max_length: Annotated[int, Field(ge=2)] = Field(
        default=512, description="Truncate documents at this many tokens.", json_schema_extra=IN_KEY
    )
    stride: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="Score all, in windows of max_length this far apart; 0: off.",
        json_schema_extra=IN_KEY,
    )

    @field_validator("stride")
    @classmethod
    def _windows_overlap(cls, stride: int, info: ValidationInfo) -> int:
        max_length = info.data.get("max_length")
        if max_length is not None and stride >= max_length:
            raise ValueError(f"must be below max_length, which is {max_length}")
        return stride


class FileSettings(Settings):
    """Which files a model is read from."""

    allow_pickle: bool = Field(default=False, description="Admit pickled weights.")
    tokenizer: PathName | None = Field(
        default=None,
        description="Folder or hub id of the tokenizer, if it is not the model's own folder.",
    )


class ModelSettings(FileSettings):
    """How the model is found, and what it is called."""

    revision: Name | None = Field(
        default=None, description="Branch, tag or commit of a model on the hub."
    )
    name: Name | None = Field(default=None, description="Call the model so in the records.")
    family: Name | None = Field(
        default=None, description="The models that it is fitted with; by default the model's type."
    )
    trust_remote_code: bool = Field(
        default=False, description="Run Python code that comes with it."
    )


class PlaceSettings(Settings):
    """Where the model runs, and in which numbers."""

    dtype: Dtype = Field(
        default="float32",
        description="Numbers of the network; the output head stays in float32.",
        json_schema_extra=IN_KEY,
    )
    device: Annotated[Name, AfterValidator(check_device)] | None = Field(
        default=None,
        description="cpu, cuda, or auto: over all GPUs; by default a GPU if there is one.",
    )


class RunSettings(PlaceSettings):
    """How the model runs. Only `dtype` is in the key of a job; the rest can change last bits."""

    batch_tokens: Annotated[int, Field(ge=1)] = Field(
        default=8192, description="Most tokens of one forward pass, padding included."
    )
    threads: Annotated[int, Field(ge=0, le=1024)] = Field(
        default=0, description="CPU threads; 0 for torch's default."
    )


class ServerSettings(Settings):
    """Of a model behind a vLLM server, whose address is given as the model, or of its scores."""

    served_model: Name | None = Field(
        default=None, description="Behind a server: which of its models, if it has several."
    )
    api_key: Name | None = Field(
        default=None, description="Key of the server, else OPENAI_API_KEY; never saved.", repr=False
    )
    size: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="S of a served model whose config is not here, or of scores."
    )
    vocabulary: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="V of a served model whose config is not here, or of scores."
    )
    requests: Annotated[int, Field(ge=1, le=256)] = Field(
        default=8, description="Documents sent to a server at a time."
    )


PARTS: tuple[type[Settings], ...] = (TextSettings, ReadingSettings, ModelSettings, RunSettings)


def check_known(values: Iterable[str], *kinds: type[Settings]) -> None:
    """InputError that names the nearest setting for a name that no class has."""
    known = [name for kind in kinds for name in kind.model_fields]
    for key in values:
        if key not in known:
            raise InputError(f"unknown setting {key!r}{nearest(key, known)}")


def settings_in_key() -> dict[str, FieldInfo]:
    """The settings that are marked IN_KEY, by name."""
    marked = {}
    for part in PARTS:
        for name, setting in part.model_fields.items():
            if setting.json_schema_extra == IN_KEY:
                marked[name] = setting
    return marked
