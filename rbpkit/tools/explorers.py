"""Explorers of the notebooks: a formula or a fit that follows its sliders.

Each shows sliders if a Jupyter server runs the kernel. Otherwise (papermill, nbval, a web page) it
gives a still picture with a panel for each of some chosen values.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rbpkit import paper, plots
from rbpkit.errors import InputError
from rbpkit.fit import Curve, Measured
from rbpkit.plots import draw_law, ink_of, plain_log_ticks, rows_of_panels
from rbpkit.stats.curves import measured_curves, published_curves

LawKey = tuple[str, str, int]  # corpus, family, k


def has_server() -> bool:
    """Whether a Jupyter server runs this kernel, so that a slider would be shown and be alive."""
    return bool(os.environ.get("JPY_SESSION_NAME"))


def explore(draw: Callable, stills: Sequence[tuple], **options: Sequence) -> Figure | None:
    """A control for each of `options`, over a panel that `draw(axes, *values)` draws.

    options: an argument of `draw` -> its values, as for `sliders`, in the order of its arguments.
    stills: tuples of values. The controls start at the first. If no server runs the kernel, a
    figure with a panel for each is returned instead. Raises InputError without stills.
    """
    if not stills:
        raise InputError("nothing to draw: name at least one set of values")

    def panels(*stills: tuple) -> Figure:
        with plots.style():
            figure, [row] = rows_of_panels([len(stills)], (4.6, 3.6))
            for axes, values in zip(row, stills, strict=True):
                draw(axes, *values)
            figure.tight_layout()
        return figure

    if not has_server():
        return panels(*stills)
    return sliders(lambda *values: panels(values), stills[0], **options)


def sliders(figure: Callable[..., Figure], first: Sequence, **options: Sequence) -> None:
    """A control for each of `options`, over `figure(*values)`, which is drawn again when one moves.

    options: a name -> a list of values (numbers: a slider; strings: a menu), or a tuple
    (low, high) of floats. first: the values at which the controls start.
    """
    from ipywidgets import Dropdown, FloatSlider, SelectionSlider, interact

    controls = {}
    for (name, values), value in zip(options.items(), first, strict=True):
        if isinstance(values, tuple):
            ends = dict(zip(("min", "max"), values, strict=True))
            controls[name] = FloatSlider(value, step=0.01, continuous_update=False, **ends)
        else:
            control = Dropdown if isinstance(value, str) else SelectionSlider
            controls[name] = control(options=values, value=value)
    # Shown and closed here: a figure that is returned or left open would be shown a second time.
    interact(lambda **values: plots.show(figure(*values.values())), **controls)


def law_curves(
    measured: Sequence[Measured], corpora: Sequence[str], families: Sequence[str], ks: Sequence[int]
) -> dict[LawKey, Curve]:
    """(corpus, family, k) -> RBP_k against S: published where the paper plots it, and measured.

    Measured curves have the k of `ks`, published ones all that Figures 3 to 5 plot. Curves that no
    line can be fitted to are left out.
    """
    found: dict[LawKey, Curve] = {}
    for k in sorted(set(paper.rbp_by_size()["k"])):
        for (corpus, family), curve in published_curves(int(k)).items():
            if np.ptp(curve.loss) > 0 and np.all(np.isfinite(curve.loss) & (curve.loss > 0)):
                found[corpus, family, int(k)] = curve
    for k in ks:
        rbp = operator.methodcaller("rbp", k)
        curves = measured_curves(measured, corpora, families, rbp, f"RBP_{k}").curves
        found |= {(*key, k): curve for key, curve in curves.items()}
    return found


def law_panel(axes: Axes, curve: Curve) -> None:
    """Points, line and the 95% interval for one new model, a decade beyond the largest.

    The interval is that of `PowerLawFit.predict`, from the residuals (Student's t, n - 2).
    """
    axes.set(xscale="log", yscale="log", xlabel="$S$ (non-embedding parameters)")
    fitted, colour = draw_law(axes, curve), ink_of(curve.family).colour
    S = np.geomspace(curve.S.min() / 2, curve.S.max() * 10, 80)
    expected = fitted.predict(S)
    axes.plot(S, expected.loss, ":", color=colour, linewidth=1.2)
    axes.margins(y=0.25)
    axes.set_ylim(axes.get_ylim())  # a wide interval would press the points into a line
    axes.fill_between(S, expected.low, expected.high, color=colour, alpha=0.18, linewidth=0)
    plain_log_ticks(axes, *axes.get_ylim())
    k = curve.quantity.removeprefix("RBP_")
    axes.set_ylabel(f"$-\\log\\,\\mathrm{{RBP}}_{{{k}}}$")
    interval = "[{:.3f}, {:.3f}]".format(*fitted.alpha_interval)
    axes.set_title(
        f"{curve.family} on {curve.corpus}, $k$ = {k}\n$\\alpha$ = {fitted.alpha:.3f} {interval},"
        f" $R^2$ = {fitted.r2:.3f}, $n$ = {fitted.n}"
    )


def explore_law(curves: Mapping[LawKey, Curve], stills: Sequence[LawKey]) -> Figure | None:
    """`explore` corpus, family and k: the fit with its band.

    curves: of `law_curves`. If there is no such curve, the nearest is shown and named: of the same
    corpus, then the same family, then the nearest k. Stills without a curve are left out. Raises
    InputError if no still has a curve.
    """

    def draw(axes: Axes, corpus: str, family: str, k: int) -> None:
        key = min(curves, key=lambda c: (c[0] != corpus, c[1] != family, abs(np.log(c[2] / k))))
        law_panel(axes, curves[key])
        if key != (corpus, family, k):
            axes.set_xlabel(f"$S$\nno curve of $k$ = {k} of {family} on {corpus}; this is nearest")

    corpora, families, ks = (list(dict.fromkeys(key[i] for key in curves)) for i in range(3))
    stills = [key for key in stills if key in curves]
    return explore(draw, stills, corpus=corpora, family=families, k=sorted(ks))
