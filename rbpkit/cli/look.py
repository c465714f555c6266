"""`rbpkit look`: a text as one model ranks it, token by token, on a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from rbpkit.cli.common import Model, say
from rbpkit.errors import InputError
from rbpkit.settings import PlaceSettings

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
