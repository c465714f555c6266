"""Accuracy from loss: what `rbpkit fit --against ce` and `rbpkit predict --ce, --pairs` do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rbpkit.cli.common import print_table, say
from rbpkit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

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
    from rbpkit.axis import axis_table

    print_table(axis_table(fits), as_json)
    if figure is not None:
        _draw_lines(fits, figure)
        say(f"drawn: {figure}")


def _draw_lines(fits: Sequence[AxisFit], figure: Path) -> None:
    """A panel for each text: -log RBP_k against CE, one grey for each k."""
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.ticker import MaxNLocator

    from rbpkit import plots
    from rbpkit.palette import ordered_greys

    texts = list(dict.fromkeys((fit.corpus, fit.V) for fit in fits))
    ks = list(dict.fromkeys(fit.k for fit in fits))
    greys = dict(zip(ks, ordered_greys(len(ks)), strict=True))
    with plots.style():
        size = (plots.WIDTH, 3.6 * len(texts))
        picture, panels = plt.subplots(
            len(texts), figsize=size, squeeze=False, layout="constrained"
        )
        for axes, (corpus, V) in zip(panels[:, 0], texts, strict=True):
            for fit in fits:
                if (fit.corpus, fit.V) != (corpus, V):
                    continue
                colour = greys[fit.k]
                ends = fit.ce[[0, -1]]
                axes.plot(ends, fit.line.predict(ends).loss, color=colour)
                axes.plot(fit.ce, -np.log(fit.rbp), "o", color=colour, label=f"k = {fit.k}")
            axes.set(xscale="log", yscale="log", title=f"{corpus} (V = {V:,})")
            axes.minorticks_off()
            for axis in (axes.xaxis, axes.yaxis):  # the ranges are less than a decade
                axis.set_major_locator(MaxNLocator(5))
                axis.set_major_formatter("{x:g}")
            axes.set(xlabel="CE (nats a token)", ylabel=r"$-\log\,\mathrm{RBP}_k$")
            axes.legend()
        picture.savefig(figure)
        plt.close(picture)


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
        _draw_pairs(pairs, predicted, figure)
        say(f"drawn: {figure}")


def _draw_pairs(pairs: pd.DataFrame, predicted: pd.DataFrame, figure: Path) -> None:
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
        picture.savefig(figure)
        plt.close(picture)
