"""What a job was: the model, the text, the protocol and the versions. One JSON file a job."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import operator
import re
from dataclasses import dataclass

from rbpkit.errors import InputError

FORMAT = 2  # of the record files, their manifests and summaries, together
READS = (1, 2)  # 1 had neither p_max nor entropy

_COUNTS = {"S": 1, "V": 1, "documents": 1, "skipped_documents": 0, "max_length": 1}
_COUNTS |= {"threads": 1, "batch_tokens": 1, "seed": 0, "tokens": 0, "format": 1}  # least values
_MOST_V = 2**24 - 1  # as many as `ranking` counts
_NAMES = ("model", "corpus", "fingerprint", "dtype", "device")  # never empty


@dataclass(frozen=True)
class Manifest:
    """What was measured and with what; written last, so its presence says "done".

    `S`: non-embedding parameters; `V`: rows of the output matrix; `fingerprint`: of the text;
    `documents`: those the protocol took, the `skipped_documents` (one token, nothing to score)
    among them; `tokens`: scored; `seconds`: wall time; `sha256`: of the Parquet file, filled in
    when it is written; `format`: of the file. There is no tie rule here: both counts are stored.
    Raises InputError for a field of the wrong kind.
    """

    model: str
    revision: str
    family: str
    S: int
    V: int
    corpus: str
    fingerprint: str
    documents: int
    max_length: int
    dtype: str
    device: str
    threads: int
    batch_tokens: int
    seed: int
    versions: dict[str, str]  # rbpkit, torch, transformers, tokenizers, python; ranks: what counted
    skipped_documents: int = 0
    tokens: int = 0
    seconds: float = 0.0
    sha256: str = ""
    format: int = FORMAT

    def __post_init__(self) -> None:
        for name in (*_NAMES, "revision", "family", "sha256"):
            value = getattr(self, name)
            if not _is_text(value) or (name in _NAMES and not value):
                raise InputError(f"manifest: {name} must be a text, got {value!r}")
        for name, least in _COUNTS.items():
            value = getattr(self, name)
            try:
                whole = operator.index(value)  # numpy's integers too: JSON does not know them
            except TypeError:
                raise InputError(f"manifest: {name} must be an integer, got {value!r}") from None
            if isinstance(value, bool) or whole < least:
                raise InputError(f"manifest: {name} must be at least {least}, got {value!r}")
            object.__setattr__(self, name, whole)
        if self.V > _MOST_V:
            raise InputError(f"manifest: V must be at most {_MOST_V}, got {self.V}")
        if not isinstance(self.seconds, int | float) or not 0 <= self.seconds < math.inf:
            raise InputError(f"manifest: seconds must be a time, got {self.seconds!r}")
        texts = isinstance(self.versions, dict) and all(
            _is_text(text) for item in self.versions.items() for text in item
        )
        if not texts or not {"torch", "transformers", "tokenizers"} <= set(self.versions):
            raise InputError("manifest: versions must name torch, transformers and tokenizers")

    def settings(self) -> dict[str, str | int]:
        """All that can change the numbers, flat. S and V follow from model and revision."""
        names = ("model", "revision", "corpus", "fingerprint", "documents", "seed", "max_length")
        names += ("dtype", "batch_tokens", "threads", "format")
        kind = re.split(r"[:\s(]", self.device, maxsplit=1)[0]  # "cuda:0" and "cuda:1" are one
        libraries = {name: self.versions[name] for name in ("torch", "transformers", "tokenizers")}
        libraries["ranks"] = self.versions.get("ranks", "torch")  # all there was at first
        return {name: getattr(self, name) for name in names} | {"device": kind} | libraries

    def key(self) -> str:
        """sha256 (hex) over `settings()`: jobs with one key give one set of numbers."""
        return hashlib.sha256(json.dumps(self.settings(), sort_keys=True).encode()).hexdigest()

    def differences(self, other: Manifest) -> dict[str, tuple[str | int, str | int]]:
        """The settings that differ: name -> (here, in `other`). Empty when the keys agree."""
        mine, theirs = self.settings(), other.settings()
        return {name: (mine[name], theirs[name]) for name in mine if mine[name] != theirs[name]}

    def to_json(self) -> str:
        """All fields as JSON text, keys sorted: what the `.json` file holds, `seconds` in s."""
        return json.dumps(dataclasses.asdict(self), indent=1, sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes, where: object = "manifest") -> Manifest:
        """Raises InputError that begins with `where` for anything but a manifest of our format."""
        way_out = "delete it and measure again"
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: not a readable manifest ({error}); {way_out}") from error
        expected = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(fields, dict) or "format" not in fields:
            raise InputError(f"{where}: not a manifest of rbpkit; {way_out}")
        if fields["format"] not in READS:
            raise InputError(
                f"{where}: format {fields['format']!r}, but this rbpkit reads {READS}; "
                f"use the version that wrote it, or {way_out}"
            )
        if set(fields) != expected:
            odd = ", ".join(sorted(set(fields) ^ expected))
            raise InputError(f"{where}: fields missing or unknown: {odd}; {way_out}")
        try:
            return cls(**fields)
        except InputError as error:
            raise InputError(f"{where}: {error}; {way_out}") from error


def _is_text(value: object) -> bool:
    """Whether it is a text that a file and a table can hold: half a surrogate pair is none."""
    return isinstance(value, str) and not re.search("[\ud800-\udfff]", value)
