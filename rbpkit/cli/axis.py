"""Accuracy from loss: what `rbpkit fit --against ce` and `rbpkit predict --ce, --pairs` do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rbpkit.cli.common import print_table, save_figure, say
from rbpkit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from rbpkit.axis import AxisFit
    from rbpkit.summary import Summary


def lines_in_ce(summaries: Sequence[Summary], ks: Sequence[int]) -> list[AxisFit]:
    """The lines of log(-log RBP_k) on log CE; a line on standard error for each that is missing."""
    from rbpkit.axis import fit_against_ce

    fits, refused = fit_against_ce(summaries, ks)
    if not fits:
        raise InputError(f"nothing could be fitted against cross-entropy; {refused[0]}")
    for reason in refused:
        say(f"no fit: {reason}")
    return fits


def print_lines(fits: Sequence[AxisFit], as_json: bool, figure: Path | None) -> None:
    """The table of the lines, and their picture."""
    import pandas as pd

    from rbpkit.axis import axis_table

    print_table(axis_table(fits), as_json)
    if figure is None:
        return
    from rbpkit.fit import Curve
    from rbpkit.tools.law_figures import law_figure

    curves, points = [], []
    for fit in fits:
        about = {"corpus": fit.corpus, "V": fit.V, "k": fit.k, "model": fit.models}
        points.append(pd.DataFrame(about | {"CE": fit.ce, "RBP": fit.rbp}))
        text = f"{fit.corpus} (V = {fit.V:,})"
        name = f"k = {fit.k}"
        names = (*[""] * (len(fit.models) - 1), name)  # at the end of its line
        curves.append(Curve(text, name, "RBP_k", names, fit.ce, fit.rbp))
    save_figure(law_figure(curves, "CE (nats a token)"), pd.concat(points), figure)


def print_pairs(path: Path, as_json: bool, figure: Path | None) -> None:
    """Predict the rows of a table that have no accuracy, and print them."""
    from rbpkit.axis import predict_pairs, read_pairs

    pairs = read_pairs(path)
    predicted = predict_pairs(pairs)
    if predicted.empty:
        raise InputError(f"{path}: every row has an acc, so there is nothing to predict")
    about = [name for name in ("id", "set", "text", "model", "ce", "k") if name in pairs.columns]
    about = [
        name for name in about if name in ("text", "ce", "k") or pairs[name].astype(bool).any()
    ]
    table = pairs.loc[predicted.index, about].join(predicted)
    print_table(table, as_json, digits=5)
    noted = int((predicted["note"] != "").sum())
    if noted:
        say(f"{noted} of {len(table)} predictions have a note: read it before you use them")
    if figure is not None:
        save_figure(_pairs_figure(pairs, predicted), table, figure)


def _pairs_figure(pairs: pd.DataFrame, predicted: pd.DataFrame) -> Figure:
    """Shown pairs as ink, predictions with their intervals; a panel for each k."""
    import matplotlib.pyplot as plt

    from rbpkit import plots
    from rbpkit.palette import INK, OTHER

    ks = sorted(pairs["k"].unique())
    with plots.style():
        size = (plots.WIDTH, 3.6 * len(ks))
        picture, panels = plt.subplots(len(ks), figsize=size, squeeze=False, layout="constrained")
        for axes, k in zip(panels[:, 0], ks, strict=True):
            shown = pairs[(pairs["k"] == k) & pairs["acc"].notna()]
            asked = pairs.loc[predicted.index]
            asked = asked[asked["k"] == k].join(predicted).dropna(subset=["predicted"])
            axes.plot(shown["ce"], shown["acc"], "o", color=OTHER, label="shown")
            below = asked["predicted"] - asked["low"]
            above = asked["high"] - asked["predicted"]
            bars = [below, above]
            axes.errorbar(
                asked["ce"], asked["predicted"], bars, fmt="D", color=INK, label="predicted, 95%"
            )
            axes.set(xlabel="CE (nats a token)", ylabel=f"accuracy at k = {k}")
            axes.legend()
    return picture
