"""slides.md as one HTML page of slides, without scripts: `python docs/class/make_slides.py`.

A line of three hyphens separates slides. A paragraph that begins with "Note:" is for the teacher:
it is folded. Pictures are put into the page, so that it is one file.
"""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

from markdown_it import MarkdownIt
from PIL import Image

HERE = Path(__file__).resolve().parent
MOST_PIXELS = 1600
PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
html {{ scroll-snap-type: y proximity; }}
body {{ margin: 0; background: #fff; color: #1B1F24;
  font: clamp(16px, 2.1vw, 30px)/1.5 system-ui, sans-serif; }}
section {{ box-sizing: border-box; min-height: 100vh; padding: 6vh 8vw; scroll-snap-align: start;
  display: flex; flex-direction: column; justify-content: center; position: relative;
  border-bottom: 1px solid #D9DDE2; break-after: page; }}
h1 {{ font-size: 1.7em; line-height: 1.2; margin: 0 0 .6em; }}
p, ul, ol {{ margin: .4em 0; max-width: 40em; }}
img {{ max-width: 100%; max-height: 52vh; object-fit: contain; }}
table {{ border-collapse: collapse; margin: .5em 0; align-self: flex-start; }}
th, td {{ padding: .2em .8em; border-bottom: 1px solid #D9DDE2; text-align: left; }}
pre {{ background: #f4f5f6; padding: .6em 1em; overflow-x: auto; font-size: .8em; }}
small {{ position: absolute; right: 2vw; bottom: 2vh; color: #57626E; }}
details {{ color: #57626E; font-size: .8em; margin-top: 1em; }}
</style>
{slides}
</html>
"""


def slides_page(text: str) -> str:
    """The page of a text of slides."""
    slides = re.split(r"^---$", text, flags=re.MULTILINE)
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    sections = []
    for number, slide in enumerate(slides, start=1):
        html = markdown.render(slide)
        folded = r"<details><summary>For the teacher</summary>\1</details>"
        html = re.sub(r"<p>Note: (.*?)</p>", folded, html, flags=re.DOTALL)
        html = re.sub(r'src="([^"]+\.png)"', _inlined, html)
        sections.append(f"<section>\n{html}<small>{number} / {len(slides)}</small>\n</section>\n")
    title = text.splitlines()[0].removeprefix("# ")
    return PAGE.format(title=title, slides="".join(sections))


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
