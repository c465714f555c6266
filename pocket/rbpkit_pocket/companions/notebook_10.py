"""What notebook 10 (Appendix B, the law in k) draws, and how its exercises are checked."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown
from matplotlib.patheffects import withStroke

from rbpkit import paper, plots
from rbpkit.fit import Array
from rbpkit.palette import CONTEXT, INK, OTHER
from rbpkit.summary import Summary
from rbpkit_pocket.companions.choices import Study
from rbpkit_pocket.companions.choices import read_study as read_study
from rbpkit_pocket.companions.claims import claims_table
from rbpkit_pocket.companions.exercises import checker, sealed

check = checker({1: sealed("9f14025a", digits=0), 3: sealed("87a96679", digits=3)})

MODEL = ["corpus", "family", "model", "S"]
PYTHIA = plots.ink_of("Pythia")
HALO = [withStroke(linewidth=2.5, foreground="white")]
NAMES = {"pythia-14m": "14M", "pythia-160m": "160M", "pythia-1b": "1B", "pythia-12b": "12B"}


def stairs(steps: pd.Series, goal: float, figures_dir: str) -> None:
    """RBP_k of the small model by k, and RBP_1 of the large one."""
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.5), layout="constrained")
        axes.bar(steps.index, steps, width=0.8, color=CONTEXT)
        for k, share in steps.items():
            axes.text(k, share - 0.02, f"{share:.0%}", ha="center", va="top", fontsize=10)
        axes.axhline(goal, color=PYTHIA.colour, linewidth=1.5)
        words = f"Pythia-12B, one guess: {goal:.0%}"
        axes.text(0.5, goal + 0.018, words, color=PYTHIA.colour)
        axes.set(xlim=(0.4, 10.6), ylim=(0, 0.68), xlabel="guesses of Pythia-14M, $k$")
        axes.set_xticks(steps.index)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_title("Ten guesses of a small model are worth one of a large model")
    points = steps.rename("rbp").reset_index().assign(model="pythia-14m", goal=goal)
    plots.save(figure, points, figures_dir, "figure_9_stairs")


def fan(pythia: pd.DataFrame, lines: pd.DataFrame, goal: float, figures_dir: str) -> None:
    """Figure 9 for four Pythias on Wiki, and an arrow between equal losses, -log `goal`."""
    of_model = lines[lines["corpus"] == "Wiki"].set_index("model")
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.7), layout="constrained")
        axes.set(xscale="log", yscale="log", xlabel="guesses $k$")
        axes.set(ylabel=r"$-\log\,\mathrm{RBP}_k$")
        axes.set_title("The lines fan out: a larger model has a steeper line")
        ends = []
        for model, name in NAMES.items():
            seen = pythia[pythia["model"] == model].sort_values("k")
            line = of_model.loc[model]
            colour = PYTHIA.colour if model in ("pythia-14m", "pythia-12b") else OTHER
            fitted = np.exp(line["log_c"]) * seen["k"] ** -line["beta"]
            axes.plot(seen["k"], fitted, color=colour, linewidth=1.4)
            axes.plot(seen["k"], seen["loss"], PYTHIA.marker, color=colour, markersize=5)
            label = rf"{name}: $\beta$ = {line['beta']:.2f}"
            ends.append((100, fitted.iloc[-1], label, colour))
        level = -np.log(goal)
        look = {"arrowstyle": "<->", "color": INK, "linewidth": 2.5, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (1, level), (10, level), arrowprops=look, zorder=5)
        axes.text(11.5, level, "equal loss", va="center", path_effects=HALO)
        axes.set_xticks([1, 10, 100], ["1", "10", "100"])
        plots.log_ticks(axes)
        plots.label_ends(axes, ends)
    columns = [*MODEL, "k", "rbp", "loss"]
    plots.save(figure, pythia[columns], figures_dir, "figure_9")


def worth(rates: pd.DataFrame, median: pd.Series, saved: pd.DataFrame, figures_dir: str) -> None:
    """What doubling k is worth, a line for each family and text; median: Pythia's."""
    ks = [int(name.split()[-1]) for name in median.index]  # "at k = 10"
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.4), layout="constrained")
        for (_, family), row in rates[median.index].iterrows():
            pythia = family == "Pythia"
            look = {"color": PYTHIA.colour, "zorder": 3} if pythia else {"color": CONTEXT}
            axes.plot(ks, row, ".-" if pythia else "-", linewidth=1, **look)
        mark = PYTHIA.marker + "-"
        axes.plot(ks, median, mark, color=PYTHIA.colour, linewidth=2.5, markersize=7)
        for k, times in zip(ks, median, strict=True):
            offset = (4, -36) if k == 1 else (6, 8)
            words = f"{times:.0f} times"
            label = axes.annotate(words, (k, times), offset, textcoords="offset points")
            label.set(color=PYTHIA.colour, path_effects=HALO)
        axes.text(1.35, 105, "other families, mostly beyond their data", color=OTHER)
        axes.set(xscale="log", yscale="log", xlim=(0.85, 110), ylabel="times as large")
        axes.set_xlabel("guesses $k$, doubled")
        axes.set_xticks(ks, [f"{k} to {2 * k}" for k in ks])
        axes.minorticks_off()
        axes.set_yticks([3, 10, 30, 100], ["3", "10", "30", "100"])
        axes.set_title("To a Pythia, a second guess is worth 20 to 50 times the size")
    plots.save(figure, saved, figures_dir, "figure_9_worth")


