"""The commands that run models: `rbpkit measure` on a corpus, `rbpkit look` on one text.

Their options are the arguments of `load_corpus`, `load_model` and `measure`.
"""
# mypy: disable-error-code="valid-type"
# Classes of options are made when the module is loaded.

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.types import NonNegativeInt, PositiveInt

from rbpkit.corpora import Corpus, load_corpus
from rbpkit.errors import InputError, one_line
from rbpkit.measuring import measure as measure_one
from rbpkit.models import find_model, load_model
from rbpkit.ranker import Ranker
from rbpkit.records import slug
from rbpkit.summary import Summary
from rbpkit.text_files import read_txt
from rbpkit.tools import rank_view
from rbpkit.tools.cli.app import say
from rbpkit.tools.cli.common import AS_TEXT, SPREAD_OUT, Format, Out, measured_table, print_table
from rbpkit.tools.cli.options import options_of
from rbpkit.writing import write_whole

# --revision is that of a model; a parameter file pins data sets too.
OF_TEXT = ("documents", "seed", "field", "unit", "prompt", "max_bytes", "changed_text")
OF_MODEL = ("name", "family", "revision", "tokenizer", "dtype", "device")
OF_SCORES = ("size", "vocabulary", "served_model", "api_key", "requests")
OF_READING = ("max_length", "stride")

TextOptions = options_of(load_corpus, "Text", *OF_TEXT)
ModelOptions = options_of(load_model, "Model", *OF_MODEL, *OF_SCORES)
ReadingOptions = options_of(measure_one, "Reading", *OF_READING, "batch_tokens", "force")
WindowOptions = options_of(measure_one, "Reading", *OF_READING)

TEXT, MODEL = TextOptions(), ModelOptions()
READING, WINDOWS = ReadingOptions(), WindowOptions()


def measure(
    *,
    model: Annotated[
        list[str],
        Parameter(
            help="Hub ids, folders, pocket:NAME, .gguf, scores:FILE, servers; several too.",
            consume_multiple=True,  # a shell may write them, as of runs/*/checkpoint-*
        ),
    ],
    corpus: Annotated[str, Parameter(help="A corpus by name, or a file or folder of text.")],
    out: Out,
    text: Annotated[TextOptions, SPREAD_OUT] = TEXT,
    reading: Annotated[ReadingOptions, SPREAD_OUT] = READING,
    source: Annotated[ModelOptions, SPREAD_OUT] = MODEL,
    form: Format = AS_TEXT,
) -> None:
    """Rank every scored token of a corpus under a model, or several, and keep the records."""
    # The corpus first: its faults show at once, a model may take minutes to load.
    documents = load_corpus(corpus, **asdict(text))
    settings = asdict(source)
    how = {"family": settings["family"], **asdict(reading)}
    is_alone = len(model) == 1
    found, summaries = [], []
    for one in model:  # before the first is loaded, so that a slip shows at once
        with _others_go_on(one, is_alone):
            found.append(find_model(one, **settings))
    out.mkdir(parents=True, exist_ok=True)
    for model_found in found:
        with _others_go_on(model_found.name, is_alone):
            summaries.append(measured(model_found.load(), documents, out, **how))
    if summaries:
        print_table(measured_table(summaries), form)
    if len(summaries) < len(model):
        say(f"{len(summaries)} of {len(model)} models measured")
        raise SystemExit(1)


@contextmanager
def _others_go_on(name: str, is_alone: bool) -> Iterator[None]:
    """A model that cannot be measured in this block stops no other; alone it is bad input."""
    try:
        yield
    except Exception as error:  # the libraries have errors of every kind
        if is_alone:
            raise
        fault = error if isinstance(error, InputError) else one_line(error)
        say(f"{name}: not measured: {fault}")


def measured(loaded: Ranker, text: Corpus, out: Path, **how: Any) -> Summary:
    """Measure a loaded model, with lines for people."""
    result = measure_one(loaded, text, out, progress=sys.stderr.isatty(), say=say, **how)
    summary = result.summary
    speed = summary.tokens / max(summary.manifest.seconds, 1e-9)
    state = "done before, not measured again" if result.found_done else f"{speed:,.0f} tokens/s"
    say(f"{summary.manifest.model}: {summary.tokens:,} tokens; {state}")
    return summary


def look(
    *,
    model: Annotated[
        list[str],
        Parameter(
            help="A model, as of `measure`; several: their texts below each other.",
            consume_multiple=True,
        ),
    ],
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
    top: Annotated[PositiveInt, Parameter(help="Alternatives to each token.")] = 5,
    which: Annotated[TextOptions, SPREAD_OUT] = TEXT,
    reading: Annotated[WindowOptions, SPREAD_OUT] = WINDOWS,
    source: Annotated[ModelOptions, SPREAD_OUT] = MODEL,
) -> None:
    """Colour each token of a text by its rank under a model, or several: one HTML page."""
    if (text is None) == (corpus is None):
        raise InputError("give --text, or --corpus and --document")
    if text is not None:
        words = Corpus(text.name, (read_txt(text),))
    else:
        words = _document_of(load_corpus(str(corpus), **asdict(which)), document)
    looks = []
    for one in model:
        loaded = load_model(one, **asdict(source))
        seen = rank_view.look(loaded, words, top=top, **asdict(reading))
        looks.append(seen)
        say(
            f"{seen.model}: S {seen.S:,}, V {seen.V:,}; {len(seen.tokens):,} of"
            f" {seen.text_tokens:,} tokens; CE {seen.ce():.4f}, RBP_1 {seen.rbp(1):.4f},"
            f" RBP_10 {seen.rbp(10):.4f}"
        )
    models = "+".join(slug(seen.model) for seen in looks)
    target = out or Path(f"{slug(words.id.replace(':', '-'))}.{models}.look.html")
    write_whole(target.parent, {target.name: rank_view.page(*looks).encode()})
    print(target)


def _document_of(whole: Corpus, number: int) -> Corpus:
    """A document of a corpus with its prompt, as a corpus of its own."""
    count = len(whole.documents)
    if number >= count:
        raise InputError(f"--document {number}: {whole.id} has {count} documents, from 0")
    prompts = None if whole.prompts is None else (whole.prompts[number],)
    return Corpus(f"{whole.id}-{number}", (whole.documents[number],), prompts=prompts)
