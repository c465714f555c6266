"""What notebook 20 (beyond cross-entropy) reads and draws, and how its exercises are checked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from rbpkit import plots
from rbpkit.palette import CONTEXT, GREYS, INK, OTHER
from rbpkit.plots import NARROW, headed_row
from rbpkit.records import load_summaries
from rbpkit.summary import Summary
from rbpkit_notebooks.exercises import check_of
from rbpkit_pocket import contrasts, paths
from rbpkit_pocket.ablations import Totals, load_totals

check = check_of("20")

PARTNERS = contrasts.PAIRS
"""What a changed run of each contrast is compared with."""
KS = (1, 10, 100, 500, 1024)
NAME = re.compile(r"pythia-w(?P<width>\d+)-l(?P<layers>\d+)-(?P<change>[a-z]+)-seed(?P<seed>\d+)")


def read_runs() -> tuple[pd.DataFrame, pd.DataFrame]:
    """What was measured of the 25 pocket models, and of all runs of the contrasts.

    Columns: corpus, CE and loss_k; of runs also change, size (0 is the smallest; missing if a run
    is in no pair), width and seed, whatever seeds there are.
    """
    ordinary = _table(load_summaries(paths.SUMMARIES))
    runs = _table(load_totals(paths.CONTRASTS))
    parts = runs["model"].str.extract(NAME).astype({"width": int, "layers": int, "seed": int})
    runs = runs.join(parts)
    # A wide run has twice the width of the deep one that it is compared with
    width = runs["width"].where(runs["change"] != "wide", runs["width"] // 2)
    runs["size"] = width.map({32: 0, 48: 1, 64: 2})
    return ordinary, runs


def _table(measured: Iterable[Summary | Totals]) -> pd.DataFrame:
    rows = []
    for one in measured:
        row: dict[str, Any] = {"corpus": one.manifest.corpus, "model": one.manifest.model}
        row["CE"] = one.ce()
        for k in KS:
            row[f"loss_{k}"] = -np.log(one.rbp(k))
        rows.append(row)
    return pd.DataFrame(rows)


def partners_of(contrast: str, runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that a contrast is compared with at one CE, on one text.

    Wide ones get the smallest unchanged one, which has two layers, too.
    """
    is_partner = runs["change"] == PARTNERS[contrast]
    if contrast == "deep":
        is_partner |= (runs["change"] == "unchanged") & (runs["size"] == 0)
    return runs[is_partner]


def table(tests: pd.DataFrame) -> None:
    """Print mean and 95% interval, in percent: a row for each contrast, a column for each k."""
    words = [f"{t.mean:+.1f} [{t.low:.1f}, {t.high:.1f}]" for t in tests.itertuples()]
    wide = tests.assign(words=words).pivot(index="contrast", columns="k", values="words")
    print(wide.loc[tests["contrast"].unique()].to_string())


# --- figures ---------------------------------------------------------------------------------


def ruler(
    ordinary: pd.DataFrame, plain: pd.DataFrame, smoothed: pd.DataFrame, text: str, k: int
) -> None:
    """The line of the ordinary models on one text, and how far a smoothed run is from it."""
    models = ordinary[ordinary["corpus"] == text]
    loss = f"loss_{k}"
    log_line = np.polynomial.Polynomial.fit(np.log(models["CE"]), np.log(models[loss]), 1)
    title = "Smoothing moves a model sideways"
    with plots.panel(title, f"{plots.short(text)}, k = {k}; logarithmic axes", 4.2) as axes:
        axes.plot(models["CE"], models[loss], "o", color=OTHER, ms=5)
        one, other = plain.loc[text], smoothed.loc[text]
        reach = np.array([models["CE"].min(), 1.02 * other["CE"]])
        axes.plot(reach, np.exp(log_line(np.log(reach))), color=INK, lw=1.2)
        on_line = np.exp(log_line(np.log(other["CE"])))
        axes.vlines(other["CE"], other[loss], on_line, color=INK, lw=5, alpha=0.35)
        axes.plot(one["CE"], one[loss], "s", color=INK, ms=7)
        axes.plot(other["CE"], other[loss], "X", color=INK, ms=9)
        look: dict[str, Any] = {"textcoords": "offset points", "va": "center"}
        axes.annotate("plain", (one["CE"], one[loss]), (-10, 4), ha="right", **look)
        excess = f"{np.log(other[loss] / on_line):+.1%}".replace("-", "\u2212")
        words = f"smoothed,\nexcess {excess}"
        axes.annotate(words, (other["CE"], other[loss]), (4, -28), ha="center", **look)
        axes.set(xscale="log", yscale="log", xlabel="CE, nats a token")
        # Most models lie further down; so near the end the gap can be seen
        axes.set(xlim=(0.85 * one["CE"], 1.05 * other["CE"]))
        axes.set(ylim=(0.85 * one[loss], 1.06 * other[loss]))
        axes.set_ylabel(rf"$-\log\,\mathrm{{RBP}}_{{{k}}}$")
        plots.ticks(axes.xaxis, [4, 4.2, 4.4, 4.6, 4.8])
        plots.log_ticks(axes)
    plots.show(axes)


