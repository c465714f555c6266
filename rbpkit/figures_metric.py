"""The figures of Section 3: Figures 1 and 2, RBP_k as a distribution function, and what CE bounds.

Every function gives a figure, which `figures.save` shows and closes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.figures import FAMILY_INK, OTHER_INK, style
from rbpkit.summary import Summary

TARGET, OTHER = "#0072B2", "#C8C8C8"
STAIR_COLUMNS = "source corpus family model S k rbp".split()


@dataclass(frozen=True, eq=False)
class Prediction:
    """One next-token distribution: p (V,) over `tokens`, the correct one at index `target`."""

    title: str
    tokens: tuple[str, ...]
    p: NDArray[np.float64]
    target: int

    @property
    def rank(self) -> int:
        """R(t) = sum over v of 1[p(v) >= p(t)], Eq. 3."""
        return int((self.p >= self.p[self.target]).sum())

    @property
    def nll(self) -> float:
        """-log p(t), nats: the token's part of Eq. 2."""
        return float(-np.log(self.p[self.target]))


def prediction_points(predictions: Sequence[Prediction]) -> pd.DataFrame:
    """Bars of Figures 1 and 2: prediction, token, p, place (1 is the likeliest), correct."""
    rows = [
        (one.title, one.tokens[v], one.p[v], place, v == one.target)
        for one in predictions
        for place, v in enumerate(_order(one), start=1)
    ]
    return pd.DataFrame(rows, columns=["prediction", "token", "p", "place", "correct"])


def figure_1(predictions: Sequence[Prediction]) -> Figure:
    """Two views of each prediction: probabilities on the left, places in the order on the right."""
    _something(predictions)
    with style():
        figure, grid = plt.subplots(
            len(predictions), 2, figsize=(8.4, 2.9 * len(predictions)), squeeze=False
        )
        for one, (left, right) in zip(predictions, grid, strict=True):
            name = one.tokens[one.target]
            left.bar(one.tokens, one.p, color=_colours(one, range(len(one.p))), edgecolor="0.3")
            left.set_ylabel("$p(v)$")
            left.set_ylim(0, 1.25 * one.p.max())
            left.set_title(f"{one.title}: probabilities")
            left.annotate(
                f"$p({name})$ = {one.p[one.target]:.3f}\n$-\\log p$ = {one.nll:.3f} nats",
                (0.98, 0.96),
                xycoords="axes fraction",
                ha="right",
                va="top",
                fontsize=9,
            )
            _ladder(right, one)
            right.set_title(f"{one.title}: ranks")
            right.set_xlabel("")
            right.set_xticks([])
            note = f"$R({name})$ = {one.rank}"
            right.text(0.98, 0.06, note, ha="right", transform=right.transAxes, fontsize=9)
            for axes in (left, right):
                axes.grid(False)
        grid[-1, 0].set_xlabel("token $v$")
        figure.tight_layout()
    return figure


def figure_2(predictions: Sequence[Prediction], ks: Sequence[int]) -> Figure:
    """The scored tokens side by side, each with its ordered candidates and a cut after each k."""
    _something(predictions)
    with style():
        figure, row = plt.subplots(
            1, len(predictions), figsize=(2.9 * len(predictions), 3.4), squeeze=False
        )
        for one, axes in zip(predictions, row[0], strict=True):
            _ladder(axes, one)
            axes.set_title(f"{one.title}: $R = {one.rank}$")
            axes.set_xlabel("$p(v)$")
            for k, dash in zip(ks, ("--", "-.", ":", "-"), strict=False):
                axes.axhline(k + 0.5, color="black", linestyle=dash, linewidth=1.1)
                axes.text(axes.get_xlim()[1], k + 0.42, f"$k = {k}$", ha="right", va="bottom")
            axes.grid(False)
        row[0][0].set_ylabel("place in the order")
        ranks = np.array([one.rank for one in predictions])
        shares = [f"$\\mathrm{{RBP}}_{{{k}}} = {(ranks <= k).sum()}/{len(ranks)}$" for k in ks]
        figure.suptitle(",  ".join(shares), fontsize=12)
        figure.tight_layout()
    return figure