def with_lines(study: Study) -> list[Summary]:
    """The models of a study whose RBP_1 is not 0 and whose RBP_100 is not 1; says which are not."""
    found = []
    for one in study.shown():
        if one.rbp(1) > 0 and one.rbp(100) < 1:
            found.append(one)
        else:
            about = one.manifest
            print(f"{about.model} on {about.corpus} has an RBP of 0 or 1, so no line.")
    return found


def measured_points(models: Sequence[Summary], ks: Array) -> pd.DataFrame:
    """RBP_k and loss of each model at these k."""
    rows = []
    for one in models:
        about = (one.manifest.corpus, one.manifest.family, one.manifest.model, one.manifest.S)
        rows += [(*about, k, rbp) for k, rbp in zip(ks, one.rbp(ks), strict=True)]
    table = pd.DataFrame(rows, columns=[*MODEL, "k", "rbp"]).astype({"rbp": float})
    table["loss"] = -np.log(table["rbp"])
    return table


def far_points(counted: pd.DataFrame, models: Sequence[Summary], ours: str) -> pd.DataFrame:
    """Losses at all k that are known: Figure 7's single tokens, and the measured models."""
    of_paper = {"source": "published", "corpus": "Wiki", "family": "Pythia", "V": paper.PAPER_V}
    parts = [counted[["model", "S", "k", "loss"]].assign(**of_paper)]
    for one in models:
        about = one.manifest
        ks = one.k_grid[(one.k_grid < about.V) & (one.rbp(one.k_grid) < 1)]
        loss = -np.log(one.rbp(ks))
        part = pd.DataFrame({"model": about.model, "S": about.S, "k": ks, "loss": loss})
        names = {"corpus": about.corpus, "family": about.family, "V": about.V}
        parts.append(part.assign(source=ours, **names))
    return pd.concat(parts, ignore_index=True)


def beyond(far: pd.DataFrame, ours: str, figures_dir: str) -> None:
    """Counted loss over that of the line, against k: medians over models (`ratio`)."""
    with plots.style():
        figure, axes = plt.subplots(figsize=(plots.WIDTH, 3.5), layout="constrained")
        axes.axvspan(1, 100, color=CONTEXT, linewidth=0, alpha=0.5)
        axes.axhline(1, color=INK, linewidth=1.2)
        axes.set(xscale="log", xlim=(0.9, 1.2e5), ylim=(0, 1.2), xlabel="$k$")
        axes.set(ylabel="loss counted / loss on the line", title="Beyond $k$ = 100 the line fails")
        for (source, _), part in far.groupby(["source", "corpus"], sort=False):
            colour = PYTHIA.colour if source == "published" else OTHER
            mark = PYTHIA.marker + "-" if source == "published" else "-"
            axes.plot(part["k"], part["ratio"], mark, color=colour, markersize=5)
        for V in far["V"].unique():
            colour = PYTHIA.colour if V == paper.PAPER_V else OTHER
            axes.axvline(V, color=colour, linestyle=":", linewidth=1)
            axes.text(V, 1.13, f"$V$ = {V:,} ", color=colour, ha="right")
        axes.text(5e3, 0.32, "Pythia\non Wiki", color=PYTHIA.colour)
        axes.text(1.2, 0.08, "the line is fitted here")
        if far["source"].nunique() > 1:
            axes.text(350, 0.28, ours.replace(" ", "\n"), color=OTHER, ha="right")
        axes.xaxis.set_major_formatter("{x:,.0f}")
    plots.save(figure, far, figures_dir, "figure_9_beyond")


