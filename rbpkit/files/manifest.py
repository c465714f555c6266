"""What a job was: the model, the text, the protocol and the versions. One JSON file per job."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
)

from rbpkit.errors import InputError
from rbpkit.files.job_key import PREFIXES, JobKey

Setting = str | int | Sequence[str] | None  # a value, several of which one is enough, or any
FORMAT: Final = 2  # of record files, their manifests and summaries, together


def _writable(name: str) -> str:
    name.encode()  # a lone surrogate, which JSON may hold, is a ValueError
    return name


Name = Annotated[str, Field(min_length=1), AfterValidator(_writable)]


class Manifest(BaseModel):
    """What was measured and with what; written last, so its presence says "done".

    model, revision: the name in the records; a commit of the hub, or "sha256:..." over its files.
    family: the models that it is fitted with.
    S: non-embedding parameters.
    V: rows of the output matrix.
    corpus, fingerprint: the id of the corpus, and the fingerprint of its text.
    documents: those that the protocol took, including `skipped_documents`.
    max_length: tokens at which documents were truncated, or of a window.
    stride: of overlapping windows; 0 if documents were truncated.
    dtype, device, threads, batch_tokens: of the forward passes.
    seed: of the shuffle that picked the documents; 0 if nothing was shuffled.
    versions: of rbpkit, torch, transformers, tokenizers and python; `ranks` names the program that
        counted. Notes on how the model was loaded are here, too.
    skipped_documents: those with nothing to score (a single token).
    tokens: how many are scored, T.
    seconds: wall time.
    sha256: of the Parquet file, filled in when it is written.
    format: of the files.

    There is no tie rule here, as both counts are stored. Raises InputError for a field of the wrong
    kind.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    model: Name
    revision: str
    family: Annotated[str, AfterValidator(_writable)]
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
    versions: dict[str, str]
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
            name = ".".join(map(str, first["loc"]))
            raise InputError(f"manifest: {name}={first['input']!r}: {first['msg']}") from None

    @property
    def key(self) -> JobKey:
        """The job's key."""
        return JobKey(*(getattr(self, name) for name in JobKey._fields))

    def has(self, settings: Mapping[str, Setting]) -> bool:
        """Whether the job has these SETTINGS (name -> value, or a list of them; None for any)."""
        for name, value in settings.items():
            if value is None:
                continue
            recorded = getattr(self, name)
            values = [value] if isinstance(value, str | int) else value
            if name in PREFIXES:
                found = any(recorded.startswith(str(one)) for one in values if one)
            else:
                found = recorded in values
            if not found:
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
            written_in = fields.get("format", FORMAT)
            if written_in != FORMAT:
                raise InputError(f"of format {written_in!r}, and this rbpkit reads {FORMAT}")
            return cls(**fields)
        except (ValueError, AttributeError, RecursionError) as error:
            way_out = "use the version of rbpkit that wrote it, or delete it and measure again"
            raise InputError(f"{where}: not a readable manifest ({error}); {way_out}") from error
