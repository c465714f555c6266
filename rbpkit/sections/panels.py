"""What the figures of the sections and of the audit share: inks, names, bars, rows of panels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rbpkit.plots import FAMILY_INK, OTHER_INK, Ink
from rbpkit.pocket.documents import CORPORA


def ink_of(family: str) -> Ink:
    """How a family is drawn; one that is not the paper's in grey."""
    return FAMILY_INK.get(family, OTHER_INK)


def short(corpus: str) -> str:
    """A corpus as titles name it: without "pocket:"."""
    return corpus.removeprefix("pocket:")


def corpora_of(table: pd.DataFrame) -> list[str]:
    """The corpora of a table in the order of every figure: as they come, then the shipped ones."""
    place = {f"pocket:{name}": number for number, name in enumerate(CORPORA)}
    return sorted(dict.fromkeys(table["corpus"]), key=lambda corpus: place.get(corpus, -1))


def whiskers(table: pd.DataFrame, value: str, ends: str = "") -> np.ndarray:
    """(2, n): how far `ends`_low and `ends`_high (by default those of `value`) are from `value`."""
    ends = ends or value
    return np.abs(table[[f"{ends}_low", f"{ends}_high"]].to_numpy().T - table[value].to_numpy())


def family_marks(families: Iterable[str], label: str = "{}", **look: object) -> list[Line2D]:
    """A legend's handles: the marker of each family, beside its name put into `label`."""
    look = {"linestyle": "none", **look}
    return [
        Line2D([], [], color=ink.colour, marker=ink.marker, label=label.format(family), **look)
        for family, ink in ((family, ink_of(family)) for family in families)
    ]


def wrapped(panels: int, columns: int) -> list[int]:
    """How many of so many panels stand in each row of at most `columns`."""
    return [min(columns, panels - start) for start in range(0, panels, columns)]


def rows_of_panels(
    counts: Sequence[int],
    panel: tuple[float, float],
    more: tuple[float, float] = (0, 0),
    **settings: object,
) -> tuple[Figure, list[np.ndarray]]:
    """A figure with a row of so many panels for each of `counts`, and the panels of each row.

    panel: width and height of one, in inches; more: of what the figure has besides. What a row
    lacks of the longest stays blank. settings go to `plt.subplots`.
    """
    size = (panel[0] * max(counts) + more[0], panel[1] * len(counts) + more[1])
    figure, grid = plt.subplots(len(counts), max(counts), figsize=size, squeeze=False, **settings)
    for row, count in zip(grid, counts, strict=True):
        for axes in row[count:]:
            axes.set_visible(False)
    return figure, [row[:count] for row, count in zip(grid, counts, strict=True)]
