"""Figures of the audit: parts of the residual variance by k, and alpha by stratum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rbpkit import figures
from rbpkit.errors import InputError
from rbpkit.figures import FAMILY_INK, OTHER_INK
from rbpkit.paper import FAMILIES

_PARTS = {  # column of `audit.noise.by_k`: label, colour, marker, line
    "residual SD": ("scatter about the line", "#222222", "o", "-"),
    "sampling SD": ("its part from sampling, by documents", "#0072B2", "s", "--"),
    "binomial SD": ("its part from sampling, binomial", "#56B4E9", "^", ":"),
}
_LABELS = {
    "CE": r"$\alpha$ of CE",
    "RBP_1": r"$\alpha_1$",
    "RBP_10": r"$\alpha_{10}$",
    "RBP_100": r"$\alpha_{100}$",
}


def figure_audit_noise(splits: Mapping[str, pd.DataFrame]) -> tuple[Figure, pd.DataFrame]:
    """SD of the residuals of log(-log RBP_k) against k, and the part that sampling makes.

    splits: a panel a name ("published"), of `audit.noise.published_split` or `pocket_split`. Lines
    are medians over the panel's cells, at each k that has all of them; dots are the cells. Returns
    the figure and the points: panel and the columns of `audit.noise.by_k`. Raises InputError where
    all are empty.
    """
    from rbpkit.audit.noise import by_k

    drawn = {name: split for name, split in splits.items() if len(split)}
    if not drawn:
        raise InputError("nothing to draw: no line was split")
    points = []
    with figures.style():
        figure, grid = plt.subplots(
            1, len(drawn), figsize=(5.2 * len(drawn), 4.2), squeeze=False, sharey=True
        )
        for axes, (name, split) in zip(grid[0], drawn.items(), strict=True):
            medians = by_k(split)
            points.append(medians.assign(panel=name))  # with the names of `by_k`
            axes.set_xscale("log")
            axes.set_yscale("log")
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
            axes.set_title(name)
            axes.set_xlabel("$k$ (rank threshold)")
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


def figure_audit_strata(
    alphas: pd.DataFrame, quantity: str = "RBP_10", families: Sequence[str] = FAMILIES
) -> tuple[Figure, pd.DataFrame]:
    """alpha by stratum: a row of panels a corpus, a column a stratification, a marker a family.

    alphas: `audit.strata.strata_alpha` of all cells (columns corpus, family, its own). Thick bars
    are 95% over documents (these models), thin ones the regression's t interval (new models),
    cut off at the panel's edge. Returns the figure and its points. Raises InputError for a quantity
    that is not there.
    """
    points = alphas[(alphas["quantity"] == quantity) & alphas["family"].isin(families)]
    if points.empty:
        raise InputError(f"nothing to draw: no exponent of {quantity}")
    corpora = list(dict.fromkeys(points["corpus"]))
    kinds = list(dict.fromkeys(points["stratification"]))
    sizes = [points[points["stratification"] == kind]["stratum"].nunique() for kind in kinds]
    with figures.style():
        figure, grid = plt.subplots(
            len(corpora),
            len(kinds),
            figsize=(10.5, 2.3 * len(corpora) + 0.9),
            squeeze=False,
            sharey="row",
            sharex="col",
            gridspec_kw={"width_ratios": sizes},
        )
        for row, corpus in zip(grid, corpora, strict=True):
            for axes, kind in zip(row, kinds, strict=True):
                here = points[(points["corpus"] == corpus) & (points["stratification"] == kind)]
                _strata_panel(axes, here, [f for f in families if f in set(points["family"])])
            shown = points[points["corpus"] == corpus].dropna(subset=["alpha", "low"])
            low, high = shown["low"].min(), shown["high"].max()
            room = 0.12 * (high - low)
            row[0].set_ylim(min(low - room, 0), high + room)
            row[0].set_ylabel(f"{_LABELS.get(quantity, quantity)}, {_short(corpus)}")
        for axes, kind in zip(grid[0], kinds, strict=True):
            axes.set_title(f"by {kind}")
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
        figure.tight_layout(rect=(0, 0.035, 1, 1))
    return figure, points.reset_index(drop=True)


def _strata_panel(axes: Axes, cells: pd.DataFrame, families: Sequence[str]) -> None:
    strata = list(dict.fromkeys(cells["stratum"]))
    for number, family in enumerate(families):
        ink = FAMILY_INK.get(family, OTHER_INK)
        line = cells[cells["family"] == family].set_index("stratum").reindex(strata)
        x = np.arange(len(strata)) + 0.17 * (number - (len(families) - 1) / 2)
        axes.vlines(x, line["t_low"], line["t_high"], color=ink.colour, linewidth=0.8, alpha=0.7)
        axes.vlines(x, line["low"], line["high"], color=ink.colour, linewidth=2.6)
        look = {"color": ink.colour, "markersize": 6, "markeredgecolor": "white"}
        axes.plot(x, line["alpha"], ink.marker, label=family, zorder=3, **look)
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.set_xticks(range(len(strata)), [name.replace(" ", "\n", 1) for name in strata], fontsize=8)
    axes.set_xlim(-0.5, len(strata) - 0.5)
    axes.grid(axis="x", visible=False)


def _short(corpus: str) -> str:
    return corpus.removeprefix("pocket:")
