"""The commands that read a folder of records: show, fit, predict and compare."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from cyclopts import CoercionError, Parameter, Token
from cyclopts.types import NonNegativeInt

from rbpkit.errors import InputError, reason
from rbpkit.fit import (
    check_one_step,
    curves_in_ce,
    curves_of_all,
    fit_curves,
    grouped,
    predict_sizes,
)
from rbpkit.paired import differences, same_tokens
from rbpkit.plugins import pairs_rule
from rbpkit.summary import DEFAULT_KS, Summary
from rbpkit.tools.cli.app import say
from rbpkit.tools.cli.common import (
    ALL,
    TEXT_TABLE,
    Chosen,
    Form,
    Ks,
    RecordsDir,
    Selection,
    Table,
    measured_table,
    print_table,
    rows_of,
    say_what_to_mind,
)
from rbpkit.tools.study.checks import folder_to_write
from rbpkit.writing import check_plain_file

FACTORS = {"k": 1e3, "m": 1e6, "b": 1e9}


def show(
    records: RecordsDir, /, *, chosen: Chosen = ALL, k: Ks = DEFAULT_KS, form: Table = TEXT_TABLE
) -> None:
    """CE and RBP_k with 95% intervals (other documents) of every model and corpus in a folder."""
    summaries = chosen.load(records, several=True)
    print_table(measured_table(summaries, k, intervals=True), form)
    say_what_to_mind(summaries)


# -- laws in size and in cross-entropy --------------------------------------------------------


def fit(
    records: RecordsDir,
    /,
    *,
    chosen: Chosen = ALL,
    k: Ks = DEFAULT_KS,
    against: Annotated[
        Literal["size", "ce"], Parameter(help="size, or ce: all families of a text on one line.")
    ] = "size",
    x: Annotated[
        str | None,
        Parameter(help="In place of S: FILE.csv:COLUMN, as runs.csv:flops; it has model, too."),
    ] = None,
    figure: Annotated[
        Path | None, Parameter(help="Draw the lines into this file: .png, .pdf or .svg.")
    ] = None,
    form: Table = TEXT_TABLE,
) -> None:
    """The law -log RBP_k ~ S^-alpha (and CE) of every family and corpus in a folder.

    A note says why a line may not be trusted; standard error tells which models it has.
    """
    if figure is not None:
        from rbpkit import plots  # of the extra `figures`

        folder = folder_to_write(str(figure.parent), "--figure")
        form_of_figure = plots.figure_format(figure.suffix.removeprefix("."))
    summaries = chosen.load(records)
    if against == "ce":
        curves, axis = curves_in_ce(summaries, k), "CE, nats a token"
    else:
        axis = None
        if x is not None:
            summaries, axis = _with_axis(summaries, x), x.rpartition(":")[2]
        for line in _families(summaries):
            say(line)
        curves = curves_of_all(summaries, k)
    if figure is not None:
        points = plots.curve_points("measured", curves)
        _check_points(figure.with_suffix(".csv"), points)
    fits = fit_curves(curves)
    _say_refused("no fit", fits.refused, all_of_them=fits.table.empty)
    print_table(fits.table, form)
    if figure is not None:
        quantity = points["quantity"].str.replace(r"_(\d+)", r"$_{\1}$", regex=True)
        panel = quantity + " on " + points["corpus"].map(plots.short)
        drawn = plots.law_figure(
            points.assign(panel=panel),
            panel="panel",
            size=(4.6, 3.8),
            detailed=True,
            xlabel=axis or plots.SIZE,
            ylabel=r"$-\log$ RBP, or CE (nats)",
        )
        plots.save(drawn, points, str(folder), figure.stem, form_of_figure)
        say(f"drawn: {figure}, and its points in {figure.with_suffix('.csv')}")


def _families(summaries: Sequence[Summary]) -> list[str]:
    """For each family and corpus a line that says how many models there are; if few, which.

    Raises InputError for two models of one S in a family: no single line in S goes through models
    of two recipes, or through several checkpoints of one run.
    """
    lines = []
    for (corpus, family), models in grouped(summaries, "corpus", "family").items():
        check_one_step(models)
        model_of: dict[float, str] = {}
        for model in sorted(models, key=lambda one: one.manifest.S):
            name, S = model.manifest.model, model.manifest.S
            if S in model_of:
                raise InputError(
                    f"{family} on {corpus}: {model_of[S]} and {name} both have S = {S:,}; if they"
                    " are of two recipes, make families of them (--family NAME=PATTERN)"
                )
            model_of[S] = name
        which = f" ({', '.join(model_of.values())})" if len(models) <= 8 else ""
        lines.append(f"{family} on {corpus}: {len(models)} models{which}")
    return lines


def _with_axis(summaries: Sequence[Summary], x: str) -> list[Summary]:
    """The summaries with the column of a table, FILE.csv:COLUMN, in the place of S."""
    file, _, column = x.rpartition(":")
    with reason(f"--x {x}: give FILE.csv:COLUMN, of a table that has the column model, too"):
        check_plain_file(Path(file))
        table = pd.read_csv(Path(file)).set_index("model", verify_integrity=True)
        value_of = table[column].astype(float).to_dict()
    placed = []
    for summary in summaries:
        name = summary.manifest.model
        if not value_of.get(name, 0) > 0:
            raise InputError(f"--x {x}: no positive number of {name} there")
        manifest = summary.manifest.model_copy(update={"S": value_of[name]})
        placed.append(replace(summary, manifest=manifest))
    return placed


def _check_points(file: Path, points: pd.DataFrame) -> None:
    """InputError if a file is there that is not the points of such a figure."""
    check_plain_file(file)
    if file.exists() and not file.read_bytes().startswith(",".join(points).encode()):
        raise InputError(f"{file}: is there, and not the points of a figure; name another figure")


def _say_refused(what: str, refused: Sequence[str], all_of_them: bool) -> None:
    """A line on each law that there is not; InputError if there is no other."""
    if all_of_them:
        raise InputError(f"{what}: {refused[0]}")
    for fault in refused:
        say(f"{what}: {fault}")


# -- predictions ------------------------------------------------------------------------------


def _size(kind: Any, tokens: Sequence[Token]) -> float:
    """A size as people write it: 7e9, 7B, 500M."""
    given = tokens[0].value
    factor = FACTORS.get(given[-1:].lower(), 1)
    try:
        return float(given if factor == 1 else given[:-1]) * factor
    except ValueError:
        raise CoercionError(msg=f"{given!r} is no number as 7e9, 7B or 500M") from None


def predict(
    *,
    records: RecordsDir | None = None,
    size: Annotated[
        tuple[Annotated[float, Parameter(converter=_size)], ...],
        Parameter(help="Non-embedding parameters, as 7e9 or 7B; may be repeated."),
    ] = (),
    ce: Annotated[
        tuple[float, ...],
        Parameter(help="CE of a new model, nats a token, instead of a size; may be repeated."),
    ] = (),
    pairs: Annotated[
        Path | None,
        Parameter(help="Predict the empty acc of a table with text, ce, k, acc."),
    ] = None,
    registered: Annotated[
        bool, Parameter(help="With the intervals of the registered rule, which are constants.")
    ] = False,
    chosen: Chosen = ALL,
    k: Ks = DEFAULT_KS,
    level: Annotated[float, Parameter(help="Level of the prediction interval.")] = 0.95,
    form: Table = TEXT_TABLE,
) -> None:
    """CE and RBP_k of a new model: from its size by its family's law, or from its cross-entropy.

    The interval is for one new model on the same documents. With --ce the line goes through all
    models that were measured on a text, of whatever family.
    """
    given = [bool(size), bool(ce), pairs is not None]
    if given.count(True) != 1 or (records is None) == (pairs is None):
        raise InputError("give --records with --size or with --ce, or --pairs alone")
    if pairs is not None:
        _predict_pairs(pairs, registered, form)
        return
    assert records is not None, "one of the two is there"
    summaries = chosen.load(records)
    if ce:
        curves = curves_in_ce(summaries, k)
    else:
        _families(summaries)  # refuses two models of one size
        curves = curves_of_all(summaries, k)
    predicted = predict_sizes(curves, ce or size, level)
    table = predicted.table
    _say_refused("no prediction", predicted.refused, all_of_them=table.empty)
    outside = table.loc[table["decades"] != 0, ["family", "S", "decades"]]
    for family, S, decades in outside.drop_duplicates().itertuples(index=False):
        place = "beyond the largest" if decades > 0 else "below the smallest"
        what = "CE" if ce else "size"
        say(f"warning: {family}: {S:.6g} is {abs(decades):.2f} decades {place} {what} measured")
    if ce:
        table = table.rename(columns={"S": "CE"})
    else:
        table["S"] = [round(S) for S in table["S"]]
    print_table(table, form)


def _predict_pairs(path: Path, registered: bool, form: Form) -> None:
    """Predict the rows of a table that have no accuracy, and print them."""
    rule = pairs_rule()
    pairs = rule.read_pairs(path)
    predicted = rule.predict_pairs(pairs, registered)
    if predicted.empty:
        raise InputError(f"{path}: every row has an acc, so there is nothing to predict")
    filled = [name for name in pairs if pairs[name].astype(bool).any()]
    about = [name for name in ("id", "set", "text", "model", "ce", "k") if name in filled]
    table = pairs.loc[predicted.index, about].join(predicted)
    print_table(table, form, digits=5)
    noted = int((predicted["note"] != "").sum())
    if noted:
        say(f"{noted} of {len(table)} predictions have a note: read it before you use them")


# -- two models -------------------------------------------------------------------------------


def compare(
    a: Annotated[str, Parameter(help="A model's name in the records.")],
    b: Annotated[str, Parameter(help="Another one's.")],
    /,
    *,
    records: RecordsDir,
    chosen: Chosen = ALL,
    k: Ks = DEFAULT_KS,
    show_documents: Annotated[
        NonNegativeInt, Parameter("--show", help="How many of the documents that differ most.")
    ] = 5,
    form: Table = TEXT_TABLE,
) -> None:
    """Model B minus model A in CE and RBP_k, with 95% intervals (paired, other documents).

    Of two tokenizers that scored the same text in bits per byte alone.

    Then the documents in which they differ most, by their number in the order of the protocol, as
    `rbpkit look --corpus CORPUS --document NUMBER` takes it.
    """
    of_a, of_b = (_one_job(replace(chosen, model=(name,)), records) for name in (a, b))
    table = differences(of_a, of_b, k)
    documents = _most_different(of_a, of_b, show_documents)
    if form.is_json:
        print(json.dumps({"differences": rows_of(table), "documents": rows_of(documents)}))
        return
    say(f"A is {a}, B is {b}, on {of_a.manifest.corpus}: {of_a.tokens:,} tokens")
    if not same_tokens(of_a, of_b):
        say(
            "they have two tokenizers: RBP_k and CE are of each model's own tokens, and shorter"
            " tokens are easier, so neither says which model is better; bits per byte of the same"
            " text do"
        )
    print_table(table, form)
    say_what_to_mind([of_a, of_b])
    if show_documents and form.format == "text":  # a second table would spoil a file of the first
        say("the documents that differ most (nats: B minus A, all tokens of the document):")
        print_table(documents)


def _most_different(a: Summary, b: Summary, count: int) -> pd.DataFrame:
    """The documents whose nats differ most, the most first.

    Columns: document (its number in the order of the protocol, from 0), tokens (scored), CE_A and
    CE_B of the document, nats (B minus A, summed over its tokens). Of two tokenizers bytes are in
    the place of tokens, and bits per byte in that of CE.
    """
    compared, in_a, in_b = np.intersect1d(a.document, b.document, return_indices=True)
    nll_a, nll_b = a.document_nll[in_a], b.document_nll[in_b]
    if same_tokens(a, b):
        unit, size, per, loss = "tokens", a.document_tokens[in_a], 1.0, "CE"
    else:
        unit, size, per, loss = "bytes", a.document_bytes()[in_a], np.log(2), "bits_per_byte"
    columns = {
        "document": compared,
        unit: size,
        f"{loss}_A": nll_a / (per * size),
        f"{loss}_B": nll_b / (per * size),
        "nats": nll_b - nll_a,
    }
    table = pd.DataFrame(columns)
    return table.sort_values("nats", key=lambda nats: -nats.abs(), kind="stable").head(count)


def _one_job(chosen: Selection, records: Path) -> Summary:
    """The one job that was chosen. InputError if there are several."""
    summaries = chosen.load(records)
    if len(summaries) > 1:
        corpora = ", ".join(summary.manifest.corpus for summary in summaries)
        raise InputError(f"{chosen.model[0]} was measured on {corpora}; choose one by --corpus")
    return summaries[0]
