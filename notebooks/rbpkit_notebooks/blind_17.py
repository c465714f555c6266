"""The picture of the blind check: what was predicted, and what came out."""

from __future__ import annotations

from typing import Any

import pandas as pd

from rbpkit import plots
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.plots import NARROW
from rbpkit_notebooks.blind import covered


def predictions_and_truth(rows: pd.DataFrame, figures_dir: str) -> None:
    """Truth against prediction, both as accuracies; dark: outside its interval; hollow: excluded.

    rows: of `blind.judged_rows`.
    """
    judged, excluded = rows[~rows["excluded"]], rows[rows["excluded"]]
    inside = judged[covered(judged)]
    outside = judged.drop(inside.index)
    title = f"{len(outside)} of {len(judged)} miss their interval,\nmost of them early in training"
    line = "dark: outside the 95% interval; hollow: excluded"
    with plots.panel(title, line, NARROW + 0.4) as axes:
        axes.plot([0, 1], [0, 1], color=CONTEXT, linewidth=6, zorder=0)
        axes.plot(inside["predicted"], inside["truth"], "o", color=OTHER, markersize=3)
        axes.plot(outside["predicted"], outside["truth"], "o", color=INK, markersize=5)
        hollow: dict[str, Any] = {"color": INK, "markersize": 4, "markerfacecolor": "white"}
        axes.plot(excluded["predicted"], excluded["truth"], "o", **hollow)
        axes.text(0.31, 0.19, "Transformer-XL,\nfirst epochs", va="center")
        axes.plot([0.19, 0.3], [0.205, 0.195], color=INK, linewidth=0.8)
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
