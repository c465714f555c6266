"""The site: its sources are complete, and what is built is whole and needs nothing else."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def script(name: str):
    """A module of docs/, which is not a package."""
    found = importlib.util.spec_from_file_location(f"site_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # dataclasses look their module up
    found.loader.exec_module(module)
    return module


check, conf, options = (script(name) for name in ("check", "conf", "options"))


# -- sources ---------------------------------------------------------------------------------


def test_a_notebook_gets_what_its_page_needs():
    words = "## Is it $S$?\n\n[Move it](../docs/explorables/line.html)\n\nGrey."
    hint = "<details><summary>Hint</summary>Take $k$.</details>"
    cells = [{"cell_type": "markdown", "source": text} for text in (hint, words)]
    code = {"cell_type": "code", "source": "1", "metadata": {}}
    conf.add_to_notebook({"cells": [*cells, code]})
    assert cells[0]["source"] == ":::{admonition} Hint\n:collapsible: closed\nTake $k$.\n:::"
    explorable = '<iframe class="explorable line" src="../docs/explorables/line.html"'
    assert explorable in cells[1]["source"]
    assert code["metadata"]["mystnb"]["image"]["alt"] == "Is it S?. Grey."


def test_the_page_of_options_has_every_setting_as_it_is_defined():
    assert options.PAGE.read_text(encoding="utf-8") == options.page(), "python docs/options.py"


def test_pages_link_only_what_is_there():
    for page in [*DOCS.glob("*.md"), *DOCS.glob("*/*.md"), *ROOT.glob("*.md")]:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for goal in re.findall(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)", text):
            assert (page.parent / goal).exists(), f"{page.name} links {goal}"


# -- the check itself ------------------------------------------------------------------------


def test_the_check_finds_each_fault(tmp_path):
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images" / "a.png").write_bytes(b"x" * 2_100_000)
    (tmp_path / "ok.html").write_text('<p id="there">x</p>')
    (tmp_path / "far.css").write_text('@import url("https://fonts.example/a.css");')
    (tmp_path / "bad.html").write_text(
        '<script src="https://cdn.example/x.js"></script><a href="gone.html">x</a>'
        '<a href="ok.html#nowhere">x</a><a href="ok.html#there">x</a>'
        '<a href="https://example.org">x</a><img src="_images/a.png">'
    )
    found = "\n".join(check.faults(tmp_path))
    for words in (
        "bad.html: loads https://cdn.example/x.js from another host",
        "bad.html: gone.html leads nowhere",
        "bad.html: ok.html#nowhere: no such place",
        "bad.html: no alternative text for _images/a.png",
        "bad.html: 2.10 MB with its images",
        "far.css: loads from another host",
    ):
        assert words in found
    assert found.count("\n") == 5


def test_the_check_finds_what_was_not_set_and_lets_code_be(tmp_path):
    page = tmp_path / "index.html"
    for body, says in (
        ("<p>| claim | verdict |\n| --- | ---: |\n| a | b |</p>", "raw table"),
        (r"<p>so $\mathrm{RBP}_k$ grows</p>", "raw formula"),
        (r"<title>the law at \(k\)</title>", "raw formula"),
        (r"<p><span class='math'>\(k\)</span></p>", "formulas, and no MathJax"),
        ("<div class='cell_output'><table class='dataframe'></table></div>", "table cells touch"),
    ):
        page.write_text(body)
        [fault] = check.faults(tmp_path)
        assert says in fault
    page.write_text(r"<code>$x$ \(k\)</code><pre>| --- |</pre><p>a $5 note<br>or $7</p>")
    assert check.faults(tmp_path) == []


# -- the site --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_site_built_from_the_committed_notebooks_is_whole(tmp_path):
    for name in ("myst_nb", "sphinx_book_theme", "sphinx"):
        pytest.importorskip(name, reason="needs the extra 'site': pip install -e '.[site]'")
    site = tmp_path / "site"
    command = [sys.executable, str(DOCS / "build.py"), str(site)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stdout + run.stderr
    assert check.faults(site) == []
    names = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert names == {path.stem for path in (site / "notebooks").glob("*.html")}
    for name in names:
        page = check.Page(site / "notebooks" / f"{name}.html")
        pictures = [alt for source, alt in page.images if "_images" in source]
        assert pictures and all(len(alt) > 20 for alt in pictures)
    index = (site / "docs" / "index.html").read_text(encoding="utf-8")
    order = list(dict.fromkeys(re.findall(r'href="../notebooks/(\w+)\.html"', index)))
    assert order == sorted(names)
