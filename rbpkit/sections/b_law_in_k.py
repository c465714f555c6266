"""The law in k (an appendix of the ICLR version): -log RBP_k ~ k^-beta for one model.

slope = -beta: least squares of log(-log RBP_k) on log k. The k of one model are points of one
distribution function, so this regression's errors are no sampling errors: `token_se` and
`bootstrap` give those. `trade` sets k against S.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import fit_rbp_law
from rbpkit.plots import ink_of, short, style, whiskers
from rbpkit.stats.bootstrap import resample
from rbpkit.stats.curves import models_of
from rbpkit.summary import Summary

KS = (1, 2, 3, 5, 7, 10, 18, 30, 50, 78, 100)  # the eleven of Figure 9

MINUS = "\N{MINUS SIGN}"
MARKERS = "os^Dv<>P*X"

_POINT = ["corpus", "family", "model", "S", "k", "rbp"]
_LINE = ["corpus", "family", "model", "S"]


def published_points() -> pd.DataFrame:
    """Figure 9: corpus, family, model, S, k, rbp, loss (-log RBP_k); 704 rows, by rising S and k.

    S is in non-embedding parameters.
    """
    points = paper.rbp_by_k().rename(columns={"dataset": "corpus"})[_POINT]
    place = points["corpus"].map(paper.CORPORA.index)
    points = points.assign(loss=-np.log(points["rbp"]), place=place)
    points = points.sort_values(["place", "family", "S", "k"], ignore_index=True)
    return points.drop(columns="place")


def measured_points(
    summaries: Iterable[Summary],
    corpora: Sequence[str],
    families: Sequence[str],
    ks: Sequence[int] = KS,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The same table for measured models, and a line for each that is missing from it, with why.

    A model for which RBP_k is 0 or 1 at one of `ks` is missing. InputError for k < 1.
    """
    rows, missing, every = [], [], list(summaries)
    for about in itertools.product(corpora, families):
        here = models_of(every, *about)
        if not here:
            missing.append(f"not measured: {about[1]} on {about[0]}")
        for one in here:
            name, rbp = one.manifest.model, one.rbp(np.asarray(ks))
            try:
                fit_rbp_law(ks, rbp, labels=[f"k = {k}" for k in ks])
            except InputError as error:
                missing.append(f"no line: {name} on {about[0]}: {error}")
            else:
                rows += [
                    (*about, name, one.manifest.S, k, share, -math.log(share))
                    for k, share in zip(ks, rbp, strict=True)
                ]
    return pd.DataFrame(rows, columns=[*_POINT, "loss"]), tuple(missing)


def lines(points: pd.DataFrame) -> pd.DataFrame:
    """The line in k of each model and corpus, and how far the points are from one.

    points: as `published_points`. Columns: corpus, family, model, S, slope, low, high (95% t
    interval of the regression), R2, n, worst (largest distance from the line, % of the loss),
    sign changes (of the residuals along k; independent ones would change about (n - 1) / 2
    times), shallowest and steepest (slope between neighbouring k).
    """
    rows = []
    for about, line in points.groupby(_LINE, sort=False):
        fit = fit_rbp_law(line["k"], line["rbp"])
        residual = np.log(line["loss"].to_numpy() / fit.predict(line["k"]).loss)
        local = np.diff(np.log(line["loss"])) / np.diff(np.log(line["k"]))
        changes = int((np.diff(np.sign(residual)) != 0).sum())
        worst = 100 * float(np.abs(np.expm1(residual)).max())
        rows.append(
            (
                *(*about, fit.slope, *fit.slope_interval, fit.r2, fit.n),
                *(worst, changes, local.max(), local.min()),
            )
        )
    names = ["slope", "low", "high", "R2", "n", "worst", "sign changes", "shallowest", "steepest"]
    return pd.DataFrame(rows, columns=[*_LINE, *names])


def token_se(k: ArrayLike, rbp: ArrayLike, tokens: int) -> float:
    """Standard error of the slope in k if the scored tokens were independent draws.

    k, rbp: (n,) points of one model, each RBP_k strictly between 0 and 1; tokens: how many are
    behind them. Cov(RBP_j, RBP_k) = RBP_j (1 - RBP_k) / tokens for j <= k, carried through the
    least-squares weights (delta method). Tokens of one document are alike, so it is a lower bound.
    """
    fit_rbp_law(k, rbp)  # refuses what has no line
    rbp = np.asarray(rbp, dtype=np.float64)
    gradient = _slope_weights(k) / (rbp * np.log(rbp))
    covariance = np.minimum.outer(rbp, rbp) - np.outer(rbp, rbp)
    return float(np.sqrt(gradient @ covariance @ gradient / tokens))


