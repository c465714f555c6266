"""What notebook 07 (Section 5.1, emergence) draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown
from matplotlib.axes import Axes

from rbpkit import paper, plots
from rbpkit.fit import Array
from rbpkit.models import LoadedModel
from rbpkit.palette import CONTEXT, GREYS, INK, ordered_greys
from rbpkit.tools.claims import claims_table
from rbpkit.tools.exercises import Mistake, sealed
from rbpkit_pocket.companions.shared_b import checker
from rbpkit_pocket.companions.shared_b import read_study as read_study
from rbpkit_pocket.findings.windows import MIN_RUNS

Law = Callable[[pd.DataFrame], tuple[float, float, float]]
"""alpha, C and R2 of -log p = C S^-alpha through a series."""

# For each exercise: how to undo a common mistake, and what to say if that gives the right answer
MISTAKES: dict[int, list[Mistake]] = {
    1: [
        (lambda a: a - 1, "Does a run of 20 tokens hold one window, or none?"),
        (
            lambda a: a + 1,
            "One too few: a run of 20 tokens holds one window, a run of 21 holds two.",
        ),
        (lambda a: a + 19, "Count tokens, not windows."),
        (lambda a: a / 20 + 19, "The windows overlap, so their lengths do not add up."),
    ],
    2: [
        (lambda a: a / np.log(10), "This is in ln S. A decade is ln 10."),
        (lambda a: np.log10(a), "This is the factor in S. Give decades."),
        (lambda a: a / 0.08, "This is the slide times alpha. Divide by alpha."),
        (lambda a: 2 * a / np.log(10), "This is ln 10/alpha. By which factor does N grow?"),
        (lambda a: -a, "Mind the sign: a longer task needs larger models."),
    ],
}
check = checker(
    {1: sealed("3e1e967e", digits=0, within=0), 2: sealed("b7a56873", digits=1)}, MISTAKES
)


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
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 2.6), layout="constrained")
        for place, (token, is_hit) in enumerate(zip(spelt, hit, strict=True)):
            face = INK if is_hit else "white"
            axes.add_patch(plt.Rectangle((place, 1), 0.9, 1, facecolor=face, edgecolor=INK))
            shown = token.replace("\n", "↵").replace(" ", "·")
            axes.text(place + 0.45, 2.15, shown, rotation=90, ha="center", va="bottom", fontsize=10)
        # The first window of five hits, and the last window of ten that one miss spoils
        of_five = np.convolve(hit, np.ones(5), "valid")
        of_ten = np.convolve(hit, np.ones(10), "valid")
        no = int(np.flatnonzero(of_ten == of_ten[of_ten < 9.5].max())[-1])
        _bracket(axes, int(of_five.argmax()), 5, 0.8, "5 in a row: yes")
        _bracket(axes, no, 10, -0.2, "10 in a row: no")
        axes.set(xlim=(-0.2, len(hit)), ylim=(-0.6, 4.3))
        axes.set_title(f"The first {len(hit)} tokens: {hit.sum()} hits (black) at $k$ = {k}")
        axes.set_axis_off()
    row = begin[["position", "R"]].assign(token=spelt, hit=hit)
    plots.save(figure, row, figures_dir, "figure_7_row")


def _bracket(axes: Axes, start: int, length: int, height: float, text: str) -> None:
    left, right = start, start + length - 0.1
    heights = [height, height - 0.2, height - 0.2, height]
    axes.plot([left, left, right, right], heights, color=INK, linewidth=1)
    axes.text(left - 0.3, height - 0.2, text, ha="right", va="center", fontsize=10)


def slide(points: pd.DataFrame, success: Callable[[Array, int], Array], figures_dir: str) -> None:
    """Counted success of 1, 10 and 100 tokens against S, and `success(S, N)`, Eq. 8."""
    lengths = (1, 10, 100)
    names = ("1 token", "10 in a row", "100 in a row")
    places = ((15, 0.6), (2e10, 0.4), (2e14, 0.4))
    S = np.geomspace(10, 1e20, 500)
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 4.0), layout="constrained")
        axes.axvspan(points.S.min(), points.S.max(), color=CONTEXT, linewidth=0, alpha=0.6)
        axes.text(np.sqrt(points.S.min() * points.S.max()), 1.09, "the models", ha="center")
        half = []
        for N, grey, name, place in zip(lengths, GREYS, names, places, strict=True):
            counted = points[points.N == N]
            by_law = success(S, N)
            half.append(np.interp(0.5, by_law, S))
            axes.plot(S, by_law, "--", color=grey, linewidth=1.6)
            axes.plot(counted.S, counted.p, "o-", color=grey, linewidth=2)
            axes.text(*place, name, color=grey, ha="left")
        for left, right in pairwise(half):
            arrow = {"arrowstyle": "-|>", "color": INK, "shrinkA": 3, "shrinkB": 3}
            axes.annotate("", (right, 0.5), (left, 0.5), arrowprops=arrow)
        note = "dashed: Eq. 8.\nTen times the tokens:\nthe same curve,\nfurther right"
        axes.text(1e20, 0.06, note, ha="right", fontsize=10)
        axes.set(xscale="log", xlim=(10, 1e20), xlabel="$S$ (non-embedding parameters)")
        axes.set(ylabel="$p_{N,100}$", ylim=(0, 1.18))
        axes.set_title("A longer task slides the curve; it does not get steeper")
        axes.set_yticks([0, 0.5, 1], ["0", "50%", "100%"])
    shown = points[points.N.isin(lengths)]
    plots.save(figure, shown[["model", "S", "k", "N", "p"]], figures_dir, "figure_7_slide")


def widths(series: pd.DataFrame, spanned: float, figures_dir: str) -> None:
    """The step's decades of S against N up to 20; `spanned`: decades that the models span."""
    width = series.pivot(index="k", columns="N", values="decades")
    shown_k = [1, 100, 500, 2_500, 10_000]
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.8), layout="constrained")
        axes.axhspan(0, spanned, color=CONTEXT, zorder=0)
        axes.text(1, 0.7, "grey: no wider than the range of the models", fontsize=10)
        ends = []
        for k, grey in zip(shown_k, ordered_greys(len(shown_k)), strict=True):
            line = width.loc[k, :20].dropna()
            axes.plot(line.index, line, "o-", color=grey, markersize=4)
            ends.append((line.index[-1], line.iloc[-1], f"$k$ = {k:,}", grey))
        axes.set(xscale="log", ylim=(0, None), xlabel="$N$ (tokens in a row)")
        axes.set(ylabel="decades of $S$", title="Longer tasks do not sharpen the step")
        axes.set_xticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        axes.minorticks_off()
        plots.label_ends(axes, ends)
    plots.save(figure, series, figures_dir, "figure_7_widths")


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
    colours = dict(zip(lengths, ordered_greys(len(lengths)), strict=True))
    with plots.style():
        figure, row = plt.subplots(
            1,
            len(panels),
            figsize=(plots.WIDTH, 3.6),
            sharey=True,
            squeeze=False,
            layout="constrained",
        )
        for axes, (name, part) in zip(row[0], panels.items(), strict=True):
            ends = []
            for N, points in part.groupby("N"):
                axes.plot(points.S, points.p, "o-", color=colours[N], markersize=4, linewidth=1)
                if N in (1, 2, 10, 100):
                    ends.append((points.S.iloc[-1], points.p.iloc[-1], f"{N}", colours[N]))
            axes.set(xscale="log", xlabel="$S$", title=f"{name}, $k$ = {part.k.iloc[0]:,}")
            plots.label_ends(axes, ends)
        row[0, 0].set(ylabel="$p_{N,k}$", ylim=(-0.03, 1.03), yticks=[0, 0.5, 1])
    every = pd.concat([published.assign(source="published"), measured.assign(source="measured")])
    plots.save(figure, every[["source", *published.columns]], figures_dir, "figure_7")


