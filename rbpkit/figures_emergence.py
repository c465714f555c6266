"""The figures of Section 5.1: Figure 7, what a window counts for, and Eq. 8 over all sizes.

Every function takes tables of `emergence.Windows` and gives a figure, which `figures.save` shows
and closes; S is non-embedding parameters throughout.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rbpkit.emergence import independent, knee, line, success_at, width
from rbpkit.errors import InputError
from rbpkit.figures import FAMILY_INK, OTHER_INK, style

MARKERS = "os^Dv<>pXh*dP8H"
# Below so many separate runs of hits a share stands on too little, and is drawn hollow.
FEW_RUNS = 5
COLUMNS = 4


def figure_7(published: pd.DataFrame, measured: pd.DataFrame, ks: Sequence[int]) -> Figure:
    """p_{N,k} against S, a panel for each k: the paper's eight, and below those measured.

    published: of one family on one corpus; measured: the same, or empty. Points are counted
    shares, dashed lines Eq. 8 with alpha and c from N = 1. InputError for nothing to draw.
    """
    if published.empty:
        raise InputError("nothing to draw: the published table is empty")
    blocks = [("published", published, sorted(published["k"].unique()))]
    if len(measured):
        blocks.append(("measured", measured, list(ks)))
    rows = [
        (source, table, some[i : i + COLUMNS])
        for source, table, some in blocks
        for i in range(0, len(some), COLUMNS)
    ]
    every = sorted({*published["N"], *measured["N"]})
    inks = dict(zip(every, _inks(len(every)), strict=True))
    with style():
        figure, grid = plt.subplots(
            len(rows), COLUMNS, figsize=(3.1 * COLUMNS, 2.75 * len(rows)), squeeze=False
        )
        for number, ((source, table, some), axes_row) in enumerate(zip(rows, grid, strict=True)):
            for axes in axes_row[len(some) :]:
                axes.set_visible(False)
            for axes, k in zip(axes_row, some, strict=False):
                _shares(axes, table[table["k"] == k], k, inks)
                where = f"{table['family'].iloc[0]}, {_plain(table['corpus'].iloc[0])}"
                axes.set_title(f"{source}: {where}, $k = {_thousands(k)}$", fontsize=9.5)
                axes.set_xlabel("$S$ (non-embedding parameters)")
                if number == 0:
                    _as_printed(axes)
            axes_row[0].set_ylabel("$p_{N,k}$")
        handles = [Line2D([], [], color=c, marker=m, label=f"{N}") for N, (c, m) in inks.items()]
        handles.append(Line2D([], [], color="0.3", linestyle="--", label="Eq. 8"))
        figure.tight_layout(rect=(0, 0, 0.93, 1))
        figure.legend(handles=handles, title="$N$", loc="center right", fontsize=9)
    return figure


def _shares(axes: Axes, table: pd.DataFrame, k: int, inks: dict) -> None:
    axes.set_xscale("log")
    axes.set_ylim(-0.04, 1.04)
    try:
        fitted = line(table, k)
    except InputError:  # fewer than three sizes, or a share of 0 or 1: the points alone
        fitted = None
    sizes = np.geomspace(table["S"].min(), table["S"].max(), 60)
    for N, part in table.groupby("N"):
        colour, marker = inks[N]
        if fitted is not None:
            law = success_at(sizes, N, np.exp(fitted.intercept), fitted.alpha)
            axes.plot(sizes, law, "--", color=colour, linewidth=0.9, zorder=2)
        axes.plot(
            part["S"],
            part["p"],
            color=colour,
            marker=marker,
            markersize=4.5,
            markeredgecolor="white",
            markeredgewidth=0.4,
            linewidth=1.1,
            zorder=3,
        )


def _as_printed(axes: Axes) -> None:
    """ln S along the top: what stands on the paper's x axis, there written as powers of ten."""
    top = axes.secondary_xaxis("top", functions=(_log, np.exp))
    top.set_xscale("linear")
    low, high = (_log(limit) for limit in axes.get_xlim())
    step = 2 if high - low > 6 else 1
    ticks = np.arange(np.ceil(low / step) * step, high, step)
    top.set_xticks(ticks, [f"{tick:.0f}" for tick in ticks])
    top.tick_params(labelsize=8, pad=1)
    top.set_xlabel(r"$\ln S$, labelled $10^{\ln S}$ in the paper", fontsize=8, labelpad=3)


