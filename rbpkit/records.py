"""Records: one row per scored token, measured once. RBP_k, CE, windows and summaries follow.

On disk a job is three files in `<folder>/<corpus>/`: the rows in `<model>.<key>.parquet`, what was
measured in `<model>.<key>.summary.npz`, and the manifest in `<model>.<key>.json`, where `<key>` is
a short hash of the job's key. The manifest is written last and alone says "done". It names the
sha256 of the Parquet file, which holds a copy of it.
"""

from __future__ import annotations

import functools
import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from rbpkit.errors import InputError, check_path, check_ties, nearest
from rbpkit.files.manifest import JobKey, Manifest, beginnings, choosable, is_value
from rbpkit.files.names import AnyPath, folder_name, names_apart, run_and_step, whole_path
from rbpkit.files.writing import write_whole
from rbpkit.summary import Summary, labelled, summarise

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
# Fields of a manifest that may be given to a finished job, and what they are if nothing is known.
AMENDED: dict[str, Any] = {"family": "", "folder": "", "scored_bytes": 0}
# What a model may be unable to give (see `Ranker.ranks`).
OPTIONAL = frozenset(["n_equal", "p_max", "entropy"])
# A column that only some corpora have.
UNIT: dict[str, type[np.generic]] = {"unit": np.int32}

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
        not_finite = np.zeros(rank.shape, bool)
        for optional in (self.p_max, self.entropy):
            if optional is not None:
                not_finite |= ~np.isfinite(optional)
        return {
            "documents out of order": (document_step < 0) | (self.document >= documents),
            "position does not rise from 1": (self.position < 1) | stays_behind,
            f"target outside 0 to V - 1 = {V - 1}": (self.target < 0) | (self.target >= V),
            f"rank outside 1 to V = {V}": (self.n_greater < 0) | (n_equal < 0) | (rank > V),
            "nll not finite, or below ln R": ~np.isfinite(self.nll) | (nll < least_nll),
            "p_max or entropy not finite": not_finite,
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
        """The finished records whose Parquet file is `path`.

        InputError names the file and the way out if it is missing, if its bytes are not those
        that its manifest names, or if the manifest is not the one inside it.
        """
        path = Path(path)
        manifest = read_manifest(path)
        table = pq.read_table(pa.BufferReader(_verified(path, manifest)))
        metadata = table.schema.metadata or {}
        inside = Manifest.from_json(metadata.get(b"rbpkit", b"{}"), path)
        if _bare(inside) != _bare(manifest):
            what = "its manifest was changed: the copy inside it differs"
            raise InputError(f"{path}: damaged ({what}); delete it and measure again")
        there = [name for name in COLUMNS | UNIT if name in table.column_names]
        columns = {name: table[name].to_numpy() for name in there}
        unit = columns.pop("unit", None)  # None if documents are units by themselves
        return cls.of(columns, manifest, unit)


# -- a folder of records ----------------------------------------------------------------------

Found = dict[Path, Summary]
"""Summaries by the path of their file, sorted."""


@dataclass(frozen=True)
class RecordFile:
    """A finished job on disk: `path` of its Parquet file, its manifest."""

    path: Path
    manifest: Manifest


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
    """The job's Parquet file: `<directory>/<corpus>/<model>.<digest>.parquet`, ids as `slug`s.

    A finished job that an earlier version wrote as `<model>.parquet` keeps that name.
    The manifest and the summary are next to it, with the suffixes .json and .summary.npz.
    """
    earlier = Path(directory) / slug(key.corpus) / f"{slug(key.model)}.parquet"
    if _finished(earlier) and read_manifest(earlier).key == key:
        return earlier
    # Jobs with other settings get other files, side by side.
    return earlier.with_name(f"{slug(key.model)}.{key.digest()}.parquet")


def _marker(path: Path) -> Path:
    """The manifest of a Parquet file, whose presence says that the job is done."""
    return path.with_suffix(".json")


def _summary_file(path: Path) -> Path:
    return path.with_suffix(".summary.npz")


def job_lock(directory: AnyPath, job: Any) -> FileLock:
    """The lock that is held while a job is measured and written. Raises OSError.

    job: a key, or anything else with the names of its model and its corpus.

    The process that holds it may take it again: a sweep does, before it loads the model.
    """
    folder = Path(directory) / slug(job.corpus)
    folder.mkdir(parents=True, exist_ok=True)
    # A file and not the folder: NFS locks only what is open for writing. It stays, empty.
    return FileLock(folder / f".{slug(job.model)}.lock", is_singleton=True)


def read_manifest(path: Path) -> Manifest:
    """The manifest of the records at `path`; InputError if it is missing or not readable."""
    marker = _marker(path)
    try:
        return Manifest.from_json(marker.read_bytes(), marker)
    except OSError as error:
        raise InputError(f"{marker}: no manifest, so no finished records ({error})") from error


def write_records(directory: AnyPath, records: Records) -> RecordFile:
    """Write records, summary and manifest into `directory`, the manifest last.

    They replace an earlier job of the same key, and no other. If the disk is full the earlier job
    stays; after a kill there is one of the two, or no manifest and so no job. Raises OSError.
    """
    path = record_path(directory, records.manifest.key)
    columns = records.columns()
    data = _parquet_bytes(columns, _bare(records.manifest))
    digest = hashlib.sha256(data).hexdigest()
    manifest = records.manifest.model_copy(update={"sha256": digest})
    files = {
        path.name: data,
        _summary_file(path).name: summarise(columns, manifest).to_bytes(),
        _marker(path).name: manifest.to_json(sealed=True).encode(),
    }
    write_whole(path.parent, files, marker=_marker(path).name)
    return RecordFile(path, manifest)


def _parquet_bytes(columns: Mapping[str, np.ndarray], manifest: Manifest) -> bytes:
    """A Parquet file with these columns, and a copy of the manifest; the same bytes each time."""
    fields = []
    for name, array in columns.items():
        fields.append(pa.field(name, pa.from_numpy_dtype(array.dtype), nullable=False))
    schema = pa.schema(fields).with_metadata({"rbpkit": manifest.to_json()})
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
        write_page_checksum=True,  # so that a flipped bit is an error, and not another number
    )
    return buffer.getvalue()


