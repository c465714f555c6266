"""The figure of `rbpkit fit`, for a report: points with their names, lines, and their bands."""

from __future__ import annotations

import re
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

from rbpkit import plots
from rbpkit.errors import InputError
from rbpkit.fit import Curve, fit_power_law
from rbpkit.palette import CONTEXT, OTHER


def law_figure(curves: Sequence[Curve], x: str = plots.SIZE) -> Figure:
    """Losses on log-log axes, a panel for each corpus and quantity.

    Each family has its line, and as a band the 95% interval for one new model. A line whose slope
    cannot be told from 0 is grey and dashed. x: what the curves have as their S.
    """
    panels: dict[tuple[str, str], list[Curve]] = {}
    for curve in curves:
        if ((curve.loss > 0) & np.isfinite(curve.loss)).any():  # log axes have no other place
            panels.setdefault((curve.corpus, curve.quantity), []).append(curve)
    rows = -(-len(panels) // 2)
    with plots.style():
        figure = plt.figure(figsize=(9.2, 3.8 * rows), layout="constrained")
        for place, ((corpus, quantity), members) in enumerate(panels.items(), start=1):
            axes = figure.add_subplot(rows, 2, place, xscale="log", yscale="log")
            inks = plots.inks_of(curve.family for curve in members)
            laws = [_draw(axes, curve, inks[curve.family]) for curve in members]
            plots.log_ticks(axes)
            low, high = axes.get_xlim()
            if high / low < 100:  # there is one decade at most: more ticks, not all of which fit
                axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axes.xaxis.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(9, 9)))
            axes.xaxis.set_minor_formatter(NullFormatter())
            name = re.sub(r"_(\w+)$", r"$_{\1}$", quantity)
            y = "CE (nats a token)" if quantity == "CE" else f"$-\\log$ {name}"
            axes.set(xlabel=x, ylabel=y)
            plots.headed(axes, f"{name} on {plots.short(corpus)}", "\n".join(laws))
        for axes, members in zip(figure.axes, panels.values(), strict=True):  # all is in its place
            inks = plots.inks_of(curve.family for curve in members)
            ends = []
            for curve in members:
                for model, S, loss in zip(curve.models, curve.S, curve.loss, strict=True):
                    if model and 0 < loss < np.inf:
                        name = model.partition("/checkpoint-")[0]
                        ends.append((S, loss, name, inks[curve.family].colour))
            plots.label_ends(axes, ends)
    return figure


def _draw(axes: Axes, curve: Curve, ink: plots.Ink) -> str:
    """The points of one family, its line and its band; the law in words."""
    axes.plot(curve.S, curve.loss, ink.marker, color=ink.colour, zorder=3, **plots.MARKER_LOOK)
    name = plots.name_of(curve.family)
    try:
        fit = fit_power_law(curve.S, curve.loss)
    except InputError:
        return f"{name}: no line"
    sizes = np.geomspace(fit.S_min, fit.S_max, 50)
    predicted = fit.predict(sizes)
    axes.fill_between(sizes, predicted.low, predicted.high, color=CONTEXT, alpha=0.6, linewidth=0)
    low, high = fit.slope_interval
    in_doubt = low <= 0 <= high
    style, colour = ("--", OTHER) if in_doubt else ("-", ink.colour)
    axes.plot(sizes, predicted.loss, style, color=colour, linewidth=1.2)
    doubt = ", which may be 0" if in_doubt else ""
    return f"{name}: slope {fit.slope:.3f} ({low:.3f} to {high:.3f}){doubt}"
