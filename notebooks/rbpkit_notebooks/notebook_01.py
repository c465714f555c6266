"""What notebook 01 (Appendix A, the setup) draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import ListedColormap

from rbpkit import paper, plots
from rbpkit.fit import Curve, PowerLawFit
from rbpkit.palette import CONTEXT, INK, OTHER, RANK_FILLS
from rbpkit_notebooks.choices import Study
from rbpkit_notebooks.choices import read_study as read_study
from rbpkit_notebooks.exercises import check_of

check = check_of("01")

SKETCH = "410213150123304113213014132150"  # groups of ranks, as a text might have them


def to_table_1(curve: Curve, law: PowerLawFit, figures_dir: str) -> None:
    """From a text's ranks to a share, to a point, to a line, to a cell of Table 1."""
    titles = (
        "1  a model reads a text: how many ranks? (a sketch)",
        f"2  the share with rank 1: {curve.value[0]:.6f}, one point",
        f"3  ten models: a line of slope \N{MINUS SIGN}{law.alpha:.3f}, $R^2$ = {law.r2:.3f}",
        "4  one of 168 cells of Table 1 (6 texts, 7 rows, 4 families)",
    )
    gaps: dict[str, Any] = {"edgecolors": "white", "linewidth": 2}
    with plots.panels(5.8, nrows=4, height_ratios=[1, 1, 5.5, 3]) as (figure, panels):
        ranks, share, line, table = panels
        for axes, title in zip(panels, titles, strict=True):
            axes.set_title(title)
        for axes in (ranks, share, table):
            axes.axis("off")
        groups = [[int(group) for group in SKETCH]]
        ranks.pcolormesh(groups, cmap=ListedColormap(RANK_FILLS), vmin=0, vmax=5, **gaps)
        share.barh(0, [1, curve.value[0]], color=[CONTEXT, INK])
        share.set_xlim(0, 1)
        look = plots.ink_of("Pythia")
        line.plot(curve.S, law.predict(curve.S).loss, color=INK, lw=1.2)
        line.plot(curve.S, curve.loss, look.marker, color=look.colour)
        line.plot(curve.S[0], curve.loss[0], look.marker, color=INK, ms=9)
        line.set(xscale="log", yscale="log", xlabel=plots.SIZE, ylabel=r"$-\log\,\mathrm{RBP}_1$")
        plots.log_ticks(line)
        cells = np.zeros((7, 24))  # a column for each family on each text
        column = 4 * list(paper.table("table1")["dataset"].unique()).index("HotpotQA") + 2
        cells[1, column] = 1
        table.pcolormesh(cells, cmap=ListedColormap([CONTEXT, INK]), **gaps)
        table.invert_yaxis()
        table.text(column, 8, "HotpotQA, Pythia", size=10)
    points = pd.DataFrame({"model": curve.models, "S": curve.S.astype(int), "value": curve.value})
    plots.save(figure, points, figures_dir, "figure_A_table1")


def pupils(share: float, figures_dir: str) -> None:
    """Which classes of 3 to 9 pupils can give this share, rounded to three digits."""
    rows = []
    title = f"Only 7 pupils can give {share}"
    with plots.panel(title, "the shares that classes of 3 to 9 can give", 3.2) as axes:
        axes.axvspan(share - 0.006, share + 0.006, color=CONTEXT)
        for T in range(3, 10):
            possible = np.arange(T + 1) / T
            fits = abs(possible - share) < 0.0005
            axes.plot(possible, np.full(T + 1, T), "|", color=OTHER, ms=12)
            axes.plot(possible[fits], np.full(fits.sum(), T), "o", color=INK, ms=9)
            rows += [(T, c, c / T) for c in range(T + 1)]
        axes.text(share + 0.02, 7.42, "5 of 7", weight="bold", va="center")
        axes.set(ylim=(9.6, 2.5), yticks=range(3, 10), ylabel="pupils", xlabel="share who passed")
    points = pd.DataFrame(rows, columns=["T", "c", "share"])
    plots.save(axes, points, figures_dir, "figure_A_share")


def sieve(left: Sequence[int], figures_dir: str) -> None:
    """How many counts are still possible, after each published value."""
    end = len(left) - 1
    title = f"{left[-1]} counts survive all {end} values"
    with plots.panel(title, "counts that are still possible", 3.3) as axes:
        axes.step(range(len(left)), left, where="post", color=INK)
        look: dict[str, Any] = {"textcoords": "offset points", "size": 10}
        for used in range(4):
            axes.annotate(f"{left[used]:,}", (used, left[used]), (9, 1), **look)
        axes.annotate(f"{left[-1]}", (end, left[-1]), (-6, 6), **look)
        axes.set(yscale="log", ylim=(10, 1e6), xlabel="published values used")
    points = pd.DataFrame({"values": range(len(left)), "left": left})
    plots.save(axes, points, figures_dir, "figure_A_sieve")


def counts(tokens: pd.Series, figures_dir: str) -> None:
    """The tokens behind each point, by text and family."""
    corpora = list(paper.PLOTTED_CORPORA)
    title = "Only AusLegal can reach the promise"
    with plots.panel(title, "tokens behind each point", 4.2) as axes:
        axes.axvline(500_000, color=INK, linewidth=1.2)
        axes.text(470_000, -0.68, "“at least 500,000”", va="center", ha="right")
        for (dataset, family), T in tokens.items():
            ink = plots.ink_of(family)
            height = corpora.index(dataset) + 0.22 * (paper.FAMILIES.index(family) - 1.5)
            axes.plot(T, height, ink.marker, color=ink.colour)
            if dataset == "HotpotQA":
                name = plots.name_of(family)
                axes.text(T * 1.15, height, name, va="center", size=10, color=ink.colour)
        ranges = tokens.groupby("dataset").agg(["min", "max"]).loc[corpora]
        names = [f"{text}\n{low:,}\u2013{high:,}" for text, low, high in ranges.itertuples()]
        axes.set_yticks(range(4), names)
        axes.set(xscale="log", xlim=(15_000, 900_000), ylim=(3.6, -0.9))
        plots.ticks(axes.xaxis, [20_000, 100_000, 500_000], "{:,}")
    plots.save(axes, tokens.reset_index(), figures_dir, "figure_A_counts")


def sizes(study: Study, figures_dir: str) -> None:
    """Every model on one axis of S, a row for each family: the paper's, and those measured."""
    theirs = paper.table("models")[["family", "model", "S"]].assign(source="the paper's")
    points = pd.concat([theirs, study.models().assign(source=study.ours)])
    points["family"] = points["family"].map(plots.name_of)
    look: dict[str, Any] = {"jitter": False, "dodge": True, "log_scale": True, "legend": False}
    line = f"a dot is a model; black: the paper's; grey: {study.ours}"
    with plots.panel("Four decades of size", line, 3.6) as axes:
        sns.stripplot(points, x="S", y="family", hue="source", palette=[INK, OTHER], **look)
        axes.set(xlabel=plots.SIZE, ylabel="")
    plots.save(axes, points, figures_dir, "figure_A1")
