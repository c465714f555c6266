"""Reproduce a study: measure it, run the notebooks on what was measured, compare.

Everything is written into one folder; nothing that the repository tracks is touched.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd

from rbpkit import paper, plugins
from rbpkit.errors import InputError
from rbpkit.files.writing import as_csv, write_whole
from rbpkit.fit import Measured, fit_all
from rbpkit.plugins import Training
from rbpkit.records import slug
from rbpkit.study.checks import cores
from rbpkit.study.jobs import study_models
from rbpkit.study.notebooks import notebook_called, notebook_names, run
from rbpkit.study.params import Params
from rbpkit.study.sweep import sweep
from rbpkit.summary import Summary

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
    params = with_trained_models(params, out / "models", say=say, progress=progress)
    processes = 1
    if params.device == "cpu" and params.threads:
        processes = max(1, cores() // params.threads)
    result = sweep(params, out / "records", processes=processes, say=say, progress=progress)
    if not result.measured:
        say("nothing was measured, so no notebook is run")
        return False
    measured = [done.summary for done in result.measured]
    values = _parameters_of_notebooks(params, measured, out)
    notebooks_ran = _run_notebooks(names, values, out / "notebooks", processes, say)
    _write_slopes(measured, params.ks, out, say)
    trained_again = {id(job) for job in compare_with_other_seeds(measured, say=say)}
    others = [job for job in measured if id(job) not in trained_again]
    agrees = not others or compare_with_reference(others, params.ks, say=say)
    for failure in result.failures:
        say(f"failed: {failure.job.model} on {failure.job.corpus}: {failure.reason}")
    return notebooks_ran and agrees and not result.failures


def with_trained_models(
    params: Params, out: Path, *, say: Callable[[str], None], progress: bool
) -> Params:
    """The study with those of its models that have to be trained first trained into `out`.

    Its `model_ids` then name their folders. An interrupted training resumes. Raises InputError,
    before any training, for a study whose models are at fault.
    """
    models = study_models(params)
    to_train: dict[str, list[str]] = {}
    for name, source in models.items():
        if plugins.has_to_be_trained(source):
            to_train.setdefault(str(plugins.prefix_of(source)), []).append(name)
    if not to_train:
        return params
    for plugin, names in to_train.items():
        train = plugins.reference_of(plugin).train
        if train is None:
            raise InputError(f"the plugin {plugin!r} has no function that trains {names[0]}")
        device = params.device or "cpu"
        about = {"device": device, "say": say, "progress": progress}
        folders = plugins.called(plugin, f"training {names[0]}", train, names, out, **about)
        for name, folder in zip(names, folders, strict=True):
            models[name] = str(folder)
    return params.model_copy(update={"model_ids": tuple(models.values())})


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
    fitted, _ = fitted_and_reference(measured)
    for refused in fit_all(fitted, ks).refused:
        say(f"no fit: {refused}")
    table = comparison(measured, ks)
    write_whole(out, {"comparison.csv": as_csv(table).encode()})
    say("slopes of log(-log RBP_k), and of log CE, on log S; the paper's are over its six corpora:")
    say(table.to_string(index=False, float_format=lambda value: f"{value:.4f}", na_rep="-"))


# -- the comparison with the reference --------------------------------------------------------


def reference_summaries(corpora: Iterable[str]) -> list[Summary]:
    """The summaries that come with the plugins which have these corpora."""
    summaries: list[Summary] = []
    for plugin in _plugins_of(corpora):
        summaries += _summaries_of(plugin)
    return summaries


def _plugins_of(corpora: Iterable[str]) -> list[str]:
    """The installed plugins that have these corpora."""
    prefixes = dict.fromkeys(plugins.prefix_of(corpus) for corpus in corpora)
    return [plugin for plugin in plugins.plugin_names() if plugin in prefixes]


@cache
def _summaries_of(plugin: str) -> tuple[Summary, ...]:
    summaries = plugins.reference_of(plugin).summaries
    return tuple(plugins.called(plugin, "its summaries", summaries))


@cache
def _reference_of(plugin: str) -> tuple[Measured, ...]:
    """All that a plugin measured."""
    totals = plugins.called(plugin, "its totals", plugins.reference_of(plugin).totals)
    return (*_summaries_of(plugin), *totals)


def differing(job: Measured, expected: Measured) -> list[str]:
    """Those of `SHARED` that differ."""
    here, there = job.manifest, expected.manifest
    return [key for key in SHARED if getattr(here, key) != getattr(there, key)]


def compare_with_reference(
    measured: Sequence[Measured], ks: Sequence[int], *, say: Callable[[str], None]
) -> bool:
    """Whether each RBP_k and CE is within `RBP_TOLERANCE`, `CE_TOLERANCE` of the reference.

    The reference is the plugin's summary of the same model and corpus. Says the largest differences
    of each corpus, how many jobs were compared, and OK or not. A job whose text, weights or
    settings are not the reference's is not compared, and a line says so.
    """
    reference = {}
    for summary in reference_summaries(job.manifest.corpus for job in measured):
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
    columns = ["corpus", "kind", "model", "quantity", "measured", "reference", "tolerance"]
    table = pd.DataFrame(rows, columns=columns)
    table["difference"] = (table["measured"] - table["reference"]).abs()
    if compared:
        largest = table.loc[table.groupby(["corpus", "kind"])["difference"].idxmax()]
        say("largest differences from the reference:")
        say(largest.drop(columns="kind").to_string(index=False, float_format="{:.6g}".format))
    beyond = int((table["difference"] > table["tolerance"]).sum())
    verdict = f"NOT OK, {beyond} values beyond the tolerance" if beyond else "OK"
    say(f"{compared} of {len(measured)} jobs compared with the reference: {verdict}")
    return not beyond


def _reference_like(job: Measured) -> tuple[Training, dict[Training, Measured]]:
    """How a model was trained, and the reference models that it can be compared with.

    These are of its family, were trained on as many tokens, and were measured on the same text in
    the same way. Other weights are no hindrance.
    """
    own, models = Training(job.manifest.model), {}
    for plugin in _plugins_of([job.manifest.corpus]):
        training_of = plugins.reference_of(plugin).training
        own = training_of(job.manifest.model)
        for model in _reference_of(plugin):
            about = model.manifest
            training = training_of(about.model)
            same = (about.corpus, about.family) == (job.manifest.corpus, job.manifest.family)
            alike = differing(job, model) in ([], ["revision"])
            if same and alike and training.tokens == own.tokens:
                models[training] = model
    return own, models


def compare_with_other_seeds(
    measured: Sequence[Measured], *, say: Callable[[str], None]
) -> list[Measured]:
    """Say how far models that were trained again are from the reference's, which have other seeds.

    Returns the models of which something was said.
    """
    compared: list[Measured] = []
    for job in measured:
        own, models = _reference_like(job)
        others = {}
        for training, model in models.items():
            if training.size == own.size and training.seed != own.seed:
                others[training.seed] = model
        if not own.seed or not others:
            continue
        compared.append(job)
        seeds = ", ".join(map(str, sorted(others)))
        ce, ces = job.ce(), [one.ce() for one in others.values()]
        rbp, rbps = 100 * job.rbp(1), [100 * one.rbp(1) for one in others.values()]
        say(
            f"your {job.manifest.model} on {job.manifest.corpus}: CE {ce:.3f} nats and RBP_1"
            f" {rbp:.1f}%. The same size with other seeds ({seeds}) has {min(ces):.3f} to"
            f" {max(ces):.3f} nats and {min(rbps):.1f} to {max(rbps):.1f}%: in CE yours is"
            f" {_among(ce, ces)}."
        )
    return compared


def _among(ce: float, others: Sequence[float]) -> str:
    """Where a cross-entropy is among those of other seeds, and whether that means anything."""
    if min(others) <= ce <= max(others):
        return "between them"
    side, meaning, beyond = "below", "so better", min(others) - ce
    if ce > max(others):
        side, meaning, beyond = "above", "so worse", ce - max(others)
    range_of_others = max(others) - min(others)
    if beyond < range_of_others:
        meaning = f"which is less than those seeds differ ({range_of_others:.3f})"
    return f"{side} all of them by {beyond:.3f}, {meaning}"


def fitted_and_reference(
    measured: Sequence[Measured],
) -> tuple[list[Measured], list[Measured]]:
    """The measured models to be fitted, and the reference models to compare the fits with.

    A (corpus, family) is compared with all sizes of the family in the reference that were trained
    on as many tokens, if its own sizes are among them. If all of its models have another seed than
    the reference's, they take the places of these sizes, and are fitted with the other ones.
    """
    groups: dict[tuple[str, str], list[Measured]] = {}
    for job in measured:
        groups.setdefault((job.manifest.corpus, job.manifest.family), []).append(job)
    fitted = list(measured)
    compared: list[Measured] = []
    for group in groups.values():
        trainings = [_reference_like(job)[0] for job in group]
        own_sizes = {training.size for training in trainings}
        _, models = _reference_like(group[0])
        sizes = {training.size: model for training, model in models.items() if not training.seed}
        if not own_sizes <= sizes.keys():
            continue
        compared += sizes.values()
        if all(training.seed for training in trainings):
            fitted += [model for size, model in sizes.items() if size not in own_sizes]
    return fitted, compared


def comparison(measured: Sequence[Measured], ks: Sequence[int]) -> pd.DataFrame:
    """Slope and R2 measured, of the reference and published: a row per (corpus, family, quantity).

    low, high: t interval of the slope, 95%.
    reference: the slope of all reference sizes of the family on the same text
        (`fitted_and_reference`, which also says how a model trained again is fitted).
    difference: slope - reference.
    paper_from, paper_to: the range of the paper's slopes for that family over its six corpora
        (Table 1), since no corpus here need be one of the paper's.
    NaN if there is nothing to compare with.
    """
    keys = ["corpus", "family", "quantity"]
    fitted, compared = fitted_and_reference(measured)
    table = fit_all(fitted, ks).table[[*keys, "n", "slope", "low", "high", "R2"]]
    if compared:
        slopes = fit_all(compared, ks).table[[*keys, "slope"]]
        slopes = slopes.rename(columns={"slope": "reference"})
        table = table.merge(slopes, on=keys, how="left")
    else:
        table = table.assign(reference=float("nan"))
    table["difference"] = table["slope"] - table["reference"]
    published = paper.table1()
    published["quantity"] = ["CE" if k == "CE" else f"RBP_{k}" for k in published["k"]]
    span = published.groupby(["family", "quantity"])["slope"].agg(["min", "max"]).reset_index()
    span = span.rename(columns={"min": "paper_from", "max": "paper_to"})
    return table.merge(span, on=["family", "quantity"], how="left")
