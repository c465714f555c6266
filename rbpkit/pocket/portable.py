"""Which documents every supported Python, platform and torch build has: for the maintainers.

A held-out document has to be the same wherever numbers are compared with the shipped ones.
`different_documents` finds those that are not, from wheels of the pinned packages as
`pip download --no-deps --python-version ... --platform ...` fetches them, one folder for each
Python and platform. What it found on the pinned versions (Python 3.11, 3.12, 3.13; Linux on x86-64
and arm64, macOS, Windows; torch with CPU and CUDA) is `NOT_EVERYWHERE`. Cutting is no source of
differences: the three Pythons cut 100,232 documents out of the same files alike.
"""

from __future__ import annotations

import zipfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from rbpkit.pocket.text import LICENCE_FILE, documents_of_licence, documents_of_module

NOT_EVERYWHERE = {
    "numpy/distutils/": "numpy ships it for Python 3.11 only",
    "scipy.dist-info/LICENSE.txt/section 38": "names the libraries in the wheel, by platform",
    "scipy.dist-info/LICENSE.txt/section 39": "not in the wheel for Windows",
}
"""Beginning of `file/name` of a document -> why some installation lacks it or has another."""


def everywhere(file: str, name: str) -> bool:
    """Whether every supported installation has this document, by `NOT_EVERYWHERE`."""
    return not f"{file}/{name}".startswith(tuple(NOT_EVERYWHERE))


def documents_of_wheel(wheel: Path) -> dict[tuple[str, str, str], str]:
    """The documents that a wheel would install: {(corpus, file, name): text}.

    Tests are left out, as from the corpora; lines end as in Python's text files.
    """
    distribution = wheel.name.split("-")[0].replace("_", "-").lower()
    found = {}
    with zipfile.ZipFile(wheel) as archive:
        for file in archive.namelist():
            parts = Path(file).parts
            licence = parts[0].endswith(".dist-info") and LICENCE_FILE.search("/".join(parts[1:]))
            if not licence and (
                not file.endswith(".py") or {"tests", "test", "testing"} & set(parts)
            ):
                continue
            text = archive.read(file).decode("utf-8", "replace")
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            if licence:
                file = f"{distribution}.dist-info/{'/'.join(parts[1:])}"
            cut = documents_of_licence if licence else documents_of_module
            found |= {(d.corpus, d.file, d.name): d.text for d in cut(text, file)}
    return found


def different_documents(wheels: Iterable[Path]) -> dict[tuple[str, str, str], list[str]]:
    """Documents that some of one distribution's wheels lack or have otherwise.

    Returns {(corpus, file, name): folders of the wheels that lack it or differ from the first
    that has it}. Wheels of several distributions may be given together.
    """
    by_distribution = defaultdict(list)
    for wheel in sorted(wheels):
        by_distribution[wheel.name.split("-")[0].lower()].append(wheel)
    different = {}
    for group in by_distribution.values():
        cut = {wheel: documents_of_wheel(wheel) for wheel in group}
        for key in sorted(set().union(*cut.values())):
            texts = [cut[wheel].get(key) for wheel in group]
            first = next(text for text in texts if text is not None)
            others = [w.parent.name for w, text in zip(group, texts, strict=True) if text != first]
            if others:
                different[key] = others
    return different
