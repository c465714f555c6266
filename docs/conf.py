"""Sphinx settings of the site, whose sources are the repository (docs/build.py)."""

from __future__ import annotations

import html
import json
import os
import re
import textwrap
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the tests read this file without Sphinx
    from docutils import nodes
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "notebooks/rbpkit_notebooks/pages"

project = "rbpkit"
author = "rbpkit contributors"
copyright = "rbpkit contributors"
release = version = metadata.version("rbpkit")
language = "en"

extensions = ["myst_nb", "sphinx.ext.mathjax"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "figures/*.md", "notebooks/*.ipynb", "pocket/README.md"]
exclude_patterns = [".*", "**/.ipynb_checkpoints", "docs/class/slides.md"]
nb_execution_mode = "off"  # the notebooks come executed
nb_merge_streams = True
nb_number_source_lines = False
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
nb_render_markdown_format = "myst"  # else a table that a cell displays stays raw text
myst_heading_anchors = 3

# MathJax is part of the site: nothing is loaded from elsewhere.
mathjax_path = "mathjax/startup.js"
mathjax3_config = {"loader": {"load": ["input/tex", "output/chtml"]}}

html_theme = "sphinx_book_theme"
html_title = "rbpkit"
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}  # light or dark as on the reader's system
html_static_path = ["_static", str(PAGES / "frame.js")]
html_css_files = ["site.css"]
html_js_files = [("frame.js", {"defer": "defer"}), ("site.js", {"defer": "defer"})]
html_show_sourcelink = False
html_use_index = False
html_last_updated_fmt = None
templates_path: list[str] = []

html_theme_options: dict[str, Any] = {
    "use_download_button": True,
    "use_fullscreen_button": False,
    "show_toc_level": 2,
    "home_page_in_toc": True,
    # The side bar has the search; a bar across the top would have it a second time.
    "navbar_start": [],
    "navbar_center": [],
    "navbar_end": [],
    "navbar_persistent": [],
}

# Where the project is published: README names the address, and a runner of GitHub its owner.
README = (ROOT / "README.md").read_text(encoding="utf-8")
[(owner, repository)] = re.findall(r"https://([\w-]+)\.github\.io/(\w+)/", README)
owner = os.environ.get("GITHUB_REPOSITORY_OWNER") or owner
html_baseurl = ""
if owner != "OWNER":
    html_baseurl = f"https://{owner}.github.io/{repository}/"
    html_theme_options |= {
        "repository_url": f"https://github.com/{owner}/{repository}",
        "use_edit_page_button": True,
        "use_issues_button": True,
    }


# -- what a page needs that the file does not have --------------------------------------------

HINT = re.compile(r"<details><summary>Hint</summary>(.*?)</details>", re.DOTALL)
EXPLORABLE = re.compile(r'draw\.explorable\("(\w+)"\)')
WHOLE_PAGE = re.compile(r"\[([^\]]+)\]\(([^)\s]*?\w+\.html)\)")  # which Sphinx does not know
FRAME = """<iframe class="explorable" loading="lazy" title="{title}"
  src="../docs/explorables/{name}.html"></iframe>

<a href="../docs/explorables/{name}.html">{title}, on a page of its own</a>
"""
# A search for "notebook 03", and for a word of the file's name, finds the notebook first.
INDEX = """```{{index}} ! notebook {number}
```
```{{index}} ! {words}
```

"""
TITLES = {
    "figures/table_1": "Table 1, computed from the published points",
    "figures/pocket_table_1": "The pocket models in the form of Table 1",
}
ORPHANS = ("docs/solutions/", "docs/class/", "pocket/")  # in no table of contents: pages lead there


def page_source(app: Sphinx, name: str, source: list[str]) -> None:
    """The text of a page or notebook as Sphinx reads it."""
    if name.startswith("notebooks/"):
        notebook = json.loads(source[0])
        add_to_notebook(notebook, Path(name).name)
        source[0] = json.dumps(notebook)
        return
    text = WHOLE_PAGE.sub(r'<a href="\2">\1</a>', source[0])
    if name in TITLES:
        text = f"# {TITLES[name]}\n\n{text}"
    if name.startswith(ORPHANS):
        text = f"---\norphan: true\n---\n{text}"
    if name == root_doc:
        text = text.replace("%NOTEBOOKS%", each_notebook())
    source[0] = text


