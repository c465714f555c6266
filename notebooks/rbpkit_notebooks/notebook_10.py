"""What notebook 10 (Appendix B, the law in k) draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.patheffects import withStroke

from rbpkit import paper, plots
from rbpkit.fit import Array
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.plots import NARROW
from rbpkit.summary import Summary
from rbpkit_notebooks.choices import Study
from rbpkit_notebooks.choices import read_study as read_study
from rbpkit_notebooks.exercises import check_of

check = check_of("10")

MODEL = ["corpus", "family", "model", "S"]
PYTHIA = plots.ink_of("Pythia")
GREEN = plots.for_text(PYTHIA.colour)
HALO = [withStroke(linewidth=2.5, foreground="white")]


def stairs(steps: pd.Series, goal: float, figures_dir: str) -> None:
    """RBP_k of the small model by k, and RBP_1 of the large one."""
    title = "Ten guesses of a small model are worth\none of a model 9,500 times as large"
    with plots.panel(title, "share of Wikipedia's tokens that are right", 3.5) as axes:
        axes.bar(steps.index, steps, width=0.8, color=CONTEXT)
        for k, share in steps.items():
            axes.text(k, share - 0.02, f"{share:.0%}", ha="center", va="top")
        axes.axhline(goal, color=PYTHIA.colour, linewidth=1.5)
        axes.text(0.5, goal + 0.018, f"Pythia-12B, one guess: {goal:.0%}", color=GREEN)
        axes.set(xlim=(0.4, 10.6), ylim=(0, 0.68), xlabel="guesses of Pythia-14M, $k$")
        axes.set_xticks(steps.index)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    points = steps.rename("rbp").reset_index().assign(model="pythia-14m", goal=goal)
    plots.save(axes, points, figures_dir, "figure_9_stairs")


def fan(pythia: pd.DataFrame, lines: pd.DataFrame, goal: float, figures_dir: str) -> None:
    """Figure 9 for four Pythias on Wiki, and an arrow between equal losses, -log `goal`."""
    of_model = lines[lines["corpus"] == "Wiki"].set_index("model")
    with plots.panel("A larger model has a steeper line", "four Pythias on Wikipedia", 3.8) as axes:
        axes.set(xscale="log", yscale="log", xlabel="guesses $k$")
        axes.set(ylabel=r"$-\log\,\mathrm{RBP}_k$, nats")
        ends = []
        for model, seen in pythia.sort_values(["S", "k"]).groupby("model", sort=False):
            line = of_model.loc[model]
            is_of_contest = model in ("pythia-14m", "pythia-12b")
            colour = PYTHIA.colour if is_of_contest else OTHER
            fitted = np.exp(line["log_c"]) * seen["k"] ** -line["beta"]
            axes.plot(seen["k"], fitted, color=colour, linewidth=1.4)
            axes.plot(seen["k"], seen["loss"], PYTHIA.marker, color=colour, markersize=5)
            name = str(model).removeprefix("pythia-").upper()
            ends.append((100, fitted.iloc[-1], rf"{name}: $\beta$ = {line['beta']:.2f}", colour))
        level = -np.log(goal)
        look = {"arrowstyle": "<->", "color": INK, "linewidth": 2.5, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (1, level), (10, level), arrowprops=look, zorder=5)
        axes.text(11.5, level, "equal loss", va="center", path_effects=HALO)
        axes.set_xticks([1, 10, 100], ["1", "10", "100"])
        plots.log_ticks(axes)
        plots.label_ends(axes, ends)
    columns = [*MODEL, "k", "rbp", "loss"]
    plots.save(axes, pythia[columns], figures_dir, "figure_9")


def worth(by_points: pd.DataFrame, figures_dir: str) -> None:
    """What doubling k is worth, a line for each model and text; columns "1 to 2", and so on.

    A worth that no model of the family is large enough to show is NaN.
    """
    shown = by_points.dropna(subset=[by_points.columns[0], by_points.columns[-1]])
    places = range(len(shown.columns))
    line = "a line for each model and text; green: Pythia, grey: OPT, Qwen"
    with plots.panel("The second guess is worth the most", line, 3.6) as axes:
        for (_, family, _), row in shown.iterrows():
            is_pythia = family == "Pythia"
            colour = PYTHIA.colour if is_pythia else OTHER
            mark = PYTHIA.marker + "-" if is_pythia else ".-"
            axes.plot(places, row, mark, color=colour, linewidth=1, zorder=3 if is_pythia else 2)
        axes.set(yscale="log", xlim=(-0.2, 2.2), ylim=(2, 70), ylabel="times as large")
        axes.set_xlabel("guesses $k$, doubled")
        axes.set_xticks(places, shown.columns)
        axes.minorticks_off()
        axes.set_yticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    plots.save(axes, by_points.reset_index(), figures_dir, "figure_9_worth")


def with_lines(study: Study) -> list[Summary]:
    """The models of a study whose RBP_1 is not 0 and whose RBP_100 is not 1; says which are not."""
    found = []
    for one in study.shown():
        if one.rbp(1) > 0 and one.rbp(100) < 1:
            found.append(one)
        else:
            about = one.manifest
            print(f"{about.model} on {about.corpus} has an RBP of 0 or 1, so no line.")
    return found


def measured_points(models: Sequence[Summary], ks: Array) -> pd.DataFrame:
    """RBP_k and loss of each model at these k."""
    rows = []
    for one in models:
        about = (one.manifest.corpus, one.manifest.family, one.manifest.model, one.manifest.S)
        rows += [(*about, k, rbp) for k, rbp in zip(ks, one.rbp(ks), strict=True)]
    table = pd.DataFrame(rows, columns=[*MODEL, "k", "rbp"]).astype({"rbp": float})
    table["loss"] = -np.log(table["rbp"])
    return table


def beyond(ratios: pd.DataFrame, figures_dir: str) -> None:
    """Counted loss over that of the line (`ratio`) against k, a line for each of the Pythias."""
    title = "Beyond $k$ = 100 the line fails"
    with plots.panel(title, "loss counted, divided by that on the line", 3.6) as axes:
        axes.axvspan(1, 100, color=CONTEXT, linewidth=0, alpha=0.5)
        axes.axhline(1, color=INK, linewidth=1.2)
        for _, part in ratios.groupby("model"):
            look = PYTHIA.marker + "-"
            axes.plot(
                part["k"], part["ratio"], look, color=PYTHIA.colour, markersize=4, linewidth=1
            )
        axes.axvline(paper.PAPER_V, color=GREEN, linestyle=":", linewidth=1)
        axes.text(paper.PAPER_V, 1.13, f"$V$ = {paper.PAPER_V:,} ", color=GREEN, ha="right")
        axes.text(5e3, 0.42, "Pythia\non Wiki", color=GREEN)
        axes.text(1.2, 0.08, "the line is fitted here")
        axes.set(xscale="log", xlim=(0.9, 1.2e5), ylim=(0, 1.2), xlabel="$k$")
        axes.set_ylabel("counted / on the line")
        axes.xaxis.set_major_formatter("{x:,.0f}")
    plots.save(axes, ratios, figures_dir, "figure_9_beyond")


def slopes(lines: pd.DataFrame, measured: pd.DataFrame, ours: str, figures_dir: str) -> None:
    """beta against S on one text of the paper, and on the first text that was measured."""
    table = pd.concat([lines.assign(source="paper"), measured.assign(source=ours)])
    first = table.groupby("source")["corpus"].transform("first")
    shown = table[table["corpus"] == first]
    shown = shown.assign(panel=shown["source"] + ": " + shown["corpus"].map(plots.short))
    look: dict[str, Any] = {"size": (NARROW / 2, 2.9), "xlabel": "$S$", "ylabel": r"$\beta$"}
    figure = plots.law_figure(shown, panel="panel", y="beta", **look)
    line = "exponent in $k$ of each model; $S$: non-embedding parameters"
    plots.headed_row(figure, "Larger models have steeper lines", line)
    plots.save(figure, table, figures_dir, "figure_9_slopes")
