"""The exponents of one student's study, compared with those of all pocket sizes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from rbpkit.errors import InputError
from rbpkit.fit import curves_of_all, fit_curves
from rbpkit.records import load_summaries
from rbpkit.summary import Summary
from rbpkit.tools.study.params import Params, load_params
from rbpkit.tools.study.reproduce import comparison
from rbpkit_notebooks.class_report.hand_ins import HandIns
from rbpkit_notebooks.class_report.reading import check_regular, read_bytes
from rbpkit_pocket.trained_again import summaries as pocket_summaries
from rbpkit_pocket.trained_again import training_of

FIRST_CORPUS = "pocket:prose"
MOST_KS = 100
MOST_BYTES_OF_RECORDS = 500_000_000  # of one file


def study_slopes(found: HandIns, file: str, path: Path) -> pd.DataFrame:
    """The slopes of one parameter file, as `rbpkit reproduce` compares them, with two columns more.

    trained: on how many tokens the models were trained, if their names say it ("3m").
    reference_text: the corpus of the reference.
    Raises InputError if the file is at fault, or asks for what was not measured.
    """
    read_bytes(path)  # refuses links, pipes and large files
    params = load_params(path)
    if len(params.ks) > MOST_KS:
        raise InputError(f"ks: {len(params.ks)} of them; at most {MOST_KS} are drawn")
    records = _records_folder(path, params, found.root(path))
    measured = _measured(path, params, records)
    slopes, _ = comparison(measured, params.ks)
    if slopes.empty:
        raise InputError("fewer than three sizes were measured, so there is no line to fit")
    trained = {training_of(summary.manifest.model).tokens for summary in measured}
    slopes.insert(3, "trained", ", ".join(sorted(trained - {""})))
    slopes["reference_text"] = slopes["corpus"]
    _compare_with_first_corpus(slopes, measured, params.ks)
    found.say(f"{file}: done")
    return slopes


def _records_folder(path: Path, params: Params, class_folder: Path) -> Path | None:
    """Where a study's records are, which is next to its file; None for those of pocket models.

    Raises InputError if it leads out of the class's folder, or has anything but regular files.
    """
    if not params.records_dir:
        return None
    folder = (path.parent / params.records_dir).resolve()
    if not folder.is_relative_to(class_folder):
        raise InputError(f"records_dir {params.records_dir} leads out of the class's folder")
    for inside in folder.rglob("*"):  # through no link
        if inside.is_symlink() or not inside.is_dir():
            check_regular(inside, os.lstat(inside), MOST_BYTES_OF_RECORDS)
    return folder


def _measured(path: Path, params: Params, records: Path | None) -> list[Summary]:
    """What a study asks for, of its records or of the pocket models."""
    summaries: Sequence[Summary]
    if records is not None:
        try:
            summaries = load_summaries(records, checkpoint="last")
        except InputError as error:
            if any(records.rglob("*.json")) or any(records.rglob("*.npz")):
                raise  # they are damaged, for example
            raise InputError(f"{error}; {_how_to_run(path, params)}") from error
    elif params.source == "hub" or params.model_ids:
        raise InputError(
            f"{path.name}: asks for models that were not measured; run `rbpkit reproduce "
            f"{path.name}` and name its records as records_dir"
        )
    else:
        summaries = pocket_summaries()
    measured = []
    for summary in summaries:
        asked_family = not params.families or summary.manifest.family in params.families
        asked_text = not params.corpus_names or summary.manifest.corpus in params.corpus_names
        if asked_family and asked_text:
            measured.append(summary)
    if not measured:
        families = ", ".join(params.families) or "any"
        texts = ", ".join(params.corpus_names) or "any text"
        raise InputError(f"nothing that it asks for was measured ({families} on {texts})")
    return measured


def _how_to_run(path: Path, params: Params) -> str:
    """The study has no records: the command that makes them."""
    command, out, notebook = "sweep", Path(params.records_dir), ""
    if out.name == "records":  # as `rbpkit reproduce` calls them
        command, out, notebook = "reproduce", out.parent, " --notebook 13"
    command = f"rbpkit {command} {path.name} --out {out.as_posix()}{notebook}"
    return f"the study has not been run, or is not done: run `{command}`"


def _compare_with_first_corpus(
    slopes: pd.DataFrame, measured: Sequence[Summary], ks: Sequence[int]
) -> None:
    """Put the slopes on prose next to those on a text that has no reference.

    Only for families all of whose models here are pocket models, trained on as much text.
    """
    on_prose = [one for one in pocket_summaries() if one.manifest.corpus == FIRST_CORPUS]
    pocket_models = {one.manifest.model for one in on_prose}
    other_models = [one for one in measured if one.manifest.model not in pocket_models]
    families = set(slopes["family"]) - {one.manifest.family for one in other_models}
    known = [one for one in on_prose if one.manifest.family in families]
    missing = slopes["reference"].isna() & slopes["family"].isin(families)
    if not missing.any():
        return
    fitted = fit_curves(curves_of_all(known, (None, *ks))).table.set_index(["family", "quantity"])[
        "slope"
    ]
    keys = pd.MultiIndex.from_frame(slopes[["family", "quantity"]])
    slopes.loc[missing, "reference"] = fitted.reindex(keys).to_numpy()[missing]
    slopes.loc[missing, "reference_text"] = FIRST_CORPUS
    slopes["difference"] = slopes["slope"] - slopes["reference"]