def find_done(directory: AnyPath, key: JobKey) -> RecordFile | None:
    """The finished job with this key, its bytes verified, or None. InputError if it is damaged."""
    path = record_path(directory, key)
    if not _finished(path):
        return None
    manifest = read_manifest(path)
    if manifest.key != key:  # a file of another job that was renamed by hand
        return None
    _verified(path, manifest)
    return RecordFile(path, manifest)


def of_other_weights(directory: AnyPath, key: JobKey) -> list[RecordFile]:
    """The finished jobs of a model of this name on this corpus that had another revision."""
    folder = record_path(directory, key).parent
    found = []
    for path in sorted(folder.glob(f"{slug(key.model)}.*parquet")):
        if not _finished(path):
            continue
        try:
            manifest = read_manifest(path)
        except InputError:  # damaged: it must not stop another job
            continue
        if manifest.model == key.model and manifest.revision != key.revision:
            found.append(RecordFile(path, manifest))
    return found


def amend(job: RecordFile, **changes: Any) -> RecordFile:
    """Change what the records do not hold (`AMENDED`), in manifest and summary. Raises OSError.

    The records are not changed, so nothing is lost whenever the process is killed.
    """
    manifest = job.manifest.model_copy(update=changes)
    summary = replace(summary_of(job), manifest=manifest)
    files = {
        _summary_file(job.path).name: summary.to_bytes(),
        _marker(job.path).name: manifest.to_json(sealed=True).encode(),
    }
    write_whole(job.path.parent, files)
    return RecordFile(job.path, manifest)


