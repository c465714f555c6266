"""The pages that can be moved, in a notebook's cell: `docs/explorables/make.py` writes them."""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path

from IPython.core.getipython import get_ipython
from IPython.display import HTML, Image, display

PAGES = Path(__file__).resolve().parent / "pages"


def still_of(name: str) -> bytes:
    """The still picture inside of a page, as PNG."""
    page = (PAGES / f"{name}.html").read_text(encoding="utf-8")
    [encoded] = re.findall(r"data:image/png;base64,([^\"]+)", page)
    return base64.b64decode(encoded)


def explorable(name: str) -> None:
    """Show a page where somebody can move it, else its still picture.

    In a batch (papermill, nbconvert) nobody can, and a notebook with the page is large.
    """
    shell = get_ipython()
    request = getattr(shell, "parent_header", None) or {}
    # A front end that lets its user answer `input()` says so with each cell.
    if not request.get("content", {}).get("allow_stdin"):
        display(Image(still_of(name), width=720))
        print("It moves when you run this cell, and on the site that the README names.")
        return
    page = html.escape((PAGES / f"{name}.html").read_text(encoding="utf-8"))
    script = (PAGES / "frame.js").read_text(encoding="utf-8")
    look = "width: 100%; height: 620px; border: 0"
    frame = f'<iframe class="explorable" style="{look}" srcdoc="{page}"></iframe>'
    display(HTML(f"<script>{script}</script>{frame}"))