def _slope_weights(k: ArrayLike) -> NDArray[np.float64]:
    x = np.log(np.asarray(k, dtype=np.float64))
    x -= x.mean()
    return x / (x @ x)


@dataclass(frozen=True)
class Trade:
    """log loss = const - alpha log S - beta log k - gamma log S log k, about (at_S, at_k).

    alpha, beta: the exponents there. exchange = beta / alpha: k times c gains what S times
    c^exchange gains. factor = 2^exchange: how much larger a model gains what doubling k gains.
    low, high: the factor's 95% interval by the regression's own errors (delta method, t).
    gamma: how much alpha grows with log k, which is how much beta grows with log S; 0 without
    the product. r2, n: of the fit to all points.
    """

    at_S: float
    at_k: float
    alpha: float
    beta: float
    gamma: float
    exchange: float
    factor: float
    low: float
    high: float
    r2: float
    n: int


def trade(
    S: ArrayLike, k: ArrayLike, loss: ArrayLike, at_k: float | None = None, product: bool = True
) -> Trade:
    """Fit the losses (n,) of one family and corpus at S (n,) and k (n,); see `Trade`.

    Read at the mean of log S, and at at_k (None: the mean of log k); product: with gamma.
    InputError for fewer than three S or k, a loss that is not positive and finite, and an alpha
    that is not positive, so that no model is large enough.
    """
    S, k, loss = (np.asarray(values, dtype=np.float64) for values in (S, k, loss))
    if min(np.unique(S).size, np.unique(k).size) < 3:
        raise InputError("the trade of k against S needs three sizes and three k")
    if not (np.isfinite(loss) & (loss > 0)).all():
        raise InputError("the trade of k against S needs losses that are positive and finite")
    at_S = np.exp(np.log(S).mean())
    at_k = np.exp(np.log(k).mean()) if at_k is None else at_k
    design = _design(S, k, at_S, at_k, product)
    y = np.log(loss)
    solve = np.linalg.pinv(design)
    coefficients = solve @ y
    residual, freedom = y - design @ coefficients, y.size - design.shape[1]
    covariance = solve @ solve.T * (residual @ residual / freedom)
    alpha, beta = -coefficients[1:3]
    if not alpha > 0:
        raise InputError(f"the loss does not fall with S (alpha {alpha:.3f}): there is no trade")
    exchange = beta / alpha
    gradient = np.array([-exchange, 1]) / alpha
    se = np.sqrt(gradient @ covariance[1:3, 1:3] @ gradient)
    half = stdtrit(freedom, 0.975) * se
    with np.errstate(over="ignore"):  # an alpha near 0: no upper end
        factors = np.exp2([exchange, exchange - half, exchange + half])
    r2 = 1 - residual @ residual / ((y - y.mean()) @ (y - y.mean()))
    gamma = -coefficients[3] if product else 0
    values = (at_S, at_k, alpha, beta, gamma, exchange, *factors, r2)
    return Trade(*map(float, values), n=y.size)


def _design(S, k, at_S: float, at_k: float, product: bool) -> NDArray[np.float64]:
    x, z = np.log(S / at_S), np.log(k / at_k)
    return np.column_stack([np.ones_like(x), x, z, *([x * z] if product else [])])


def bootstrap(
    summaries: Sequence[Summary], ks: Sequence[int] = KS, draws: int = 1000
) -> NDArray[np.float64]:
    """-log RBP_k of models of one corpus on resamples of its text: (draws, models, ks).

    As `sections.bootstrap.resample`, the same draws for all models and k. InputError as there, and
    where a draw has an RBP_k of 0 or 1.
    """
    found = resample(summaries, ks, draws)
    if not ((found.rbp > 0) & (found.rbp < 1)).all():
        raise InputError("a resample has an RBP_k of 0 or 1: too few documents")
    return found.loss


