"""What notebook 11 (Appendix C) draws, and how its exercises are checked."""

from __future__ import annotations

import pandas as pd
from IPython.display import Markdown
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from rbpkit import paper, plots
from rbpkit.fit import Array
from rbpkit.palette import CONTEXT, GREYS, INK, OTHER
from rbpkit_pocket.companions.claims import Claim, claims_table
from rbpkit_pocket.companions.exercises import checker, sealed

check = checker({1: sealed("bd4fd00c", digits=2), 2: sealed("d2cbad71", digits=2)})

TERMS = [r"$\log\,c$", r"$\log\sqrt{2\pi}\,\sigma$", r"$\mu^2/2\sigma^2$", "fraction"]
SHADES = [INK, GREYS[0], GREYS[0], GREYS[1]]
# name -> middle of the box, its words, and their equations
BOXES = {
    "top": (0.5, 0.9, r"one lognormal $p_k$ with $\mu$, $\sigma$", "Eqs. 10 to 12"),
    "left": (
        0.24,
        0.62,
        r"$-\log p_1 = \log c + \log\sqrt{2\pi}\,\sigma + \dfrac{\mu^2}{2\sigma^2}$",
        "Eq. 16",
    ),
    "right": (0.76, 0.62, r"CE = $-\log p_1$ + fraction", "Eqs. 17 to 21, 26"),
    "c": (0.24, 0.36, r"$\log c \to -\infty$", "Eqs. 22 to 25: true"),
    "fraction": (0.76, 0.36, r"fraction / $\log c$ $\to$ 0", "Eq. 26: true"),
    "end": (0.5, 0.08, "“log c dominates: both fall alike”", "does not follow"),
}
ARROWS = [
    ("top", "left"),
    ("top", "right"),
    ("left", "c"),
    ("right", "fraction"),
    ("c", "end"),
    ("fraction", "end"),
]


def stairs(terms: pd.DataFrame, figures_dir: str) -> None:
    """The four terms of the smallest and the largest model, each on the ones before it."""
    with plots.panels(4.2, ncols=2, sharey=True) as (figure, panels):
        for axes, model in zip(panels, ("pythia-14m", "pythia-12b"), strict=True):
            _stairs(axes, terms.loc[model, terms.columns[:4]].to_numpy())
            name = model.removeprefix("pythia-").upper()
            axes.set_title(f"Pythia-{name}")
        panels[0].set(ylabel="nats", ylim=(-5.7, 6))
        panels[1].text(-0.4, 0.2, "“dominant”")
        panels[1].text(3, 3.4, "“negligible”", ha="center")
        line = "each term begins at the end of the one before"
        plots.headed_row(figure, "One term is negative, another is most of CE", line)
    plots.save(figure, terms.reset_index(), figures_dir, "figure_C_stairs")


def _stairs(axes: Axes, values: Array) -> None:
    level = 0.0
    for place, (value, shade) in enumerate(zip(values, SHADES, strict=True)):
        axes.bar(place, value, 0.92, bottom=level, color=shade)
        end = level + value
        axes.plot([place - 0.46, place + 1.46], [end, end], color=OTHER, linewidth=0.8)
        words = f"{value:.2f}".replace("-", "\N{MINUS SIGN}")
        if value > 0.7:  # high enough to hold its number
            middle = level + value / 2
            axes.text(place, middle, words, ha="center", va="center", color="white")
        else:
            axes.text(place, level + min(value, 0) - 0.15, words, ha="center", va="top")
        level = end
    axes.bar(4, level, 0.92, color=CONTEXT)
    axes.text(4, level / 2, f"{level:.2f}", ha="center", va="center")
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_xticks(range(5), [*TERMS, "CE"], rotation=45, ha="right", rotation_mode="anchor")


def area(path: pd.DataFrame, share: pd.Series, figures_dir: str) -> None:
    """What CE is made of, for the ten Pythias; share: of the fraction in CE."""
    title = "The “negligible” fraction is most of CE"
    with plots.panel(title, "ten Pythias, by the closed form", 3.6) as axes:
        axes.fill_between(path["S"], path["-log p_1"], color=GREYS[0], linewidth=0)
        axes.fill_between(path["S"], path["-log p_1"], path["CE"], color=CONTEXT, linewidth=0)
        axes.plot(path["S"], path["-log p_1"], "o-", color=INK, markersize=4)
        axes.plot(path["S"], path["CE"], "o-", color=INK, markersize=4)
        axes.set(xscale="log", ylim=(0, None), xlabel=plots.SIZE, ylabel="nats")
        axes.text(1e8, 2.5, "fraction", ha="center")
        axes.text(1e8, 0.5, r"$-\log p_1$", ha="center")
        axes.text(1e8, 4.5, "CE")
        bottom, top = path["-log p_1"].iloc[-1], path["CE"].iloc[-1]
        look = {"arrowstyle": "<->", "color": INK, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (1.6e10, bottom), (1.6e10, top), arrowprops=look, annotation_clip=False)
        axes.text(2e10, 2, f"{share.iloc[-1]:.0%} of CE", va="center")
    simulated = paper.ce_and_rbp1().query("kind == 'simulated'")
    closed = path.melt(["S", "b"], list(path)[3:], "quantity", "value")
    parts = [
        simulated.rename(columns={"series": "quantity"}).assign(source="published"),
        closed.assign(source="closed form"),
    ]
    drawn = pd.concat(parts).astype({"S": "Int64"})
    columns = ["source", "model", "S", "b", "quantity", "value"]
    plots.save(axes, drawn[columns], figures_dir, "figure_C2")


