"""Records: one row per scored token, measured once. RBP_k, CE, windows and summaries follow.

On disk a job is one Parquet file, `<folder>/<corpus>/<model>.<key>.parquet`, where `<key>` is a
short hash of the job's key. If it is there, it is whole, and the job is done. Its metadata hold the
manifest, and a checksum over manifest and columns. The summary is next to it; it is made again if
it is missing.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import io
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from rbpkit.errors import InputError, reason
from rbpkit.manifest import KEY, JobKey, Manifest, checksum
from rbpkit.names import AnyPath, run_and_step
from rbpkit.summary import Summary, labelled, summarise
from rbpkit.writing import write_whole

COLUMNS: dict[str, type[np.generic]] = {
    "document": np.int32,
    "position": np.int32,
    "target": np.int32,
    "n_greater": np.int32,
    "n_equal": np.int32,
    "nll": np.float32,
    "p_max": np.float32,
    "entropy": np.float32,
    "unit": np.int32,
}
Choice = str | int | Iterable[str | int] | None

# nll >= ln R is exact for exact arithmetic: R terms of the sum are at least exp(z_t). In float32,
# nll = logsumexp(z) - z_t errs by some last places of |logsumexp(z)|, which are below 2^-13 for
# logits of up to 1024.
# The rounding of the result and of the exponentials is relative: 2^-20 of nll, eight last places.
NLL_TOLERANCE = 2.0**-13
NLL_TOLERANCE_RELATIVE = 2.0**-20


@dataclass(frozen=True, eq=False)
class Records:
    """The ranks and losses of one model on one corpus: (T,) a column, in the protocol's order.

    document: int32, from 0.
    position: int32, of the scored token in its document, from 1.
    target: int32, the token's id.
    n_greater, n_equal: int32, how many other tokens had a greater and the same logit. If n_equal is
        None, ties are not known apart, and n_greater counts them too: R - 1 of Eq. 3.
    nll: float32, nats.
    p_max: float32, the largest probability of the prediction, whatever the target; or None.
    entropy: float32, of the prediction, -sum_v p(v) log p(v) in nats; or None.
    manifest: what was measured.
    unit: int32, the number of the unit that the document was sampled with (its module, its author),
        which a bootstrap resamples; None if the documents themselves were sampled.

    The arrays become read-only and of these types. Raises InputError for columns that cannot, or of
    another length, and for the first row whose order, target, rank or nll no model can give.
    """

    document: np.ndarray
    position: np.ndarray
    target: np.ndarray
    n_greater: np.ndarray
    nll: np.ndarray
    manifest: Manifest
    n_equal: np.ndarray | None = None
    p_max: np.ndarray | None = None
    entropy: np.ndarray | None = None
    unit: np.ndarray | None = None

    def __post_init__(self) -> None:
        what = f"records of {self.manifest.model} on {self.manifest.corpus}"
        T = self.manifest.tokens
        for name, given in self.columns().items():
            with reason(f"{what}: {name} must be {COLUMNS[name].__name__}"):
                array = np.asarray(given).astype(COLUMNS[name], casting="same_kind")
            if array.shape != (T,) or not T:
                raise InputError(f"{what}: {name} is of shape {array.shape}, not of {T} tokens")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        for fault, rows in self._faults().items():
            if rows.any():
                row = int(rows.argmax())
                values = ", ".join(f"{c} {array[row]}" for c, array in self.columns().items())
                raise InputError(f"{what}: {fault} at row {row} ({values})")

    def _faults(self) -> dict[str, np.ndarray]:
        """What no model can give -> which rows have it, (T,) bool."""
        V, documents = self.manifest.V, self.manifest.documents
        document_step = np.diff(self.document, prepend=0)
        position_step = np.diff(self.position, prepend=0)
        stays_behind = (document_step == 0) & (position_step <= 0)
        n_equal = np.zeros_like(self.n_greater) if self.n_equal is None else self.n_equal
        rank = self.n_greater.astype(np.int64) + n_equal + 1
        nll = self.nll.astype(np.float64) * (1 + NLL_TOLERANCE_RELATIVE)
        least_nll = np.log(np.maximum(rank, 1)) - NLL_TOLERANCE
        # NaN is in no range. Entropy is at most ln V, and rounded as nll is.
        faults = {
            "documents out of order": (document_step < 0) | (self.document >= documents),
            "position does not rise from 1": (self.position < 1) | stays_behind,
            f"target outside 0 to V - 1 = {V - 1}": (self.target < 0) | (self.target >= V),
            f"rank outside 1 to V = {V}": (self.n_greater < 0) | (n_equal < 0) | (rank > V),
            "nll not finite, or below ln R": ~np.isfinite(self.nll) | (nll < least_nll),
        }
        for name, most in {"p_max": 1.0, "entropy": np.log(V)}.items():
            column = getattr(self, name)
            if column is not None:
                is_right = (column >= -NLL_TOLERANCE) & (column <= most + NLL_TOLERANCE)
                faults[f"{name} outside 0 to {most:.3g}"] = ~is_right
        return faults

    def columns(self) -> dict[str, np.ndarray]:
        """The columns by name: (T,) each, read-only; without those that are None."""
        columns = {column: getattr(self, column) for column in COLUMNS}
        return {column: array for column, array in columns.items() if array is not None}

    def to_pandas(self) -> pd.DataFrame:
        """A table with one row for each scored token: the columns, and `rank` (Eq. 3)."""
        return pd.DataFrame(self.columns() | {"rank": self.rank()})

    def rank(self) -> np.ndarray:
        """R, (T,) int32, from 1 (Eq. 3): tied tokens come before the target."""
        return self.n_greater + 1 if self.n_equal is None else self.n_greater + self.n_equal + 1

    @functools.cached_property
    def summary(self) -> Summary:
        """What they say of RBP_k and CE, the same integers, at every k and for N in WINDOWS."""
        return summarise(self.columns(), self.manifest)

    @classmethod
    def load(cls, path: AnyPath) -> Records:
        """The records whose Parquet file is `path`.

        InputError names the file if it is missing, if it is no Parquet file, or if it was changed
        since it was written.
        """
        with reason(f"{path}: not readable records"):
            table = pq.read_table(pa.BufferReader(Path(path).read_bytes()))
            columns = {name: table[name].to_numpy() for name in table.column_names}
            manifest_text = table.schema.metadata[b"rbpkit"]
            stored = table.schema.metadata[b"checksum"]
        manifest = Manifest.from_json(manifest_text, path)
        if stored != checksum(manifest_text, columns).encode():
            raise InputError(f"{path}: damaged since it was written; delete it and measure again")
        return cls(**columns, manifest=manifest)


def targets_digest(columns: Mapping[str, np.ndarray]) -> str:
    """Which tokens were scored, and where: 16 hexadecimal digits, in the manifest's `targets`."""
    digest = hashlib.sha256()
    for name in ("document", "position", "target"):
        digest.update(np.ascontiguousarray(columns[name], dtype=COLUMNS[name]).data)
    return digest.hexdigest()[:16]


