"""What notebook 03 (Section 4.1) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from IPython.display import Markdown
from matplotlib.axes import Axes

from rbpkit import paper, plots
from rbpkit.fit import Array, Curve, fit_power_law, rbp_curve
from rbpkit.palette import CONTEXT, INK
from rbpkit.stats.curves import Curves, measured_curves
from rbpkit_notebooks.choices import Study
from rbpkit_notebooks.choices import read_study as read_study
from rbpkit_notebooks.claims import Claim, claims_table, counted
from rbpkit_notebooks.exercises import Mistake, checker, sealed

PLAIN_SLOPE = (1.1000 - 0.9905) / (4.74 - 1.19)
MISTAKES: dict[int, list[Mistake]] = {
    1: [(lambda a: abs(abs(a) - PLAIN_SLOPE) < 0.001, "Take the logarithms first.")],
    2: [(lambda a: np.log10(a), "This is the factor. Give its logarithm to base 10.")],
}
ANSWERS = {
    1: sealed("a9c56ded", digits=3),
    2: sealed("0fa04adf", digits=1, within=0),
    3: sealed("8527a891", digits=0, within=0),
}
check = checker(ANSWERS, MISTAKES)

PYTHIA = plots.ink_of("Pythia")
LOSS = r"loss, $-\log\,\mathrm{RBP}_1$, in nats"


def _axes(axes: Axes, lowest: float) -> None:
    axes.set(xscale="log", yscale="log", xlim=(6e5, 2e11), ylim=(lowest, 1.4))
    axes.set_xlabel(plots.SIZE)
    ticks = [tick for tick in (0.2, 0.5, 0.7, 1) if tick > lowest]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


def puzzle(pythia: Curve, figures_dir: str) -> None:
    """The two smallest Pythias, and three places for the largest."""
    title = "Where is the largest: at A, B or C?"
    with plots.panel(title, f"Pythia on Wikipedia; {LOSS}", 3.3) as axes:
        _axes(axes, 0.13)
        axes.plot(pythia.S[:2], pythia.loss[:2], PYTHIA.marker, color=PYTHIA.colour, ms=8)
        axes.text(1.5e6, 1.15, "14M", color=PYTHIA.colour)
        axes.text(6e6, 1.03, "31M", color=PYTHIA.colour)
        axes.axvline(pythia.S[-1], color=CONTEXT, linewidth=14, zorder=0)
        axes.text(2e10, 1.2, "12B", color=PYTHIA.colour)
        for letter, loss in (("A", 0.84), ("B", 0.547), ("C", 0.19)):
            axes.text(pythia.S[-1], loss, letter, size=14, ha="center", va="center", weight="bold")
    plots.save(axes, plots.curve_points("published", [pythia])[:2], figures_dir, "figure_3_puzzle")


def figure_3(published: Curves, study: Study, figures_dir: str) -> None:
    """The paper's families on Wikipedia with their lines; the points saved are all there are."""
    with plots.panel("Straight, and very flat", f"four families on Wikipedia; {LOSS}", 3.8) as axes:
        _axes(axes, 0.4)
        ends = []
        for family in paper.FAMILIES:
            curve, ink = published["Wiki", family], plots.ink_of(family)
            line = fit_power_law(curve.S, curve.loss).predict(curve.S).loss
            axes.plot(curve.S, line, color=ink.colour)
            axes.plot(curve.S, curve.loss, ink.marker, color=ink.colour, ms=5)
            ends.append((curve.S[-1], curve.loss[-1], plots.name_of(family), ink.colour))
        pythia = published["Wiki", "Pythia"]
        (left, right), (top, bottom) = pythia.S[[0, -1]], pythia.loss[[0, -1]]
        arrow = {"arrowstyle": "<->", "color": INK, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (left, bottom), (left, top * 0.96), arrowprops=arrow)
        axes.annotate("", (left, 0.46), (right, 0.46), arrowprops=arrow)
        axes.text(left * 1.3, 0.64, "half the loss")
        axes.text(1e8, 0.45, "10,000 times the parameters", ha="center", va="top")
        plots.label_ends(axes, ends, gap=1.05)
    own = [rbp_curve([one], 1) for one in study.shown()]
    parts = [plots.curve_points("published", published.values())]
    parts.append(plots.curve_points("measured", own))
    plots.save(axes, pd.concat(parts), figures_dir, "figure_3")


