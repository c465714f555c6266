"""A text with its tokens coloured by rank, under models of several sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib import RcParams
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
    by_size = {look.S: look for look in sorted(looks, key=lambda look: look.S)}
    if not has_server():
        return _panels(looks, [by_size[S] for S in stills])
    sliders(lambda S: _panels(looks, [by_size[S]]), stills[:1], S=list(by_size))
    return None


def rank_points(looks: Sequence[Look]) -> pd.DataFrame:
    """A row for each scored token and model: model, S, position, token, rank."""
    rows = []
    for look in looks:
        for position, token in enumerate(look.tokens):
            if token.rank is not None:
                spelt = visible(token.piece, space=" ")
                rows.append((look.model, look.S, position, spelt, token.rank))
    return pd.DataFrame(rows, columns=["model", "S", "position", "token", "rank"])


def _lines(piece: bytes) -> list[str]:
    """What a token writes on one line after another; all but the last end in a newline."""
    return re.findall(r"[^\n]+\n?", visible(piece, newline="\u21b5\n", space=" "))


def _panels(looks: Sequence[Look], shown: Sequence[Look]) -> Figure:
    """A panel for each of `shown`, and below them the groups that occur in any of `looks`."""
    text = ""
    for token in looks[0].tokens:
        text += "".join(_lines(token.piece))
    longest_line = max(len(line) for line in text.split("\n"))
    width = min(WIDEST, longest_line)
    columns = min(2, len(shown))
    rows = -(-len(shown) // columns)  # rounded up
    with style(), plt.rc_context(RcParams({"axes.titlesize": 9})):
        figure, grid = plt.subplots(rows, columns, squeeze=False)
        heights = []
        for axes, look in zip(grid.flat, shown, strict=False):
            heights.append(_draw(axes, look, width))
        height = max(heights)
        for axes in grid.flat:
            axes.set(xlim=(0, width), ylim=(height, 0))
            axes.axis("off")
        figure.set_size_inches(0.075 * width * columns, (0.2 * height + 0.4) * rows)
        keys = _key(looks)
        figure.set_layout_engine("constrained")
        figure.legend(
            handles=keys,
            loc="outside lower center",
            ncols=len(keys) if columns > 1 else 3,
            frameon=False,
            handlelength=1.4,
            columnspacing=1,
        )
    return figure


def _key(looks: Sequence[Look]) -> list[Patch]:
    """A patch for each group of ranks that occurs under some model."""
    groups: set[int] = set()
    for look in looks:
        groups.update(rank_group(rank) for rank in look.ranks)
    return [
        Patch(facecolor=RANK_FILLS[group], edgecolor="0.7", label=RANK_GROUPS[group])
        for group in sorted(groups)
    ]


def _draw(axes: Axes, look: Look, width: int) -> int:
    """Draw the text on lines of `width` characters -> how many lines."""
    column, line = 0, 0
    for token in look.tokens:
        fill, ink = "none", "0.6"
        if token.rank is not None:
            group = rank_group(token.rank)
            fill, ink = RANK_FILLS[group], RANK_LETTERS[group]
        for part in _lines(token.piece):
            letters = part.rstrip("\n")
            if column and column + len(letters) > width:
                column, line = 0, line + 1
            _draw_letters(axes, letters, column, line, fill, ink)
            column += len(letters)
            if part.endswith("\n"):
                column, line = 0, line + 1
    first = look.ranks.count(1)
    axes.set_title(f"S = {look.S:,}: rank 1 at {first} of {len(look.ranks)} tokens", loc="left")
    return line + (column > 0)


def _draw_letters(axes: Axes, letters: str, column: int, line: int, fill: str, ink: str) -> None:
    """A box of one unit a letter, and the letters in it."""
    corner = (column + 0.05, line + 0.06)
    box = Rectangle(
        corner, len(letters) - 0.1, 0.88, facecolor=fill, edgecolor="0.8", linewidth=0.4
    )
    axes.add_patch(box)
    for x, letter in enumerate(letters, start=column):
        axes.text(
            x + 0.5,
            line + 0.52,
            letter,
            ha="center",
            va="center",
            color=ink,
            family="DejaVu Sans Mono",
            size=8,
            parse_math=False,
        )
