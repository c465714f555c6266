"""What notebook 06 (Section 4.4) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rbpkit import paper, plots
from rbpkit.fit import Array, fit_curves
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.stats.curves import measured_curves
from rbpkit_pocket.companions.choices import Study
from rbpkit_pocket.companions.choices import read_study as read_study
from rbpkit_pocket.companions.claims_06 import claims as claims
from rbpkit_pocket.companions.exercises import Mistake, checker, sealed

MISTAKES: dict[int, list[Mistake]] = {
    1: [(lambda a: a + 20, "At this k it is still a little less than twice.")],
    2: [
        (lambda a: 1 / a, "You have the inverse: S must grow."),
        (lambda a: 2 ** (1 / np.log2(a)), "You raised 2 to b. Solve the equation for f."),
        (lambda a: np.exp(a), "This is the natural logarithm of the factor."),
        (lambda a: 10**a, "This is the factor in powers of ten."),
    ],
}
ANSWERS = {
    1: sealed("1a656259", digits=0, within=0),
    2: sealed("7902699b", digits=0, within=0),
}
check = checker(ANSWERS, MISTAKES)

COLUMNS = ["source", "corpus", "family", "quantity", "k", "value"]
LAST_OF_V = 0.2  # the curves end at this share of the vocabulary, as in the paper


def _points(figure_6: pd.DataFrame) -> pd.DataFrame:
    """The points of Figure 6 in the columns that a figure is saved with."""
    named = figure_6.rename(columns={"dataset": "corpus"})
    return named.assign(source="published", family="Pythia")[COLUMNS]


def _curves(axes: Axes, points: pd.DataFrame, dark: str) -> list[tuple[float, float, str, str]]:
    """A curve of alpha against k for each corpus, x where R2 is low; returns the labels."""
    ends = []
    for corpus, part in points.groupby("corpus", sort=False):
        curve = part[part["quantity"] == "slope"].sort_values("k")
        R2 = part[part["quantity"] == "R2"].set_index("k")["value"].reindex(curve["k"])
        ink, width = (INK, 2.2) if corpus == dark else (OTHER, 1)
        axes.plot(curve["k"], -curve["value"], color=ink, linewidth=width)
        low = R2.to_numpy() < 0.9
        axes.plot(curve["k"][low], -curve["value"][low], "x", color=ink, markersize=8)
        ends.append((curve["k"].iloc[-1], -curve["value"].iloc[-1], plots.short(corpus), ink))
    axes.set(xscale="log", xlabel="$k$")
    return ends


def exponents(figure_6: pd.DataFrame, figures_dir: str) -> None:
    """Figure 6b: the exponent of ten Pythias against k, on four texts."""
    points = _points(figure_6)
    is_of_CE = (points["quantity"] == "ce_slope") & (points["corpus"] == "Wiki")
    of_CE = -points[is_of_CE]["value"].iloc[0]
    line = r"exponent of ten Pythias; $\times$: $R^2$ of the line below 0.9"
    with plots.panel("The exponent grows with $k$", line, 4.0) as axes:
        ends = _curves(axes, points[~(points["k"] > 10_000).fillna(False)], "Wiki")
        axes.axhline(of_CE, color=INK, linestyle="--", linewidth=1)
        axes.text(700, of_CE - 0.005, "cross-entropy on Wiki", va="top")
        axes.set_ylabel(r"$\alpha_k$")
        axes.set_xticks([1, 10, 100, 1_000, 10_000], ["1", "10", "100", "1,000", "10,000"])
        axes.set_ylim(0, 0.38)
        plots.label_ends(axes, ends)
    plots.save(axes, points, figures_dir, "figure_6")


def hillside(
    log_S: Array, log_loss: Array, ks: Sequence[int], saved: pd.DataFrame, figures_dir: str
) -> None:
    """The map of the loss, with three ways at one height to a model 100 times as large.

    log_loss: a row for each k. saved: a row for each step in k, with the fewer guesses.
    """
    line = "100 times the size; on a grey line the share right is constant"
    with plots.panel("It saves most guesses at $k$ = 10 to 500", line, 4.4) as axes:
        S, fewer = np.exp(log_S), saved["fewer"].to_numpy()
        levels = np.log(0.5 ** np.arange(12.0, -1, -1))  # each contour halves the loss
        look: dict[str, Any] = {"colors": CONTEXT, "linewidths": 1, "linestyles": "solid"}
        axes.contour(S, ks, log_loss, levels=levels, **look)
        axes.set(xscale="log", yscale="log", xlabel=plots.SIZE, ylabel="$k$")
        for place, south in ((0, 8), (1, 70), (2, 400), (4, 9_000)):
            start, end = (2e7, 2e9), (south, south / fewer[place])
            axes.plot(start, end, color=INK, linewidth=2.5)
            middle = (2e8, np.sqrt(end[0] * end[1]) * 1.15)
            note = f"guesses ÷ {fewer[place]:.1f}"
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            axes.annotate(note, middle, (0, 3), textcoords="offset points", bbox=box)
        axes.set_yticks(ks, [f"{k:,}" for k in ks])
        axes.minorticks_off()
        # Name each contour at the largest model: the share of tokens that succeed.
        by_rising_loss = np.argsort(log_loss[:, -1])
        heights = log_loss[by_rising_loss, -1]
        named = levels[(levels > heights[0]) & (levels < heights[-1])]
        log_k = np.interp(named, heights, np.log(ks)[by_rising_loss])
        ends = []
        for level, height in zip(named, log_k, strict=True):
            success = np.exp(-np.exp(level))
            name = f"{success:.2%}" if success > 0.999 else f"{success:.1%}"
            ends.append((S[-1], np.exp(height), name, OTHER))
        plots.label_ends(axes, ends)
    plots.save(axes, saved, figures_dir, "figure_6_map")


def straightness(figure_6: pd.DataFrame, figures_dir: str) -> None:
    """Figure 6a: the R2 of Pythia's lines against k."""
    points = _points(figure_6)
    points = points[points["quantity"] == "R2"]
    title = "Straight up to $k$ of some thousands"
    with plots.panel(title, "$R^2$ of the lines of ten Pythias", 3.4) as axes:
        axes.axhline(0.9, color=CONTEXT, linewidth=3)
        ends = []
        for corpus, curve in points.groupby("corpus", sort=False):
            ink = INK if corpus == "Wiki" else OTHER
            axes.plot(curve["k"], curve["value"], color=ink)
            ends.append((curve["k"].iloc[-1], curve["value"].iloc[-1], corpus, ink))
        axes.set(xscale="log", xlabel="$k$", ylabel="$R^2$")
        axes.text(1, 0.89, "0.9", va="top")
        plots.label_ends(axes, ends)
    plots.save(axes, points, figures_dir, "figure_6a")


