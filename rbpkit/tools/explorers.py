"""Explorers of the notebooks: a formula or a fit that follows its sliders.

Each shows sliders where a Jupyter server runs the kernel, and gives a still picture of the same at
chosen values elsewhere: papermill, nbval and a page have nothing behind a slider.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import Curve, Measured, fit_power_law
from rbpkit.sections import c_derivation, c_derivation_figures, plots, s5_1_emergence
from rbpkit.sections.curves import measured_curves, published_curves
from rbpkit.sections.panels import plain_log_ticks
from rbpkit.sections.plots import FAMILY_INK, OTHER_INK, style

LawKey = tuple[str, str, int]
"""(corpus, family, k)."""
BAND = "#0072B2"
RANKS = 10_000  # of p_k that are drawn
EQ8_RANGE = (0, 50)  # log10 S of Eq. 8, published or not


def has_server() -> bool:
    """Whether a Jupyter server runs this kernel, so that a slider would be shown and be alive."""
    if not os.environ.get("JPY_SESSION_NAME"):
        return False
    try:
        import ipywidgets  # noqa: F401
    except ImportError:
        return False
    return True


def _panels(draw: Callable[..., None], stills: Sequence[tuple], width: float = 4.6) -> Figure:
    """A panel for each tuple of values; InputError for none."""
    if not stills:
        raise InputError("nothing to draw: name at least one set of values")
    with style():
        figure, row = plt.subplots(
            1, len(stills), figsize=(width * len(stills), 3.6), squeeze=False
        )
        for axes, values in zip(row[0], stills, strict=True):
            draw(axes, *values)
        figure.tight_layout()
    return figure


def _sliders(draw: Callable[..., None], width: float = 6.0, **controls) -> None:
    """The controls, and under them the panel at their values, drawn anew when one moves."""
    from ipywidgets import interact

    def at(**values) -> None:
        # Shown and closed here: what is returned or left open would be shown a second time.
        plots.show(_panels(draw, [tuple(values.values())], width))

    interact(at, **controls)


def explore(
    draw: Callable[..., None], stills: Sequence[tuple], width: float = 4.6, **options: Sequence
) -> Figure | None:
    """A slider (names: a menu) for each of `options`, over a panel that `draw` draws on its axes.

    options: an argument's name of `draw(axes, ...)` -> its values, in the order of its arguments.
    stills: tuples of their values; the first is where the controls start, and where no server runs
    the kernel a figure with a panel for each is returned, else None. InputError for no stills.
    """
    if not stills or not has_server():
        return _panels(draw, stills, width)
    from ipywidgets import Dropdown, SelectionSlider

    controls = {}
    for (name, values), first in zip(options.items(), stills[0], strict=True):
        control = Dropdown if isinstance(first, str) else SelectionSlider
        controls[name] = control(options=list(values), value=first)
    _sliders(draw, **controls)
    return None


# -- Section 4: the law at a k ----------------------------------------------------------------


def law_curves(
    measured: Iterable[Measured], corpora: Sequence[str], families: Sequence[str], ks: Sequence[int]
) -> dict[LawKey, Curve]:
    """(corpus, family, k) -> RBP_k against S: published where the paper plots it, and measured.

    Measured curves have the k of `ks`, published ones all that Figures 3 to 5 plot. What no line
    can be fitted to is left out.
    """
    found: dict[LawKey, Curve] = {}
    for k in sorted(set(paper.rbp_by_size()["k"])):
        for (corpus, family), curve in published_curves(int(k)).items():
            if np.ptp(curve.loss) > 0 and np.all(np.isfinite(curve.loss) & (curve.loss > 0)):
                found[corpus, family, int(k)] = curve
    every = list(measured)
    for k in ks:
        curves = measured_curves(
            every, corpora, families, lambda one, k=k: one.rbp(k), f"RBP_{k}"
        ).curves
        found |= {(*key, k): curve for key, curve in curves.items()}
    return found


def law_panel(axes: Axes, curve: Curve) -> None:
    """Points, line and the 95% interval for one new model, a decade beyond the largest.

    The interval is `fit.predict`'s, by the residuals of the line (Student's t, n - 2).
    """
    ink = FAMILY_INK.get(curve.family, OTHER_INK)
    fitted = fit_power_law(curve.S, curve.loss, labels=curve.models)
    S = np.geomspace(curve.S.min() / 2, curve.S.max() * 10, 80)
    said = fitted.predict(S)
    axes.set(xscale="log", yscale="log", xlabel="$S$ (non-embedding parameters)")
    axes.fill_between(S, said.low, said.high, color=ink.colour, alpha=0.18, linewidth=0)
    inside = (S >= curve.S.min()) & (S <= curve.S.max())
    axes.plot(S, said.loss, ":", color=ink.colour, linewidth=1.2)
    axes.plot(S[inside], said.loss[inside], "-", color=ink.colour, linewidth=1.4)
    axes.plot(curve.S, curve.loss, ink.marker, color=ink.colour, markeredgecolor="white")
    # A wide interval would press the points into a line: the axis follows the points.
    low = min(curve.loss.min(), said.loss.min())
    high = max(curve.loss.max(), said.loss.max())
    room = (high / low) ** 0.25
    axes.set_ylim(low / room, high * room)
    plain_log_ticks(axes, *axes.get_ylim())
    k = curve.quantity.removeprefix("RBP_")
    axes.set_ylabel(f"$-\\log\\,\\mathrm{{RBP}}_{{{k}}}$")
    from_, to = fitted.alpha_interval
    axes.set_title(
        f"{curve.family} on {curve.corpus}, $k$ = {k}\n"
        f"$\\alpha$ = {fitted.alpha:.3f} [{from_:.3f}, {to:.3f}], $R^2$ = {fitted.r2:.3f},"
        f" $n$ = {fitted.n}"
    )


def nearest_curve(curves: Mapping[LawKey, Curve], key: LawKey) -> LawKey:
    """The key itself or, where no curve has it, the nearest: same corpus, then family, then k."""
    corpus, family, k = key
    return min(
        curves, key=lambda one: (one[0] != corpus, one[1] != family, abs(np.log(one[2] / k)))
    )


def explore_law(curves: Mapping[LawKey, Curve], stills: Sequence[LawKey]) -> Figure | None:
    """Corpus, family and k -> the fit with its band; a panel for each of `stills` otherwise.

    Where the paper plots no such curve, the sliders show the nearest and say so.
    curves: of `law_curves`. InputError where it is empty, or has none of `stills`.
    """

    def draw(axes: Axes, corpus: str, family: str, k: int) -> None:
        key = nearest_curve(curves, (corpus, family, k))
        law_panel(axes, curves[key])
        if key != (corpus, family, k):
            axes.set_xlabel(f"$S$\n$k$ = {k} of {family} on {corpus} is not there; this is nearest")

    if not curves:
        raise InputError("nothing to explore: no curves")
    corpora, families, ks = (list(dict.fromkeys(key[i] for key in curves)) for i in range(3))
    chosen = [key for key in stills if key in curves]
    if has_server():
        chosen = chosen or [next(iter(curves))]
    return explore(draw, chosen, corpus=corpora, family=families, k=sorted(ks))


# -- Section 5.1: Eq. 8 -----------------------------------------------------------------------


def eq8_panel(axes: Axes, windows: pd.DataFrame, N: int, k: int) -> None:
    """Eq. 8 against S at one N and k, its knee (p = 1/2), and N = 1 beside it in grey.

    windows: as `s5_1_emergence.published_windows()`; c and alpha are those of its line at N = 1.
    The range of S is the same for every N and k: one sees the curve move, and whether it steepens.
    """
    fitted = s5_1_emergence.line(windows, k)
    c, alpha = float(np.exp(fitted.intercept)), fitted.alpha
    knee = float(s5_1_emergence.knee(N, c, alpha)) / np.log(10)
    half = s5_1_emergence.width(alpha) / np.log(10)
    x = np.linspace(*EQ8_RANGE, 300)
    axes.axvspan(np.log10(fitted.S_min), np.log10(fitted.S_max), color="0.85", label="published")
    if N > 1:
        one = s5_1_emergence.success_at(10.0**x, 1, c, alpha)
        axes.plot(x, one, color="0.6", linewidth=1.4, label="$N$ = 1")
    axes.plot(x, s5_1_emergence.success_at(10.0**x, N, c, alpha), color=BAND, linewidth=1.8)
    if knee <= EQ8_RANGE[1]:
        axes.plot([knee, knee], [0, 0.5], "--", color="black", linewidth=1)
        axes.plot([knee], [0.5], "o", color="black", label=f"knee: $S = 10^{{{knee:.1f}}}$")
    axes.set(xlim=EQ8_RANGE, ylim=(0, 1.02), xlabel="$\\log_{10} S$ (non-embedding parameters)")
    axes.set_ylabel("$p_{N,k}$")
    axes.set_title(
        f"$N$ = {N}, $k$ = {k}: $\\alpha$ = {alpha:.3f}\n10 to 90% in {half:.1f} decades"
    )
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
    """N and k -> the knee of Eq. 8; a panel for each (N, k) of `stills` otherwise."""
    ks = sorted(int(k) for k in windows["k"].unique())
    Ns = sorted({1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, *(N for N, _ in stills)})
    return explore(lambda axes, N, k: eq8_panel(axes, windows, N, k), stills, N=Ns, k=ks)


# -- Appendix C: the lognormal over ranks -----------------------------------------------------


def lognormal_points(stills: Sequence[tuple[float, float]]) -> pd.DataFrame:
    """mu, sigma and what they give by the sum and by the closed form: -log p_1, CE (nats)."""
    mu, sigma = np.transpose(stills)
    return c_derivation_figures.errors(mu, sigma).drop(columns=["neg_log_p1_error", "CE_error"])


def lognormal_panel(axes: Axes, mu: float, sigma: float) -> None:
    """p_k against k by the sum (points) and with the paper's c (line); -log p_1 and CE of both."""
    one = lognormal_points([(mu, sigma)]).iloc[0]
    k = np.unique(np.geomspace(1, RANKS, 60).astype(int))
    log_psi = np.log(c_derivation.psi(k, mu, sigma))
    by_sum = np.exp(log_psi - c_derivation.log_normaliser(mu, sigma))
    closed = np.exp(log_psi - c_derivation.log_normaliser_approx(mu, sigma))
    axes.plot(k, closed, "-", color="#D55E00", linewidth=1.2, label="closed form")
    axes.plot(k, by_sum, "o", color=BAND, markersize=3.5, label="sum")
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
    """mu and sigma -> p_k, -log p_1 and CE by sum and closed form; panels of `stills` otherwise."""
    if not has_server():
        return _panels(lognormal_panel, stills)
    from ipywidgets import FloatSlider

    first = stills[0]
    look = {"step": 0.01, "continuous_update": False}
    _sliders(
        lognormal_panel,
        mu=FloatSlider(value=first[0], min=-30, max=9, **look),
        sigma=FloatSlider(value=first[1], min=1, max=8, **look),
    )
    return None
