"""The pictures of notebook 16: losses that others published, against size and tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from rbpkit.fit import fit_power_law
from rbpkit.plots import plain_log_ticks, rows_of_panels, style, wrapped
from rbpkit.stats.joint_law import JointFit

MARKERS = "os^Dv<>PX*hd"
SIZE = "$S$ (non-embedding parameters)"


def _plain_ticks(axis: Axis, values: Sequence[float]) -> None:
    """Label a logarithmic axis at these values alone, with plain numbers."""
    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def token_ticks(axis: Axis, tokens: Iterable[float]) -> None:
    """Label a logarithmic axis at the numbers of tokens ("3M"), where they are five or fewer."""
    there = sorted(set(tokens))
    if len(there) <= 5:
        _plain_ticks(axis, there)
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1e6:g}M"))


def law_panels(panels: Mapping[str, pd.DataFrame], ylabel: str, columns: int = 3) -> Figure:
    """A panel a title: -log share of each series against S, the line through all but the largest.

    The line is dotted where it predicts the largest; the legend holds slope and R2 of all points.
    """
    with style():
        figure, grid = rows_of_panels(wrapped(len(panels), columns), (4.3, 4.0))
        for axes, (title, table) in zip(np.concatenate(grid), panels.items(), strict=True):
            _law_panel(axes, table)
            axes.set(title=title, xlabel=SIZE)
        for row in grid:
            row[0].set_ylabel(ylabel)
        figure.tight_layout()
    return figure


def _law_panel(axes: Axes, table: pd.DataFrame) -> None:
    axes.set(xscale="log", yscale="log")
    groups = list(table.groupby("series", sort=False))
    losses = []
    for colour, marker, (series, part) in zip(
        sns.color_palette("colorblind", len(groups)), MARKERS, groups, strict=False
    ):
        part = part.sort_values("S")
        S, loss = part["S"].to_numpy(float), -np.log(part["share"].to_numpy())
        fitted = fit_power_law(S, loss, labels=list(part["model"]))
        slope = f"{fitted.slope:.3f}".replace("-", "\N{MINUS SIGN}")
        axes.plot(
            S, loss, marker, color=colour, markersize=5, label=f"{series}: {slope}, {fitted.r2:.3f}"
        )
        held = fit_power_law(S[:-1], loss[:-1]) if len(S) > 3 else fitted
        for span, dash in ((S[:-1] if len(S) > 3 else S, "-"), (S[-2:], ":")):
            axes.plot(span, held.predict(span).loss, dash, color=colour, linewidth=1.2)
        losses.append(loss)
    every = np.concatenate(losses)
    height = max(np.log(every.max() / every.min()), 0.05)
    room = 0.25 + 0.1 * len(groups)  # for the legend: the lines fall to the right
    axes.set_ylim(every.min() * np.exp(-room * height), every.max() * np.exp(0.1 * height))
    plain_log_ticks(axes, *axes.get_ylim())
    axes.legend(title="slope, $R^2$", title_fontsize=8, loc="lower left", fontsize=7.5)


def token_panels(panels: Mapping[str, tuple[pd.DataFrame, JointFit, float]], ylabel: str) -> Figure:
    """A panel a title: loss against training tokens by size, and the curves of a joint law.

    panels: title -> (rows with S, tokens, loss; the law; from which size on S was held out of it).
    Sizes that were held out are hollow, and their curves dotted.
    """
    with style():
        figure, grid = plt.subplots(1, len(panels), figsize=(4.6 * len(panels), 4.3), squeeze=False)
        for axes, (title, (rows, law, held)) in zip(grid.flat, panels.items(), strict=True):
            sizes = sorted(rows["S"].unique())
            for colour, S in zip(sns.color_palette("viridis", len(sizes)), sizes, strict=True):
                part = rows[rows["S"] == S].sort_values("tokens")
                face = "white" if held <= S else colour
                axes.plot(
                    part["tokens"], part["loss"], "o", color=colour, markersize=4.5,
                    markerfacecolor=face, label=_short(S),
                )  # fmt: skip
                span = np.geomspace(part["tokens"].min(), part["tokens"].max(), 60)
                dash = ":" if held <= S else "-"
                dash = "x" if span[0] == span[-1] else dash  # one model: no curve to draw
                axes.plot(span, law.predict(S, span), dash, color=colour, linewidth=1.1)
            axes.set(xscale="log", yscale="log")
            plain_log_ticks(axes, rows["loss"].min() / 1.05, rows["loss"].max() * 1.05)
            token_ticks(axes.xaxis, rows["tokens"])
            axes.set(title=title, xlabel="training tokens")
            axes.legend(title="$S$", title_fontsize=8, fontsize=7, loc="lower left", ncols=2)
        grid[0, 0].set_ylabel(ylabel)
        figure.tight_layout()
    return figure


def _short(S: float) -> str:
    if S < 1e6:
        return f"{S / 1e3:.0f}k"
    return f"{S / 1e9:.1f}B" if S >= 1e9 else f"{S / 1e6:.0f}M" if S >= 1e7 else f"{S / 1e6:.1f}M"


def beside_ce(table: pd.DataFrame) -> Figure:
    """-log of LAMBADA's accuracy against the cross-entropy of the same words, a series a colour.

    A slope of 1 (dashed) would give both the same exponent in S.
    """
    with style():
        figure, axes = plt.subplots(figsize=(6.4, 4.6))
        groups = list(table.dropna(subset="ce_word").groupby("series", sort=False))
        for colour, marker, (series, part) in zip(
            sns.color_palette("colorblind", len(groups)), MARKERS, groups, strict=False
        ):
            part = part.sort_values("ce_word")
            axes.plot(
                part["ce_word"], -np.log(part["share"]), marker + "-",
                color=colour, markersize=4.5, linewidth=0.9, label=series,
            )  # fmt: skip
        ce = np.array([table["ce_word"].min(), table["ce_word"].max()])
        axes.plot(ce, 0.25 * ce / ce[0], "--", color="grey", linewidth=1, label="slope 1")
        axes.set(xscale="log", yscale="log")
        _plain_ticks(axes.xaxis, (1, 1.5, 2, 3, 4, 5))
        _plain_ticks(axes.yaxis, (0.25, 0.3, 0.4, 0.5, 0.7, 1, 1.5))
        axes.set(xlabel="cross-entropy, nats a word of LAMBADA", ylabel=r"$-\log$ accuracy")
        axes.legend(fontsize=7.5)
        figure.tight_layout()
    return figure


def window_panels(table: pd.DataFrame, bands: pd.DataFrame) -> Figure:
    """Memorised windows: -log p_{32,1} beside Eq. 8 against S, and the effective tokens.

    table: series, S, share, eq8 (-log p by Eq. 8), effective. bands: S, low, high: the effective
    tokens of the paper's windows of 20 and of 50.
    """
    with style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.1))
        for colour, marker, (series, part) in zip(
            sns.color_palette("colorblind"), MARKERS, table.groupby("series", sort=False),
            strict=False,
        ):  # fmt: skip
            left.plot(part["S"], -np.log(part["share"]), marker + "-", color=colour, label=series)
            right.plot(part["S"], part["effective"], marker + "-", color=colour, label=series)
        once = table.drop_duplicates("S").sort_values("S")
        left.plot(once["S"], once["eq8"], "--", color="grey", label="Eq. 8, $N = 32$")
        left.set_yscale("log")
        _plain_ticks(left.yaxis, (4, 5, 6, 8, 10, 15, 20, 30))
        left.set_ylabel(r"$-\log p_{32,1}$")
        right.fill_between(
            bands["S"], bands["low"], bands["high"], color="grey", alpha=0.25, linewidth=0,
            label="the paper's windows, $N$ = 20 to 50",
        )  # fmt: skip
        right.axhline(32, color="grey", linestyle="--", linewidth=1, label="32 independent tokens")
        right.set(ylim=(0, 34), ylabel="effective tokens of a window of 32")
        for axes in (left, right):
            axes.set(xscale="log", xlabel=SIZE)
            axes.legend(fontsize=7.5, loc="center right")
        figure.tight_layout()
    return figure


def blind_panels(tried: pd.DataFrame, predictions: pd.DataFrame) -> Figure:
    """Left: accuracies predicted with their size left out against the published; right: the blind.

    tried: suite, shots, share, predicted of one method. predictions: S, predicted, low, high.
    """
    with style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.3))
        suites = tried.groupby(["suite", "shots"], sort=False)
        for colour, marker, ((suite, shots), part) in zip(
            sns.color_palette("colorblind", suites.ngroups), MARKERS, suites, strict=False
        ):
            label = f"{suite}, {'five' if shots else 'zero'}-shot"
            left.plot(part["share"], part["predicted"], marker, color=colour, label=label)
        ends = [0.05, 0.75]
        left.plot(ends, ends, "--", color="grey", linewidth=1)
        left.set(xlabel="published accuracy", ylabel="predicted without that size")
        left.legend(fontsize=7.5)
        off = [predictions["predicted"] - predictions["low"]]
        off += [predictions["high"] - predictions["predicted"]]
        right.errorbar(
            predictions["S"], predictions["predicted"], yerr=off, fmt="s", color="#D55E00",
            markersize=4.5, capsize=3, label="v1, standard Pile, zero-shot: 95% interval",
        )  # fmt: skip
        right.set(xscale="log", xlabel=SIZE, ylabel="LAMBADA accuracy")
        right.legend(fontsize=7.5)
        figure.tight_layout()
    return figure


def all_series(table: pd.DataFrame) -> Figure:
    """All series in one picture: -log share against S, a colour for what the share is of."""
    with style():
        figure, axes = plt.subplots(figsize=(9.2, 5.6))
        groups = list(dict.fromkeys(table["group"]))
        inks = dict(zip(groups, sns.color_palette("colorblind", len(groups)), strict=True))
        shown = set()
        for (group, _), part in table.groupby(["group", "series"], sort=False):
            part = part.sort_values("S")
            label = None if group in shown else group
            shown.add(group)
            axes.plot(
                part["S"], -np.log(part["share"]), MARKERS[groups.index(group)] + "-",
                color=inks[group], markersize=4, linewidth=0.9, alpha=0.8, label=label,
            )  # fmt: skip
        axes.set(xscale="log", yscale="log")
        _plain_ticks(axes.yaxis, (0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5))
        axes.set(xlabel=SIZE, ylabel=r"$-\log$ of the share")
        axes.legend(title="the share is of", title_fontsize=8)
        figure.tight_layout()
    return figure
