"""Explorers of the notebooks: a formula or a fit that follows its sliders.

Each shows sliders if a Jupyter server runs the kernel. Otherwise (papermill, nbval, a web page) it
gives a still picture with a panel for each of some chosen values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from rbpkit import plots
from rbpkit.errors import InputError


def has_server() -> bool:
    """Whether a Jupyter server runs this kernel, so that a slider would be shown and be alive."""
    return bool(os.environ.get("JPY_SESSION_NAME"))


def explore(
    draw: Callable[..., object],
    stills: Sequence[tuple],
    size: tuple[float, float] = (4.6, 3.6),
    **options: Sequence,
) -> Figure | None:
    """A control for each of `options`, over a panel that `draw(axes, *values)` draws.

    - options: an argument of `draw` -> its values, as for `sliders`, in the order of its arguments.
    - stills: tuples of values. The controls start at the first. If no server runs the kernel, a
      figure with a panel for each is returned instead.
    - size: of a panel, in inches.

    Raises InputError without stills.
    """
    if not stills:
        raise InputError("nothing to draw: name at least one set of values")

    def panels(chosen: Sequence[tuple]) -> Figure:
        width, height = size
        with plots.style():
            figure, grid = plt.subplots(
                1, len(chosen), figsize=(width * len(chosen), height), squeeze=False
            )
            for axes, values in zip(grid[0], chosen, strict=True):
                draw(axes, *values)
            figure.tight_layout()
        return figure

    if not has_server():
        return panels(stills)
    sliders(lambda *values: panels([values]), stills[0], **options)
    return None


def sliders(figure: Callable[..., Figure], first: Sequence, **options: Sequence) -> None:
    """A control for each of `options`, over `figure(*values)`, which is drawn again when one moves.

    options: a name -> a list of values (numbers: a slider; strings: a menu), or a tuple
    (low, high) of floats. first: the values at which the controls start.
    """
    from ipywidgets import Dropdown, FloatSlider, SelectionSlider, interact

    controls = {}
    for (name, values), value in zip(options.items(), first, strict=True):
        if isinstance(values, tuple):
            low, high = values
            controls[name] = FloatSlider(
                value, min=low, max=high, step=0.01, continuous_update=False
            )
        elif isinstance(value, str):
            controls[name] = Dropdown(options=values, value=value)
        else:
            controls[name] = SelectionSlider(options=values, value=value)

    def draw_again(**values: Any) -> None:
        # Shown and closed here: a figure that is returned or left open would be shown twice.
        plots.show(figure(*values.values()))

    interact(draw_again, **controls)
