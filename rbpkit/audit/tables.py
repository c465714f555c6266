"""Small tables of the audit that need every token, computed once from records.

A table holds rows of every job, each begun by corpus, family, model, S and V. `rbpkit audit` writes
them; those of the pocket models ship in rbpkit/data/pocket/audit. Notebooks 17
and 23 read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from rbpkit.audit import precision, strata, tokens
from rbpkit.errors import InputError
from rbpkit.files.manifest import Manifest
from rbpkit.files.writing import write_whole
from rbpkit.pocket import recipes
from rbpkit.records import Records, iter_manifests
from rbpkit.stats import calibration

JOB = ("corpus", "family", "model", "S", "V")
# The identity of a job's numbers: a table's rows are shown beside the summaries of that job only.
SAME = ("family", "model", "corpus", "fingerprint", "revision", "max_length", "dtype", "tokens")
JOBS = "jobs"  # the table of which jobs the others are of
DIGITS = 6  # significant, of every number that is not whole

OF_RECORDS = {}
OF_RECORDS_IN_CONTEXT = {}
OF_A_FAMILY = {}
OF_A_FAMILY_IN_CONTEXT = {}
for _module in (calibration, strata, tokens):
    OF_RECORDS |= getattr(_module, "TABLES", {})
    OF_RECORDS_IN_CONTEXT |= getattr(_module, "CONTEXT_TABLES", {})
    OF_A_FAMILY |= getattr(_module, "FAMILY_TABLES", {})
    OF_A_FAMILY_IN_CONTEXT |= getattr(_module, "FAMILY_CONTEXT_TABLES", {})
OF_MODELS = precision.MODEL_TABLES


def audit_root() -> Path:
    """The folder of the shipped tables."""
    return recipes.DATA / "audit"


def write_tables(
    records_dir: str | Path,
    out: str | Path,
    *,
    models: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> list[Path]:
    """Compute every table from the records in `records_dir`, into `out`/NAME.csv.

    models: also what needs the pocket models themselves (ties in 16 bits), minutes more.
    Tables by kinds of tokens are of the pocket corpora alone, whose training text is known.
    Raises InputError as `records.iter_manifests` and `Records.load` do, and for no records at all.
    """
    jobs = sorted(iter_manifests(records_dir), key=lambda job: _order(job.manifest))
    if not jobs:
        raise InputError(f"{records_dir}: no records here; summaries alone are not enough")
    parts: dict[str, list[pd.DataFrame]] = {}
    groups: dict[tuple[str, str], list[Path]] = {}
    for job in jobs:
        manifest = job.manifest
        records = Records.load(job.path)
        for name, table in OF_RECORDS.items():
            parts.setdefault(name, []).append(_of_job(table(records), manifest))
        for name, table in OF_RECORDS_IN_CONTEXT.items():
            context = _context(manifest)
            if context is not None:
                parts.setdefault(name, []).append(_of_job(table(records, context), manifest))
        groups.setdefault((manifest.corpus, manifest.family), []).append(job.path)
        say(f"audited: {manifest.model} on {manifest.corpus}")
    for (corpus, family), paths in groups.items():
        every = [Records.load(path) for path in paths]
        context = _context(every[0].manifest)
        of_family = {name: (table, (every,)) for name, table in OF_A_FAMILY.items()}
        if context is not None:
            in_context = OF_A_FAMILY_IN_CONTEXT.items()
            of_family |= {name: (table, (every, context)) for name, table in in_context}
        for name, (table, given) in of_family.items():
            try:
                frame = table(*given)
            except InputError as error:  # too few models for a line, or not of the same text
                say(f"left out: {name} of {family} on {corpus}: {error}")
                continue
            parts.setdefault(name, []).append(_prefixed(frame, corpus=corpus, family=family))
        say(f"audited: {family} on {corpus}, {len(every)} models")
    tables = {name: pd.concat(frames, ignore_index=True) for name, frames in parts.items()}
    tables[JOBS] = pd.DataFrame([{key: getattr(job.manifest, key) for key in SAME} for job in jobs])
    if models:
        tables |= {name: table() for name, table in OF_MODELS.items()}
    folder = Path(out)
    number = f"%.{DIGITS}g"
    files = {
        f"{name}.csv": frame.to_csv(index=False, float_format=number, lineterminator="\n").encode()
        for name, frame in tables.items()
    }
    write_whole(folder, files)
    return [folder / name for name in files]


def load_tables(
    manifests: Iterable[Manifest], folder: str | Path | None = None
) -> dict[str, pd.DataFrame]:
    """The tables in `folder` (by default the shipped ones), of the given jobs only.

    Rows of a job whose text, weights or settings are not those of a manifest given are left out;
    a table that is left with none is too. Raises InputError for a folder without tables.
    """
    root = audit_root() if folder is None else Path(folder)
    if not (root / f"{JOBS}.csv").is_file():
        raise InputError(f"{root}: no tables of the audit here; make them with `rbpkit audit`")
    known = {tuple(str(getattr(one, key)) for key in SAME) for one in manifests}
    jobs = pd.read_csv(root / f"{JOBS}.csv", dtype=str, keep_default_na=False)
    same = [row in known for row in jobs[list(SAME)].itertuples(index=False, name=None)]
    jobs = jobs.assign(same=same)
    tables = {}
    for path in sorted(root.glob("*.csv")):
        frame = pd.read_csv(path)
        # A table of whole families is shown only where every model of the family is the same.
        keys = [key for key in ("corpus", "family", "model") if key in frame]
        if path.stem == JOBS or not keys:
            continue
        alike = jobs.groupby(keys)["same"].all().reset_index()
        kept = set(alike.loc[alike["same"], keys].itertuples(index=False, name=None))
        rows = frame[keys].itertuples(index=False, name=None)
        frame = frame[np.fromiter((row in kept for row in rows), dtype=bool, count=len(frame))]
        if len(frame):
            tables[path.stem] = frame.reset_index(drop=True)
    return tables


def _context(manifest: Manifest) -> strata.Context | None:
    """The `Context` of a job on a pocket corpus, in the pocket models' tokens; None of another."""
    pocket = manifest.corpus.startswith("pocket:") and manifest.V == recipes.V
    return strata.pocket_context() if pocket else None


def _order(manifest: Manifest) -> tuple:
    return manifest.corpus, manifest.family, manifest.S, manifest.model


def _of_job(frame: pd.DataFrame, manifest: Manifest) -> pd.DataFrame:
    return _prefixed(frame, **{key: getattr(manifest, key) for key in JOB})


def _prefixed(frame: pd.DataFrame, **values: object) -> pd.DataFrame:
    frame = frame.reset_index(drop=True)
    prefix = pd.DataFrame({key: [value] * len(frame) for key, value in values.items()})
    return pd.concat([prefix, frame], axis=1)