def iter_manifests(directory: AnyPath) -> Iterator[RecordFile]:
    """The finished jobs under `directory`, sorted by path; the Parquet bytes are not read.

    InputError for a damaged manifest.
    """
    for path in sorted(Path(directory).rglob("[!.]*.parquet")):
        if _finished(path):
            yield RecordFile(path, read_manifest(path))


def load_summaries(
    directory: AnyPath,
    *,
    checkpoint: str | int | None = None,
    several: bool = False,
    say: Callable[[str], None] = lambda line: None,
    **settings: str | int | Iterable[str | int] | None,
) -> list[Summary]:
    """The summaries under `directory` that have these settings, sorted by path.

    checkpoint: of each training run, take "last", or the step of this number; None for all.
    several: admit a model that was measured on a corpus under several settings; else that is an
        error, which names them.
    say: gets a line if checkpoints are left out, or weights that were measured under two names.
    settings: those of `choosable`, as `max_length=512`; None for any, a list for one of several. Of
        a hash the first digits are enough. A model may be given as the path of its folder, a family
        as NAME=PATTERN, which are the models whose name fits the pattern (`labelled`). Unless
        `several`, a revision chooses among the weights of a model that was measured with several,
        and leaves other models alone.

    Read from .summary.npz, which may be there without its records; made from the records if
    that file is missing, damaged or of an earlier measurement. A model that was measured under two
    names counts once, unless one of the names is asked for: by the name that no other weights have,
    or else by the first in the order of the alphabet. InputError for a damaged file that cannot be
    made again, and if there is nothing at all, or nothing with these settings.
    """
    check_path("the folder of records", directory)
    for name in settings:
        if name not in choosable():
            hint = nearest(name, choosable())
            raise InputError(f"no setting {name!r}{hint}; there are {', '.join(choosable())}")
    found = _all_summaries(Path(directory))
    if not found:
        raise InputError(f"{directory}: no records or summaries in this folder")
    if families := settings.get("family"):
        several_given = [families] if isinstance(families, str | int) else families
        given = [str(family) for family in several_given]
        found = dict(zip(found, labelled(found.values(), given), strict=True))
        settings["family"] = [family.partition("=")[0] for family in given]
    asked = _values_there(settings, [one.manifest for one in found.values()], directory)
    if "model" not in asked:
        found = _without_renamed(found, say)
    chosen = _with_settings(found, asked, one_revision=not several)
    if not chosen:
        words = ", ".join(f"{name} {' or '.join(sorted(some))}" for name, some in asked.items())
        kinds = {f"{one.manifest.corpus} / {one.manifest.family}" for one in found.values()}
        raise InputError(
            f"{directory}: nothing measured with {words}; there is (corpus / family):"
            f" {'; '.join(sorted(kinds))}"
        )
    if checkpoint is not None:
        chosen = _one_checkpoint(chosen, str(checkpoint), say)
    if not several:
        _check_one_setting(chosen)
    return list(chosen.values())


def _all_summaries(directory: Path) -> Found:
    """The summaries under a folder, with names that tell their models apart."""
    found = {_summary_file(job.path): summary_of(job) for job in iter_manifests(directory)}
    for path in directory.rglob("[!.]*.summary.npz"):
        if path not in found and path.is_file():  # as the repository ships them: without records
            found[path] = Summary.from_bytes(path.read_bytes(), path)
    paths = sorted(found)
    named = told_apart([found[path] for path in paths])
    return dict(zip(paths, named, strict=True))


