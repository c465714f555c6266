"""What a job was: the model, the text, the protocol and the versions. One JSON file per job."""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, ValidationError

from rbpkit.errors import InputError

FORMAT = 2  # of record files, their manifests and summaries, together

Name = Annotated[str, Field(min_length=1)]


JobKey = namedtuple(
    "JobKey", "model revision corpus fingerprint documents seed max_length stride dtype"
)
"""What tells jobs apart. Two jobs with one key give the same numbers, except for last bits, which
versions, device, threads and batch size can change: those are recorded, and are not in the key."""

SETTINGS = ("family", *JobKey._fields)  # what readers of a folder can choose jobs by
PREFIXES = ("revision", "fingerprint")  # hashes, of which the first digits are enough


class Manifest(BaseModel):
    """What was measured and with what; written last, so its presence says "done".

    `S`: non-embedding parameters; `V`: rows of the output matrix; `fingerprint`: of the text;
    `documents`: those the protocol took, including the `skipped_documents` (one token, nothing to
    score); `stride`: of overlapping windows, 0 if documents were truncated; `tokens`: scored;
    `seconds`: wall time; `sha256`: of the Parquet file, filled in when it is written; `format`: of
    the file. There is no tie rule here: both counts are stored.
    Raises InputError for a field of the wrong kind.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    model: Name
    revision: str
    family: str
    S: PositiveInt
    V: PositiveInt
    corpus: Name
    fingerprint: Name
    documents: PositiveInt
    max_length: PositiveInt
    stride: NonNegativeInt = 0
    dtype: Name
    device: Name
    threads: PositiveInt
    batch_tokens: PositiveInt
    seed: NonNegativeInt
    versions: dict[str, str]  # rbpkit, torch, transformers, tokenizers, python; ranks: what counted
    skipped_documents: NonNegativeInt = 0
    tokens: NonNegativeInt = 0
    seconds: Annotated[float, Field(ge=0)] = 0.0
    sha256: str = ""
    format: Literal[2] = FORMAT

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            first = error.errors()[0]
            name, kind = ".".join(map(str, first["loc"])), first["msg"]
            raise InputError(f"manifest: {name}={first['input']!r}: {kind}") from None

    @property
    def key(self) -> JobKey:
        """The job's key."""
        return JobKey(*(getattr(self, name) for name in JobKey._fields))

    def has(self, settings: Mapping[str, str | int | None]) -> bool:
        """Whether the job has these SETTINGS (name -> value, None for any)."""
        for name, value in settings.items():
            mine = getattr(self, name)
            mine = mine[: len(value)] if name in PREFIXES and value else mine
            if value not in (None, mine):
                return False
        return True

    def to_json(self) -> str:
        """All fields as JSON text, keys sorted: what the `.json` file holds, `seconds` in s."""
        return json.dumps(self.model_dump(), indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str | bytes, where: object = "manifest") -> Manifest:
        """Raises InputError that begins with `where` for anything but a manifest of our format."""
        try:
            fields = json.loads(text)
            if (there := fields.get("format", FORMAT)) != FORMAT:
                raise InputError(f"of format {there!r}, and this rbpkit reads {FORMAT}")
            return cls(**fields)
        except (ValueError, AttributeError, RecursionError) as error:
            way_out = "use the version of rbpkit that wrote it, or delete it and measure again"
            raise InputError(f"{where}: not a readable manifest ({error}); {way_out}") from error
