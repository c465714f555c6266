"""What notebook 17 (size or cross-entropy) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch

from rbpkit import plots
from rbpkit.fit import Array, root_mean_square
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.plots import NARROW, NOTE
from rbpkit.records import load_summaries
from rbpkit.stats.curves import in_order
from rbpkit.summary import Summary
from rbpkit_pocket import paths
from rbpkit_pocket.ablations import Totals, load_totals
from rbpkit_pocket.companions import blind
from rbpkit_pocket.companions.exercises import checker, sealed

check = checker({1: sealed("1778e316", digits=2), 2: sealed("81e7e8f8", digits=3)})

predictions_and_truth = blind.predictions_and_truth

PROSE = "pocket:prose"
LEAST_DOCUMENTS = 20
Measured = tuple[str, Summary | Totals]  # a model's kind, and what was measured of it


class Counts(NamedTuple):
    """(models, documents) each: tokens, summed -log p in nats, tokens of rank 10 or less."""

    tokens: Array
    nll: Array
    hits: Array


def read_models(
    records_dir: str, families: Sequence[str], corpus_names: Sequence[str]
) -> list[Measured]:
    """What was measured of each model on each text: the ordinary ones, then all others.

    With `records_dir` only the models in it, all of which count as ordinary. Says which were not
    asked for.
    """
    every = load_summaries(records_dir or paths.SUMMARIES, checkpoint="last", say=print)
    corpora = list(corpus_names) or sorted({one.manifest.corpus for one in every})
    shown = list(families) or sorted({one.manifest.family for one in every})
    ordinary = in_order(every, corpora, shown)
    models: list[Measured] = [("ordinary", one) for one in ordinary]
    if not ordinary:
        print(f"No model of {', '.join(shown)} was measured on {', '.join(corpora)}.")
    if records_dir:
        kept = {one.manifest.model for one in ordinary}
        for family in sorted({one.manifest.family for one in every}):
            of_family = {one.manifest.model for one in every if one.manifest.family == family}
            if of_family - kept:
                names = ", ".join(sorted(of_family - kept))
                print(f"Not asked for, so not shown: {family} ({names}).")
        return models
    models += [("Mamba", one) for one in load_summaries(paths.MAMBA_SUMMARIES)]
    for one in load_totals(paths.GRID):
        if not one.manifest.model.endswith("-12m"):  # those are the ordinary ones
            models.append(("fewer tokens", one))
    models += [("ablation", one) for one in load_totals(paths.ABLATIONS)]
    return [(kind, one) for kind, one in models if one.manifest.corpus in corpora]


def with_lines(points: pd.DataFrame) -> pd.DataFrame:
    """The points on texts with enough ordinary models for a line; says so if there are none."""
    if points.empty:  # nothing was measured, so there are no columns either
        points = pd.DataFrame(columns=["corpus", "kind", "family", "model", "S", "CE", "loss_10"])
    losses = points.filter(like="loss_").astype(float)
    on_log_axes = (losses > 0) & np.isfinite(losses)  # an RBP of 1 or 0 has no place there
    points = points[on_log_axes.all(axis=1)]

    def has_a_line(part: pd.DataFrame) -> bool:
        fitted = part[part["kind"] == "ordinary"]
        return fitted["CE"].nunique() >= 3 and fitted["S"].nunique() >= 2

    enough = points.groupby("corpus").filter(has_a_line)
    if enough.empty:
        print("A line needs three models on one text, so this notebook cannot draw one from yours.")
    return enough


def main_text(points: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The text of the main picture and its points; nothing if there is no point."""
    texts = list(dict.fromkeys(points["corpus"]))
    for text in ([PROSE] if PROSE in texts else texts)[:1]:
        yield text, points[points["corpus"] == text]


def families_on(points: pd.DataFrame, corpus: str = "") -> Iterator[tuple[str, pd.DataFrame]]:
    """Each family with three sizes or more on a text (by default, on each text), and its points."""
    if corpus:
        points = points[points["corpus"] == corpus]
    for family, part in points.groupby("family", sort=False):
        sizes = part.groupby("corpus")["S"].nunique()
        enough = part[part["corpus"].map(sizes) >= 3]
        if len(enough):
            yield str(family), enough


def random_halves(models: Sequence[Measured]) -> tuple[Counts, list[tuple[Array, Array]]]:
    """Counts of the ordinary models on the first text, and 200 times two masks of its documents.

    Documents of one file are in the same half. Too few models or documents have no halves.
    """
    ordinary = [one for kind, one in models if kind == "ordinary" and isinstance(one, Summary)]
    halved = [one for one in ordinary if one.manifest.corpus == ordinary[0].manifest.corpus]
    halved = [one for one in halved if np.array_equal(one.document, halved[0].document)]
    if len(halved) < 3 or len(halved[0].document) < LEAST_DOCUMENTS:
        print("Halves need three models on one text of at least 20 documents, so there are none.")
        nothing = np.empty((0, 0))
        return Counts(nothing, nothing, nothing), []
    at_10 = list(halved[0].k_grid).index(10)
    counts = Counts(
        tokens=np.array([one.document_tokens for one in halved], dtype=float),
        nll=np.array([one.document_nll for one in halved]),
        hits=np.array([one.document_hits[:, at_10] for one in halved], dtype=float),
    )
    files = getattr(halved[0], "document_units", None)  # the file that a document comes from
    files = np.arange(counts.tokens.shape[1]) if files is None else files
    random = np.random.default_rng(0)
    halves = []
    for _ in range(200):
        shuffled = random.permutation(files.max() + 1)  # a random number for each file
        first = shuffled[files] % 2 == 0  # documents of the files with an even number
        halves.append((first, ~first))
    return counts, halves


# --- the figure ------------------------------------------------------------------------------

