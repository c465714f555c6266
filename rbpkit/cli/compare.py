"""`rbpkit compare`: two measured models on the same documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rbpkit.cli.common import AsJson, Ks, print_table, say, with_settings
from rbpkit.errors import InputError

if TYPE_CHECKING:
    from rbpkit.summary import Summary


@with_settings
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A model's name in the records.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one's.")],
    records: Annotated[Path, typer.Option("--records", help="A folder of records or summaries.")],
    settings: dict[str, Any],
    k: Ks = None,
    show_documents: Annotated[
        int, typer.Option("--show", help="How many of the documents that differ most.", min=0)
    ] = 5,
    as_json: AsJson = False,
) -> None:
    """Model B minus model A in CE and RBP_k, with 95% intervals (paired, other documents).

    Then the documents in which they differ most, by their number in the order of the protocol.
    """
    from rbpkit.stats.paired import differences, most_different
    from rbpkit.summary import DEFAULT_KS

    if settings.pop("model") is not None:
        raise InputError("--model: the two models are named without it, as rbpkit compare A B")
    of_a, of_b = (_summary(records, name, settings) for name in (a, b))
    ks = tuple(dict.fromkeys(k or DEFAULT_KS))
    table = differences(of_a, of_b, ks)
    documents = most_different(of_a, of_b, show_documents)
    if as_json:
        both = {"differences": table, "documents": documents}
        rows = {name: json.loads(one.to_json(orient="records")) for name, one in both.items()}
        typer.echo(json.dumps(rows))
        return
    names = f"A is {of_a.manifest.model}, B is {of_b.manifest.model}"
    say(f"{names}, on {of_a.manifest.corpus}: {of_a.tokens:,} tokens")
    print_table(table, as_json)
    if show_documents:
        say("the documents that differ most (nats: B minus A, all tokens of the document):")
        print_table(documents, as_json)


def _summary(records: Path, name: str, settings: dict[str, Any]) -> Summary:
    """The one job of a model that has these settings."""
    from rbpkit.records import load_summaries

    summaries = load_summaries(records, model=name, **settings)
    if len(summaries) > 1:
        corpora = ", ".join(summary.manifest.corpus for summary in summaries)
        raise InputError(f"{name} was measured on {corpora}; choose one, as --corpus NAME")
    return summaries[0]
