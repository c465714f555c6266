"""Whether a file made anew says the same as the one there, apart from a processor's last digits.

Another processor sums in another order: the ninth digit of a fit moves, and with it the bytes of
a table and the edges of a picture (a marker is drawn at a whole pixel). Neither is a change.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
import sys
from collections.abc import Mapping
from pathlib import Path

RTOL = 2e-5  # of two numbers: a step in the sixth digit, which is the last that is written
ATOL = 1e-9  # of two numbers near zero: differences that should be zero are about 1e-16
DRAWN_BY = "Drawn by"  # a PNG's text: what its code was, see `sections.plots.save`

_NUMBER = re.compile(r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)")


def changed(folder: Path, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Those of `files` (name -> content) that are not in the folder yet, or say something else.

    Tables and texts (.csv, .md, .tex, .json) by `same_text`; pictures (.png) by `same_picture`,
    and by the table of the same name where `files` has it; others by their bytes.
    """
    new = {name: data for name, data in files.items() if not _same(folder / name, data)}
    tables = {Path(name).with_suffix(".png").name for name in new if name.endswith(".csv")}
    return {name: data for name, data in files.items() if name in new or name in tables}


def same_text(old: str, new: str) -> bool:
    """Whether two texts are equal but for their numbers, and the numbers agree.

    Whole numbers, as counts and sizes are, must be equal; others may differ by `RTOL` of their
    size, or by `ATOL`.
    """
    if old == new:
        return True
    there, made = _NUMBER.split(old), _NUMBER.split(new)  # text and numbers take turns
    return len(there) == len(made) and all(
        a == b or (place % 2 == 1 and _close(a, b))
        for place, (a, b) in enumerate(zip(there, made, strict=True))
    )


def same_picture(old: bytes, new: bytes) -> bool:
    """Whether two PNGs were drawn by the same code, or have the same pixels."""
    from PIL import Image  # not needed where no figure is drawn

    try:
        with Image.open(io.BytesIO(old)) as there, Image.open(io.BytesIO(new)) as made:
            code = made.info.get(DRAWN_BY)
            if code is not None and there.info.get(DRAWN_BY) == code:
                there.verify()  # a damaged picture is made anew
                return True
            return there.size == made.size and there.tobytes() == made.tobytes()
    except (OSError, SyntaxError, ValueError):
        return False


def drawing_code() -> str:
    """A fingerprint of what draws: the modules of rbpkit that do, the notebook's cell, versions."""
    import matplotlib
    import seaborn
    from IPython import get_ipython

    total = hashlib.sha256(f"{matplotlib.__version__} {seaborn.__version__}".encode())
    for name in sorted(sys.modules.copy()):  # another thread may import at any moment
        if name.startswith("rbpkit.") and (file := getattr(sys.modules[name], "__file__", None)):
            source = Path(file).read_bytes()
            if b"matplotlib" in source:
                total.update(source)
    shell = get_ipython()
    total.update((shell.user_ns["In"][-1] if shell else "").encode())
    return total.hexdigest()[:16]


def _close(old: str, new: str) -> bool:
    if old.lstrip("+-").isdigit() and new.lstrip("+-").isdigit():
        return int(old) == int(new)
    return math.isclose(float(old), float(new), rel_tol=RTOL, abs_tol=ATOL)


def _same(path: Path, new: bytes) -> bool:
    try:
        old = path.read_bytes()
    except FileNotFoundError:
        return False
    if old == new:
        return True
    if path.suffix == ".png":
        return same_picture(old, new)
    if path.suffix not in {".csv", ".md", ".tex", ".json"}:
        return False
    try:
        return same_text(old.decode(), new.decode())
    except UnicodeDecodeError:
        return False
