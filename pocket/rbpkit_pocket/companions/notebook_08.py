"""What notebook 08 (Section 5.2, two laws) draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Iterable

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import norm

from rbpkit import paper, plots
from rbpkit.fit import Array, fit_power_law
from rbpkit.palette import CONTEXT, GREYS, INK, OTHER
from rbpkit.summary import Summary
from rbpkit_pocket.companions.choices import read_study as read_study
from rbpkit_pocket.companions.claims_08 import claims as claims
from rbpkit_pocket.companions.exercises import checker, sealed

check = checker({1: sealed("74fd51f1", digits=2), 2: sealed("22fa3ce4", digits=2)})

LABELS = {"CE": "CE", "neg_log_rbp1": r"$-\log\,\mathrm{RBP}_1$"}
DASHES = {"CE": "--", "neg_log_rbp1": "-"}
PYTHIA = plots.ink_of("Pythia")


def bell(mu: float, sigma: float, shares: Iterable[float], figures_dir: str) -> None:
    """The curve over ln rank, and its part at the ranks that exist.

    shares: of the curve below every rank, at rank 1, and at ranks of 2 and more.
    """
    below, at_1, fitted = shares
    x = np.linspace(np.log(1e-13), np.log(1e5), 2000)
    height = norm.pdf(x, mu, sigma)
    real = x > np.log(1.5)
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.4), layout="constrained")
        axes.fill_between(np.exp(x), height, color=CONTEXT, linewidth=0)
        axes.fill_between(np.exp(x[real]), height[real], color=INK, linewidth=0)
        axes.plot(np.exp(x), height, color=INK, linewidth=1.2)
        axes.axvspan(1e-13, 0.5, facecolor="none", edgecolor=CONTEXT, hatch="//", zorder=0)
        axes.text(2e-13, height.max() * 0.93, "hatched: no such rank", fontsize=10)
        axes.vlines(np.exp(mu), 0, height.max(), color=OTHER, linewidth=1)
        axes.text(4e-7, 0.02, "half of\nthe curve", ha="right")
        words = f"ranks 2, 3, 4, …:\n{fitted:.1%} of the curve"
        line = {"arrowstyle": "-", "color": INK}
        axes.annotate(words, (4, 0.0015), (3, 0.032), arrowprops=line)
        axes.set(xscale="log", xlabel="rank", ylim=(0, None), xlim=(1e-13, 1e5))
        axes.set_title("Only a sliver of the curve lies at ranks of 2 and more")
        axes.set_xticks([1e-12, 1e-9, 1e-6, 1e-3, 1, 1e3])
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    parts = pd.DataFrame({"part": ["below every rank", "rank 1", "ranks of 2 and more"]})
    parts["share"] = [below, at_1, fitted]
    plots.save(figure, parts, figures_dir, "figure_8_sliver")


def _law(axes: Axes, laws: pd.DataFrame, name: str, dashes: str, colour: str, mark: str) -> str:
    """Draw one loss against S with its line; return the exponent as text."""
    law = fit_power_law(laws["S"], laws[name])
    axes.plot(laws["S"], law.predict(laws["S"]).loss, dashes, color=colour, linewidth=1.4)
    axes.plot(laws["S"], laws[name], mark, color=colour, markersize=5)
    return rf"$\alpha$ = {law.alpha:.3f}"


def laws(table: pd.DataFrame, saved: pd.DataFrame, figures_dir: str, simulated: bool) -> None:
    """Figure 8a, the two measured laws; with the simulated ones, Figure 8b.

    table: the points, as `published_laws` gives them; saved: the points to write.
    """
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.5), layout="constrained")
        ends = []
        for name, label in LABELS.items():
            colour = PYTHIA.colour
            alpha = _law(axes, table, name, DASHES[name], colour, PYTHIA.marker)
            ends.append((*_end(table, name), f"{label}: {alpha}", colour))
        for name, label in (("CE", "CE"), ("neg_log_rbp1", r"$-\log\,p_1$")) if simulated else ():
            alpha = _law(axes, table, f"simulated_{name}", DASHES[name], INK, ".")
            end = _end(table, f"simulated_{name}")
            ends.append((*end, f"{label}, simulated: {alpha}", INK))
        axes.set(xscale="log", yscale="log", ylim=(0.45, 6.5), ylabel="nats")
        axes.set(xlabel="$S$ (non-embedding parameters)")
        plots.log_ticks(axes)
        titles = ("Two laws, nearly parallel", "By the curve both losses are too high")
        axes.set_title(titles[simulated])
        plots.label_ends(axes, ends)
    plots.save(figure, saved, figures_dir, "figure_8b" if simulated else "figure_8a")


def _end(table: pd.DataFrame, name: str) -> tuple[float, float]:
    law = fit_power_law(table["S"], table[name])
    largest = table["S"].iloc[-1]
    return largest, float(law.predict(largest).loss)


def with_rank_1(model: str, RBP_1: float) -> pd.DataFrame:
    """Figure 8c's bins and shares with rank 1 in front, as shares of all tokens."""
    bins = paper.rank_density().query("model == @model")[["bin_lo", "bin_hi", "mass"]]
    first = pd.DataFrame({"bin_lo": [1], "bin_hi": [2], "share": [RBP_1]})
    return pd.concat([first, bins.assign(share=bins.pop("mass") * (1 - RBP_1))], ignore_index=True)


