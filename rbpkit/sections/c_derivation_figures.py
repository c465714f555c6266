"""Figures C1 and C2 of the notebook on Appendix C. They are ours; the paper has no such figures."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import patheffects
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter
from numpy.typing import ArrayLike

from rbpkit import plots
from rbpkit.sections import c_derivation

QUANTITIES = {"neg_log_p1": r"$-\log p_1$", "CE": "CE"}
# Percent; each step about a factor of three.
LEVELS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_HALO = [patheffects.withStroke(linewidth=2.5, foreground="white")]


def errors(mu: ArrayLike, sigma: ArrayLike) -> pd.DataFrame:
    """The paper's approximation against the sum, for pairs: mu and sigma of one shape (n,).

    Columns: mu, sigma, then for each of QUANTITIES the sum, NAME (no unit; CE in nats), the closed
    form, NAME_approx, and NAME_error, its relative error in percent, (approximation - sum) / sum.
    """
    mu, sigma = np.asarray(mu, dtype=float), np.asarray(sigma, dtype=float)
    table = pd.DataFrame({"mu": mu, "sigma": sigma})
    table["neg_log_p1"] = c_derivation.neg_log_p1(mu, sigma)
    table["neg_log_p1_approx"] = c_derivation.neg_log_p1_approx(mu, sigma)
    table["CE"] = c_derivation.entropy(mu, sigma)
    table["CE_approx"] = c_derivation.entropy_approx(mu, sigma)
    for name in QUANTITIES:
        table[f"{name}_error"] = 100 * (table[f"{name}_approx"] / table[name] - 1)
    return table


def figure_C1(grid: pd.DataFrame, published: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Size of the approximation's error over (mu, sigma), with the paper's four pairs.

    grid: from `errors`. published: model, mu, sigma (`paper.lognormal_params`).
    Returns the figure and its points: source, model, then the columns of `errors`.
    """
    marked = errors(published["mu"], published["sigma"])
    marked.insert(0, "model", published["model"].to_numpy())
    shape = (grid["sigma"].nunique(), grid["mu"].nunique())
    mu, sigma = (grid[name].to_numpy().reshape(shape) for name in ("mu", "sigma"))
    with plots.style():
        figure, row = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True)
        for axes, (name, symbol) in zip(row, QUANTITIES.items(), strict=True):
            size = grid[f"{name}_error"].abs().to_numpy().reshape(shape)
            size = np.log10(np.clip(size, 1e-6, None))
            # Far in the hatched part the closed form is no probability: its error means nothing.
            size = np.where(c_derivation.neg_log_p1_approx(mu, sigma) > -0.3, size, np.nan)
            steps = np.log10(LEVELS)
            axes.contourf(mu, sigma, size, levels=steps, cmap="Greys", extend="both", alpha=0.55)
            lines = axes.contour(
                *(mu, sigma, size),
                levels=steps,
                colors="black",
                linewidths=0.6,
                linestyles="solid",
            )
            text = {step: f"{level:g}%" for step, level in zip(steps, LEVELS, strict=True)}
            at = _on_the_edge(mu, sigma, size, steps)
            for label in axes.clabel(lines, fmt=text, fontsize=8, manual=at):
                label.set_path_effects(_HALO)
            _beyond_one(axes, mu, sigma)
            axes.plot(marked["mu"], marked["sigma"], "o", color="#D55E00", markeredgecolor="white")
            for at in marked.itertuples():
                error = f"{getattr(at, name + '_error'):+.1f}%".replace("-", "\N{MINUS SIGN}")
                axes.annotate(
                    f"{at.model.removeprefix('pythia-')}: {error}",
                    (at.mu, at.sigma),
                    xytext=(7, 5),
                    textcoords="offset points",
                    fontsize=8,
                    path_effects=_HALO,
                )
            axes.set(title=f"error of {symbol}, closed form against sum")
            axes.set(xlabel=r"$\mu$ (mean of $\ln R$, untruncated)")
            axes.grid(False)
        row[0].set_ylabel(r"$\sigma$ (standard deviation of $\ln R$, untruncated)")
        figure.tight_layout()
    points = pd.concat(
        [marked.assign(source="published"), grid.assign(source="grid", model="")],
        ignore_index=True,
    )
    return figure, points[["source", "model", *grid.columns]]


def _on_the_edge(
    mu: np.ndarray, sigma: np.ndarray, size: np.ndarray, steps: np.ndarray
) -> list[tuple[float, float]]:
    """A place for each contour's label, away from the marked pairs: near the top, or the left."""
    row, column = -1 - len(sigma) // 10, mu.shape[1] // 12
    places = []
    for step in steps:
        for line in (np.s_[row, :], np.s_[:, column]):
            values = size[line] - step
            crossing = np.flatnonzero(values[:-1] * values[1:] < 0)
            if len(crossing):
                places.append((mu[line][crossing[-1]], sigma[line][crossing[-1]]))
                break
    return places