def intervals(tests: pd.DataFrame, figures_dir: str) -> None:
    """Mean and 95% interval of two tests, in percent, a panel for each contrast."""
    contrasts_shown = tests["contrast"].unique()
    looks = {"line": (-0.15, INK, "o"), "parabola": (0.15, OTHER, "s")}
    with plots.panels(3.4, NARROW + 0.4, ncols=len(contrasts_shown), sharey=True) as (figure, grid):
        for axes, contrast in zip(grid, contrasts_shown, strict=True):
            axes.axhspan(-1, 1, color=CONTEXT, zorder=0)
            for test, (shift, colour, mark) in looks.items():
                part = tests[(tests["test"] == test) & (tests["contrast"] == contrast)]
                half = part["high"] - part["mean"]
                places = np.arange(len(part)) + shift
                axes.errorbar(places, part["mean"], half, fmt=mark, color=colour, ms=5, lw=1.5)
            axes.set(xlim=(-0.5, len(part) - 0.5), xlabel="$k$", title=contrast)
            axes.set_xticks(range(len(part)), part["k"])
        grid[0].set_ylabel("beyond CE (%), up = worse")
        line = "95%, nine pairs; dots: line, squares: parabola; band: within 1%"
        headed_row(figure, "By a line, only dropout stays within 1%", line)
    plots.save(figure, tests, figures_dir, "20_new_seeds")


def by_size(changed: pd.DataFrame, figures_dir: str) -> None:
    """Distance at one CE of each size, a panel for each contrast; thin marks are single seeds."""
    of = ["contrast", "k", "width"]
    seeds = changed.groupby([*of, "seed"])["off"].mean().reset_index()
    shown = seeds["contrast"].unique()
    greys = dict(zip((1, 10, 100), GREYS[-3:], strict=True))
    with plots.panels(3.6, NARROW + 0.4, ncols=len(shown), sharey=True) as (figure, grid):
        for axes, contrast in zip(grid, shown, strict=True):
            axes.axhspan(-1, 1, color=CONTEXT, zorder=0)
            part = seeds[seeds["contrast"] == contrast]
            widths = sorted(part["width"].unique())
            for k, of_k in part.groupby("k"):
                colour = greys[int(k)]
                places = of_k["width"].map(widths.index)
                axes.plot(places, of_k["off"], "_", color=colour, ms=9)
                mean = of_k.groupby("width")["off"].mean()
                axes.plot(range(len(mean)), mean, "o-", color=colour, ms=4, lw=1.5)
                if contrast == shown[0]:
                    axes.text(
                        len(mean) - 0.65, mean.iloc[-1], f"k = {k}", va="center", color=colour
                    )
            axes.set(xlim=(-0.4, len(widths) - 0.3), xlabel="width", title=contrast)
            axes.set_xticks(range(len(widths)), widths)
        grid[0].set_ylabel("off the curve (%), up = worse")
        line = "distance from the partners' curve; dashes: single seeds; band: within 1%"
        title = "At one CE, depth and rate still act;\nfor tokens it depends on the partners"
        headed_row(figure, title, line)
    plots.save(figure, seeds, figures_dir, "20_same_CE")
