"""The main job: measure a study, run the notebooks on it, compare with what is published."""

from __future__ import annotations

import hashlib
import multiprocessing
import re
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pandas as pd

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import Measured, fit_all
from rbpkit.pocket import ladders
from rbpkit.pocket.controls import grid_path, load_totals
from rbpkit.records import load_summaries
from rbpkit.study.notebooks import notebook_called, notebook_names, run
from rbpkit.study.params import Params
from rbpkit.study.report import write_report
from rbpkit.study.sweep import idle_processes, sweep
from rbpkit.summary import Summary

AGREE = 1e-4  # the most that RBP_k, and CE in nats, may differ from the shipped values
# Another processor sums in another order: here and there two logits that nearly tie change places
# (seen: 1 token of 105,656, CE by 2e-8 nats), and the job is the same but for that.
PROCESSOR_TOKENS = 5  # of a job, that may pass a k of the grid
PROCESSOR_CE = 1e-6  # nats
NOT_COMPARABLE = {
    "fingerprint": "the installed packages hold another text (other versions)",
    "max_length": "truncated at another length",
    "dtype": "another dtype",
    "tokens": "another number of scored tokens",
    "revision": "other weights",  # last: said where the text and the settings are the same
}


def reproduce(
    params: Params,
    out: Path,
    *,
    figures: Path | None = None,
    notebooks: Sequence[str] = (),
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> bool:
    """Run a study into `out` (records, notebooks, comparison.csv, a report); True if all is well.

    notebooks: numbers or names of those to run; all where it is empty.
    figures: a folder of figures to keep up to date; where the study is the shipped one but for a
    processor's rounding (`tokens_moved`), it is drawn from the shipped summaries, and stays as it
    is. By default the measured numbers are drawn, into `out`/figures. Not well is a job or a
    notebook that failed, and an RBP_k or CE that is more than `AGREE` off the shipped one.
    Raises InputError where the study is at fault, before anything runs.
    """
    start = time.perf_counter()
    # An rbpkit without its repository has no notebooks: said before any work.
    names = [notebook_called(one) for one in notebooks] or notebook_names()
    params = train_anew(params, out / "models", say=say, progress=progress)
    processes = idle_processes(params)
    result = sweep(params, out / "records", processes=processes, say=say, progress=progress)
    if not result.measured:
        say("nothing was measured, so no notebook is run")
        return False
    measured = [one.summary for one in result.measured]
    moved = tokens_moved(measured) if figures and not result.failures else None
    if moved is not None:
        say(
            f"all {len(measured)} jobs are the shipped ones (at most {moved} tokens of a job on the"
            f" other side of a k): {figures} is drawn from the shipped summaries"
        )
    values = {
        **params.model_dump(mode="json"),
        # By the names that the records carry: a file's corpus is called by its base name.
        "families": list(dict.fromkeys(one.manifest.family for one in measured)),
        "corpus_names": list(dict.fromkeys(one.manifest.corpus for one in measured)),
        "records_dir": "" if moved is not None else str((out / "records").resolve()),
        "figures_dir": str((figures or out / "figures").resolve()),
    }
    fine = not result.failures
    failed = [f"{one.job.model} on {one.job.corpus}: {one.reason}" for one in result.failures]
    before = _digests(figures) if figures else {}
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=spawn) as pool:
        running = [pool.submit(run, name, values, out / "notebooks") for name in names]
        for notebook in running:
            try:
                say(f"notebook: {notebook.result()}")
            except InputError as error:
                say(f"failed: {error}")
                failed.append(str(error))
                fine = False
    if figures:
        new = sorted(name for name, now in _digests(figures).items() if before.get(name) != now)
        say(f"figures that changed: {', '.join(new) or 'none'}")
    agreed = compare_with_shipped(measured, params.ks, say=say)
    for refused in fit_all(among_shipped(measured)[0], params.ks).refused:
        say(f"no fit: {refused}")
    table = comparison(measured, params.ks)
    table.to_csv(out / "comparison.csv", index=False, float_format="%.6f")
    say("slopes of log(-log RBP_k), and of log CE, on log S; the paper's are over its six corpora:")
    say(table.to_string(index=False, float_format=lambda v: f"{v:.4f}", na_rep="-"))
    for line in failed[: len(result.failures)]:
        say(f"failed: {line}")
    took = time.perf_counter() - start
    drawn = figures or out / "figures"
    page = write_report(params, measured, table, drawn, out, failed=failed, seconds=took)
    say(f"report: {page}")
    return agreed and fine


