"""`rbpkit compare`: two measured models on the same documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.types import NonNegativeInt

from rbpkit.cli.common import AsJson, Ks, RecordsDir, Where, each_k, print_table, say
from rbpkit.errors import InputError

if TYPE_CHECKING:
    from rbpkit.summary import Summary

ANY = Where()


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
    as_json: AsJson = False,
) -> None:
    """Model B minus model A in CE and RBP_k, with 95% intervals (paired, other documents).

    Then the documents in which they differ most, by their number in the order of the protocol.
    """
    from rbpkit.stats.paired import differences, most_different

    of_a, of_b = (_summary(records, name, chosen) for name in (a, b))
    table = differences(of_a, of_b, each_k(k))
    documents = most_different(of_a, of_b, show_documents)
    if as_json:
        both = {"differences": table, "documents": documents}
        rows = {name: json.loads(one.to_json(orient="records")) for name, one in both.items()}
        print(json.dumps(rows))
        return
    names = f"A is {of_a.manifest.model}, B is {of_b.manifest.model}"
    say(f"{names}, on {of_a.manifest.corpus}: {of_a.tokens:,} tokens")
    print_table(table, as_json)
    if show_documents:
        say("the documents that differ most (nats: B minus A, all tokens of the document):")
        print_table(documents, as_json)


def _summary(records: Path, name: str, chosen: Where) -> Summary:
    """The one job of a model that was chosen."""
    from rbpkit.records import load_summaries

    settings: dict[str, Any] = {**chosen.settings(), "model": name}
    summaries = load_summaries(records, say=say, **settings)
    if len(summaries) > 1:
        corpora = ", ".join(summary.manifest.corpus for summary in summaries)
        raise InputError(f"{name} was measured on {corpora}; choose one, as --corpus NAME")
    return summaries[0]
