"""`rbpkit pocket captions`: measure a model that reads pictures."""
# mypy: disable-error-code="valid-type"
# Classes of options are made when the module is loaded.

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from rbpkit.models import load_model
from rbpkit.tools.cli.common import (
    SPREAD_OUT,
    TEXT_TABLE,
    Out,
    Table,
    measured_table,
    print_table,
)
from rbpkit.tools.cli.measure import READING, ReadingOptions, measured
from rbpkit.tools.cli.options import options_of
from rbpkit.tools.study.checks import folder_to_write
from rbpkit_pocket.captions import load_captioner, load_captions

CaptionOptions = options_of(load_captions, "Text")
of_captioner = inspect.signature(load_captioner).parameters
CaptionerOptions = options_of(load_model, "Model", only=of_captioner)

TEXT, MODEL = CaptionOptions(), CaptionerOptions()


def captions(
    *,
    model: Annotated[str, Parameter(help="Hub id, a folder, or pocket:NAME.")],
    corpus: Annotated[str, Parameter(help="A file or folder of captions, or pocket:glyphs.")],
    out: Out,
    text: Annotated[CaptionOptions, SPREAD_OUT] = TEXT,
    reading: Annotated[ReadingOptions, SPREAD_OUT] = READING,
    source: Annotated[CaptionerOptions, SPREAD_OUT] = MODEL,
    form: Table = TEXT_TABLE,
) -> None:
    """Rank every token of captions under a model that reads their pictures; keep the records."""
    folder = folder_to_write(out)
    # The captions first: their faults show at once, a model may take minutes to load.
    documents = load_captions(corpus, **asdict(text))
    loaded = load_captioner(model, **asdict(source))
    summary = measured(loaded, documents, folder, asdict(reading))
    print_table(measured_table([summary]), form)
