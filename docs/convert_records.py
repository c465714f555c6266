"""Convert the records and summaries that rbpkit 0.3 wrote: python convert_records.py OLD NEW

Each job of the folder OLD becomes one Parquet file with its manifest inside, and a summary, in the
folder NEW. Numbers do not change.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from rbpkit.manifest import FORMAT, Manifest
from rbpkit.records import Records, targets_digest, write_records
from rbpkit.summary import packed
from rbpkit.writing import write_whole

GONE = ("threads", "folder", "sha256", "checksum")


def converted(text: bytes, targets: str = "") -> Manifest:
    """The manifest that an earlier version wrote."""
    fields = json.loads(text)
    kept = {name: value for name, value in fields.items() if name not in GONE}
    kept["format"] = FORMAT
    return Manifest(**kept, targets=targets)


def convert(old: Path, new: Path) -> None:
    """All jobs of a folder, those in folders below it too."""
    for path in old.rglob("[!.]*.summary.npz"):
        folder = new / path.parent.relative_to(old)
        marker = path.with_suffix("").with_suffix(".json")
        if marker.is_file():
            table = pq.read_table(marker.with_suffix(".parquet"))
            columns = {name: table[name].to_numpy() for name in table.column_names}
            manifest = converted(marker.read_bytes(), targets_digest(columns))
            unit = columns.pop("unit", None)
            write_records(folder.parent, Records.of(columns, manifest, unit))
        else:
            with np.load(path) as stored:
                arrays = {name: stored[name] for name in stored.files}
            manifest = converted(arrays.pop("manifest").tobytes())
            write_whole(folder, {path.name: packed(manifest, arrays)})


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