def fits_by_k(study: Study) -> pd.DataFrame:
    """The lines of the study's families at the k of Figure 6, and that of CE, whose k is missing.

    They go up to 60% of the vocabulary, as Figure 6 does. Prints which lines cannot be fitted.
    """
    V = {summary.manifest.family: summary.manifest.V for summary in study.summaries}
    ks = [int(k) for k in paper.fit_by_k()["k"].dropna().unique()]
    tables = []
    for k in (None, *ks):
        curves, missing = measured_curves(study.summaries, study.corpora, study.families, k)
        if k is None:
            print("\n".join(missing) or "All that was asked for was measured.")
        table = fit_curves(curves.values()).table
        tables.append(table.assign(k=pd.array([k] * len(table), dtype="Int64")))
    fits = pd.concat(tables, ignore_index=True)
    share = fits["k"].astype(float) / fits["family"].map(V).astype(float)
    return fits[~(share > 0.6)].assign(of_V=share)


def measured_exponents(fits: pd.DataFrame, study: Study, figures_dir: str) -> None:
    """The exponents of what was measured against k, a panel for each family."""
    at_k = fits.dropna(subset="k")
    families = [family for family in study.families if family in set(at_k["family"])]
    if not families:
        print("No family was measured at three sizes: there is no exponent to draw.")
        return
    kind = np.where(fits["k"].isna(), "ce_slope", "slope")
    exponents = fits.assign(quantity=kind, value=fits["slope"])
    R2 = at_k.assign(quantity="R2", value=at_k["R2"])
    points = pd.concat([R2, exponents]).assign(source="measured")
    within = points[~(points["of_V"] > LAST_OF_V)]
    rows = -(-len(families) // 2)
    with plots.panels(
        2.7 * rows,
        plots.WIDTH,
        nrows=rows,
        ncols=min(2, len(families)),
        sharex=True,
        sharey=True,
        squeeze=False,
    ) as (figure, grid):
        ends = []
        for axes, family in zip(grid.flat, families, strict=False):
            ends.append(_curves(axes, within[within["family"] == family], ""))
            axes.set(ylabel=r"$\alpha_k$", title=plots.name_of(family))
        for axes in grid.flat[len(families) :]:
            axes.remove()
        grid[0, 0].set_ylim(bottom=0)
        for axes, of_axes in zip(grid.flat, ends, strict=False):
            plots.label_ends(axes, of_axes)
    plots.save(figure, points[COLUMNS], figures_dir, "figure_6_measured")