def _beyond_one(axes: Axes, mu: np.ndarray, sigma: np.ndarray) -> None:
    """Hatch where the closed form makes p_1 larger than 1, and draw |mu| = 2 sigma^2."""
    p1 = -c_derivation.neg_log_p1_approx(mu, sigma)
    axes.contourf(mu, sigma, p1, levels=[0, np.inf], colors="white", hatches=["///"], zorder=2.5)
    curve = np.linspace(sigma.min(), np.sqrt(-mu.min() / 2), 100)
    axes.plot(-2 * curve**2, curve, "--", color="#0072B2", linewidth=1.8, zorder=3)
    axes.set(xlim=(mu.min(), mu.max()), ylim=(sigma.min(), sigma.max()))
    axes.annotate(
        r"hatched: $p_1 > 1$;  dashed: $|\mu| = 2\sigma^2$",
        (0.03, 0.04),
        xycoords="axes fraction",
        fontsize=8,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
    )


def figure_C2(
    path: pd.DataFrame, published: pd.DataFrame, far: pd.DataFrame
) -> tuple[Figure, pd.DataFrame]:
    """The terms of -log p_1 and of CE along the ten Pythias, and both in the limit.

    path: S, b = -mu / sigma^2 and, by the closed form, "log c", "log sqrt(2 pi) sigma",
    "mu^2 / 2 sigma^2", their sum "-log p_1", "fraction" (Eq. 26) and CE. published: series, model,
    S, value (the simulated half of `paper.ce_and_rbp1`). far: the limit sigma -> infinity at fixed
    b: b, -log p_1, fraction (CE + log p_1), closed form. Returns the figure and its points:
    source, model, S, b, quantity, value.
    """
    with plots.style():
        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.4))
        first = {
            "mu^2 / 2 sigma^2": (r"$\mu^2 / 2\sigma^2$", "--", "#E69F00"),
            "log sqrt(2 pi) sigma": (r"$\log\sqrt{2\pi}\,\sigma$", ":", "#009E73"),
            "log c": (r"$\log c$", "-.", "#0072B2"),
            "-log p_1": (r"$-\log p_1$, their sum", "-", "black"),
        }
        second = {
            "fraction": ('fraction of Eq. 26, "negligible"', "--", "#D55E00"),
            "-log p_1": (r"$-\log p_1$, kept", "-", "black"),
            "CE": ("CE, their sum", "-", "#0072B2"),
        }
        for axes, drawn in ((left, first), (middle, second)):
            for name, (label, line, colour) in drawn.items():
                axes.plot(path["S"], path[name], line, color=colour, label=label, linewidth=1.8)
            axes.axhline(0, color="grey", linewidth=0.8)
            axes.set(xscale="log", xlabel="$S$ (non-embedding parameters)", ylabel="nats")
        for series, marker in (("neg_log_rbp1", "o"), ("CE", "s")):
            drawn = published[published["series"] == series]
            for axes in (left, middle) if series == "neg_log_rbp1" else (middle,):
                axes.plot(
                    *(drawn["S"], drawn["value"], marker),
                    color="black" if series == "neg_log_rbp1" else "#0072B2",
                    markersize=5,
                    label="Figure 8b" if axes is left else None,
                )
        left.set_title(r"Terms of $-\log p_1$, ten Pythias")
        middle.set_title("Terms of CE, ten Pythias")
        for name, label, line, colour in (
            ("fraction", r"fraction, $(1 + b)\,\mathrm{E}[\ln R]$", "--", "#D55E00"),
            ("-log p_1", r"$-\log p_1 = \log\,\zeta(1 + b)$", "-", "black"),
            ("closed form", r"by the closed form, $\log(1/2 + 1/b)$", ":", "black"),
        ):
            right.plot(far["b"], far[name], line, color=colour, label=label, linewidth=1.8)
        there = path.loc[path["b"] > 0, "b"]
        label = r"the ten Pythias, where $\mu < 0$"
        right.axvspan(there.min(), there.max(), color="grey", alpha=0.25, label=label)
        right.axhline(0, color="grey", linewidth=0.8)
        right.set_xscale("log")
        right.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 4]))
        right.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        right.xaxis.set_minor_formatter(NullFormatter())
        right.set(xlabel=r"$b = |\mu| / \sigma^2$", ylabel="nats")
        right.set(title=r"Limit $\sigma \to \infty$ at fixed $b$")
        right.legend(loc="upper right")
        left.legend(loc="lower left")
        middle.legend(loc="upper right")
        middle.set_ylim(0, 1.05 * path["CE"].max())
        figure.tight_layout()
    return figure, _points_C2(path, published, far)


def _points_C2(path: pd.DataFrame, published: pd.DataFrame, far: pd.DataFrame) -> pd.DataFrame:
    names = ["log c", "log sqrt(2 pi) sigma", "mu^2 / 2 sigma^2", "-log p_1", "fraction", "CE"]
    parts = [
        published.rename(columns={"series": "quantity"}).assign(source="published"),
        path.melt(["S", "b"], names, "quantity", "value").assign(source="closed form"),
        far.melt("b", ["-log p_1", "fraction", "closed form"], "quantity", "value").assign(
            source="limit"
        ),
    ]
    points = pd.concat(parts, ignore_index=True)
    points["S"] = points["S"].astype("Int64")
    return points[["source", "model", "S", "b", "quantity", "value"]]
