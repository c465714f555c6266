"""A folder of records: the files of each job, read back verified, never half written.

`<corpus>/<model>.parquet` are the rows, `.json` the manifest (written last: it alone says "done"),
`.summary.npz` the summary.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from rbpkit.errors import InputError
from rbpkit.files.columns import schema_of
from rbpkit.files.manifest import Manifest
from rbpkit.files.whole import sync_folder, write_temporary

SUFFIXES = (".parquet", ".json", ".summary.npz")


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
        new = write_temporary(parquet, data)
        new_marker = write_temporary(marker, manifest.to_json().encode())
        if marker.exists() and parquet.exists():
            _link(parquet, _previous(stem))
        os.replace(new, parquet)
        os.replace(new_marker, marker)
    except BaseException:  # Ctrl-C too
        _settle(stem)
        if not marker.exists():
            parquet.unlink(missing_ok=True)
        raise
    sync_folder(stem.parent)
    _settle(stem)
    return manifest


def write_beside(path: Path, data: bytes) -> None:
    """`data` to `path`, a finished job's; only under the lock.

    A failure leaves no temporary file, and what `path` held.
    """
    try:
        os.replace(write_temporary(path, data), path)
    except BaseException:
        _settle(stem_of(path))
        raise
    sync_folder(path.parent)


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


def _link(path: Path, other: Path) -> None:
    try:
        os.link(path, other)
    except OSError:  # a file system without hard links
        shutil.copy2(path, other)


# -- a folder of records ----------------------------------------------------------------------


@dataclass(frozen=True)
class RecordFile:
    """A finished job on disk: `path` of its Parquet file, its manifest."""

    path: Path
    manifest: Manifest


def slug(name: str) -> str:
    """A model or corpus id as a file name; no two ids share one, none leaves its folder.

    "/" becomes "+", all but ASCII letters, digits and "-_.~" is percent-encoded, and so is a
    leading ".". An id too long for a file name keeps its head and gets a hash.
    """
    text = quote(name, safe="/", errors="surrogatepass").replace("/", "+")
    text = "%2E" + text[1:] if text.startswith(".") else text
    if len(text) > 160:  # 255 less suffixes and what a temporary name adds
        # "%~" is in no other name
        text = f"{text[:120]}%~{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    if not text:
        raise InputError("a model or corpus without a name cannot be written")
    return text


def record_stem(directory: str | Path, manifest: Manifest) -> Path:
    """Where the job's files lie: `<directory>/<corpus>/<model>`, less the suffix."""
    return Path(directory) / slug(manifest.corpus) / slug(manifest.model)


def find_done(directory: str | Path, manifest: Manifest) -> RecordFile | None:
    """The finished job with `manifest`'s key, its bytes verified; None if there is none.

    `manifest` is that of a job yet to run: tokens, seconds and sha256 do not matter.
    InputError when there is one and it is damaged.
    """
    stem = record_stem(directory, manifest)
    if not all(with_suffix(stem, suffix).exists() for suffix in SUFFIXES[:2]):
        return None
    if read_manifest(stem).key() != manifest.key():
        return None
    found, file, path = open_verified(stem)
    file.close()
    return RecordFile(path, found) if found.key() == manifest.key() else None


def find_stale(directory: str | Path, manifest: Manifest) -> dict[str, tuple]:
    """Why a finished job of this model and corpus is another: setting -> (there, asked for).

    Empty when there is none, or when it has `manifest`'s key. `write_records` replaces it.
    """
    stem = record_stem(directory, manifest)
    if not all(with_suffix(stem, suffix).exists() for suffix in SUFFIXES[:2]):
        return {}
    return read_manifest(stem).differences(manifest)


def iter_manifests(directory: str | Path) -> Iterator[RecordFile]:
    """The finished jobs under `directory`, sorted by path; the Parquet bytes are not read.

    A manifest whose Parquet file is gone is no finished job. InputError for a folder that is
    not there and for a damaged manifest.
    """
    if not Path(directory).is_dir():
        raise InputError(f"{directory}: no such folder of records")
    for marker in sorted(Path(directory).rglob("*.json")):
        stem = stem_of(marker)
        parquet = with_suffix(stem, ".parquet")
        if parquet.exists() and not marker.name.startswith("."):
            yield RecordFile(parquet, read_manifest(stem))
