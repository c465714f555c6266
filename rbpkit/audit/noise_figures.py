"""The scatter about the law by k, and the part of it that sampling makes."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from rbpkit import plots
from rbpkit.audit.noise import by_k
from rbpkit.errors import InputError

_PARTS = {  # column of `by_k`: label, colour, marker, line
    "residual SD": ("scatter about the line", "#222222", "o", "-"),
    "sampling SD": ("its part from sampling, by documents", "#0072B2", "s", "--"),
    "binomial SD": ("its part from sampling, binomial", "#56B4E9", "^", ":"),
}


def figure_noise(splits: Mapping[str, pd.DataFrame]) -> tuple[Figure, pd.DataFrame]:
    """SD of the residuals of log(-log RBP_k) against k, and the part that sampling makes.

    splits: a panel a name ("published"), of `published_split` or `pocket_split`. Lines
    are medians over the panel's cells, at each k that has all of them; dots are the cells. Returns
    the figure and the points: panel and the columns of `by_k`. Raises InputError where
    all are empty.
    """
    drawn = {name: split for name, split in splits.items() if len(split)}
    if not drawn:
        raise InputError("nothing to draw: no line was split")
    points = []
    with plots.style():
        figure, grid = plt.subplots(
            1, len(drawn), figsize=(5.2 * len(drawn), 4.2), squeeze=False, sharey=True
        )
        for axes, (name, split) in zip(grid[0], drawn.items(), strict=True):
            medians = by_k(split)
            points.append(medians.assign(panel=name))
            axes.set(xscale="log", yscale="log")
            cells = np.sqrt(split["residual"])
            axes.plot(
                split["k"], cells, ".", color="#bbbbbb", markersize=4, label="cells", zorder=1
            )
            if "binomial SD" not in medians:  # the published part is binomial
                medians = medians.rename(columns={"sampling SD": "binomial SD"})
            whole = _with_gaps(medians[medians["cells"] == medians["cells"].max()])
            for column, (label, colour, marker, line) in _PARTS.items():
                if column in medians:
                    look = {"color": colour, "marker": marker, "linestyle": line}
                    look |= {"markersize": 4.5, "markeredgecolor": "white", "linewidth": 1.3}
                    axes.plot(whole["k"], whole[column], label=label, **look)
            axes.set(title=name, xlabel="$k$ (rank threshold)")
            axes.legend(loc="upper left", title="median of cells", title_fontsize=8)
        grid[0][0].set_ylabel(r"SD of $\log(-\log\,\mathrm{RBP}_k)$ about the line")
        low, high = grid[0][0].get_ylim()
        grid[0][0].set_ylim(low, high * (high / low) ** 0.3)  # room for the legend
        figure.tight_layout()
    table = pd.concat(points, ignore_index=True)
    return figure, table[["panel", *(name for name in table if name != "panel")]]


def _with_gaps(medians: pd.DataFrame) -> pd.DataFrame:
    """The rows, and an empty one where k leaps by more than 100: no line is drawn across."""
    leap = medians["k"].to_numpy()[1:] > 100 * medians["k"].to_numpy()[:-1]
    after = medians.index[:-1][leap]
    empty = pd.DataFrame(np.nan, index=after + 0.5, columns=medians.columns)
    return pd.concat([medians, empty]).sort_index() if len(after) else medians
