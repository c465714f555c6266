"""Section 3, the metric: Figures 1 and 2, RBP_k as a distribution function, and what CE bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from rbpkit.errors import InputError
from rbpkit.plots import ink_of, rows_of_panels, short, style

TARGET, OTHER = "#0072B2", "#C8C8C8"


def ce_bound(ce: ArrayLike, k: ArrayLike) -> NDArray[np.float64] | float:
    """The least RBP_k that a cross-entropy allows: max(0, 1 - ce / log(k + 1)).

    ce: nats, of the same tokens and the same distribution that ranks them. ce and k broadcast.
    At least R tokens are as likely as the target, so R p(t) <= 1 and -log p(t) >= log R; Markov's
    inequality gives Pr(R >= k + 1) <= E[log R] / log(k + 1) <= CE / log(k + 1). The bound is
    sharp, and there is none from above.
    Raises InputError for a CE that is negative or not finite, and for k < 1.
    """
    ce, k = np.asarray(ce, dtype=float), np.asarray(k, dtype=float)
    if not (np.isfinite(ce) & (ce >= 0)).all():
        raise InputError("CE must be a finite number of nats, not below 0")
    if not (k >= 1).all():
        raise InputError("k must be at least 1")
    bound = np.maximum(0.0, 1 - ce / np.log1p(k))
    return float(bound) if bound.ndim == 0 else bound


# -- Figures 1 and 2 --------------------------------------------------------------------------


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
    def order(self) -> NDArray[np.int64]:
        """Token indices by falling p; a target that ties stands last among its equals (Eq. 3)."""
        return np.lexsort((np.arange(self.p.size) == self.target, -self.p))


def prediction_points(predictions: Sequence[Prediction]) -> pd.DataFrame:
    """Bars of Figures 1 and 2: prediction, token, p, place (1 is the likeliest), correct."""
    rows = [
        (one.title, one.tokens[v], one.p[v], place, v == one.target)
        for one in predictions
        for place, v in enumerate(one.order, start=1)
    ]
    return pd.DataFrame(rows, columns=["prediction", "token", "p", "place", "correct"])


def figure_1(predictions: Sequence[Prediction]) -> Figure:
    """Two views of each prediction: probabilities on the left, places in the order on the right."""
    _refuse_nothing(predictions)
    top = 1.25 * max(one.p.max() for one in predictions)
    with style():
        figure, grid = plt.subplots(
            len(predictions), 2, figsize=(8.4, 2.9 * len(predictions)), squeeze=False
        )
        for one, (left, right) in zip(predictions, grid, strict=True):
            name, p = one.tokens[one.target], one.p[one.target]
            left.bar(one.tokens, one.p, color=_colours(one, range(len(one.p))), edgecolor="0.3")
            left.set(ylabel="$p(v)$", ylim=(0, top), title=f"{one.title}: probabilities")
            note = f"$p({name})$ = {p:.3f}\n$-\\log p$ = {-np.log(p):.3f} nats"
            left.text(0.98, 0.96, note, ha="right", va="top", transform=left.transAxes, fontsize=9)
            _ladder(right, one)
            right.set(title=f"{one.title}: ranks", xticks=[])
            note = f"$R({name})$ = {one.rank}"
            right.text(0.98, 0.06, note, ha="right", transform=right.transAxes, fontsize=9)
            for axes in (left, right):
                axes.grid(False)
        grid[-1, 0].set_xlabel("token $v$")
        figure.tight_layout()
    return figure


def figure_2(predictions: Sequence[Prediction], ks: Sequence[int]) -> Figure:
    """The scored tokens side by side, each with its ordered candidates and a cut after each k."""
    _refuse_nothing(predictions)
    with style():
        figure, row = plt.subplots(
            1, len(predictions), figsize=(2.9 * len(predictions), 3.4), squeeze=False
        )
        for one, axes in zip(predictions, row[0], strict=True):
            _ladder(axes, one)
            axes.set(title=f"{one.title}: $R = {one.rank}$", xlabel="$p(v)$")
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
    places = np.arange(1, len(one.p) + 1)
    axes.barh(places, one.p[one.order], color=_colours(one, one.order), edgecolor="0.3")
    axes.set_yticks(places, [f"{at}.  {one.tokens[v]}" for at, v in enumerate(one.order, 1)])
    axes.set(ylim=(len(places) + 0.6, 0.4), xlim=(0, 1.15 * one.p.max()))


def _colours(one: Prediction, order: Iterable[int]) -> list[str]:
    return [TARGET if v == one.target else OTHER for v in order]


# -- RBP_k as a distribution function ---------------------------------------------------------


def staircases(points: pd.DataFrame) -> Figure:
    """Pr(R <= k) against k: the smallest and the largest model of each family, a panel a corpus.

    points: source (a row of panels each), corpus, family, S, k, rbp.
    """
    _refuse_nothing(points)
    sources = points.groupby("source", sort=False)
    rows = {source: list(table.groupby("corpus", sort=False)) for source, table in sources}
    with style():
        figure, grid = rows_of_panels([len(panels) for panels in rows.values()], (3.1, 3.0))
        for (source, panels), axes_row in zip(rows.items(), grid, strict=True):
            for axes, (corpus, panel) in zip(axes_row, panels, strict=True):
                _stairs(axes, panel, dense=source == "measured")
                axes.set_title(f"{source}: {short(corpus)}")
            axes_row[0].set_ylabel(r"$\mathrm{RBP}_k = \Pr(R \leq k)$")
            axes_row[0].legend(loc="lower right", title="dashed: smallest model", title_fontsize=8)
        figure.tight_layout()
    return figure


def _stairs(axes: Axes, table: pd.DataFrame, dense: bool) -> None:
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="$k$")
    for number, (family, part) in enumerate(table.groupby("family", sort=False)):
        ink = ink_of(family)
        # Between the published k nothing is known: straight lines to guide the eye, no steps.
        # Markers of the families are staggered: their curves lie close.
        steps = {"drawstyle": "steps-post", "markevery": (4 * number % 16, 16)} if dense else {}
        look = {"color": ink.colour, "linewidth": 1.0, "marker": ink.marker, "markersize": 4}
        for S, dash in ((part["S"].max(), "-"), (part["S"].min(), "--")):
            one = part[part["S"] == S]
            label = str(family) if dash == "-" else None
            axes.plot(one["k"], one["rbp"], dash, label=label, **look, **steps)


def read_at(axes: Axes, rbp: NDArray[np.float64], k: int) -> None:
    """The staircase RBP_1, ..., RBP_V, (V,), and its value at one k."""
    share = rbp[min(k, len(rbp)) - 1]
    axes.step(np.arange(1, len(rbp) + 1), rbp, where="post", color="0.2", linewidth=1.2)
    axes.plot([k, k, 1], [0, share, share], "--", color=TARGET, linewidth=1.2)
    axes.plot([k], [share], "o", color=TARGET)
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="$k$", ylabel=r"$\Pr(R \leq k)$")
    axes.set(title=f"$\\mathrm{{RBP}}_{{{k}}}$ = {share:.3f}")


def bounds(
    R: NDArray[np.int64], nll: NDArray[np.float64], rbp: NDArray[np.float64], title: str
) -> Figure:
    """Left: -log p(t) against log R of scored tokens, R and nll (T,). Right: RBP_k and its bound.

    rbp: (V,) RBP_1, ..., RBP_V of the same tokens; the bound takes their CE, the mean of nll.
    """
    _refuse_nothing(R)
    k, log_V = np.arange(1, len(rbp) + 1), np.log(len(rbp))
    with style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.9))
        left.plot(np.log(R), nll, ".", color=TARGET, alpha=0.15, markersize=4, rasterized=True)
        left.plot([0, log_V], [0, log_V], color="black", label="$\\log R$")
        left.set(xlabel="$\\log R$", ylabel="$-\\log p(t)$ (nats)")
        left.set(ylim=(-0.3, 1.04 * max(nll.max(), log_V)), title=f"{title}: each token")
        left.legend(loc="lower right")
        right.step(k, rbp, where="post", color=TARGET, label="$\\mathrm{RBP}_k$")
        floor = ce_bound(nll.mean(), k)
        right.plot(k, floor, "--", color="black", label="$1 - \\mathrm{CE}/\\log(k+1)$")
        right.set(xscale="log", ylim=(0, 1.02), xlabel="$k$")
        right.set(title=f"{title}: CE = {nll.mean():.2f} nats")
        right.legend(loc="upper left")
        figure.tight_layout()
    return figure


def _refuse_nothing(drawn: Sequence | pd.DataFrame) -> None:
    if not len(drawn):
        raise InputError("nothing to draw")
