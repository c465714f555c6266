"""Reproduce a study: measure it, run the notebooks on what was measured, compare.

Everything is written into one folder; nothing that the repository tracks is touched.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd

from rbpkit import paper, plugins
from rbpkit.errors import InputError
from rbpkit.fit import Measured, curves_of_all, fit_curves
from rbpkit.records import slug
from rbpkit.summary import Summary
from rbpkit.tools.study.checks import cores
from rbpkit.tools.study.jobs import study_models
from rbpkit.tools.study.notebooks import notebook_called, notebook_names, run
from rbpkit.tools.study.params import Params
from rbpkit.tools.study.sweep import sweep
from rbpkit.writing import as_csv, write_whole

# How far a measured value may be from the reference. Another processor sums in another order, so
# that here and there two logits that nearly tie change places: 2e-4 is six tokens of the smallest
# pocket corpus. Seen: 1 token of 105,656, and CE moved by 2e-8 nats.
RBP_TOLERANCE = 2e-4
CE_TOLERANCE = 1e-4  # nats
# What two measurements of one name must share to be compared.
SHARED = ("fingerprint", "max_length", "dtype", "tokens", "revision")


# -- the study --------------------------------------------------------------------------------


def reproduce(
    params: Params,
    out: Path,
    *,
    notebooks: Sequence[str] = (),
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> bool:
    """Measure a study into `out`/records, run notebooks on that, and compare; True if all is well.

    Models that have to be trained first are trained into `out`/models. The notebooks read
    `out`/summaries, which has what this study measured. They draw into `out`/figures and are
    written, executed, to `out`/notebooks; `out`/comparison.csv has the slopes (`comparison`).
    notebooks: numbers or names of those to run; all by default.
    All is well if no job and no notebook failed and every RBP_k and CE is within its tolerance of
    the reference (`compare_with_reference`). Raises InputError, before anything runs, if the study
    is at fault or the notebooks are not there.
    """
    names = [notebook_called(name) for name in notebooks] or notebook_names()
    train_models(params, out / "models", say=say, progress=progress)
    processes = cores() if params.device == "cpu" else 1
    result = sweep(params, out / "records", workers=processes, say=say, progress=progress)
    if not result.measured:
        say("nothing was measured, so no notebook is run")
        return False
    measured = [done.summary for done in result.measured]
    values = _parameters_of_notebooks(params, measured, out)
    notebooks_ran = _run_notebooks(names, values, out / "notebooks", processes, say)
    _write_slopes(measured, params.ks, out, say)
    for plugin in plugins_of(measured):
        for line in plugins.reference_of(plugin).remarks(measured):
            say(line)
    agrees = compare_with_reference(measured, params.ks, say=say)
    for failure in result.failures:
        say(f"failed: {failure.job.model} on {failure.job.corpus}: {failure.reason}")
    return notebooks_ran and agrees and not result.failures


def train_models(params: Params, out: Path, *, say: Callable[[str], None], progress: bool) -> None:
    """Train those of the study's models that have to be trained first, into `out`.

    An interrupted training resumes. Raises InputError, before any training, for a study whose
    models are at fault.
    """
    names_of: dict[str, list[str]] = {}
    for name, source in study_models(params).items():
        plugin = plugins.prefix_of(source)
        if plugin is not None:
            names_of.setdefault(plugin, []).append(name)
    for plugin, names in names_of.items():
        train = plugins.reference_of(plugin).train
        train(names, out, device=params.device or "cpu", say=say, progress=progress)


def _parameters_of_notebooks(
    params: Params, measured: Sequence[Summary], out: Path
) -> dict[str, Any]:
    """Write the summaries into `out`/summaries -> what the notebooks that read them are given."""
    summaries = out / "summaries"
    # Those of this study alone: the records may lie next to those of other settings.
    shutil.rmtree(summaries, ignore_errors=True)
    for summary in measured:
        folder = summaries / slug(summary.manifest.corpus)
        file = f"{slug(summary.manifest.model)}.summary.npz"
        write_whole(folder, {file: summary.to_bytes()})
    values = params.model_dump(mode="json")
    # The names that the records carry: the corpus of a file has the file's base name.
    values["families"] = list(dict.fromkeys(s.manifest.family for s in measured))
    values["corpus_names"] = list(dict.fromkeys(s.manifest.corpus for s in measured))
    values["records_dir"] = str(summaries.resolve())
    values["figures_dir"] = str((out / "figures").resolve())
    return values


def _run_notebooks(
    names: Sequence[str],
    values: dict[str, Any],
    out: Path,
    processes: int,
    say: Callable[[str], None],
) -> bool:
    """Run notebooks into `out`, some at a time; whether all of them ran."""
    all_ran = True
    first = [name for name in names if not name.startswith("12_")]
    last = [name for name in names if name.startswith("12_")]  # it reads what the others write
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for batch in (first, last):
            running = [pool.submit(run, name, values, out) for name in batch]
            for notebook in running:
                try:
                    say(f"notebook: {notebook.result()}")
                except InputError as error:
                    say(f"failed: {error}")
                    all_ran = False
    return all_ran


def _write_slopes(
    measured: Sequence[Summary], ks: Sequence[int], out: Path, say: Callable[[str], None]
) -> None:
    """Write `out`/comparison.csv, and say it, with what could not be fitted."""
    table, refused = comparison(measured, ks)
    for reason in refused:
        say(f"no fit: {reason}")
    write_whole(out, {"comparison.csv": as_csv(table).encode()})
    say("slopes of log(-log RBP_k), and of log CE, on log S; the paper's are over its six corpora:")
    say(table.to_string(index=False, float_format=lambda value: f"{value:.4f}", na_rep="-"))


# -- the comparison with the reference --------------------------------------------------------


def plugins_of(measured: Sequence[Measured]) -> list[str]:
    """The installed plugins that have the corpora of these models."""
    prefixes = {plugins.prefix_of(job.manifest.corpus) for job in measured}
    return [plugin for plugin in plugins.plugin_names("reference") if plugin in prefixes]


def differing(job: Measured, expected: Measured) -> list[str]:
    """Those of `SHARED` that differ."""
    here, there = job.manifest, expected.manifest
    return [key for key in SHARED if getattr(here, key) != getattr(there, key)]


def compare_with_reference(
    measured: Sequence[Measured], ks: Sequence[int], *, say: Callable[[str], None]
) -> bool:
    """Whether each RBP_k and CE is within `RBP_TOLERANCE`, `CE_TOLERANCE` of the reference.

    The reference is the plugin's summary of the same model and corpus. Says the largest differences
    of each corpus, and if any job was compared, how many, and OK or not. A job whose text, weights
    or settings are not the reference's is not compared, and a line says so.
    """
    reference = {}
    for plugin in plugins_of(measured):
        for summary in plugins.reference_of(plugin).summaries():
            reference[summary.manifest.model, summary.manifest.corpus] = summary
    rows = []
    compared = 0
    not_compared: Counter[tuple[str, str]] = Counter()
    for job in measured:
        model, corpus = job.manifest.model, job.manifest.corpus
        expected = reference.get((model, corpus))
        if expected is None:
            continue
        keys = differing(job, expected)
        if keys:
            not_compared[corpus, ", ".join(keys)] += 1
            continue
        compared += 1
        rows.append((corpus, "CE", model, "CE", job.ce(), expected.ce(), CE_TOLERANCE))
        for k in ks:
            name = f"RBP_{k}"
            rows.append((corpus, "RBP", model, name, job.rbp(k), expected.rbp(k), RBP_TOLERANCE))
    for (corpus, what_differs), jobs in not_compared.items():
        say(f"{corpus}: {jobs} models not compared: the reference has another {what_differs}")
    if not compared:
        return True
    columns = ["corpus", "kind", "model", "quantity", "measured", "reference", "tolerance"]
    table = pd.DataFrame(rows, columns=columns)
    table["difference"] = (table["measured"] - table["reference"]).abs()
    largest = table.loc[table.groupby(["corpus", "kind"])["difference"].idxmax()]
    say("largest differences from the reference:")
    say(largest.drop(columns="kind").to_string(index=False, float_format="{:.6g}".format))
    beyond = int((table["difference"] > table["tolerance"]).sum())
    verdict = f"NOT OK, {beyond} values beyond the tolerance" if beyond else "OK"
    say(f"{compared} of {len(measured)} jobs compared with the reference: {verdict}")
    return not beyond


def comparison(
    measured: Sequence[Measured], ks: Sequence[int]
) -> tuple[pd.DataFrame, Sequence[str]]:
    """Slope and R2 measured, of the reference and published: a row per (corpus, family, quantity).

    low, high: t interval of the slope, 95%.
    reference: the slope of the plugin's own models on the same text (`plugins.Reference.beside`,
        which also says which of them are fitted together with those measured).
    difference: slope - reference.
    paper_from, paper_to: the range of the paper's slopes for that family over its six corpora
        (Table 1), since no corpus here need be one of the paper's.
    NaN if there is nothing to compare with. Also, in words, what could not be fitted.
    """
    keys = ["corpus", "family", "quantity"]
    fitted = list(measured)
    reference: list[Measured] = []
    for plugin in plugins_of(measured):
        also_fitted, compared = plugins.reference_of(plugin).beside(measured)
        fitted += also_fitted
        reference += compared
    fits = fit_curves(curves_of_all(fitted, ks))
    table = fits.table[[*keys, "n", "slope", "low", "high", "R2"]]
    slopes = fit_curves(curves_of_all(reference, ks)).table[[*keys, "slope"]]
    slopes = slopes.rename(columns={"slope": "reference"}).astype({"reference": float})
    table = table.merge(slopes, on=keys, how="left")
    table["difference"] = table["slope"] - table["reference"]
    published = paper.table("table1")
    published["quantity"] = ["CE" if k == "CE" else f"RBP_{k}" for k in published["k"]]
    span = published.groupby(["family", "quantity"])["slope"].agg(["min", "max"]).reset_index()
    span = span.rename(columns={"min": "paper_from", "max": "paper_to"})
    return table.merge(span, on=["family", "quantity"], how="left"), fits.refused