def _digests(folder: Path) -> dict[str, str]:
    """sha256 of each file of a folder, by its name; empty where there is no folder."""
    files = folder.iterdir() if folder.is_dir() else ()
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files if f.is_file()}


def train_anew(
    params: Params,
    out: Path,
    *,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> Params:
    """Train the study's `train_anew` into `out`/NAME, from scratch or from a checkpoint there.

    Returns the study with the trained folders as its `model_ids`; as it is where there is nothing
    to train. Raises InputError, before any training, for a name that is no ladder's.
    """
    if not params.train_anew:
        return params
    if params.source != "pocket" or params.model_ids:
        raise InputError("train_anew: source must be pocket, and model_ids empty")
    runs = [ladders.run_named(name) for name in params.train_anew]
    for one in runs:
        if not one.recipe.seed:
            raise InputError(f"train_anew: {one.name} ships; give a seed, {one.name}-seed1")
    from rbpkit.pocket.training import train_runs

    done = train_runs(runs, out, device=params.device or "cpu", say=say, progress=progress)
    folders = []
    for one, trained in zip(runs, done, strict=True):
        # The folder's name is the model's name in the records.
        folders.append(out / "trained" / one.name)
        shutil.copytree(trained.folder, folders[-1], dirs_exist_ok=True)
    return params.model_copy(update={"train_anew": (), "model_ids": tuple(map(str, folders))})


def job_of(one: Measured) -> tuple[str, str]:
    """The names of its model and its corpus."""
    return one.manifest.model, one.manifest.corpus


def why_not_comparable(one: Measured, shipped: Measured) -> str:
    """What forbids comparing two summaries of one name; empty where nothing does."""
    for setting, reason in NOT_COMPARABLE.items():
        if getattr(one.manifest, setting) != getattr(shipped.manifest, setting):
            return reason
    return ""


def load_shipped(*folders: Path) -> dict[tuple[str, str], Summary]:
    """Job -> summary of these folders, by default all in the package; empty without them."""
    folders = folders or (ladders.summaries_root(), ladders.beside_root())
    there = [one for folder in folders if folder.is_dir() for one in load_summaries(folder)]
    return {job_of(one): one for one in there}


def tokens_moved(measured: Sequence[Summary]) -> int | None:
    """How many tokens of a job lie on the other side of a k than in the shipped job, at most.

    None where that is no processor's doing: more than PROCESSOR_TOKENS, a CE more than PROCESSOR_CE
    off, other text, weights or settings, or not all jobs of these corpora and families.
    """
    shipped = load_shipped(ladders.summaries_root())
    here = {(one.manifest.corpus, one.manifest.family) for one in measured}
    there = [(one.manifest.corpus, one.manifest.family) for one in shipped.values()]
    if sum(pair in here for pair in there) != len(measured):
        return None
    most = 0
    for one in measured:
        other = shipped.get(job_of(one))
        if (
            other is None
            or why_not_comparable(one, other)
            or list(one.k_grid) != list(other.k_grid)
        ):
            return None
        hits, before = (s.document_hits.sum(axis=0, dtype=int) for s in (one, other))
        most = max(most, int(abs(hits - before).max()))
        if most > PROCESSOR_TOKENS or abs(one.ce() - other.ce()) > PROCESSOR_CE:
            return None
    return most


def compare_with_shipped(
    measured: Sequence[Summary], ks: Sequence[int], *, say: Callable[[str], None]
) -> bool:
    """Say, a corpus a line, how far RBP_k and CE are from the shipped values; True if they agree.

    Where the text, the weights or a setting is another, that is said and nothing is compared;
    the last line counts what was.
    """
    shipped = load_shipped()
    pairs: dict[str, list[tuple[Summary, Summary]]] = {}
    reasons: dict[tuple[str, str], int] = {}
    for one in measured:
        other = shipped.get(job_of(one))
        reason = why_not_comparable(one, other) if other else ""
        if reason:
            key = (one.manifest.corpus, reason)
            reasons[key] = reasons.get(key, 0) + 1
        elif other:
            pairs.setdefault(one.manifest.corpus, []).append((one, other))
    for (corpus, reason), models in reasons.items():
        say(f"{corpus}: {models} models not compared with the shipped values: {reason}")
    agreed = True
    for corpus, both in pairs.items():
        rbp = max(abs(one.rbp(k) - other.rbp(k)) for one, other in both for k in ks)
        ce = max(abs(one.ce() - other.ce()) for one, other in both)
        fine = rbp <= AGREE and ce <= AGREE
        agreed &= fine
        say(
            f"{corpus}: {len(both)} models, largest difference from the shipped values:"
            f" RBP_k {rbp:.1e}, CE {ce:.1e} nats{'' if fine else f' (over {AGREE:g})'}"
        )
    compared = sum(map(len, pairs.values()))
    say(f"{compared} of {len(measured)} jobs compared with shipped values")
    return agreed


_RUN = re.compile(r"(?P<model>.+-w\d+-l\d+(?P<tokens>-[\d.]+m)?)-seed\d+")


def _of_one_text(one: Summary, other: Measured | None) -> bool:
    """Whether they differ by their weights at most."""
    alike = ("", NOT_COMPARABLE["revision"])
    return other is not None and why_not_comparable(one, other) in alike


def among_shipped(measured: Sequence[Summary]) -> tuple[list[Measured], list[Measured]]:
    """What is to be fitted of what was measured, and the shipped models to compare that with.

    Where all of a (corpus, family) were trained anew on as many tokens (NAME-seedN, or
    NAME-3m-seedN), they take the places of the NAME among the shipped models of so many tokens.
    No shipped model is compared with a (corpus, family) that has another text, setting or model.
    """
    shipped: dict[tuple[str, str], Measured] = dict(load_shipped())
    shipped |= {job_of(one): one for one in load_totals(grid_path())}
    groups: dict[tuple[str, str], list[Summary]] = {}
    for one in measured:
        groups.setdefault((one.manifest.corpus, one.manifest.family), []).append(one)
    fitted, before = [], []
    for (corpus, family), group in groups.items():
        fitted += group
        runs = [_RUN.fullmatch(one.manifest.model) for one in group]
        names = [run[1] if run else job_of(one)[0] for run, one in zip(runs, group, strict=True)]
        there = [shipped.get((name, corpus)) for name in names]
        if not all(map(_of_one_text, group, there)):
            continue
        tokens = {run["tokens"] or "" for run in runs if run}
        if all(runs) and len(tokens) == 1:
            alike = re.compile(r"[^-]+-w\d+-l\d+" + re.escape(*tokens))
            there = [
                other
                for (name, on), other in shipped.items()
                if (on, other.manifest.family) == (corpus, family) and alike.fullmatch(name)
            ]
            fitted += [other for other in there if other.manifest.model not in names]
        before += there
    return fitted, before


def comparison(measured: Sequence[Summary], ks: Sequence[int]) -> pd.DataFrame:
    """Slope and R2 measured, shipped and published, a row a (corpus, family, quantity).

    low, high: t interval of the slope, 95%. shipped: the slope of the shipped models of the row's
    names, where all of them were measured on the same text in the same way. A model trained anew
    is fitted among the shipped ones (`among_shipped`). difference: slope - shipped.
    Published: the range of the paper's slopes for that family over its six corpora (Table 1),
    since no corpus here need be one of the paper's. NaN where there is none.
    """
    keys = ["corpus", "family", "quantity"]
    fitted, before = among_shipped(measured)
    table = fit_all(fitted, ks).table[[*keys, "n", "slope", "low", "high", "R2"]]
    table = table.assign(shipped=float("nan"), difference=float("nan"))
    if before:
        slopes = fit_all(before, ks).table[[*keys, "slope"]].rename(columns={"slope": "shipped"})
        table = table.drop(columns=["shipped", "difference"]).merge(slopes, on=keys, how="left")
        table["difference"] = table["slope"] - table["shipped"]
    published = paper.table1()
    published["quantity"] = ["CE" if k == "CE" else f"RBP_{k}" for k in published["k"]]
    span = published.groupby(["family", "quantity"])["slope"].agg(["min", "max"]).reset_index()
    span = span.rename(columns={"min": "paper_from", "max": "paper_to"})
    return table.merge(span, on=["family", "quantity"], how="left")
