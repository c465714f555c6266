"""What notebook 13 (the pocket models) draws and tabulates, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rbpkit import plots
from rbpkit.fit import curves_of_all, fit_curves
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.records import load_summaries
from rbpkit.summary import Summary
from rbpkit_notebooks import choices
from rbpkit_notebooks.choices import Study
from rbpkit_notebooks.exercises import check_of
from rbpkit_pocket import paths
from rbpkit_pocket.ablations import load_totals, size_and_tokens, totals_of

check = check_of("13")


def idea() -> None:
    """A sketch: three random starts, one text, three models."""
    title = "Do three starts end alike?"
    with plots.panel(title, "a sketch; the grey squares are random weights", 2.5) as axes:
        for seed in range(3):
            middle = 1.9 - 0.75 * seed
            weights = np.random.default_rng(seed).normal(size=(6, 6))
            place = (0.75, 1.3, middle - 0.27, middle + 0.28)
            axes.imshow(weights, cmap="Greys", extent=place, vmin=-2.5, vmax=2.5)
            axes.text(0.65, middle, f"seed {seed}", ha="right", va="center")
            arrow = {"arrowstyle": "->", "color": INK}
            axes.annotate("", (4.8, middle), (1.4, middle), arrowprops=arrow)
            axes.text(4.9, middle, "model ?", va="center")
        box = {"facecolor": CONTEXT, "edgecolor": "none", "boxstyle": "round,pad=0.7"}
        text = "the same text\nin the same order"
        axes.text(2.95, 1.17, text, ha="center", va="center", bbox=box)
        axes.set(xlim=(0, 6), ylim=(0, 2.3), aspect="auto")
        axes.axis("off")
    plots.show(axes)


@contextmanager
def _twins(apart: pd.DataFrame, title: str) -> Iterator[Axes]:
    """The curves of two figures, with one range: the zero line, then a line for each seed."""
    with plots.panel(title, "training loss, less the mean of the three", 3.4) as axes:
        axes.axhline(0, color=CONTEXT, linewidth=1)
        axes.plot(apart.index / 1e6, apart, color=OTHER, linewidth=1.8)
        axes.set(xlim=(0, 12.1), ylim=(-0.22, 0.22), xlabel="training tokens (millions)")
        axes.set_ylabel("nats")
        yield axes


def start(apart: pd.DataFrame) -> None:
    """Each twin's loss, less the mean of the three, in the first quarter of the training."""
    with _twins(apart, "At first the twins go together") as axes:
        axes.axvspan(3, 12.1, color=CONTEXT, alpha=0.4, linewidth=0)
        axes.text(7.5, 0, "the next 9 million: ?", ha="center", va="center")
    plots.show(axes)


def training(apart: pd.DataFrame, best: int, figures_dir: str) -> None:
    """The same for the whole training; best: the seed that ends lowest."""
    with _twins(apart, f"Seed {best} leaves its twins") as axes:
        axes.lines[1 + best].set_color(INK)
        axes.text(3.2, -0.19, "better $\\downarrow$", color=OTHER)
        ink = {seed: INK if seed == best else OTHER for seed in apart}
        ends = [(12, apart[seed].iloc[-1], f"seed {seed}", ink[seed]) for seed in apart]
        plots.label_ends(axes, ends)
    points = apart.stack().rename("loss").rename_axis(["tokens", "seed"]).reset_index()
    plots.save(axes, points, figures_dir, "13_training")


def pairs(percent: pd.DataFrame, shown: pd.DataFrame, best: int, figures_dir: str) -> None:
    """Pair tokens at rank 1 of the twins and of the largest Qwen, by text.

    percent: a row for each S and seed, a column for each text; shown: the points to write
    """
    small, large = percent.index.get_level_values("S").unique()
    of_large = percent.loc[large].iloc[0]
    texts = percent.loc[small].loc[best].sort_values().index
    top = len(texts) - 1
    title = "One twin completes as many pairs\nas a large model"
    with plots.panel(title, "three twins on five texts; bar: the largest Qwen", 3.5) as axes:
        for height, text in enumerate(texts):
            axes.axhline(height, color=CONTEXT, linewidth=1, zorder=0)
            axes.plot(of_large[text], height, "|", color=INK, markersize=20, markeredgewidth=2)
            for seed, value in percent.loc[small][text].items():
                # Two twins can have the same percentage: one dot a little higher
                shift = 0.11 if seed == 1 else 0 if seed == best else -0.11
                colour = INK if seed == best else OTHER
                axes.plot(value, height + shift, "o", color=colour, markersize=8)
        twins = percent.loc[small][texts[-1]]
        words = f"{large / small:.1f} times the size"
        axes.text(of_large[texts[-1]], top + 0.4, words, ha="center")
        axes.text(twins[best] + 1.7, top, f"seed {best}", va="center")
        axes.text(twins[0] - 1.7, top, "its twins", va="center", ha="right", color=OTHER)
        axes.set_yticks(range(len(texts)), texts)
        axes.set(xlim=(20, 85), ylim=(-0.5, top + 0.8), xlabel="pair tokens at rank 1 (%)")
    points = shown.sort_values(["corpus", "S", "seed"])
    columns = ["corpus", "model", "S", "seed", "percent"]
    plots.save(axes, points[columns], figures_dir, "13_pairs")