# -- a folder of records ----------------------------------------------------------------------


def slug(name: str) -> str:
    """A model or corpus id as a file name; no two ids share one, none leaves its folder.

    "/" becomes "+", all but ASCII letters, digits and "-_.~" is percent-encoded, and so is a
    leading ".". An id that is too long for a file name keeps its head and gets a hash.
    """
    text = quote(name, safe="/").replace("/", "+")
    if text.startswith("."):
        text = "%2E" + text[1:]
    if len(text) > 160:  # 255 less suffixes; "%~" is in no other name
        digest = hashlib.sha256(text.encode()).hexdigest()
        text = f"{text[:120]}%~{digest[:32]}"
    return text


def record_path(directory: AnyPath, key: JobKey) -> Path:
    """The job's Parquet file: `<directory>/<corpus>/<model>.<digest>.parquet`, ids as `slug`s."""
    return Path(directory) / slug(key.corpus) / f"{slug(key.model)}.{key.digest()}.parquet"


def _summary_file(path: Path) -> Path:
    return path.with_suffix(".summary.npz")


def read_manifest(path: Path) -> Manifest:
    """The manifest of the records at `path`, without their columns; InputError if damaged."""
    with reason(f"{path}: not readable records"):
        manifest_text = pq.read_schema(path).metadata[b"rbpkit"]
    return Manifest.from_json(manifest_text, path)


