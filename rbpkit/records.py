"""Records: one row a scored token, measured once; RBP_k, CE and windows from them, and summaries.

`files.recordfiles` says how they lie in a folder; a summary is made from finished records, and
made anew from them when it is missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rbpkit.errors import InputError, check_ties
from rbpkit.files.columns import check_columns, columns_of, schema_of
from rbpkit.files.manifest import Manifest
from rbpkit.files.recordfiles import (
    RecordFile,
    damaged,
    iter_manifests,
    locked,
    open_verified,
    record_stem,
    stem_of,
    with_suffix,
    write_beside,
    write_job,
)
from rbpkit.summary import (
    Histogram,
    Summary,
    SummaryBuilder,
    check_k,
    document_index,
    window_maxima,
)

PIECE = 1 << 20  # tokens that a summary takes at a time


@dataclass(frozen=True, eq=False)
class Records:
    """The ranks and losses of one model on one corpus: (T,) a column, in the protocol's order.

    `document` (from 0), `position` of the scored token in it (from 1), `target` its id,
    `n_greater` and `n_equal` how many other tokens had a greater and the same logit: int32;
    `nll` float32, nats. Of the prediction, whatever the target: `p_max`, its largest probability,
    and `entropy`, -sum_v p(v) log p(v) in nats, float32; None in records of format 1.
    Raises InputError, saying which row, for columns that no model can give.
    """

    document: np.ndarray
    position: np.ndarray
    target: np.ndarray
    n_greater: np.ndarray
    n_equal: np.ndarray
    nll: np.ndarray
    manifest: Manifest
    p_max: np.ndarray | None = None
    entropy: np.ndarray | None = None

    def __post_init__(self) -> None:
        name = f"records of {self.manifest.model} on {self.manifest.corpus}"
        expected = columns_of(self.manifest)
        for column, dtype in expected.items():
            array = getattr(self, column)
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
                raise InputError(f"{name}: {column} must be a flat array of {np.dtype(dtype)}")
            frozen = array.view()
            frozen.flags.writeable = False
            object.__setattr__(self, column, frozen)
        sizes = {column: getattr(self, column).size for column in expected}
        if set(sizes.values()) != {self.manifest.tokens} or not self.manifest.tokens:
            raise InputError(f"{name}: {self.manifest.tokens} tokens in the manifest, but {sizes}")
        check_columns(self.columns(), self.manifest, name)

    def columns(self) -> dict[str, np.ndarray]:
        """The columns that the format has, by name: (T,) each, read-only."""
        return {column: getattr(self, column) for column in columns_of(self.manifest)}

    @property
    def tokens(self) -> int:
        """T, the scored tokens."""
        return self.nll.size

    def rank(self, ties: str = "pessimistic") -> np.ndarray:
        """R, (T,) int32, from 1. Pessimistic is Eq. 3: tied tokens stand before the target."""
        check_ties(ties)
        if ties == "optimistic":
            return self.n_greater + 1
        return self.n_greater + self.n_equal + 1

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
        return summary_of_columns(self.columns(), self.manifest)

    @classmethod
    def load(cls, path: str | Path) -> Records:
        """The records at `path`: the .parquet, its .json, or their common stem.

        Everything is verified: manifest, sha256, page checksums, schema, row count, values.
        InputError names the file and the way out.
        """
        manifest, file, name = open_verified(stem_of(path))
        with file:
            try:
                table = pq.read_table(file, page_checksum_verification=True)
            except (pa.ArrowException, OSError) as error:
                raise damaged(name, error) from error
        try:
            columns = {column: table[column].to_numpy() for column in columns_of(manifest)}
            return cls(**columns, manifest=manifest)
        except InputError as error:
            raise damaged(name, error) from error


def summary_of_columns(columns: dict[str, np.ndarray], manifest: Manifest) -> Summary:
    """The summary of checked columns, (T,) each, in the order of the protocol."""
    builder = SummaryBuilder(manifest.V)
    starts = np.flatnonzero(np.diff(columns["document"], prepend=-1))
    cuts = starts[np.unique(starts // PIECE, return_index=True)[1]]
    for start, end in zip(cuts, [*cuts[1:], manifest.tokens], strict=True):
        builder.add({name: array[start:end] for name, array in columns.items()})
    return builder.finish(manifest)


# -- a folder of records ----------------------------------------------------------------------


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
        summary = summary_of_columns(records.columns(), manifest)
        write_beside(with_suffix(stem, ".summary.npz"), summary.to_bytes())
    return RecordFile(with_suffix(stem, ".parquet"), manifest)


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


def summary_of(job: RecordFile) -> Summary:
    """The summary of a finished job that was just written, or that `find_done` verified.

    Read from its .summary.npz; made anew where that is missing, damaged or of other records.
    """
    try:
        stored = _read_summary(with_suffix(stem_of(job.path), ".summary.npz"))
    except InputError:
        return summarise(job.path)
    return stored if stored.manifest == job.manifest else summarise(job.path)


def summarise(path: str | Path, write: bool = False) -> Summary:
    """The summary of the records at `path`, read piece by piece: memory does not grow with T.

    Verifies what `Records.load` verifies. `write`: also to the .summary.npz beside it.
    """
    stem = stem_of(path)
    manifest, file, name = open_verified(stem)
    builder, rest, last = SummaryBuilder(manifest.V), schema_of(manifest).empty_table(), -1
    with file:
        try:
            parquet = pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=False)
            for batch in parquet.iter_batches(batch_size=PIECE, columns=list(columns_of(manifest))):
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
    columns = {column: table[column].to_numpy() for column in columns_of(manifest)}
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
