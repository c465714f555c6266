"""The commands that read a folder of records: show, fit, predict and compare."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, Token
from cyclopts.types import NonNegativeInt

from rbpkit.errors import InputError
from rbpkit.plugins import corpus_called, pairs_rule
from rbpkit.tools.cli.common import (
    ALL,
    TEXT_TABLE,
    Chosen,
    Form,
    Ks,
    RecordsDir,
    Table,
    Where,
    check_figure,
    each_k,
    measured_rows,
    print_rows,
    print_table,
    save_figure,
    say,
    say_if_k_is_all,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from rbpkit.files.manifest import Manifest
    from rbpkit.loss_law import LossFit
    from rbpkit.summary import Summary

FACTORS = {"k": 1e3, "m": 1e6, "b": 1e9}
ANY = Where()


def show(
    records: RecordsDir, /, *, chosen: Chosen = ALL, k: Ks = None, form: Table = TEXT_TABLE
) -> None:
    """CE and RBP_k with 95% intervals (other documents) of every model and corpus in a folder."""
    summaries = chosen.load(records, several=True)
    ks = each_k(k)
    say_if_k_is_all(summaries, ks)
    print_rows(measured_rows(summaries, ks, intervals=True), form)


# -- laws in size and in cross-entropy --------------------------------------------------------


def fit(
    records: RecordsDir,
    /,
    *,
    chosen: Chosen = ALL,
    k: Ks = None,
    against: Annotated[
        Literal["size", "ce"], Parameter(help="size, or ce: all families of a text on one line.")
    ] = "size",
    figure: Annotated[
        Path | None, Parameter(help="Draw the lines into this file: .png, .pdf or .svg.")
    ] = None,
    form: Table = TEXT_TABLE,
) -> None:
    """The law -log RBP_k ~ S^-alpha (and CE) of every family and corpus in a folder.

    Standard error tells which models each line has, and up to which k there are enough missed
    tokens to trust a line.
    """
    if figure is not None:
        check_figure(figure)
    from rbpkit.fit import curves_of_all, family_lines, fit_curves
    from rbpkit.resolution import resolution_of_all

    summaries = chosen.load(records)
    ks = each_k(k)
    if against == "ce":
        _print_lines_in_ce(_lines_in_ce(summaries, ks), form, figure)
        return
    for line in family_lines(summaries):
        say(line)
    say_if_k_is_all(summaries, ks)
    curves = curves_of_all(summaries, ks)
    fits = fit_curves(curves)
    if fits.table.empty:
        raise InputError(f"{records}: nothing could be fitted; {fits.refused[0]}")
    for reason in fits.refused:
        say(f"no fit: {reason}")
    print_table(fits.table, form)
    for resolution in resolution_of_all(summaries).values():
        say(resolution.words)
    if figure is not None:
        from rbpkit.plots import curve_points, law_figure

        save_figure(law_figure(curves), curve_points("measured", curves), figure)


def _lines_in_ce(summaries: Sequence[Summary], ks: Sequence[int]) -> list[LossFit]:
    """The lines of log(-log RBP_k) on log CE; a line on standard error for each that is missing."""
    from rbpkit.loss_law import fit_against_ce

    fits, refused = fit_against_ce(summaries, ks)
    if not fits:
        raise InputError(f"nothing could be fitted against cross-entropy; {refused[0]}")
    for reason in refused:
        say(f"no fit: {reason}")
    return fits


def _print_lines_in_ce(fits: Sequence[LossFit], form: Form, figure: Path | None) -> None:
    """The table of the lines, and their picture."""
    import pandas as pd

    from rbpkit.loss_law import loss_table

    print_table(loss_table(fits), form)
    if figure is None:
        return
    from rbpkit.fit import Curve
    from rbpkit.plots import law_figure

    curves, points = [], []
    for fit in fits:
        about = {"corpus": fit.corpus, "V": fit.V, "k": fit.k, "model": fit.models}
        points.append(pd.DataFrame(about | {"CE": fit.ce, "RBP": fit.rbp}))
        text = f"{fit.corpus} (V = {fit.V:,})"
        name = f"k = {fit.k}"
        names = (*[""] * (len(fit.models) - 1), name)  # at the end of its line
        curves.append(Curve(text, name, "RBP_k", names, fit.ce, fit.rbp))
    save_figure(law_figure(curves, "CE (nats a token)"), pd.concat(points), figure)


# -- predictions ------------------------------------------------------------------------------


def _size(kind: Any, tokens: Sequence[Token]) -> float:
    """A size as people write it: 7e9, 7B, 500M."""
    given = tokens[0].value
    factor = FACTORS.get(given[-1:].lower(), 1.0)
    number = given[:-1] if given[-1:].lower() in FACTORS else given
    try:
        return float(number) * factor
    except ValueError:
        raise InputError(f"--size {given!r}: give a number, as 7e9 or 7B") from None


def predict(
    *,
    records: RecordsDir | None = None,
    size: Annotated[
        list[Annotated[float, Parameter(converter=_size)]] | None,
        Parameter(help="Non-embedding parameters, as 7e9 or 7B; may be repeated."),
    ] = None,
    ce: Annotated[
        list[float] | None,
        Parameter(help="CE of a new model, nats a token, instead of a size; may be repeated."),
    ] = None,
    pairs: Annotated[
        Path | None,
        Parameter(help="Predict the empty acc of a table with text, ce, k, acc."),
    ] = None,
    chosen: Chosen = ALL,
    k: Ks = None,
    level: Annotated[float, Parameter(help="Level of the prediction interval.")] = 0.95,
    figure: Annotated[Path | None, Parameter(help="Draw --pairs into this file.")] = None,
    force: Annotated[
        bool, Parameter(help="Predict from a law in doubt, however far from the sizes measured.")
    ] = False,
    form: Table = TEXT_TABLE,
) -> None:
    """CE and RBP_k of a new model: from its size by its family's law, or from its cross-entropy.

    The interval is for one new model on the same documents. With --ce the line goes through all
    models that were measured on a text, of whatever family.
    """
    if pairs is not None:
        if records is not None or size or ce:
            raise InputError("--pairs: a table needs no --records, --size or --ce")
        _predict_pairs(pairs, form, figure)
        return
    if records is None:
        raise InputError("give --records and --size or --ce, or a table of --pairs")
    if bool(size) == bool(ce):
        raise InputError("give --size or --ce, one of the two")
    summaries = chosen.load(records)
    ks = each_k(k)
    if ce:
        from rbpkit.loss_law import predict_from_ce

        print_table(predict_from_ce(_lines_in_ce(summaries, ks), ce, level), form)
        return
    from rbpkit.fit import curves_of_all, family_lines
    from rbpkit.prediction import predict_sizes
    from rbpkit.resolution import resolution_of_all

    sizes = tuple(dict.fromkeys(size or ()))  # each once, in the order given
    family_lines(summaries)  # refuses two models of one size
    resolutions = resolution_of_all(summaries)
    predicted = predict_sizes(curves_of_all(summaries, ks), sizes, level, resolutions, force)
    table = predicted.table
    if table.empty:
        raise InputError(f"{records}: nothing could be predicted; {predicted.refused[0]}")
    for reason in predicted.refused:
        say(f"no prediction: {reason}")
    if table["note"].any():
        for resolution in resolutions.values():
            say(resolution.words)
    _warn_of_extrapolation(table)
    if form.name not in ("json", "csv"):
        shown_sizes = [f"{S:.6g}" for S in table["S"]]
        shown_decades = [f"{decades:+.2f}" for decades in table["decades"]]
        table = table.assign(S=shown_sizes, decades=shown_decades)
    print_table(table, form)


def _warn_of_extrapolation(table: pd.DataFrame) -> None:
    """A line for each family and size that lies outside of the sizes measured."""
    outside = table[table["decades"] != 0]
    for (family, S), rows in outside.groupby(["family", "S"], sort=False):
        decades = max(rows["decades"], key=abs)
        place = "beyond the largest" if decades > 0 else "below the smallest"
        say(
            f"warning: {family}: {S:.6g} is {abs(decades):.2f} decades {place} size measured;"
            " the interval takes the line to go on as far"
        )


def _predict_pairs(path: Path, form: Form, figure: Path | None) -> None:
    """Predict the rows of a table that have no accuracy, and print them."""
    if figure is not None:
        check_figure(figure)
    rule = pairs_rule()
    pairs = rule.read_pairs(path)
    predicted = rule.predict_pairs(pairs)
    if predicted.empty:
        raise InputError(f"{path}: every row has an acc, so there is nothing to predict")
    about = []
    for name in ("id", "set", "text", "model", "ce", "k"):
        needed = name in ("text", "ce", "k")
        if needed or (name in pairs.columns and pairs[name].astype(bool).any()):
            about.append(name)
    table = pairs.loc[predicted.index, about].join(predicted)
    print_table(table, form, digits=5)
    noted = int((predicted["note"] != "").sum())
    if noted:
        say(f"{noted} of {len(table)} predictions have a note: read it before you use them")
    if figure is not None:
        save_figure(_pairs_figure(pairs, table.dropna(subset=["predicted"])), table, figure)


def _pairs_figure(pairs: pd.DataFrame, predicted: pd.DataFrame) -> Figure:
    """Shown pairs as ink, predictions with their intervals; a panel for each k."""
    import matplotlib.pyplot as plt

    from rbpkit import plots
    from rbpkit.palette import INK, OTHER

    ks = sorted(pairs["k"].unique())
    with plots.style():
        size = (plots.WIDTH, 3.6 * len(ks))
        picture, panels = plt.subplots(len(ks), figsize=size, squeeze=False, layout="constrained")
        for axes, k in zip(panels[:, 0], ks, strict=True):
            shown = pairs[(pairs["k"] == k) & pairs["acc"].notna()]
            new = predicted[predicted["k"] == k]
            bars = [new["predicted"] - new["low"], new["high"] - new["predicted"]]
            axes.plot(shown["ce"], shown["acc"], "o", color=OTHER, label="shown")
            label = "predicted, 95%"
            axes.errorbar(new["ce"], new["predicted"], bars, fmt="D", color=INK, label=label)
            axes.set(xlabel="CE (nats a token)", ylabel=f"accuracy at k = {k}")
            axes.legend()
    return picture


# -- two models -------------------------------------------------------------------------------


def compare(
    a: Annotated[str, Parameter(help="A model's name in the records.")],
    b: Annotated[str, Parameter(help="Another one's.")],
    /,
    *,
    records: RecordsDir,
    chosen: Annotated[Where, Parameter(name="*", group="Which jobs")] = ANY,
    k: Ks = None,
    show_documents: Annotated[
        NonNegativeInt, Parameter("--show", help="How many of the documents that differ most.")
    ] = 5,
    text: Annotated[
        str | None, Parameter(help="The corpus again, a file or name: prints how documents begin.")
    ] = None,
    field: Annotated[str | None, Parameter(help="Column with the text in --text.")] = None,
    form: Table = TEXT_TABLE,
) -> None:
    """Model B minus model A in CE and RBP_k, with 95% intervals (paired, other documents).

    Then the documents in which they differ most, by their number in the order of the protocol, with
    their beginning if the text is --text or a plugin's.
    """
    from rbpkit.paired import differences, most_different

    of_a, of_b = (_summary(records, name, chosen) for name in (a, b))
    table = differences(of_a, of_b, each_k(k))
    documents = most_different(of_a, of_b, show_documents)
    words = None if text is None else _documents(text, field, of_a.manifest)
    if text is None and show_documents:
        with suppress(InputError):  # a plugin that is not here, or has another text by now
            called = corpus_called(of_a.manifest.corpus)
            words = _documents(called, None, of_a.manifest) if called else None
    if words:
        documents["begins"] = [_begin(words[number]) for number in documents["document"]]
    if form.name == "json":
        both = {"differences": table, "documents": documents}
        rows = {name: json.loads(one.to_json(orient="records")) for name, one in both.items()}
        print(json.dumps(rows))
        return
    names = f"A is {of_a.manifest.model}, B is {of_b.manifest.model}"
    say(f"{names}, on {of_a.manifest.corpus}: {of_a.tokens:,} tokens")
    print_table(table, form)
    if show_documents and form.name == "text":  # a second table would spoil the file of the first
        say("the documents that differ most (nats: B minus A, all tokens of the document):")
        print_table(documents, form)


def _summary(records: Path, name: str, chosen: Where) -> Summary:
    """The one job of a model that was chosen."""
    from rbpkit.records import load_summaries

    settings: dict[str, Any] = {**chosen.settings(), "model": name}
    summaries = load_summaries(records, say=say, **settings)
    if len(summaries) > 1:
        corpora = ", ".join(summary.manifest.corpus for summary in summaries)
        raise InputError(f"{name} was measured on {corpora}; choose one, as --corpus NAME")
    return summaries[0]


def _documents(text: str, field: str | None, manifest: Manifest) -> tuple[str, ...]:
    """The documents that were measured. InputError if this is another text."""
    from rbpkit.corpora import ON_HUB, Corpus, known_corpus, load_corpus

    # All of a file, as the first of them may have been empty; the hub's may have millions.
    count = manifest.documents if known_corpus(text) in ON_HUB else 0
    corpus = load_corpus(text, field=field, documents=count, seed=manifest.seed or None)
    documents = corpus.documents[: manifest.documents]
    if Corpus(corpus.id, documents).fingerprint != manifest.fingerprint:
        raise InputError(f"--text {text}: is not the text that was measured ({manifest.corpus})")
    return documents


def _begin(document: str, letters: int = 40) -> str:
    """The beginning of a document in one line, without what a terminal would take as a command."""
    line = " ".join(document[: 4 * letters].split())[:letters]
    return "".join(letter if letter.isprintable() else "?" for letter in line)