def write_records(directory: AnyPath, records: Records) -> Path:
    """Write records and summary into `directory`; the path of the records.

    They replace an earlier job of the same key, and no other. On a full disk the earlier job stays;
    after a kill there is one of the two, whole. Raises OSError, and InputError as `check_revision`.
    """
    check_revision(directory, records.manifest.key)
    path = record_path(directory, records.manifest.key)
    summary = _summary_file(path)
    files = {path.name: _parquet_bytes(records), summary.name: records.summary.to_bytes()}
    # If the process ends between the two, there is no older summary, and it is made again.
    summary.unlink(missing_ok=True)
    write_whole(path.parent, files)
    return path


def _parquet_bytes(records: Records) -> bytes:
    """A Parquet file with the columns, the manifest, and a checksum over both."""
    columns = records.columns()
    manifest_text = records.manifest.to_json().encode()
    metadata = {b"rbpkit": manifest_text, b"checksum": checksum(manifest_text, columns).encode()}
    table = pa.table(columns).replace_schema_metadata(metadata)
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd", use_dictionary=False)
    return buffer.getvalue()


def find_done(directory: AnyPath, key: JobKey) -> Records | None:
    """The records of the finished job with this key, or None. InputError if they are damaged."""
    path = record_path(directory, key)
    if not path.is_file():
        return None
    records = Records.load(path)
    return records if records.manifest.key == key else None  # else renamed by hand


def check_revision(directory: AnyPath, key: JobKey) -> None:
    """InputError if a model of this name was measured on this corpus with other weights.

    A name belongs to one revision. So results of two models never mix under one name.
    """
    path = record_path(directory, key)
    for other in sorted(path.parent.glob(f"{glob.escape(slug(key.model))}.*.parquet")):
        manifest = read_manifest(other)
        if manifest.model == key.model and manifest.revision != key.revision:
            raise InputError(
                f"{key.model} was measured on {key.corpus} with other weights: delete {other} if"
                " they are out of date, or give this model another name (name=)"
            )


def summary_of(path: Path) -> Summary:
    """The summary of the records at `path`: the file beside them, whose records may be gone.

    It is made from the records if it is missing, damaged or of others. InputError if it cannot be.
    """
    file = _summary_file(path)
    if not path.is_file():  # as the repository ships summaries
        return Summary.from_bytes(file.read_bytes(), file)
    with suppress(InputError, OSError):
        stored = Summary.from_bytes(file.read_bytes(), file)
        if stored.manifest == read_manifest(path):
            return stored
    return Records.load(path).summary


