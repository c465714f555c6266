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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rbpkit.errors import InputError, check_path, check_ties, nearest, one_line
from rbpkit.manifest import KEY, JobKey, Manifest, checksum
from rbpkit.names import AnyPath, run_and_step
from rbpkit.summary import Summary, labelled, summarise
from rbpkit.writing import write_whole

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: dict[str, type[np.generic]] = {
    "document": np.int32,
    "position": np.int32,
    "target": np.int32,
    "n_greater": np.int32,
    "n_equal": np.int32,
    "nll": np.float32,
    "p_max": np.float32,
    "entropy": np.float32,
}
# What a model may be unable to give (see `Ranker.ranks`).
OPTIONAL = frozenset(["n_equal", "p_max", "entropy"])
# A column that only some corpora have.
UNIT: dict[str, type[np.generic]] = {"unit": np.int32}
Choice = str | int | Iterable[str | int] | None
HASHES = ("revision", "fingerprint")  # of which the first digits are enough to choose by

# nll >= ln R is exact for exact arithmetic: R terms of the sum are at least exp(z_t). In float32,
# nll = logsumexp(z) - z_t errs by half a last place of |logsumexp(z)| for every chunk of V that is
# merged: 2^-13 is that for logits of up to 1024 and four merges, or of up to 128 and thirty-two.
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

    The arrays become read-only. Raises InputError for columns of another type or length, and for
    the first row whose order, target, rank or nll no model can give.
    """

    document: np.ndarray
    position: np.ndarray
    target: np.ndarray
    n_greater: np.ndarray
    n_equal: np.ndarray | None
    nll: np.ndarray
    p_max: np.ndarray | None
    entropy: np.ndarray | None
    manifest: Manifest
    unit: np.ndarray | None = None

    def __post_init__(self) -> None:
        name = f"records of {self.manifest.model} on {self.manifest.corpus}"
        T = self.manifest.tokens
        for column in self.columns():
            dtype = (COLUMNS | UNIT)[column]
            array = np.asarray(getattr(self, column)).view()
            if array.dtype != dtype or array.shape != (T,) or not T:
                given = f"{array.dtype} of shape {array.shape}"
                raise InputError(f"{name}: {column} must be {T} {dtype.__name__}, not {given}")
            array.flags.writeable = False
            object.__setattr__(self, column, array)
        for fault, rows in self._faults().items():
            if rows.any():
                row = int(rows.argmax())
                values = ", ".join(f"{c} {array[row]}" for c, array in self.columns().items())
                raise InputError(f"{name}: {fault} at row {row} ({values})")

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
        # Not "<": NaN fails each of these. Entropy is at most ln V, and rounded as nll is.
        no_p_max = no_entropy = np.zeros(rank.shape, bool)
        if self.p_max is not None:
            likely = self.p_max.astype(np.float64) * (1 + NLL_TOLERANCE)
            no_p_max = ~((likely >= np.exp(-nll)) & (self.p_max <= 1 + NLL_TOLERANCE))
        if self.entropy is not None:
            no_entropy = ~(np.abs(self.entropy - np.log(V) / 2) <= np.log(V) / 2 + NLL_TOLERANCE)
        return {
            "documents out of order": (document_step < 0) | (self.document >= documents),
            "position does not rise from 1": (self.position < 1) | stays_behind,
            f"target outside 0 to V - 1 = {V - 1}": (self.target < 0) | (self.target >= V),
            f"rank outside 1 to V = {V}": (self.n_greater < 0) | (n_equal < 0) | (rank > V),
            "nll not finite, or below ln R": ~np.isfinite(self.nll) | (nll < least_nll),
            "p_max outside exp(-nll) to 1": no_p_max,
            "entropy outside 0 to ln V": no_entropy,
        }

    def columns(self) -> dict[str, np.ndarray]:
        """The columns by name: (T,) each, read-only; without those that are None."""
        columns = {column: getattr(self, column) for column in COLUMNS | UNIT}
        kept = {column: array for column, array in columns.items() if array is not None}
        if missing := COLUMNS.keys() - OPTIONAL - kept.keys():
            raise InputError(f"records of {self.manifest.model}: no column {min(missing)}")
        return kept

    @classmethod
    def of(
        cls, columns: Mapping[str, np.ndarray], manifest: Manifest, unit: np.ndarray | None = None
    ) -> Records:
        """The records with these columns; those of OPTIONAL may be missing."""
        known = dict.fromkeys(OPTIONAL) | dict(columns)
        return cls(**known, manifest=manifest, unit=unit)

    @property
    def tokens(self) -> int:
        """T, the scored tokens."""
        return self.nll.size

    def to_pandas(self) -> pd.DataFrame:
        """A table with one row for each scored token: the columns, and `rank` (Eq. 3)."""
        import pandas as pd

        return pd.DataFrame(self.columns() | {"rank": self.rank()})

    def rank(self, ties: str = "pessimistic") -> np.ndarray:
        """R, (T,) int32, from 1. Pessimistic is Eq. 3: tied tokens come before the target."""
        check_ties(ties)
        if self.n_equal is None and ties == "optimistic":
            raise InputError(f"ties='optimistic': {self.manifest.model} gives no ties (n_equal)")
        if self.n_equal is None or ties == "optimistic":
            return self.n_greater + 1
        return self.n_greater + self.n_equal + 1

    @overload
    def rbp(self, k: int, ties: str = "pessimistic") -> float: ...
    @overload
    def rbp(self, k: np.ndarray, ties: str = "pessimistic") -> np.ndarray: ...
    def rbp(self, k: int | np.ndarray, ties: str = "pessimistic") -> float | np.ndarray:
        """RBP_k = Pr(R <= k), Eq. 4: float for a scalar k, else an array. InputError if k < 1."""
        return self.summary().rbp(k, ties)

    def ce(self) -> float:
        """Mean negative log-likelihood, nats."""
        return self.summary().ce()

    def summary(self) -> Summary:
        """All this as a `Summary`: the same integers, at every k and for N in WINDOWS."""
        return self._summary

    @functools.cached_property
    def _summary(self) -> Summary:
        return summarise(self.columns(), self.manifest)

    @classmethod
    def load(cls, path: AnyPath) -> Records:
        """The records whose Parquet file is `path`.

        InputError names the file if it is missing, if it is no Parquet file, or if it was changed
        since it was written.
        """
        try:
            table = pq.read_table(pa.BufferReader(Path(path).read_bytes()))
            there = [name for name in COLUMNS | UNIT if name in table.column_names]
            columns = {name: table[name].to_numpy() for name in there}
        except (OSError, pa.ArrowException, ValueError) as error:
            raise InputError(f"{path}: not readable records ({one_line(error)})") from error
        metadata = table.schema.metadata or {}
        manifest_text = metadata.get(b"rbpkit", b"{}")
        manifest = Manifest.from_json(manifest_text, path)
        if metadata.get(b"checksum") != checksum(manifest_text, columns).encode():
            raise InputError(f"{path}: damaged since it was written; delete it and measure again")
        unit = columns.pop("unit", None)  # None if documents are units by themselves
        return cls.of(columns, manifest, unit)


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
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException, ValueError) as error:
        raise InputError(f"{path}: not readable records ({one_line(error)})") from error
    return Manifest.from_json(metadata.get(b"rbpkit", b"{}"), path)


def write_records(directory: AnyPath, records: Records) -> Path:
    """Write records and summary into `directory`; the path of the records.

    They replace an earlier job of the same key, and no other. On a full disk the earlier job stays;
    after a kill there is one of the two, whole. Raises OSError, and InputError as `check_revision`.
    """
    check_revision(directory, records.manifest.key)
    path = record_path(directory, records.manifest.key)
    files = {
        path.name: _parquet_bytes(records),
        # After the records: if the process ends between the two, it is made again from them.
        _summary_file(path).name: records.summary().to_bytes(),
    }
    write_whole(path.parent, files)
    return path


def _parquet_bytes(records: Records) -> bytes:
    """A Parquet file with the columns, the manifest, and a checksum over both."""
    columns = records.columns()
    manifest_text = records.manifest.to_json().encode()
    fields = []
    for name, array in columns.items():
        fields.append(pa.field(name, pa.from_numpy_dtype(array.dtype), nullable=False))
    metadata = {b"rbpkit": manifest_text, b"checksum": checksum(manifest_text, columns).encode()}
    schema = pa.schema(fields).with_metadata(metadata)
    # Neighbouring rows differ little in these, and not at all alike in the others.
    rising = [name for name in ("document", "position", "unit") if name in columns]
    repeated = [name for name in ("target", "n_greater", "n_equal") if name in columns]
    buffer = io.BytesIO()
    pq.write_table(
        pa.table(columns, schema=schema),
        buffer,
        compression="zstd",
        use_dictionary=repeated,  # few values, each of them often
        column_encoding=dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
    )
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


def iter_manifests(directory: AnyPath) -> Iterator[tuple[Path, Manifest]]:
    """The finished jobs under `directory`, sorted by path. InputError for a damaged manifest."""
    for path in sorted(Path(directory).rglob("[!.]*.parquet")):
        if path.is_file():
            yield path, read_manifest(path)


def summary_of(path: Path, manifest: Manifest) -> Summary:
    """The summary of the records at `path`, made from them if it is missing or of others."""
    file = _summary_file(path)
    with suppress(InputError, OSError):
        stored = Summary.from_bytes(file.read_bytes(), file)
        if stored.manifest == manifest:
            return stored
    return Records.load(path).summary()


def load_summaries(
    directory: AnyPath,
    *,
    model: Choice = None,
    revision: Choice = None,
    family: Choice = None,
    corpus: Choice = None,
    fingerprint: Choice = None,
    documents: Choice = None,
    seed: Choice = None,
    max_length: Choice = None,
    stride: Choice = None,
    dtype: Choice = None,
    max_bytes: Choice = None,
    checkpoint: str | int | None = None,
    several: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> list[Summary]:
    """The summaries under `directory` that have these settings, sorted by path.

    model to max_bytes: a value of the manifest, or a list of values; None for any. Of a hash the
        first digits are enough. A family may be NAME=PATTERN: the models whose name fits
        (`labelled`).
    checkpoint: of each training run, take "last", or the step of this number; None for all.
    several: admit a model that was measured on a corpus under several settings; else that is an
        error, which names them.
    say: gets a line if checkpoints are left out, or weights that were measured under two names.

    Read from .summary.npz, which may be there without its records; made from the records if
    that file is missing, damaged or of others. A model that was measured under two names counts
    once, by the first in the order of the alphabet, unless a name is asked for. InputError for a
    damaged file that cannot be made again, and if there is nothing with these settings.
    """
    check_path("the folder of records", directory)
    settings: dict[str, Choice] = {
        "model": model,
        "revision": revision,
        "family": family,
        "corpus": corpus,
        "fingerprint": fingerprint,
        "documents": documents,
        "seed": seed,
        "max_length": max_length,
        "stride": stride,
        "dtype": dtype,
        "max_bytes": max_bytes,
    }
    found = _all_summaries(Path(directory))
    if not found:
        raise InputError(f"{directory}: no records or summaries in this folder")
    if family is not None:
        families = _each(family)
        found = labelled(found, families)
        settings["family"] = [one.partition("=")[0] for one in families]
    for setting, choice in settings.items():
        if choice is not None:
            found = _chosen(found, setting, _each(choice), directory)
    if model is None:
        found = _each_model_once(found, say)
    if checkpoint is not None:
        found = _one_checkpoint(found, str(checkpoint), say)
    if not several:
        _check_one_setting(found)
    return found


def _all_summaries(directory: Path) -> list[Summary]:
    """The summaries under a folder, sorted by path."""
    found = {}
    for path, manifest in iter_manifests(directory):
        found[_summary_file(path)] = summary_of(path, manifest)
    for path in directory.rglob("[!.]*.summary.npz"):
        if path not in found and path.is_file():  # as the repository ships them: without records
            found[path] = Summary.from_bytes(path.read_bytes(), path)
    return [found[path] for path in sorted(found)]


def _each(choice: str | int | Iterable[str | int]) -> list[str]:
    """The values that one setting may have, in words."""
    if isinstance(choice, str | int):
        return [str(choice)]
    return [str(value) for value in choice]


def _chosen(
    found: list[Summary], setting: str, values: list[str], directory: AnyPath
) -> list[Summary]:
    """The summaries with one of these values of a setting.

    InputError for a value that none of them has, which names those that are there.
    """
    recorded = [str(getattr(summary.manifest, setting)) for summary in found]
    kept = set()
    for value in values:
        hits = {word for word in recorded if word == value}
        if setting in HASHES and value:
            hits |= {word for word in recorded if word.startswith(value)}
        if not hits:
            there = sorted(set(recorded))
            hint = nearest(value, there)
            raise InputError(
                f"{directory}: no {setting} {value!r}{hint}; there are {_listed(there, most=20)}"
            )
        kept |= hits
    return [summary for summary, word in zip(found, recorded, strict=True) if word in kept]


def _listed(names: list[str], most: int) -> str:
    """The first names, and how many there are besides."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _each_model_once(found: list[Summary], say: Callable[[str], None]) -> list[Summary]:
    """One summary of each job, of those that differ in nothing but the model's name."""
    kept: dict[object, Summary] = {}
    for summary in sorted(found, key=lambda summary: summary.manifest.model):
        manifest = summary.manifest
        nameless = manifest.key.model_copy(update={"model": ""})
        first = kept.setdefault((nameless, manifest.S, manifest.V), summary)
        used = first.manifest.model
        if manifest.model != used:
            say(f"{manifest.model} has the weights of {used}, and counts as {used}.")
        elif summary.ce() != first.ce():
            say(f"{used} on {manifest.corpus} is there twice, with other numbers: one is left out.")
    return [summary for summary in found if summary in kept.values()]


