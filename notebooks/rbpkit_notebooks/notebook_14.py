"""What notebook 14 (repeated pairs) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from rbpkit import paper, plots
from rbpkit.corpora import load_corpus
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.plots import NARROW, headed
from rbpkit_notebooks.exercises import check_of
from rbpkit_pocket import paths
from rbpkit_pocket.families import load_tokenizer

check = check_of("14")

torch.set_num_threads(1)
FAMILIES = (*paper.FAMILIES, "Mamba")
COLUMNS = 60  # letters in a line of the text


def first_problem() -> list[int]:
    """The tokens of the first problem of HumanEval."""
    documents = load_corpus("pocket:humaneval").documents
    [problem] = [text for text in documents if "has_close_elements" in text]
    return load_tokenizer().encode(problem)


def text(tokens: Sequence[int], is_pair_token: Sequence[bool], figures_dir: str) -> None:
    """The text with its pair tokens filled, and a bar after each token."""
    tokenizer = load_tokenizer()
    title = f"{sum(is_pair_token)} of {len(tokens)} tokens complete a pair"
    with plots.panel(title, "filled: seen before, in this order", 5.4, NARROW + 0.6) as axes:
        column, line = 0, 0
        for token, is_pair in zip(tokens, is_pair_token, strict=True):
            for part in str(tokenizer.decode([token])).splitlines(keepends=True):
                letters = part.rstrip("\n")
                if column + len(letters) > COLUMNS:
                    column, line = 0, line + 1
                _word(axes, letters, column, line, is_pair)
                column += len(letters)
                if part.endswith("\n"):
                    column, line = 0, line + 1
        axes.set(xlim=(0, COLUMNS), ylim=(line + 1, 0))
        axes.axis("off")
    points = pd.DataFrame({"token": tokens, "pair": is_pair_token})
    plots.save(axes, points, figures_dir, "14_text")


def _word(axes: Axes, letters: str, column: int, line: int, is_pair: bool) -> None:
    if not letters:
        return
    if is_pair:
        box = Rectangle((column, line + 0.04), len(letters), 0.92, color=CONTEXT, lw=0)
        axes.add_patch(box)
    end = column + len(letters)
    axes.plot([end, end], [line + 0.1, line + 0.9], color=OTHER, lw=0.5)
    look: dict[str, Any] = {"family": "DejaVu Sans Mono", "size": 8.5, "parse_math": False}
    for place, letter in enumerate(letters):
        axes.text(column + place + 0.5, line + 0.5, letter, ha="center", va="center", **look)


def kinds(finished: pd.DataFrame, families: Sequence[str], figures_dir: str) -> None:
    """The loss on prose against S, for other tokens and for pair tokens."""
    shown = finished.query("corpus == 'prose' and quantity == 'RBP_1' and kind != 'all'")
    headings = {"other": "parallel lines", "pair": "Pythia breaks away"}
    with plots.panels(3.8, NARROW + 0.4, ncols=2, sharey=True, sharex=True) as (figure, both):
        for axes, (kind, words) in zip(both, headings.items(), strict=True):
            axes.set(xscale="log", yscale="log", ylim=(0.3, 1.85), xlim=(2e4, 1.2e7))
            headed(axes, f"{kind} tokens", words)
            of_kind = shown[shown["kind"] == kind]
            ends = [_family(axes, of_kind, family) for family in families]
            # On pair tokens GPT-2 ends among OPT's marks
            plots.label_ends(axes, ends if kind == "other" else ends[-1:])
        plots.ticks(both[0].yaxis, [0.3, 0.5, 0.7, 1, 1.5])
        both[0].set_ylabel(r"$-\log\,\mathrm{RBP}_1$ on prose")
        figure.supxlabel(plots.SIZE, fontsize=11)
    plots.save(figure, shown, figures_dir, "14_pairs")


def _family(
    axes: Axes, table: pd.DataFrame, family: str, y: str = "loss"
) -> tuple[float, float, str, str]:
    """Draw a family against S; return what `plots.label_ends` needs."""
    part = table[table["family"] == family].sort_values("S")
    ink = plots.ink_of(family)
    axes.plot(part["S"], part[y], ink.marker + "-", color=ink.colour, ms=6)
    return part["S"].iloc[-1], part[y].iloc[-1], plots.name_of(family), ink.colour


def gains(probed: pd.DataFrame, figures_dir: str) -> None:
    """The gain from the order against S, for every pocket model."""
    names = {path.name for path in paths.MODELS.iterdir()}
    ours = probed[probed["model"].isin(names)]
    title = "Pythia copies from its third size on,\nQwen now and then"
    with plots.panel(title, "gain from the order of 40 random tokens", 3.8) as axes:
        axes.set(xscale="log", xlabel=plots.SIZE, xlim=(2e4, 1.4e7), ylim=(-0.25, 1.95))
        axes.set_ylabel("gain (nats)")
        axes.vlines(ours["S"], ours["order_low"], ours["order_high"], color=OTHER, lw=1)
        ends = [_family(axes, ours, family, "order") for family in FAMILIES]
        ends[-1] = (1e5, -0.15, *ends[-1][2:])  # the Mambas end among the marks of others
        plots.label_ends(axes, ends)
    plots.save(axes, ours, figures_dir, "14_copying")


def twins(excess: pd.DataFrame, copying: Sequence[tuple[str, int]], figures_dir: str) -> None:
    """How far three seeds of two Qwens are above the line in CE at k = 1, on each text.

    excess: percent, a row for each model and seed, a column for each text
    """
    with plots.panels(3.4, NARROW + 0.6, ncols=2, sharex=True, sharey=True) as (figure, row):
        for axes, (model, seed) in zip(row, copying, strict=True):
            three = excess.loc[model]
            others = three.drop(seed)
            axes.axvline(0, color=CONTEXT, lw=1)
            axes.plot(others.T, others.columns, "o", color=OTHER, ms=7, mfc="white")
            axes.plot(three.loc[seed], others.columns, "o", color=INK, ms=7)
            axes.set(title=f"{model}, seed {seed}", xlim=(-5.5, 3), ylim=(4.5, -0.5))
        figure.supxlabel("rank loss at k = 1 above the line in CE (%)", fontsize=11)
        line = "filled: the copying twin; hollow: its two twins"
        plots.headed_row(figure, "Copying lowers the rank loss beyond CE", line)
    models = [model for model, _ in copying]
    points = excess.loc[models].stack().rename("above_line").reset_index()
    plots.save(figure, points, figures_dir, "14_twins")


def with_rates(probed: pd.DataFrame) -> pd.DataFrame:
    """The probed models that were trained at both learning rates, with the column `rate`."""
    pattern = r"pythia-w(32-l2|48-l3|64-l4)(-rate0.175)?|gpt2-w(32-l2|48-l4|64-l6)(-rate0.7)?"
    rates = probed[probed["model"].str.fullmatch(pattern)]
    is_high = (rates["family"] == "Pythia") ^ rates["model"].str.contains("rate")
    return rates.assign(rate=np.where(is_high, "Pythia's rate", "GPT-2's rate"))
