"""A folder of records: which jobs are finished in it, and their summaries.

It holds, for each corpus and model, `<corpus>/<model>.parquet` (the rows), `.json` (the manifest,
written last: it alone says "done") and `.summary.npz` (the summary, made from finished records
and made anew from them when it is missing).
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rbpkit.errors import InputError
from rbpkit.manifest import Manifest
from rbpkit.recordfiles import (
    COLUMNS,
    SCHEMA,
    SUFFIXES,
    damaged,
    locked,
    open_verified,
    read_manifest,
    stem_of,
    with_suffix,
    write_beside,
    write_job,
)
from rbpkit.records import PIECE, Records, check_columns
from rbpkit.summary import Summary, SummaryBuilder


@dataclass(frozen=True)
class RecordFile:
    """A finished job on disk: `path` of its Parquet file and its manifest."""

    path: Path
    manifest: Manifest


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
    with locked(stem.parent):
        manifest = write_job(stem, records.columns(), records.manifest)
        finished = dataclasses.replace(records, manifest=manifest)
        write_beside(with_suffix(stem, ".summary.npz"), finished.summary().to_bytes())
    return RecordFile(with_suffix(stem, ".parquet"), manifest)


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


def load_summaries(directory: str | Path) -> list[Summary]:
    """All summaries under `directory`, sorted by path.

    Read from .summary.npz (which stands alone where the records are not shipped); derived from
    the records where that file is missing or of an earlier measurement. InputError for a damaged
    file, for a manifest and summary whose records are gone, and when there is nothing at all.
    """
    jobs = {stem_of(job.path): job.manifest for job in iter_manifests(directory)}
    stored = {stem_of(path) for path in Path(directory).rglob("*.summary.npz")}
    stored = {stem for stem in stored if not stem.name.startswith(".")}
    if not jobs and not stored:
        raise InputError(f"{directory}: no records or summaries in this folder")
    summaries = []
    for stem in sorted(stored | set(jobs)):
        if stem not in jobs and with_suffix(stem, ".json").exists():
            raise InputError(
                f"{with_suffix(stem, '.parquet')}: missing, though its manifest and summary are"
                " there; measure again, or delete these two as well"
            )
        summary = _read_summary(with_suffix(stem, ".summary.npz")) if stem in stored else None
        if summary is None or summary.manifest != jobs.get(stem, summary.manifest):
            summary = summarise(with_suffix(stem, ".parquet"))
        summaries.append(summary)
    return summaries


def summarise(path: str | Path, write: bool = False) -> Summary:
    """The summary of the records at `path`, read piece by piece: memory does not grow with T.

    Verifies what `Records.load` verifies. `write`: also to the .summary.npz beside it.
    """
    stem = stem_of(path)
    manifest, file, name = open_verified(stem)
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
            raise damaged(name, error) from error
    if write:
        with locked(stem.parent):
            write_beside(with_suffix(stem, ".summary.npz"), summary.to_bytes())
    return summary


def _add_table(
    builder: SummaryBuilder, table: pa.Table, manifest: Manifest, name: Path, last: int
) -> int:
    """Check and add whole documents that come after document `last`; the new last."""
    columns = {column: table[column].to_numpy() for column in COLUMNS}
    check_columns(columns, manifest, name)
    if columns["document"][0] <= last:
        raise InputError(f"{name}: documents out of order after document {last}")
    builder.add(columns)
    return int(columns["document"][-1])


def _read_summary(path: Path) -> Summary:
    try:
        return Summary.from_bytes(path.read_bytes(), path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
