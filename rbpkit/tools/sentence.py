"""A text with its tokens coloured by rank, under models of several sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from rbpkit.palette import RANK_FILLS, RANK_GROUPS, RANK_LETTERS, rank_group
from rbpkit.plots import style
from rbpkit.tools.explorers import has_server, sliders
from rbpkit.tools.look import Look, visible

WIDEST = 64  # characters on a line


def explore_sentence(looks: Sequence[Look], stills: Sequence[int]) -> Figure | None:
    """The text under each model, a token in the colour of its rank's group.

    looks: one text under models of different S. stills: the S to show, two in a row. If a Jupyter
    server runs this kernel, a slider over S instead (and None). A token that is not scored has
    grey letters. The legend has the groups that occur under some model.
    """
    by_size = {one.S: one for one in sorted(looks, key=lambda one: one.S)}
    if has_server():
        return sliders(lambda S: _panels(looks, [by_size[S]]), stills[:1], S=list(by_size))
    return _panels(looks, [by_size[S] for S in stills])


def rank_points(looks: Sequence[Look]) -> pd.DataFrame:
    """A row for each scored token and model: model, S, position, token, rank."""
    rows = [
        (look.model, look.S, position, visible(token.piece, space=" "), token.rank)
        for look in looks
        for position, token in enumerate(look.tokens)
        if token.rank is not None
    ]
    return pd.DataFrame(rows, columns=["model", "S", "position", "token", "rank"])


def _lines(piece: bytes) -> list[str]:
    """What a token writes on one line after another; all but the last end in a newline."""
    return re.findall(r"[^\n]+\n?", visible(piece, newline="\u21b5\n", space=" "))


def _panels(looks: Sequence[Look], shown: Sequence[Look]) -> Figure:
    text = "".join(part for token in looks[0].tokens for part in _lines(token.piece))
    columns = min(WIDEST, max(map(len, text.split("\n"))))
    in_a_row = min(2, len(shown))
    with style(), plt.rc_context({"axes.titlesize": 9}):
        figure, grid = plt.subplots(-(-len(shown) // in_a_row), in_a_row, squeeze=False)
        lines = [_draw(axes, look, columns) for axes, look in zip(grid.flat, shown, strict=False)]
        for axes in grid.flat:
            axes.set(xlim=(0, columns), ylim=(max(lines), 0))
            axes.axis("off")
        figure.set_size_inches(0.075 * columns * in_a_row, (0.2 * max(lines) + 0.4) * len(grid))
        groups = sorted({rank_group(token.rank) for one in looks for token in one.scored})
        keys = [
            Patch(facecolor=RANK_FILLS[n], edgecolor="0.7", label=RANK_GROUPS[n]) for n in groups
        ]
        figure.set_layout_engine("constrained")
        place = {"loc": "outside lower center", "ncols": len(keys) if in_a_row > 1 else 3}
        figure.legend(handles=keys, frameon=False, handlelength=1.4, columnspacing=1, **place)
    return figure


def _draw(axes: Axes, look: Look, columns: int) -> int:
    """Draw the text on lines of so many characters -> how many lines."""
    column, line = 0, 0
    for token in look.tokens:
        fill, ink = "none", "0.6"
        if token.rank is not None:
            group = rank_group(token.rank)
            fill, ink = RANK_FILLS[group], RANK_LETTERS[group]
        for part in _lines(token.piece):
            text = part.rstrip("\n")
            if column and column + len(text) > columns:
                column, line = 0, line + 1
            box = (column + 0.05, line + 0.06), len(text) - 0.1, 0.88
            axes.add_patch(Rectangle(*box, facecolor=fill, edgecolor="0.8", linewidth=0.4))
            font = {"color": ink, "family": "DejaVu Sans Mono", "size": 8, "parse_math": False}
            for x, letter in enumerate(text, start=column):
                axes.text(x + 0.5, line + 0.52, letter, ha="center", va="center", **font)
            column, line = (0, line + 1) if part.endswith("\n") else (column + len(text), line)
    first = sum(token.rank == 1 for token in look.scored)
    axes.set_title(f"S = {look.S:,}: rank 1 at {first} of {len(look.scored)} tokens", loc="left")
    return line + (column > 0)
