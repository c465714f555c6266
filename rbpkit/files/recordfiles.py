"""One job's files: their names, read back verified, and written so that nothing is half there.

`<model>.parquet` are the rows, `.json` the manifest (written last: it alone says "done"),
`.summary.npz` the summary. `store` says in which folder they lie.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from rbpkit.errors import InputError
from rbpkit.files.manifest import Manifest

COLUMNS = {"document": np.int32, "position": np.int32, "target": np.int32}
COLUMNS |= {"n_greater": np.int32, "n_equal": np.int32, "nll": np.float32}
PREDICTION = {"p_max": np.float32, "entropy": np.float32}  # from format 2 on
SUFFIXES = (".parquet", ".json", ".summary.npz")


def columns_of(manifest: Manifest) -> dict[str, type]:
    """Name -> dtype of the columns that records of this manifest's format have."""
    return COLUMNS if manifest.format == 1 else COLUMNS | PREDICTION


def schema_of(manifest: Manifest) -> pa.Schema:
    """The Parquet schema of these columns, none of them with missing values."""
    types = columns_of(manifest).items()
    return pa.schema([pa.field(name, pa.from_numpy_dtype(dtype), False) for name, dtype in types])


def with_suffix(stem: Path, suffix: str) -> Path:
    """The job's file of this suffix, one of SUFFIXES."""
    return stem.parent / (stem.name + suffix)  # Path.with_suffix would cut "Qwen2.5-3B"


def stem_of(path: str | Path) -> Path:
    """The common stem of a job's files, from any of them or from itself."""
    path = Path(path)
    for suffix in SUFFIXES:
        if path.name.endswith(suffix):
            return path.parent / path.name.removesuffix(suffix)
    return path


def _previous(stem: Path) -> Path:
    """Where the earlier records wait while the new ones and their manifest are renamed."""
    return stem.parent / f".{stem.name}.previous"


def damaged(path: Path, error: object) -> InputError:
    """The error to raise for a file that is not what was written, with the way out."""
    reason = " ".join(str(error).removeprefix(f"{path}: ").split())
    return InputError(f"{path}: damaged ({reason}); delete it and measure again")


def read_manifest(stem: Path) -> Manifest:
    """The manifest alone; InputError where it is missing, unreadable or none of ours."""
    marker = with_suffix(stem, ".json")
    try:
        data = marker.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{marker}: no such manifest, so these records are not done") from None
    except OSError as error:
        raise InputError(f"{marker}: cannot be read ({error.strerror})") from error
    return Manifest.from_json(data, marker)


def _embedded(manifest: Manifest) -> bytes:
    """The manifest as the Parquet file carries it: less what differs from run to run."""
    return dataclasses.replace(manifest, seconds=0.0, sha256="").to_json().encode()


def open_verified(stem: Path) -> tuple[Manifest, BinaryIO, Path]:
    """The manifest and, open, the Parquet file that it names by its sha256, and its path.

    InputError where no file has those bytes, or they are not what the manifest says.
    """
    parquet = with_suffix(stem, ".parquet")
    for wait in (0.05, 0.0):
        manifest = read_manifest(stem)
        # The second is there while a writer is between its two renames, or was killed there.
        for path in (parquet, _previous(stem)):
            try:
                file = path.open("rb")
            except FileNotFoundError:
                continue
            try:
                if hashlib.file_digest(file, "sha256").hexdigest() == manifest.sha256:
                    file.seek(0)
                    _check_file(file, path, manifest)
                    return manifest, file, path
            except BaseException:
                file.close()
                raise
            file.close()
        time.sleep(wait)
    if not parquet.exists():
        raise InputError(f"{parquet}: missing, though its manifest is there; measure again")
    raise damaged(parquet, "its bytes are not those that its manifest names")


