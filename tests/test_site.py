"""The site: its sources are complete, and what is built is whole and needs nothing else."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT, docs_module

DOCS = ROOT / "docs"
check, conf, options = (docs_module(name) for name in ("check", "conf", "options"))


def test_a_notebook_gets_what_its_page_needs():
    hint = "# The law at $k = 1$\n\n<details><summary>Hint</summary>Take $k$.</details>"
    cells = [{"cell_type": "markdown", "source": text} for text in (hint, "## Is it $S$?\n\nGrey.")]
    for source in ("1", 'draw.explorable("law")'):
        cells.append({"cell_type": "code", "source": source, "metadata": {}, "outputs": []})
    conf.add_to_notebook({"cells": cells}, "03_section_4_1_k1")
    first, _, code, live = cells
    assert "# 03 · The law at *k* = 1\n" in first["source"]
    assert ":::{admonition} Hint\n:collapsible: closed\nTake $k$.\n:::" in first["source"]
    assert "! notebook 03\n" in first["source"]  # a search for it
    assert code["metadata"]["mystnb"]["image"]["alt"] == "Is it S?. Grey."
    assert live["cell_type"] == "markdown"
    assert re.search(r'<iframe [^>]*src="\.\./docs/explorables/law\.html"', live["source"])


def test_the_page_of_options_has_every_setting_as_it_is_defined():
    assert options.PAGE.read_text(encoding="utf-8") == options.page(), "python docs/options.py"


def test_the_slides_are_those_of_their_text():
    """But the pixels of their pictures, which depend on a library's version."""
    maker = docs_module("class/make_slides")
    texts = [maker.slides_page((DOCS / "class/slides.md").read_text(encoding="utf-8"))]
    texts.append((DOCS / "class/slides.html").read_text(encoding="utf-8"))
    made, shipped = (re.sub(r"base64,[^\"]+", "", text) for text in texts)
    assert shipped == made, "python docs/class/make_slides.py"


def test_pages_and_notebooks_link_only_what_is_there():
    texts = []
    for page in [*DOCS.glob("*.md"), *DOCS.glob("*/*.md"), *ROOT.glob("*.md")]:
        texts.append((page.parent, page.read_text(encoding="utf-8")))
    for twin in ROOT.glob("notebooks/py/*.py"):
        lines = twin.read_text(encoding="utf-8").splitlines()
        texts.append((ROOT / "notebooks", "\n".join(one for one in lines if one.startswith("#"))))
    for folder, text in texts:
        prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
        for goal in re.findall(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)", prose):
            assert (folder / goal).exists(), f"{folder} has no {goal}"


FAULTS = {
    '<script src="https://cdn.example/x.js"></script>': "loads https://cdn.example/x.js",
    '<a href="gone.html">x</a>': "gone.html leads nowhere",
    '<img src="_images/a.png">': "no alternative text for _images/a.png",
    '<img src="_images/a.png" alt="A line">': "2.10 MB with its images",
    "<p>| claim | verdict |\n| --- | ---: |\n| a | b |</p>": "raw table",
    r"<p>so $\mathrm{RBP}_k$ grows</p>": "raw formula",
    r"<p><span class='math'>\(k\)</span></p>": "formulas, and no MathJax",
}


def test_the_check_finds_each_fault_and_lets_what_is_right_be(tmp_path):
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images" / "a.png").write_bytes(b"x" * 2_100_000)
    (tmp_path / "ok.html").write_text('<p id="there">x</p>')
    page = tmp_path / "index.html"
    for body, says in FAULTS.items():
        page.write_text(body)
        found = check.faults(tmp_path)
        assert any(says in fault for fault in found), body
    page.write_text(
        r"<code>$x$ \(k\)</code><pre>| --- |</pre><p>a $5 note<br>or $7</p>"
        '<a href="ok.html#there">x</a><a href="https://example.org">x</a>'
    )
    assert check.faults(tmp_path) == []
    (tmp_path / "far.css").write_text('@import url("https://fonts.example/a.css");')
    [fault] = check.faults(tmp_path)
    assert fault.startswith("far.css: loads from another host")


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
    index = (site / "docs" / "index.html").read_text(encoding="utf-8")
    order = list(dict.fromkeys(re.findall(r'href="../notebooks/(\w+)\.html"', index)))
    assert order == sorted(names)
