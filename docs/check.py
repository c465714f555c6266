"""What a built site must be: whole, light, readable without pictures, and on its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

MOST_BYTES = 2_000_000  # a page with its own images
# Tags whose address a browser fetches by itself; an <a> is followed by the reader alone.
LOADS = dict.fromkeys(("img", "script", "iframe", "source", "video"), "src")
FAR_SHEET = re.compile(r"(?:url\(\s*|@import\s+)['\"]?(?:https?:)?//[^)'\"\s]*")
# Text that a reader sees as it was typed: a table's rules, a formula outside of what is set as one.
RAW = {
    "raw table": re.compile(r"\|\s*:?-{3,}:?\s*\|"),
    "raw formula": re.compile(r"\\[(\[]|\\[a-zA-Z]{2,}\b|\$\$|\$\\?[A-Za-z][^$\n]{0,60}\$"),
}
AS_TYPED = {"script", "style", "pre", "code", "template"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
PADDED = re.compile(r"\.cell_output td\b[^{}]*\{[^}]*padding")
LOADED_LINKS = {"stylesheet", "preload", "icon", "shortcut icon", "modulepreload", "preconnect"}


@dataclass
class Page(HTMLParser):
    """The addresses, anchors, images and running text of one page."""

    file: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    images: list[tuple[str, str | None]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)  # except code, and formulas that MathJax sets
    formulas: bool = False  # any that MathJax must set
    tables: bool = False  # any with a cell's output
    _open: list[tuple[str, bool]] = field(default_factory=list)  # tag, and whether text counts

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # An attribute without a value counts as one that is not there.
        values = {name: value for name, value in attrs if value}
        if tag not in VOID:
            self._open_tag(tag, values.get("class", "").split())
        for name in ("id", "name"):
            if name in values:
                self.anchors.add(values[name])
        href = values.get("href")
        if tag == "a" and href:
            self.links.append(href)
        if tag == "link" and href and values.get("rel", "").lower() in LOADED_LINKS:
            self.loads.append(href)
        if tag in LOADS and LOADS[tag] in values:
            self.loads.append(values[LOADS[tag]])
        if tag == "img":
            alternative = dict(attrs).get("alt")  # an empty one says that words next to it do
            self.images.append((values.get("src", ""), alternative))

    def _open_tag(self, tag: str, classes: list[str]) -> None:
        is_math = "math" in classes
        if is_math:
            self.formulas = True
        if "dataframe" in classes:
            self.tables = True
        is_read_around = not self._open or self._open[-1][1]
        is_read = is_read_around and tag not in AS_TYPED and not is_math
        self._open.append((tag, is_read))

    def handle_endtag(self, tag: str) -> None:
        if any(name == tag for name, _ in self._open):
            while self._open.pop()[0] != tag:
                pass  # a <p> or <li> may stay open

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1][1]:
            self.text.append(data)


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
