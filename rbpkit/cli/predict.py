"""`rbpkit predict`: what the laws fitted to a folder of records predict for a new model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rbpkit.cli.common import AsJson, Ks, print_table, say, with_settings
from rbpkit.errors import InputError
from rbpkit.summary import DEFAULT_KS


@with_settings
def predict(
    records: Annotated[Path, typer.Option("--records", help="A folder of records or summaries.")],
    size: Annotated[
        list[float],
        typer.Option("--size", help="Non-embedding parameters, as 7e9; may be repeated."),
    ],
    settings: dict,
    k: Ks = None,
    level: Annotated[float, typer.Option(help="Of the prediction interval.")] = 0.95,
    as_json: AsJson = False,
) -> None:
    """CE and RBP_k of a new model of a family, by the law fitted to those measured.

    The interval is for one new model of the family on the same documents.
    """
    ks = tuple(dict.fromkeys(k or DEFAULT_KS))
    from rbpkit.fit import curves_of_all, family_lines
    from rbpkit.records import load_summaries
    from rbpkit.stats.prediction import predict_sizes

    chosen = load_summaries(records, **settings)
    family_lines(chosen)  # refuses two models of one size
    found = predict_sizes(curves_of_all(chosen, ks), tuple(dict.fromkeys(size)), level)
    table = found.table
    if table.empty:
        raise InputError(f"{records}: nothing could be fitted; {found.refused[0]}")
    for reason in found.refused:
        say(f"no prediction: {reason}")
    for (name, S), rows in table[table["decades"] != 0].groupby(["family", "S"], sort=False):
        decades = max(rows["decades"], key=abs)
        where = "beyond the largest" if decades > 0 else "below the smallest"
        say(
            f"warning: {name}: {S:.6g} is {abs(decades):.2f} decades {where} size measured;"
            " the interval takes the line to go on as far"
        )
    if not as_json:
        decades = [f"{one:+.2f}" for one in table["decades"]]
        table = table.assign(S=[f"{S:.6g}" for S in table["S"]], decades=decades)
    print_table(table, as_json)
