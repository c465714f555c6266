"""Pictures of a captioned corpus: where each one is, and how it is read when it is needed."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from rbpkit.errors import InputError, reason

FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
"""What a picture may be: others, such as EPS, are programs that Pillow has another program run."""
MOST_PIXELS = 50_000_000
"""Of a picture: one takes some 16 bytes a pixel."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture that is decoded each time it is read.

    where: its row, for errors.
    source: one of
        - the path of its file,
        - its encoded bytes,
        - {"bytes", "path"}, as `datasets` has it,
        - a PIL picture or an array.
    """

    where: str
    source: Any

    def read(self) -> Image.Image:
        """The picture, upright, in RGB. Raises InputError that names the row."""
        with reason(f"{self.where}: its picture cannot be read"):
            return _in_rgb(ImageOps.exif_transpose(_decoded(self.source)))


def _in_rgb(picture: Image.Image) -> Image.Image:
    """A picture in 8 bits a channel; what is transparent is white, as on paper.

    Raises ValueError for one without pixels, and for one whose range of values is not known.
    """
    if 0 in picture.size:
        raise ValueError(f"no pixels ({picture.width} x {picture.height})")
    if picture.mode.startswith("I;16"):
        # 65,535 becomes 255. Pillow's own conversion would make all above 255 white.
        picture = Image.fromarray(np.round(np.asarray(picture) / 257).astype(np.uint8))
    if picture.mode in ("I", "F"):
        raise ValueError(f"mode {picture.mode!r}: give whole numbers of 8 or 16 bits a channel")
    if "A" in picture.getbands() or "transparency" in picture.info:
        paper = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(paper, picture.convert("RGBA"))
    return picture.convert("RGB")


def _decoded(source: Any) -> Image.Image:
    if isinstance(source, Mapping):
        source = source["path"] if source["bytes"] is None else source["bytes"]
    if isinstance(source, Image.Image):
        return source
    if hasattr(source, "__array_interface__"):
        return Image.fromarray(np.asarray(source))
    if isinstance(source, bytes):
        source = io.BytesIO(source)
    elif not os.path.isfile(source):  # a pipe would be waited for
        raise FileNotFoundError(f"no such file: {source}")
    picture = Image.open(source, formats=FORMATS)
    if picture.width * picture.height > MOST_PIXELS:
        raise ValueError(f"{picture.width:,} x {picture.height:,} pixels are too many")
    return picture


def source_inside(source: Any, folder: Path, where: str) -> Any:
    """The source of a picture; one that is a file must be inside the folder.

    Otherwise the rows of a stranger's corpus could have any file of this machine opened. Raises
    InputError for a file outside.
    """
    is_encoded = isinstance(source, Mapping) and source.get("bytes") is not None
    if isinstance(source, Mapping) and not is_encoded:
        source = source.get("path")
    if not isinstance(source, str):
        return source
    path = Path(os.path.abspath(folder / source))
    if not path.is_relative_to(os.path.abspath(folder)):
        raise InputError(
            f"{where}: the picture {source!r} is outside {folder}; name the folder that all"
            " pictures are in, --images (images=)"
        )
    return path


def undecoded(rows: Iterable[Any], image: str) -> Iterable[Any]:
    """The rows with their pictures still encoded, so that each is decoded when it is needed.

    Only data sets of the `datasets` library need it: other rows come back as they are.
    """
    if image not in (getattr(rows, "column_names", None) or ()):
        return rows
    import datasets

    encoded: Any = rows
    return encoded.cast_column(image, datasets.Image(decode=False))