def claims(
    published: pd.DataFrame,
    series: pd.DataFrame,
    ten: pd.Series,
    measured: pd.DataFrame,
    N: int,
    fit_law: Law,
    records_dir: str,
    figures_dir: str,
) -> Markdown:
    """The claims of Section 5.1. ten: effective tokens of ten; N: length for measured models."""
    at_100 = published[published.k == 100].sort_values("S").groupby("N").p.agg(["first", "last"])
    gains = (at_100["last"] / at_100["first"]).loc[[1, 10, 100]]
    width = series.pivot(index="k", columns="N", values="decades")
    narrower = width[10] < width[1]
    grows = gains.is_monotonic_increasing
    sharpens = "holds in part" if grows or narrower.any() else "does not hold"
    if grows and narrower.all():
        sharpens = "holds"
    long = series[series.N > 1]
    straight = int((long.R2 >= 0.97).sum())

    single = series[series.N == 1].set_index("k").alpha
    printed = paper.emergence_fits().set_index("k").alpha_printed
    off = abs(_mean_of_nine(published, fit_law) - printed).max()
    near = abs(printed - single) <= 0.01
    covered, all_series = _from_10_to_90(published)
    covered_here, all_here = _from_10_to_90(measured)
    straight_here, ratios = _measured_series(measured, N, fit_law)
    gap = measured[(measured.N == N) & (measured.runs_low >= MIN_RUNS) & (measured.p < 1)]
    nothing = "not measured"
    rows: Sequence[Mapping[str, object]] = [
        {
            "claim": "The fitted power-law curves align closely with empirical data",
            "where": "Figure 7",
            "test": r"$(k, N)$ series of $-\log p_{N,k}$, $N > 1$ and without a zero,"
            r" with $R^2 \ge 0.97$",
            "published": f"{straight} of {len(long)}",
            "measured": f"{sum(straight_here)} of {len(straight_here)}"
            if straight_here
            else nothing,
            "verdict": "holds" if straight == len(long) else "holds in part",
            "main": True,
        },
        {
            "claim": "The sequence length N acts as an amplifier: larger N sharpens the transition,"
            " creating the observed sudden 'knee' in performance",
            "where": "Section 5.1",
            "test": "how much p grows from the smallest to the largest model at k = 100, for N = 1,"
            " 10, 100; decades of S from 10% to 90%, for N = 1 and 10",
            "published": f"{', '.join(f'{gain:.1f}-fold' for gain in gains)}; decades:"
            f" {width[1][100]:.1f} and {width[10][100]:.1f} at k = 100,"
            f" {width[1][2500]:.1f} and {width[10][2500]:.1f} at k = 2500",
            "measured": f"decades for N = {N} over those for N = 1: "
            + _ends([1 / ratio for ratio in ratios], "{:.2f} to {:.2f}"),
            "verdict": sharpens,
            "main": True,
        },
        {
            "claim": "Assuming independence and stationarity across positions",
            "where": "Section 5.1, Eq. 6 (assumed, not claimed)",
            "test": "effective number of tokens of a window of ten; 10 if independent",
            "published": f"{_ends(ten)}, median {ten.median():.1f}",
            "measured": f"{_ends(gap.effective)} of {N}",
            "verdict": "holds" if abs(ten.median() - 10) <= 1 else "does not hold",
            "main": True,
        },
        {
            "claim": r"$-\log p_{N,k} \propto N \cdot S^{-\alpha}$",
            "where": "Figure 7",
            "test": "k at which the printed exponent is within 0.01 of that of single tokens; the"
            " printed one is the mean of nine fits with zeros set to 1e-12",
            "published": f"{near.sum()} of {len(printed)}; the mean of"
            f" nine differs from the printed one by at most {off:.4f}",
            "measured": "nothing is printed for these",
            "verdict": "holds in part" if near.any() else "does not hold",
            "main": False,
        },
        {
            "claim": "inherently sigmoidal",
            "where": "Section 5.1, of the curve of success",
            "test": "Eq. 8 has an S-shape in ln S; (k, N) series that go from under 10% to over"
            " 90%",
            "published": f"{covered} of {all_series}",
            "measured": f"{covered_here} of {all_here}" if all_here else nothing,
            "verdict": "holds in part",
            "main": False,
        },
    ]
    return claims_table("07", rows, records_dir, figures_dir)


