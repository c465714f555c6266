"""The picture of the blind check: what was predicted, and what came out."""

from __future__ import annotations

from typing import Any

import pandas as pd

from rbpkit import plots
from rbpkit.palette import CONTEXT, INK
from rbpkit.plots import NARROW

LABELS = (
    (0.62, 0.76, "GPT-2, k = 5 and 10"),
    (0.83, 0.9, "Go, k = 4"),
    (0.33, 0.22, "Wikipedia in languages\nof South Asia: most of the points"),
)
"""Words at the points that are apart from the others: x, y (accuracies), words."""


def predictions_and_truth(rows: pd.DataFrame, figures_dir: str) -> None:
    """Truth against prediction, both as accuracies; a hollow mark was excluded beforehand.

    rows: of `blind.judged_rows`.
    """
    line = f"{len(rows)} published accuracies; hollow: excluded beforehand"
    with plots.panel("Predicted before they were known", line, NARROW + 0.4) as axes:
        axes.plot([0, 1], [0, 1], color=CONTEXT, linewidth=6, zorder=0)
        judged, excluded = rows[~rows["excluded"]], rows[rows["excluded"]]
        axes.plot(judged["predicted"], judged["truth"], "o", color=INK, markersize=3)
        hollow: dict[str, Any] = {"color": INK, "markersize": 4, "markerfacecolor": "white"}
        axes.plot(excluded["predicted"], excluded["truth"], "o", **hollow)
        for x, y, words in LABELS:
            axes.text(x, y, words, ha="left" if y < 0.5 else "right", va="center")
        tamil = rows[(rows["text"] == "Tamil") & rows["step"].str.startswith("fit 3")]
        axes.annotate(
            "Tamil, third fit:\ncounted on 70 tokens",
            (tamil["predicted"].mean(), tamil["truth"].max()),
            xytext=(0.27, 0.6),
            ha="center",
            arrowprops={"arrowstyle": "-", "color": INK},
        )
        axes.set(xlim=(0.05, 0.95), ylim=(0.05, 0.95), aspect="equal")
        axes.set(xlabel="accuracy predicted from cross-entropy", ylabel="accuracy published")
    columns = ["set", "text", "model", "step", "k", "ce", "predicted", "low", "high", "truth"]
    plots.save(axes, rows[columns], figures_dir, "17_blind")
