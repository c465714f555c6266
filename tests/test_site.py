"""The site: its sources are put together rightly, and what is built is whole and on its own."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import re
import runpy
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def script(name: str):
    """A module of docs/, which is no package."""
    found = importlib.util.spec_from_file_location(f"site_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # dataclasses look their module up
    found.loader.exec_module(module)
    return module


assemble, check = script("assemble"), script("check")


# -- sources ---------------------------------------------------------------------------------


def test_mentions_of_equations_and_notebooks_become_links():
    text = "By Eq. 8, Eqs. 6 and 7 and Eq. 99; see notebook 07. `Eq. 8` $Eq. 8$\n\n## Eq. 8\n"
    linked = assemble._linked(text, {"6": "eq-6-7", "7": "eq-6-7", "8": "eq-8"}, ["07_x"], "n/")
    assert linked == (
        "By Eq. [8](#eq-8), Eqs. [6](#eq-6-7) and [7](#eq-6-7) and Eq. 99;"
        " see [notebook 07](n/07_x.ipynb). `Eq. 8` $Eq. 8$\n\n## Eq. 8\n"
    )
    linked = assemble._linked("Eq. 8, 6 of 9 and Eq. 6, 12%", {"6": "six", "8": "eight"}, [], "")
    assert linked == "Eq. [8](#eight), 6 of 9 and Eq. [6](#six), 12%"  # one is no list of two


def test_every_paper_that_a_notebook_names_can_be_cited():
    named = re.compile(r"arXiv:? ?(\d{4}\.\d{5})")
    known = set(re.findall(r"eprint = {(.*?)}", (DOCS / "references.bib").read_text("utf-8")))
    for path in (ROOT / "notebooks" / "py").glob("*.py"):
        assert set(named.findall(path.read_text(encoding="utf-8"))) <= known, path.name


def test_every_figure_is_listed_with_its_notebook():
    row = re.compile(r"^\| `(\w+)` \| (\d\d) \| .+ \|$", re.MULTILINE)
    listed = dict(row.findall((DOCS / "figures.md").read_text(encoding="utf-8")))
    assert set(listed) == {path.stem for path in (ROOT / "figures").glob("*.png")}
    for name, number in listed.items():
        [twin] = (ROOT / "notebooks" / "py").glob(f"{number}_*.py")
        assert f'"{name}"' in twin.read_text(encoding="utf-8"), name


def test_every_numbered_equation_is_found():
    read = {p.stem: nbformat.read(p, 4) for p in sorted(ROOT.glob("notebooks/*.ipynb"))}
    assert set("234678") <= set(assemble.known_equations(read))
    for name, parts in assemble.NUMBERED.items():
        text = "\n\n".join(c.source for c in read[name].cells if c.cell_type == "markdown")
        for part, number in parts.items():
            assert f"\\tag{{{number}}}$$" in assemble._tagged(name, text), part


def test_a_page_keeps_words_code_and_numbers():
    path = ROOT / "notebooks" / "07_section_5_1_emergence.ipynb"
    before, after = nbformat.read(path, 4), nbformat.read(path, 4)
    assemble.page(path.stem, after, {}, [])
    for old, new in zip(before.cells, after.cells, strict=True):
        assert old.cell_type == new.cell_type
        if old.cell_type == "code":
            assert old.source == new.source
            for one, other in zip(old.outputs, new.outputs, strict=True):
                assert {**one, "data": None} == {**other, "data": None}
                kinds = set(one.get("data", {})) - {"image/png"}
                assert all(one.data[kind] == other.data[kind] for kind in kinds)
        else:
            words = re.sub(r"\(eq-[\d-]+\)=\n| \\tag\{[\d, ]+\}", "", new.source)
            assert words == old.source


def test_what_pages_link_and_notebooks_open_with_is_among_the_sources(tmp_path, monkeypatch):
    # as they are: to make them smaller takes more than a minute
    monkeypatch.setattr(assemble, "sharp", lambda name: (ROOT / f"figures/{name}.png").read_bytes())
    assemble.assemble(tmp_path / "sources")
    for page in (tmp_path / "sources").glob("*.md"):
        for goal in re.findall(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / goal).exists(), f"{page.name} links {goal}"
    read = [nbformat.read(p, 4) for p in sorted(ROOT.glob("notebooks/*.ipynb"))]
    names = assemble.pictured(read)
    assert len(names) > 15
    assert names <= {path.stem for path in (tmp_path / "sources" / "figures").glob("*.png")}


def test_alt_texts_name_the_figure_and_say_what_it_shows():
    before = "# Section\n\nSome words.\n\nThe loss $-\\log \\mathrm{RBP}_k$ against `S`, [here](x)."
    text = assemble.alt_text("figure_7_effective", "The law at $k = 1$", before)
    assert text == "Figure 7 (effective). The law at k = 1. The loss -log RBP_k against S, here."


def test_buttons_to_a_repository_are_off_until_an_address_is_given(monkeypatch):
    monkeypatch.setenv("RBPKIT_REPOSITORY_URL", "")
    assert "launch_buttons" not in runpy.run_path(str(DOCS / "conf.py"))["html_theme_options"]
    monkeypatch.setenv("RBPKIT_REPOSITORY_URL", "https://git.example/a/rbpkit")
    options = runpy.run_path(str(DOCS / "conf.py"))["html_theme_options"]
    assert set(options["launch_buttons"]) == {"colab_url", "binderhub_url"}


def test_the_readmes_links_to_pages_stay_links(tmp_path):
    assemble._write_page(tmp_path / "README.md", ROOT / "README.md", [])
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "](classroom.md)" in text and "](docs/" not in text


def test_the_index_names_every_page():
    index = assemble.with_others((DOCS / "index.md").read_text(encoding="utf-8"))
    assert "%OTHERS%" not in index
    for path in DOCS.glob("*.md"):
        assert path.stem == "index" or index.count(f"\n{path.stem}\n") == 1


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


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("<p>| claim | verdict |\n| --- | ---: |\n| a | b |</p>", "raw table"),
        (r"<nav><a href='#'>the law at \(k = 1\)</a></nav>", "raw formula"),
        (r"<p>so $\mathrm{RBP}_k$ grows</p>", "raw formula"),
        (r"<p>so $S$ grows</p>", "raw formula"),
        (r"<title>the law at \(k\)</title>", "raw formula"),
        (r"<p><span class='math'>\(k\)</span></p>", "formulas, and no MathJax"),
        ("<div class='cell_output'><table class='dataframe'></table></div>", "table cells touch"),
    ],
)
def test_the_check_finds_what_was_not_set(tmp_path, body, says):
    (tmp_path / "index.html").write_text(body)
    [fault] = check.faults(tmp_path)
    assert says in fault


def test_the_check_lets_code_and_what_is_set_be(tmp_path):
    (tmp_path / "mathjax.js").write_text("")
    (tmp_path / "a.css").write_text(".cell_output td, .cell_output th { padding: 1px; }")
    (tmp_path / "index.html").write_text(
        r"<script src='mathjax.js'></script><code>$x$ \(k\)</code><pre>| --- |</pre>"
        r"<p>a $5 note<br>or $7</p><span class='math'>\(k\)</span><ul><li>x<li>y</ul>"
        "<table class='dataframe'></table>"
    )
    assert check.faults(tmp_path) == []


def test_a_site_without_a_fault_has_none(tmp_path):
    (tmp_path / "index.html").write_text('<a id="a" href="#a">x</a><a href="https://x.org">y</a>')
    assert check.faults(tmp_path) == []
    assert check.faults(tmp_path / "none") == [f"no pages in {tmp_path / 'none'}"]


# -- the site --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built from the committed notebooks."""
    for name in ("myst_nb", "sphinx_book_theme", "sphinx"):
        pytest.importorskip(name, reason="needs the extra 'site': pip install -e '.[site]'")
    folder = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, str(DOCS / "build.py"), str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if run.returncode == 2 and "not installed" in run.stderr:
        pytest.skip(run.stderr.strip())
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


