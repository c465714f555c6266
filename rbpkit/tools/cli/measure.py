"""The commands that run models: `rbpkit measure` on a corpus, `rbpkit look` on one text."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.types import NonNegativeInt
from cyclopts.validators import Number

from rbpkit.errors import InputError
from rbpkit.files.devices import set_threads
from rbpkit.settings import (
    ModelSettings,
    PlaceSettings,
    ReadingSettings,
    RunSettings,
    ServerSettings,
    TextSettings,
)
from rbpkit.tools.cli.common import (
    TEXT_TABLE,
    CorpusName,
    Model,
    Out,
    Table,
    each_k,
    measured_rows,
    print_rows,
    say,
)
from rbpkit.tools.study.checks import folder_to_write

# numpy, torch and all that imports them are imported in the functions that need them: they take
# seconds, and help and refusals should not.
if TYPE_CHECKING:
    from rbpkit.corpora import Corpus
    from rbpkit.ranker import Ranker
    from rbpkit.summary import Summary

TEXT, READING, MODEL, RUN = TextSettings(), ReadingSettings(), ModelSettings(), RunSettings()
SERVER, ANYWHERE = ServerSettings(), PlaceSettings()


def measure(
    *,
    model: Annotated[
        list[str],
        Parameter(help="Hub ids, folders, pocket:NAME, .gguf, scores:FILE, servers; several too."),
    ],
    corpus: CorpusName,
    out: Out,
    text: Annotated[TextSettings, Parameter(name="*", group="Text")] = TEXT,
    reading: Annotated[ReadingSettings, Parameter(name="*", group="Reading")] = READING,
    source: Annotated[ModelSettings, Parameter(name="*", group="Model")] = MODEL,
    run: Annotated[RunSettings, Parameter(name="*", group="Run")] = RUN,
    server: Annotated[ServerSettings, Parameter(name="*", group="Server")] = SERVER,
    force: Annotated[bool, Parameter(help="Measure again what is done.")] = False,
    form: Table = TEXT_TABLE,
) -> None:
    """Rank every scored token of a corpus under a model, or several, and keep the records."""
    if not model:
        raise InputError("--model: name one, or several")
    if len(model) > 1 and (source.name is not None or source.revision is not None):
        raise InputError("--name and --revision are of one model; give them one at a time")
    folder = folder_to_write(out)
    from rbpkit.corpora import check_text, load_corpus
    from rbpkit.planning import look_up

    # The corpus first: its faults show at once, a model may take minutes to load.
    documents = load_corpus(corpus, **text.model_dump(exclude={"changed_text"}))
    check_text(documents, text.changed_text)
    for one in model:
        look_up(one, **source.given)
    set_threads(run.threads)
    from rbpkit.models import load_model

    loading = source.model_dump(exclude={"name"}, exclude_none=True) | run.part(PlaceSettings)
    loading |= server.given
    measuring = reading.model_dump() | {
        "batch_tokens": run.batch_tokens,
        "changed_text": text.changed_text,
        "name": source.name,
        "force": force,
    }
    summaries = []
    for number, one in enumerate(model, start=1):
        if len(model) > 1:
            say(f"{number} of {len(model)}: {one}")
        # One that cannot be measured does not stop the others; alone it is bad input.
        try:
            loaded = load_model(one, progress=True, **loading)
            summaries.append(measured(loaded, documents, folder, measuring))
        except InputError as error:
            if len(model) == 1:
                raise
            say(f"{one}: not measured: {error}")
    if summaries:
        from rbpkit.records import told_apart

        print_rows(measured_rows(told_apart(summaries), each_k(None)), form)
    if len(summaries) < len(model):
        say(f"{len(summaries)} of {len(model)} models measured")
        raise SystemExit(1)


def measured(loaded: Ranker, text: Corpus, folder: Path, measuring: dict[str, Any]) -> Summary:
    """Measure a loaded model, with lines for people."""
    from rbpkit.measuring import measure as run

    said: list[str] = []

    def tell(line: str) -> None:
        said.append(line)
        say(line)

    shows_bar = sys.stderr.isatty()
    measurement = run(loaded, text, folder, progress=shows_bar, say=tell, **measuring)
    summary = measurement.summary
    state = "done before, not measured again"
    if not measurement.found_done:
        speed = summary.tokens / max(summary.manifest.seconds, 1e-9)
        state = f"{speed:,.0f} tokens/s"
    # What is scored has been said if text is left out.
    say("; ".join(line for line in (measurement.coverage, state) if line not in said))
    return summary


def look(
    *,
    model: Annotated[list[Model], Parameter(help="One or several: their texts below each other.")],
    text: Annotated[
        Path | None, Parameter(help="A text file, UTF-8; all of it is one document.")
    ] = None,
    corpus: Annotated[
        str | None, Parameter(help="In place of --text: the corpus that --document is of.")
    ] = None,
    document: Annotated[
        NonNegativeInt, Parameter(help="Its number in the order of the protocol, from 0.")
    ] = 0,
    out: Annotated[
        Path | None, Parameter(help="The page; by default TEXT.MODEL.look.html.")
    ] = None,
    top: Annotated[
        int, Parameter(help="Alternatives to each token.", validator=Number(gte=1, lte=50))
    ] = 5,
    which: Annotated[TextSettings, Parameter(name="*", group="Text")] = TEXT,
    reading: Annotated[ReadingSettings, Parameter(name="*", group="Reading")] = READING,
    place: Annotated[PlaceSettings, Parameter(name="*")] = ANYWHERE,
) -> None:
    """Colour each token of a text by its rank under a model, or several: one HTML page."""
    if (text is None) == (corpus is None):
        raise InputError("give --text, or --corpus and --document")
    taken = out is not None and out.exists()
    if out is not None and taken and (not out.is_file() or (text and out.samefile(text))):
        raise InputError(f"--out {out}: is no plain file, or the text itself; name another file")
    words: str | Corpus
    if text is not None:
        name, words = _of_file(text)
    else:
        name, words = _of_corpus(str(corpus), document, which)
    from rbpkit.files.writing import write_whole
    from rbpkit.models import load_model
    from rbpkit.records import slug
    from rbpkit.tools import rank_view as view

    looks = []
    for one in model:
        loaded = load_model(one, progress=True, **place.model_dump())
        seen = view.look(loaded, words, name=name, top=top, **reading.model_dump())
        looks.append(seen)
        say(
            f"{seen.model}: S {seen.S:,}, V {seen.V:,}; {len(seen.tokens):,} of"
            f" {seen.text_tokens:,} tokens; CE {seen.ce():.4f}, RBP_1 {seen.rbp(1):.4f},"
            f" RBP_10 {seen.rbp(10):.4f}"
        )
    models = "+".join(slug(seen.model) for seen in looks)
    file_name = name if text is not None else slug(name.replace(":", "-"))
    target = out or Path(f"{file_name}.{models}.look.html")
    write_whole(target.parent, {target.name: view.page(*looks).encode()})
    print(target)


def _of_file(text: Path) -> tuple[str, str]:
    """The name of a text file, and its text."""
    from rbpkit.files.text_files import read_txt, suffix_of

    words = read_txt(text)
    if suffix_of(text) not in (None, ".txt"):
        say(f"{text.name}: read as raw text, the names and quotation marks of JSON included")
    # A file's name may have bytes that are no text.
    return os.fsencode(text.name).decode("utf-8", "backslashreplace"), words


def _of_corpus(corpus: str, number: int, which: TextSettings) -> tuple[str, Corpus]:
    """The name of a document of a corpus, and the document with its prompt, as a corpus."""
    from rbpkit.corpora import Corpus, load_corpus

    whole = load_corpus(corpus, **which.model_dump(exclude={"changed_text"}))
    count = len(whole.documents)
    if number >= count:
        raise InputError(f"--document {number}: {whole.id} has {count} documents, from 0")
    name = f"{whole.id}-{number}"
    prompts = None if whole.prompts is None else (whole.prompts[number],)
    return name, Corpus(name, (whole.documents[number],), prompts=prompts)
