"""The site: its sources are complete, and what is built is whole and needs nothing else."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT, docs_module

DOCS = ROOT / "docs"
check, options = docs_module("check"), docs_module("options")


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
    r"<p>so $\mathrm{RBP}_k$ grows</p>": "raw formula",
}


def test_the_check_finds_each_fault_and_lets_what_is_right_be(tmp_path):
    (tmp_path / "ok.html").write_text('<p id="there">x</p>')
    page = tmp_path / "index.html"
    for body, says in FAULTS.items():
        page.write_text(body)
        found = check.faults(tmp_path)
        assert any(says in fault for fault in found), body
    page.write_text(r'<code>$x$ \(k\)</code><a href="ok.html#there">a $5 note or $7</a>')
    assert check.faults(tmp_path) == []


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
