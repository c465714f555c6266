"""`rbpkit predict`: what the laws fitted to a folder of records predict for a new model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from rbpkit.cli.axis import lines_in_ce, print_pairs
from rbpkit.cli.common import (
    ALL,
    AsJson,
    Chosen,
    Ks,
    RecordsDir,
    check_figure,
    each_k,
    print_table,
    say,
)
from rbpkit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

FACTORS = {"k": 1e3, "m": 1e6, "b": 1e9}


def _size(kind: Any, tokens: Sequence[Token]) -> float:
    """A size as people write it: 7e9, 7B, 500M."""
    given = tokens[0].value
    factor = FACTORS.get(given[-1:].lower(), 1.0)
    number = given[:-1] if given[-1:].lower() in FACTORS else given
    try:
        return float(number) * factor
    except ValueError:
        raise InputError(f"--size {given!r}: give a number, as 7e9 or 7B") from None


Size = Annotated[float, Parameter(converter=_size)]


def predict(
    *,
    records: RecordsDir | None = None,
    size: Annotated[
        list[Size] | None,
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
    as_json: AsJson = False,
) -> None:
    """CE and RBP_k of a new model: from its size by its family's law, or from its cross-entropy.

    The interval is for one new model on the same documents. With --ce the line goes through all
    models that were measured on a text, of whatever family.
    """
    if pairs is not None:
        if records is not None or size or ce:
            raise InputError("--pairs: a table needs no --records, --size or --ce")
        if figure is not None:
            check_figure(figure)
        print_pairs(pairs, as_json, figure)
        return
    if records is None:
        raise InputError("give --records and --size or --ce, or a table of --pairs")
    if bool(size) == bool(ce):
        raise InputError("give --size or --ce, one of the two")
    if ce:
        fits = lines_in_ce(chosen.load(records), each_k(k))
        from rbpkit.axis import predict_from_ce

        print_table(predict_from_ce(fits, ce, level), as_json)
        return
    from rbpkit.fit import curves_of_all, family_lines
    from rbpkit.stats.noise import trust_of_all
    from rbpkit.stats.prediction import predict_sizes

    sizes = tuple(dict.fromkeys(size or ()))  # each once, in the order given
    summaries = chosen.load(records)
    family_lines(summaries)  # refuses two models of one size
    trusts = trust_of_all(summaries)
    curves = curves_of_all(summaries, each_k(k))
    predicted = predict_sizes(curves, sizes, level, trusts, force)
    table = predicted.table
    if table.empty:
        raise InputError(f"{records}: nothing could be predicted; {predicted.refused[0]}")
    for reason in predicted.refused:
        say(f"no prediction: {reason}")
    if table["note"].any():
        for trust in trusts.values():
            say(trust.words)
    _warn_of_extrapolation(table)
    if not as_json:
        shown_sizes = [f"{S:.6g}" for S in table["S"]]
        shown_decades = [f"{decades:+.2f}" for decades in table["decades"]]
        table = table.assign(S=shown_sizes, decades=shown_decades)
    print_table(table, as_json)


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
