"""An explorer of Section 3: a sentence of one's own under several models, its tokens by rank."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from rbpkit.errors import InputError
from rbpkit.sections import plots
from rbpkit.tools.explorers import has_server
from rbpkit.tools.look import Look, Token
from rbpkit.tools.look_page import BUCKETS, RAMPS, bucket

COLUMNS = 64  # characters a line
CHARACTER = 0.075  # inches; of a monospaced letter at the size below
SIZE = 9
MISSED = ("#ffffff", "#8a8f98")


def explore_sentence(looks: Sequence[Look], ks: Sequence[int]) -> Figure | None:
    """A slider for k over `panels` where a Jupyter server runs this kernel, else a still picture.

    The still picture is at the first of `ks`. InputError as `panels`.
    """
    if not ks:
        raise InputError("give at least one k")
    if not has_server():
        return panels(looks, ks[0])
    from ipywidgets import SelectionSlider, interact

    seen = {token.rank for look in looks for token in look.scored}
    slider = SelectionSlider(options=sorted({1, *ks, *seen}), value=ks[0], description="k")
    # Shown and closed here: what is returned or left open would be shown a second time.
    interact(lambda k: plots.show(panels(looks, k)), k=slider)
    return None


def panels(looks: Sequence[Look], k: int) -> Figure:
    """A panel a model: the text, tokens with R <= k filled with the ink of their rank's group.

    looks: of the same text, one a model. The first token has no rank and stands in grey; tokens
    with R > k stand on white. Raises InputError for no text at all.
    """
    if not looks:
        raise InputError("nothing to draw: give the text under at least one model")
    laid = [_lines(look.tokens) for look in looks]
    rows = [1 + max(row for *_, row in one) for one in laid]
    with plots.style():
        figure, axes = plt.subplots(
            len(looks),
            1,
            figsize=(COLUMNS * CHARACTER + 0.4, sum(rows) * 0.24 + 0.5 * len(looks) + 0.4),
            squeeze=False,
            height_ratios=rows,
        )
        for one, tokens, count, panel in zip(looks, laid, rows, axes[:, 0], strict=True):
            _draw(panel, tokens, k, count)
            hits = sum(token.rank <= k for token in one.scored)
            panel.set_title(
                f"{one.model}: R ≤ {k} at {hits} of {len(one.scored)} tokens",
                loc="left",
                fontsize=9,
            )
        handles = [Rectangle((0, 0), 1, 1, facecolor=fill) for fill, _ in RAMPS["light"]]
        figure.legend(
            handles,
            [f"rank {BUCKETS[0]}", *BUCKETS[1:]],
            loc="lower center",
            ncols=len(BUCKETS),
            fontsize=7,
            frameon=False,
            handlelength=1.2,
            columnspacing=1.0,
        )
        figure.tight_layout(rect=(0, 0.25 / figure.get_size_inches()[1], 1, 1))
    return figure


def rank_points(looks: Sequence[Look]) -> pd.DataFrame:
    """A row a scored token and model: model, position, token, rank."""
    rows = [
        (look.model, token.position, _shown(token), token.rank)
        for look in looks
        for token in look.scored
    ]
    return pd.DataFrame(rows, columns=["model", "position", "token", "rank"])


def _lines(tokens: Sequence[Token]) -> list[tuple[Token, str, int, int]]:
    """Each token with its spelling, column and row, wrapped at COLUMNS."""
    placed, column, row = [], 0, 0
    for token in tokens:
        text = _shown(token)
        if column and column + len(text) > COLUMNS:
            column, row = 0, row + 1
        placed.append((token, text, column, row))
        column += len(text)
    return placed


def _shown(token: Token) -> str:
    """The token in characters that a monospaced font has; a newline and a tab as signs."""
    return token.piece.decode("utf-8", errors="replace").replace("\n", "↵").replace("\t", "→")


def _draw(axes: Axes, tokens: list[tuple[Token, str, int, int]], k: int, rows: int) -> None:
    for token, text, column, row in tokens:
        hit = token.rank is not None and token.rank <= k
        fill, ink = RAMPS["light"][bucket(token.rank)] if hit else MISSED
        box = Rectangle((column + 0.05, row + 0.08), len(text) - 0.1, 0.84, facecolor=fill, lw=0.4)
        box.set_edgecolor("#ccd1d8")
        axes.add_patch(box)
        for place, character in enumerate(text):
            axes.text(
                column + place + 0.5,
                row + 0.55,
                character.replace("$", r"\$"),
                color=ink if token.rank is not None else "#b0b4ba",
                family="DejaVu Sans Mono",
                fontsize=SIZE,
                ha="center",
                va="center",
            )
    axes.set(xlim=(0, COLUMNS), ylim=(rows, 0))
    axes.axis("off")
