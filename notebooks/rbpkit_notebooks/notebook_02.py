"""What notebook 02 (Section 3, the metric) reads and draws, and how its exercises are checked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from transformers.utils.logging import disable_progress_bar

from rbpkit import paper, plots
from rbpkit.fit import Array, fit_power_law
from rbpkit.models import load_model
from rbpkit.palette import CONTEXT, INK, OTHER, RANK_FILLS, rank_group
from rbpkit.plots import headed
from rbpkit.tools.rank_view import look
from rbpkit_notebooks.choices import Study
from rbpkit_notebooks.choices import read_study as read_study
from rbpkit_notebooks.exercises import check_of
from rbpkit_notebooks.published_models import EVIDENCE as EVIDENCE
from rbpkit_notebooks.published_models import load as load_evidence
from rbpkit_pocket.families import model_folder

check = check_of("02")

torch.set_num_threads(1)
disable_progress_bar()


def figure_1(first: dict[str, float], second: dict[str, float], figures_dir: str) -> None:
    """Figure 1 of the paper: two models that give "Paris" one probability, and two ranks."""
    models = {"first model": first, "second model": second}
    rows = []
    with plots.panels(2.6, ncols=2) as (figure, panels):
        for axes, (model, p) in zip(panels, models.items(), strict=True):
            colours = [INK if token == "Paris" else CONTEXT for token in p]
            bars = axes.barh(list(p), list(p.values()), color=colours)
            axes.bar_label(bars, fmt="%.2f", padding=3, size=10)
            axes.invert_yaxis()
            axes.set(xlim=(0, 0.4), xticks=[])
            axes.spines["bottom"].set_visible(False)
            headed(axes, f"Paris: place {list(p).index('Paris') + 1}", model)
            rows += [(model, token, p[token]) for token in p]  # the most probable first
    points = pd.DataFrame(rows, columns=["prediction", "token", "p"])
    plots.save(figure, points, figures_dir, "figure_1")


def ranks_of_function() -> Array:
    """The ranks of the 53 tokens of notebook 00's function under the smallest pocket Pythia."""
    text = "".join(load_evidence("real_ranks")["token"])
    return np.array(look(load_model(model_folder("Pythia", 0), device="cpu"), text).ranks)


def share(ranks: Array, figures_dir: str) -> None:
    """The tokens as cells, as they come and sorted, with a bracket for each RBP_k."""
    count = len(ranks)
    line = "a cell is a token: the paler, the smaller its rank"
    with plots.panel(r"$\mathrm{RBP}_k$ is a share", line, 3.2) as axes:
        as_they_come = (ranks, 2.6, "in the order of the text")
        in_order = (np.sort(ranks), 1.9, "sorted, smallest rank first")
        for row, height, words in (as_they_come, in_order):
            fills = [RANK_FILLS[rank_group(int(rank))] for rank in row]
            axes.bar(range(count), 0.25, 0.93, bottom=height, align="edge", color=fills)
            axes.text(0, height + 0.38, words, size=11, va="center")
        for height, k in ((1.55, 1), (0.95, 10), (0.35, 100)):
            hits = int((ranks <= k).sum())
            heights = [height + 0.12, height, height, height + 0.12]
            axes.plot([0, 0, hits - 0.07, hits - 0.07], heights, color=INK)
            words = f"$\\mathrm{{RBP}}_{{{k}}}$ = {hits}/{count} = {hits / count:.2f}"
            axes.text(0.3, height - 0.2, words, size=12, va="center")
        axes.set(xlim=(-0.3, count + 0.3), ylim=(0, 3.1))
        axes.axis("off")
    points = pd.DataFrame({"position": range(1, count + 1), "rank": ranks})
    plots.save(axes, points, figures_dir, "figure_2_share")


def one_cross_entropy(p_true: float, figures_dir: str) -> None:
    """Two models that give the true token one probability: it is second, and it is first."""
    shapes = ([1 - p_true, p_true], [p_true] + [(1 - p_true) / 24] * 24)
    words = ("1 wrong token has 0.95", "24 wrong tokens share 0.95")
    rows = []
    with plots.panels(2.8, ncols=2, sharey=True) as (figure, panels):
        for axes, heights, true, line in zip(panels, shapes, (2, 1), words, strict=True):
            places = range(1, len(heights) + 1)
            axes.bar(places, heights, color=[INK if at == true else CONTEXT for at in places])
            axes.text(true + 1, 0.08, "true token: 0.05", size=10)
            axes.set(xlim=(0, 26), ylim=(0, 1), xlabel="place")
            headed(axes, rf"CE = 3, $\mathrm{{RBP}}_1$ = {int(true == 1)}", line)
            rows += [(3 - true, at, p, at == true) for at, p in zip(places, heights, strict=True)]
        panels[0].set_ylabel("probability")
    points = pd.DataFrame(rows, columns=["model", "place", "p", "correct"])
    plots.save(figure, points, figures_dir, "figure_2_open")