def _log(value):
    """Natural logarithm; matplotlib tries 0 on its way."""
    return np.log(np.maximum(value, 1e-300))


def effective_panels(published: pd.DataFrame, measured: pd.DataFrame, ks: Sequence[int]) -> Figure:
    """log p_{N,k} / log RBP_k against N: for how many independent tokens a window counts.

    Top: all published models, a panel for each of (up to four) k. Below: of what was measured
    the largest model of each family, a panel a corpus, at the first and at the last k. The
    diagonal is Eq. 7. A hollow point may come from fewer than FEW_RUNS separate runs of hits.
    InputError for nothing to draw.
    """
    if published.empty:
        raise InputError("nothing to draw: the published table is empty")
    shown = [k for k in ks if k in set(published["k"])][:COLUMNS] or [1, 10, 50, 100]
    lines = _published_lines(published)
    panels = [(f"published: $k = {_thousands(k)}$", published, k, lines) for k in shown]
    rows = [panels]
    corpora = [(corpus, part) for corpus, part in measured.groupby("corpus", sort=False)]
    for k in dict.fromkeys((ks[0], ks[-1])):
        panels = [
            (f"measured: {_plain(corpus)}, $k = {_thousands(k)}$", part, k, _measured_lines(part))
            for corpus, part in corpora
        ]
        rows += [panels[i : i + COLUMNS] for i in range(0, len(panels), COLUMNS)]
    with style():
        figure, grid = plt.subplots(
            len(rows), COLUMNS, figsize=(3.1 * COLUMNS, 3.1 * len(rows)), squeeze=False
        )
        for panels, axes_row in zip(rows, grid, strict=True):
            for axes in axes_row[len(panels) :]:
                axes.set_visible(False)
            handles = {"independent": Line2D([], [], color="black")}
            for axes, (title, table, k, drawn) in zip(axes_row, panels, strict=False):
                for part, *ink, name in drawn:
                    handles[name] = _effective(axes, part[part["k"] == k], *ink)
                top = table["N"].max()
                axes.plot([1, top], [1, top], color="black", linewidth=1.1)
                axes.set(xscale="log", yscale="log", xlabel="$N$ (tokens of a window)")
                axes.set_ylim(0.8, 1.4 * top)
                axes.set_title(title)
            axes_row[0].set_ylabel(r"$\log p_{N,k}\,/\,\log \mathrm{RBP}_k$")
            axes_row[len(panels) - 1].legend(
                handles.values(),
                handles.keys(),
                loc="center left",
                bbox_to_anchor=(1.02, 0.5),
                handlelength=2.6,
            )
        figure.tight_layout()
    return figure


def _published_lines(table: pd.DataFrame) -> list[tuple]:
    """A line a model, by rising S."""
    models = table.drop_duplicates("model").sort_values("S")["model"].tolist()
    inks = _inks(len(models))
    parts = [table[table["model"] == model] for model in models]
    return [
        (part, colour, marker, "-", model)
        for part, model, (colour, marker) in zip(parts, models, inks, strict=True)
    ]


def _measured_lines(table: pd.DataFrame) -> list[tuple]:
    """A line a family: its largest model, in the family's ink."""
    found = []
    for family, part in table.groupby("family", sort=False):
        ink = FAMILY_INK.get(family, OTHER_INK)
        largest = part[part["S"] == part["S"].max()]
        found.append((largest, ink.colour, ink.marker, ink.line, str(family)))
    return found


def _effective(axes: Axes, part: pd.DataFrame, colour, marker, dash) -> Line2D:
    part = part[part["effective"].notna()]
    axes.plot(part["N"], part["effective"], color=colour, linestyle=dash, linewidth=1.1)
    look = {"linestyle": "none", "marker": marker, "markersize": 5, "markeredgecolor": colour}
    for few, face in ((False, colour), (True, "white")):
        some = part[(part["runs_low"] < FEW_RUNS) == few]
        axes.plot(some["N"], some["effective"], markerfacecolor=face, zorder=3, **look)
    return Line2D([], [], color=colour, marker=marker, markersize=5, linestyle=dash)