def _ends(values: Sequence[float], form: str = "{:.1f} to {:.1f}") -> str:
    return form.format(min(values), max(values)) if len(values) else "not measured"


def _from_10_to_90(points: pd.DataFrame) -> tuple[int, int]:
    """Series that go from under 10% to over 90%, and all."""
    span = points.groupby(["corpus", "family", "k", "N"])["p"].agg(["min", "max"])
    return int(((span["min"] < 0.1) & (span["max"] > 0.9)).sum()), len(span)


def _mean_of_nine(published: pd.DataFrame, fit_law: Law) -> pd.Series:
    """For each k the mean exponent of nine fits, as the paper makes them: zeros set to 1e-12."""
    exponents = {}
    for name, points in published.assign(p=published.p.clip(lower=1e-12)).groupby(["k", "N"]):
        exponents[name] = fit_law(points)[0] if points.p.max() > 1e-12 else 0
    return pd.Series(exponents).groupby(level=0).mean()


def _measured_series(
    measured: pd.DataFrame, N: int, fit_law: Law
) -> tuple[list[bool], list[float]]:
    """Whether R2 is at least 0.97, for each series; alpha at N over that at 1, for each k."""
    straight, ratios = [], []
    for _, table in measured.groupby(["corpus", "family", "k"]):
        fits = {}
        for length, points in table.groupby("N"):
            sound = (points.runs_low >= MIN_RUNS) & (points.p < 1)
            if points.S.nunique() > 2 and sound.all():
                fits[length] = fit_law(points)
                if length > 1:
                    straight.append(fits[length][2] >= 0.97)
        if {1, N} <= set(fits):
            ratios.append(fits[N][0] / fits[1][0])
    return straight, ratios