def told_apart(summaries: Sequence[Summary]) -> list[Summary]:
    """The summaries, with longer names if models of several folders have one (`names_apart`).

    A model is called after its folder whatever else is measured, so its records are found again.
    Only those who read several models see that runs/a and runs4/a are two runs. Weights that were
    measured in two places, as a folder was moved, are one model.
    """
    folder_of: dict[tuple[str, str], str] = {}  # by name and revision
    for summary in summaries:
        manifest = summary.manifest
        if manifest.folder:
            model = manifest.model, manifest.revision
            folder_of[model] = min(manifest.folder, folder_of.get(model, manifest.folder))
    names = dict(zip(folder_of, names_apart(list(folder_of.values())), strict=True))
    named = []
    for summary in summaries:
        manifest = summary.manifest
        name = names.get((manifest.model, manifest.revision), manifest.model)
        named.append(replace(summary, manifest=manifest.model_copy(update={"model": name})))
    return named


def _values_there(
    settings: Mapping[str, object], manifests: Sequence[Manifest], directory: AnyPath
) -> dict[str, set[str]]:
    """The settings asked for, each with its values in words.

    A model's folder becomes its name. InputError for a value that no job has, which names those
    that are there.
    """
    asked: dict[str, set[str]] = {}
    for name, given in settings.items():
        if given is None:
            continue
        recorded = sorted({str(manifest.setting(name)) for manifest in manifests})
        asked[name] = set()
        for value in given if isinstance(given, list | tuple | set) else [given]:
            word = str(value)
            if name == "model" and word not in recorded:
                word = _name_of_folder(word, manifests)
            if not any(is_value(name, one, word) for one in recorded):
                hint = nearest(str(value), recorded)
                there = _listed(recorded, most=20)
                raise InputError(f"{directory}: no {name} {str(value)!r}{hint}; there are {there}")
            asked[name].add(word)
    return asked


def _name_of_folder(word: str, manifests: Iterable[Manifest]) -> str:
    """The model in the folder with this path; the word itself if there is none."""
    check_path("model", word)
    path, name = whole_path(Path(word)), folder_name(Path(word))
    for manifest in manifests:
        # Without a folder in the manifest, the name is all that is known of it.
        if manifest.folder == path or (not manifest.folder and manifest.model == name):
            return manifest.model
    return word


