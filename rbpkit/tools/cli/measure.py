"""The commands that run models: `rbpkit measure` on a corpus, `rbpkit look` on one text.

Their options are the arguments of `load_corpus`, `load_model` and `measure`, so torch is loaded
with this module, which takes seconds; the command line loads it only for these commands.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.types import NonNegativeInt
from cyclopts.validators import Number

from rbpkit.corpora import Corpus, load_corpus
from rbpkit.errors import InputError
from rbpkit.files.text_files import read_txt, suffix_of
from rbpkit.files.writing import write_whole
from rbpkit.measuring import measure as measure_one
from rbpkit.models import load_model
from rbpkit.planning import look_up
from rbpkit.ranker import Ranker
from rbpkit.records import slug
from rbpkit.summary import Summary
from rbpkit.tools import rank_view
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
from rbpkit.tools.cli.options import options_of
from rbpkit.tools.study.checks import folder_to_write

if TYPE_CHECKING:

    class TextOptions(Any): ...

    class ModelOptions(Any): ...

    class ReadingOptions(Any): ...

    class PlaceOptions(Any): ...

    class WindowOptions(Any): ...
else:
    # --revision is that of a model; a parameter file pins data sets too.
    TextOptions = options_of(load_corpus, "Text", leave_out=("revision",))
    ModelOptions = options_of(
        load_model, "Model", leave_out=("device_map", "local_files_only", "progress")
    )
    ReadingOptions = options_of(
        measure_one, "Reading", only=("max_length", "stride", "batch_tokens", "force")
    )
    PlaceOptions = options_of(load_model, "Model", only=("dtype", "device"))
    WindowOptions = options_of(measure_one, "Reading", only=("max_length", "stride"))

TEXT, MODEL, READING = TextOptions(), ModelOptions(), ReadingOptions()
PLACE, WINDOWS = PlaceOptions(), WindowOptions()

SPREAD_OUT = Parameter(name="*")
"""Each field of a dataclass is an option of its own."""


def measure(
    *,
    model: Annotated[
        list[str],
        Parameter(help="Hub ids, folders, pocket:NAME, .gguf, scores:FILE, servers; several too."),
    ],
    corpus: CorpusName,
    out: Out,
    text: Annotated[TextOptions, SPREAD_OUT] = TEXT,
    reading: Annotated[ReadingOptions, SPREAD_OUT] = READING,
    source: Annotated[ModelOptions, SPREAD_OUT] = MODEL,
    form: Table = TEXT_TABLE,
) -> None:
    """Rank every scored token of a corpus under a model, or several, and keep the records."""
    if not model:
        raise InputError("--model: name one, or several")
    if len(model) > 1 and (source.name is not None or source.revision is not None):
        raise InputError("--name and --revision are of one model; give them one at a time")
    folder = folder_to_write(out)
    # The corpus first: its faults show at once, a model may take minutes to load.
    documents = load_corpus(corpus, **asdict(text))
    for one in model:
        look_up(
            one,
            revision=source.revision,
            tokenizer=source.tokenizer,
            trust_remote_code=source.trust_remote_code,
        )
    summaries = []
    for number, one in enumerate(model, start=1):
        if len(model) > 1:
            say(f"{number} of {len(model)}: {one}")
        # One that cannot be measured does not stop the others; alone it is bad input.
        try:
            loaded = load_model(one, progress=True, **asdict(source))
            settings = {"family": source.family, **asdict(reading)}
            summaries.append(measured(loaded, documents, folder, settings))
        except InputError as error:
            if len(model) == 1:
                raise
            say(f"{one}: not measured: {error}")
    if summaries:
        print_rows(measured_rows(summaries, each_k(None)), form)
    if len(summaries) < len(model):
        say(f"{len(summaries)} of {len(model)} models measured")
        raise SystemExit(1)


def measured(loaded: Ranker, text: Corpus, folder: Path, reading: Mapping[str, Any]) -> Summary:
    """Measure a loaded model, with lines for people."""
    said: list[str] = []

    def tell(line: str) -> None:
        said.append(line)
        say(line)

    shows_bar = sys.stderr.isatty()
    measurement = measure_one(loaded, text, folder, progress=shows_bar, say=tell, **reading)
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
    which: Annotated[TextOptions, SPREAD_OUT] = TEXT,
    reading: Annotated[WindowOptions, SPREAD_OUT] = WINDOWS,
    place: Annotated[PlaceOptions, SPREAD_OUT] = PLACE,
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
        name, words = _of_corpus(str(corpus), document, asdict(which))
    looks = []
    for one in model:
        loaded = load_model(one, progress=True, **asdict(place))
        seen = rank_view.look(loaded, words, name=name, top=top, **asdict(reading))
        looks.append(seen)
        say(
            f"{seen.model}: S {seen.S:,}, V {seen.V:,}; {len(seen.tokens):,} of"
            f" {seen.text_tokens:,} tokens; CE {seen.ce():.4f}, RBP_1 {seen.rbp(1):.4f},"
            f" RBP_10 {seen.rbp(10):.4f}"
        )
    models = "+".join(slug(seen.model) for seen in looks)
    file_name = name if text is not None else slug(name.replace(":", "-"))
    target = out or Path(f"{file_name}.{models}.look.html")
    write_whole(target.parent, {target.name: rank_view.page(*looks).encode()})
    print(target)


def _of_file(text: Path) -> tuple[str, str]:
    """The name of a text file, and its text."""
    words = read_txt(text)
    if suffix_of(text) not in (None, ".txt"):
        say(f"{text.name}: read as raw text, the names and quotation marks of JSON included")
    # A file's name may have bytes that are no text.
    return os.fsencode(text.name).decode("utf-8", "backslashreplace"), words


def _of_corpus(corpus: str, number: int, which: Mapping[str, Any]) -> tuple[str, Corpus]:
    """The name of a document of a corpus, and the document with its prompt, as a corpus."""
    whole = load_corpus(corpus, **which)
    count = len(whole.documents)
    if number >= count:
        raise InputError(f"--document {number}: {whole.id} has {count} documents, from 0")
    name = f"{whole.id}-{number}"
    prompts = None if whole.prompts is None else (whole.prompts[number],)
    return name, Corpus(name, (whole.documents[number],), prompts=prompts)
