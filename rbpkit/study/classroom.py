"""A class's studies: the slopes of every parameter file of a folder in one table and one figure."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from pydantic import ValidationError

import rbpkit
from rbpkit.errors import InputError, one_line
from rbpkit.files.writing import as_csv, write_whole
from rbpkit.plots import save, style
from rbpkit.records import load_summaries
from rbpkit.study.notebooks import notebook_called, run
from rbpkit.study.params import load_params, problems
from rbpkit.study.reproduce import comparison, reference_summaries
from rbpkit.summary import Summary

COMPARISON = "comparison"


def run_class(
    folder: Path,
    out: Path,
    *,
    notebook: str | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, list[str]]:
    """Gather the slopes of every parameter file of `folder` in `out`, and run a notebook on each.

    Written: comparison.csv (slopes as `rbpkit reproduce` compares them) and comparison.png, its
    figure; failures.csv (file, reason; a row for each fault). With a notebook also runs/FILE/ with
    the executed notebook and its figures, and NAME.csv for each table that it writes. A relative
    records_dir is looked up next to its file. Nothing is measured: what a file asks for must be
    there, or come with a plugin. A file that cannot be run does not stop the others, and a template
    of params/class that was not changed counts as not handed in.

    Returns what is wrong with the files that could not be run: file -> a line for each fault.
    Raises InputError, before anything is run, if the notebook or the folder is missing.
    """
    name = None if notebook is None else notebook_called(notebook)
    handed_in, templates = _files_of(folder)
    for path in templates:
        say(f"{path.name}: not handed in (a template, not changed)")
    failures: dict[str, list[str]] = {}
    parts: dict[str, list[pd.DataFrame]] = {}
    for path in handed_in:
        try:
            tables = _tables_of(path, name, out / "runs" / path.name)
        except Exception as error:  # whatever one file brings along, the others are run
            failures[path.name] = _faults(error)
            for fault in failures[path.name]:
                say(f"{path.name}: failed: {fault}")
            continue
        say(f"{path.name}: done")
        for table_name, rows in tables.items():
            rows.insert(0, "file", path.name)
            parts.setdefault(table_name, []).append(rows)
    gathered = {table: pd.concat(rows, ignore_index=True) for table, rows in parts.items()}
    if gathered:
        save(class_figure(gathered[COMPARISON]), gathered[COMPARISON], str(out), COMPARISON)
    listed = []
    for file, faults in failures.items():
        listed += [(file, fault) for fault in faults]
    gathered["failures"] = pd.DataFrame(listed, columns=["file", "reason"])
    files = {f"{table}.csv": as_csv(rows).encode() for table, rows in gathered.items()}
    write_whole(out, files)
    say(
        f"{len(handed_in) - len(failures)} ran, {len(failures)} failed, {len(templates)} not handed"
        f" in; {', '.join(sorted(gathered))} in {out}"
    )
    return failures


def _files_of(folder: Path) -> tuple[list[Path], list[Path]]:
    """The parameter files of a folder: those handed in, and templates that nobody changed.

    Raises InputError if there are none.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    files = sorted(p for p in folder.iterdir() if p.suffix in {".yaml", ".yml"} and p.is_file())
    if not files:
        raise InputError(f"{folder}: no parameter files (.yaml) in it")
    class_dir = Path(rbpkit.__file__).resolve().parent.parent / "params" / "class"
    templates = {path.read_bytes() for path in class_dir.glob("*.yaml")}
    handed_in = [path for path in files if path.read_bytes() not in templates]
    unchanged = [path for path in files if path not in handed_in]
    return handed_in, unchanged


def _faults(error: Exception) -> list[str]:
    """What is wrong with a file, a line for each fault."""
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        return problems(cause)
    return [str(error) if isinstance(error, InputError) else one_line(error)]


def class_figure(table: pd.DataFrame) -> Figure:
    """The exponents of the class, CE's and alpha_k for each k, with their 95% intervals.

    table: `comparison` with a column `file`. A colour for each study. Hollow: all sizes of
    its family in the reference, on the same text. Grey: the range of the paper's exponents for its
    family.
    """
    file = table["file"].str.replace(r"\.ya?ml$", "", regex=True)
    table = table.assign(study=file + ": " + table["family"] + ", " + table["corpus"])
    # "CE" first, then "RBP_1", "RBP_10" by their k.
    quantities = sorted(set(table["quantity"]), key=lambda name: int(name.partition("_")[2] or 0))
    studies = list(table.groupby("study", sort=False))
    colours = sns.color_palette("husl", len(studies))
    with style():
        figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
        for number, (study, rows) in enumerate(studies):
            aside = 0.7 * ((number + 0.5) / len(studies) - 0.5)  # next to each other, not on top
            x = rows["quantity"].map(quantities.index) + aside
            alpha = -rows["slope"]
            around = [alpha + rows["high"], -rows["low"] - alpha]
            axes.errorbar(x, alpha, around, fmt="o", color=colours[number], label=study)
            # The first study alone puts these two into the legend.
            axes.plot(
                x,
                -rows["reference"],
                marker="o",
                color="black",
                markersize=10,
                fillstyle="none",
                linestyle="",
                label="all reference sizes" if number == 0 else None,
            )
            axes.vlines(
                x,
                -rows["paper_to"],
                -rows["paper_from"],
                color="#DDDDDD",
                linewidth=8,
                zorder=0,
                label="the paper's range" if number == 0 else "",
            )
        axes.set_xticks(range(len(quantities)), quantities)
        axes.set_ylabel("exponent, with its 95% interval")
        middle = -table[["slope", "reference", "paper_from", "paper_to"]].to_numpy()
        # The interval of three sizes is often far longer than that, and is cut.
        axes.set_ylim(np.nanmin(middle) - 0.05, np.nanmax(middle) + 0.05)
        figure.legend(loc="outside right upper")
    return figure


def _tables_of(path: Path, notebook: str | None, out: Path) -> dict[str, pd.DataFrame]:
    """The tables of one file: the comparison, and those of its notebook."""
    params = load_params(path)
    values = params.model_dump(mode="json")
    if params.records_dir:
        folder = path.parent / os.path.expanduser(params.records_dir)
        values["records_dir"] = str(folder.resolve())
        summaries = load_summaries(folder.resolve())
    elif params.source == "hub" or params.model_ids:
        raise InputError(
            f"{path.name}: asks for models that were not measured; run `rbpkit reproduce "
            f"{path.name}` and name its records as records_dir"
        )
    else:
        summaries = reference_summaries(params.corpus_names)
    chosen: list[Summary] = []
    for summary in summaries:
        asked_family = not params.families or summary.manifest.family in params.families
        asked_text = not params.corpus_names or summary.manifest.corpus in params.corpus_names
        if asked_family and asked_text:
            chosen.append(summary)
    if not chosen:
        asked_families = ", ".join(params.families) or "any"
        asked_texts = ", ".join(params.corpus_names) or "any text"
        asked = f"{asked_families} on {asked_texts}"
        raise InputError(f"nothing that it asks for was measured ({asked})")
    tables = {COMPARISON: comparison(chosen, params.ks)}
    if notebook is not None:
        shutil.rmtree(out, ignore_errors=True)  # no table of an earlier run may be gathered
        figures = (out / "figures").resolve()
        values["figures_dir"] = str(figures)
        run(notebook, values, out)
        for file in sorted(figures.glob("*.csv")):
            tables[file.stem] = pd.read_csv(file)
    return tables
