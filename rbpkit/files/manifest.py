"""What a job was: its key, and the manifest with all else. One JSON file per job."""

from __future__ import annotations

import hashlib
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

FORMAT: Final = 2  # of record files, their manifests and summaries, together
LATER_FIELDS = ("folder", "scored_bytes")  # of manifests, which those of earlier versions lack
HASHES = ("revision", "fingerprint")  # of which the first digits are enough to choose by


def _writable(name: str) -> str:
    name.encode()  # a lone surrogate, which JSON may hold, is a ValueError
    return name


_Name = Annotated[str, Field(min_length=1), AfterValidator(_writable)]


class JobKey(BaseModel):
    """What tells jobs apart. Two jobs with one key give the same numbers, except for last bits.

    model, revision: the name in the records; a commit of the hub, or "sha256:..." over its files.
    corpus, fingerprint: the id of the corpus, and the fingerprint of its text.
    documents: those that the protocol took, including those with nothing to score.
    seed: of the shuffle that picked the documents; 0 if nothing was shuffled.
    max_length: tokens at which documents were truncated, or of a window.
    stride: of overlapping windows; 0 if documents were truncated.
    dtype: of the forward passes.

    Versions, device, threads and batch size can change last bits: they are recorded, and are not
    in the key. Raises InputError for a field of the wrong kind.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    model: _Name
    revision: str
    corpus: _Name
    fingerprint: _Name
    documents: PositiveInt
    seed: NonNegativeInt
    max_length: PositiveInt
    stride: NonNegativeInt = 0
    dtype: _Name

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"]))
            fault = f"{name}={first['input']!r}: {first['msg']}" if name else first["msg"]
            raise InputError(f"manifest: {fault}") from None

    def digest(self) -> str:
        """A short hash, in the names of the job's files: 8 hexadecimal digits."""
        values = [getattr(self, name) for name in JobKey.model_fields]
        return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:8]

    def setting(self, name: str) -> Any:
        """What `name`, one of `choosable`, was in this job."""
        return getattr(self, name, None)  # a key has no family


def beginnings(values: Sequence[str], least: int = 15) -> list[str]:
    """As many of the first letters of different values as tell them apart, at least so many."""
    length = least
    while len({value[:length] for value in values}) < len(values):
        length += 1
    return [value[:length] for value in values]


def choosable() -> tuple[str, ...]:
    """What readers of a folder can choose jobs by."""
    return ("family", *JobKey.model_fields)


class Manifest(JobKey):
    """What was measured and with what; written last, so its presence says "done".

    In addition to the key:
    - family: the models that it is fitted with.
    - S: non-embedding parameters.
    - V: rows of the output matrix.
    - device, threads, batch_tokens: of the forward passes.
    - versions: of rbpkit, torch, transformers, tokenizers and python; `ranks` names the program
      that counted. Notes on how the model was loaded are here, too.
    - skipped_documents: those with nothing to score (a single token).
    - tokens: how many are scored, T.
    - scored_bytes: UTF-8 bytes of the text of the scored tokens; 0 if an earlier version measured.
    - seconds: wall time.
    - sha256: of the Parquet file, filled in when it is written.
    - folder: the local folder that the model has its name from, as a whole path. Models of several
      folders may have one name, and readers tell them apart by it. "" if it has its name from
      elsewhere, or was measured by an earlier version.
    - format: of the files.

    There is no tie rule here, as both counts are stored.
    """

    family: Annotated[str, AfterValidator(_writable)]
    S: PositiveInt
    V: PositiveInt
    device: _Name
    threads: PositiveInt
    batch_tokens: PositiveInt
    versions: dict[str, str]
    skipped_documents: NonNegativeInt = 0
    tokens: NonNegativeInt = 0
    scored_bytes: NonNegativeInt = 0
    seconds: Annotated[float, Field(ge=0)] = 0.0
    sha256: str = ""
    folder: Annotated[str, AfterValidator(_writable)] = ""
    format: Literal[2] = FORMAT

    @property
    def key(self) -> JobKey:
        """The job's key."""
        beside = Manifest.model_fields.keys() - JobKey.model_fields.keys()
        return JobKey(**self.model_dump(exclude=beside))

    def has(self, settings: Mapping[str, set[str]]) -> bool:
        """Whether the job has these settings (name -> values in words, one of which is enough)."""
        for name, values in settings.items():
            recorded = self.setting(name)
            if not any(is_value(name, recorded, value) for value in values):
                return False
        return True

    def to_json(self, sealed: bool = False) -> str:
        """The fields as JSON text, keys sorted; sealed, with a checksum, it is the `.json` file.

        Fields that earlier versions did not have are left out if they are empty.
        """
        fields = self.model_dump()
        for name in LATER_FIELDS:
            if not fields[name]:
                del fields[name]
        text = json.dumps(fields, indent=1, sort_keys=True)
        if not sealed:
            return text
        fields["checksum"] = hashlib.sha256(text.encode()).hexdigest()
        return json.dumps(fields, indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str | bytes, where: object = "manifest") -> Manifest:
        """Raises InputError that begins with `where` for anything but a manifest of our format.

        Also for one that was changed since it was sealed. Those of earlier versions are not.
        """
        try:
            fields = json.loads(text)
            written_in = fields.get("format", FORMAT)
            if written_in != FORMAT:
                raise InputError(f"of format {written_in!r}, and this rbpkit reads {FORMAT}")
            checksum = fields.pop("checksum", None)
            manifest = cls(**fields)
            content = hashlib.sha256(manifest.to_json().encode()).hexdigest()
            if checksum not in (None, content):
                raise InputError("changed since it was written: its checksum differs")
            return manifest
        except (ValueError, AttributeError, RecursionError) as error:
            way_out = "use the version of rbpkit that wrote it, or delete it and measure again"
            raise InputError(f"{where}: not a readable manifest ({error}); {way_out}") from error


def is_value(setting: str, recorded: object, asked: str) -> bool:
    """Whether a setting was recorded with the value asked for; the first digits of a hash do."""
    if setting in HASHES:
        return bool(asked) and str(recorded).startswith(asked)
    return str(recorded) == asked
