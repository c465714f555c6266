"""Explorers of the notebooks: a formula or a fit that follows its sliders.

Each shows sliders if a Jupyter server runs the kernel. Otherwise (papermill, nbval, a web page) it
gives a still picture with a panel for each of some chosen values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rbpkit import plots
from rbpkit.errors import InputError
from rbpkit.plots import rows_of_panels
from rbpkit.sections import c_derivation, c_derivation_figures, s5_1_emergence


def has_server() -> bool:
    """Whether a Jupyter server runs this kernel, so that a slider would be shown and be alive."""
    return bool(os.environ.get("JPY_SESSION_NAME"))


def explore(
    draw: Callable,
    stills: Sequence[tuple],
    size: tuple[float, float] = (4.6, 3.6),
    **options: Sequence,
) -> Figure | None:
    """A control for each of `options`, over a panel that `draw(axes, *values)` draws.

    options: an argument of `draw` -> its values, as for `sliders`, in the order of its arguments.
    stills: tuples of values. The controls start at the first. If no server runs the kernel, a
    figure with a panel for each is returned instead. size: of a panel, in inches. Raises InputError
    without stills.
    """
    if not stills:
        raise InputError("nothing to draw: name at least one set of values")

    def panels(*stills: tuple) -> Figure:
        with plots.style():
            figure, [row] = rows_of_panels([len(stills)], size)
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


def eq8_panel(axes: Axes, windows: pd.DataFrame, N: int, k: int) -> None:
    """Eq. 8 against S at one N and k, its knee (p = 1/2), and the curve of N = 1 in grey.

    windows: as `s5_1_emergence.published_windows()`; c and alpha are those of its line at N = 1.
    The range of S is the same for every N and k: one sees the curve move, and whether it steepens.
    """
    fitted = s5_1_emergence.line(windows, k)
    at = eq8_points(windows, [(N, k)]).iloc[0]
    x = np.linspace(0, 50, 300)
    curve, one = (s5_1_emergence.success_at(10.0**x, n, at.c, at.alpha) for n in (N, 1))
    axes.axvspan(np.log10(fitted.S_min), np.log10(fitted.S_max), color="0.85", label="published")
    if N > 1:
        axes.plot(x, one, color="0.6", linewidth=1.4, label="$N$ = 1")
    axes.plot(x, curve, color="#0072B2", linewidth=1.8)
    knee = at.log10_S_knee
    if knee <= x[-1]:
        axes.plot([knee, knee], [0, 0.5], "--", color="black", linewidth=1)
        axes.plot([knee], [0.5], "o", color="black", label=f"knee: $S = 10^{{{knee:.1f}}}$")
    axes.set(xlim=(0, 50), ylim=(0, 1.02), xlabel="$\\log_{10} S$ (non-embedding parameters)")
    axes.set_ylabel("$p_{N,k}$")
    title = f"$N$ = {N}, $k$ = {k}: $\\alpha$ = {at.alpha:.3f}"
    axes.set_title(f"{title}\n10 to 90% in {at.decades:.1f} decades")
    axes.legend(loc="lower right", fontsize=7)


def eq8_points(windows: pd.DataFrame, stills: Sequence[tuple[int, int]]) -> pd.DataFrame:
    """What the stills of `explore_eq8` show: N, k, alpha, c, log10 S of the knee, decades."""
    rows = []
    for N, k in stills:
        fitted = s5_1_emergence.line(windows, k)
        c = float(np.exp(fitted.intercept))
        knee = float(s5_1_emergence.knee(N, c, fitted.alpha)) / np.log(10)
        rows.append((N, k, fitted.alpha, c, knee, s5_1_emergence.width(fitted.alpha) / np.log(10)))
    return pd.DataFrame(rows, columns=["N", "k", "alpha", "c", "log10_S_knee", "decades"])


def explore_eq8(windows: pd.DataFrame, stills: Sequence[tuple[int, int]]) -> Figure | None:
    """`explore` N and k: the knee of Eq. 8."""
    ks = sorted(int(k) for k in windows["k"].unique())
    Ns = sorted({1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, *(N for N, _ in stills)})
    return explore(lambda axes, N, k: eq8_panel(axes, windows, N, k), stills, N=Ns, k=ks)


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