def slopes(lines: pd.DataFrame, measured: pd.DataFrame, ours: str, figures_dir: str) -> None:
    """beta against S on one text of the paper, and on the first text that was measured."""
    table = pd.concat([lines.assign(source="paper"), measured.assign(source=ours)])
    first = table.groupby("source")["corpus"].transform("first")
    shown = table[table["corpus"] == first]
    panels = shown["source"] + ": " + shown["corpus"].map(plots.short)
    label = r"$\beta$, the exponent in $k$"
    figure = plots.law_grid(shown.assign(panel=panels), panel="panel", y="beta", ylabel=label)
    plots.save(figure, table, figures_dir, "figure_9_slopes")


def claims(
    lines: pd.DataFrame,
    pythia_worth: pd.Series,
    lowest_R2: float,
    pocket_lines: pd.DataFrame,
    pocket_rates: pd.DataFrame,
    records_dir: str,
    figures_dir: str,
) -> Markdown:
    """The claims of Appendix B (ICLR). lines: printed ones; lowest_R2: of lognormals' lines."""
    table1 = paper.table1().query("k in ['1', '10', '100']")
    steepest = table1.groupby(["dataset", "family"]).slope.min()
    pairs = pd.MultiIndex.from_frame(lines[["corpus", "family"]])
    ratio = lines.slope / steepest.reindex(pairs).to_numpy()
    first, last = pythia_worth.iloc[0], pythia_worth.iloc[2]
    pocket = dict.fromkeys(("R2", "steeper", "worth"), "not measured")
    if len(pocket_lines):
        pocket["R2"] = f"R2 at least {pocket_lines.R2.min():.3f}"
    if len(pocket_rates):
        own = pocket_rates.beta / (pocket_rates.alpha + pocket_rates.gamma * np.log(100))
        pocket["steeper"] = f"beta is {own.min():.1f} to {own.max():.1f} times alpha at k = 100"
        median = pocket_rates[pythia_worth.index].median()
        pocket["worth"] = f"median {median.iloc[0]:.0f} at k = 1, {median.iloc[2]:.1f} at k = 50"
    rows: list[dict[str, object]] = [
        {
            "claim": "The fits are highly accurate (all R2 ≥ 0.99)",
            "where": "Appendix B (ICLR), Table 1",
            "test": "least squares of log(-log RBP_k) on log k, k from 1 to 100; 64 of 96 lines"
            " recomputed",
            "published": f"R2 at least {lines.r2.min():.3f}; a lognormal, which is no power law,"
            f" has at least {lowest_R2:.3f}",
            "measured": pocket["R2"],
            "verdict": "holds" if lines.r2.min() >= 0.99 else "does not hold",
            "main": True,
        },
        {
            "claim": "the slopes with respect to k are considerably steeper than those with"
            " respect to model size S",
            "where": "Appendix B (ICLR), Table 1",
            "test": "each slope in log k over the family's steepest slope in log S, k = 1, 10, 100",
            "published": f"{ratio.min():.1f} to {ratio.max():.1f} times as steep",
            "measured": pocket["steeper"],
            "verdict": "holds" if ratio.min() > 1 else "holds in part",
            "main": True,
        },
        {
            "claim": r"$\Delta S/S \approx -(\alpha_k/\alpha_S)\, \Delta k/k$",
            "where": "Appendix B (ICLR)",
            "test": "how many times larger a model must be to gain what doubling k gains: one"
            " number for all k?",
            "published": f"exact for small steps; Pythia's median {first:.0f} at k = 1,"
            f" {last:.1f} at k = 50",
            "measured": pocket["worth"],
            "verdict": "holds in part",
            "main": False,
        },
    ]
    return claims_table("10", rows, records_dir, figures_dir)
