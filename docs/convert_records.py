"""Convert the records and summaries that rbpkit 0.3 wrote: python convert_records.py OLD NEW

Each job of the folder OLD becomes one Parquet file with its manifest inside, and a summary, in the
folder NEW. Numbers do not change.
"""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from rbpkit.files.manifest import FORMAT, Manifest
from rbpkit.files.writing import write_whole
from rbpkit.records import Records, targets_digest, write_records

GONE = ("threads", "folder", "sha256", "checksum")


def converted(text: bytes, targets: str = "") -> Manifest:
    """The manifest that an earlier version wrote."""
    fields = json.loads(text)
    kept = {name: value for name, value in fields.items() if name not in GONE}
    kept["format"] = FORMAT
    return Manifest(**kept, targets=targets)


def with_manifest(summary: bytes, manifest: Manifest) -> bytes:
    """A summary with another manifest; its arrays stay as they are."""
    with np.load(io.BytesIO(summary)) as stored:
        arrays = {name: stored[name] for name in stored.files}
    arrays["manifest"] = np.frombuffer(manifest.to_json().encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


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
                manifest = converted(stored["manifest"].tobytes())
            write_whole(folder, {path.name: with_manifest(path.read_bytes(), manifest)})


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
