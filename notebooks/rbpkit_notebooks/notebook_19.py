"""What notebook 19 (pictures to words) reads and draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from rbpkit import plots
from rbpkit.fit import Array, fit_power_law
from rbpkit.measuring import measure
from rbpkit.palette import GREYS, INK, OTHER, RANK_FILLS, RANK_LETTERS, rank_group
from rbpkit.plots import NARROW, headed
from rbpkit.records import load_summaries
from rbpkit.summary import Summary
from rbpkit_notebooks.exercises import check_of
from rbpkit_pocket import paths
from rbpkit_pocket.captions import captions_of, load_captioner
from rbpkit_pocket.glyphs import load_glyphs, pictures

check = check_of("19")

torch.set_num_threads(1)
SCRIPTS = "BRAILLE MATHEMATICAL CYRILLIC LATIN GREEK ARABIC ARMENIAN GEORGIAN CANADIAN".split()


def read_summaries() -> tuple[pd.DataFrame, dict[tuple[str, str], Summary]]:
    """The table of test pictures, and the captioners' summaries by text and model."""
    measured = {}
    for summary in load_summaries(paths.CAPTIONER_SUMMARIES):
        measured[summary.manifest.corpus, summary.manifest.model] = summary
    return load_glyphs("test"), measured


def ranks_of(model_name: str, place: int) -> tuple[list[str], list[int]]:
    """The tokens of one test picture's name, and their ranks under a model."""
    glyphs = load_glyphs("test")
    row = {"text": glyphs["name"][place], "picture": pictures("test", 0)[place]}
    corpus = captions_of([row], "one glyph", field="text", image="picture")
    model = load_captioner(f"pocket:{model_name}")
    records = measure(model, corpus).records
    words = [str(model.tokenizer.decode([i])).strip() or "_" for i in records.target]
    return words, [int(rank) for rank in records.rank()]


# --- figures ---------------------------------------------------------------------------------


def _draw_name(axes: Axes, words: Sequence[str], ranks: Sequence[int]) -> None:
    """The tokens in a row, each filled by its rank, with the rank below."""
    x = 0.0
    for word, rank in zip(words, ranks, strict=True):
        width = 0.5 + 0.34 * len(word)
        group = rank_group(rank)
        axes.add_patch(Rectangle((x, 0), width - 0.08, 1, facecolor=RANK_FILLS[group]))
        middle, colour = x + width / 2, RANK_LETTERS[group]
        axes.text(middle, 0.5, word, ha="center", va="center", color=colour)
        axes.text(middle, -0.15, str(rank), ha="center", va="top")
        x += width
    axes.set(xlim=(-0.1, x), ylim=(-0.9, 1.6))
    axes.axis("off")


def _draw_picture(axes: Axes, place: int) -> None:
    axes.imshow(pictures("test", 0)[place], cmap="gray", vmin=0, vmax=255)
    axes.axis("off")


def first_name(place: int, words: Sequence[str], ranks: list[int], figures_dir: str) -> None:
    """A test picture, its name, and the ranks of the name's tokens."""
    with plots.panels(1.7, NARROW + 0.8, ncols=2, width_ratios=(1, 5)) as (figure, (left, right)):
        _draw_picture(left, place)
        _draw_name(right, words, ranks)
        title = f"{ranks.count(1)} of {len(ranks)} tokens are the model's first guess"
        headed(right, title, "below: rank, given the picture and the tokens before")
    points = pd.DataFrame({"token": words, "rank": ranks})
    plots.save(figure, points, figures_dir, "19_glyphs")


def law(
    S: Sequence[float], each: Mapping[str, Array], loss: Mapping[str, Array], figures_dir: str
) -> None:
    """-log RBP_1 against S; each, loss: kind -> (sizes, seeds, quantities), (sizes, quantities)."""
    sizes = np.array(S, dtype=float)
    title = "Seen characters improve\nwith size, new ones hardly"
    with plots.panel(title, "loss in nats; bars: from the lowest to the highest seed", 4.2) as axes:
        ends, points = [], []
        for kind, colour in (("seen", INK), ("never seen", OTHER)):
            values, mean = each[kind][:, :, 1], loss[kind][:, 1]
            bars = [mean - values.min(axis=1), values.max(axis=1) - mean]
            axes.errorbar(sizes, mean, bars, fmt="X", color=colour, ms=7, capsize=2)
            line = fit_power_law(sizes, mean)
            axes.plot(sizes[[0, -1]], line.predict(sizes[[0, -1]]).loss, color=colour, lw=1.2)
            ends.append((sizes[-1], mean[-1], f"{kind}:\n$\\alpha$ = {line.alpha:.2f}", colour))
            points += [(kind, s, m) for s, m in zip(sizes, mean, strict=True)]
        axes.set(
            xscale="log",
            yscale="log",
            xlim=(2e4, 6e6),
            xlabel="$S$ of the text decoder, parameters",
        )
        axes.set_ylabel(r"$-\log\,\mathrm{RBP}_1$")
        plots.log_ticks(axes)
        plots.label_ends(axes, ends)
    table = pd.DataFrame(points, columns=["characters", "S", "loss"])
    plots.save(axes, table, figures_dir, "19_law")


def scripts(
    shares: pd.Series, braille: int, words: Sequence[str], ranks: Sequence[int], figures_dir: str
) -> None:
    """The share of whole names by script, and one Braille picture with its ranks."""
    with plots.panels(5.2, NARROW + 0.6, nrows=2, height_ratios=(3, 1)) as (figure, (axes, below)):
        colours = [INK if name == "BRAILLE" else GREYS[0] for name in shares.index]
        axes.barh(shares.index.str.capitalize(), shares, color=colours)
        for row, share in enumerate(shares):
            axes.text(share + 0.01, row, f"{share:.0%}", va="center")
        axes.set(xlim=(0, 1), xlabel="whole names right")
        axes.set_xticks([0, 0.5, 1], ["0%", "50%", "100%"])
        line = "characters never seen; largest size, mean of three seeds"
        headed(axes, "Hardly any name is right, except Braille", line)
        _draw_picture(below.inset_axes((0, 0, 0.17, 1)), braille)
        _draw_name(below.inset_axes((0.2, 0, 0.8, 1)), words, ranks)
        below.axis("off")
    points = shares.rename("share").rename_axis("script").reset_index()
    plots.save(figure, points, figures_dir, "19_scripts")
