"""What notebook 05 (Section 4.3) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from rbpkit import paper, plots
from rbpkit.fit import Array
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.stats.curves import models_of
from rbpkit_notebooks.choices import Study
from rbpkit_notebooks.choices import read_study as read_study
from rbpkit_notebooks.exercises import check_of

check = check_of("05")

KINDS = ("chance is enough", "scatter beyond chance", "misses rise with size")
ABOUT = ["corpus", "family", "model", "k", "S", "tokens"]


def queue(figures_dir: str) -> None:
    """The idea: a token is missed if its rank is above k."""
    vocabulary, k, rank = 50_257, 20_000, 33_000
    line = "all tokens that GPT-2 knows, the most probable first"
    with plots.panel("A token is missed if its rank is above $k$", line, 2.1) as axes:
        axes.axvspan(0, k, 0.25, 0.5, color=OTHER)
        axes.axvspan(k, vocabulary, 0.25, 0.5, color=CONTEXT)
        axes.text(k / 2, 0.62, "found", ha="center")
        axes.text((k + vocabulary) / 2, 0.62, "missed", ha="center")
        axes.vlines(k, 0.2, 0.85, color=INK)
        axes.text(k, 0.9, f"$k$ = {k:,}", ha="center", va="bottom")
        axes.plot(rank, 0.41, "o", color=INK, markersize=9)
        axes.text(rank, 0.1, "the token that comes next", ha="center", va="center")
        axes.text(0, 0.9, "rank 1", va="bottom")
        axes.text(vocabulary, 0.9, f"rank {vocabulary:,}", ha="right", va="bottom")
        axes.set(xlim=(0, vocabulary), ylim=(0, 1.1))
        axes.set_axis_off()
    points = pd.DataFrame({"rank": [1, k, rank, vocabulary]})
    plots.save(axes, points, figures_dir, "figure_5_queue")


def figure_5(wiki: pd.DataFrame, figures_dir: str) -> None:
    """The loss of each model on Wikipedia at one k, with its interval."""
    k = wiki["k"].iloc[0]
    below = rf"Wikipedia, $k$ = {k:,}; loss, $-\log\,\mathrm{{RBP}}_k$, with 95% intervals"
    with plots.panel("Larger GPT-2 models miss more", below, 4.0) as axes:
        ends = []
        for family, line in wiki.groupby("family", sort=False):
            ink, name = plots.ink_of(family), plots.name_of(family)
            width = 2.2 if family == "GPT2" else 1
            bars = [line["loss"] - line["low"], line["high"] - line["loss"]]
            look: dict[str, Any] = {"marker": ink.marker, "color": ink.colour, "capsize": 2}
            axes.errorbar(line["S"], line["loss"], bars, linewidth=width, elinewidth=1, **look)
            ends.append((line["S"].iloc[-1], line["loss"].iloc[-1], name, ink.colour))
            if family == "GPT2":
                for row in line.itertuples():
                    words = f"{row.missed} missed" if row.Index == line.index[0] else row.missed
                    look = {"textcoords": "offset points", "color": ink.colour, "ha": "right"}
                    axes.annotate(str(words), (row.S, row.high), (-6, 2), **look)
        axes.set(xscale="log", yscale="log", xlabel=plots.SIZE)
        plots.log_ticks(axes)
        plots.label_ends(axes, ends)
    plots.save(axes, wiki, figures_dir, "figure_5")


def chance(lines: pd.DataFrame, figures_dir: str, name: str) -> None:
    """R2 of each line, and what chance leaves of it; a block for each verdict."""
    if lines.empty:
        print("No family was measured at three sizes that miss a token: there is no line to draw.")
        return
    groups = [(kind, lines[lines["kind"] == kind]) for kind in KINDS]
    # Short lines: what is wider than the panel would make the panel narrower.
    title = f"Chance is enough\nfor {len(groups[0][1])} of {len(lines)} lines"
    below = "text and $k$; grey: 95% of draws\nby chance alone"
    with plots.panel(title, below, 1.6 + 0.25 * len(lines)) as axes:
        height, labels = 0.0, {}
        for kind, part in groups:
            if part.empty:
                continue
            axes.text(0, height, f"{kind}: {len(part)}", fontweight="bold", va="center")
            for line in part.sort_values("R2", ascending=False).itertuples():
                height += 1
                ink = plots.ink_of(line.family)
                axes.hlines(height, line.low, line.high, color=CONTEXT, linewidth=8)
                axes.plot(line.R2, height, ink.marker, color=ink.colour)
                corpus = plots.short(line.corpus)
                labels[height] = f"{plots.name_of(line.family)}, {corpus}, {line.k:,}"
            height += 1.3
        axes.set_yticks(list(labels), list(labels.values()))
        axes.set(ylim=(height, -0.8), xlim=(-0.03, 1.03), xlabel="$R^2$ of the line")
    saved = lines.rename(columns={"low": "chance low", "high": "chance high"})
    plots.save(axes, saved, figures_dir, name)


def line_up(
    pythia: pd.DataFrame, lawful: Array, gpt2: pd.DataFrame, flat: Array, figures_dir: str
) -> None:
    """Two real lines, each among four simulated ones.

    lawful, flat (4, models): the simulated misses of the models of pythia and of gpt2
    """
    saved = []
    with plots.panels(3.6, nrows=2, ncols=5, sharey="row", sharex=True) as (figure, panels):
        for row, line, drawn, place in ((0, pythia, lawful, 1), (1, gpt2, flat, 3)):
            family = line["family"].iloc[0]
            ink = plots.ink_of(family)
            panels[row, 0].set_ylabel(plots.name_of(family))
            all_five = np.insert(drawn, place, line["missed"], axis=0)
            for column, missed in enumerate(all_five):
                axes = panels[row, column]
                share = missed / line["tokens"]
                axes.plot(line["S"], share, ink.marker + "-", color=ink.colour, ms=4, lw=1)
                axes.set(xscale="log", yscale="log", title="ABCDEFGHIJ"[5 * row + column])
                axes.tick_params(which="both", labelbottom=False, labelleft=False, length=0)
                saved.append(line[ABOUT].assign(missed=missed, real=column == place))
        title = "In each row one line is real: which?"
        figure.suptitle(title, x=0.01, ha="left", fontsize=13, weight="bold")
        figure.supylabel("share missed", fontsize=10)
        figure.supxlabel(plots.SIZE, fontsize=10)
    plots.save(figure, pd.concat(saved), figures_dir, "figure_5_line_up")


def missed(study: Study) -> pd.DataFrame:
    """What the study's models miss, at the shares of their vocabulary that k has of the paper's.

    Says which families have no line, which takes three sizes and different counts.
    """
    columns = ["k", "corpus", "family", "S", "tokens", "missed", "loss"]
    lines = []
    for k, corpus, family in product((20_000, 30_000), study.corpora, study.families):
        models = models_of(study.summaries, corpus, family)
        V = min((one.manifest.V for one in models), default=0)
        k_prime = max(1, int(k * V / paper.PAPER_V + 1 / 2))
        rows = []
        for one in models:
            M = one.tokens - int(one.ranks.at_most(k_prime))
            if 0 < M < one.tokens:
                loss = -np.log(1 - M / one.tokens)
                rows.append((k_prime, corpus, family, one.manifest.S, one.tokens, M, loss))
        line = pd.DataFrame(rows, columns=columns)
        if line["S"].nunique() > 2 and line["missed"].nunique() > 1:
            lines.append(line)
        elif models:
            print(f"No line for {family} on {corpus} at k = {k_prime:,}: it takes three sizes.")
    return pd.concat(lines) if lines else pd.DataFrame(columns=columns)
