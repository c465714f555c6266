"""What notebook 15 (size and tokens) draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from rbpkit import plots
from rbpkit.fit import PowerLawFit
from rbpkit.palette import CONTEXT, INK, OTHER, ordered_greys
from rbpkit.plots import NARROW, SIZE
from rbpkit_notebooks.exercises import check_of

check = check_of("15")


def fan(
    on_prose: pd.DataFrame,
    line_of: Mapping[float, PowerLawFit],
    amounts: Sequence[float],
    figures_dir: str = "",
) -> None:
    """Loss against size, with a line for each of `amounts`, in millions of training tokens.

    All four are the answer, and saved; fewer are the question.
    """
    title = "The last doubling tilts the line most"
    if len(amounts) < len(line_of):
        title = "Draw the line of 12 million tokens"
    greys = dict(zip(line_of, ordered_greys(len(line_of)), strict=True))
    sizes = np.geomspace(on_prose.S.min(), on_prose.S.max(), 2)
    line = "six Pythias on each line, loss in nats; labels: training tokens"
    with plots.panel(title, line, 4.0) as axes:
        axes.set(xscale="log", yscale="log", xlim=(2e4, 1.4e6), ylim=(0.86, 1.85))
        axes.set(xlabel=SIZE, ylabel=r"$-\log\,\mathrm{RBP}_1$ on prose")
        plots.ticks(axes.yaxis, [1, 1.2, 1.4, 1.6, 1.8])
        ends = []
        for millions in amounts:
            six = on_prose[on_prose.millions == millions]
            on_line = np.asarray(line_of[millions].predict(sizes).loss)
            axes.plot(sizes, on_line, color=greys[millions], lw=1.5)
            axes.plot(six.S, six.loss, "^", color=greys[millions], ms=6)
            ends.append((sizes[-1], on_line[-1], f"{millions:g} million", greys[millions]))
        plots.label_ends(axes, ends)
    points = on_prose[["quantity", "S", "T", "loss"]].rename(columns={"T": "tokens"})
    plots.save(axes, points, figures_dir, "15_lines")


def idea() -> None:
    """A loss of two blocks, with invented numbers."""
    too_small = {"small": 0.6, "large": 0.3}
    too_little = {"little text": 1.5, "much text": 0.3}
    title = "After little text, the pale block\nhides the dark one"
    line = "a sketch: the height is the loss, the numbers are invented"
    with plots.panel(title, line, 3.4) as axes:
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
    plots.show(axes)


def tilt(alpha: pd.DataFrame, figures_dir: str) -> None:
    """The exponent against the training tokens, on all tokens and on each kind; means of texts.

    alpha: a row for each kind and text, a column for each number of tokens, in millions
    """
    mean = alpha.groupby("kind").mean()
    looks = {"pair": ("pair tokens", OTHER), "all": ("all tokens", INK), "other": ("other", OTHER)}
    title = "Pair tokens jump,\nthe others tilt steadily"
    with plots.panel(
        title, "exponent at k = 1: the mean of five texts, six Pythias each", 3.6
    ) as axes:
        axes.set(xscale="log", yscale="log", xlim=(1.3, 26), ylim=(0.02, 0.4))
        axes.set(xlabel="training tokens (millions)", ylabel=r"exponent $\alpha$")
        plots.ticks(axes.xaxis, alpha.columns)
        plots.ticks(axes.yaxis, [0.025, 0.05, 0.1, 0.2, 0.4])
        ends = []
        for kind, (name, colour) in looks.items():
            axes.plot(mean.columns, mean.loc[kind], "^-", color=colour, ms=6, lw=1.5)
            ends.append((12, mean.loc[kind, 12], name, colour))
        plots.label_ends(axes, ends)
    points = alpha.stack().rename("alpha").reset_index()
    plots.save(axes, points, figures_dir, "15_tilt")


def forecasts(judged: pd.DataFrame, figures_dir: str) -> None:
    """The median and the worst error of each of the predictions, on all and on other tokens."""
    headings = {"all": "all tokens", "other": "without pair tokens"}
    with plots.panels(3.2, NARROW + 0.6, ncols=2, sharex=True, sharey=True) as (figure, row):
        for axes, (kind, heading) in zip(row, headings.items(), strict=True):
            part = judged.loc[kind]
            axes.hlines(part.index, part["median"], part["max"], color=OTHER, lw=1.5)
            axes.plot(part["max"], part.index, "|", color=OTHER, ms=11, mew=1.5)
            axes.plot(part["median"], part.index, "o", color=INK, ms=8)
            for end in (5, 10):
                axes.axvline(end, color=OTHER, lw=1, ls=":")
            axes.set(xlim=(0, 15), ylim=(4.6, -0.6), title=heading)
        figure.supxlabel("error (% of the loss)", fontsize=11)
        line = "dot: median of 20 cases; bar: worst; dotted: 5 and 10%"
        plots.headed_row(figure, "Pair tokens are what no law predicts", line)
    plots.save(figure, judged.reset_index(), figures_dir, "15_forecasts")
