"""The pictures of notebook 17."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from rbpkit.plots import corpora_of, ink_of, short, style, whiskers
from rbpkit.sections.one_law import MARGIN, Fitted

INKS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#444444")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))
MARKERS = "os^Dv<"


def contest_panels(table: pd.DataFrame) -> Figure:
    """`one_law.contest`: the largest error of each law, a dot a ladder, a bar their median."""
    sources = list(dict.fromkeys(table["source"]))
    laws = list(dict.fromkeys(table["law"]))
    with style():
        figure, grid = plt.subplots(1, len(sources), figsize=(11, 5.4), sharey=True, squeeze=False)
        for axes, source in zip(grid[0], sources, strict=True):
            part = table[table["source"] == source]
            for family, some in part.groupby("family", sort=False):
                ink = ink_of(family)
                at = [laws.index(law) for law in some["law"]]
                axes.plot(
                    some["worst"], at, ink.marker, color=ink.colour, markersize=4, alpha=0.7,
                    label=family,
                )  # fmt: skip
            median = part.groupby("law")["worst"].median()
            axes.plot(median[laws], range(len(laws)), "|", color="black", markersize=14, mew=2)
            axes.axvline(MARGIN, color="black", linestyle="--", linewidth=1)
            axes.set_xscale("log")
            axes.set_xticks(
                [0.005, 0.01, 0.02, 0.05, 0.1], ["0.005", "0.01", "0.02", "0.05", "0.1"]
            )
            axes.minorticks_off()
            axes.set_title(f"{source}: {part.groupby(['corpus', 'family']).ngroups} ladders")
            axes.set_xlabel(r"largest error in $\mathrm{RBP}_k$, held out included")
        numbers = table.groupby("law")["numbers"].max()
        names = [f"{law} ({numbers[law]})" for law in laws]
        names[-1] = laws[-1]
        grid[0][0].set_yticks(range(len(laws)), names)
        grid[0][0].invert_yaxis()
        grid[0][-1].legend(loc="upper left")
        figure.tight_layout()
    return figure


def error_panels(panels: Mapping[str, tuple[pd.DataFrame, Fitted]]) -> Figure:
    """RBP_k of the law less RBP_k as counted, against k, a panel a ladder, a line a size; the
    largest model, which was not fitted, is dashed; grey: the margin."""
    with style():
        figure, grid = plt.subplots(
            1, len(panels), figsize=(3.5 * len(panels), 3.6), sharey=True, squeeze=False
        )
        for axes, (title, (points, law)) in zip(grid[0], panels.items(), strict=True):
            axes.axhspan(-MARGIN, MARGIN, color="0.9", zorder=0)
            ink = ink_of(points["family"].iloc[0])
            sizes = np.sort(points["S"].unique())
            shades = sns.light_palette(ink.colour, sizes.size + 2)[2:]
            for shade, S in zip(shades, sizes, strict=True):
                one = points[points["S"] == S]
                largest = S == sizes[-1]
                axes.plot(
                    one["k"], law.rbp(one["k"], S) - one["rbp"], "--" if largest else "-",
                    marker=".", markersize=4, linewidth=1.6 if largest else 1,
                    color="black" if largest else shade,
                    label=f"{S:.2g}".replace("e+0", "e").replace("e+", "e"),
                )  # fmt: skip
            axes.set_xscale("log")
            axes.set_title(title)
            axes.set_xlabel("$k$ (rank threshold)")
            axes.legend(title="$S$", fontsize=6, title_fontsize=7, ncols=2, loc="upper right")
        grid[0][0].set_ylim(-0.045, 0.045)
        grid[0][0].set_ylabel(r"$\mathrm{RBP}_k$: law less counted")
        figure.tight_layout()
    return figure


def exponent_panels(table: pd.DataFrame, laws: Sequence[str]) -> Figure:
    """alpha(k) as printed (column printed, dots) and as laws imply (their columns), by corpus."""
    corpora = corpora_of(table)
    with style():
        figure, grid = plt.subplots(1, len(corpora), figsize=(13, 3.6), squeeze=False)
        for axes, corpus in zip(grid[0], corpora, strict=True):
            one = table[table["corpus"] == corpus]
            axes.plot(one["k"], one["printed"], "o", color="black", markersize=4, label="Figure 6b")
            for law, ink, line in zip(laws, INKS, LINES, strict=False):
                axes.plot(one["k"], one[law], color=ink, linestyle=line, label=law, linewidth=1.3)
            axes.set_xscale("log")
            axes.set_ylim(0, 1.6 * one["printed"].max())
            axes.set_title(f"published: {corpus}, Pythia")
            axes.set_xlabel("$k$ (rank threshold)")
        grid[0][0].set_ylabel(r"exponent $\alpha(k)$")
        grid[0][0].legend(fontsize=7, loc="upper left")
        figure.tight_layout()
    return figure


def window_panels(medians: pd.DataFrame, names: Mapping[str, str]) -> Figure:
    """log of the predicted share over log of the counted, by N: medians of models (column median),
    a panel a source and k, a line a law. 1 is right; above, the share is too small."""
    panels = list(medians.groupby(["source", "k"], sort=False))
    rows = -(-len(panels) // 3)
    with style():
        figure, grid = plt.subplots(
            rows, 3, figsize=(10.5, 3.1 * rows + 0.5), sharey=True, squeeze=False
        )
        for axes, ((source, k), part) in zip(grid.flat, panels, strict=False):
            axes.axhline(1, color="black", linewidth=1)
            for (law, name), ink, line, mark in zip(
                names.items(), INKS, LINES, MARKERS, strict=False
            ):
                one = part[part["law"] == law]
                axes.plot(
                    one["N"], one["median"], color=ink, linestyle=line, marker=mark, markersize=4,
                    label=name,
                )  # fmt: skip
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xticks([10, 20, 50, 100], ["10", "20", "50", "100"])
            axes.set_yticks([0.5, 0.7, 1, 1.5, 2, 3], ["0.5", "0.7", "1", "1.5", "2", "3"])
            axes.minorticks_off()
            axes.set_xlim(9, 115)
            axes.set_title(f"{source}, $k = {k}$")
            axes.set_xlabel("$N$ (tokens of a window)")
        for axes in grid[:, 0]:
            axes.set_ylabel(r"$\log\, p_{N,k}$ of the law / counted")
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=len(labels), fontsize=8)
        figure.tight_layout(rect=(0, 0.05, 1, 1))
    return figure


def calibration_panels(table: pd.DataFrame) -> Figure:
    """`one_law.calibration`: RBP_1 against E[p_max], and CE against E[H], a dot a model and corpus.

    On the line a model is calibrated. Bars: 95% of the gap.
    """
    panels = (
        ("p_max", "RBP_1", "gap_1", r"$\mathrm{E}[p_{\max}]$", r"$\mathrm{RBP}_1$"),
        ("entropy", "CE", "gap_CE", r"$\mathrm{E}[H]$ (nats)", "CE (nats)"),
    )
    with style():
        figure, grid = plt.subplots(1, 2, figsize=(9.4, 4.3))
        for axes, (x, y, gap, across, up) in zip(grid, panels, strict=True):
            ends = [table[[x, y]].min().min(), table[[x, y]].max().max()]
            axes.plot(ends, ends, color="black", linewidth=1, zorder=1)
            for corpus, ink, mark in zip(corpora_of(table), INKS, MARKERS, strict=False):
                part = table[table["corpus"] == corpus]
                axes.errorbar(
                    part[x], part[y], whiskers(part, gap), fmt=mark, color=ink, markersize=4,
                    elinewidth=0.8, alpha=0.8, label=short(corpus),
                )  # fmt: skip
            axes.set_xlabel(across)
            axes.set_ylabel(up)
        grid[0].legend(loc="upper left")
        figure.tight_layout()
    return figure


def reliability_panels(table: pd.DataFrame) -> Figure:
    """Share of rank 1 against the mean p_max of each bin, a panel a corpus.

    table: `audit.calibration.reliability_table` of every job, with corpus, family, model and S. The
    largest model of each family is drawn, at bins of 50 tokens or more, with 95% intervals.
    """
    corpora = corpora_of(table)
    with style():
        figure, grid = plt.subplots(
            1, len(corpora), figsize=(3.2 * len(corpora) + 0.6, 3.6), squeeze=False, sharey=True
        )
        for axes, corpus in zip(grid[0], corpora, strict=True):
            axes.plot([0, 1], [0, 1], color="black", linewidth=1, zorder=1)
            here = table[(table["corpus"] == corpus) & (table["tokens"] >= 50)]
            for family, part in here.groupby("family"):
                one = part[part["S"] == part["S"].max()]
                ink = ink_of(family)
                look = {"color": ink.colour, "marker": ink.marker, "markersize": 4}
                share = one["hits"] / one["tokens"]
                reach = np.abs(one[["low", "high"]].to_numpy().T - share.to_numpy())
                axes.errorbar(
                    one["p_max"], share, reach, linewidth=1.1, elinewidth=0.8, label=family, **look
                )
            axes.set(title=short(corpus), xlabel=r"$p_{\max}$")
        grid[0][0].set_ylabel("share of rank 1")
        grid[0][0].legend(loc="upper left")
        figure.tight_layout()
    return figure