def each_notebook() -> str:
    """A line for each notebook: its number, its title, and what docs/notebooks.md says of it."""
    lines = []
    table = (ROOT / "docs/notebooks.md").read_text(encoding="utf-8")
    for name, sentence in re.findall(r"^\| \[(\d\d_\w+)\]\S+ \| (.*?) \|", table, re.MULTILINE):
        question = sentence.split("? ")[0].rstrip("?") + "?"
        lines.append(f"- [](../notebooks/{name}.ipynb): {question}")
    return "\n".join(lines)


def add_to_notebook(notebook: dict[str, Any], name: str) -> None:
    """A number in the title, hints that open, explorables in the page, a text for each picture."""
    heading, before = "", ""
    number, _, words = name.partition("_")
    words = re.sub(r"^(section|appendix)_[A-C\d](_\d)?_", "", words)
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if found := EXPLORABLE.search(text):
            title = re.findall(
                r"<title>(.*)</title>", (PAGES / f"{found[1]}.html").read_text("utf-8")
            )[0]
            framed = FRAME.format(name=found[1], title=title)
            cell.update(cell_type="markdown", source=framed, metadata={})
            cell.pop("outputs", None)
            cell.pop("execution_count", None)
            continue
        if cell["cell_type"] == "code":
            spoken = plain_words(f"{heading}. {before}")
            image = {"alt": textwrap.shorten(spoken, 320, placeholder=" ..."), "width": "100%"}
            cell["metadata"].setdefault("mystnb", {})["image"] = image
            continue
        if not heading:
            index = INDEX.format(number=number, words=words.replace("_", " "))
            text = re.sub("^# ", f"{index}# {number} · ", text, count=1, flags=re.MULTILINE)
            text = re.sub(r"^(# .*)\$(\w)(.*)\$", r"\1*\2*\3", text, flags=re.MULTILINE)
        for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
            heading = title
        paragraphs = [part for part in text.split("\n\n") if not part.startswith(("#", "$$"))]
        before = paragraphs[-1] if paragraphs else ""
        text = HINT.sub(":::{admonition} Hint\n:collapsible: closed\n\\1\n:::", text)
        cell["source"] = WHOLE_PAGE.sub(r'<a href="\2">\1</a>', text)


def plain_words(text: str) -> str:
    """Markdown with formulas as words that can be read out."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\\(?:mathrm|text|hat|mathbf|big|Big|left|right|[,;!()])", "", text)
    return re.sub(r"[\\*`${}]", "", text)


def page_context(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """What a search engine and a link's preview show of a page."""
    context["title"] = re.sub("<.*?>", "", context.get("title", project))  # k in italics
    said = {"og:title": html.unescape(context["title"]), "og:type": "article"}
    if html_baseurl:  # these have to be whole addresses
        said["og:url"] = f"{html_baseurl}{page}.html"
        said["og:image"] = f"{html_baseurl}_static/tokens.gif"
    tags = [
        f'<meta property="{name}" content="{html.escape(text)}">' for name, text in said.items()
    ]
    if doctree is not None:
        words = first_words(doctree)
        tags.append(f'<meta name="description" content="{words}">')
        tags.append(f'<meta property="og:description" content="{words}">')
    context["metatags"] = "\n".join([context.get("metatags", ""), *tags])


def first_words(doctree: nodes.document) -> str:
    """The first paragraph of a page in which there is a sentence, as plain text."""
    from docutils import nodes

    for paragraph in doctree.findall(nodes.paragraph):
        words = plain_words(paragraph.astext())
        if len(words) > 60:
            return html.escape(textwrap.shorten(words, 200, placeholder=" ..."))
    return project


def setup(app: Sphinx) -> None:
    app.connect("source-read", page_source)
    app.connect("html-page-context", page_context, priority=900)
