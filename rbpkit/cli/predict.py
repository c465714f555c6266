"""`rbpkit predict`: what the laws fitted to a folder of records predict for a new model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rbpkit.cli.common import AsJson, Checkpoint, Ks, print_table, say, with_settings
from rbpkit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def _size(given: str) -> float:
    """A size as people write it: 7e9, 7B, 500M."""
    factors = {"k": 1e3, "m": 1e6, "b": 1e9}
    number, factor = given, 1.0
    if given and given[-1].lower() in factors:
        number, factor = given[:-1], factors[given[-1].lower()]
    try:
        return float(number) * factor
    except ValueError:
        raise typer.BadParameter(f"{given!r}: give a number, as 7e9 or 7B") from None


@with_settings
def predict(
    records: Annotated[Path, typer.Option("--records", help="A folder of records or summaries.")],
    size: Annotated[
        list[float],
        typer.Option(
            "--size",
            help="Non-embedding parameters, as 7e9 or 7B; may be repeated.",
            parser=_size,
            metavar="NUMBER",
        ),
    ],
    settings: dict,
    k: Ks = None,
    checkpoint: Checkpoint = None,
    level: Annotated[float, typer.Option(help="Of the prediction interval.")] = 0.95,
    as_json: AsJson = False,
) -> None:
    """CE and RBP_k of a new model of a family, by the law fitted to those measured.

    The interval is for one new model of the family on the same documents.
    """
    from rbpkit.fit import curves_of_all, family_lines
    from rbpkit.records import load_summaries
    from rbpkit.stats.prediction import predict_sizes
    from rbpkit.summary import DEFAULT_KS

    ks = tuple(dict.fromkeys(k or DEFAULT_KS))  # each once, in the order given
    sizes = tuple(dict.fromkeys(size))
    chosen = load_summaries(records, checkpoint=checkpoint, **settings)
    family_lines(chosen)  # refuses two models of one size
    predicted = predict_sizes(curves_of_all(chosen, ks), sizes, level)
    table = predicted.table
    if table.empty:
        raise InputError(f"{records}: nothing could be fitted; {predicted.refused[0]}")
    for reason in predicted.refused:
        say(f"no prediction: {reason}")
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
