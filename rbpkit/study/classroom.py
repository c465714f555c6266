"""A class's studies: a notebook run on each parameter file of a folder, the tables gathered.

One file that cannot be run does not stop the others; it is listed with its reason.
"""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from rbpkit.errors import InputError
from rbpkit.files.whole import as_csv, write_whole
from rbpkit.pocket import ladders
from rbpkit.records import load_summaries
from rbpkit.study.notebooks import notebook_names, run
from rbpkit.study.params import Params, load_params
from rbpkit.study.reproduce import comparison

FILE = "file"  # the column that says whose row it is
FOLDERS = ("records_dir", "audit_dir")


@dataclass(frozen=True)
class Failure:
    """A parameter file that gave nothing, and why, in one line."""

    file: str
    reason: str


@dataclass(frozen=True, eq=False)
class ClassroomResult:
    """done: files that ran, in order. failures: the others. tables: name -> table, column FILE."""

    done: tuple[str, ...]
    failures: tuple[Failure, ...]
    tables: dict[str, pd.DataFrame]


def notebook_called(name: str) -> str:
    """The notebook of a number ("03") or a name. InputError for none, with the nearest."""
    names = notebook_names()
    stem = Path(name).name.removesuffix(".ipynb")
    found = [one for one in names if one == stem or one.split("_")[0] == stem.zfill(2)]
    if len(found) == 1:
        return found[0]
    near = difflib.get_close_matches(stem, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
    raise InputError(f"no notebook {name!r}; {hint}")


def parameter_files(folder: Path) -> list[Path]:
    """The .yaml and .yml files of a folder, by name. InputError where there is none."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    files = sorted(p for p in folder.iterdir() if p.suffix in {".yaml", ".yml"} and p.is_file())
    if not files:
        raise InputError(f"{folder}: no parameter files (.yaml) in it")
    return files


def run_class(
    folder: Path, notebook: str, out: Path, *, say: Callable[[str], None] = lambda line: None
) -> ClassroomResult:
    """Run a notebook on every parameter file of `folder`; write its pages and tables into `out`.

    Written: runs/FILE/ with the executed notebook and its figures; NAME.csv for each table that
    the notebook writes, and comparison.csv (slope and R2 as `rbpkit reproduce` compares them),
    each with a column `file`; failures.csv (file, reason). A relative records_dir or audit_dir is
    looked up beside its file. Nothing is measured: what a file asks for must be in its records_dir
    or, for the shipped models, may be left out.

    Raises InputError, before anything is run, for a notebook or folder that is not there.
    """
    name = notebook_called(notebook)
    files = parameter_files(folder)
    done: list[str] = []
    failures: list[Failure] = []
    parts: dict[str, list[pd.DataFrame]] = {}
    for number, path in enumerate(files, 1):
        place = f"{number} of {len(files)}: {path.name}"
        try:
            found = _tables_of(path, name, out / "runs" / path.name)
        except (InputError, OSError, RuntimeError, ValueError) as error:
            # RuntimeError: a kernel that died. ValueError: records that are not what they say.
            reason = " ".join(str(error).split()) or type(error).__name__
            failures.append(Failure(path.name, reason))
            say(f"{place}: failed: {reason}")
            continue
        done.append(path.name)
        say(place)
        for table, rows in found.items():
            rows.insert(0, FILE, path.name)
            parts.setdefault(table, []).append(rows)
    tables = {table: pd.concat(rows, ignore_index=True) for table, rows in parts.items()}
    listed = pd.DataFrame([(f.file, f.reason) for f in failures], columns=[FILE, "reason"])
    written = {f"{table}.csv": rows for table, rows in {**tables, "failures": listed}.items()}
    write_whole(out, {name: as_csv(rows).encode() for name, rows in written.items()})
    return ClassroomResult(tuple(done), tuple(failures), tables)


def _tables_of(path: Path, notebook: str, out: Path) -> dict[str, pd.DataFrame]:
    """The tables of one file: those of its notebook, and the comparison."""
    params = load_params(path)
    values = params.model_dump(mode="json")
    for key in FOLDERS:
        if values[key]:
            values[key] = str((path.parent / Path(values[key]).expanduser()).resolve())
    if not values["records_dir"] and (
        params.source != "pocket" or params.model_ids or params.train_anew
    ):
        raise InputError(
            f"{path.name}: asks for models that do not ship measured; run `rbpkit reproduce "
            f"{path.name}` and name its records as records_dir"
        )
    compared = _compared(params, values["records_dir"])
    shutil.rmtree(out, ignore_errors=True)  # no table of an earlier run may be gathered
    figures = out / "figures"
    run(notebook, {**values, "figures_dir": str(figures.resolve())}, out)
    tables = {file.stem: pd.read_csv(file) for file in sorted(figures.glob("*.csv"))}
    return {"comparison": compared, **tables}


def _compared(params: Params, records_dir: str) -> pd.DataFrame:
    """Slope and R2 of what the file asks for; InputError where it names nothing that is there."""
    every = load_summaries(records_dir or ladders.summaries_root())
    chosen = [
        one
        for one in every
        if one.manifest.corpus in params.corpus_names
        and (not params.families or one.manifest.family in params.families)
    ]
    if not chosen:
        asked = f"{', '.join(params.families) or 'any'} on {', '.join(params.corpus_names)}"
        raise InputError(f"nothing was measured of what it asks for ({asked})")
    return comparison(chosen, params.ks)
