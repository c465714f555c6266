"""Sphinx settings of the site, whose sources are the repository (docs/build.py)."""

from __future__ import annotations

import json
import re
import textwrap
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the tests read this file without Sphinx
    from docutils import nodes
    from sphinx.application import Sphinx

project = "rbpkit"
author = "rbpkit contributors"
copyright = "rbpkit contributors"
release = version = metadata.version("rbpkit")
language = "en"

extensions = ["myst_nb", "sphinx.ext.mathjax"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "figures/*.md", "notebooks/*.ipynb", "pocket/README.md"]
exclude_patterns = [".*", "out", "tests", "rbpkit", "pocket/rbpkit_pocket", "docs/class/slides.md"]
nb_execution_mode = "off"  # the notebooks come executed
nb_merge_streams = True
nb_number_source_lines = False
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
nb_render_markdown_format = "myst"  # else a table that a cell displays stays raw text
myst_heading_anchors = 3

# MathJax is part of the site: nothing is loaded from elsewhere.
mathjax_path = "mathjax/tex-chtml.js"
mathjax3_config = {"options": {"enableMenu": False}}

html_theme = "sphinx_book_theme"
html_title = "rbpkit"
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}  # light or dark as on the reader's system
html_static_path = ["_static"]
html_css_files = ["site.css"]
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


# -- what a page needs that the file does not have --------------------------------------------

HINT = re.compile(r"<details><summary>Hint</summary>(.*?)</details>", re.DOTALL)
WHOLE_PAGE = re.compile(r"\[([^\]]+)\]\(([^)\s]*?(\w+)\.html)\)")  # which Sphinx does not know
TITLES = {
    "figures/table_1": "Table 1, computed from the published points",
    "figures/pocket_table_1": "The pocket models in the form of Table 1",
}
ORPHANS = ("docs/solutions/", "docs/class/", "pocket/")  # in no table of contents: pages lead there


def page_source(app: Sphinx, name: str, source: list[str]) -> None:
    """The text of a page or notebook as Sphinx reads it."""
    if app.env.doc2path(name).suffix == ".ipynb":
        notebook = json.loads(source[0])
        add_to_notebook(notebook)
        source[0] = json.dumps(notebook)
        return
    text = WHOLE_PAGE.sub(r'<a href="\2">\1</a>', source[0])
    if name in TITLES:
        text = f"# {TITLES[name]}\n\n{text}"
    if name.startswith(ORPHANS):
        text = f"---\norphan: true\n---\n{text}"
    source[0] = text


def add_to_notebook(notebook: dict[str, Any]) -> None:
    """Hints that open, explorables in the page, and a text for each picture."""
    heading, before = "", ""
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code":
            words = plain_words(f"{heading}. {before}")
            image = {"alt": textwrap.shorten(words, 320, placeholder=" ..."), "width": "100%"}
            cell["metadata"].setdefault("mystnb", {})["image"] = image
            continue
        for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
            heading = title
        paragraphs = [part for part in text.split("\n\n") if not part.startswith(("#", "$$"))]
        before = paragraphs[-1] if paragraphs else ""
        text = HINT.sub(":::{admonition} Hint\n:collapsible: closed\n\\1\n:::", text)
        # A line that is nothing but a link to an explorable becomes the explorable, and the link.
        framed = r'<iframe class="explorable \3" src="\2" title="\1"></iframe>\n\n\g<0>'
        text = re.sub(f"^{WHOLE_PAGE.pattern}$", framed, text, flags=re.MULTILINE)
        cell["source"] = WHOLE_PAGE.sub(r'<a href="\2">\1</a>', text)


def plain_words(text: str) -> str:
    """Markdown with formulas as words that can be read out."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\\(?:mathrm|text|hat|mathbf|big|Big|left|right|[,;!()])", "", text)
    return re.sub(r"[\\*`${}]", "", text)


def plain_title(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """A browser shows a page's title as plain text, so it must not contain a formula."""
    if "title" in context:
        context["title"] = re.sub(r"\\\((.*?)\\\)", r"\1", context["title"])


def setup(app: Sphinx) -> None:
    app.set_html_assets_policy("always")  # the side bar has formulas on every page
    app.connect("source-read", page_source)
    app.connect("html-page-context", plain_title)
