"""The commands that read a folder of records: show, fit, predict and compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
from cyclopts import Parameter
from cyclopts.types import NonNegativeInt

from rbpkit import plugins
from rbpkit.errors import InputError, reason
from rbpkit.fit import (
    Curve,
    check_one_step,
    curves_of_all,
    fit_curves,
    grouped,
    in_ce,
    predict_sizes,
    relabelled,
)
from rbpkit.paired import differences, same_tokens
from rbpkit.summary import DEFAULT_KS, Summary
from rbpkit.tools.cli.app import say
from rbpkit.tools.cli.common import (
    ALL,
    AS_TEXT,
    Chosen,
    Form,
    Format,
    Ks,
    RecordsDir,
    Selection,
    measured_table,
    print_table,
    say_what_to_mind,
)


def show(
    records: RecordsDir, /, *, chosen: Chosen = ALL, k: Ks = DEFAULT_KS, form: Format = AS_TEXT
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
    palette: Annotated[
        str | None, Parameter(help="Its colours: a palette of seaborn, or red,#0072B2.")
    ] = None,
    form: Format = AS_TEXT,
) -> None:
    """The law -log RBP_k ~ S^-alpha (and CE) of every family and corpus in a folder.

    A note says why a line may not be trusted; standard error tells which models it has.
    """
    summaries = chosen.load(records)
    if against == "ce":
        curves = curves_of_all(in_ce(summaries), k)
    else:
        if x is not None:
            summaries = _with_axis(summaries, x)
        _check_families(summaries, say)
        curves = curves_of_all(summaries, (None, *k))
    fits = fit_curves(curves)
    _say_refused("no fit", fits.refused, all_of_them=fits.table.empty)
    print_table(fits.table, form)
    if figure is not None:
        axis = "CE, nats a token" if against == "ce" else x and x.rpartition(":")[2]
        _draw(figure, curves, axis, palette)


def _draw(figure: Path, curves: Sequence[Curve], axis: str | None, palette: str | None) -> None:
    """Draw the laws into a file, with their points beside it. axis: what S is, if it is not S."""
    from rbpkit import plots  # of the extra `figures`

    points, beside = plots.curve_points("measured", curves), figure.with_suffix(".csv")
    if beside.exists() and not beside.read_bytes().startswith(",".join(points).encode()):
        raise InputError(f"{beside}: is not the points of a figure; name another figure")
    if palette is not None:
        plots.recolour(points["family"].unique(), palette)
    quantity = points["quantity"].str.replace(r"_(\d+)", r"$_{\1}$", regex=True)
    drawn = plots.law_figure(
        points.assign(panel=quantity + " on " + points["corpus"].map(plots.short)),
        panel="panel",
        size=(4.6, 3.8),
        detailed=True,
        xlabel=axis or plots.SIZE,
        ylabel=r"$-\log$ RBP, or CE (nats)",
    )
    form = plots.figure_format(figure.suffix.removeprefix("."))
    plots.save(drawn, points, str(figure.parent), figure.stem, form)
    say(f"drawn: {figure}, and its points in {beside}")


def _check_families(
    summaries: Sequence[Summary], say: Callable[[str], None] = lambda line: None
) -> None:
    """Say of each family and corpus how many models there are; if few, which.

    Raises InputError for two models of one S in a family: no single line in S goes through models
    of two recipes, or through several checkpoints of one run.
    """
    for (corpus, family), models in grouped(summaries, "corpus", "family").items():
        check_one_step(models)
        models.sort(key=lambda one: one.manifest.S)
        for one, next_one in pairwise(models):
            if one.manifest.S == next_one.manifest.S:
                raise InputError(
                    f"{family} on {corpus}: {one.manifest.model} and {next_one.manifest.model} both"
                    f" have S = {one.manifest.S:,}; if they are of two recipes, make families of"
                    " them (--family NAME=PATTERN)"
                )
        names = ", ".join(one.manifest.model for one in models)
        say(
            f"{family} on {corpus}: {len(models)} models{f' ({names})' if len(models) <= 8 else ''}"
        )


def _with_axis(summaries: Sequence[Summary], x: str) -> list[Summary]:
    """The summaries with the column of a table, FILE.csv:COLUMN, in the place of S."""
    file, _, column = x.rpartition(":")
    placed = []
    with reason(f"--x {x}: give FILE.csv:COLUMN, of a table that has each model in column model"):
        value_of = pd.read_csv(file).set_index("model", verify_integrity=True)[column]
        for summary in summaries:
            S = float(value_of[summary.manifest.model])
            placed.append(relabelled(summary, S=S))
    return placed


def _say_refused(what: str, refused: Sequence[str], all_of_them: bool) -> None:
    """A line on each law that there is not; InputError if there is no other."""
    if all_of_them:
        raise InputError(f"{what}: {refused[0]}")
    for fault in refused:
        say(f"{what}: {fault}")


# -- predictions ------------------------------------------------------------------------------


def predict(
    *,
    records: RecordsDir | None = None,
    size: Annotated[
        tuple[float, ...],
        Parameter(help="Non-embedding parameters, as 7e9; may be repeated."),
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
    form: Format = AS_TEXT,
) -> None:
    """CE and RBP_k of a new model: from its size by its family's law, or from its cross-entropy.

    The interval is for one new model on the same documents. With --ce the line goes through all
    models that were measured on a text, of whatever family.
    """
    if pairs is not None:
        _predict_pairs(pairs, form, registered)
        return
    if records is None or bool(size) == bool(ce):
        raise InputError("give --records with --size or with --ce, or --pairs alone")
    summaries = chosen.load(records)
    if ce:
        curves = curves_of_all(in_ce(summaries), k)
    else:
        _check_families(summaries)
        curves = curves_of_all(summaries, (None, *k))
    predicted = predict_sizes(curves, ce or size, level)
    table = predicted.table
    _say_refused("no prediction", predicted.refused, all_of_them=table.empty)
    outside = table.loc[table["decades"] != 0, ["family", "S", "decades"]].drop_duplicates()
    for family, S, decades in outside.itertuples(index=False):
        say(f"warning: {family}: {S:.6g} is {abs(decades):.2f} decades outside of those measured")
    if ce:
        table = table.rename(columns={"S": "CE"})
    else:
        table["S"] = table["S"].round().astype(int)
    print_table(table, form)


def _predict_pairs(path: Path, form: Form, registered: bool) -> None:
    """Predict the rows of a table that have no accuracy, and print them."""
    rule = plugins.offered("pocket", "pairs")
    pairs = rule.read_pairs(path)
    predicted = rule.predict_pairs(pairs, registered)
    if predicted.empty:
        raise InputError(f"{path}: every row has an acc, so there is nothing to predict")
    filled = [name for name in pairs if pairs[name].astype(bool).any()]
    about = [name for name in ("id", "set", "text", "model", "ce", "k") if name in filled]
    print_table(pairs.loc[predicted.index, about].join(predicted), form, digits=5)
    noted = (predicted["note"] != "").sum()
    if noted:
        say(f"{noted} of {len(predicted)} predictions have a note: read it before you use them")


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
    form: Format = AS_TEXT,
) -> None:
    """Model B minus model A in CE and RBP_k, with 95% intervals (paired, other documents).

    Of two tokenizers that scored the same text in bits per byte alone.

    Then the documents in which they differ most, by their number in the order of the protocol, as
    `rbpkit look --corpus CORPUS --document NUMBER` takes it.
    """
    of_a, of_b = (_one_job(replace(chosen, model=(name,)), records) for name in (a, b))
    say(f"A is {a}, B is {b}, on {of_a.manifest.corpus}: {of_a.tokens:,} tokens")
    print_table(differences(of_a, of_b, k), form)
    say_what_to_mind([of_a, of_b])
    if not same_tokens(of_a, of_b):
        say(
            "they have two tokenizers: RBP_k and CE are of each model's own tokens, and shorter"
            " tokens are easier, so neither says which model is better; bits per byte of the same"
            " text do"
        )
    elif show_documents and form.format == "text":  # a second table would spoil a file of the first
        say("the documents that differ most (nats: B minus A, all tokens of the document):")
        print_table(_documents(of_a, of_b, show_documents))


def _documents(a: Summary, b: Summary, count: int) -> pd.DataFrame:
    """The documents whose nats differ most, the most first, of two models on the same tokens.

    Columns: document (its number in the order of the protocol, from 0), tokens (scored), CE_A and
    CE_B of the document, nats (B minus A, summed over its tokens).
    """
    table = pd.DataFrame({"document": a.document, "tokens": a.document_tokens})
    table["CE_A"] = a.document_nll / table["tokens"]
    table["CE_B"] = b.document_nll / table["tokens"]
    table["nats"] = b.document_nll - a.document_nll
    return table.sort_values("nats", key=lambda nats: -nats.abs(), kind="stable").head(count)


def _one_job(chosen: Selection, records: Path) -> Summary:
    """The one job that was chosen. InputError if there are several."""
    summaries = chosen.load(records)
    if len(summaries) > 1:
        corpora = ", ".join(summary.manifest.corpus for summary in summaries)
        raise InputError(f"{chosen.model[0]} was measured on {corpora}; choose one by --corpus")
    return summaries[0]
