"""Which documents every supported Python, platform and torch build has: for the maintainers.

A held-out document has to be the same wherever numbers are compared with the shipped ones. The
documents were cut out of the wheels of the pinned packages (Python 3.11, 3.12, 3.13; Linux on
x86-64 and arm64, macOS, Windows; torch with CPU and CUDA): those that some of them lack, or have
otherwise, are in `NOT_EVERYWHERE`. Cutting is no source of differences: the three Pythons cut
100,232 documents out of the same files alike.
"""

from __future__ import annotations

NOT_EVERYWHERE = {
    "numpy/distutils/": "numpy ships it for Python 3.11 only",
    "scipy.dist-info/LICENSE.txt/section 38": "names the libraries in the wheel, by platform",
    "scipy.dist-info/LICENSE.txt/section 39": "not in the wheel for Windows",
}
"""Beginning of `file/name` of a document -> why some installation lacks it or has another."""


def everywhere(file: str, name: str) -> bool:
    """Whether every supported installation has this document, by `NOT_EVERYWHERE`."""
    return not f"{file}/{name}".startswith(tuple(NOT_EVERYWHERE))
