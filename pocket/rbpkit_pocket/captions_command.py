"""`rbpkit pocket captions`: measure a model that reads pictures."""
# mypy: disable-error-code="valid-type"
# Classes of options are made when the module is loaded.

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from rbpkit.models import load_model
from rbpkit.tools.cli.common import AS_TEXT, SPREAD_OUT, Format, Out, measured_table, print_table
from rbpkit.tools.cli.measure import OF_MODEL, READING, ReadingOptions, measured
from rbpkit.tools.cli.options import options_of
from rbpkit_pocket.captions import load_captioner, load_captions

OF_TEXT = ("image", "images", "documents", "seed", "field", "unit", "changed_text")
CaptionOptions = options_of(load_captions, "Text", *OF_TEXT)
CaptionerOptions = options_of(load_model, "Model", *OF_MODEL)

TEXT, MODEL = CaptionOptions(), CaptionerOptions()


def captions(
    *,
    model: Annotated[str, Parameter(help="Hub id, a folder, or pocket:NAME.")],
    corpus: Annotated[str, Parameter(help="A file or folder of captions, or pocket:glyphs.")],
    out: Out,
    text: Annotated[CaptionOptions, SPREAD_OUT] = TEXT,
    reading: Annotated[ReadingOptions, SPREAD_OUT] = READING,
    source: Annotated[CaptionerOptions, SPREAD_OUT] = MODEL,
    form: Format = AS_TEXT,
) -> None:
    """Rank every token of captions under a model that reads their pictures; keep the records."""
    # The captions first: their faults show at once, a model may take minutes to load.
    documents = load_captions(corpus, **asdict(text))
    loaded = load_captioner(model, **asdict(source))
    summary = measured(loaded, documents, out, **asdict(reading))
    print_table(measured_table([summary]), form)
