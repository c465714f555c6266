"""The README's first figure: `python docs/readme_figure.py` writes docs/_static/law.png.

The points are the paper's (Figure 7 at N = 1): ten Pythias on Wikipedia, k = 1, 10, 100.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from rbpkit import paper, plots
from rbpkit.fit import fit_power_law
from rbpkit.palette import INK, OTHER

TARGET = Path(__file__).parent / "_static" / "law.png"
WORDS = {1: "its first guess", 10: "among its first 10", 100: "among its first 100"}


def main() -> None:
    single_tokens = paper.emergence().query("N == 1")
    ink = plots.ink_of("Pythia")
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.8), layout="constrained")
        for k, words in WORDS.items():
            models = single_tokens[single_tokens["k"] == k].sort_values("S")
            S = models["S"].to_numpy(dtype=float)
            RBP = models["p"].to_numpy(dtype=float)
            loss = -np.log(RBP)
            line = fit_power_law(S, loss).predict(S[[0, -1]])
            axes.plot(line.S, line.loss, color=ink.colour)
            axes.plot(S, loss, ink.marker, color=ink.colour, ms=6)
            axes.text(S[0], loss[0] * 1.13, f"{RBP[0]:.0%}", color=INK)
            axes.text(S[-1] * 1.5, loss[-1], f"{RBP[-1]:.0%}", va="center", weight="bold")
            axes.text(S[3] * 1.6, loss[3] * 1.06, words, color=INK)
        axes.set(xscale="log", yscale="log", xlim=(6e5, 9e10), ylim=(0.036, 1.75))
        axes.set_xticks([1e6, 1e8, 1e10], ["1 million", "100 million", "10 billion"])
        axes.set_yticks([0.05, 0.1, 0.2, 0.5, 1], ["0.05", "0.1", "0.2", "0.5", "1"])
        axes.minorticks_off()
        axes.set_xlabel("size $S$ (parameters without embeddings)")
        axes.set_ylabel(r"$-\log\,\mathrm{RBP}_k$   (0: never misses)")
        figure.suptitle(
            "Larger models rank the right token higher", x=0.115, ha="left", weight="bold"
        )
        axes.set_title(
            "How often the next token of Wikipedia is ... (ten Pythia models)", color=OTHER
        )
        figure.savefig(TARGET, dpi=plots.SAVED_DPI, metadata={"Software": None})


if __name__ == "__main__":
    main()
