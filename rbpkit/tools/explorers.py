"""Explorers of the notebooks: a formula or a fit that follows its sliders.

Each shows sliders if a Jupyter server runs the kernel. Otherwise (papermill, nbval, a web page) it
gives a still picture with a panel for each of some chosen values.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rbpkit import paper, plots
from rbpkit.errors import InputError
from rbpkit.fit import Curve, Measured
from rbpkit.plots import draw_law, ink_of, plain_log_ticks, rows_of_panels
from rbpkit.sections import c_derivation, c_derivation_figures
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


def lognormal_points(stills: Sequence[tuple[float, float]]) -> pd.DataFrame:
    """mu, sigma and what they give by the sum and by the closed form: -log p_1, CE (nats)."""
    mu, sigma = np.transpose(stills)
    return c_derivation_figures.errors(mu, sigma).drop(columns=["neg_log_p1_error", "CE_error"])


def lognormal_panel(axes: Axes, mu: float, sigma: float) -> None:
    """p_k against k by the sum (points) and with the paper's c (line); -log p_1 and CE of both."""
    one = lognormal_points([(mu, sigma)]).iloc[0]
    k = np.unique(np.geomspace(1, 10_000, 60).astype(int))
    log_psi = np.log(c_derivation.psi(k, mu, sigma))
    by_sum = np.exp(log_psi - c_derivation.log_normaliser(mu, sigma))
    closed = np.exp(log_psi - c_derivation.log_normaliser_approx(mu, sigma))
    axes.plot(k, closed, "-", color="#D55E00", linewidth=1.2, label="closed form")
    axes.plot(k, by_sum, "o", color="#0072B2", markersize=3.5, label="sum")
    axes.axhline(1, color="0.6", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="$k$", ylabel="$p_k$")
    axes.set_ylim(max(by_sum.min() / 2, 1e-12), max(2, 2 * closed.max()))
    axes.set_title(
        f"$\\mu = {mu:g}$, $\\sigma = {sigma:g}$ (sum | closed form)\n"
        f"$-\\log p_1$ = {one['neg_log_p1']:.3f} | {one['neg_log_p1_approx']:.3f},"
        f"  CE = {one['CE']:.3f} | {one['CE_approx']:.3f}"
    )
    axes.legend(loc="lower left")


def explore_lognormal(stills: Sequence[tuple[float, float]]) -> Figure | None:
    """`explore` mu and sigma: p_k, -log p_1 and CE by the sum and by the closed form."""
    return explore(lognormal_panel, stills, mu=(-30, 9), sigma=(1, 8))