def sampling(summaries: Iterable[Summary], points: pd.DataFrame, draws: int = 1000) -> pd.DataFrame:
    """Errors of each measured slope in k: the regression's, and those of scoring other text.

    points: from `measured_points`. Columns: corpus, family, model, S, slope; regression_low and
    _high, bootstrap_low and _high (95%; t, and percentiles over resamples of the text); standard
    errors se_regression, se_documents (bootstrap), se_tokens (`token_se`) and se_unlinked (the
    bootstrap spread of each k, with no correlation between them); correlation (of log loss at
    neighbouring k over the draws, mean). InputError as `bootstrap`.
    """
    by_name = {(one.manifest.corpus, one.manifest.model): one for one in summaries}
    rows = []
    for about, line in points.groupby(_LINE, sort=False):
        one = by_name[about[0], about[2]]
        ks = line["k"].tolist()
        fit = fit_rbp_law(ks, line["rbp"])
        weights = _slope_weights(ks)
        drawn = np.log(bootstrap([one], ks, draws)[:, 0])
        slopes = drawn @ weights
        neighbours = np.diag(np.corrcoef(drawn, rowvar=False), 1)
        rows.append(
            (
                *(*about, fit.slope, *fit.slope_interval, *np.quantile(slopes, [0.025, 0.975])),
                *(fit.slope_se, slopes.std(ddof=1), token_se(ks, line["rbp"], one.tokens)),
                *(np.sqrt(weights**2 @ drawn.var(0, ddof=1)), neighbours.mean()),
            )
        )
    names = "slope regression_low regression_high bootstrap_low bootstrap_high"
    names += " se_regression se_documents se_tokens se_unlinked correlation"
    return pd.DataFrame(rows, columns=[*_LINE, *names.split()])


