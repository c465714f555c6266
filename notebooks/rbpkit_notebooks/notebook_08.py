"""What notebook 08 (Section 5.2, two laws) draws, and how its exercises are checked."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rbpkit import paper, plots
from rbpkit.fit import Array, fit_power_law
from rbpkit.palette import CONTEXT, GREYS, INK
from rbpkit.plots import headed
from rbpkit_notebooks.choices import read_study as read_study
from rbpkit_notebooks.exercises import check_of

check = check_of("08")

PYTHIA = plots.ink_of("Pythia")
# A column of losses, its name in the figure, and its line
LOSSES = (
    ("CE", "CE", "--"),
    ("neg_log_rbp1", r"$-\log\,\mathrm{RBP}_1$", "-"),
    ("simulated_CE", "simulated CE", "--"),
    ("simulated_neg_log_rbp1", r"simulated $-\log\,p_1$", "-"),
)


def laws(table: pd.DataFrame, counted: pd.DataFrame, figures_dir: str) -> None:
    """Figure 8b: both losses against S with their lines, as measured and as simulated.

    table: the paper's models (`published_laws`); counted: the entropy of their ranks as counted.
    """
    line = r"ten Pythias on Wiki; numbers: $\alpha$; dotted: the ranks as counted"
    with plots.panel("Both entropies are CE plus a constant", line, 4.2) as axes:
        ends = []
        for column, name, dashes in LOSSES:
            is_simulated = column.startswith("simulated")
            colour, mark = (INK, ".") if is_simulated else (PYTHIA.colour, PYTHIA.marker)
            law = fit_power_law(table["S"], table[column])
            fitted = np.asarray(law.predict(table["S"]).loss)
            axes.plot(table["S"], fitted, dashes, color=colour, linewidth=1.4)
            axes.plot(table["S"], table[column], mark, color=colour, markersize=5)
            ends.append((table["S"].iloc[-1], fitted[-1], f"{name}: {law.alpha:.3f}", colour))
        law = fit_power_law(counted["S"], counted["entropy"])
        look = PYTHIA.marker + ":"
        axes.plot(counted["S"], counted["entropy"], look, color=PYTHIA.colour, markersize=5)
        last = counted.iloc[-1]
        name = f"entropy, counted: {law.alpha:.3f}"
        ends.append((last["S"], last["entropy"], name, PYTHIA.colour))
        axes.set(xscale="log", yscale="log", ylim=(0.45, 6.5), ylabel="nats")
        axes.set(xlabel=plots.SIZE)
        plots.log_ticks(axes)
        plots.label_ends(axes, ends)
    saved = table.merge(counted["entropy"], on="model", how="left")
    plots.save(axes, saved, figures_dir, "figure_8b")


def with_rank_1(model: str, RBP_1: float) -> pd.DataFrame:
    """Figure 8c's bins and shares with rank 1 in front, as shares of all tokens."""
    bins = paper.table("rank_density").query("model == @model")[["bin_lo", "bin_hi", "mass"]]
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


def curve_and_bars(published: dict[str, pd.DataFrame], figures_dir: str) -> None:
    """Figure 8c with rank 1, of the smallest and the largest model; bins with `fitted`."""
    with plots.panels(4.8, nrows=2, sharex=True, sharey=True) as (figure, panels):
        for axes, name in zip(panels, ("14m", "12b"), strict=True):
            bins = published[f"pythia-{name}"]
            _bars(axes, bins)
            height = bins["fitted"] / _log_width(bins)
            middle = np.sqrt((bins["bin_lo"] - 0.5) * (bins["bin_hi"] - 0.5))
            axes.plot(middle[1:], height[1:], color=INK, linewidth=1.8)
            axes.hlines(height[:1], 0.5, 1.5, color=INK, linewidth=3)
            first = bins.iloc[0]
            has = f"Pythia-{name.upper()}: rank 1 has {first['share']:.0%} of the tokens"
            room = f"the curve, scaled to the others: {first['fitted']:.0%} (thick line)"
            axes.text(1.65, 0.34, f"{has}\n{room}", linespacing=1.5)
        line = "the area is the share of tokens; curve: the paper's lognormal"
        headed(panels[0], "The curve has too few tokens of rank 1", line)
        panels[1].set_xlabel("rank")
    drawn = pd.concat([bins.assign(panel=model) for model, bins in published.items()])
    columns = ["panel", "bin_lo", "bin_hi", "share", "fitted"]
    plots.save(figure, drawn[columns], figures_dir, "figure_8c")
