"""Reproduce a study: measure it, run the notebooks on what was measured, compare.

Everything is written into one folder; nothing that the repository tracks is touched.
"""

from __future__ import annotations

import shutil
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
from rbpkit.tools.study.engines import cores
from rbpkit.tools.study.jobs import model_sources
from rbpkit.tools.study.notebooks import notebook_called, notebook_names, run
from rbpkit.tools.study.params import Params
from rbpkit.tools.study.reference import reference_of
from rbpkit.tools.study.sweep import sweep
from rbpkit.writing import as_csv, write_whole

# How far a measured value may be from the reference. Another processor sums in another order, so
# that here and there two logits that nearly tie change places: 2e-4 is six tokens of the smallest
# pocket corpus. Seen: 1 token of 105,656, and CE moved by 2e-8 nats.
RBP_TOLERANCE = 2e-4
CE_TOLERANCE = 1e-4  # nats
# What two measurements of one name must share to be compared.
SHARED = ("fingerprint", "max_length", "dtype", "tokens", "revision")
Say = Callable[[str], None]


# -- the study --------------------------------------------------------------------------------


def reproduce(
    params: Params,
    out: Path,
    *,
    notebooks: Sequence[str] = (),
    say: Say = lambda line: None,
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
    is_well = not result.failures
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        # The claims on one page, 12, read what the other notebooks write.
        for is_last in (False, True):
            batch = [name for name in names if name.startswith("12_") == is_last]
            for running in [pool.submit(run, name, values, out / "notebooks") for name in batch]:
                try:
                    say(f"notebook: {running.result()}")
                except InputError as error:
                    say(f"failed: {error}")
                    is_well = False
    table, refused = comparison(measured, params.ks)
    write_whole(out, {"comparison.csv": as_csv(table).encode()})
    for reason in refused:
        say(f"no fit: {reason}")
    say("slopes of log(-log RBP_k), and of log CE, on log S; the paper's are over its six corpora:")
    say(table.to_string(index=False, float_format="{:.4f}".format, na_rep="-"))
    for plugin in plugins_of(measured):
        for line in reference_of(plugin).remarks(measured):
            say(line)
    return compare_with_reference(measured, params.ks, say=say) and is_well


def train_models(params: Params, out: Path, *, say: Say, progress: bool) -> None:
    """Train those of the study's models that have to be trained first, into `out`.

    An interrupted training resumes. Raises InputError, before any training, for a study whose
    models are at fault.
    """
    names_of: dict[str, list[str]] = {}
    for source in model_sources(params):
        plugin = plugins.prefix_of(source)
        if plugin is not None:
            names_of.setdefault(plugin, []).append(source.partition(":")[2])
    for plugin, names in names_of.items():
        train = reference_of(plugin).train
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
        write_whole(folder, {f"{slug(summary.manifest.model)}.summary.npz": summary.to_bytes()})
    return {
        **params.model_dump(mode="json"),
        # The names that the records carry: the corpus of a file has the file's base name.
        "families": list(dict.fromkeys(one.manifest.family for one in measured)),
        "corpus_names": list(dict.fromkeys(one.manifest.corpus for one in measured)),
        "records_dir": str(summaries.resolve()),
        "figures_dir": str((out / "figures").resolve()),
    }


# -- the comparison with the reference --------------------------------------------------------


def plugins_of(measured: Sequence[Measured]) -> list[str]:
    """The installed plugins that have the corpora of these models."""
    prefixes = {plugins.prefix_of(job.manifest.corpus) for job in measured}
    return [plugin for plugin in plugins.plugin_names("reference") if plugin in prefixes]


def differing(job: Measured, expected: Measured) -> list[str]:
    """Those of `SHARED` that differ."""
    here, there = job.manifest, expected.manifest
    return [key for key in SHARED if getattr(here, key) != getattr(there, key)]


def compare_with_reference(measured: Sequence[Measured], ks: Sequence[int], *, say: Say) -> bool:
    """Whether each RBP_k and CE is within `RBP_TOLERANCE`, `CE_TOLERANCE` of the reference.

    The reference is the plugin's summary of the same model and corpus. Says which jobs are beyond
    the tolerances, how many were compared, and the largest differences. A job whose text, weights
    or settings are not the reference's is not compared, and a line says so.
    """
    reference = {}
    for plugin in plugins_of(measured):
        for summary in reference_of(plugin).summaries():
            reference[summary.manifest.model, summary.manifest.corpus] = summary
    CE, RBP, beyond, not_compared = [], [], 0, set()
    for job in measured:
        model, corpus = job.manifest.model, job.manifest.corpus
        expected = reference.get((model, corpus))
        if expected is None:
            continue
        if keys := differing(job, expected):
            not_compared.add(f"{corpus}: not compared: the reference has another {', '.join(keys)}")
            continue
        CE.append(abs(job.ce() - expected.ce()))
        RBP.append(max(abs(job.rbp(k) - expected.rbp(k)) for k in ks))
        if CE[-1] > CE_TOLERANCE or RBP[-1] > RBP_TOLERANCE:
            say(f"beyond the tolerances: {model} on {corpus}")
            beyond += 1
    for line in sorted(not_compared):
        say(line)
    if CE:
        say(f"largest differences from the reference: CE {max(CE):.2g}, RBP_k {max(RBP):.2g}")
        verdict = f"NOT OK, {beyond} beyond the tolerances" if beyond else "OK"
        say(f"{len(CE)} of {len(measured)} jobs compared with the reference: {verdict}")
    return not beyond


def comparison(
    measured: Sequence[Measured], ks: Sequence[int]
) -> tuple[pd.DataFrame, Sequence[str]]:
    """Slope and R2 measured, of the reference and published: a row per (corpus, family, quantity).

    low, high: t interval of the slope, 95%.
    reference: the slope of the plugin's own models on the same text (`Reference.beside`,
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
        also_fitted, compared = reference_of(plugin).beside(measured)
        fitted += also_fitted
        reference += compared
    fits = fit_curves(curves_of_all(fitted, (None, *ks)))
    table = fits.table[[*keys, "n", "slope", "low", "high", "R2"]]
    slopes = fit_curves(curves_of_all(reference, (None, *ks))).table[[*keys, "slope"]]
    slopes = slopes.rename(columns={"slope": "reference"}).astype({"reference": float})
    table = table.merge(slopes, on=keys, how="left")
    table["difference"] = table["slope"] - table["reference"]
    published = paper.table("table1")
    published["quantity"] = ["CE" if k == "CE" else f"RBP_{k}" for k in published["k"]]
    span = published.groupby(["family", "quantity"])["slope"].agg(paper_from="min", paper_to="max")
    return table.merge(span.reset_index(), on=["family", "quantity"], how="left"), fits.refused
