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
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtrit

from rbpkit import paper
from rbpkit.curves import ladder
from rbpkit.errors import InputError
from rbpkit.fit import fit_rbp_law
from rbpkit.summary import Summary

KS = (1, 2, 3, 5, 7, 10, 18, 30, 50, 78, 100)  # the eleven of Figure 9
SEED = 42

_POINT = ["corpus", "family", "model", "S", "k", "rbp"]
_LINE = ["corpus", "family", "model", "S"]


def published_points() -> pd.DataFrame:
    """Figure 9: corpus, family, model, S, k, rbp, loss (-log RBP_k); 704 rows, by rising S and k.

    S is in non-embedding parameters.
    """
    points = paper.rbp_by_k().rename(columns={"dataset": "corpus"})[_POINT]
    points = points.assign(
        loss=-np.log(points["rbp"]), order=points["corpus"].map(paper.CORPORA.index)
    )
    points = points.sort_values(["order", "family", "S", "k"], ignore_index=True)
    return points.drop(columns="order")


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
        here = ladder(every, *about)
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


def published_lines() -> pd.DataFrame:
    """The 96 printed cells of the ICLR version's Table 1 beside Figure 9's lines.

    Columns: corpus, family, model, slope_printed, R2_printed, then those of `lines` (missing for
    the 32 cells whose model Figure 9 does not show), slope_difference, R2_difference.
    """
    names = {"dataset": "corpus", "slope": "slope_printed", "r2": "R2_printed"}
    printed = paper.table_k_law().rename(columns=names)[[*_LINE[:3], *list(names.values())[1:]]]
    table = printed.merge(lines(published_points()).drop(columns="S"), on=_LINE[:3], how="left")
    table["slope_difference"] = table["slope"] - table["slope_printed"]
    table["R2_difference"] = table["R2"] - table["R2_printed"]
    return table


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


def lognormal(k: ArrayLike, rbp: ArrayLike) -> NDArray[np.float64]:
    """RBP_k, (n,), of a lognormal rank fitted to the points: two numbers, and no power law.

    Least squares of the normal quantile of RBP_k on ln(k + 1/2), in which a lognormal is a line.
    """
    x = np.log(np.asarray(k) + 0.5)
    return ndtr(np.polyval(np.polyfit(x, ndtri(np.asarray(rbp)), 1), x))


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
    summaries: Sequence[Summary], ks: Sequence[int] = KS, draws: int = 1000, seed: int = SEED
) -> NDArray[np.float64]:
    """-log RBP_k of models of one corpus with its documents drawn anew: (draws, models, ks).

    Drawn with replacement, the same for all models and k, so what they share stays shared; the
    seed fixes the draws. InputError where models were scored on different documents, a k is not
    stored by document, or a draw has an RBP_k of 0 or 1.
    """
    documents = summaries[0].document
    if not all(np.array_equal(one.document, documents) for one in summaries):
        raise InputError("a bootstrap over models needs the same documents for all of them")
    weights = _drawn(documents.size, draws, seed)
    rbp = np.empty((draws, len(summaries), len(ks)))
    for place, one in enumerate(summaries):
        if absent := set(ks) - set(one.k_grid.tolist()):
            raise InputError(f"{one.manifest.model}: no hits by document at k = {sorted(absent)}")
        hits = one.document_hits[:, np.searchsorted(one.k_grid, ks)]
        rbp[:, place] = (weights @ hits) / (weights @ one.document_tokens)[:, None]
    if not ((rbp > 0) & (rbp < 1)).all():
        raise InputError("a draw of documents has an RBP_k of 0 or 1: too few documents")
    return -np.log(rbp)


@lru_cache(maxsize=8)
def _drawn(documents: int, draws: int, seed: int) -> NDArray[np.float64]:
    """How often each document is drawn, (draws, documents): whole numbers, so sums are exact."""
    shares = np.full(documents, 1 / documents)
    return np.random.default_rng(seed).multinomial(documents, shares, draws).astype(np.float64)


def sampling(
    summaries: Iterable[Summary], points: pd.DataFrame, draws: int = 1000, seed: int = SEED
) -> pd.DataFrame:
    """Errors of each measured slope in k: the regression's, and those of scoring other text.

    points: from `measured_points`. Columns: corpus, family, model, S, slope; regression_low and
    _high, bootstrap_low and _high (95%; t, and percentiles over documents); the standard errors
    se_regression, se_documents (bootstrap), se_tokens (`token_se`) and se_unlinked (bootstrap
    spread of each k, but no correlation between them); correlation (of log loss at neighbouring
    k over the draws, mean). InputError as `bootstrap`.
    """
    by_name = {(one.manifest.corpus, one.manifest.model): one for one in summaries}
    rows = []
    for about, line in points.groupby(_LINE, sort=False):
        one = by_name[about[0], about[2]]
        ks = line["k"].tolist()
        fit = fit_rbp_law(ks, line["rbp"])
        weights = _slope_weights(ks)
        drawn = np.log(bootstrap([one], ks, draws, seed)[:, 0])
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
    the factor's 95% percentiles when documents are drawn anew. settings go to `trade`.
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
