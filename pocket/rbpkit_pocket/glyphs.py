"""Pictures with a name: the glyphs of the fonts that come with matplotlib, drawn small and grey.

A document is one glyph: a character in one font, with the character's Unicode name as its text
("GREEK SMALL LETTER ALPHA WITH TONOS"). A list (`paths.GLYPHS`) says which there are and on which
side of the split, because `unicodedata` grows with each Python; names never change. FreeType draws
in whole numbers, so all machines with one version of it (matplotlib's wheels bring it along) have
the same pictures. Another version may round pixels differently: `as_shipped` tells.

The split is by character. A character and its twins are on one side: those that differ in accents,
style, width, position, or a frame around them. A capital is no twin of its small letter. The
program that made the list is in the git history (`make_list`).
"""

from __future__ import annotations

import hashlib
import unicodedata
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rbpkit.errors import InputError
from rbpkit_pocket import paths
from rbpkit_pocket.documents import SPLITS

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

SIDE = 32
PAPER = 238  # the grey of paper without noise
FINGERPRINT = "6624bb0cccbbe84f4a8748e16f1ce61a8ffd160f61b1e1e905611417c5632f9a"

_STYLES = {
    "DejaVuSans": ("", "-Bold", "-Oblique", "-BoldOblique"),
    "DejaVuSerif": ("", "-Bold", "-Italic", "-BoldItalic"),
    "DejaVuSansMono": ("", "-Bold", "-Oblique", "-BoldOblique"),
    "STIXGeneral": ("", "Bol", "Italic", "BolIta"),
    "STIXSiz": ("OneSymReg", "TwoSymReg", "ThreeSymReg", "FourSymReg", "FiveSymReg"),
    "cm": ("r10", "b10", "ti10", "ss10", "tt10", "mi10"),
}
FONTS = tuple(family + style for family, styles in _STYLES.items() for style in styles)
"""The files; of Computer Modern (cm) only letters and digits, as its signs have TeX's places."""


@cache
def _face(font: str) -> FT2Font:
    import matplotlib
    from matplotlib.ft2font import FT2Font

    return FT2Font(Path(matplotlib.get_data_path(), "fonts", "ttf", f"{font}.ttf"))


def _ink(font: str, code: int, em: int) -> tuple[np.ndarray, int]:
    """A glyph's ink at `em` pixels, uint8 (h, w), and how many of its rows are above the baseline.

    A glyph that would touch the picture's border is drawn at fewer pixels.
    """
    from matplotlib.ft2font import LoadFlags

    face = _face(font)
    while True:
        face.set_size(em, 72)
        glyph = face.load_char(code, LoadFlags.NO_HINTING)
        left, low, right, high = glyph.bbox  # in 64ths of a pixel
        above = -(-high // 64)
        h, w = above - low // 64, -(-right // 64) - left // 64
        if max(h, w) <= SIDE - 2:
            ink = np.zeros((h, w), np.uint8)
            if ink.size:
                face.draw_glyph_to_bitmap(ink, -(left // 64), 0, glyph)  # x of the origin
            return ink, above
        em = min(em - 1, em * (SIDE - 2) // max(h, w))


def draw(font: str, code: int, variant: int = 0) -> np.ndarray:
    """A glyph as a picture, uint8 (SIDE, SIDE): dark ink on white paper, 16 greys.

    `variant` seeds its size (21 to 24 pixels to the em), its shift (up to a pixel either way, as
    far as the picture has room), its contrast and noise. Variant 0 is measured.
    """
    raw = np.random.PCG64(zlib.crc32(f"{font} {code} {variant}".encode())).random_raw(130)
    size, x, y, contrast = (int(raw[0]) >> shift & 0xFFFF for shift in (0, 16, 32, 48))
    ink, above = _ink(font, code, 21 + size % 4)
    h, w = ink.shape
    top = min(max(22 + y % 3 - above, 0), SIDE - h)
    start = min(max((SIDE - w) // 2 + x % 3 - 1, 0), SIDE - w)
    noise = raw[2:].view(np.uint8).reshape(SIDE, SIDE).astype(int) % 17 - 8
    picture = 239 + noise
    picture[top : top + h, start : start + w] -= ink.astype(int) * (128 + contrast % 97) // 255
    return (np.clip(picture, 0, 255) // 16 * 17).astype(np.uint8)


@cache
def load_glyphs(split: str = "test") -> pd.DataFrame:
    """The glyphs of a split in a fixed order that is mixed by a hash: code, font, name.

    Raises InputError for another split. Do not change what is returned.
    """
    if split not in SPLITS:
        raise InputError(f"no split {split!r} of pocket:glyphs: there are {', '.join(SPLITS)}")
    listed = pd.read_csv(paths.GLYPHS, dtype=str, keep_default_na=False).query("split == @split")
    rows = []
    for code_in_hex, fonts_in_hex in zip(listed["code"], listed["fonts"], strict=True):
        code, fonts = int(code_in_hex, 16), int(fonts_in_hex, 16)
        for bit, font in enumerate(FONTS):
            if fonts >> bit & 1:
                rows.append((code, font, unicodedata.name(chr(code))))
    rows.sort(key=lambda row: zlib.crc32(f"{row[0]} {row[1]}".encode()))
    return pd.DataFrame(rows, columns=["code", "font", "name"])


@cache
def pictures(split: str, variant: int) -> np.ndarray:
    """The pictures of `load_glyphs(split)` in its order, uint8 (glyphs, SIDE, SIDE)."""
    return drawn(load_glyphs(split), variant)


def drawn(table: pd.DataFrame, variant: int) -> np.ndarray:
    """The pictures of some rows of `load_glyphs`, uint8 (rows, SIDE, SIDE)."""
    return np.stack([draw(row.font, row.code, variant) for row in table.itertuples()])


def measured_glyphs(kind: str) -> tuple[list[str], np.ndarray]:
    """Names and pictures, as many as the test split has, of the corpus "glyphs" + kind.

    kind: "" for the test split; "-shuffled": each of its names with another one's picture;
    "-blank": with paper; "-seen": glyphs of the training split, in a drawing that no training run
    gets to.
    """
    table, shown = load_glyphs("test"), pictures("test", 0)
    if kind == "-seen":
        table = load_glyphs("train").head(len(table))
        shown = drawn(table, 1000)
    elif kind == "-shuffled":
        shown = np.roll(shown, 1, axis=0)  # their order is mixed already
    elif kind == "-blank":
        shown = np.full_like(shown, PAPER)
    return list(table["name"]), shown


def as_shipped() -> bool:
    """Whether the test pictures are those that the captioners' numbers come from."""
    return hashlib.sha256(pictures("test", 0).tobytes()).hexdigest() == FINGERPRINT