def _ladder(axes: Axes, one: Prediction) -> None:
    """Candidates from the likeliest down, the correct one in colour."""
    order = _order(one)
    places = np.arange(1, len(order) + 1)
    axes.barh(places, one.p[order], color=_colours(one, order), edgecolor="0.3")
    axes.set_yticks(places, [f"{place}.  {one.tokens[v]}" for place, v in enumerate(order, 1)])
    axes.set_ylim(len(order) + 0.6, 0.4)
    axes.set_xlim(0, 1.15 * one.p.max())


def _order(one: Prediction) -> NDArray[np.int64]:
    """By falling p; a tied target stands last among its equals, as Eq. 3 has it."""
    return np.lexsort((np.arange(one.p.size) == one.target, -one.p))


def _colours(one: Prediction, order: Iterable[int]) -> list[str]:
    return [TARGET if v == one.target else OTHER for v in order]


# -- RBP_k as a distribution function ---------------------------------------------------------


def published_stairs() -> pd.DataFrame:
    """RBP_k against k of Figure 9 (ICLR version): its 704 points, columns STAIR_COLUMNS."""
    table = paper.rbp_by_k().rename(columns={"dataset": "corpus"}).assign(source="published")
    return table[STAIR_COLUMNS]


def measured_stairs(
    summaries: Iterable[Summary], corpora: Sequence[str], families: Sequence[str]
) -> pd.DataFrame:
    """RBP_k of what was measured of corpora x families, at about 60 k up to V; STAIR_COLUMNS."""
    rows = []
    for one in summaries:
        about = one.manifest
        if about.corpus in corpora and about.family in families:
            k = np.unique(np.geomspace(1, about.V, 80).astype(np.int64))
            who = ("measured", about.corpus, about.family, about.model, about.S)
            rows += [(*who, int(at), share) for at, share in zip(k, one.rbp(k), strict=True)]
    table = pd.DataFrame(rows, columns=STAIR_COLUMNS)
    place = table["corpus"].map({corpus: i for i, corpus in enumerate(corpora)})
    order = table.assign(place=place).sort_values(["place", "family", "S", "k"])
    return order[STAIR_COLUMNS].reset_index(drop=True)


