"""An explorer of Section 3: a sentence of one's own under several models, its tokens by rank."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from rbpkit.plots import style
from rbpkit.tools.explorers import has_server, sliders
from rbpkit.tools.look import BUCKETS, COLOURS, Look, bucket, visible

COLUMNS = 64  # characters on a line


def explore_sentence(looks: Sequence[Look], ks: Sequence[int]) -> Figure | None:
    """A panel for each model: tokens with R <= k in the colour of their rank's group.

    looks: the same text under each model. Tokens with R > k, and tokens without a rank, are white.
    Shows a slider for k if a Jupyter server runs this kernel; otherwise returns a still picture at
    the first of `ks`.
    """
    if not has_server():
        return _panels(looks, ks[0])
    options = sorted({1, *ks, *rank_points(looks)["rank"]})
    return sliders(lambda k: _panels(looks, k), ks[:1], k=options)


def rank_points(looks: Sequence[Look]) -> pd.DataFrame:
    """A row for each scored token and model: model, position, token, rank."""
    rows = [
        (look.model, position, visible(token.piece, space=" "), token.rank)
        for look in looks
        for position, token in enumerate(look.tokens)
        if token.rank is not None
    ]
    return pd.DataFrame(rows, columns=["model", "position", "token", "rank"])


def _panels(looks: Sequence[Look], k: int) -> Figure:
    with style(), plt.rc_context({"axes.titlesize": 9, "legend.columnspacing": 1}):
        figure, axes = plt.subplots(len(looks), 1, squeeze=False)
        lines = [_draw(panel, look, k) for panel, look in zip(axes[:, 0], looks, strict=True)]
        axes[0, 0].get_gridspec().set_height_ratios(lines)
        height = sum(lines) * 0.24 + 0.5 * len(looks) + 0.4  # inches
        figure.set_size_inches(5.2, height)
        keys = [Patch(color=c, label=name) for name, (c, _) in zip(BUCKETS, COLOURS, strict=True)]
        figure.legend(handles=keys, loc="lower center", ncols=6, fontsize=7, frameon=False)
        figure.tight_layout(rect=(0, 0.25 / height, 1, 1))
    return figure


def _draw(axes: Axes, look: Look, k: int) -> int:
    """Draw the text on lines of COLUMNS characters -> how many lines."""
    column, line = 0, 0
    for token in look.tokens:
        text = visible(token.piece, space=" ")
        if column and column + len(text) > COLUMNS:
            column, line = 0, line + 1
        fill, ink = "#ffffff", "#b0b4ba" if token.rank is None else "#8a8f98"
        if token.rank is not None and token.rank <= k:
            fill, ink = COLOURS[bucket(token.rank)]
        corner, size = (column + 0.05, line + 0.08), (len(text) - 0.1, 0.84)
        axes.add_patch(Rectangle(corner, *size, facecolor=fill, edgecolor="#ccd1d8", lw=0.4))
        font = {"color": ink, "family": "DejaVu Sans Mono", "size": 9, "parse_math": False}
        for x, letter in enumerate(text, start=column):
            axes.text(x + 0.5, line + 0.55, letter, ha="center", va="center", **font)
        column += len(text)
    hits = sum(token.rank <= k for token in look.scored)
    axes.set_title(f"{look.model}: R ≤ {k} at {hits} of {len(look.scored)} tokens", loc="left")
    axes.set(xlim=(0, COLUMNS), ylim=(line + 1, 0))
    axes.axis("off")
    return line + 1