def _log_width(bins: pd.DataFrame) -> Array:
    """How wide each bar is on the logarithmic axis of ranks."""
    return np.log((bins["bin_hi"] - 0.5) / (bins["bin_lo"] - 0.5))


def _bars(axes: Axes, bins: pd.DataFrame) -> None:
    """Bars whose area is a share of all tokens; rank k is drawn from k - 1/2 to k + 1/2."""
    axes.bar(
        bins["bin_lo"] - 0.5,
        bins["share"] / _log_width(bins),
        bins["bin_hi"] - bins["bin_lo"],
        align="edge",
        color=[GREYS[0] if first == 1 else CONTEXT for first in bins["bin_lo"]],
        edgecolor="white",
        linewidth=0.4,
    )
    axes.set(xscale="log", xlim=(0.45, 6e4))
    axes.set_xticks([1, 10, 100, 1000, 10000], ["1", "10", "100", "1,000", "10,000"])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.text(5e4, 0.02, "area = share", ha="right", fontsize=10, color=OTHER)


def idea(bins: pd.DataFrame, RBP: pd.Series, figures_dir: str) -> None:
    """A histogram of ranks, and its running sum; RBP: some RBP_k by k."""
    with plots.style():
        figure, (top, bottom) = plt.subplots(
            2, 1, figsize=(plots.WIDTH, 4.6), sharex=True, layout="constrained"
        )
        _bars(top, bins)
        top.set_title("How often each rank occurs (Pythia-12B on Wiki)")
        top.text(1.65, 0.45, f"rank 1: {bins['share'].iloc[0]:.0%} of the tokens")
        top.text(5, 0.13, "ranks 2, 3, 4, …")
        summed = bins["share"].cumsum()
        bottom.step(bins["bin_hi"] - 1, summed, where="post", color=INK)
        for k, share in RBP.items():
            bottom.plot(k, share, "o", color=INK)
            words = rf"$\mathrm{{RBP}}_{{{k}}}$ = {share:.2f}"
            bottom.annotate(words, (k, share), (8, -16), textcoords="offset points")
        bottom.set(ylim=(0, 1.05), xlabel="rank", yticks=[0, 0.5, 1])
        bottom.set_title("Add up from the left: the share of rank $k$ or less")
        bottom.spines["left"].set_visible(True)
    plots.save(figure, bins.assign(summed=summed), figures_dir, "figure_8_idea")