def _one_checkpoint(
    found: list[Summary], checkpoint: str, say: Callable[[str], None]
) -> list[Summary]:
    """One checkpoint of each run, and all models that are of no run.

    checkpoint: "last", or the number of a step ("300"). InputError if no run has it.
    """
    if checkpoint != "last" and not checkpoint.isdecimal():
        raise InputError(f"checkpoint {checkpoint!r}: give last, or the number of a step")
    steps_of: dict[tuple[str, str], set[int]] = {}  # of each run on each corpus
    first_of: dict[str, Manifest] = {}
    for summary in found:
        if of_run := run_and_step(summary.manifest.model):
            run, step = of_run
            steps_of.setdefault((run, summary.manifest.corpus), set()).add(step)
            first = first_of.setdefault(run, summary.manifest)
            if summary.manifest.S != first.S:
                raise InputError(
                    f"{first.model} and {summary.manifest.model} are of two runs, since their S"
                    " differ: measure one under another name (name=)"
                )
    if checkpoint != "last" and not any(int(checkpoint) in steps for steps in steps_of.values()):
        last = ", ".join(map(str, sorted({max(steps) for steps in steps_of.values()})))
        raise InputError(f"no run has the checkpoint {checkpoint}; the last ones are {last}")
    kept, left_out = [], set()
    for summary in found:
        of_run = run_and_step(summary.manifest.model)
        if of_run is not None:
            run, step = of_run
            steps = steps_of[run, summary.manifest.corpus]
            wanted = max(steps) if checkpoint == "last" else int(checkpoint)
            if step != wanted:
                left_out.add(summary.manifest.model)
                continue
        kept.append(summary)
    if left_out:
        which = "the last checkpoint" if checkpoint == "last" else f"checkpoint {checkpoint}"
        listed = _listed(sorted(left_out), most=8)
        say(f"Of each training run only {which} is used; left out: {listed}.")
    return kept


def _check_one_setting(found: list[Summary]) -> None:
    """InputError if a model was measured on one corpus under several settings; it names them."""
    jobs: dict[tuple[str, str], list[JobKey]] = {}
    for summary in found:
        key = summary.manifest.key
        jobs.setdefault((key.model, key.corpus), []).append(key)
    for (model, corpus), keys in jobs.items():
        several = {}
        for name in KEY:
            values = list(dict.fromkeys(str(getattr(key, name)) for key in keys))
            if len(values) > 1:
                several[name] = values
        if several:
            listed = "; ".join(f"{name} {' or '.join(values)}" for name, values in several.items())
            options = " ".join(f"--where {name}={values[0]}" for name, values in several.items())
            raise InputError(
                f"{model} on {corpus} was measured under several settings: {listed}; choose one, as"
                f" {options} (in Python: load_summaries(folder, {next(iter(several))}=...))"
            )
