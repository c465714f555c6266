"""The .npz file of a summary: small, without pickle, the same bytes for the same arrays."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from rbpkit.errors import InputError

# All that a flipped byte in an .npz has raised.
_DAMAGE = (OSError, ValueError, LookupError, TypeError, EOFError, RuntimeError, MemoryError)
_DAMAGE += (SyntaxError, struct.error, zlib.error, zipfile.BadZipFile)


def pack(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The arrays as a compressed .npz; integers in the smallest type that holds them all."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{name: _narrow(array) for name, array in arrays.items()})
    return buffer.getvalue()


def unpack(data: bytes) -> dict[str, np.ndarray]:
    """What `pack` was given, integers still narrow; of damaged bytes, call in `refuse_damage`."""
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


@contextmanager
def refuse_damage(where: object) -> Iterator[None]:
    """Turn what damaged bytes raise in this block into an InputError that begins with `where`."""
    try:
        yield
    except _DAMAGE as error:
        if str(error).startswith(f"{where}: "):  # the manifest's own, such as a newer format
            raise
        raise InputError(
            f"{where}: damaged or not a summary ({error}); delete it, it is made anew "
            "from its records"
        ) from error


def _narrow(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "iu" or not array.size:
        return array
    ends = np.min_scalar_type(array.min()), np.min_scalar_type(array.max())
    return array.astype(np.result_type(*ends))