def exponents(lines: pd.DataFrame, figures_dir: str) -> None:
    """The sixteen exponents with their intervals, a block for each text."""
    corpora = list(paper.PLOTTED_CORPORA)
    title = "Every exponent is small"
    with plots.panel(title, r"$\alpha_1$ of sixteen lines, with 95% intervals", 3.9) as axes:
        for row in lines.itertuples():
            ink = plots.ink_of(row.family)
            height = corpora.index(row.corpus) + 0.2 * (paper.FAMILIES.index(row.family) - 1.5)
            axes.plot([-row.high, -row.low], [height, height], color=ink.colour, alpha=0.6)
            axes.plot(row.alpha, height, ink.marker, color=ink.colour)
            if row.corpus == corpora[0]:
                name = plots.name_of(row.family)
                axes.text(0.11, height, name, color=ink.colour, va="center")
        axes.set(ylim=(3.5, -0.5), xlim=(-0.012, 0.26), xlabel=r"$\alpha_1$")
        axes.set_yticks(range(4), corpora)
    plots.save(axes, lines, figures_dir, "figure_3_exponents")


def residuals(published: Curves, off_others: Callable[[Curve], Array], figures_dir: str) -> None:
    """How far the Pythias are above the line through all but the largest, on each text."""
    parts, ends = [], []
    line = "loss above the line of the nine smaller (%); hollow: not fitted"
    with plots.panel("The largest does worse than predicted", line, 3.6) as axes:
        axes.axhline(0, color=INK, linewidth=1.2)
        for corpus in paper.PLOTTED_CORPORA:
            curve = published[corpus, "Pythia"]
            off = off_others(curve)
            axes.plot(curve.S, off, PYTHIA.marker + "-", color=PYTHIA.colour, linewidth=0.8, ms=5)
            axes.plot(curve.S[-1], off[-1], PYTHIA.marker, color=PYTHIA.colour, mfc="white", ms=7)
            ends.append((curve.S[-1], off[-1], corpus, INK))
            parts.append(plots.curve_points("published", [curve]).assign(off=off))
        axes.set(xscale="log", xlim=(6e5, 6e11), xlabel=plots.SIZE)
        plots.label_ends(axes, ends)
    plots.save(axes, pd.concat(parts), figures_dir, "figure_3_residuals")


def with_lines(study: Study) -> Curves:
    """The measured curves that a line can be fitted to; says which have none."""
    curves, missing = measured_curves(study.summaries, study.corpora, study.families, 1)
    for line in missing:
        print(line)
    return curves


def measured(study: Study, figures_dir: str) -> None:
    """Every model of the study, a panel for each text, with a line through three models or more."""
    if not study.shown():
        print("None of these families was measured on these texts.")
        return
    points = plots.curve_points("measured", [rbp_curve([one], 1) for one in study.shown()])
    points["panel"] = points["corpus"].map(plots.short)
    look: dict[str, Any] = {"columns": 3, "size": (2.0, 3.4), "xlabel": "$S$", "ylabel": LOSS}
    figure = plots.law_grid(points, panel="panel", **look)
    line = "a panel for each text; lines go through three models or more"
    plots.headed_row(figure, f"The law of {study.ours}, $k$ = 1", line)
    plots.save(figure, points, figures_dir, "figure_3_measured")


PRECISE = Claim(
    words="Across all model series and all datasets, RBP1 exhibits precise power-law relationship"
    " with model sizes",
    where="Figure 3",
    test="lines of Table 1 at k = 1 with R2 of at least 0.97 (our margin)",
)
R2_OF_099 = Claim(
    words="The fitted power-law achieves an R2 of approximately 0.99, which is"
    " comparable to the R2 values obtained from cross-entropy–based scaling laws",  # noqa: RUF001
    where="Section 1",
    test="median R2 at k = 1, within 0.005 of 0.99; that of CE for comparison",
    main=False,
)


def claims(
    table1: pd.DataFrame, measured: pd.DataFrame, records_dir: str, figures_dir: str
) -> Markdown:
    """The claims of Section 4.1. table1: its lines at k = 1; measured: lines of what was."""
    R2, R2_of_CE = table1["r2"], paper.table1().query("k == 'CE'")["r2"]
    ours, median = measured["R2"], "not measured"
    straight = "not measured"
    if len(ours):
        straight = f"{counted(ours >= 0.97)}; smallest R2 {ours.min():.3f}"
        median = f"{ours.median():.3f}"
    results = {
        PRECISE: (
            f"{counted(R2 >= 0.97)}; smallest R2 {R2.min():.3f}",
            straight,
            "holds" if (R2 >= 0.97).all() else "holds in part",
        ),
        R2_OF_099: (
            f"{R2.median():.3f}; CE {R2_of_CE.median():.3f}",
            median,
            "holds" if abs(R2.median() - 0.99) <= 0.005 else "does not hold",
        ),
    }
    return claims_table("03", results, records_dir, figures_dir)