def seeds(several: pd.DataFrame, figures_dir: str) -> None:
    """-log RBP_1 against S on both kinds of tokens; seeds of one model are joined by a bar."""
    several = several[several.family.isin(["Pythia", "Qwen"]) & (several.kind != "all")]
    several = several.sort_values(["kind", "family", "S"])
    with plots.panels(3.9, ncols=2, sharex=True, sharey=True) as (figure, row):
        for axes, kind in zip(row, ["pair", "other"], strict=True):
            axes.set(xscale="log", yscale="log", title=f"{kind} tokens", xlim=(2e4, 2e7))
            families = several[several.kind == kind].groupby("family")
            ends = [_family(axes, str(family), part) for family, part in families]
            plots.log_ticks(axes)
            plots.label_ends(axes, ends)
        row[0].set_ylabel(r"$-\log\,\mathrm{RBP}_1$ on prose, nats")
        figure.supxlabel(plots.SIZE, fontsize=11)
        title = "Seeds part on pair tokens, not on the others"
        plots.headed_row(figure, title, "filled: seed 0; hollow: two other seeds")
    plots.save(figure, several.drop(columns="T"), figures_dir, "13_seeds")


def _family(axes: Axes, family: str, part: pd.DataFrame) -> tuple[float, float, str, str]:
    """Draw a family's seeds; return what `plots.label_ends` needs."""
    ink = plots.ink_of(family)
    first = part[part.seed == 0]
    other = part[part.seed > 0]
    axes.plot(first.S, first.loss, ink.marker + "-", color=ink.colour, lw=1, ms=4, zorder=3)
    axes.plot(other.S, other.loss, ink.marker, color=ink.colour, mfc="white", ms=7)
    for S, same in part.groupby("S"):
        axes.plot([S, S], [same.loss.min(), same.loss.max()], color=CONTEXT, lw=7, zorder=0)
    return first.S.iloc[-1], first.loss.iloc[-1], family, ink.colour


def read_study(records_dir: str, families: Sequence[str], corpora: Sequence[str]) -> Study:
    """The reader's models; without a folder the pocket models, with a fifth family, Mamba."""
    study = choices.read_study(records_dir, families, corpora)
    if records_dir:
        return study
    summaries = [*study.summaries, *load_summaries(paths.MAMBA_SUMMARIES)]
    return replace(study, summaries=summaries, families=[*study.families, "Mamba"])


def lines(study: Study, ks: Sequence[int]) -> pd.DataFrame:
    """R2 of the families' lines at the first and last k, a row each; prints which have no line."""
    fits = fit_curves(curves_of_all(study.shown(), (None, *sorted({ks[0], ks[-1]}))))
    print("\n".join(fits.refused) or "Every family has its lines.")
    return fits.table[fits.table.quantity != "CE"]


def smallest_pythia(summaries: list[Summary]) -> pd.DataFrame:
    """Losses of the smallest Pythia after 3 million tokens, for each seed that was measured."""
    shipped = load_totals(paths.GRID)
    same_text = {(totals.manifest.corpus, totals.manifest.fingerprint) for totals in shipped}
    found = list(shipped)
    for totals in [*load_totals(paths.ABLATIONS), *map(totals_of, summaries)]:
        about = totals.manifest
        of_this_size = about.model.startswith("pythia-w32-l2-3m-seed")
        if of_this_size and (about.corpus, about.fingerprint) in same_text:
            found.append(totals)
    table = size_and_tokens(found, [1, 10, 100])
    table = table[(table.model == "pythia-w32-l2") & (table["T"] == 3e6)]
    table = table[table.corpus.isin(["pocket:prose", "pocket:code"])]
    table["quantity"] = table["quantity"].str.replace("RBP_", "loss, k = ")
    return table.drop_duplicates(["corpus", "quantity", "seed"])
