"""`rbpkit look`: a text as one model ranks it, token by token, on a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rbpkit.cli.common import Device, Dtype, Model, say
from rbpkit.errors import InputError
from rbpkit.files.text_files import read_txt
from rbpkit.study.checks import within

MOST_TOP = 50  # alternatives to a token: more make a page of many megabytes


def look(
    model: Model,
    text: Annotated[str, typer.Option(help="A text file, UTF-8; all of it is one document.")],
    out: Annotated[
        str | None, typer.Option("--out", help="The page; by default NAME.look.html, here.")
    ] = None,
    top: Annotated[int, typer.Option(help="How many alternatives to show at each token.")] = 5,
    max_length: Annotated[int, typer.Option(help="Cut the text at this many tokens.")] = 512,
    dtype: Dtype = "float32",
    device: Device = None,
) -> None:
    """Colour each token of a text by its rank under a model: one HTML page."""
    within("--top", top, 1, MOST_TOP)
    within("--max-length", max_length, 2)
    source = Path(text).expanduser()
    # The text and the page first: their faults show at once, a model may take minutes to load.
    words = read_txt(source)
    if not words.strip():
        raise InputError(f"--text {source}: the file is empty; give one with text")
    target = _target(source, out)
    from rbpkit.models import load_model
    from rbpkit.tools.look import look as run
    from rbpkit.tools.look_page import write_page

    loaded = load_model(model, dtype=dtype, device=device, progress=True)
    seen = run(loaded, words, name=source.name, top=top, max_length=max_length)
    write_page(seen, target)
    cut = (
        f" of {seen.text_tokens:,}, the rest is cut" if seen.text_tokens > len(seen.tokens) else ""
    )
    say(
        f"{seen.model}: S {seen.S:,}, V {seen.V:,}; {len(seen.tokens):,} tokens{cut};"
        f" CE {seen.ce():.4f}, RBP_1 {seen.rbp(1):.4f}, RBP_10 {seen.rbp(10):.4f}"
    )
    typer.echo(str(target))


def _target(source: Path, out: str | None) -> Path:
    """Where the page goes; never onto the text, a folder, or into a folder that is not there."""
    if out is not None and not out.strip():
        raise InputError("--out is empty: name a file, as --out page.html")
    target = Path(f"{source.name}.look.html" if out is None else out).expanduser()
    if target.is_dir():
        raise InputError(f"--out {target}: is a folder; name a file in it")
    if target.exists() and os.path.samefile(target, source):
        raise InputError(f"--out {target}: is the text itself; name another file")
    if not target.parent.is_dir():
        raise InputError(f"--out {target}: there is no folder {target.parent}; make it first")
    return target
