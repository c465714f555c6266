"""Pictures of a captioned corpus: where each one is, and how it is read when it is needed."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageOps

from rbpkit.errors import reason


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture that is decoded each time it is read.

    where: its row, for errors. source: the path of its file, its encoded bytes, {"bytes", "path"}
    as `datasets` has them, a PIL picture, an array; or (column, row) of a `datasets.Dataset`.
    """

    where: str
    source: Any

    def read(self) -> Image.Image:
        """The picture, upright, in RGB. Raises InputError that names the row."""
        with reason(f"{self.where}: its picture cannot be read"):
            given = self.source
            if isinstance(given, tuple):
                given = given[0][given[1]]
            if isinstance(given, Mapping):
                given = given["path"] if given["bytes"] is None else given["bytes"]
            if not isinstance(given, Image.Image):
                array = hasattr(given, "__array_interface__")
                file = io.BytesIO(given) if isinstance(given, bytes) else given
                given = Image.fromarray(given) if array else Image.open(file)
            return ImageOps.exif_transpose(given).convert("RGB")


def folder_rows(folder: Path, image: str) -> Iterator[Mapping[str, Any]]:
    """The rows of an `imagefolder` of `datasets`, with its metadata, of all its splits."""
    import datasets

    splits = datasets.load_dataset("imagefolder", data_dir=str(folder), streaming=True)
    for split in splits.values():
        yield from undecoded(split, image)


def undecoded(rows: Iterable[Any], image: str | None) -> Iterable[Any]:
    """The rows; of `datasets` with their pictures encoded, or where a Dataset has them."""
    if image in (getattr(rows, "column_names", None) or ()):
        import datasets

        rows = rows.cast_column(image, datasets.Image(decode=False))
        if isinstance(rows, datasets.Dataset):
            column, rest = rows[image], rows.remove_columns(image)
            return (row | {image: (column, number)} for number, row in enumerate(rest))
    return rows


def pictures_fingerprint(texts: str, pictures: Iterable[Picture]) -> str:
    """sha256 (hex) over the fingerprint of the texts and each picture's size and RGB pixels.

    So every picture is read once. Raises InputError for one that cannot be.
    """
    digest = hashlib.sha256(texts.encode())
    for picture in pictures:
        pixels = picture.read()
        digest.update(f"{pixels.size}".encode() + pixels.tobytes())
    return digest.hexdigest()
