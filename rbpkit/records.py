"""Records: one row a scored token, measured once; their files, and when a job is done.

A folder of records holds, for each corpus and model, `<corpus>/<model>.parquet` (the rows),
`.json` (the manifest, written last: it alone says "done") and `.summary.npz` (the summary, made
from finished records and made anew from them when it is missing).
"""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import math
import os
import secrets
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

from rbpkit.errors import InputError
from rbpkit.summary import (
    Histogram,
    Manifest,
    Summary,
    SummaryBuilder,
    check_k,
    document_index,
    window_maxima,
)

__all__ = [
    "Manifest", "RecordFile", "Records", "Summary", "find_done", "find_stale", "iter_manifests",
    "load_summaries", "record_stem", "slug", "summarise", "write_records",
]  # fmt: skip

COLUMNS = {"document": np.int32, "position": np.int32, "target": np.int32}
COLUMNS |= {"n_greater": np.int32, "n_equal": np.int32, "nll": np.float32}
SCHEMA = pa.schema([pa.field(name, pa.from_numpy_dtype(t), False) for name, t in COLUMNS.items()])
SUFFIXES = (".parquet", ".json", ".summary.npz")
# nll >= ln R is exact for exact arithmetic: R terms of the sum are at least exp(z_t). In float32,
# nll = logsumexp(z) - z_t errs by half a last place of |logsumexp(z)| for every chunk of V that is
# merged: 2^-13 is that for logits of up to 1024 and four merges, or of up to 128 and thirty-two.
# The result's own rounding, and the exponentials', are relative: 2^-20 of nll, eight last places.
NLL_TOLERANCE = 2.0**-13
NLL_TOLERANCE_RELATIVE = 2.0**-20
PIECE = 1 << 20  # tokens that a summary takes at a time


