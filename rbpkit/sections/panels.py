"""Panels of a law: a row a source, a panel a corpus."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.figure import Figure

from rbpkit.errors import InputError
from rbpkit.fit import Curve
from rbpkit.plots import draw_law, plain_log_ticks, rows_of_panels, short, style


def law_panels(
    rows: Sequence[tuple[str, Sequence[Sequence[Curve]]]],
    ylabel: str,
    hollow: Collection[str] = (),
) -> Figure:
    """A grid of log-log panels: a row a source (its name, its panels), a panel a corpus.

    Each panel holds the curves of its families; those in `hollow` have open markers. Raises
    InputError for a source without panels.
    """
    if not rows or not all(panels for _, panels in rows):
        raise InputError("nothing to draw: a source has no corpus that was measured")
    with style():
        figure, grid = rows_of_panels([len(panels) for _, panels in rows], (3.3, 3.2))
        for axes_row, (source, panels) in zip(grid, rows, strict=True):
            for axes, curves in zip(axes_row, panels, strict=True):
                axes.set_xscale("log")
                axes.set_yscale("log")
                for curve in curves:
                    draw_law(axes, curve, hollow=curve.family in hollow)
                losses = np.concatenate([curve.loss for curve in curves])
                low, high = losses.min(), losses.max()
                # Room below the points: the lines fall to the right, so the legend is there.
                span = np.log(high / low)
                axes.set_ylim(
                    low * np.exp(-(0.28 + 0.1 * len(curves)) * span), high * np.exp(0.08 * span)
                )
                plain_log_ticks(axes, *axes.get_ylim())
                axes.set_title(f"{source}: {short(curves[0].corpus)}")
                axes.set_xlabel("$S$ (non-embedding parameters)")
                axes.legend(
                    title="slope, $R^2$",
                    title_fontsize=8,
                    alignment="left",
                    loc="lower left",
                    handletextpad=0.2,
                    borderpad=0.3,
                    labelspacing=0.25,
                )
            axes_row[0].set_ylabel(ylabel)
        figure.tight_layout()
    return figure