def _check_file(file: BinaryIO, path: Path, manifest: Manifest) -> None:
    """InputError unless schema, row count and embedded manifest are what they must be."""
    try:
        footer = pq.read_metadata(file)
        schema = footer.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, error) from error
    file.seek(0)
    if not schema.equals(schema_of(manifest)):
        raise damaged(path, f"columns {schema.names} are not those of records")
    if footer.num_rows != manifest.tokens:
        raise damaged(path, f"{footer.num_rows} rows, but {manifest.tokens} in its manifest")
    if (schema.metadata or {}).get(b"rbpkit") != _embedded(manifest):
        raise damaged(path, "its manifest was edited: the copy inside the records differs")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Only one process writes in `folder`; a killed one's lock goes with it."""
    # A file, not the folder: NFS locks only what is open for writing. It stays, empty.
    with FileLock(folder / ".lock"):
        yield


def _settle(stem: Path) -> None:
    """Undo or finish a write that was cut short. Only under the lock."""
    for hidden in (".", ".."):  # of the job's files, and of the note of its last failure
        for leftover in stem.parent.glob(f"{hidden}{stem.name}.*.tmp"):
            leftover.unlink()
    previous, parquet = _previous(stem), with_suffix(stem, ".parquet")
    if previous.exists():
        named = read_manifest(stem).sha256 if with_suffix(stem, ".json").exists() else None
        with previous.open("rb") as file:
            earlier = hashlib.file_digest(file, "sha256").hexdigest() == named
        if earlier:  # the new manifest never came
            os.replace(previous, parquet)
        previous.unlink(missing_ok=True)  # renaming a hard link to its own file does nothing


def write_job(stem: Path, columns: dict[str, np.ndarray], manifest: Manifest) -> Manifest:
    """Records, then their manifest, which gets its sha256; only under the lock.

    On any failure the temporary files go and an earlier finished job stays.
    """
    parquet, marker = with_suffix(stem, ".parquet"), with_suffix(stem, ".json")
    _settle(stem)
    try:
        data = _parquet(columns, manifest)
        manifest = dataclasses.replace(manifest, sha256=hashlib.sha256(data).hexdigest())
        new = _write_temporary(parquet, data)
        new_marker = _write_temporary(marker, manifest.to_json().encode())
        if marker.exists() and parquet.exists():
            _link(parquet, _previous(stem))
        os.replace(new, parquet)
        os.replace(new_marker, marker)
    except BaseException:  # Ctrl-C too
        _settle(stem)
        if not marker.exists():
            parquet.unlink(missing_ok=True)
        raise
    _sync_folder(stem.parent)
    _settle(stem)
    return manifest


def write_beside(path: Path, data: bytes) -> None:
    """`data` to `path`, a finished job's; only under the lock.

    A failure leaves no temporary file, and what `path` held.
    """
    try:
        os.replace(_write_temporary(path, data), path)
    except BaseException:
        _settle(stem_of(path))
        raise
    _sync_folder(path.parent)


def _parquet(columns: dict[str, np.ndarray], manifest: Manifest) -> bytes:
    """The Parquet file of the records, decoded again and compared with them."""
    table = pa.table(
        columns, schema=schema_of(manifest).with_metadata({"rbpkit": _embedded(manifest)})
    )
    # Neighbouring rows differ little in these two, and not at all alike in the others.
    encoding = {"document": "DELTA_BINARY_PACKED", "position": "DELTA_BINARY_PACKED"}
    buffer = io.BytesIO()
    pq.write_table(
        table, buffer, compression="zstd", use_dictionary=["target", "n_greater", "n_equal"],
        column_encoding=encoding, write_page_checksum=True,
    )  # fmt: skip
    data = buffer.getvalue()
    if not pq.read_table(pa.BufferReader(data), page_checksum_verification=True).equals(table):
        raise OSError("records do not survive their own file format; is the memory failing?")
    return data


def _write_temporary(path: Path, data: bytes) -> Path:
    """`data` to a temporary file beside `path`, synced, read again and compared; its path."""
    new = _temporary(path)
    with new.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if new.read_bytes() != data:
        raise OSError(f"{path}: what was read back is not what was written; is the disk failing?")
    return new


def _temporary(path: Path) -> Path:
    return path.parent / f".{path.name}.{secrets.token_hex(4)}.tmp"


def _link(path: Path, other: Path) -> None:
    try:
        os.link(path, other)
    except OSError:  # a file system without hard links
        shutil.copy2(path, other)


def _sync_folder(folder: Path) -> None:
    """So that the names too survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