def load_summaries(
    directory: AnyPath,
    *,
    checkpoint: Literal["last"] | None = None,
    several: bool = False,
    say: Callable[[str], None] = lambda line: None,
    **settings: Choice,
) -> list[Summary]:
    """The summaries under `directory` that have these settings, sorted by path.

    checkpoint: "last" takes the last checkpoint of each training run; None all of them.
    several: admit a model that was measured on a corpus under several settings; else that is an
        error, which names them.
    say: gets a line if checkpoints are left out, or weights that were measured under two names.
    settings: fields of the manifest, as model="small", max_length=512: a value, or a list of
        values. Of revision and fingerprint the first digits are enough. A family may be
        NAME=PATTERN: the models whose name fits (`labelled`).

    Read from .summary.npz, which may be there without its records; made from the records if
    that file is missing, damaged or of others. A model that was measured under two names counts
    once, by the first in the order of the alphabet, unless a name is asked for. InputError for a
    damaged file that cannot be made again, and if there is nothing with these settings.
    """
    if unknown := settings.keys() - Manifest.model_fields.keys():
        there = ", ".join(Manifest.model_fields)
        raise InputError(f"{min(unknown)}: no setting; there are {there}")
    # The folder of a corpus may be called so, too.
    paths = {path for path in Path(directory).rglob("[!.]*.parquet") if path.is_file()}
    for file in Path(directory).rglob("[!.]*.summary.npz"):
        paths.add(file.with_suffix("").with_suffix(".parquet"))
    if not paths:
        raise InputError(f"{directory}: no records or summaries in this folder")
    found = [summary_of(path) for path in sorted(paths)]
    asked = {}
    for setting, choice in settings.items():
        if choice is not None:
            values = [choice] if isinstance(choice, str | int) else choice
            asked[setting] = [str(value) for value in values]
    if "family" in asked:
        found = labelled(found, asked["family"])
        asked["family"] = [family.partition("=")[0] for family in asked["family"]]
    jobs = pd.DataFrame([summary.manifest.model_dump() for summary in found])
    for setting, values in asked.items():
        jobs = _chosen(jobs, setting, values)
    if "model" not in asked:
        jobs = _each_model_once(jobs, say)
    if checkpoint is not None:
        jobs = _last_checkpoints(jobs, say)
    if not several:
        _check_one_setting(jobs)
    return [found[place] for place in jobs.index]


def _chosen(jobs: pd.DataFrame, setting: str, values: list[str]) -> pd.DataFrame:
    """The jobs with one of these values of a setting.

    InputError for a value that none of them has, which names those that are there.
    """
    recorded = jobs[setting].astype(str)
    kept = recorded.isin(values)
    for value in values:
        hits = recorded == value
        if setting in ("revision", "fingerprint"):  # hashes, whose first digits are enough
            hits = recorded.str.startswith(value)
        if not hits.any():
            there = ", ".join(sorted(set(recorded))[:20])
            raise InputError(f"no {setting} {value!r} was measured; there are {there}")
        kept |= hits
    return jobs[kept]


def _each_model_once(jobs: pd.DataFrame, say: Callable[[str], None]) -> pd.DataFrame:
    """One of each job, of those that differ in nothing but the model's name."""
    but_the_name = [*KEY[1:], "S", "V"]
    by_name = jobs.sort_values("model", kind="stable")
    used = by_name.groupby(but_the_name)["model"].transform("first")
    for number, job in by_name[by_name["model"] != used].iterrows():
        name = f"{job['model']} on {job['corpus']}"
        say(f"{name} has the weights of {used[number]}, and counts as that.")
    return by_name.drop_duplicates(but_the_name).sort_index()


def _last_checkpoints(jobs: pd.DataFrame, say: Callable[[str], None]) -> pd.DataFrame:
    """The last checkpoint of each run on each corpus, and all models that are of no run."""
    runs = [run_and_step(model) or (model, 0) for model in jobs["model"]]
    jobs = jobs.assign(run=[run for run, _ in runs], step=[step for _, step in runs])
    # Runs of one name and two sizes are two runs.
    last = jobs.groupby(["run", "S", "corpus"])["step"].transform("max")
    left_out = sorted(set(jobs["model"][jobs["step"] < last]))
    if left_out:
        listed = ", ".join(left_out)
        say(f"Of each training run only the last checkpoint is used; left out: {listed}.")
    return jobs[jobs["step"] == last]


def _check_one_setting(jobs: pd.DataFrame) -> None:
    """InputError if a model was measured on one corpus under several settings; it names them."""
    for (model, corpus), of_one in jobs.groupby(["model", "corpus"]):
        for name in KEY:
            values = of_one[name].unique()
            if len(values) > 1:
                raise InputError(
                    f"{model} on {corpus} was measured under several settings:"
                    f" {name} {values[0]} or {values[1]}; choose one, as {name}={values[0]}"
                )
