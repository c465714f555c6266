"""What notebook 17 (size or cross-entropy) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch
from matplotlib.ticker import FormatStrFormatter, MultipleLocator

from rbpkit import plots
from rbpkit.fit import Array, root_mean_square
from rbpkit.palette import CONTEXT, INK
from rbpkit.plots import NARROW, SIZE, headed_row
from rbpkit.records import load_summaries
from rbpkit.summary import Summary
from rbpkit_notebooks import blind_17
from rbpkit_notebooks.choices import read_study
from rbpkit_notebooks.exercises import check_of
from rbpkit_notebooks.explorables import explorable as explorable
from rbpkit_pocket import paths
from rbpkit_pocket.ablations import Totals, load_totals

check = check_of("17")

predictions_and_truth = blind_17.predictions_and_truth

PROSE = "pocket:prose"
Measured = tuple[str, Summary | Totals]  # a model's kind, and what was measured of it


def with_two_more(corpus_names: Sequence[str], records_dir: str) -> list[str]:
    """The texts asked for and, of the pocket models, the two that the study leaves out."""
    more = [] if records_dir else ["pocket:qa", "pocket:readme"]
    return list(dict.fromkeys([*corpus_names, *more]))


def read_models(
    records_dir: str, families: Sequence[str], corpus_names: Sequence[str]
) -> list[Measured]:
    """What was measured of each model on each text: the ordinary ones, then all others.

    With `records_dir` only the models in it, all of which count as ordinary.
    """
    study = read_study(records_dir, families, corpus_names)
    models: list[Measured] = [("ordinary", one) for one in study.shown()]
    if records_dir:
        return models
    models += [("Mamba", one) for one in load_summaries(paths.MAMBA_SUMMARIES)]
    for one in load_totals(paths.GRID):
        if not one.manifest.model.endswith("-12m"):  # those are the ordinary ones
            models.append(("fewer tokens", one))
    models += [("ablation", one) for one in load_totals(paths.ABLATIONS)]
    return [(kind, one) for kind, one in models if one.manifest.corpus in study.corpora]


def with_lines(points: pd.DataFrame) -> pd.DataFrame:
    """The points on texts with ordinary models enough to leave one out; says so if none has."""
    if points.empty:  # nothing was measured, so there are no columns either
        points = pd.DataFrame(columns=["corpus", "kind", "family", "model", "S", "CE", "loss_10"])
    losses = points.filter(like="loss_").astype(float)
    on_log_axes = (losses > 0) & np.isfinite(losses)  # an RBP of 1 or 0 has no place there
    points = points[on_log_axes.all(axis=1)]

    def has_a_line(part: pd.DataFrame) -> bool:
        fitted = part[part["kind"] == "ordinary"]
        return fitted["CE"].nunique() >= 4 and fitted["S"].nunique() >= 2

    enough = points.groupby("corpus").filter(has_a_line)
    if enough.empty:
        print("A line through all models but one needs four on one text: you have too few.")
    return enough


def families_with_lines(models: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The models of each family that has a line when one of them is left out."""
    for _, part in models.groupby("family", sort=False):
        if part["S"].nunique() >= 4:  # a line needs three sizes
            yield part


def distance_of(off: Sequence[float]) -> float:
    """The root mean square of distances; not a number without any."""
    return root_mean_square(off) if len(off) else np.nan


def off_line(x: pd.Series, y: pd.Series) -> float:
    """The distance of y from its least-squares line in x (root mean square)."""
    line = np.polynomial.Polynomial.fit(x, y, 1)
    return root_mean_square(y - line(x))


def wide_table(rows: Mapping[tuple[str, int, str], float]) -> pd.DataFrame:
    """Print (text, k, column) -> value with a row for each text, and the median of the texts."""
    if not rows:  # your own records may have no line
        return pd.DataFrame()
    table = pd.Series(rows).unstack([1, 2]).dropna(axis="columns", how="all")
    if len(table) == 1:
        print("There is one text, so there is no other text's CE, and no median.")
    else:
        table.loc["median"] = table.median()
    print(table.round(1).to_string())
    return table


def expected_CE(model: Summary | Totals) -> float:
    """The mean entropy of a model's predictions; not a number if it was not recorded."""
    if isinstance(model, Totals) or model.document_entropy is None:
        return np.nan
    return float(model.document_entropy.sum()) / model.tokens


