"""What notebook 21 (why one axis) reads and draws, and how its exercises are checked.

What it computes is in `rbpkit_pocket`: `reasons` has the predictors, `reasons_judged` the seven
questions with their margins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from rbpkit import plots
from rbpkit.palette import CONTEXT, GREYS, INK, OTHER
from rbpkit.plots import NARROW, headed_row
from rbpkit_notebooks.exercises import check_of
from rbpkit_notebooks.tables_21 import seven_answers as seven_answers
from rbpkit_pocket.families import V
from rbpkit_pocket.reasons import (
    BINS,
    KNOWN_TEXTS,
    LEAST_TOKENS,
    LEVELS,
    MODELS,
    Job,
    hit_curves,
    mass_curves,
    zipf_mass,
)
from rbpkit_pocket.reasons_judged import Jobs, load_jobs, of_text

check = check_of("21")

BIN_WIDTH = np.log(V) / BINS
GREY_OF = dict(zip(LEVELS, GREYS, strict=True))
SHIFT_OF = {"own": "C", "borrowed": "F"}
"""Whose histogram -> its predictor, a column of `reasons_judged.residuals`."""
ENTROPY = "entropy $h$ of the prediction, nats"


def families_and_others(jobs: Jobs) -> Iterator[tuple[str, list[Job], list[Job]]]:
    """Each text, the models of a family on it, and those of the three other families."""
    for text in KNOWN_TEXTS:
        for family in dict.fromkeys(MODELS.values()):
            models = of_text(jobs, text)
            own = [job for job in models if MODELS[job.model] == family]
            yield text, own, [job for job in models if MODELS[job.model] != family]


def read_runs() -> tuple[list[Job], Mapping[str, str]]:
    """The runs of other recipes, mixtures and tokens on five texts; run -> recipe and size."""
    runs = [job for name in ("E", "M", "P") for job in load_jobs(name).values()]
    return runs, {job.model: re.sub(r"-seed\d+", "", job.model) for job in runs}


# --- figures ---------------------------------------------------------------------------------


def two_models(small: Job, large: Job, at: int, figures_dir: str) -> None:
    """The hit rate at k = 10 given the entropy, and the histogram of entropies, of two models.

    at: the bin of the guess.
    """
    rows = []
    with plots.panels(3.6, NARROW + 1, ncols=2) as (figure, (rates, shares)):
        for job in (small, large):
            family = MODELS[job.model]
            ink = plots.ink_of(family)
            h = job.h[job.n >= LEAST_TOKENS]
            rate = hit_curves([job])[10](h)
            share = job.n / job.n.sum()
            rates.plot(h, rate, color=ink.colour, marker=ink.marker, ms=4, lw=1.2)
            edges = np.append(job.bins, job.bins[-1] + 1) * BIN_WIDTH
            shares.stairs(100 * share, edges, color=ink.colour, lw=2)
            for values in zip(job.bins, job.h, job.n, job.hits[10], strict=True):
                rows.append((job.model, job.text, *values))
        is_at = small.bins == at
        rates.plot(
            small.h[is_at], (small.hits[10] / small.n)[is_at], "o", color=INK, ms=13, mfc="none"
        )
        rates.annotate("62%", (small.h[is_at].item(), 0.62), (10, 6), textcoords="offset points")
        shares.axvspan(at * BIN_WIDTH, (at + 1) * BIN_WIDTH, color=CONTEXT, zorder=0)
        shares.text(
            5.35, 9.7, "GPT-2", ha="center", color=plots.for_text(plots.ink_of("GPT2").colour)
        )
        shares.text(
            1.5, 3.6, "Pythia", ha="center", color=plots.for_text(plots.ink_of("Pythia").colour)
        )
        rates.set(ylim=(0, 1.05), title="hit rate at k = 10", xlabel="entropy $h$, nats")
        shares.set(ylim=(0, 10.5), title="% of predictions", xlabel="entropy $h$, nats")
        line = f"two models on {small.text}; left: entropies of 30 predictions or more"
        headed_row(figure, "Nearly one curve, and a histogram that moves", line)
    columns = ["model", "text", "bin", "entropy", "predictions", "hits_10"]
    plots.save(figure, pd.DataFrame(rows, columns=columns), figures_dir, "21_histograms")


def shapes(known: Jobs, text: str, figures_dir: str) -> None:
    """The mass of the first k guesses given the entropy: Zipf's, and that of the 25 on one text."""
    models = of_text(known, text)
    masses = mass_curves(models)
    h = np.arange(0.25, 7, 0.25)
    rows = []
    title = "Zipf is off at k = 1 and 10, close at 100"
    with plots.panel(title, f"own mass of the 25 models, mean on {text}", 4.2) as axes:
        for k in LEVELS:
            own, zipf = masses[k](h), zipf_mass(h, k)
            axes.plot(h, own, "o", color=GREY_OF[k], ms=4.5)
            axes.plot(h, zipf, color=GREY_OF[k], lw=1.4)
            for values in zip(h, own, zipf, strict=True):
                rows.append((text, k, *values))
        for k, place in ((1, (2.1, 0.42)), (10, (4.15, 0.42)), (100, (5.05, 0.83))):
            axes.text(*place, f"k = {k}", color=GREY_OF[k], ha="right" if k < 100 else "left")
        axes.set(ylim=(0, 1.03), xlim=(0, 7), xlabel=ENTROPY)
        axes.set_ylabel("mass of the first $k$ guesses")
        axes.text(0.15, 0.06, "dots: the models\nlines: Zipf's shape", color=INK)
    points = pd.DataFrame(rows, columns=["text", "k", "entropy", "own", "zipf"])
    plots.save(axes, points, figures_dir, "21_shapes")


def expected_and_measured(shifts: pd.DataFrame, figures_dir: str) -> None:
    """The shift r that was measured in each unit against c, which its histogram promises."""
    percent = 100 * shifts[["r", "C"]].rename(columns={"C": "c"})
    units = percent.index.get_level_values("unit")
    with plots.panel(
        "Histograms move, and rank losses stay",
        "shift beyond CE, % of the rank loss; 25 units",
        4.4,
    ) as axes:
        axes.plot([-24, 34], [-24, 34], color=INK, lw=1.2)
        axes.annotate(
            "if histograms\ntold all", (20, 20), (-12, 4), ha="right", textcoords="offset points"
        )
        axes.axhline(0, color=CONTEXT, lw=1, zorder=0)
        for k in LEVELS:
            of_k = percent.xs(k, level="k")
            axes.plot(of_k["c"], of_k["r"], "o", color=GREY_OF[k], ms=5, alpha=0.8)
        smoothed = percent[units.str.contains("smoothed")]
        axes.text(smoothed["c"].mean(), -7, "smoothed targets", ha="center", color=OTHER)
        for k in LEVELS:
            place = smoothed.xs(k, level="k")["c"].mean()
            axes.text(place, 2, f"k = {k}"[0 if k == 1 else 4 :], ha="center", color=GREY_OF[k])
        axes.set(xlim=(-24, 36), ylim=(-24, 36))
        axes.set(xlabel="expected from the histogram, $c$", ylabel="measured, $r$")
    plots.save(axes, percent.reset_index(), figures_dir, "21_shifts")