RINGED = {"opt-w128-l5": "OPT", "pythia-w48-l3": "Pythia"}  # the two of the guess


def collapse(
    shown: pd.DataFrame, from_size: pd.Series, from_CE: pd.Series, figures_dir: str
) -> None:
    """The rank losses of one text at k = 10 against S and against CE, with the two lines.

    from_size, from_CE: log(loss / line) of each model.
    """
    ordinary = shown["kind"] == "ordinary"
    sides = (("S", "size", from_size), ("CE", "cross-entropy", from_CE))
    with plots.style():
        figure, both = plt.subplots(
            1, 2, figsize=(NARROW + 0.6, 3.75), sharey=True, layout="constrained"
        )
        for axes, (x, name, off) in zip(both, sides, strict=True):
            axes.set(xscale="log", yscale="log")
            axes.set_box_aspect(1)
            axes.patch.set_visible(False)  # or it would hide the trails
            _marks(axes, shown, x)
            in_order = shown[x].sort_values().index
            line = shown["loss_10"] / np.exp(off)
            axes.plot(shown[x][in_order], line[in_order], color=INK, lw=1.2, zorder=1)
            missed, alone = root_mean_square(off), root_mean_square(off[ordinary])
            axes.set_title(f"by {name}", fontsize=12, weight="bold", pad=22)
            words = f"off the line: {missed:.1%}" + (f" (filled: {alone:.1%})" * (alone < missed))
            axes.text(0, 1.03, words, transform=axes.transAxes, fontsize=NOTE, color=OTHER)
        _ticks(both)
        for model, family in RINGED.items():
            ringed = shown[(shown["model"] == model) & (shown["corpus"] == PROSE) & ordinary]
            if len(ringed) == 1:
                _ring(figure, both, ringed.iloc[0], family)
        figure.suptitle(
            "Different sizes, same ranks", x=0.01, ha="left", fontsize=14, weight="bold"
        )
        _key(figure, shown)
    columns = ["corpus", "kind", "family", "model", "S", "k", "CE", "loss"]
    saved = shown.assign(k=10, loss=shown["loss_10"])
    plots.save(figure, saved[columns], figures_dir, "17_cross_entropy")


def _marks(axes: Axes, shown: pd.DataFrame, x: str) -> None:
    for (kind, family), part in shown.groupby(["kind", "family"], sort=False):
        ink = plots.ink_of(str(family))
        look: dict[str, Any] = {"mfc": "none", "ms": 4.5, "alpha": 0.8}  # hollow: not fitted
        if kind == "ordinary":
            look = {"mec": "white", "mew": 0.5, "ms": 6, "zorder": 3}
        axes.plot(part[x], part["loss_10"], ink.marker, color=ink.colour, ls="", **look)


def _ticks(both: Array) -> None:
    """The loss at the left, the share it belongs to at the right."""
    plots.log_ticks(both[0])
    both[0].set_ylabel(r"rank loss $-\log\,\mathrm{RBP}_{10}$")
    both[0].set_xlabel("$S$, parameters")
    both[1].set_xlabel("CE, nats a token")
    low, high = both[1].get_xlim()
    halves = np.arange(0.5, 12, 0.5)
    nats = halves[(halves > low) & (halves < high)]
    both[1].set_xticks(nats, [f"{nat:g}" for nat in nats])
    both[1].minorticks_off()

    def loss_of(share: Array) -> Array:
        return -np.log(np.maximum(share, 1e-9) / 100)

    to_and_fro = (lambda loss: 100 * np.exp(-loss), loss_of)
    percent = both[1].secondary_yaxis("right", functions=to_and_fro)
    percent.set_yticks([40, 50, 60, 70], ["40%", "50%", "60%", "70%"])
    percent.minorticks_off()
    percent.set_ylabel(r"$\mathrm{RBP}_{10}$")


def _ring(figure: Figure, both: Array, row: pd.Series, family: str) -> None:
    """A ring around one model in both panels, and a grey trail; its family, and its share."""
    ends = [(row["S"], row["loss_10"]), (row["CE"], row["loss_10"])]
    trail = ConnectionPatch(
        ends[0], ends[1], "data", "data", axesA=both[0], axesB=both[1], color=CONTEXT, lw=1.5
    )
    trail.set_zorder(0)
    figure.add_artist(trail)
    for axes, end in zip(both, ends, strict=True):
        axes.plot(*end, "o", color=INK, ms=11, mfc="none", zorder=4)
    look = {"textcoords": "offset points", "va": "center", "ha": "center", "fontsize": 10}
    place = {"OPT": (6, 14), "Pythia": (2, -16)}[family]
    both[0].annotate(family, ends[0], place, **look)
    place = {"OPT": (24, -6), "Pythia": (-20, 12)}[family]
    both[1].annotate(f"{np.exp(-row['loss_10']):.1%}", ends[1], place, **look)


def _key(figure: Figure, shown: pd.DataFrame) -> None:
    """Which mark is which family, and what a hollow one means."""
    families = list(dict.fromkeys(shown["family"]))
    hollow_only = set(families) - set(shown.loc[shown["kind"] == "ordinary", "family"])
    handles = plots.family_marks(families)
    for handle in handles:
        if handle.get_label() in hollow_only:
            handle.set_markerfacecolor("none")
    title = "filled: ordinary, fitted by the line"
    if len(set(shown["kind"])) > 1:
        title += "\nhollow: fewer tokens, or an ablation, or Mamba"
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=5,
        title=title,
        columnspacing=1.2,
        handletextpad=0.2,
    )


def changed_predictions() -> pd.DataFrame:
    """The 25 ordinary models with changed predictions: `findings.calibration`."""
    table = pd.read_csv(paths.CALIBRATION)
    return table[table["family"] != "Mamba"]
