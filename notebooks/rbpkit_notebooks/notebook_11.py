"""What notebook 11 (Appendix C) draws, and how its exercises are checked."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import norm

from rbpkit import plots
from rbpkit.palette import CONTEXT, GREYS, INK, OTHER
from rbpkit_notebooks.exercises import check_of

check = check_of("11")

TERMS = [r"$\log\,c$", r"$\log\sqrt{2\pi}\,\sigma$", r"$\mu^2/2\sigma^2$", "fraction"]
SHADES = [INK, GREYS[0], GREYS[0], GREYS[1]]


def bell(mu: float, sigma: float, used: float, figures_dir: str) -> None:
    """The lognormal over ln k; used: its share at ln k >= 0."""
    points = pd.DataFrame({"ln_k": np.linspace(-33, 8, 500)})
    points["height"] = norm.pdf(points["ln_k"], mu, sigma)
    right = points[points["ln_k"] >= 0]
    line = "the lognormal of Pythia-12B, over the logarithm of the rank"
    with plots.panel("Only the right end of the bell is used", line, 3.4) as axes:
        axes.fill_between(points["ln_k"], points["height"], color=CONTEXT, linewidth=0)
        axes.fill_between(right["ln_k"], right["height"], color=INK, linewidth=0)
        axes.plot(points["ln_k"], points["height"], color=INK, linewidth=1.2)
        axes.vlines(mu, 0, points["height"].max(), color=OTHER, linewidth=1)
        axes.text(mu - 0.6, 0.02, f"centre:\n$\\mu$ = \N{MINUS SIGN}{-mu}", ha="right")
        axes.vlines(0, 0, 0.033, color=INK, linestyle=":")
        axes.text(0, 0.035, "rank 1: ln 1 = 0", ha="center")
        pointer = {"arrowstyle": "-", "color": INK}
        words = f"used:\n{used:.1%} of\nthe area"
        axes.annotate(words, (0.8, 0.0012), (3, 0.012), arrowprops=pointer)
        axes.set(ylim=(0, None), xlim=(-33, 9.5), xlabel=r"$\ln\,k$")
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    plots.save(axes, points, figures_dir, "figure_C_bell")


def stairs(terms: pd.Series, figures_dir: str) -> None:
    """The four terms of H of one model, each on the ones before it."""
    title = "One term is negative, another is most of $H$"
    line = "Pythia-12B; each term begins where the one before ends"
    with plots.panel(title, line, 3.8) as axes:
        level = 0.0
        for place, (value, shade) in enumerate(zip(terms.iloc[:4], SHADES, strict=True)):
            axes.bar(place, value, 0.92, bottom=level, color=shade)
            words = f"{value:.2f}".replace("-", "\N{MINUS SIGN}")
            axes.text(place, level + value / 2, words, ha="center", va="center", color="white")
            level += value
            axes.plot([place - 0.46, place + 1.46], [level, level], color=OTHER, linewidth=0.8)
        axes.bar(4, level, 0.92, color=CONTEXT)
        axes.text(4, level / 2, f"{level:.2f}", ha="center", va="center")
        axes.axhline(0, color=INK, linewidth=0.8)
        axes.text(-0.4, 0.2, "“dominant”")
        axes.text(3, level + 0.2, "“negligible”", ha="center")
        axes.set(ylabel="nats", ylim=(-5.3, 4))
        axes.set_xticks(range(5), [*TERMS, "$H$"])
    plots.save(axes, terms.rename("nats").reset_index(), figures_dir, "figure_C_stairs")


def area(path: pd.DataFrame, share: pd.Series, figures_dir: str) -> None:
    """What H is made of, for the ten Pythias; share: of the fraction in H."""
    title = "The fraction is most of $H$"
    with plots.panel(title, "ten Pythias, by the closed form", 3.6) as axes:
        axes.fill_between(path["S"], path["-log p_1"], color=GREYS[0], linewidth=0)
        axes.fill_between(path["S"], path["-log p_1"], path["H"], color=CONTEXT, linewidth=0)
        axes.plot(path["S"], path[["-log p_1", "H"]], "o-", color=INK, markersize=4)
        axes.set(xscale="log", ylim=(0, None), xlabel=plots.SIZE, ylabel="nats")
        axes.text(1e8, 2.5, "fraction", ha="center")
        axes.text(1e8, 0.5, r"$-\log p_1$", ha="center")
        axes.text(1e8, 4.5, "$H$")
        bottom, top = path["-log p_1"].iloc[-1], path["H"].iloc[-1]
        look = {"arrowstyle": "<->", "color": INK, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (1.6e10, bottom), (1.6e10, top), arrowprops=look, annotation_clip=False)
        axes.text(2e10, 2, f"{share.iloc[-1]:.0%} of $H$", va="center")
    plots.save(axes, path, figures_dir, "figure_C2")
