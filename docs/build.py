"""Build the site: `python docs/build.py [out/site]`. No notebook is run, nothing is downloaded.

Sphinx reads the repository itself, with the settings of conf.py. What is not a page is
copied next to the pages: the explorables, the slides, and MathJax.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib import metadata
from pathlib import Path

import check

ROOT = Path(__file__).resolve().parents[1]
MATHJAX = "sphinx-mathjax-offline"  # on PyPI; carries MathJax 3.2.2
# What formulas in TeX need; the one script with all of MathJax has half as much again.
MATHJAX_PARTS = (
    "/mathjax/startup.js",
    "/core.js",
    "/input/tex.js",
    "/chtml.js",
    "/chtml/fonts/tex.js",
)
NEEDED = ("sphinx", "myst-nb", "sphinx-book-theme", MATHJAX)
NOTICE = """MathJax 3.2.2, https://www.mathjax.org, Apache License 2.0
https://www.apache.org/licenses/LICENSE-2.0
"""
ICONS = re.compile(r"<script [^>]*scripts/fontawesome\.js[^>]*></script>")
ICON_RULE = re.compile(r"(?:\.fa-[a-z0-9-]+,?)+\{--fa:[^}]*\}")
SEARCH = re.compile(r'<script src="[^"]*(?:searchtools|searchindex|language_data)\.js"></script>')
HOME = '<nav><a href="../index.html">rbpkit: all pages</a></nav>'
FIRST_PAGE = """<!doctype html><html lang="en"><title>rbpkit</title><link rel="icon" href="data:,">
<meta http-equiv="refresh" content="0; url=docs/index.html">
<a href="docs/index.html">rbpkit</a>
"""


def missing() -> list[str]:
    """Packages that the build needs and that are not installed."""
    gone = []
    for name in NEEDED:
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            gone.append(name)
    return gone


def copy_mathjax(target: Path) -> None:
    """MathJax's scripts and its fonts, from the installed package."""
    for part in metadata.files(MATHJAX) or ():
        text = part.as_posix()
        if text.endswith((*MATHJAX_PARTS, ".woff")) and "/mathjax/" in text:
            goal = target / text.split("/static/mathjax/")[1]
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(part.locate(), goal)
    (target / "NOTICE.txt").write_text(NOTICE, encoding="utf-8")


def copy_whole_pages(site: Path) -> None:
    """The explorables, with a way home, and the slides."""
    import make

    target = site / "docs/explorables"
    make.write_own(target)
    for page in make.FOLDER.glob("*.html"):
        shutil.copy(page, target)
    for page in target.glob("*.html"):
        text = page.read_text(encoding="utf-8").replace("<body>", f"<body>\n{HOME}", 1)
        page.write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "docs/class/slides.html", site / "docs/class")


def lighten(site: Path) -> None:
    """Take out what the theme loads on each page and none of ours uses: 1.8 MB.

    Its icons are a script and rules for thousands; site.css draws the few that are used. The index
    of the search is needed on the search's own page.
    """
    for page in check.pages(site):
        text = ICONS.sub("", page.read_text(encoding="utf-8"))
        if page.name != "search.html":
            text = SEARCH.sub("", text)
        page.write_text(text, encoding="utf-8")
    for file in (site / "_static/scripts").glob("fontawesome*"):
        file.unlink()
    sheet = site / "_static/styles/pydata-sphinx-theme.css"
    sheet.write_text(ICON_RULE.sub("", sheet.read_text(encoding="utf-8")), encoding="utf-8")


def main() -> int:
    """Build with warnings as errors, add what is no page, check; 0 if all is well."""
    if gone := missing():
        print(
            f"site: {', '.join(gone)} not installed; pip install -c constraints.txt -e '.[site]'",
            file=sys.stderr,
        )
        return 2
    sys.path.append(str(ROOT / "docs/explorables"))
    import options
    from sphinx.cmd.build import main as sphinx

    site = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "out/site"
    is_filled = site.exists() and any(site.iterdir())
    if is_filled and not (site / "_static").is_dir():
        print(f"site: {site} is not empty and no site; name another folder", file=sys.stderr)
        return 2
    shutil.rmtree(site, ignore_errors=True)
    options.PAGE.write_text(options.page(), encoding="utf-8")
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    flags = ["-q", "-E", "-W", "--keep-going", "-b", "html", "-c", str(ROOT / "docs")]
    status = sphinx([*flags, "-d", f"{site}-cache", str(ROOT), str(site)])
    copy_mathjax(site / "_static/mathjax")
    lighten(site)
    copy_whole_pages(site)
    (site / "index.html").write_text(FIRST_PAGE, encoding="utf-8")
    (site / ".nojekyll").touch()
    faults = check.faults(site)
    for line in faults:
        print(f"site: {line}", file=sys.stderr)
    if not status and not faults:
        print(f"{len(check.pages(site))} pages in {site}; open {site / 'index.html'}")
    return 1 if status or faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
