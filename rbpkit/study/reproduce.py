"""Reproduce a study: measure it, run the notebooks on what was measured, compare.

Everything is written into one folder; nothing that the repository tracks is touched.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import pandas as pd

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.files.writing import as_csv, write_whole
from rbpkit.fit import Measured, fit_all
from rbpkit.records import load_summaries, slug
from rbpkit.study.checks import cores
from rbpkit.study.notebooks import notebook_called, notebook_names, run
from rbpkit.study.params import Params
from rbpkit.study.sweep import sweep
from rbpkit.summary import Summary
from rbpkit_pocket import paths, recipes
from rbpkit_pocket.ablations import load_totals

# How far a measured value may be from the pocket model's. Another processor sums in another order,
# so that here and there two logits that nearly tie change places: 2e-4 is six tokens of the
# smallest pocket corpus. Seen: 1 token of 105,656, and CE moved by 2e-8 nats.
RBP_TOLERANCE = 2e-4
CE_TOLERANCE = 1e-4  # nats
# What two measurements of one name must share to be compared.
SHARED = ("fingerprint", "max_length", "dtype", "tokens", "revision")


def reproduce(
    params: Params,
    out: Path,
    *,
    notebooks: Sequence[str] = (),
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> bool:
    """Measure a study into `out`/records, run notebooks on that, and compare; True if all is well.

    The notebooks read `out`/summaries, which has what this study measured. They draw into
    `out`/figures and are written, executed, to `out`/notebooks; `out`/comparison.csv has the
    slopes (`comparison`).
    notebooks: numbers or names of those to run; all by default.
    All is well if no job and no notebook failed and every RBP_k and CE is within its tolerance of
    the pocket model's value (`compare_with_pocket`). Raises InputError, before anything runs, if
    the study is at fault or the notebooks are not there.
    """
    names = [notebook_called(one) for one in notebooks] or notebook_names()
    params = train_models(params, out / "models", say=say, progress=progress)
    processes = (
        max(1, cores() // params.threads) if params.threads and params.device == "cpu" else 1
    )
    result = sweep(params, out / "records", processes=processes, say=say, progress=progress)
    if not result.measured:
        say("nothing was measured, so no notebook is run")
        return False
    measured = [one.summary for one in result.measured]
    # Of this study alone: the records may be next to those of other settings.
    summaries = out / "summaries"
    shutil.rmtree(summaries, ignore_errors=True)
    for one in measured:
        files = {f"{slug(one.manifest.model)}.summary.npz": one.to_bytes()}
        write_whole(summaries / slug(one.manifest.corpus), files)
    values = {
        **params.model_dump(mode="json"),
        # The names that the records carry: the corpus of a file has the file's base name.
        "families": list(dict.fromkeys(one.manifest.family for one in measured)),
        "corpus_names": list(dict.fromkeys(one.manifest.corpus for one in measured)),
        "records_dir": str(summaries.resolve()),
        "figures_dir": str((out / "figures").resolve()),
    }
    fine = not result.failures
    last = [name for name in names if name.startswith("12_")]  # it reads what the others write
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for batch in ([name for name in names if name not in last], last):
            for notebook in [pool.submit(run, name, values, out / "notebooks") for name in batch]:
                try:
                    say(f"notebook: {notebook.result()}")
                except InputError as error:
                    say(f"failed: {error}")
                    fine = False
    for refused in fit_all(among_pocket(measured)[0], params.ks).refused:
        say(f"no fit: {refused}")
    table = comparison(measured, params.ks)
    write_whole(out, {"comparison.csv": as_csv(table).encode()})
    say("slopes of log(-log RBP_k), and of log CE, on log S; the paper's are over its six corpora:")
    say(table.to_string(index=False, float_format=lambda v: f"{v:.4f}", na_rep="-"))
    fine &= compare_with_pocket(measured, params.ks, say=say)
    for one in result.failures:
        say(f"failed: {one.job.model} on {one.job.corpus}: {one.reason}")
    return fine


def train_models(params: Params, out: Path, **shown) -> Params:
    """The study with its `train_models` trained into `out`/trained/NAME, as its `model_ids`.

    An interrupted training resumes from its checkpoint. shown: `say` and `progress` of
    `train_runs`. Raises InputError, before any training, for a name that no pocket model has.
    """
    if not params.train_models:
        return params
    if params.source != "pocket" or params.model_ids:
        raise InputError("train_models: source must be pocket, and model_ids empty")
    runs = [recipes.run_named(name) for name in params.train_models]
    from rbpkit_pocket.training import train_runs

    folders = [out / "trained" / one.name for one in runs]  # the model's name in the records
    done = train_runs(runs, out, device=params.device or "cpu", **shown)
    for trained, folder in zip(done, folders, strict=True):
        shutil.copytree(trained.folder, folder, dirs_exist_ok=True)
    return params.model_copy(update={"train_models": (), "model_ids": tuple(map(str, folders))})


@cache
def load_pocket() -> list[Summary]:
    """All summaries that come with the package."""
    return [*load_summaries(paths.SUMMARIES), *load_summaries(paths.MAMBA_SUMMARIES)]


def differing(one: Measured, other: Measured) -> list[str]:
    """Those of `SHARED` that differ."""
    return [key for key in SHARED if getattr(one.manifest, key) != getattr(other.manifest, key)]


def compare_with_pocket(
    measured: Sequence[Summary], ks: Sequence[int], *, say: Callable[[str], None]
) -> bool:
    """Whether each RBP_k and CE is within `RBP_TOLERANCE`, `CE_TOLERANCE` of the pocket model's.

    Says the largest differences of each corpus, how many jobs were compared, and OK or not. A job
    whose text, weights or settings are not the pocket model's is not compared, and a line says so.
    """
    pocket = {(one.manifest.model, one.manifest.corpus): one for one in load_pocket()}
    rows, others, compared = [], Counter(), 0
    for one in measured:
        model, corpus = one.manifest.model, one.manifest.corpus
        other = pocket.get((model, corpus))
        if other and (keys := differing(one, other)):
            others[corpus, ", ".join(keys)] += 1
        elif other:
            compared += 1
            rows.append((corpus, "CE", model, "CE", one.ce(), other.ce(), CE_TOLERANCE))
            for k in ks:
                values = one.rbp(k), other.rbp(k)
                rows.append((corpus, "RBP", model, f"RBP_{k}", *values, RBP_TOLERANCE))
    for (corpus, keys), jobs in others.items():
        say(
            f"{corpus}: {jobs} models are not compared, since the pocket models have another {keys}"
        )
    columns = ["corpus", "kind", "model", "quantity", "measured", "pocket", "tolerance"]
    table = pd.DataFrame(rows, columns=columns)
    table["difference"] = (table["measured"] - table["pocket"]).abs()
    if compared:
        largest = table.loc[table.groupby(["corpus", "kind"])["difference"].idxmax()]
        say("largest differences from the pocket models' values:")
        say(largest.drop(columns="kind").to_string(index=False, float_format="{:.6g}".format))
    over = int((table["difference"] > table["tolerance"]).sum())
    verdict = f"NOT OK, {over} values beyond the tolerance" if over else "OK"
    say(f"{compared} of {len(measured)} jobs compared with the pocket models: {verdict}")
    return not over


def among_pocket(measured: Sequence[Summary]) -> tuple[list[Measured], list[Measured]]:
    """The measured models to be fitted, and the pocket models to compare the fits with.

    A (corpus, family) is compared with all pocket sizes of the family that were trained on as
    many tokens (NAME, or NAME-3m) and measured on the same text in the same way, if its own models
    are among them (NAME, or NAME-seedN if trained again). If all of its models were trained
    again, they take the places of the NAMEs, and are fitted with the other sizes.
    """

    def cell(one: Measured) -> tuple[str, str]:
        return one.manifest.corpus, one.manifest.family

    pocket = [*load_pocket(), *load_totals(paths.GRID)]
    fitted, whole = list(measured), []
    for place in dict.fromkeys(map(cell, measured)):
        here = [one for one in measured if cell(one) == place]
        models = [one.manifest.model for one in here]
        bases = [model.split("-seed")[0] for model in models]
        tokens = bases[0].split("-")[3:]  # ["3m"]; [] for the usual number
        sizes = {
            other.manifest.model: other
            for other in pocket
            if cell(other) == place
            and other.manifest.model.split("-")[3:] == tokens
            and differing(here[0], other) in ([], ["revision"])  # the same text and settings
        }
        if set(bases) <= sizes.keys():
            whole += sizes.values()
            if all("-seed" in model for model in models):
                fitted += [sizes[name] for name in sizes if name not in bases]
    return fitted, whole


def comparison(measured: Sequence[Summary], ks: Sequence[int]) -> pd.DataFrame:
    """Slope and R2 measured, of pocket models and published, a row per (corpus, family, quantity).

    low, high: t interval of the slope, 95%. pocket: the slope of all pocket sizes of the family
    on the same text (`among_pocket`, which also says how a model trained again is fitted).
    difference: slope - pocket. paper_from, paper_to: the range of the paper's slopes for that
    family over its six corpora (Table 1), since no corpus here need be one of the paper's. NaN if
    there is nothing to compare with.
    """
    keys = ["corpus", "family", "quantity"]
    fitted, whole = among_pocket(measured)
    table = fit_all(fitted, ks).table[[*keys, "n", "slope", "low", "high", "R2"]]
    if whole:
        slopes = fit_all(whole, ks).table[[*keys, "slope"]].rename(columns={"slope": "pocket"})
        table = table.merge(slopes, on=keys, how="left")
    else:
        table = table.assign(pocket=float("nan"))
    table["difference"] = table["slope"] - table["pocket"]
    published = paper.table1()
    published["quantity"] = ["CE" if k == "CE" else f"RBP_{k}" for k in published["k"]]
    span = published.groupby(["family", "quantity"])["slope"].agg(["min", "max"]).reset_index()
    span = span.rename(columns={"min": "paper_from", "max": "paper_to"})
    return table.merge(span, on=["family", "quantity"], how="left")
