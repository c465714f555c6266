"""Build the site: `python docs/build.py [out/site]`. No notebook is run, nothing is downloaded."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import metadata
from pathlib import Path

import check

MATHJAX = "sphinx-mathjax-offline"  # on PyPI; carries MathJax 3.2.2
MATHJAX_PARTS = ("/mathjax/tex-chtml.js", ".woff")
NEEDED = ("sphinx", "myst-nb", "sphinx-book-theme", MATHJAX)
NOTICE = """MathJax 3.2.2, https://www.mathjax.org, Apache License 2.0
https://www.apache.org/licenses/LICENSE-2.0
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
    """MathJax's one script and its fonts, from the installed package."""
    for part in metadata.files(MATHJAX) or ():
        text = part.as_posix()
        if text.endswith(MATHJAX_PARTS) and "/mathjax/" in text:
            goal = target / text.split("/static/mathjax/")[1]
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(part.locate(), goal)
    (target / "NOTICE.txt").write_text(NOTICE, encoding="utf-8")


def main() -> int:
    """Assemble, build with warnings as errors, check; 0 if all is well."""
    if gone := missing():
        print(
            f"site: {', '.join(gone)} not installed; pip install -c constraints.txt -e '.[site]'",
            file=sys.stderr,
        )
        return 2
    import assemble

    sys.path.append(str(assemble.DOCS / "explorables"))
    import make
    import options
    from sphinx.cmd.build import main as sphinx

    site = assemble.ROOT / "out" / "site"
    if len(sys.argv) > 1:
        site = Path(sys.argv[1]).resolve()
    sources = site.with_name(f"{site.name}-sources")
    is_filled = site.exists() and any(site.iterdir())
    if is_filled and not (site / "_static").is_dir():
        print(f"site: {site} is not empty and no site; name another folder", file=sys.stderr)
        return 2
    shutil.rmtree(site, ignore_errors=True)
    options.PAGE.write_text(options.page(), encoding="utf-8")
    names = assemble.assemble(sources)
    copy_mathjax(sources / "_static" / "mathjax")
    make.write_own(sources / "extra" / "explorables")
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    flags = ["-q", "-W", "--keep-going", "-b", "html", "-d", f"{sources}/_build"]
    status = sphinx([*flags, str(sources), str(site)])
    # The download button gives the committed notebook, not the page's copy of it.
    for name in names:
        copy = site / "_sources" / "notebooks" / f"{name}.ipynb"
        if copy.is_file():
            shutil.copy(assemble.ROOT / "notebooks" / f"{name}.ipynb", copy)
    (site / ".nojekyll").touch()
    faults = check.faults(site)
    for line in faults:
        print(f"site: {line}", file=sys.stderr)
    if not status and not faults:
        print(f"{len(check.pages(site))} pages in {site}; open {site / 'index.html'}")
    return 1 if status or faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
