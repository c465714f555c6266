"""slides.md as one HTML page of slides: `python docs/class/make_slides.py`.

A line of three hyphens separates slides. A paragraph that begins with "Note:" is for the teacher:
the key N opens a window with the notes. A paragraph "Tokens: A B" becomes the first text of the
explorable `tokens` under its models A and B. Pictures are put into the page: it is one file.
"""

from __future__ import annotations

import base64
import html
import io
import json
import re
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from PIL import Image

from rbpkit.palette import RANK_FILLS, RANK_GROUPS, RANK_LETTERS, rank_group
from rbpkit_notebooks.explorables import PAGES

HERE = Path(__file__).resolve().parent
MOST_PIXELS = 1600
PAGE = (HERE / "slides_page.html").read_text(encoding="utf-8")


def slides_page(text: str) -> str:
    """The page of a text of slides."""
    slides = re.split(r"^---$", text, flags=re.MULTILINE)
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    sections = []
    for number, slide in enumerate(slides, start=1):
        content = markdown.render(slide)
        if number > 1:
            content = re.sub(r"(</?)h1>", r"\1h2>", content)
        content = re.sub(
            r"<p>Note: (.*?)</p>", r"<aside hidden>\1</aside>", content, flags=re.DOTALL
        )
        content = re.sub(r"<p>Tokens: (\d+) (\d+)</p>", _coloured, content)
        kind = "figure" if "<img" in content else "text"
        content = re.sub(r'src="([^"]+\.png)"', _inlined, content)
        count = f"<small>{number} / {len(slides)}</small>"
        sections.append(f'<section class="{kind}">\n{content}{count}\n</section>\n')
    title = text.splitlines()[0].removeprefix("# ")
    return PAGE.replace("%TITLE%", title).replace("%SLIDES%", "".join(sections))


def _coloured(match: re.Match[str]) -> str:
    """A text under two models of the explorable, each token in the colour of its rank."""
    page = (PAGES / "tokens.html").read_text(encoding="utf-8")
    data = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])
    columns = []
    for model in map(int, match.groups()):
        tokens: list[list[Any]] = data["runs"][model][0]
        ranks = [token[1] for token in tokens if len(token) > 1]
        pieces = [_piece(data["pieces"][token[0]], *token[1:2]) for token in tokens]
        S = data["models"][model]["S"]
        words = f"S = {S:,}: <b>{ranks.count(1)} of {len(ranks)}</b> in first place"
        columns.append(f'<div><p>{words}</p><pre class="tokens">{"".join(pieces)}</pre></div>')
    key = "".join(
        _piece(f" {name} ", rank)
        for name, rank in zip(RANK_GROUPS, (1, 2, 6, 11, 101, 1001), strict=True)
    )
    return f'<div class="two">{"".join(columns)}</div><p class="tokens">{key}</p>'


def _piece(piece: str, rank: int | None = None) -> str:
    """A token in the colours of its rank; the first token of a text has none."""
    words = html.escape(piece)
    if rank is None:
        return words
    group = rank_group(rank)
    look = f"background: {RANK_FILLS[group]}; color: {RANK_LETTERS[group]}"
    return f'<span style="{look}">{words}</span>'


def _inlined(match: re.Match[str]) -> str:
    """The picture itself in the place of its path, with a palette, which makes it small."""
    with Image.open(HERE / match[1]) as picture:
        full = picture.convert("RGB")
    if full.width > MOST_PIXELS:
        height = round(full.height * MOST_PIXELS / full.width)
        full = full.resize((MOST_PIXELS, height), Image.Resampling.LANCZOS)
    held = io.BytesIO()
    small = full.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    small.save(held, "PNG", optimize=True)
    return f'src="data:image/png;base64,{base64.b64encode(held.getvalue()).decode()}"'


if __name__ == "__main__":
    text = (HERE / "slides.md").read_text(encoding="utf-8")
    (HERE / "slides.html").write_text(slides_page(text), encoding="utf-8")
    print(HERE / "slides.html")