@dataclass(frozen=True, eq=False)
class Records:
    """What one model made of one corpus: (T,) a column, in the order of the protocol.

    `document` (from 0), `position` of the scored token in it (from 1), `target` its id,
    `n_greater` and `n_equal` how many other tokens had a greater and the same logit: int32;
    `nll` float32, nats. Raises InputError, saying which row, for columns that no model can give.
    """

    document: np.ndarray
    position: np.ndarray
    target: np.ndarray
    n_greater: np.ndarray
    n_equal: np.ndarray
    nll: np.ndarray
    manifest: Manifest

    def __post_init__(self) -> None:
        name = f"records of {self.manifest.model} on {self.manifest.corpus}"
        for column, dtype in COLUMNS.items():
            array = getattr(self, column)
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
                raise InputError(f"{name}: {column} must be a flat array of {np.dtype(dtype)}")
            frozen = array.view()
            frozen.flags.writeable = False
            object.__setattr__(self, column, frozen)
        sizes = {column: getattr(self, column).size for column in COLUMNS}
        if set(sizes.values()) != {self.manifest.tokens} or not self.manifest.tokens:
            raise InputError(f"{name}: {self.manifest.tokens} tokens in the manifest, but {sizes}")
        check_columns(self.columns(), self.manifest, name)

    def columns(self) -> dict[str, np.ndarray]:
        return {column: getattr(self, column) for column in COLUMNS}

    @property
    def tokens(self) -> int:
        """T, the scored tokens."""
        return self.nll.size

    def rank(self, ties: str = "pessimistic") -> np.ndarray:
        """R, (T,) int32, from 1. Pessimistic is Eq. 3: tied tokens stand before the target."""
        if ties == "pessimistic":
            return self.n_greater + self.n_equal + 1
        if ties == "optimistic":
            return self.n_greater + 1
        raise InputError(f"ties must be 'pessimistic' or 'optimistic', got {ties!r}")

    def rbp(self, k: int | np.ndarray, ties: str = "pessimistic") -> float | np.ndarray:
        """RBP_k = Pr(R <= k), Eq. 4: float for a scalar k, else an array. InputError if k < 1."""
        return Histogram.of(np.bincount(self.rank(ties))).share(k)

    def ce(self) -> float:
        """Mean negative log-likelihood, nats, summed in float64 document by document."""
        _, index = document_index(self.document)
        return math.fsum(np.bincount(index, weights=self.nll)) / self.tokens

    def success(self, N: int, k: int | np.ndarray) -> float | np.ndarray:
        """p_{N,k}, Section 5.1: share of windows of N scored tokens with every R <= k.

        Windows slide by one token, lie inside one document and have adjacent positions.
        InputError for N < 1, k < 1 and where no document has such a window.
        """
        if isinstance(N, bool) or not isinstance(N, int | np.integer) or N < 1:
            raise InputError(f"N must be a whole number of at least 1, got {N!r}")
        check_k(k)
        ((_, largest),) = window_maxima(self.rank(), self.document, self.position, (N,))
        if not largest.size:
            name = f"{self.manifest.model} on {self.manifest.corpus}"
            raise InputError(f"no document of {name} has {N} consecutive scored tokens")
        return Histogram.of(np.bincount(largest)).share(k)

    def summary(self) -> Summary:
        """All this as a `Summary`: the same integers, at every k and for N in WINDOWS."""
        builder = SummaryBuilder(self.manifest.V)
        starts = np.flatnonzero(np.diff(self.document, prepend=-1))
        cuts = starts[np.unique(starts // PIECE, return_index=True)[1]]
        for start, end in zip(cuts, [*cuts[1:], self.tokens], strict=True):
            _add(builder, {name: array[start:end] for name, array in self.columns().items()})
        return builder.finish(self.manifest)

    @classmethod
    def load(cls, path: str | Path) -> Records:
        """The records at `path`: the .parquet, its .json, or their common stem.

        Everything is verified: manifest, sha256, page checksums, schema, row count, values.
        InputError names the file and the way out.
        """
        manifest, file, name = _open_verified(_stem(path))
        with file:
            try:
                table = pq.read_table(file, page_checksum_verification=True)
            except (pa.ArrowException, OSError) as error:
                raise _damaged(name, error) from error
        try:
            columns = {column: table[column].to_numpy() for column in COLUMNS}
            return cls(**columns, manifest=manifest)
        except InputError as error:
            raise _damaged(name, error) from error


@dataclass(frozen=True)
class RecordFile:
    """A finished job on disk: `path` of its Parquet file and its manifest."""

    path: Path
    manifest: Manifest


def check_columns(columns: dict[str, np.ndarray], manifest: Manifest, name: object) -> None:
    """InputError that begins with `name` and gives the first row that cannot be."""
    document, position, target, n_greater, n_equal, nll = (columns[c] for c in COLUMNS)
    V = manifest.V
    same = np.diff(document, prepend=-1) == 0
    rank = n_greater.astype(np.int64) + n_equal + 1
    faults = {
        f"document outside 0 to {manifest.documents - 1}": (document < 0)
        | (document >= manifest.documents),
        "documents out of order": np.diff(document, prepend=document[:1]) < 0,
        "position below 1": position < 1,
        "position does not rise": same & (np.diff(position, prepend=0) <= 0),
        f"target outside 0 to V - 1 = {V - 1}": (target < 0) | (target >= V),
        "negative count": (n_greater < 0) | (n_equal < 0),
        f"rank above V = {V}": rank > V,
        "nll not a finite number >= 0": ~(np.isfinite(nll) & (nll >= 0)),
        "nll below ln R (rank and probability contradict each other)": (
            nll.astype(np.float64) * (1 + NLL_TOLERANCE_RELATIVE) + NLL_TOLERANCE
            < np.log(np.maximum(rank, 1))
        ),
    }
    for fault, where in faults.items():
        if where.any():
            row = int(where.argmax())
            values = ", ".join(f"{column} {array[row]}" for column, array in columns.items())
            raise InputError(f"{name}: {fault} at row {row} ({values})")


def slug(name: str) -> str:
    """A model or corpus id as a file name; no two ids share one, none leaves its folder.

    "/" becomes "+", all but ASCII letters, digits and "-_.~" is percent-encoded, and so is a
    leading ".". An id too long for a file name keeps its head and gets a hash. (Where the file
    system does not tell upper from lower case, neither do the names; the key still does.)
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


def write_records(directory: str | Path, records: Records) -> RecordFile:
    """Write records, manifest and summary into `directory`, so that nothing is half there.

    Each file goes to a temporary name, is synced, read again and compared, then renamed; the
    manifest after the records. On any failure the temporary files go and an earlier finished
    result stays; after a kill it is still what `Records.load` gives. Raises OSError (disk full,
    no permission).
    """
    stem = record_stem(directory, records.manifest)
    stem.parent.mkdir(parents=True, exist_ok=True)
    parquet, marker, summary_path = (_with(stem, suffix) for suffix in SUFFIXES)
    with _locked(stem.parent):
        _settle(stem)
        try:
            new = _write_parquet(parquet, records)
            with new.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            manifest = dataclasses.replace(records.manifest, sha256=digest)
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
        finished = dataclasses.replace(records, manifest=manifest)
        _write_summary(summary_path, finished.summary())
    return RecordFile(parquet, manifest)


def find_done(directory: str | Path, manifest: Manifest) -> RecordFile | None:
    """The finished job with `manifest`'s key, its bytes verified; None if there is none.

    `manifest` is that of a job yet to run: tokens, seconds and sha256 do not matter.
    InputError when there is one and it is damaged.
    """
    stem = record_stem(directory, manifest)
    if not all(_with(stem, suffix).exists() for suffix in SUFFIXES[:2]):
        return None
    if _read_manifest(stem).key() != manifest.key():
        return None
    found, file, path = _open_verified(stem)
    file.close()
    return RecordFile(path, found) if found.key() == manifest.key() else None


def find_stale(directory: str | Path, manifest: Manifest) -> dict[str, tuple]:
    """Why a finished job of this model and corpus is another: setting -> (there, asked for).

    Empty when there is none, or when it has `manifest`'s key. `write_records` replaces it.
    """
    stem = record_stem(directory, manifest)
    if not all(_with(stem, suffix).exists() for suffix in SUFFIXES[:2]):
        return {}
    return _read_manifest(stem).differences(manifest)


def iter_manifests(directory: str | Path) -> Iterator[RecordFile]:
    """The finished jobs under `directory`, sorted by path; the Parquet bytes are not read.

    A manifest whose Parquet file is gone is no finished job. InputError for a folder that is
    not there and for a damaged manifest.
    """
    if not Path(directory).is_dir():
        raise InputError(f"{directory}: no such folder of records")
    for marker in sorted(Path(directory).rglob("*.json")):
        stem = _stem(marker)
        parquet = _with(stem, ".parquet")
        if parquet.exists() and not marker.name.startswith("."):
            yield RecordFile(parquet, _read_manifest(stem))


def load_summaries(directory: str | Path) -> list[Summary]:
    """All summaries under `directory`, sorted by path.

    Read from .summary.npz (which stands alone where the records are not shipped); derived from
    the records where that file is missing or of an earlier measurement. InputError for a damaged
    file, and when there is nothing at all.
    """
    jobs = {_stem(job.path): job.manifest for job in iter_manifests(directory)}
    stored = {_stem(path) for path in Path(directory).rglob("*.summary.npz")}
    stored = {stem for stem in stored if not stem.name.startswith(".")}
    if not jobs and not stored:
        raise InputError(f"{directory}: no records or summaries in this folder")
    summaries = []
    for stem in sorted(stored | set(jobs)):
        summary = _read_summary(_with(stem, ".summary.npz")) if stem in stored else None
        if summary is None or summary.manifest != jobs.get(stem, summary.manifest):
            summary = summarise(_with(stem, ".parquet"))
        summaries.append(summary)
    return summaries


def summarise(path: str | Path, write: bool = False) -> Summary:
    """The summary of the records at `path`, read piece by piece: memory does not grow with T.

    Verifies what `Records.load` verifies. `write`: also to the .summary.npz beside it.
    """
    stem = _stem(path)
    manifest, file, name = _open_verified(stem)
    builder, rest, last = SummaryBuilder(manifest.V), SCHEMA.empty_table(), -1
    with file:
        try:
            parquet = pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=False)
            for batch in parquet.iter_batches(batch_size=PIECE, columns=list(COLUMNS)):
                rest = pa.concat_tables([rest, pa.Table.from_batches([batch])])
                document = rest["document"].to_numpy()
                start = int(np.argmax(document == document[-1]))  # its end is not yet seen
                if start:
                    last = _add_table(builder, rest.slice(0, start), manifest, name, last)
                    rest = rest.slice(start)
            if rest.num_rows:
                _add_table(builder, rest, manifest, name, last)
            summary = builder.finish(manifest)
        except (pa.ArrowException, OSError, InputError) as error:
            raise _damaged(name, error) from error
    if write:
        with _locked(stem.parent):
            _write_summary(_with(stem, ".summary.npz"), summary)
    return summary


def _add_table(
    builder: SummaryBuilder, table: pa.Table, manifest: Manifest, name: Path, last: int
) -> int:
    """Check and add whole documents that come after document `last`; the new last."""
    columns = {column: table[column].to_numpy() for column in COLUMNS}
    check_columns(columns, manifest, name)
    if columns["document"][0] <= last:
        raise InputError(f"{name}: documents out of order after document {last}")
    _add(builder, columns)
    return int(columns["document"][-1])


def _add(builder: SummaryBuilder, columns: dict[str, np.ndarray]) -> None:
    builder.add(**{name: columns[name] for name in COLUMNS if name != "target"})


def _with(stem: Path, suffix: str) -> Path:
    return stem.parent / (stem.name + suffix)  # with_suffix would cut "Qwen2.5-3B"


def _stem(path: str | Path) -> Path:
    path = Path(path)
    for suffix in SUFFIXES:
        if path.name.endswith(suffix):
            return path.parent / path.name.removesuffix(suffix)
    return path


def _previous(stem: Path) -> Path:
    """Where the earlier records wait while the new ones and their manifest are renamed."""
    return stem.parent / f".{stem.name}.previous"


def _damaged(path: Path, error: object) -> InputError:
    reason = " ".join(str(error).removeprefix(f"{path}: ").split())
    return InputError(f"{path}: damaged ({reason}); delete it and measure again")


def _read_manifest(stem: Path) -> Manifest:
    marker = _with(stem, ".json")
    try:
        data = marker.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{marker}: no such manifest, so these records are not done") from None
    except OSError as error:
        raise InputError(f"{marker}: cannot be read ({error.strerror})") from error
    return Manifest.from_json(data, marker)


def _read_summary(path: Path) -> Summary:
    try:
        return Summary.from_bytes(path.read_bytes(), path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def _embedded(manifest: Manifest) -> bytes:
    """The manifest as the Parquet file carries it: less what differs from run to run."""
    return dataclasses.replace(manifest, seconds=0.0, sha256="").to_json().encode()


def _open_verified(stem: Path) -> tuple[Manifest, BinaryIO, Path]:
    """The manifest and, open, the Parquet file that it names by its sha256, and its path."""
    parquet = _with(stem, ".parquet")
    for wait in (0.05, 0.0):
        manifest = _read_manifest(stem)
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
    raise _damaged(parquet, "its bytes are not those that its manifest names")


def _check_file(file: BinaryIO, path: Path, manifest: Manifest) -> None:
    """InputError unless schema, row count and embedded manifest are what they must be."""
    try:
        footer = pq.read_metadata(file)
        schema = footer.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error
    file.seek(0)
    if not schema.equals(SCHEMA):
        raise _damaged(path, f"columns {schema.names} are not those of records")
    if footer.num_rows != manifest.tokens:
        raise _damaged(path, f"{footer.num_rows} rows, but {manifest.tokens} in its manifest")
    if (schema.metadata or {}).get(b"rbpkit") != _embedded(manifest):
        raise _damaged(path, "its manifest was edited: the copy inside the records differs")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Only one process writes in `folder`; a killed one's lock goes with it."""
    # A file, not the folder: NFS locks only what is open for writing. It stays, empty.
    with (folder / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _settle(stem: Path) -> None:
    """Undo or finish a write that was cut short. Only under the lock."""
    for leftover in stem.parent.glob(f".{stem.name}.*.tmp"):
        leftover.unlink()
    previous, parquet = _previous(stem), _with(stem, ".parquet")
    if previous.exists():
        named = _read_manifest(stem).sha256 if _with(stem, ".json").exists() else None
        with previous.open("rb") as file:
            earlier = hashlib.file_digest(file, "sha256").hexdigest() == named
        if earlier:  # the new manifest never came
            os.replace(previous, parquet)
        previous.unlink(missing_ok=True)  # renaming a hard link to its own file does nothing


def _write_parquet(path: Path, records: Records) -> Path:
    """To a temporary file beside `path`, synced, read again and compared; its path."""
    schema = SCHEMA.with_metadata({"rbpkit": _embedded(records.manifest)})
    table = pa.table(records.columns(), schema=schema)
    new = _temporary(path)
    # Neighbouring rows differ little in these two, and not at all alike in the others.
    encoding = {"document": "DELTA_BINARY_PACKED", "position": "DELTA_BINARY_PACKED"}
    with new.open("xb") as file:
        pq.write_table(
            table, file, compression="zstd", use_dictionary=["target", "n_greater", "n_equal"],
            column_encoding=encoding, write_page_checksum=True,
        )  # fmt: skip
        file.flush()
        os.fsync(file.fileno())
    if not pq.read_table(new, page_checksum_verification=True).equals(table):
        raise OSError(f"{path}: what was read back is not what was written; is the disk failing?")
    return new


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


def _write_summary(path: Path, summary: Summary) -> None:
    """Under the lock; a failure leaves no temporary file and the earlier summary."""
    try:
        os.replace(_write_temporary(path, summary.to_bytes()), path)
    except BaseException:
        _settle(_stem(path))
        raise
    _sync_folder(path.parent)


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