def staircases(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Pr(R <= k) against k: the smallest and the largest model of each family, a panel a corpus."""
    rows = [("published", published)] + ([("measured", measured)] if len(measured) else [])
    _something(published)
    columns = max(table["corpus"].nunique() for _, table in rows)
    with style():
        figure, grid = plt.subplots(
            len(rows), columns, figsize=(3.1 * columns, 3.0 * len(rows)), squeeze=False
        )
        for (source, table), axes_row in zip(rows, grid, strict=True):
            for axes in axes_row[table["corpus"].nunique() :]:
                axes.set_visible(False)
            for axes, (corpus, part) in zip(
                axes_row, table.groupby("corpus", sort=False), strict=False
            ):
                _stairs(axes, part, dense=source == "measured")
                axes.set_title(f"{source}: {corpus.removeprefix('pocket:')}")
            axes_row[0].set_ylabel(r"$\mathrm{RBP}_k = \Pr(R \leq k)$")
            axes_row[0].legend(loc="lower right", title="dashed: smallest model", title_fontsize=8)
        figure.tight_layout()
    return figure


def _stairs(axes: Axes, table: pd.DataFrame, dense: bool) -> None:
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="$k$")
    for number, (family, part) in enumerate(table.groupby("family", sort=False)):
        ink = FAMILY_INK.get(family, OTHER_INK)
        # Between the published k nothing is known: straight lines to guide the eye, no steps.
        # Markers of the families are staggered: their curves lie close.
        steps = {"drawstyle": "steps-post", "markevery": (4 * number % 16, 16)} if dense else {}
        look = {"color": ink.colour, "linewidth": 1.0, "marker": ink.marker, "markersize": 4}
        for S, dash in ((part["S"].max(), "-"), (part["S"].min(), "--")):
            one = part[part["S"] == S]
            label = str(family) if dash == "-" else None
            axes.plot(one["k"], one["rbp"], dash, label=label, **look, **steps)


def at_k(rbp: NDArray[np.float64], ks: Sequence[int]) -> Figure:
    """The staircase RBP_1, ..., RBP_V, (V,), read at a k: a panel for each of `ks`."""
    k = np.arange(1, len(rbp) + 1)
    with style():
        figure, row = plt.subplots(
            1, len(ks), figsize=(max(4.2, 3.0 * len(ks)), 3.0), sharey=True, squeeze=False
        )
        for at, axes in zip(ks, row[0], strict=True):
            share = rbp[min(at, len(rbp)) - 1]
            axes.step(k, rbp, where="post", color="0.2", linewidth=1.2)
            axes.plot([at, at], [0, share], color=TARGET, linewidth=1.2)
            axes.plot([1, at], [share, share], "--", color=TARGET, linewidth=1.2)
            axes.plot([at], [share], "o", color=TARGET)
            axes.set(xscale="log", ylim=(0, 1.02), xlabel="$k$")
            axes.set_title(f"$\\mathrm{{RBP}}_{{{at}}}$ = {share:.3f}")
        row[0][0].set_ylabel(r"$\Pr(R \leq k)$")
        figure.tight_layout()
    return figure


def explore(rbp: NDArray[np.float64], ks: Sequence[int]) -> Figure | None:
    """A slider for k over `at_k` where a Jupyter server runs this kernel, else the still picture.

    Such a server names its session in JPY_SESSION_NAME; a kernel started by papermill, nbval or
    a script has no page that could show a slider, and gets the panels of `ks`.
    """
    if not os.environ.get("JPY_SESSION_NAME"):
        return at_k(rbp, ks)
    try:
        from ipywidgets import SelectionSlider, interact
    except ImportError:
        return at_k(rbp, ks)
    options = np.unique(np.geomspace(1, len(rbp), 60).astype(int)).tolist()
    options = sorted({*options, *(k for k in ks if k <= len(rbp))})
    slider = SelectionSlider(options=options, value=options[0], description="k")
    interact(lambda k: at_k(rbp, [k]), k=slider)
    return None


# -- what CE bounds ---------------------------------------------------------------------------


def ce_bound(ce: float, k: int | NDArray[np.int64]) -> float | NDArray[np.float64]:
    """RBP_k >= 1 - CE / ln(k + 1), CE in nats; no bound (0) where that is negative.

    At least R entries are as likely as the target, so R p(t) <= 1 and -log p(t) >= ln R; Markov's
    inequality then gives Pr(R >= k + 1) <= E[ln R] / ln(k + 1) <= CE / ln(k + 1).
    """
    return np.maximum(0.0, 1 - ce / np.log(np.asarray(k) + 1))


def bounds(
    R: NDArray[np.int64], nll: NDArray[np.float64], rbp: NDArray[np.float64], title: str
) -> Figure:
    """Left: -log p(t) against ln R of scored tokens, R and nll (T,). Right: RBP_k and its bound.

    rbp: (V,) RBP_1, ..., RBP_V of the same tokens; the bound takes their CE, the mean of nll.
    """
    if not len(R):
        raise InputError("nothing to draw: no scored token")
    k = np.arange(1, len(rbp) + 1)
    with style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.9))
        top = max(float(nll.max()), np.log(len(rbp)))
        left.plot(np.log(R), nll, ".", color=TARGET, alpha=0.15, markersize=4, rasterized=True)
        left.plot([0, np.log(len(rbp))], [0, np.log(len(rbp))], color="black", label="$\\ln R$")
        left.set(xlabel="$\\ln R$", ylabel="$-\\log p(t)$ (nats)", ylim=(-0.3, 1.04 * top))
        left.set_title(f"{title}: each token")
        left.legend(loc="lower right")
        right.step(k, rbp, where="post", color=TARGET, label="$\\mathrm{RBP}_k$")
        floor = ce_bound(float(nll.mean()), k)
        right.plot(k, floor, "--", color="black", label="$1 - \\mathrm{CE}/\\ln(k+1)$")
        right.set(xscale="log", ylim=(0, 1.02), xlabel="$k$")
        right.set_title(f"{title}: CE = {nll.mean():.2f} nats")
        right.legend(loc="upper left")
        figure.tight_layout()
    return figure


def _something(drawn: Sequence) -> None:
    if not len(drawn):
        raise InputError("nothing to draw")
