"""What a built site must be: whole, light, readable without pictures, and on its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

MOST_BYTES = 2_000_000  # a page with its own images
# Tags whose address a browser fetches by itself; an <a> is followed by the reader alone.
LOADS = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src"}
FAR_SHEET = re.compile(r"(?:url\(\s*|@import\s+)['\"]?(?:https?:)?//[^)'\"\s]*")
LOADED_LINKS = {"stylesheet", "preload", "icon", "shortcut icon", "modulepreload", "preconnect"}


@dataclass
class Page(HTMLParser):
    """The addresses, anchors and images of one page."""

    file: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    images: list[tuple[str, str | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {v for name in ("id", "name") if (v := values.get(name))}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "link" and values.get("rel", "").lower() in LOADED_LINKS and values.get("href"):
            self.loads.append(values["href"])
        if tag in LOADS and values.get(LOADS[tag]):
            self.loads.append(values[LOADS[tag]])
        if tag == "img":
            self.images.append((values.get("src") or "", values.get("alt")))


def pages(site: Path) -> list[Path]:
    """All pages of a built site."""
    found = (p for p in site.rglob("*.html") if "_static" not in p.relative_to(site).parts)
    return sorted(found)


def weight(page: Page, site: Path) -> int:
    """Bytes of a page and of its own images."""
    own = {page.file}
    for source, _ in page.images:
        path = _local(page.file, source, site)
        if path is not None and path.is_file():
            own.add(path)
    return sum(path.stat().st_size for path in own)


def faults(site: Path) -> list[str]:
    """A line for each fault; none where the site is as it should be."""
    found: list[str] = []
    read = {path: Page(path) for path in pages(site)}
    if not read:
        return [f"no pages in {site}"]
    for path, page in read.items():
        name = path.relative_to(site)
        for address in page.loads:
            if _outside(address):
                found.append(f"{name}: loads {address} from another host")
        for address in dict.fromkeys([*page.loads, *page.links]):
            if not _outside(address):
                found += [f"{name}: {why}" for why in _broken(address, page, read, site)]
        for source, alt in page.images:
            # An icon may have an empty text: it says nothing that the words beside it do not.
            if alt is None or (not alt.strip() and "_images" in source):
                found.append(f"{name}: no alternative text for {source}")
        if (bytes_ := weight(page, site)) > MOST_BYTES:
            found.append(f"{name}: {bytes_ / 1e6:.2f} MB with its images")
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8", errors="replace")
        if match := FAR_SHEET.search(text):
            found.append(f"{sheet.relative_to(site)}: loads from another host ({match[0]})")
    return found


def _outside(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in {"http", "https", "mailto", "javascript"}


def _local(page: Path, address: str, site: Path) -> Path | None:
    parts = urlsplit(address)
    if parts.scheme == "data":
        return None
    target = unquote(parts.path)
    base = site if target.startswith("/") else page.parent
    path = (base / target.lstrip("/")).resolve() if target else page
    return path / "index.html" if path.is_dir() else path


def _broken(address: str, page: Page, read: dict[Path, Page], site: Path) -> list[str]:
    path = _local(page.file, address, site)
    if path is None:
        return []
    if not path.is_file():
        return [f"{address} leads nowhere"]
    anchor = unquote(urlsplit(address).fragment)
    if anchor and path in read and anchor not in read[path].anchors:
        return [f"{address}: no such place on that page"]
    return []