def main_text(points: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The text of the main picture and its points; nothing if there is no point."""
    texts = list(dict.fromkeys(points["corpus"]))
    for text in ([PROSE] if PROSE in texts else texts)[:1]:
        yield text, points[points["corpus"] == text]


def families_on_humaneval(points: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each family with three sizes or more there, and its points."""
    for family, part in points[points["corpus"] == "pocket:humaneval"].groupby(
        "family", sort=False
    ):
        if part["S"].nunique() >= 3:
            yield str(family), part


# --- the figure ------------------------------------------------------------------------------

RINGED = {"opt-w128-l5": "OPT", "pythia-w48-l3": "Pythia"}  # the two of the guess
BELOW = {"OPT": -1, "Pythia": 1}  # whether the share is written below the ring, or above
CENTRED: dict[str, Any] = {"textcoords": "offset points", "va": "center", "ha": "center"}


def collapse(
    shown: pd.DataFrame, from_size: pd.Series, from_CE: pd.Series, figures_dir: str
) -> None:
    """The rank losses of one text at k = 10 against S and against CE, with the two lines.

    from_size, from_CE: log(loss / line) of each model.
    """
    sides = (("S", SIZE, from_size), ("CE", "CE, nats a token", from_CE))
    with plots.panels(4.3, NARROW + 1, ncols=2, sharey=True) as (figure, both):
        for axes, (x, name, off) in zip(both, sides, strict=True):
            axes.set(xscale="log", yscale="log", xlabel=name)
            axes.set_box_aspect(1)
            axes.patch.set_visible(False)  # or it would hide the trails
            _marks(axes, shown, x)
            in_order = shown[x].sort_values().index
            line = shown["loss_10"] / np.exp(off)
            axes.plot(shown[x][in_order], line[in_order], color=INK, lw=1.2, zorder=1)
            axes.set_title(_distances(off, shown["kind"] == "ordinary"), fontsize=11)
        plots.log_ticks(both[0])
        both[0].set_ylabel(r"$-\log\,\mathrm{RBP}_{10}$")
        both[1].xaxis.set_major_locator(MultipleLocator(0.5))
        both[1].xaxis.set_major_formatter(FormatStrFormatter("%g"))
        both[1].xaxis.minorticks_off()
        for model, family in RINGED.items():
            is_ringed = (shown["model"] == model) & (shown["corpus"] == PROSE)
            for _, row in shown[is_ringed & (shown["kind"] == "ordinary")].iterrows():
                _ring(figure, both, row, family)
        line = f"rank loss of {len(shown)} models on {plots.short(shown['corpus'].iloc[0])}"
        headed_row(
            figure,
            "A cloud in size, one line in cross-entropy",
            f"{line}, by size and by cross-entropy",
        )
        _key(figure, shown)
        figure.draw_without_rendering()  # the layout of squares takes two passes
    columns = ["corpus", "kind", "family", "model", "S", "k", "CE", "loss"]
    saved = shown.assign(k=10, loss=shown["loss_10"])
    plots.save(figure, saved[columns], figures_dir, "17_cross_entropy")


def _distances(off: pd.Series, is_ordinary: pd.Series) -> str:
    """How far all models are from the line, and those that it was fitted to."""
    missed, alone = root_mean_square(off), root_mean_square(off[is_ordinary])
    words = f"off the line: {missed:.1%}"
    return words if is_ordinary.all() else f"{words}\n(filled ones: {alone:.1%})"


def _marks(axes: Axes, shown: pd.DataFrame, x: str) -> None:
    for (kind, family), part in shown.groupby(["kind", "family"], sort=False):
        ink = plots.ink_of(str(family))
        look: dict[str, Any] = {"mfc": "none", "ms": 4.5, "alpha": 0.8}  # hollow: not fitted
        if kind == "ordinary":
            look = {"mec": "white", "mew": 0.5, "ms": 6, "zorder": 3}
        axes.plot(part[x], part["loss_10"], ink.marker, color=ink.colour, ls="", **look)


def _ring(figure: Figure, both: Array, row: pd.Series, family: str) -> None:
    """A ring around one model in both panels, and a grey trail; its family, and its share."""
    ends = [(row["S"], row["loss_10"]), (row["CE"], row["loss_10"])]
    look: dict[str, Any] = {"axesA": both[0], "axesB": both[1], "color": CONTEXT, "lw": 1.5}
    figure.add_artist(ConnectionPatch(ends[0], ends[1], "data", "data", zorder=0, **look))
    for axes, end in zip(both, ends, strict=True):
        axes.plot(*end, "o", color=INK, ms=11, mfc="none", zorder=4)
    side = BELOW[family]
    both[0].annotate(family, ends[0], (4, -15 * side), **CENTRED)
    both[1].annotate(f"{np.exp(-row['loss_10']):.1%}", ends[1], (-22 * side, 12 * side), **CENTRED)


def _key(figure: Figure, shown: pd.DataFrame) -> None:
    """Which mark is which family, and what a hollow one means."""
    kinds_of = shown.groupby("family", sort=False)["kind"].agg(set)
    handles = plots.family_marks(kinds_of.index)
    for handle, kinds in zip(handles, kinds_of, strict=True):
        if "ordinary" not in kinds:
            handle.set_markerfacecolor("none")
    title = "filled: ordinary, fitted by the line"
    if shown["kind"].nunique() > 1:
        title += "\nhollow: fewer tokens, an ablation, or Mamba"
    look: dict[str, Any] = {"ncols": 5, "columnspacing": 1.2, "handletextpad": 0.2}
    figure.legend(handles=handles, loc="outside lower center", title=title, **look)
