"""Records: one row a scored token, measured once; what they say, and the folder they lie in.

A folder of records holds, for each corpus and model, `<corpus>/<model>.parquet` (the rows), `.json`
(the manifest, written last: it alone says "done") and `.summary.npz` (the summary, made from
finished records and made anew from them when it is missing).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rbpkit.errors import InputError
from rbpkit.files.manifest import Manifest
from rbpkit.files.recordfiles import (
    COLUMNS,
    PREDICTION,
    SUFFIXES,
    columns_of,
    damaged,
    locked,
    open_verified,
    read_manifest,
    schema_of,
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
    check_ties,
    document_index,
    window_maxima,
)

# nll >= ln R is exact for exact arithmetic: R terms of the sum are at least exp(z_t). In float32,
# nll = logsumexp(z) - z_t errs by half a last place of |logsumexp(z)| for every chunk of V that is
# merged: 2^-13 is that for logits of up to 1024 and four merges, or of up to 128 and thirty-two.
# The result's own rounding, and the exponentials', are relative: 2^-20 of nll, eight last places.
NLL_TOLERANCE = 2.0**-13
NLL_TOLERANCE_RELATIVE = 2.0**-20
PREDICTION_TOLERANCE = 2.0**-16  # relative: sums of V terms in float32
PIECE = 1 << 20  # tokens that a summary takes at a time


@dataclass(frozen=True, eq=False)
class Records:
    """What one model made of one corpus: (T,) a column, in the order of the protocol.

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


def check_columns(columns: dict[str, np.ndarray], manifest: Manifest, name: object) -> None:
    """InputError that begins with `name` and gives the first row that cannot be."""
    document, position, target, n_greater, n_equal, nll = (columns[c] for c in COLUMNS)
    prediction = [columns[c] for c in PREDICTION if c in columns]
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
    if prediction:
        faults |= _prediction_faults(*prediction, n_greater, nll, V)
    for fault, where in faults.items():
        if where.any():
            row = int(where.argmax())
            values = ", ".join(f"{column} {array[row]}" for column, array in columns.items())
            raise InputError(f"{name}: {fault} at row {row} ({values})")


def _prediction_faults(
    p_max: np.ndarray, entropy: np.ndarray, n_greater: np.ndarray, nll: np.ndarray, V: int
) -> dict[str, np.ndarray]:
    """Where p_max and entropy contradict each other, the rank or -log p(t): fault -> (T,) bool.

    A target that nothing is ahead of has p(t) = p_max, any other p(t) <= p_max. Of all
    predictions with that p_max the least entropy is -log p_max, and the largest is log V.
    """
    whole = np.isfinite(p_max) & (p_max > 0) & (p_max <= 1 + PREDICTION_TOLERANCE)
    least = -np.log(np.where(whole, p_max, 1).astype(np.float64))
    room = NLL_TOLERANCE + PREDICTION_TOLERANCE * (1 + nll.astype(np.float64))
    return {
        "p_max outside 0 to 1": ~whole,
        "p_max below p(t)": nll < least - room,
        "p_max is not p(t), though nothing is ahead of the target": (n_greater == 0)
        & (nll > least + room),
        "entropy below -log p_max or above log V": ~(
            (entropy >= least - room) & (entropy <= np.log(V) + room)
        ),
    }


# -- a folder of records ----------------------------------------------------------------------


@dataclass(frozen=True)
class RecordFile:
    """A finished job on disk: `path` of its Parquet file, its manifest.

    summary: where it was made in this call, else None; `summary_of` gives it in any case.
    """

    path: Path
    manifest: Manifest
    summary: Summary | None = field(default=None, compare=False, repr=False)


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
        summary = summary_of_columns(records.columns(), manifest)
        write_beside(with_suffix(stem, ".summary.npz"), summary.to_bytes())
    return RecordFile(with_suffix(stem, ".parquet"), manifest, summary)


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


def summary_of(job: RecordFile) -> Summary:
    """The summary of a finished job that was just written, or that `find_done` verified.

    Read from its .summary.npz; made anew where that is missing, damaged or of other records.
    """
    if job.summary is not None:
        return job.summary
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
