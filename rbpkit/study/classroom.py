"""A class's studies: the slopes of every parameter file of a folder in one table and one figure.

A notebook, where one is named, is run on each file, and its tables are gathered too. One file that
cannot be run does not stop the others; it is listed with its reason.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from rbpkit.errors import InputError
from rbpkit.files.writing import as_csv, write_whole
from rbpkit.pocket import ladders
from rbpkit.records import load_summaries
from rbpkit.sections.plots import save, style
from rbpkit.study.notebooks import notebook_called, run
from rbpkit.study.params import Params, load_params
from rbpkit.study.reproduce import comparison

FILE = "file"  # the column that says whose row it is
COMPARISON = "comparison"
FOLDERS = ("records_dir", "audit_dir")


@dataclass(frozen=True, eq=False)
class ClassroomResult:
    """done: files that ran, in order. failures: the others, file -> why, in one line.

    tables: name -> table, with a column FILE.
    """

    done: tuple[str, ...]
    failures: dict[str, str]
    tables: dict[str, pd.DataFrame]


def parameter_files(folder: Path) -> list[Path]:
    """The .yaml and .yml files of a folder, by name. InputError where there is none."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    files = sorted(p for p in folder.iterdir() if p.suffix in {".yaml", ".yml"} and p.is_file())
    if not files:
        raise InputError(f"{folder}: no parameter files (.yaml) in it")
    return files


def run_class(
    folder: Path,
    out: Path,
    *,
    notebook: str | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> ClassroomResult:
    """Gather the slopes of every parameter file of `folder` in `out`, and run a notebook on each.

    Written: comparison.csv (slopes as `rbpkit reproduce` compares them) and comparison.png, its
    figure; failures.csv (file, reason). With a notebook also runs/FILE/ with the executed notebook
    and its figures, and NAME.csv for each table that it writes. Every table has a column `file`. A
    relative records_dir or audit_dir is looked up beside its file. Nothing is measured: what a file
    asks for must be in its records_dir or, for the shipped models, may be left out.

    Raises InputError, before anything is run, for a notebook or folder that is not there.
    """
    name = notebook and notebook_called(notebook)
    files = parameter_files(folder)
    done: list[str] = []
    failures: dict[str, str] = {}
    parts: dict[str, list[pd.DataFrame]] = {}
    for number, path in enumerate(files, 1):
        place = f"{number} of {len(files)}: {path.name}"
        try:
            found = _tables_of(path, name, out / "runs" / path.name)
        except (InputError, OSError, RuntimeError, ValueError) as error:
            # RuntimeError: a kernel that died. ValueError: records that are not what they say.
            reason = " ".join(str(error).split()) or type(error).__name__
            failures[path.name] = reason
            say(f"{place}: failed: {reason}")
            continue
        done.append(path.name)
        say(place)
        for table, rows in found.items():
            rows.insert(0, FILE, path.name)
            parts.setdefault(table, []).append(rows)
    tables = {table: pd.concat(rows, ignore_index=True) for table, rows in parts.items()}
    listed = pd.DataFrame(failures.items(), columns=[FILE, "reason"])
    written = {**tables, "failures": listed}
    written.pop(COMPARISON, None)  # written with its figure
    write_whole(out, {f"{name}.csv": as_csv(rows).encode() for name, rows in written.items()})
    if COMPARISON in tables:
        save(class_figure(tables[COMPARISON]), tables[COMPARISON], str(out), COMPARISON)
    return ClassroomResult(tuple(done), failures, tables)


def class_figure(table: pd.DataFrame) -> Figure:
    """The exponents of the class: CE's, and alpha_k against k, each with its 95% interval.

    table: `comparison` with a column FILE. A colour a study; hollow: the shipped models of the same
    names on the same text; grey: the range of the paper's exponents of the studies' families.
    """
    study = table[FILE].str.replace(r"\.ya?ml$", "", regex=True)
    table = table.assign(study=study + ": " + table["family"] + ", " + table["corpus"])
    table["k"] = pd.to_numeric(table["quantity"].str.removeprefix("RBP_"), errors="coerce")
    names = list(dict.fromkeys(table["study"]))
    colours = dict(zip(names, sns.color_palette("husl", len(names)), strict=True))
    hollow = {"ls": "", "marker": "o", "color": "black", "markersize": 10, "fillstyle": "none"}
    with style():
        figure, panels = plt.subplots(
            1, 2, figsize=(9, 4.5), width_ratios=(1, 4), sharey=True, layout="constrained"
        )
        both = table[table["k"].isna()], table.dropna(subset="k")
        for axes, some in zip(panels, both, strict=True):
            on_k = axes is panels[1]
            for number, name in enumerate(names):
                one = some[some["study"] == name].sort_values("k")
                aside = (number - (len(names) - 1) / 2) / max(4, len(names))  # not on one another
                x = one["k"] * 1.5**aside if on_k else np.full(len(one), aside)
                alpha, shipped = -one["slope"], -one["shipped"]
                around = np.stack([alpha + one["high"], -one["low"] - alpha])
                axes.errorbar(x, alpha, around, fmt="o-", color=colours[name], label=name)
                axes.plot(x, shipped, **hollow)
            for _, rows in some.dropna(subset="paper_to").groupby("quantity"):
                k = rows["k"].iloc[0]
                x = (k / 1.3, k * 1.3) if on_k else (-0.6, 0.6)
                ends = -rows["paper_to"].max(), -rows["paper_from"].min()
                axes.fill_between(x, *ends, color="#DDDDDD", zorder=0)
        panels[0].set_xticks([0], ["CE"])
        panels[1].set_xscale("log")
        panels[1].set_xlabel("k")
        panels[0].set_ylabel("exponent, with its 95% interval")
        middle = -table[["slope", "shipped", "paper_from", "paper_to"]].to_numpy()
        # Three sizes give intervals far longer than that: they are cut.
        panels[0].set_ylim(np.nanmin(middle) - 0.05, np.nanmax(middle) + 0.05)
        handles = panels[1].get_legend_handles_labels()[0]
        handles += [
            Line2D([], [], **hollow, label="shipped models"),
            Patch(color="#DDDDDD", label="the paper's range"),
        ]
        figure.legend(handles=handles, loc="outside right upper")
    return figure


def _tables_of(path: Path, notebook: str | None, out: Path) -> dict[str, pd.DataFrame]:
    """The tables of one file: the comparison, and those of its notebook."""
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
    if notebook is None:
        return {COMPARISON: compared}
    shutil.rmtree(out, ignore_errors=True)  # no table of an earlier run may be gathered
    figures = out / "figures"
    run(notebook, {**values, "figures_dir": str(figures.resolve())}, out)
    tables = {file.stem: pd.read_csv(file) for file in sorted(figures.glob("*.csv"))}
    return {COMPARISON: compared, **tables}


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
