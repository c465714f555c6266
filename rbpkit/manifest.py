"""What a job was: its key, and the manifest with all else. It is in the metadata of the records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, ValidationError

from rbpkit.errors import InputError, faults_found

FORMAT: Final = 3  # of records, manifests and summaries, together


def checksum(manifest_text: bytes, arrays: Mapping[str, np.ndarray]) -> str:
    """sha256 (hex) over a manifest, and the name, type, shape and values of each array."""
    digest = hashlib.sha256(manifest_text)
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


_Name = Annotated[str, Field(min_length=1, max_length=1000)]


class JobKey(BaseModel):
    """What tells jobs apart. Two jobs with one key give the same numbers, except for last bits.

    model, revision: the name in the records; a commit of the hub, or "sha256:..." over its files.
    corpus, fingerprint: the id of the corpus, and the fingerprint of its text.
    documents: those that the protocol took, including those with nothing to score.
    seed: of the shuffle that picked the documents; 0 if nothing was shuffled.
    max_length: tokens at which documents were truncated, or of a window.
    stride: of overlapping windows; 0 if documents were truncated.
    dtype: of the forward passes.

    Versions, device and batch size can change last bits: they are recorded, and are not in the key.
    Raises InputError for a field of the wrong kind.
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
            raise InputError(f"manifest: {faults_found(error)}") from None

    def digest(self) -> str:
        """A short hash, in the names of the job's files: 8 hexadecimal digits."""
        values = [getattr(self, name) for name in KEY]
        return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:8]


KEY = tuple(JobKey.model_fields)
"""The settings that tell jobs apart."""


class Manifest(JobKey):
    """What was measured and with what.

    In addition to the key:
    - family: the models that it is fitted with. A label, which may be changed later.
    - S: non-embedding parameters.
    - V: rows of the output matrix.
    - max_bytes: at which texts were cut before they were tokenized; 0 if they were not. The
      fingerprint is of the text that was cut.
    - device, batch_tokens: of the forward passes.
    - versions: of rbpkit, torch, transformers, tokenizers and python; `ranks` names the program
      that counted. Notes on how the model was loaded are here, too.
    - skipped_documents: those with nothing to score (empty, one token, a prompt too long).
    - tokens: how many are scored, T.
    - scored_bytes: UTF-8 bytes of the text of the scored tokens; 0 if they are not known.
    - document_bytes: the same for each document that has some; empty if they are not known.
    - seconds: wall time.
    - targets: a digest of the scored tokens and of their places; "" if it is not known. Two
      tokenizers may cut a text into as many tokens, and models are compared on the same ones.
    - format: of the files.

    There is no tie rule here, as both counts are stored.
    """

    family: _Name
    S: PositiveInt
    V: PositiveInt
    max_bytes: NonNegativeInt = 0
    device: _Name
    batch_tokens: PositiveInt
    versions: dict[str, str]
    skipped_documents: NonNegativeInt = 0
    tokens: NonNegativeInt = 0
    scored_bytes: NonNegativeInt = 0
    document_bytes: list[NonNegativeInt] = []
    seconds: float = Field(default=0.0, ge=0)
    targets: str = ""
    format: Literal[3] = FORMAT

    @property
    def key(self) -> JobKey:
        """The job's key."""
        return JobKey(**self.model_dump(include=set(KEY)))

    def to_json(self) -> str:
        """The fields as JSON text, keys sorted."""
        return json.dumps(self.model_dump(), indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str | bytes, where: object = "manifest") -> Manifest:
        """Raises InputError that begins with `where` for anything but a manifest of our format."""
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError, RecursionError) as error:
            raise InputError(f"{where}: not a readable manifest ({error})") from error
