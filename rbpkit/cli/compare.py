"""`rbpkit compare`: two measured models on the same documents."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.types import NonNegativeInt

from rbpkit.cli.common import AsJson, Ks, RecordsDir, Where, each_k, print_table, say
from rbpkit.errors import InputError
from rbpkit.plugins import corpus_called

if TYPE_CHECKING:
    from rbpkit.files.manifest import Manifest
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
    text: Annotated[
        str | None, Parameter(help="The corpus again, a file or name: prints how documents begin.")
    ] = None,
    field: Annotated[str | None, Parameter(help="Column with the text in --text.")] = None,
    as_json: AsJson = False,
) -> None:
    """Model B minus model A in CE and RBP_k, with 95% intervals (paired, other documents).

    Then the documents in which they differ most, by their number in the order of the protocol, with
    their beginning if the text is --text or a plugin's.
    """
    from rbpkit.stats.paired import differences, most_different

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


def _summary(records: Path, name: str, chosen: Where) -> Summary:
    """The one job of a model that was chosen."""
    from rbpkit.records import load_summaries

    settings: dict[str, Any] = {**chosen.settings(), "model": name}
    summaries = load_summaries(records, say=say, **settings)
    if len(summaries) > 1:
        corpora = ", ".join(summary.manifest.corpus for summary in summaries)
        raise InputError(f"{name} was measured on {corpora}; choose one, as --corpus NAME")
    return summaries[0]
