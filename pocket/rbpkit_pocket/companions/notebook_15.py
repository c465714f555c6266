"""What notebook 15 (size and tokens) draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rbpkit import plots
from rbpkit.fit import PowerLawFit
from rbpkit.palette import CONTEXT, INK, OTHER, ordered_greys
from rbpkit.plots import NARROW, SIZE, headed, headed_row
from rbpkit_pocket.companions.exercises import checker, sealed

check = checker(
    {1: sealed("0602d7c8", digits=2, within=0), 2: sealed("9e6dccf2", digits=1)},
    {
        1: (
            (
                lambda answer: answer / 2,
                "Nearly: this uses the share of the other block, the one that does not shrink.",
            ),
        ),
    },
)

QUANTITIES = ("CE", "RBP_1", "RBP_10", "RBP_100")


def fan(
    on_prose: pd.DataFrame,
    line_of: Mapping[float, PowerLawFit],
    amounts: Sequence[float],
    figures_dir: str = "",
) -> None:
    """Loss against size, with a line for each of `amounts`, the numbers of training tokens.

    All four are the answer, and saved; fewer are the question.
    """
    is_answer = len(amounts) == len(line_of)
    title = "Draw the line of 12 million tokens"
    if is_answer:
        title = "The last doubling tilts the line most"
    greys = dict(zip(line_of, ordered_greys(len(line_of)), strict=True))
    sizes = np.geomspace(on_prose.S.min(), on_prose.S.max(), 2)
    with plots.style():
        figure, axes = plt.subplots(figsize=(NARROW, 4.0), layout="constrained")
        axes.set(xscale="log", yscale="log", xlim=(2e4, 1.4e6), ylim=(0.86, 1.85))
        axes.set(xlabel=SIZE, ylabel=r"$-\log\,\mathrm{RBP}_1$ on prose")
        axes.set_yticks([1, 1.2, 1.4, 1.6, 1.8], ["1", "1.2", "1.4", "1.6", "1.8"])
        axes.yaxis.minorticks_off()
        ends = []
        for tokens in amounts:
            six = on_prose[on_prose["T"] == tokens]
            on_line = np.asarray(line_of[tokens].predict(sizes).loss)
            axes.plot(sizes, on_line, color=greys[tokens], lw=1.5)
            axes.plot(six.S, six.loss, "^", color=greys[tokens], ms=6)
            ends.append((sizes[-1], on_line[-1], f"{tokens / 1e6:g} million", greys[tokens]))
        headed(axes, title, "six Pythias on each line, loss in nats; labels: training tokens")
        plots.label_ends(axes, ends)
    if not is_answer:
        plots.show(figure)
        return
    points = on_prose[["quantity", "S", "T", "loss"]].rename(columns={"T": "tokens"})
    plots.save(figure, points, figures_dir, "15_lines")


def idea() -> None:
    """A loss of two blocks, with invented numbers."""
    too_small = {"small": 0.6, "large": 0.3}
    too_little = {"little text": 1.5, "much text": 0.3}
    with plots.style():
        figure, axes = plt.subplots(figsize=(NARROW, 3.4), layout="constrained")
        for group, (text, of_tokens) in enumerate(too_little.items()):
            for place, (size, of_size) in enumerate(too_small.items()):
                x = 2.6 * group + place
                axes.bar(x, of_size, 0.8, color=INK)
                axes.bar(x, of_tokens, 0.8, bottom=of_size, color=CONTEXT)
                axes.text(x, -0.08, size, ha="center", va="top")
            axes.text(2.6 * group + 0.5, -0.36, text, ha="center", va="top", color=OTHER)
            ratio = (0.3 + of_tokens) / (0.6 + of_tokens)
            label = f"large : small\n= {ratio:.0%}"
            axes.text(2.6 * group + 0.5, 0.75 + of_tokens, label, ha="center")
        axes.text(4.1, 0.15, "too small", va="center")
        axes.text(4.1, 0.45, "read too little", va="center", color=OTHER)
        axes.set(xlim=(-0.6, 5.6), ylim=(-0.6, 2.9))
        axes.axis("off")
        title = "After little text, the pale block\nhides the dark one"
        headed(axes, title, "a sketch: the height is the loss, the numbers are invented")
    plots.show(figure)


def forecasts(judged: pd.DataFrame, figures_dir: str) -> None:
    """The median and the worst error of each of the predictions."""
    top = len(judged) - 1
    with plots.style():
        figure, axes = plt.subplots(figsize=(NARROW, 3.2), layout="constrained")
        for height, row in enumerate(judged[::-1].to_dict("records")):
            axes.plot([row["median"], row["max"]], [height, height], color=OTHER, lw=1.5)
            axes.plot(row["max"], height, "|", color=OTHER, ms=11, mew=1.5)
            axes.plot(row["median"], height, "o", color=INK, ms=8)
        first = judged.iloc[0]
        axes.text(first["median"], top + 0.25, "median", ha="center", va="bottom")
        axes.text(first["max"], top + 0.25, "worst", ha="center", va="bottom", color=OTHER)
        for end, words in ((5, "good:\nmedian"), (10, "good:\nworst")):
            axes.axvline(end, color=OTHER, lw=1, ls=":")
            axes.text(end - 0.15, -1.1, words, color=OTHER, ha="right", va="bottom")
        axes.set_yticks(range(top + 1), judged.index[::-1])
        axes.set(xlim=(0, 15), ylim=(-1.2, top + 0.8), xlabel="error (% of the loss)")
        title = "No law is clearly better\nthan \u201cno change\u201d"
        headed(axes, title, "20 cases: five texts, CE and three k")
    points = judged.reset_index().rename(columns={"too high, of 40": "too_high"})
    plots.save(figure, points, figures_dir, "15_forecasts")


def larger(by_line: pd.DataFrame, figures_dir: str) -> None:
    """What the line predicts for the two larger models, over what was measured, less 1."""
    with plots.style():
        figure, panels = plt.subplots(
            1, 2, figsize=(NARROW + 0.4, 3.6), sharey=True, layout="constrained"
        )
        for axes, (S, part) in zip(panels, by_line.groupby("S"), strict=True):
            axes.axhline(0, color=INK, lw=1)
            for x, quantity in enumerate(QUANTITIES):
                cells = part[part.quantity == quantity]
                places = x + np.linspace(-0.24, 0.24, len(cells))
                low, high = 100 * (cells.low / cells.loss - 1), 100 * (cells.high / cells.loss - 1)
                axes.vlines(places, low, high, color=CONTEXT, lw=3)
                axes.plot(places, 100 * cells.error, ".", color=OTHER, ms=5)
                axes.plot(x, 100 * cells.error.median(), "o", color=INK, ms=7)
            axes.set_xticks(range(4), ["CE", "$k$ = 1", "10", "100"])
            axes.set_title(f"$S$ = {S / 1e6:.1f} million", fontsize=11)
        panels[0].set_ylabel("predicted / measured, less 1 (%)")
        title = "The line is too low for both larger models"
        headed_row(figure, title, "a dot is a text, the large one the median; pale: 95% intervals")
    source = "S = " + (by_line.S / 1e6).map("{:.1f}".format) + " million"
    points = by_line.assign(source=source).rename(columns={"loss": "measured"})
    points = points.sort_values("S", kind="stable")
    names = "source corpus quantity S predicted low high measured family error".split()
    plots.save(figure, points[names], figures_dir, "15_larger")


def exponents(alphas: pd.DataFrame, lines: pd.DataFrame, figures_dir: str) -> None:
    """The exponents by training tokens: those on prose, and pale those on other texts."""
    looks = dict(zip(QUANTITIES, [INK, *ordered_greys(3)], strict=True))
    with plots.style():
        figure, axes = plt.subplots(figsize=(NARROW, 4.0), layout="constrained")
        ends = []
        for _, row in alphas.drop("prose", level="corpus").iterrows():
            axes.plot(row.index / 1e6, row, color=CONTEXT, lw=1, zorder=0)
        for quantity, colour in looks.items():
            row = alphas.loc[(quantity, "prose")]
            dash = "--" if quantity == "CE" else "-"
            axes.plot(row.index / 1e6, row, dash, marker="^", color=colour)
            ends.append((12, row[12e6], quantity.replace("RBP_", "k = "), colour))
        axes.set(xscale="log", xlabel="training tokens, millions", ylabel=r"exponent $\alpha$")
        axes.set_xticks([1.5, 3, 6, 12], ["1.5", "3", "6", "12"])
        axes.xaxis.minorticks_off()
        headed(axes, "Every exponent grows with the tokens", "Pythia on prose; pale: other texts")
        plots.label_ends(axes, ends)
    plots.save(figure, lines, figures_dir, "15_exponents")
