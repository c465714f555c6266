"""What notebook 13 (the pocket models) draws and tabulates, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rbpkit import plots
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.records import load_summaries
from rbpkit.stats.curves import measured_curves
from rbpkit.summary import Summary
from rbpkit_pocket import paths, recipes
from rbpkit_pocket.ablations import load_totals, size_and_tokens, totals_of
from rbpkit_pocket.companions.exercises import Mistake, checker, sealed
from rbpkit_pocket.families import POCKET_FAMILIES

# For each exercise: how to undo a common mistake, and what to say if that gives the right answer
MISTAKES: dict[int, list[Mistake]] = {
    1: [
        (  # from the ratio of the shares to that of the losses
            lambda answer: np.log(0.73 / answer) / np.log(0.73),
            "Nearly: this is the ratio of the shares, not of the losses.",
        ),
    ]
}
check = checker({1: sealed("8771a6c0", digits=1), 2: sealed("04125177", digits=1)}, MISTAKES)

RANGE = 0.22  # of the losses of twins, in both figures


def idea() -> None:
    """A sketch: three random starts, one text, three models."""
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 2.4))
        axes.axis("off")
        for seed in range(3):
            bottom = 1.65 - 0.75 * seed
            middle = bottom + 0.27
            weights = np.random.default_rng(seed).normal(size=(6, 6))
            where = (0.75, 1.3, bottom, bottom + 0.55)
            axes.imshow(weights, cmap="Greys", extent=where, vmin=-2.5, vmax=2.5)
            axes.text(0.65, middle, f"seed {seed}", ha="right", va="center")
            arrow = {"arrowstyle": "->", "color": INK}
            axes.annotate("", (4.55, middle), (1.4, middle), arrowprops=arrow)
            axes.add_patch(plt.Rectangle((4.65, bottom), 0.55, 0.55, fill=False, edgecolor=INK))
            axes.text(4.92, middle, "?", ha="center", va="center", fontsize=13)
        box = {"facecolor": CONTEXT, "edgecolor": "none", "boxstyle": "round,pad=0.7"}
        text = "the same text\nin the same order"
        axes.text(2.95, 1.17, text, ha="center", va="center", bbox=box)
        axes.text(5.3, 1.17, "three\nmodels", va="center")
        axes.set(xlim=(0, 6), ylim=(0, 2.4), aspect="auto")
    plots.show(figure)


def _twins(axes: Axes, apart: pd.DataFrame, winner: int | None) -> None:
    axes.axhline(0, color=CONTEXT, linewidth=1)
    for seed in apart:
        colour = INK if seed == winner else OTHER
        axes.plot(apart.index / 1e6, apart[seed], color=colour, linewidth=1.8)
    axes.set(xlim=(0, 12.1), ylim=(-RANGE, RANGE), xlabel="training tokens (millions)")
    axes.set_ylabel("loss less the mean (nats)")


def start(apart: pd.DataFrame) -> None:
    """Each twin's loss, less the mean of the three, in the first quarter of the training."""
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.2), layout="constrained")
        _twins(axes, apart, None)
        axes.axvspan(3, 12.1, color=CONTEXT, alpha=0.4, linewidth=0)
        axes.text(7.5, 0, "the next 9 million: ?", ha="center", va="center")
        axes.set_title("3 million tokens: the twins go together")
    plots.show(figure)


def training(apart: pd.DataFrame, best: int, figures_dir: str) -> None:
    """The same for the whole training; best: the seed that ends lowest."""
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.2), layout="constrained")
        _twins(axes, apart, best)
        axes.set_title(f"Seed {best} leaves its twins")
        axes.text(3.2, -0.19, "better $\\downarrow$", color=OTHER)
        ends = []
        for seed, value in apart.iloc[-1].items():
            ends.append((12, value, f"seed {seed}", INK if seed == best else OTHER))
        plots.label_ends(axes, ends)
    points = apart.stack().rename("loss").rename_axis(["tokens", "seed"]).reset_index()
    plots.save(figure, points, figures_dir, "13_training")


def pairs(percent: pd.DataFrame, shown: pd.DataFrame, best: int, figures_dir: str) -> None:
    """Pair tokens at rank 1 of the twins and of the largest Qwen, by text.

    percent: a row for each S and seed, a column for each text; shown: the points to write
    """
    small, large = percent.index.get_level_values("S").unique()
    of_large = percent.loc[large].iloc[0]
    texts = percent.loc[small].loc[best].sort_values().index
    top = len(texts) - 1
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.2), layout="constrained")
        for height, text in enumerate(texts):
            axes.axhline(height, color=CONTEXT, linewidth=1, zorder=0)
            axes.plot(of_large[text], height, "|", color=INK, markersize=20, markeredgewidth=2)
            for seed, value in percent.loc[small][text].items():
                # Two twins can have the same percentage: one dot a little higher
                shift = 0.11 if seed == 1 else 0 if seed == best else -0.11
                colour = INK if seed == best else OTHER
                axes.plot(value, height + shift, "o", color=colour, markersize=8)
        twins = percent.loc[small][texts[-1]]
        axes.text(of_large[texts[-1]], top + 0.4, "7.8 times the size", ha="center")
        axes.text(twins[best] + 1.2, top, f"seed {best}", va="center")
        axes.text(twins[0] - 1.2, top, "its twins", va="center", ha="right", color=OTHER)
        axes.set_yticks(range(len(texts)), texts)
        axes.set(xlim=(20, 85), ylim=(-0.5, top + 0.8), xlabel="pair tokens at rank 1 (%)")
        axes.set_title("One twin completes as many pairs as a large model")
    points = shown[["corpus", "model", "S", "seed", "percent"]]
    points = points.sort_values(["corpus", "S", "seed"])
    plots.save(figure, points, figures_dir, "13_pairs")


