"""What notebook 05 (Section 4.3) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2

from rbpkit import paper, plots
from rbpkit.fit import models_of
from rbpkit.palette import CONTEXT, INK, OTHER, ordered_greys
from rbpkit_notebooks.choices import Study
from rbpkit_notebooks.choices import read_study as read_study
from rbpkit_notebooks.exercises import check_of

check = check_of("05")

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
    wiki = wiki.assign(loss=-np.log(wiki["rbp"]))
    wiki["error"] = 1.96 * wiki["loss"] / np.sqrt(wiki["missed"])  # of a Poisson count
    k = wiki["k"].iloc[0]
    below = rf"Wikipedia, $k$ = {k:,}; loss, $-\log\,\mathrm{{RBP}}_k$, with 95% intervals"
    with plots.panel("Larger GPT-2 models miss more", below, 4.0) as axes:
        ends = []
        for family, line in wiki.groupby("family", sort=False):
            ink, name = plots.ink_of(family), plots.name_of(family)
            width = 2.2 if family == "GPT2" else 1
            look: dict[str, Any] = {"marker": ink.marker, "color": ink.colour, "capsize": 2}
            axes.errorbar(line["S"], line["loss"], line["error"], lw=width, elinewidth=1, **look)
            ends.append((line["S"].iloc[-1], line["loss"].iloc[-1], name, ink.colour))
            if family == "GPT2":
                for row in line.itertuples():
                    words = f"{row.missed} missed" if row.Index == line.index[0] else row.missed
                    look = {"textcoords": "offset points", "color": ink.colour, "ha": "right"}
                    axes.annotate(str(words), (row.S, row.loss + row.error), (-6, 2), **look)
        axes.set(xscale="log", yscale="log", xlabel=plots.SIZE)
        plots.log_ticks(axes)
        plots.label_ends(axes, ends)
    plots.save(axes, wiki, figures_dir, "figure_5")


def off_by_model(points: pd.DataFrame, figures_dir: str) -> None:
    """Misses over the expected ones, for each OPT and each Pythia, a line for each text."""
    points = points.assign(ratio=points["missed"] / points["expected"])
    points["error"] = 1 / np.sqrt(points["expected"])
    with plots.panels(3.7, plots.WIDTH, ncols=2, sharey=True) as (figure, panels):
        for axes, family in zip(panels, ("OPT", "Pythia"), strict=True):
            ink = plots.ink_of(family)
            axes.axhline(1, color=INK, lw=1)
            ends = []
            for i, (corpus, line) in enumerate(
                points[points["family"] == family].groupby("corpus")
            ):
                places = np.arange(len(line)) + 0.16 * (i - 1)
                look: dict[str, Any] = {"marker": ink.marker, "color": ink.colour, "lw": 1, "ms": 5}
                axes.errorbar(places, line["ratio"], line["error"], elinewidth=0.8, **look)
                ends.append((places[-1], line["ratio"].iloc[-1], str(corpus), ink.colour))
                names = [model.split("-")[-1].upper() for model in line["model"]]
            axes.set_xticks(np.arange(len(names)), names, rotation=60)
            axes.set(yscale="log", title=family, xlim=(-0.5, len(names) + 0.25 * len(names)))
            plots.ticks(axes.yaxis, [0.5, 0.7, 1, 1.4, 2])
            plots.label_ends(axes, ends)
        title = "OPT's texts agree which model is off; Pythia's do not"
        plots.headed_row(figure, title, "misses over expected ones, $k$ = 20,000, three texts")
    saved = points[[*ABOUT, "missed", "expected", "ratio"]]
    plots.save(figure, saved, figures_dir, "figure_5_by_model")


def left_out(table: pd.DataFrame, figures_dir: str) -> None:
    """chi2 over its degrees of freedom without each model; table: `leave_each_out`'s."""
    table = table.assign(ratio=table["chi2"] / table["degrees"])
    for column, share in (("low", 0.025), ("high", 0.975)):
        table[column] = chi2.ppf(share, table["degrees"]) / table["degrees"]
    title = "Without one model, OPT is near chance"
    below = r"$\chi^2$ over degrees of freedom, three texts; grey: chance (95%)"
    with plots.panel(title, below, 6.6, plots.WIDTH) as axes:
        height = 0.0
        labels: dict[float, str] = {}
        above: dict[str, Any] = {"textcoords": "offset points", "ha": "center"}
        for family, models in table.groupby("family", sort=False):
            ink = plots.ink_of(family)
            name = plots.name_of(family)
            axes.text(0.13, height, name, weight="bold", va="center", color=ink.colour)
            for name, rows in models.groupby("left out", sort=False):
                height += 1
                axes.hlines(height, *rows[["low", "high"]].iloc[0], color=CONTEXT, linewidth=8)
                for grey, row in zip(ordered_greys(len(rows)), rows.itertuples(), strict=True):
                    axes.plot(row.ratio, height, ink.marker, color=grey)
                    if not labels:  # the first row says which grey is which k
                        axes.annotate(f"{row.k:,}", (row.ratio, height), (0, 7), **above)
                labels[height] = "none left out" if name == "none" else f"without {name}"
            height += 1.4
        axes.set_yticks(list(labels), list(labels.values()))
        axes.set(xscale="log", xlim=(0.12, 40), ylim=(height - 0.6, -0.8), xlabel="times chance")
        plots.ticks(axes.xaxis, [0.2, 0.5, 1, 2, 5, 10, 20])
    plots.save(axes, table, figures_dir, "figure_5_left_out")


def slopes(lines: pd.DataFrame) -> pd.DataFrame | None:
    """z of each measured line, by family and text; says so if there is no line."""
    if lines.empty:
        print("No family was measured at three sizes that miss a token: there is no line.")
        return None
    return lines.pivot_table("z", "family", ["corpus", "k"]).round(1)


def missed(study: Study) -> pd.DataFrame:
    """What the study's models miss, at the shares of their vocabulary that k has of the paper's.

    Says which families have no line, which takes three sizes and different counts.
    """
    columns = ["k", "corpus", "family", "S", "tokens", "missed"]
    lines = []
    for k, corpus, family in product((20_000, 30_000), study.corpora, study.families):
        models = models_of(study.summaries, corpus, family)
        V = min((one.manifest.V for one in models), default=0)
        k_prime = max(1, int(k * V / paper.PAPER_V + 1 / 2))
        rows = []
        for one in models:
            M = one.tokens - int(one.ranks.at_most(k_prime))
            if 0 < M < one.tokens:
                rows.append((k_prime, corpus, family, one.manifest.S, one.tokens, M))
        line = pd.DataFrame(rows, columns=columns)
        if line["S"].nunique() > 2 and line["missed"].nunique() > 1:
            lines.append(line)
        elif models:
            print(f"No line for {family} on {corpus} at k = {k_prime:,}: it takes three sizes.")
    return pd.concat(lines) if lines else pd.DataFrame(columns=columns)