def steps(figures_dir: str) -> None:
    """The idea: what follows from what in Appendix C, with a cross on what does not."""
    line = "what follows from what in Appendix C; a cross: it does not"
    with plots.panel("Each step but the last two is right", line, 4.8) as axes:
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1))
        axes.set_axis_off()
        for name, (x, y, words, source) in BOXES.items():
            frame = FancyBboxPatch(
                (x - 0.23, y - 0.06),
                0.46,
                0.12,
                boxstyle="round,pad=0.02",
                facecolor="white",
                edgecolor=INK,
                linestyle="--" if name == "end" else "-",
            )
            axes.add_patch(frame)
            axes.text(x, y + 0.022, words, ha="center", va="center")
            axes.text(x, y - 0.05, source, ha="center", va="center", color=OTHER)
        for start, end in ARROWS:
            (x0, y0, *_), (x1, y1, *_) = BOXES[start], BOXES[end]
            tip = (x1 + 0.3 * (x0 - x1), y1 + 0.085)
            tail = (x0 + 0.2 * (x1 - x0), y0 - 0.085)
            axes.annotate("", tip, tail, arrowprops={"arrowstyle": "->", "color": INK})
            if end == "end":
                middle = ((x0 + x1) / 2, (y0 + y1) / 2)
                axes.plot(*middle, "x", color=INK, markersize=14, markeredgewidth=3)
    arrows = pd.DataFrame(ARROWS, columns=["from", "to"])
    plots.save(axes, arrows, figures_dir, "figure_C_map")


def limit(zipf: pd.DataFrame, path: pd.DataFrame, figures_dir: str) -> None:
    """The fraction and -log p_1 of Zipf's law against b; the band holds the Pythias with mu < 0."""
    title = "In the limit, too, the fraction\nis above $-\\log p_1$"
    with plots.panel(title, "Zipf's law; dotted: closed form; grey: eight Pythias", 3.6) as axes:
        positive = path["b"][path["b"] > 0]
        axes.axvspan(positive.min(), positive.max(), color=CONTEXT, linewidth=0)
        for name, dashes in (("fraction", "--"), ("-log p_1", "-"), ("closed form", ":")):
            axes.plot(zipf["b"], zipf[name], dashes, color=INK, linewidth=1.6)
        # At the left, where the lines are far apart.
        for name, label in (("fraction", "fraction"), ("-log p_1", r"$-\log p_1$")):
            place = zipf["b"].iloc[4], zipf[name].iloc[4]
            axes.annotate(label, place, (6, 6), textcoords="offset points")
        axes.set(xscale="log", ylim=(-1, 16), xlabel=r"$b = -\mu/\sigma^2$", ylabel="nats")
        axes.set_yticks([0, 5, 10, 15])
        plots.ticks(axes.xaxis, [0.1, 0.2, 0.5, 1, 2, 4])
    plots.save(axes, zipf, figures_dir, "figure_C2_limit")


DOMINANT = Claim(
    words="as |µ| increases, log(c) becomes the dominant part of CE",
    where="Appendix C (arXiv), D (draft)",
    test="log c next to CE; what the other terms of Eq. 16 do",
)
NEGLIGIBLE = Claim(
    words="asymptotically negligible compared to log(c)",
    where="Appendix C, Eq. 26",
    test="fraction over |log c|; fraction over -log p_1, which the conclusion needs",
)


def claims(path: pd.DataFrame, least: float, figures_dir: str) -> Markdown:
    """The claims of Appendix C. least: fraction over -log p_1, in the limit."""
    last = path.iloc[-1]
    shares = path["fraction"] / path["log c"].abs()
    results = {
        DOMINANT: (
            f"in neither CE nor -log p_1: at 12B log c {last['log c']:.2f},"
            f" mu^2 / 2 sigma^2 {last['mu^2 / 2 sigma^2']:.2f}, CE {last['CE']:.2f};"
            " the first two largely offset each other",
            "mathematics",
            "does not hold",
        ),
        NEGLIGIBLE: (
            f"times |log c|: {shares.iloc[0]:.1f} (14M) down to"
            f" {shares.iloc[-1]:.1f} (12B); times -log p_1: at least {least:.1f} in the limit",
            "mathematics",
            "holds in part",
        ),
    }
    return claims_table("11", results, "", figures_dir)
