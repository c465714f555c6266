"""The audit's figures of Section 5.1: measured windows against Eq. 6, and where the bond is."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rbpkit.errors import InputError
from rbpkit.figures import FAMILY_INK, OTHER_INK, style

COLUMNS = 3
NAMES = {"rank": "rank (Spearman)", "hit 1": "hit, $k = 1$", "hit 10": "hit, $k = 10$"}
NAMES |= {"hit 100": "hit, $k = 100$"}
LAG_LOOK = {"rank": ("o", "-"), "hit 1": ("s", "--"), "hit 10": ("^", "-."), "hit 100": ("D", ":")}


def window_points(
    published: pd.DataFrame, windows: pd.DataFrame | None, Ns: Sequence[int], ks: Sequence[int]
) -> pd.DataFrame:
    """What `audit_windows` draws: source, corpus, family, model, S, k, N, hits, rbp (RBP_k),
    independent (RBP_k^N), p, p_low, p_high (95%, documents resampled; NaN where published).

    published: `audit.independence.published_ratios`; windows: the table of that name, or None.
    """
    columns = "corpus family model S k N hits rbp independent p p_low p_high".split()
    one = published.rename(columns={"p_1": "rbp"}).assign(p_low=np.nan, p_high=np.nan)
    parts = [one[columns].assign(source="published")]
    if windows is not None and len(windows):
        keys = ["corpus", "family", "model", "k"]
        singles = windows.loc[windows["N"] == 1, [*keys, "p"]].rename(columns={"p": "rbp"})
        ours = windows.merge(singles, on=keys)
        ours["independent"] = ours["rbp"] ** ours["N"]
        parts.append(ours[columns].assign(source="pocket"))
    every = pd.concat(parts, ignore_index=True)
    every = every[every["N"].isin(Ns) & every["k"].isin(ks)]
    return every[["source", *columns]].reset_index(drop=True)


def audit_windows(points: pd.DataFrame) -> Figure:
    """Measured p_{N,k} against RBP_k^N of `window_points`, a panel a corpus, on log axes.

    On the line tokens are independent. Fill goes by N, colour and marker by family. A cross is a
    share whose interval reaches 0: its hits come from very few documents. Shares of 0 are left
    out. InputError for nothing to draw.
    """
    shown = points[points["p"] > 0]
    panels = [part for _, part in shown.groupby(["source", "corpus"], sort=False)]
    if not panels:
        raise InputError("nothing to draw: no share of windows is above 0")
    Ns = sorted(shown["N"].unique())
    rows = -(-(len(panels) + 1) // COLUMNS)  # one place is for the legend
    left, low = (10 ** np.floor(np.log10(shown[name].min())) for name in ("independent", "p"))
    with style():
        figure, grid = plt.subplots(
            rows, COLUMNS, figsize=(3.5 * COLUMNS, 3.1 * rows), squeeze=False
        )
        for place, (axes, part) in enumerate(zip(grid.flat, panels, strict=False)):
            axes.set(xscale="log", yscale="log", xlim=(left, 3), ylim=(low, 3))
            axes.plot([low, 1], [low, 1], color="black", linewidth=1, zorder=1)
            for (family, N), some in part.groupby(["family", "N"], sort=False):
                _shares(axes, some, family, _fill(Ns, N))
            corpus = part["corpus"].iloc[0].removeprefix("pocket:")
            axes.set_title(f"{part['source'].iloc[0]}: {corpus}")
            axes.set_xlabel("$\\mathrm{RBP}_k^{\\,N}$")
            if place % COLUMNS == 0:
                axes.set_ylabel("$p_{N,k}$")
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        there = set(shown["family"])
        families = [name for name in FAMILY_INK if name in there] + sorted(there - set(FAMILY_INK))
        grid.flat[len(panels)].legend(
            handles=_handles(families, Ns), loc="center left", fontsize=9, frameon=False
        )
        figure.tight_layout()
    return figure


def _fill(Ns: Sequence[int], N: int) -> float:
    """0 (hollow) for the shortest window up to 1 (full) for the longest."""
    return Ns.index(N) / max(len(Ns) - 1, 1)


def _face(colour: str, fill: float) -> tuple:
    return tuple(1 - fill * (1 - value) for value in to_rgb(colour))


def _shares(axes: Axes, some: pd.DataFrame, family: str, fill: float) -> None:
    ink = FAMILY_INK.get(family, OTHER_INK)
    few = (some["p_low"] <= 0).to_numpy()
    axes.plot(some["independent"][few], some["p"][few], "x", color=ink.colour, markersize=5)
    some = some[~few]
    if some["p_low"].notna().any():
        reach = np.abs(some[["p_low", "p_high"]].to_numpy().T - some["p"].to_numpy())
        axes.errorbar(
            *(some["independent"], some["p"], reach),
            fmt="none",
            ecolor=ink.colour,
            elinewidth=0.8,
            zorder=2,
        )
    look = {"color": ink.colour, "marker": ink.marker, "linestyle": "none", "markersize": 4.5}
    look |= {"markerfacecolor": _face(ink.colour, fill), "markeredgewidth": 0.7}
    axes.plot(some["independent"], some["p"], zorder=3, **look)


def _handles(families: Sequence[str], Ns: Sequence[int]) -> list[Line2D]:
    none = {"linestyle": "none", "markersize": 6}
    handles = []
    for family in families:
        ink = FAMILY_INK.get(family, OTHER_INK)
        handles.append(Line2D([], [], color=ink.colour, marker=ink.marker, label=family, **none))
    for N in Ns:
        face = _face("black", _fill(Ns, N))
        look = {"color": "black", "marker": "o", "markerfacecolor": face, **none}
        handles.append(Line2D([], [], label=f"$N = {N}$", **look))
    few = Line2D([], [], color="black", marker="x", label="interval reaches 0", **none)
    return [
        *handles,
        few,
        Line2D([], [], color="black", label="$p_{N,k} = \\mathrm{RBP}_k^{\\,N}$"),
    ]


def audit_lags(medians: pd.DataFrame) -> Figure:
    """Correlation by lag of `audit.independence.lag_medians`: within documents, and between them.

    A column a corpus; medians over its models, bars from the median of the lower ends of their
    intervals to that of the upper ends. InputError for nothing to draw.
    """
    corpora = list(dict.fromkeys(medians["corpus"])) if len(medians) else []
    if not corpora:
        raise InputError("nothing to draw: the table of lags is empty")
    quantities = list(dict.fromkeys(medians["quantity"]))
    colours = sns.color_palette("viridis", len(quantities) + 1)
    with style():
        figure, grid = plt.subplots(
            2, len(corpora), figsize=(3.0 * len(corpora), 5.6), squeeze=False, sharey="row"
        )
        for row, (part, title) in zip(
            grid, (("within", "within documents"), ("between", "between documents")), strict=True
        ):
            for axes, corpus in zip(row, corpora, strict=True):
                axes.set_xscale("log")
                axes.axhline(0, color="black", linewidth=0.8)
                for number, quantity in enumerate(quantities):
                    rows = medians["corpus"].eq(corpus) & medians["quantity"].eq(quantity)
                    _by_lag(axes, medians[rows], part, quantity, number, colours[number])
                lags = sorted(medians["lag"].unique())
                axes.set_xticks(lags, [str(lag) for lag in lags])
                axes.minorticks_off()
                axes.set_title(f"{corpus.removeprefix('pocket:')}, {title}", fontsize=9.5)
                axes.set_xlabel("lag (tokens)")
            row[0].set_ylabel("correlation")
        figure.tight_layout(rect=(0, 0.06, 1, 1))
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncol=len(labels), fontsize=9)
    return figure


def _by_lag(
    axes: Axes, table: pd.DataFrame, part: str, quantity: str, number: int, colour: tuple
) -> None:
    marker, dash = LAG_LOOK.get(quantity, ("v", "-"))
    value = table[part].to_numpy()
    ends = table[[part + "_low", part + "_high"]].to_numpy().T
    axes.errorbar(
        table["lag"] * 1.04 ** (number - 1.5),  # side by side: bars must not hide one another
        value,
        np.maximum(np.abs(ends - value), 0),
        color=colour,
        marker=marker,
        linestyle=dash,
        markersize=4.5,
        linewidth=1.1,
        elinewidth=0.8,
        label=NAMES.get(quantity, quantity),
    )