def curve_and_bars(published: dict[str, pd.DataFrame], figures_dir: str) -> None:
    """Figure 8c with rank 1, of the smallest and the largest model; bins with `fitted`."""
    with plots.style():
        figure, panels = plt.subplots(
            2, 1, figsize=(plots.WIDTH, 4.8), sharex=True, sharey=True, layout="constrained"
        )
        for axes, name in zip(panels, ("14m", "12b"), strict=True):
            bins = published[f"pythia-{name}"]
            _bars(axes, bins)
            height = bins["fitted"] / _log_width(bins)
            middle = np.sqrt((bins["bin_lo"] - 0.5) * (bins["bin_hi"] - 0.5))
            axes.plot(middle[1:], height[1:], color=INK, linewidth=1.8)
            axes.hlines(height[:1], 0.5, 1.5, color=INK, linewidth=3)
            first = bins.iloc[0]
            has = f"Pythia-{name.upper()}: rank 1 has {first['share']:.0%} of the tokens"
            room = f"the curve leaves room for {first['fitted']:.0%} (thick line)"
            axes.text(1.65, 0.34, f"{has}\n{room}", linespacing=1.5)
        panels[0].set_title("The curve has too little room for rank 1")
        panels[1].set_xlabel("rank")
    drawn = pd.concat([bins.assign(panel=model) for model, bins in published.items()])
    columns = ["panel", "bin_lo", "bin_hi", "share", "fitted"]
    plots.save(figure, drawn[columns], figures_dir, "figure_8c")


def points(summaries: Iterable[Summary], laws: pd.DataFrame) -> pd.DataFrame:
    """CE and -log RBP_1 of the paper's Pythias on Wiki, and of each model that has both."""
    rows = []
    for one in summaries:
        about = one.manifest
        if 0 < one.rbp(1) < 1:
            both = (one.ce(), -np.log(one.rbp(1)))
            rows.append(("measured", about.corpus, about.family, about.model, about.S, *both))
    columns = ["source", "corpus", "family", "model", "S", "CE", "neg_log_rbp1"]
    of_paper = laws.assign(source="published", corpus="Wiki", family="Pythia")[columns]
    table = pd.concat([of_paper, pd.DataFrame(rows, columns=columns)])
    return table.astype({"S": int, "CE": float, "neg_log_rbp1": float})


def parameters(laws: pd.DataFrame, fits: pd.DataFrame) -> pd.DataFrame:
    """Figures 8a, 8b and 8d as a table: the paper's models and the measured ones."""
    table = laws.assign(source="published", corpus="Wiki", family="Pythia")
    if len(fits):
        table = pd.concat([table, fits.assign(source="measured")])
    columns = ["source", "corpus", "family", *laws.columns]
    return table[columns].astype({"S": "Int64"})


def exponents(
    table1: pd.DataFrame, pairs: pd.DataFrame, points: pd.DataFrame, ours: str, figures_dir: str
) -> None:
    """All pairs of exponents, those of Table 1 and the measured ones."""
    measured = pairs[pairs["source"] == "measured"]
    panels = {"paper: Table 1": table1, ours: measured}
    panels = {title: part for title, part in panels.items() if len(part)}
    with plots.style():
        size = (plots.WIDTH, 3.7)
        figure, row = plt.subplots(
            1, len(panels), figsize=size, sharey=True, squeeze=False, layout="constrained"
        )
        for axes, (title, part) in zip(row[0], panels.items(), strict=True):
            axes.axline((0.05, 0.05), slope=1, color=OTHER, linewidth=1.2)
            for family, pair in part.groupby("family", sort=False):
                ink = plots.ink_of(str(family))
                axes.plot(pair["alpha_CE"], pair["alpha_1"], ink.marker, color=ink.colour)
            axes.set(title=title, xlabel=r"$\alpha$ of CE", xlim=(0.02, 0.16), ylim=(0.02, 0.16))
            axes.set(aspect="equal", xticks=[0.05, 0.1, 0.15], yticks=[0.05, 0.1, 0.15])
        row[0, 0].set_ylabel(r"$\alpha$ of $-\log\,\mathrm{RBP}_1$")
        row[0, 0].text(0.128, 0.113, "equal", color=OTHER)
        marks = plots.family_marks(dict.fromkeys([*table1["family"], *measured["family"]]))
        figure.legend(handles=marks, loc="outside lower center", ncols=5)
    about = ["source", "corpus", "family"]
    long = points.rename(columns={"neg_log_rbp1": "RBP_1"})
    long = long.melt([*about, "model", "S"], ["CE", "RBP_1"], "quantity", "loss")
    long["value"] = np.where(long["quantity"] == "CE", long["loss"], np.exp(-long["loss"]))
    both = pd.concat([table1.assign(source="published"), measured])
    both = both.melt(about, ["alpha_CE", "alpha_1"], "quantity")
    saved = pd.concat([long, both]).astype({"S": "Int64"})
    plots.save(figure, saved, figures_dir, "figure_8a_all")
