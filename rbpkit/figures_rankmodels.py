"""The audit of Section 5.2: candidates for the law of the ranks, and what CE bounds."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rbpkit.audit.bounds import lower_bound
from rbpkit.audit.rankmodels import CANDIDATES
from rbpkit.figures import FAMILY_INK, OTHER_INK, style

SHOWN = 1e-5  # nats a token: scores nearer to the best than this are drawn here
BOUND_K = (10, 100)
EDGE = {"markeredgecolor": "white", "markeredgewidth": 0.5}


def figure_audit_rankmodels(published: pd.DataFrame, pocket: pd.DataFrame | None) -> Figure:
    """How far each candidate is behind the best, and its largest error in RBP_k.

    published: `two_exponents.published_models`. pocket: the table "rank_models" of all jobs; None
    or empty: the published stand alone.
    """
    points = rankmodels_points(published, pocket)
    panels = (
        ("behind", 2, "nats a token behind the best law\n(log score, ranks $\\geq 2$)"),
        ("error", 1, "largest error in RBP$_k$, $k$ = 1 to 1,000\n(held out, rank 1 in the fit)"),
    )
    panels = [one for one in panels if len(points[points["quantity"] == one[0]])]
    names = list(CANDIDATES)
    with style():
        figure, grid = plt.subplots(
            1, len(panels), figsize=(5.4 * len(panels), 3.9), sharey=True, squeeze=False
        )
        for axes, (quantity, _, label) in zip(grid[0], panels, strict=True):
            rows = points[points["quantity"] == quantity]
            groups = [g for g in ("published", *FAMILY_INK) if g in set(rows["group"])]
            groups += sorted(set(rows["group"]) - set(groups))
            for place, group in enumerate(groups):
                of = rows[rows["group"] == group]
                ink = FAMILY_INK.get(group, OTHER_INK)
                star = group == "published"
                height = (place - (len(groups) - 1) / 2) * 0.15
                axes.plot(
                    np.maximum(of["value"], SHOWN),
                    [names.index(name) - height for name in of["candidate"]],
                    "*" if star else ink.marker,
                    color="black" if star else ink.colour,
                    markersize=8 if star else 4,
                    label="published: Pythia, Wiki (in-sample)" if star else group,
                    linestyle="none",
                    **EDGE,
                )
            axes.set_xscale("log")
            axes.set_xlabel(label)
            axes.set_yticks(range(len(names)), names)
            axes.set_ylim(len(names) - 0.5, -0.5)
        grid[0, 0].set_xlim(left=SHOWN / 1.6)
        if panels[0][0] == "behind":
            ticks = [SHOWN, 1e-4, 1e-3, 1e-2, 1e-1, 1]
            grid[0, 0].set_xticks(ticks, ["best", *(f"{tick:g}" for tick in ticks[1:])])
        if panels[-1][0] == "error":
            ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
            grid[0, -1].set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            grid[0, -1].minorticks_off()
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.tight_layout(rect=(0, 0, 1, 0.92))
        figure.legend(
            handles, labels, loc="upper center", ncols=len(labels), handletextpad=0.1, frameon=False
        )
    return figure


def rankmodels_points(published: pd.DataFrame, pocket: pd.DataFrame | None) -> pd.DataFrame:
    """The points of `figure_audit_rankmodels`: group, corpus, model, candidate, quantity, value."""
    parts = [published.assign(group="published", corpus="Wiki", quantity="behind", k_min=2)]
    if pocket is not None and len(pocket):
        own = pocket.assign(group=pocket["family"])
        parts.append(own[own["k_min"] == 2].assign(quantity="behind"))
        parts.append(own[own["k_min"] == 1].assign(quantity="error", behind=own["error"]))
    table = pd.concat(parts, ignore_index=True).rename(columns={"behind": "value"})
    return table[["group", "corpus", "model", "candidate", "quantity", "value"]]


def figure_audit_bounds(
    published: pd.DataFrame, pocket: pd.DataFrame, pairs: pd.DataFrame, corpus: str = ""
) -> Figure:
    """RBP_k against CE with the bound (k of BOUND_K), and RBP_1 at equal CE on one corpus.

    published, pocket: `bounds.published_bounds`, `measured_bounds` at k = 1 and BOUND_K. pairs:
    `bounds.equal_pairs` of `corpus` at k = 1; those apart are joined. The last two may be empty.
    """
    with_pairs = len(pocket) > 0 and bool(corpus)
    with style():
        panels = len(BOUND_K) + with_pairs
        figure, grid = plt.subplots(1, panels, figsize=(4.1 * panels, 3.9), squeeze=False)
        for axes, k in zip(grid[0], BOUND_K, strict=False):
            groups = [
                ("published", *one) for one in published[published["k"] == k].groupby("family")
            ]
            if len(pocket):
                groups += [("pocket", *one) for one in pocket[pocket["k"] == k].groupby("family")]
            for source, family, rows in groups:
                _cloud(axes, rows, family, hollow=source == "published")
            ce = np.linspace(0, 5.8, 200)
            axes.fill_between(ce, 0, lower_bound(ce, k), color="0.82", linewidth=0)
            axes.plot(ce, lower_bound(ce, k), color="black", linewidth=1.2)
            axes.text(0.3, 0.12, "no model\ncan be here", fontsize=8)
            axes.set_xlim(0, 5.8)
            axes.set_ylim(0, 1.02)
            axes.set_title(f"$k = {k}$, all corpora; line: $1 - \\mathrm{{CE}}/\\ln({k + 1})$")
            axes.set_xlabel("CE (nats a token)")
            axes.set_ylabel(f"RBP$_{{{k}}}$")
        if with_pairs:
            _joined(grid[0, -1], pocket[(pocket["k"] == 1) & (pocket["corpus"] == corpus)], pairs)
            grid[0, -1].set_title(f"{corpus.removeprefix('pocket:')}: equal CE, unequal RBP$_1$")
        seen = [f for f in FAMILY_INK if f in {*published["family"], *pocket.get("family", ())}]
        marks = [
            Line2D([], [], marker=FAMILY_INK[f].marker, color=FAMILY_INK[f].colour, ls="", label=f)
            for f in seen
        ]
        hollow = {"markerfacecolor": "none", "color": "black", "ls": ""}
        marks.append(Line2D([], [], marker="o", label="hollow: published, Wiki", **hollow))
        figure.tight_layout(rect=(0, 0, 1, 0.92))
        figure.legend(
            handles=marks, loc="upper center", ncols=len(marks), handletextpad=0.1, frameon=False
        )
    return figure


def bounds_points(
    published: pd.DataFrame, pocket: pd.DataFrame, pairs: pd.DataFrame
) -> pd.DataFrame:
    """The points of `figure_audit_bounds`: source, corpus, family, model, S, CE, k, RBP, bound,
    free, and paired (is the model in a pair that is apart; k = 1 only)."""
    parts = [published.assign(source="published", corpus="Wiki"), pocket.assign(source="pocket")]
    table = pd.concat([one for one in parts if len(one)], ignore_index=True)
    apart = pairs[pairs["apart"]] if len(pairs) else pd.DataFrame({"a": [], "b": []})
    joined = {*apart["a"], *apart["b"]}
    table["paired"] = (table["k"] == 1) & table["model"].isin(joined)
    names = ["source", "corpus", "family", "model", "S", "CE", "k", "RBP", "bound", "free"]
    return table[[*names, "paired"]]


def _cloud(axes: Axes, rows: pd.DataFrame, family: str, hollow: bool = False) -> None:
    ink = FAMILY_INK.get(family, OTHER_INK)
    look = {"markerfacecolor": "none", "markeredgecolor": ink.colour} if hollow else EDGE
    size = 7 if hollow else 5
    axes.plot(
        rows["CE"], rows["RBP"], ink.marker, color=ink.colour, markersize=size, zorder=3, **look
    )


def _joined(axes: Axes, rows: pd.DataFrame, pairs: pd.DataFrame) -> None:
    for family, models in rows.groupby("family"):
        _cloud(axes, models, family)
    for pair in pairs[pairs["apart"]].itertuples() if len(pairs) else ():
        ends = [pair.CE_a, pair.CE_b], [pair.RBP_a, pair.RBP_b]
        axes.plot(*ends, color="black", linewidth=1.4, zorder=2)
        axes.plot(*ends, "o", mfc="none", mec="black", markersize=11, zorder=4)
    axes.set_xlabel("CE (nats a token)")
    axes.set_ylabel("RBP$_1$")
