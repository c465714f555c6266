"""The commands that run a model: `rbpkit measure` on a corpus, `rbpkit look` on one text."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from rbpkit.cli.common import AsJson, CorpusName, Model, Out, each_k, measured_rows, print_rows, say
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
from rbpkit.study.checks import folder_to_write

# numpy, torch and all that imports them are imported in the functions that need them: they take
# seconds, and help and refusals should not.
if TYPE_CHECKING:
    from rbpkit.corpora import Corpus
    from rbpkit.summary import Summary

TEXT, READING, MODEL, RUN = TextSettings(), ReadingSettings(), ModelSettings(), RunSettings()
SERVER = ServerSettings()


def measure(
    *,
    model: Annotated[
        list[str],
        Parameter(help="Hub ids, folders in their layout, or pocket:NAME; one or several."),
    ],
    corpus: CorpusName,
    out: Out,
    text: Annotated[TextSettings, Parameter(name="*", group="Text")] = TEXT,
    reading: Annotated[ReadingSettings, Parameter(name="*", group="Reading")] = READING,
    source: Annotated[ModelSettings, Parameter(name="*", group="Model")] = MODEL,
    run: Annotated[RunSettings, Parameter(name="*", group="Run")] = RUN,
    server: Annotated[ServerSettings, Parameter(name="*", group="Server")] = SERVER,
    force: Annotated[bool, Parameter(help="Measure again what is done.")] = False,
    as_json: AsJson = False,
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
            summaries.append(_measured(one, documents, folder, loading, measuring))
        except InputError as error:
            if len(model) == 1:
                raise
            say(f"{one}: not measured: {error}")
    if summaries:
        from rbpkit.records import told_apart

        print_rows(measured_rows(told_apart(summaries), each_k(None)), as_json)
    if len(summaries) < len(model):
        say(f"{len(summaries)} of {len(model)} models measured")
        raise SystemExit(1)


def _measured(
    source: str, text: Corpus, folder: Path, loading: dict[str, Any], measuring: dict[str, Any]
) -> Summary:
    """Load a model and measure it, with lines for people."""
    from rbpkit.measuring import measure as run
    from rbpkit.models import load_model

    loaded = load_model(source, progress=True, image=text.pictures is not None, **loading)
    lines_shown: list[str] = []

    def tell(line: str) -> None:
        lines_shown.append(line)
        say(line)

    shows_bar = sys.stderr.isatty()
    measurement = run(loaded, text, folder, progress=shows_bar, say=tell, **measuring)
    summary = measurement.summary
    if measurement.found_done:
        state = "done before, not measured again"
    else:
        speed = summary.tokens / max(summary.manifest.seconds, 1e-9)
        state = f"{speed:,.0f} tokens/s"
    new = []  # what no line has said yet
    if measurement.coverage not in lines_shown:  # it has been said if text is left out
        new.append(measurement.coverage)
    if not any(line.startswith("done before") for line in lines_shown):
        new.append(state)
    if new:
        say("; ".join(new))
    return summary


ANYWHERE = PlaceSettings()


def look(
    *,
    model: Model,
    text: Annotated[Path, Parameter(help="A text file, UTF-8; all of it is one document.")],
    out: Annotated[
        Path | None, Parameter(help="The page; by default TEXT.MODEL.look.html.")
    ] = None,
    top: Annotated[
        int, Parameter(help="Alternatives to each token.", validator=Number(gte=1, lte=50))
    ] = 5,
    max_length: Annotated[
        int, Parameter(help="Cut the text at this many tokens.", validator=Number(gte=2))
    ] = 512,
    place: Annotated[PlaceSettings, Parameter(name="*")] = ANYWHERE,
) -> None:
    """Colour each token of a text by its rank under a model: one HTML page."""
    from rbpkit.files.text_files import read_txt, suffix_of

    words = read_txt(text)
    if out is not None and out.exists() and (not out.is_file() or out.samefile(text)):
        raise InputError(f"--out {out}: is no plain file, or the text itself; name another file")
    if suffix_of(text) not in (None, ".txt"):
        say(f"{text.name}: read as raw text, the names and quotation marks of JSON included")
    from rbpkit.files.writing import write_whole
    from rbpkit.models import load_model
    from rbpkit.records import slug
    from rbpkit.tools import rank_view as view

    loaded = load_model(model, progress=True, **place.model_dump())
    # A file's name may have bytes that are no text.
    name = os.fsencode(text.name).decode("utf-8", "backslashreplace")
    target = out or Path(f"{name}.{slug(loaded.name)}.look.html")
    seen = view.look(loaded, words, name=name, top=top, max_length=max_length)
    page = view.page(seen)
    write_whole(target.parent, {target.name: page.encode()})
    say(
        f"{seen.model}: S {seen.S:,}, V {seen.V:,}; {len(seen.tokens):,} of {seen.text_tokens:,}"
        f" tokens; CE {seen.ce():.4f}, RBP_1 {seen.rbp(1):.4f}, RBP_10 {seen.rbp(10):.4f}"
    )
    print(target)