@pytest.mark.slow
def test_the_site_is_whole(site):
    assert check.faults(site) == []
    names = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert names == {path.stem for path in (site / "notebooks").glob("*.html")}
    for name in names:
        page = check.Page(site / "notebooks" / f"{name}.html")
        pictures = [alt for source, alt in page.images if "_images" in source]
        assert pictures and all(len(alt) > 20 for alt in pictures)
        copy = site / "_sources" / "notebooks" / f"{name}.ipynb"
        assert copy.read_bytes() == (ROOT / "notebooks" / f"{name}.ipynb").read_bytes()


@pytest.mark.slow
def test_the_pages_stand_in_the_papers_order(site):
    index = (site / "index.html").read_text(encoding="utf-8")
    order = list(dict.fromkeys(re.findall(r'href="notebooks/(\w+)\.html"', index)))
    assert order == sorted(order) and len(order) == len(list((ROOT / "notebooks").glob("*.ipynb")))


@pytest.mark.slow
def test_no_page_shows_the_solutions_or_a_button_without_an_address(site):
    for path in check.pages(site):
        text = path.read_text(encoding="utf-8")
        assert "solutions/" not in text.replace("docs/solutions", "")
        assert "colab.research" not in text and "mybinder" not in text


@pytest.mark.slow
def test_a_browser_loads_it(site, tmp_path):
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
    if browser is None:
        pytest.skip("needs chromium or chrome")
    asked: list[tuple[str, str]] = []

    class Served(http.server.SimpleHTTPRequestHandler):
        def log_request(self, code="-", size="-"):
            asked.append((self.path, str(int(code)) if code != "-" else "-"))

        def log_message(self, *words):
            pass

    handler = functools.partial(Served, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = f"http://127.0.0.1:{server.server_port}/notebooks/07_section_5_1_emergence.html"
        command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic"]
        command += ["--no-first-run", "--disable-background-networking", "--disable-sync"]
        command += ["--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"]
        command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=20000"]
        run = subprocess.run(
            [*command, "--dump-dom", page], capture_output=True, text=True, timeout=180
        )
        server.shutdown()
    assert run.returncode == 0, run.stderr[-2000:]
    missing = [path for path, code in asked if code == "404"]
    assert asked and not missing
    assert run.stdout.count("<mjx-container") > 20
    assert "<mjx-merror" not in run.stdout