def trades(
    points: pd.DataFrame, summaries: Iterable[Summary] = (), *, draws: int = 1000, **settings
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """`trade` for each corpus and family of `points`, and a line for each that has none, with why.

    Columns: corpus, family, the fields of `Trade`; with summaries also bootstrap_low and _high:
    the factor's 95% percentiles when text is drawn anew. settings go to `trade`.
    """
    by_name = {(one.manifest.corpus, one.manifest.model): one for one in summaries}
    rows, missing = [], []
    for (corpus, family), group in points.groupby(["corpus", "family"], sort=False):
        try:
            fitted = trade(group["S"], group["k"], group["loss"], **settings)
            row = {"corpus": corpus, "family": family, **asdict(fitted)}
            if by_name:
                models = [by_name[corpus, model] for model in dict.fromkeys(group["model"])]
                losses = bootstrap(models, list(dict.fromkeys(group["k"])), draws)
                at = fitted.at_S, fitted.at_k, settings.get("product", True)
                design = _design(group["S"], group["k"], *at)
                found = np.linalg.pinv(design) @ np.log(losses).reshape(draws, -1).T
                ends = np.quantile(2 ** (found[2] / found[1]), [0.025, 0.975])
                row |= dict(zip(("bootstrap_low", "bootstrap_high"), ends, strict=True))
        except InputError as error:
            missing.append(f"no trade: {family} on {corpus}: {error}")
        else:
            rows.append(row)
    return pd.DataFrame(rows), tuple(missing)


# -- figures -----------------------------------------------------------------------------------


def k_panels(points: pd.DataFrame, source: str) -> Figure:
    """Figure 9: -log RBP_k against k, a row a family, a panel a corpus, a line a model.

    points: corpus, family, model, S, k, rbp, loss, in the order to be shown. The legend gives S,
    and the slope and R2 of each line. Raises InputError where there are none.
    """
    if points.empty:
        raise InputError("nothing to draw: no model has points of the law in k")
    corpora, families = (list(dict.fromkeys(points[name])) for name in ("corpus", "family"))
    size = (3.5 * len(corpora), 3.3 * len(families))
    with style():
        figure, grid = plt.subplots(
            len(families), len(corpora), figsize=size, squeeze=False, sharex=True
        )
        for axes_row, family in zip(grid, families, strict=True):
            for axes, corpus in zip(axes_row, corpora, strict=True):
                chosen = (points["corpus"] == corpus) & (points["family"] == family)
                axes.set_visible(bool(chosen.any()))
                if chosen.any():
                    _k_lines(axes, points[chosen], ink_of(family).colour)
                    axes.set_title(f"{source}: {short(corpus)}, {family}")
            axes_row[0].set_ylabel(r"$-\log\,\mathrm{RBP}_k$")
        for axes in grid[-1]:
            axes.set_xlabel("$k$ (rank threshold)")
        figure.tight_layout()
    return figure


def _k_lines(axes: Axes, points: pd.DataFrame, colour: str) -> None:
    axes.set(xscale="log", yscale="log")
    models = list(dict.fromkeys(points["model"]))
    shades = sns.light_palette(colour, len(models) + 2)[2:]  # larger models are darker
    for number, model in enumerate(models):
        line = points[points["model"] == model]
        fit = fit_rbp_law(line["k"], line["rbp"])
        name = f"{_short(line['S'].iloc[0])}: {fit.slope:.3f}, {fit.r2:.3f}".replace("-", MINUS)
        axes.plot(line["k"], fit.predict(line["k"]).loss, color=shades[number], linewidth=1)
        axes.plot(
            *(line["k"], line["loss"], MARKERS[number % len(MARKERS)]),
            color=shades[number],
            markersize=4.5,
            markeredgecolor="0.25",
            markeredgewidth=0.4,
            label=name,
        )
    low, high = points["loss"].min(), points["loss"].max()
    span = np.log(high / low)
    # Room for the legend, below the points: they fall to the right.
    axes.set_ylim(low * np.exp(-(0.05 + 0.07 * len(models)) * span), high * np.exp(0.07 * span))
    axes.set_xticks([1, 10, 100], ["1", "10", "100"])
    ticks = [step * 10**power for power in (-3, -2, -1, 0) for step in (1, 2, 5)]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.legend(
        title="$S$: slope, $R^2$", title_fontsize=7, fontsize=7, loc="lower left",
        alignment="left", handletextpad=0.1, borderpad=0.3, labelspacing=0.2,
    )  # fmt: skip


def _short(S: int) -> str:
    for unit, name in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if S >= unit:
            return f"{S / unit:.3g}{name}"
    return str(S)


def slope_errors(errors: pd.DataFrame) -> Figure:
    """The slope in k of each measured model with two intervals: the regression's (grey, wide bar)
    and that of drawing the documents anew (in the family's colour).

    errors: from `sampling`. A panel a corpus; families are moved apart by 8% (in order: 0,
    -8, 8, 17%). Raises InputError where there are none.
    """
    if errors.empty:
        raise InputError("nothing to draw: no model was measured")
    corpora = list(dict.fromkeys(errors["corpus"]))
    entries: dict[str, Line2D] = {}
    with style():
        figure, row = plt.subplots(
            1, len(corpora), figsize=(3.3 * len(corpora), 3.4), squeeze=False, sharey=True
        )
        for axes, corpus in zip(row[0], corpora, strict=True):
            axes.set_xscale("log")
            here = errors[errors["corpus"] == corpus]
            for number, (family, models) in enumerate(here.groupby("family", sort=False)):
                ink = ink_of(family)
                # Beside one another: families share sizes, or nearly.
                S = models["S"] * 1.08 ** (number - 1 if number > 1 else -number)
                for name, drawn in (
                    ("regression", {"ecolor": "0.75", "elinewidth": 5}),
                    ("bootstrap", {"ecolor": ink.colour, "elinewidth": 1.5, "capsize": 3}),
                ):
                    bars = whiskers(models, "slope", name)
                    axes.errorbar(S, models["slope"], bars, fmt="none", **drawn)
                axes.plot(
                    *(S, models["slope"], ink.marker),
                    color=ink.colour,
                    markersize=5,
                    zorder=3,
                    label=family,
                )
                entries[family] = axes.lines[-1]
            axes.set(title=f"measured: {short(corpus)}")
            axes.set(xlabel="$S$ (non-embedding parameters)")
        row[0][0].set_ylabel(rf"slope in $k$ (${MINUS}\beta$), 95% intervals")
        entries["regression"] = Line2D([], [], color="0.75", linewidth=5)
        entries["documents drawn anew (colour)"] = Line2D([], [], color="0.25", linewidth=1.5)
        figure.tight_layout()
        # Outside of the panels: with several families no corner of them is free.
        figure.legend(
            entries.values(),
            entries.keys(),
            loc="lower center",
            bbox_to_anchor=(0.5, 1),
            ncols=3 if len(corpora) == 1 else len(entries),
        )
    return figure
