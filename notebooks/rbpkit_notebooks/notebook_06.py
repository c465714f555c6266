"""What notebook 06 (Section 4.4) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from rbpkit import paper, plots
from rbpkit.curves import measured_curves
from rbpkit.fit import Array, fit_curves
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit_notebooks.choices import Study
from rbpkit_notebooks.choices import read_study as read_study
from rbpkit_notebooks.exercises import check_of

check = check_of("06")

LAST_OF_V = 0.2  # the curves end at this share of the vocabulary, as in the paper


def _by_k(axes: Axes, curves: pd.DataFrame, y: str) -> list[tuple[float, float, str, str]]:
    """A curve against k for each text, that of Wikipedia dark; returns its label for the end."""
    ends = []
    for corpus, curve in curves.groupby("dataset", sort=False):
        ink, width = (INK, 2.2) if corpus == "Wiki" else (OTHER, 1)
        axes.plot(curve["k"], curve[y], color=ink, linewidth=width)
        ends.append((curve["k"].iloc[-1], curve[y].iloc[-1], str(corpus), ink))
    axes.set(xscale="log", xlabel="$k$")
    plots.ticks(axes.xaxis, [1, 10, 100, 1_000, 10_000], "{:,}")
    return ends


def _wide(figure_6: pd.DataFrame) -> pd.DataFrame:
    """alpha and R2 of each text and k."""
    at_k = figure_6.dropna(subset="k").astype({"k": int})
    wide = at_k.pivot(index=["dataset", "k"], columns="quantity", values="value")
    return wide.assign(alpha=-wide["slope"]).reset_index()


def exponents(figure_6: pd.DataFrame, figures_dir: str) -> None:
    """Figure 6b: the exponent of ten Pythias against k, on four texts."""
    of_CE = -figure_6.query("quantity == 'ce_slope' and dataset == 'Wiki'")["value"].iloc[0]
    curves = _wide(figure_6).query("k <= 10_000")
    not_straight = curves[curves["R2"] < 0.9]
    line = r"exponent of ten Pythias; $\times$: $R^2$ of the line below 0.9"
    with plots.panel("The exponent grows with $k$", line, 4.0) as axes:
        ends = _by_k(axes, curves, "alpha")
        axes.plot(not_straight["k"], not_straight["alpha"], "x", color=OTHER, markersize=8)
        axes.axhline(of_CE, color=INK, linestyle="--", linewidth=1)
        axes.text(700, of_CE - 0.005, "cross-entropy on Wiki", va="top")
        axes.set(ylim=(0, 0.38), ylabel=r"$\alpha_k$")
        plots.label_ends(axes, ends)
    plots.save(axes, figure_6, figures_dir, "figure_6")


def two_measures(gain: pd.DataFrame, figures_dir: str) -> None:
    """From the smallest model to the largest, at k = 1 and 100: a factor of the loss, points."""
    heads = {
        "factor": ("The loss falls by more", "factor by which it falls"),
        "points": ("but fewer tokens are gained", "more tokens right, of 100"),
    }
    with plots.panels(3.6, ncols=2) as (figure, panels):
        for axes, (measure, (title, line)) in zip(panels, heads.items(), strict=True):
            ends = []
            for (text, family), row in gain[measure].iterrows():
                ink = plots.ink_of(family)
                axes.plot([0, 1], row, ink.marker + "-", color=ink.colour, linewidth=1)
                if text == "Wiki":
                    ends.append((1, row[100], plots.name_of(family), ink.colour))
            axes.set(xlim=(-0.15, 1.1), ylim=(0, None))
            if measure == "factor":
                axes.set(yscale="log", ylim=(1, 6.5))
                plots.ticks(axes.yaxis, [1, 2, 5])
            axes.set_xticks([0, 1], ["$k$ = 1", "$k$ = 100"])
            plots.headed(axes, title, line)
            plots.label_ends(axes, ends)
    plots.save(figure, gain.stack().reset_index(), figures_dir, "figure_6_two")


def hillside(
    log_S: Array, log_loss: Array, ks: Sequence[int], saved: pd.DataFrame, figures_dir: str
) -> None:
    """The map of the loss, with three ways at one height to a model 100 times as large.

    log_loss: a row for each k. saved: a row for each step in k, with the fewer guesses.
    """
    line = "100 times the size; on a grey line the share right is constant"
    with plots.panel("A larger model saves most guesses in the middle", line, 4.4) as axes:
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
    title = "Straight up to $k$ of some thousands"
    curves = _wide(figure_6)
    with plots.panel(title, "$R^2$ of the lines of ten Pythias", 3.4) as axes:
        axes.axhline(0.9, color=CONTEXT, linewidth=3)
        ends = _by_k(axes, curves, "R2")
        axes.text(1, 0.89, "0.9", va="top")
        axes.set_ylabel("$R^2$")
        plots.label_ends(axes, ends)
    plots.save(axes, curves, figures_dir, "figure_6a")


def fits_by_k(study: Study) -> pd.DataFrame:
    """The lines of the study's families at the k of Figure 6, and that of CE, whose k is missing.

    They go up to 60% of the vocabulary, as Figure 6 does. Prints which lines cannot be fitted.
    """
    V = {summary.manifest.family: summary.manifest.V for summary in study.summaries}
    ks = [int(k) for k in paper.table("fit_by_k")["k"].dropna().unique()]
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


def measured_exponents(fits: pd.DataFrame, figures_dir: str) -> None:
    """The exponents of what was measured against k, a panel for each family."""
    curves = fits[fits["of_V"] <= LAST_OF_V].astype({"k": float})
    if curves.empty:
        print("No family was measured at three sizes: there is no exponent to draw.")
        return
    curves["alpha"] = -curves["slope"]
    columns = min(2, curves["family"].nunique())
    look: dict[str, Any] = {"col": "name", "col_wrap": columns, "kind": "line", "color": INK}
    curves["name"] = curves["family"].map(plots.name_of)
    text = curves["corpus"].map(plots.short).rename("text")
    with plots.style():
        grid = sns.relplot(curves, x="k", y="alpha", style=text, height=2.7, **look)
        grid.set(xscale="log", ylim=(0, None))
        grid.set_titles("{col_name}")
        grid.set_axis_labels("$k$", r"$\alpha_k$")
    saved = curves[["corpus", "family", "k", "alpha", "R2"]]
    plots.save(grid.figure, saved, figures_dir, "figure_6_measured")