def eq8_panels(published: pd.DataFrame, k: int = 1, N: int = 100) -> Figure:
    """Left: Eq. 8 at one k over sizes that no one has, for several N. Right: p_{N,k} as counted.

    published: `emergence.Windows.table` of one family on one corpus; alpha and c are fitted to it
    at N = 1. The band is the span of S that was measured.
    """
    fitted = line(published, k)
    c, alpha = float(np.exp(fitted.intercept)), fitted.alpha
    with style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.2), width_ratios=(1.35, 1))
        _gumbel(left, c, alpha, fitted.S_min, fitted.S_max)
        left.set_title(f"Eq. 8 at $k = {k}$: $\\alpha = {alpha:.3f}$, $c = {c:.2f}$")

        part = published[(published["k"] == k) & (published["N"] == N)].sort_values("S")
        right.set(xscale="log", yscale="log", xlabel="$S$ (non-embedding parameters)")
        counted = part[part["p"] > 0]
        few = counted["runs_low"] < FEW_RUNS
        right.plot(counted["S"], counted["p"], color="0.6", linewidth=0.8, zorder=1)
        look = {"color": "black", "marker": "o", "linestyle": "none", "markersize": 6}
        for some, face, what in (
            (counted[~few], "black", f"counted, {FEW_RUNS} runs or more"),
            (counted[few], "white", f"counted, perhaps under {FEW_RUNS} runs"),
        ):
            if len(some):
                right.plot(some["S"], some["p"], markerfacecolor=face, label=what, **look)
        green = FAMILY_INK["Pythia"].colour
        right.plot(part["S"], part["markov"], ":", color=green, label="chain of pairs", marker="s")
        expected = independent(part["p_1"], N)
        right.plot(part["S"], expected, "--", color="#D55E00", marker="^", label="Eq. 7")
        right.set_ylim(expected.min() / 1e3, 10)
        right.set_ylabel(f"$p_{{{N},{k}}}$")
        right.set_title(f"$N = {N}$, $k = {k}$, published ({part['corpus'].iloc[0]})")
        right.legend(loc="lower right")
        figure.tight_layout()
    return figure


def _gumbel(axes: Axes, c: float, alpha: float, S_min: float, S_max: float) -> None:
    Ns = (1, 10, 100, 1000)
    decades = np.log(10)
    first, last = knee(Ns[0], c, alpha, 0.02) / decades, knee(Ns[-1], c, alpha, 0.98) / decades
    x = np.linspace(first, last, 400)
    for N, (colour, _), dash in zip(Ns, _inks(len(Ns)), ("-", "--", "-.", ":"), strict=True):
        p = success_at(10.0**x, N, c, alpha)
        axes.plot(x, p, dash, color=colour, linewidth=1.8, label=f"$N = {N}$")
    axes.axvspan(np.log10(S_min), np.log10(S_max), color="0.75", alpha=0.6, label="published $S$")
    low, high = (knee(100, c, alpha, p) / decades for p in (0.1, 0.9))
    arrow = {"arrowstyle": "<->", "color": "black", "linewidth": 1.0}
    axes.annotate("", (low, -0.09), (high, -0.09), arrowprops=arrow)
    note = f"10 to 90% at $N = 100$: {width(alpha) / decades:.1f} decades"
    axes.text((low + high) / 2, -0.12, note, ha="center", va="top", fontsize=8)
    axes.set_ylim(-0.24, 1.05)
    axes.set_yticks(np.arange(0, 1.01, 0.2))
    axes.set_xlabel("$\\log_{10} S$ ($S$: non-embedding parameters)")
    axes.set_ylabel("$p_{N,k}$")
    axes.legend(loc="lower right")


def window_points(published: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """The points of these figures, both sources: a `source` column, then `Windows.table`'s."""
    tables = [published.assign(source="published")]
    if len(measured):
        tables.append(measured.assign(source="measured"))
    joined = pd.concat(tables, ignore_index=True)
    return joined[["source", *published.columns]]


def _inks(count: int) -> list[tuple]:
    """A colour and a marker for each step of a scale; dark to light, none too light to see."""
    colours = sns.color_palette("viridis", count + 1)[:count]
    return [(colour, MARKERS[i % len(MARKERS)]) for i, colour in enumerate(colours)]


def _plain(corpus: str) -> str:
    return corpus.removeprefix("pocket:")


def _thousands(k: int) -> str:
    return f"{k:,}".replace(",", "{,}")