def bounds(k: Array, rbp: Array, forced: Array, figures_dir: str) -> None:
    """RBP_k against k, and the smallest that cross-entropy allows."""
    line = r"$\mathrm{RBP}_k$ of the third model, a share of tokens"
    with plots.panel("Far above what CE forces", line, 3.4) as axes:
        axes.fill_between(k, forced, 1, step="post", color=CONTEXT, linewidth=0)
        axes.step(k, rbp, where="post", color=INK)
        axes.plot(k, forced, "--", color=OTHER)
        axes.text(3, rbp[2] + 0.05, r"$\mathrm{RBP}_k$", ha="right")
        axes.text(300, 0.3, "forced by CE", color=OTHER)
        axes.text(1.2, 0.2, "CE allows\nall of the grey")
        axes.set(xscale="log", ylim=(0, 1.02), xlabel="$k$")
    grid = np.unique(np.geomspace(1, len(k), 80).astype(int))
    points = pd.DataFrame({"k": grid, "rbp": rbp[grid - 1], "bound": forced[grid - 1]})
    plots.save(axes, points, figures_dir, "figure_2_bounds")


COLUMNS = ["corpus", "family", "model", "S", "CE", "loss"]


def published() -> pd.DataFrame:
    """CE and -log RBP_1 of 14 models on Wikipedia: Figure 8a, the authors' results for GPT-2."""
    pythia = paper.table("ce_and_rbp1").query("kind == 'empirical'")
    pythia = pythia.pivot(index=["model", "S"], columns="series", values="value").reset_index()
    pythia = pythia.rename(columns={"neg_log_rbp1": "loss"}).assign(family="Pythia")
    gpt2 = paper.table("gpt2_wiki_metrics").query("k == 1").rename(columns={"ce": "CE"})
    gpt2 = gpt2.assign(family="GPT2", loss=-np.log(gpt2["p_N1"]))
    both = pd.concat([pythia, gpt2]).assign(corpus="published: Wiki")
    return both[COLUMNS].sort_values(["family", "S"])


def measured(study: Study) -> pd.DataFrame:
    """The same of what was measured; a model that is never right has no loss."""
    rows = []
    for one in study.shown():
        about = one.manifest
        loss = -np.log(one.rbp(1)) if one.rbp(1) > 0 else np.nan
        rows.append((about.corpus, about.family, about.model, about.S, one.ce(), loss))
    return pd.DataFrame(rows, columns=COLUMNS).astype({"S": int, "CE": float, "loss": float})


def from_ce(wiki: pd.DataFrame, own: pd.DataFrame, figures_dir: str) -> None:
    """The published points against size and against cross-entropy, with a line a family."""
    with plots.panels(3.4, ncols=2, sharey=True) as (figure, (by_size, by_CE)):
        for axes, x in ((by_size, "S"), (by_CE, "CE")):
            for family, part in wiki.sort_values(x).groupby("family"):
                ink = plots.ink_of(str(family))
                line = fit_power_law(part[x], part["loss"]).predict(part[x]).loss
                axes.plot(part[x], part["loss"], ink.marker, color=ink.colour)
                axes.plot(part[x], line, color=ink.colour, linewidth=1.2)
            axes.set(xscale="log", yscale="log")
        headed(by_size, "By size", r"$-\log\,\mathrm{RBP}_1$, Wikipedia")
        headed(by_CE, "By cross-entropy", "nearly one line")
        by_size.set_xlabel(plots.SIZE)
        by_CE.set_xlabel("CE, nats a token")
        plots.log_ticks(by_size)
        plots.ticks(by_CE.xaxis, [2, 2.5, 3, 3.5, 4])
        by_size.text(4e8, 0.86, "GPT-2", color=plots.ink_of("GPT2").colour)
        by_size.text(2e6, 0.7, "Pythia", color=plots.ink_of("Pythia").colour)
    points = pd.concat([wiki, own]).sort_values(["family", "S"])
    plots.save(figure, points, figures_dir, "figure_2_from_ce")