def _listed(names: Sequence[str], most: int) -> str:
    """The first names, and how many there are besides."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _without_renamed(found: Found, say: Callable[[str], None]) -> Found:
    """One summary of each job, of those that differ in nothing but the model's name.

    The same weights were measured again under another name, as the first was that of several
    models. So a name that a single model has goes first; of two such names, the first in the order
    of the alphabet: a copy of the folder gives the same.
    """
    revisions: dict[str, set[str]] = {}  # of each name
    for summary in found.values():
        manifest = summary.manifest
        revisions.setdefault(manifest.model, set()).add(manifest.revision)

    def best_first(path: Path) -> tuple[int, str]:
        name = found[path].manifest.model
        return len(revisions[name]), name

    kept: dict[object, Path] = {}
    for path in sorted(found, key=best_first):
        manifest = found[path].manifest
        nameless = manifest.key.model_copy(update={"model": ""})
        first = kept.setdefault((nameless, manifest.S, manifest.V), path)
        name, used = manifest.model, found[first].manifest.model
        if name != used:
            say(f"{name} has the weights of {used}, and counts as {used}.")
    return {path: found[path] for path in sorted(kept.values())}


def _with_settings(found: Found, asked: Mapping[str, set[str]], one_revision: bool) -> Found:
    """Those with these settings.

    one_revision: a revision is one of a model's several, and leaves models that have one alone.
    """
    chosen = {path: one for path, one in found.items() if one.manifest.has(asked)}
    if not (one_revision and chosen and "revision" in asked):
        return chosen
    others = {name: values for name, values in asked.items() if name != "revision"}
    decided = {(one.manifest.model, one.manifest.corpus) for one in chosen.values()}
    for path, one in found.items():
        undecided = (one.manifest.model, one.manifest.corpus) not in decided
        if undecided and one.manifest.has(others):
            chosen[path] = one
    return dict(sorted(chosen.items()))


def _one_checkpoint(found: Found, checkpoint: str, say: Callable[[str], None]) -> Found:
    """One checkpoint of each run, and all models that are of no run.

    checkpoint: "last", or the number of a step ("300"). InputError if no run has it.
    """
    if checkpoint != "last" and not checkpoint.isdecimal():
        raise InputError(f"checkpoint {checkpoint!r}: give last, or the number of a step")
    runs: dict[tuple[str, str], dict[Path, int]] = {}  # the steps of each run on each corpus
    for path, summary in found.items():
        if of_run := run_and_step(summary.manifest.model):
            run, step = of_run
            runs.setdefault((run, summary.manifest.corpus), {})[path] = step
    left_out = set()
    for steps in runs.values():
        wanted = max(steps.values()) if checkpoint == "last" else int(checkpoint)
        left_out |= {path for path, step in steps.items() if step != wanted}
    if left_out and len(left_out) == sum(map(len, runs.values())):
        last = sorted({max(steps.values()) for steps in runs.values()})
        listed = ", ".join(map(str, last))
        raise InputError(f"no run has the checkpoint {checkpoint}; the last ones are {listed}")
    if left_out:
        which = "the last checkpoint" if checkpoint == "last" else f"checkpoint {checkpoint}"
        names = sorted({found[path].manifest.model for path in left_out})
        listed = _listed(names, most=8)
        say(f"Of each training run only {which} is used; left out: {listed}.")
    return {path: summary for path, summary in found.items() if path not in left_out}


def _check_one_setting(found: Found) -> None:
    """InputError if a model was measured on one corpus under several settings.

    It names them, and says how to choose one: the first of each.
    """
    jobs: dict[tuple[str, str], dict[JobKey, Path]] = {}
    for path, summary in found.items():
        manifest = summary.manifest
        jobs.setdefault((manifest.model, manifest.corpus), {})[manifest.key] = path
    for (model, corpus), path_of in jobs.items():
        values: dict[str, list[str]] = {}
        for name in choosable():
            different = list(dict.fromkeys(str(key.setting(name)) for key in path_of))
            if len(different) > 1:
                values[name] = beginnings(different)
        if not values:
            continue
        listed = "; ".join(f"{name} {' or '.join(some)}" for name, some in values.items())
        options = " ".join(f"--where {name}={some[0]}" for name, some in values.items())
        fault = (
            f"{model} on {corpus} was measured under several settings: {listed}; choose one, as"
            f" {options} (in Python: load_summaries(folder, {next(iter(values))}=...))"
        )
        if "revision" in values:
            files = "; ".join(map(job_files, path_of.values()))
            fault += (
                f", measure one under another --name, or delete the records of the other: {files}"
            )
        raise InputError(fault)


def job_files(path: Path) -> str:
    """The names of a job's files, for people; path: of its records or its summary."""
    name = path.name.removesuffix(".summary.npz").removesuffix(".parquet")
    return f"{path.parent / name}.parquet, .json and .summary.npz"


def summary_of(job: RecordFile) -> Summary:
    """The summary of a finished job.

    Read from its .summary.npz; made from the records if that is missing, damaged or of others.
    """
    path = _summary_file(job.path)
    with suppress(InputError, OSError):
        stored = Summary.from_bytes(path.read_bytes(), path)
        if stored.manifest == job.manifest:
            return stored
    return Records.load(job.path).summary()


def _finished(path: Path) -> bool:
    return path.is_file() and _marker(path).is_file()


def _verified(path: Path, manifest: Manifest) -> bytes:
    """The Parquet file's bytes; InputError unless they are those that the manifest names."""
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != manifest.sha256:
        what = "its bytes are not those that its manifest names"
        raise InputError(f"{path}: damaged ({what}); delete it and measure again")
    return data


def _bare(manifest: Manifest) -> Manifest:
    """The manifest as the Parquet file carries it: without what a run or a later name changes."""
    return manifest.model_copy(update={"seconds": 0.0, "sha256": "", **AMENDED})