def seeds(several: pd.DataFrame, figures_dir: str) -> None:
    """-ln RBP_1 against S on both kinds of tokens; seeds of one model are joined by a bar."""
    several = several.sort_values(["tokens", "family", "S"])
    kinds = ["pair tokens", "other tokens"]
    with plots.style():
        size = (plots.WIDTH, 3.4)
        figure, row = plt.subplots(
            1, 2, figsize=size, sharex=True, sharey=True, layout="constrained"
        )
        row[0].set_ylabel(r"$-\ln\,\mathrm{RBP}_1$ on prose")
        for axes, kind in zip(row, kinds, strict=True):
            axes.set(xscale="log", yscale="log", xlabel="$S$ (non-embedding parameters)")
            axes.set(title=kind, xlim=(2e4, 2e7))
            ends = []
            for family, part in several[several.tokens == kind].groupby("family"):
                ends.append(_family(axes, str(family), part))
            plots.log_ticks(axes)
            plots.label_ends(axes, ends)
        title = "Seeds part on pair tokens, not on the others"
        figure.suptitle(title, x=0.01, ha="left")
    plots.save(figure, several.drop(columns=["T", "log_loss"]), figures_dir, "13_seeds")


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


def all_tokens(ks: list[int]) -> pd.DataFrame:
    """Both kinds of tokens together, model by model: the table of `size_and_tokens`."""
    both = zip(load_totals(paths.PAIR_TOKENS), load_totals(paths.OTHER_TOKENS), strict=True)
    table = size_and_tokens([pair.plus(other) for pair, other in both], ks)
    return table[(table["T"] == 12e6) & table.family.isin(["Pythia", "Qwen"])]


def overview() -> pd.DataFrame:
    """Sizes and rates of each family of pocket models."""
    pocket = load_summaries(paths.SUMMARIES) + load_summaries(paths.MAMBA_SUMMARIES)
    S_of = {summary.manifest.model: summary.manifest.S for summary in pocket}
    rows = []
    for family in POCKET_FAMILIES:
        for run in recipes.runs_of(family):
            shape = run.shape
            rows.append((family, S_of[run.name], shape.width, shape.layers, run.recipe.rate))
    shapes = pd.DataFrame(rows, columns=["family", "S", "width", "layers", "c"])
    by_family = shapes.groupby("family", sort=False)
    table = by_family.S.agg(["size", "min", "max"])
    table = table.set_axis(["sizes", "smallest S", "largest S"], axis=1)
    for column in ("width", "layers"):
        ends = by_family[column].agg(["min", "max"]).astype(str)
        table[column] = ends["min"] + " to " + ends["max"]
    table["c"] = by_family.c.first()
    return table


def measured(records_dir: str) -> list[Summary]:
    """The reader's summaries; without a folder those of the pocket models, Mamba's included."""
    if records_dir:
        return load_summaries(records_dir, checkpoint="last", say=print)
    return load_summaries(paths.SUMMARIES) + load_summaries(paths.MAMBA_SUMMARIES)


def points(
    summaries: list[Summary], families: Sequence[str], corpora: Sequence[str], ks: Sequence[int]
) -> pd.DataFrame:
    """-log RBP_k of each model, with column k; prints what was not measured or has no line."""
    tables: list[pd.DataFrame] = []
    missing: list[str] = []
    for k in sorted(set(ks)):

        def rbp(summary, k=k):  # type: ignore[no-untyped-def]
            return summary.rbp(k)

        curves = measured_curves(summaries, corpora, families, rbp, f"RBP_{k}")
        missing += curves.missing
        table = plots.curve_points("measured", curves.curves.values())
        tables.append(table.assign(row=f"measured, k = {k}", k=k))
    print("\n".join(dict.fromkeys(missing)) or "nothing is missing")
    return pd.concat(tables, ignore_index=True)


def families(points: pd.DataFrame, figures_dir: str) -> None:
    """The families and their lines on the first text, at the first and the last k."""
    if points.empty:
        print("No family has three sizes on one text, so there is no line to draw.")
        return
    shown = points[points.corpus == points.corpus.iloc[0]]
    panel = shown.corpus.map(plots.short) + ", $k$ = " + shown.k.astype(str)
    label = r"$-\ln\,\mathrm{RBP}_k$"
    figure = plots.law_grid(shown.assign(panel=panel), panel="panel", ylabel=label)
    columns = ["row", "source", "corpus", "family", "model", "quantity", "S", "value", "loss"]
    plots.save(figure, points[columns], figures_dir, "pocket_beside")


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
    return table.drop_duplicates(["corpus", "quantity", "seed"])
