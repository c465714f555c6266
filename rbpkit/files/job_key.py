"""What tells jobs apart: the key, and the settings that jobs of a folder are chosen by.

Apart from `manifest`, so that the command line, which has an option for each setting, starts
without pydantic.
"""

from __future__ import annotations

from typing import NamedTuple


class JobKey(NamedTuple):
    """What tells jobs apart. Two jobs with one key give the same numbers, except for last bits.

    Versions, device, threads and batch size can change last bits: they are recorded, and are not
    in the key.
    """

    model: str
    revision: str
    corpus: str
    fingerprint: str
    documents: int
    seed: int
    max_length: int
    stride: int
    dtype: str


SETTINGS = ("family", *JobKey._fields)  # what readers of a folder can choose jobs by
PREFIXES = ("revision", "fingerprint")  # hashes, of which the first digits are enough
