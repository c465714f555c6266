"""What a built site must be: whole, light, readable without pictures, and on its own."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

MOST_BYTES = 2_000_000  # a page with its own images
# Tags whose address a browser fetches by itself; an <a> is followed by the reader alone.
LOADS = ("img", "script", "iframe", "source", "video")
FAR_SHEET = re.compile(r"(?:url\(\s*|@import\s+)['\"]?(?:https?:)?//[^)'\"\s]*")
# Text that a reader sees as it was typed: a table's rules, a formula outside of what is set as one.
RAW = {
    "raw table": re.compile(r"\|\s*:?-{3,}:?\s*\|"),
    "raw formula": re.compile(r"\\[(\[]|\\[a-zA-Z]{2,}\b|\$\$|\$\\?[A-Za-z][^$\n]{0,60}\$"),
}
AS_TYPED = ("script", "style", "pre", "code", "template")
PADDED = re.compile(r"\.cell_output td\b[^{}]*\{[^}]*padding")
LOADED_LINKS = {"stylesheet", "preload", "icon", "modulepreload", "preconnect"}


class Page:
    """The addresses, anchors, images and running text of one page."""

    def __init__(self, file: Path) -> None:
        soup = BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")
        self.file = file
        self.anchors = {
            str(tag[name]) for name in ("id", "name") for tag in soup.select(f"[{name}]")
        }
        self.links = [str(tag["href"]) for tag in soup.select("a[href]") if tag["href"]]
        loaded = [tag for tag in soup.select("link[href]") if LOADED_LINKS & {*tag.get("rel", ())}]
        self.loads = [str(tag["href"]) for tag in loaded]
        for name in LOADS:
            self.loads += [str(tag["src"]) for tag in soup.select(f"{name}[src]") if tag["src"]]
        # An icon may have an empty text: the words next to it say the same.
        self.images = [(str(tag.get("src", "")), tag.get("alt")) for tag in soup.select("img")]
        self.formulas = bool(soup.select(".math"))  # any that MathJax must set
        self.tables = bool(soup.select(".dataframe"))  # any with a cell's output
        for tag in soup.select(", ".join((*AS_TYPED, ".math"))):
            tag.extract()
        self.text = [str(string) for string in soup.strings]


def pages(site: Path) -> list[Path]:
    """All pages of a built site."""
    every = sorted(site.rglob("*.html"))
    return [path for path in every if "_static" not in path.relative_to(site).parts]


def weight(page: Page, site: Path) -> int:
    """Bytes of a page and of its own images."""
    own = {page.file}
    for source, _ in page.images:
        path = _local(page.file, source, site)
        if path is not None and path.is_file():
            own.add(path)
    return sum(path.stat().st_size for path in own)


def faults(site: Path) -> list[str]:
    """A line for each fault; an empty list for a site without one."""
    read = {path: Page(path) for path in pages(site)}
    if not read:
        return [f"no pages in {site}"]
    found: list[str] = []
    for path, page in read.items():
        name = path.relative_to(site)
        found += [f"{name}: {fault}" for fault in _faults_of(page, read, site)]

    sheets = {}
    for path in site.rglob("*.css"):
        sheets[path] = path.read_text(encoding="utf-8", errors="replace")
    has_tables = any(page.tables for page in read.values())
    is_padded = any(PADDED.search(text) for text in sheets.values())
    if has_tables and not is_padded:
        found.append("table cells touch: no sheet has a padding for `.cell_output td`")
    for path, text in sheets.items():
        if match := FAR_SHEET.search(text):
            found.append(f"{path.relative_to(site)}: loads from another host ({match[0]})")
    return found


def _faults_of(page: Page, read: dict[Path, Page], site: Path) -> list[str]:
    """What is wrong with one page of a site; `read` has all of them."""
    found = []
    for address in page.loads:
        if _outside(address):
            found.append(f"loads {address} from another host")
    for address in dict.fromkeys([*page.loads, *page.links]):
        if not _outside(address):
            found += _broken(address, page, read, site)
    for source, alternative in page.images:
        # An icon may have an empty text: the words next to it say the same.
        is_figure = "_images" in source
        if alternative is None or (is_figure and not alternative.strip()):
            found.append(f"no alternative text for {source}")
    for text in page.text:
        for what, pattern in RAW.items():
            if match := pattern.search(text):
                begin = max(match.start() - 20, 0)
                found.append(f"{what}: {text[begin : begin + 60]!r}")
    if page.formulas and not any("mathjax" in address for address in page.loads):
        found.append("formulas, and no MathJax to set them")
    size = weight(page, site)
    if size > MOST_BYTES:
        found.append(f"{size / 1e6:.2f} MB with its images")
    return found


def _outside(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in {"http", "https", "mailto", "javascript"}


def _local(page: Path, address: str, site: Path) -> Path | None:
    """The file of a site that an address on a page leads to; None for data in the address."""
    parts = urlsplit(address)
    if parts.scheme == "data":
        return None
    target = unquote(parts.path)
    if not target:
        return page
    base = site if target.startswith("/") else page.parent
    path = (base / target.lstrip("/")).resolve()
    return path / "index.html" if path.is_dir() else path


def _broken(address: str, page: Page, read: dict[Path, Page], site: Path) -> list[str]:
    """What is wrong with an address on a page: a line, or none."""
    path = _local(page.file, address, site)
    if path is None:
        return []
    if not path.is_file():
        return [f"{address} leads nowhere"]
    anchor = unquote(urlsplit(address).fragment)
    if anchor and path in read and anchor not in read[path].anchors:
        return [f"{address}: no such place on that page"]
    return []
