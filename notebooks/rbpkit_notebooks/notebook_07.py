"""What notebook 07 (Section 5.1, emergence) draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rbpkit import plots
from rbpkit.fit import Array
from rbpkit.models import LoadedModel
from rbpkit.palette import CONTEXT, GREYS, INK, ordered_greys
from rbpkit_notebooks.choices import read_study
from rbpkit_notebooks.exercises import check_of
from rbpkit_notebooks.explorables import explorable as explorable
from rbpkit_notebooks.windows import measured_windows

check = check_of("07")

# N -> its label, and the place of the label
LENGTHS = {
    1: ("1 token", (15, 0.6)),
    10: ("10 in a row", (1.5e9, 0.4)),
    100: ("100 in a row", (4e13, 0.3)),
}


def longest_run(tokens: pd.DataFrame, k: int) -> pd.DataFrame:
    """The tokens of the longest run of hits within one document."""
    miss = tokens.R > k
    # The number of misses so far stays the same during a run of hits
    misses = miss.groupby(tokens.document).cumsum()
    length = (~miss).groupby([tokens.document, misses]).transform("sum")
    first = length.where(~miss, 0).idxmax()
    return tokens.loc[first : first + length[first] - 1]


def exercise(model: LoadedModel, tokens: pd.DataFrame, run: pd.DataFrame) -> None:
    """Print the document of a run of tokens, with the run in brackets."""
    document = tokens[tokens.document == run.document.iloc[0]]
    before = document.loc[: run.index[0] - 1]
    after = document.loc[run.index[-1] + 1 :]
    spelt = [model.tokenizer.decode(part.target.tolist()) for part in (before, run, after)]
    print("{}⟦{}⟧{}".format(*spelt))


def row_of_hits(model: LoadedModel, begin: pd.DataFrame, k: int, figures_dir: str) -> None:
    """The tokens of `begin` as a row of boxes, and two windows: one without and one with a miss."""
    hit = (begin.R <= k).to_numpy()
    spelt = [model.tokenizer.decode([token]) for token in begin.target]
    line = f"the first {len(hit)} tokens; black: {hit.sum()} hits, at $k$ = {k}"
    with plots.panel("One miss spoils a window", line, 2.5) as axes:
        for place, (token, is_hit) in enumerate(zip(spelt, hit, strict=True)):
            face = INK if is_hit else "white"
            axes.add_patch(plt.Rectangle((place, 1), 0.9, 1, facecolor=face, edgecolor=INK))
            shown = token.replace("\n", "↵").replace(" ", "·")
            axes.text(place + 0.45, 2.15, shown, rotation=90, ha="center", va="bottom")
        # The first window of five hits, and the last window of ten that one miss spoils
        of_five = np.convolve(hit, np.ones(5), "valid")
        of_ten = np.convolve(hit, np.ones(10), "valid")
        no = int(np.flatnonzero(of_ten == of_ten[of_ten < 9.5].max())[-1])
        _bracket(axes, int(of_five.argmax()), 5, 0.8, "5 in a row: yes")
        _bracket(axes, no, 10, -0.2, "10 in a row: no")
        axes.set(xlim=(-0.2, len(hit)), ylim=(-0.6, 4.3))
        axes.set_axis_off()
    row = begin[["position", "R"]].assign(token=spelt, hit=hit)
    plots.save(axes, row, figures_dir, "figure_7_row")


def _bracket(axes: Axes, start: int, length: int, height: float, text: str) -> None:
    left, right = start, start + length - 0.1
    heights = [height, height - 0.2, height - 0.2, height]
    axes.plot([left, left, right, right], heights, color=INK, linewidth=1)
    axes.text(left - 0.3, height - 0.2, text, ha="right", va="center")


def slide(points: pd.DataFrame, success: Callable[[Array, int], Array], figures_dir: str) -> None:
    """Counted success of 1, 10 and 100 tokens against S, and `success(S, N)`, Eq. 8.

    For 1 and 100 tokens an arrow goes from the S of 10% to the S of 90%.
    """
    shown = points[points.N.isin(LENGTHS)]
    S = np.geomspace(10, 1e20, 500)
    line = "share of windows without a miss; dashed: Eq. 8"
    title = "By Eq. 8 a longer task slides the curve,\nand the step keeps its length"
    with plots.panel(title, line, 3.8) as axes:
        axes.axvspan(points.S.min(), points.S.max(), color=CONTEXT, linewidth=0, alpha=0.6)
        axes.text(np.sqrt(points.S.min() * points.S.max()), 1.06, "the models", ha="center")
        for N, grey, (name, place) in zip(LENGTHS, GREYS, LENGTHS.values(), strict=True):
            counted = shown[shown.N == N]
            by_law = success(S, N)
            axes.plot(S, by_law, "--", color=grey, linewidth=1.6)
            axes.plot(counted.S, counted.p, "o-", color=grey, linewidth=2)
            axes.text(*place, name, color=plots.for_text(grey))
            if N != 10:
                low, high = np.exp(np.interp([0.1, 0.9], by_law, np.log(S)))
                arrow = {"arrowstyle": "<|-|>", "color": INK, "shrinkA": 0, "shrinkB": 0}
                axes.annotate("", (high, 0.1), (low, 0.1), arrowprops={**arrow, "linewidth": 2})
                axes.vlines(high, 0.1, 0.9, color=INK, linestyle=":", linewidth=1)
                axes.text(10 * low, 0.13, f"\N{MULTIPLICATION SIGN} {high / low / 1e6:.0f} million")
        axes.set(xscale="log", xlim=(10, 1e20), xlabel=plots.SIZE)
        axes.set(ylabel="$p_{N,100}$", ylim=(0, 1.15))
        axes.set_yticks([0, 0.1, 0.5, 0.9, 1], ["0", "10%", "50%", "90%", "100%"])
    plots.save(axes, shown[["model", "S", "k", "N", "p"]], figures_dir, "figure_7_slide")


def pairs(table: pd.DataFrame, figures_dir: str) -> None:
    """Decades of S between two shares: for N tokens, and for the next larger N."""
    line = "decades of $S$ between two shares; darker: larger $k$"
    with plots.panel("A longer task is no more sudden", line, 3.8) as axes:
        ends = [0.3, 3]
        axes.plot(ends, ends, color=INK, linewidth=1.2)
        ks = table.k.unique()
        for k, grey in zip(ks, ordered_greys(len(ks)), strict=True):
            points = table[table.k == k]
            axes.plot(points.decades, points.decades_longer, "o", color=grey, markersize=7)
        axes.text(0.33, 2.4, "the longer task needs more")
        axes.text(2.9, 0.36, "it needs fewer: more sudden", ha="right")
        axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
        axes.set(xlabel="for $N$ tokens in a row", ylabel="for the next larger $N$")
        for axis in (axes.xaxis, axes.yaxis):
            plots.ticks(axis, [0.5, 1, 2])
    plots.save(axes, table, figures_dir, "figure_7_pairs")


def measured(
    records_dir: str,
    families: Sequence[str],
    corpus_names: Sequence[str],
    Ns: Sequence[int],
    ks: Sequence[int],
) -> pd.DataFrame:
    """The windows of what was measured; says what is missing."""
    study = read_study(records_dir, families, corpus_names)
    table, missing = measured_windows(study.summaries, study.corpora, study.families, Ns, ks)
    for line in missing:
        print(line)
    return table


def shares(published: pd.DataFrame, measured: pd.DataFrame, figures_dir: str) -> None:
    """p_{N,k} against S at one k: the published points, and those of one measured family."""
    panels = {"published": published[published.k == 100]}
    if len(measured):
        # The paper's family if it was measured, the text that was asked for first
        order = measured.assign(last=measured.family != "Pythia").sort_values("last", kind="stable")
        corpus, family = order[["corpus", "family"]].iloc[0]
        own = measured[(measured.corpus == corpus) & (measured.family == family)]
        name = f"{plots.name_of(family)}, {plots.short(corpus)}"
        panels[name] = own[own.k == own.k.max()]
    lengths = sorted(set(published.N) | set(measured.N))
    greys = dict(zip(lengths, ordered_greys(len(lengths)), strict=True))
    with plots.panels(3.6, ncols=len(panels), sharey=True, squeeze=False) as (figure, row):
        for axes, (name, part) in zip(row[0], panels.items(), strict=True):
            ends = []
            for N, points in part.groupby("N"):
                axes.plot(points.S, points.p, "o-", color=greys[N], markersize=4, linewidth=1)
                if N in (1, 2, 10, 100):
                    ends.append((points.S.iloc[-1], points.p.iloc[-1], f"{N}", greys[N]))
            axes.set(xscale="log", title=f"{name}, $k$ = {part.k.iloc[0]:,}")
            plots.label_ends(axes, ends)
        row[0, 0].set(ylabel="$p_{N,k}$", ylim=(-0.03, 1.03), yticks=[0, 0.5, 1])
        figure.supxlabel(plots.SIZE, fontsize=11)
        line = "share of windows without a miss; at the lines: $N$"
        plots.headed_row(figure, "Success rises smoothly with size", line)
    every = pd.concat([published.assign(source="published"), measured.assign(source="measured")])
    plots.save(figure, every[["source", *published.columns]], figures_dir, "figure_7")
