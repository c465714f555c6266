"""Sphinx settings of the site; read from the folder that docs/build.py puts together."""

import os
import re
from importlib import metadata
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

project = "rbpkit"
author = "rbpkit contributors"
copyright = "rbpkit contributors"
release = version = metadata.version("rbpkit")
language = "en"

extensions = ["myst_nb", "sphinx.ext.mathjax"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["_build", "extra"]
html_extra_path = ["extra"]  # the explorables, which are whole pages
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

# Buttons that lead to a repository, Colab and Binder appear once an address is given.
repository = os.environ.get("RBPKIT_REPOSITORY_URL", "").strip()
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
if repository:
    html_theme_options["repository_url"] = repository
    html_theme_options["repository_branch"] = os.environ.get("RBPKIT_REPOSITORY_BRANCH", "main")
    html_theme_options["path_to_docs"] = ""
    html_theme_options["use_repository_button"] = True
    html_theme_options["launch_buttons"] = {
        "colab_url": "https://colab.research.google.com",
        "binderhub_url": "https://mybinder.org",
    }


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
    app.connect("html-page-context", plain_title)
