"""Does the law predict a larger model? Larger models are held out, the line is that of the others.

The interval is that of ONE new model of the family on the same documents: Student's t from the
scatter of the smaller models about their line, which it takes to go on. Cells share models: those
of one family err together, so a share of cells has no interval of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from rbpkit.audit.shape import fit_floor
from rbpkit.errors import InputError
from rbpkit.fit import MIN_POINTS, Curve, Measured, ce_curve, fit_power_law, rbp_curve
from rbpkit.stats.curves import published_curves, table1_curves

KS = (1, 10, 50, 100)
LEAST = 5  # points of a curve fitted alone: below, the line through the rest has 1 degree at most


def published_losses(ks: Sequence[int] = KS) -> list[Curve]:
    """-log RBP_k of every family on the four plotted corpora, and CE where the paper has points.

    CE: Pythia on Wiki (Figure 8a) and GPT2 on Wiki (the authors' numbers). Raises InputError for
    a k that is in no figure.
    """
    curves = [curve for k in ks for curve in published_curves(k).values()]
    of_table_1 = table1_curves()
    return curves + [of_table_1["Wiki", "CE", family][0] for family in ("Pythia", "GPT2")]


def measured_losses(measured: Iterable[Measured], ks: Sequence[int] = KS) -> list[Curve]:
    """CE and -log RBP_k of every (corpus, family) there is. InputError as `fit.curve_of`."""
    every = list(measured)
    pairs = dict.fromkeys((one.manifest.corpus, one.manifest.family) for one in every)
    return [
        curve
        for pair in pairs
        for curve in (ce_curve(every, *pair), *(rbp_curve(every, k, *pair) for k in ks))
    ]


def smallest(curve: Curve, sizes: int) -> Curve:
    """The models of the `sizes` smallest S of a curve."""
    keep = np.isin(curve.S, np.unique(curve.S)[:sizes])
    models = tuple(np.array(curve.models)[keep].tolist())
    return replace(curve, models=models, S=curve.S[keep], value=curve.value[keep])


def without_largest(curve: Curve) -> Curve:
    """The curve less its largest S, however many models share it."""
    return smallest(curve, np.unique(curve.S).size - 1)


_HELD = ["corpus", "family", "quantity", "n", "model", "S", "decades", "measured", "predicted"]
_HELD += ["error", "low", "high", "inside", "above", "last", "last_inside"]


def held_out(curves: Iterable[Curve], level: float = 0.95) -> pd.DataFrame:
    """The largest model of each curve of at least four points, predicted by the smaller ones.

    Columns: corpus, family, quantity, n (points fitted), model and S (of the largest), decades
    (that it lies beyond the largest fitted), measured and predicted (the loss: -log RBP_k, or CE
    in nats), error (predicted / measured - 1: negative where the model is worse than predicted),
    low, high (prediction interval of the loss), inside (measured is in it), above (measured is
    above the line), last (the loss of the largest fitted model), last_inside (the interval holds
    it too, so it could not tell that model from the larger one). A curve of fewer points is left
    out; a line needs three.
    """
    rows = []
    for curve in curves:
        smaller = without_largest(curve)
        if smaller.S.size < MIN_POINTS:
            continue
        fit = fit_power_law(smaller.S, smaller.loss, labels=smaller.models)
        line = fit.predict(curve.S[-1], level=level)
        rows.append(_held_row(curve, smaller, -1, (line.loss, line.low, line.high)))
    return pd.DataFrame(rows, columns=_HELD)


def _held_row(
    curve: Curve, fitted: Curve, place: int, predicted: tuple[float, float, float]
) -> dict[str, object]:
    """The model at `place` of a curve, predicted (loss, low, high) from the models `fitted`."""
    seen, last = float(curve.loss[place]), float(fitted.loss[-1])
    loss, low, high = predicted
    return {
        **{"corpus": curve.corpus, "family": curve.family, "quantity": curve.quantity},
        **{"n": fitted.S.size, "model": curve.models[place], "S": curve.S[place]},
        "decades": math.log10(curve.S[place] / fitted.S.max()),
        **{"measured": seen, "predicted": loss, "error": loss / seen - 1},
        **{"low": low, "high": high, "inside": low <= seen <= high, "above": seen > loss},
        **{"last": last, "last_inside": low <= last <= high},
    }


def horizons(curves: Iterable[Curve], least: int = LEAST - 1, level: float = 0.95) -> pd.DataFrame:
    """Every larger model of each curve, predicted from the m smallest sizes, m = least, ...

    Columns: as `held_out` (n is m), then two baselines: no_gain (the error, as `error`, if the
    larger model were no better than the largest fitted one) and floor (the error of the best
    L_inf + A S^-alpha; missing for fewer than four points). A curve of m sizes or fewer is left
    out.
    """
    rows = []
    for curve in curves:
        sizes = np.unique(curve.S).size
        for m in range(max(least, MIN_POINTS), sizes):
            fitted = smallest(curve, m)
            fit = fit_power_law(fitted.S, fitted.loss, labels=fitted.models)
            bent = fit_floor(fitted.S, fitted.loss) if m >= 4 else None
            for place in np.flatnonzero(curve.S > fitted.S.max()):
                line = fit.predict(curve.S[place], level=level)
                row = _held_row(curve, fitted, place, (line.loss, line.low, line.high))
                row["no_gain"] = row["last"] / row["measured"] - 1
                far = math.nan if bent is None else float(bent.predict(curve.S[place]))
                rows.append(row | {"floor": far / row["measured"] - 1})
    return pd.DataFrame(rows, columns=[*_HELD, "no_gain", "floor"])


def far_record(curves: Iterable[Curve]) -> pd.DataFrame:
    """`horizons` of half a decade or more from the 6 to 8 smallest sizes of curves of nine or more.

    Of the paper's, Pythia: the longest check of an extrapolation that the published points allow.
    """
    long = [one for one in curves if np.unique(one.S).size >= 9 and one.quantity != "CE"]
    table = horizons(long, least=6)
    return table[table["n"].between(6, 8) & (table["decades"] > 0.5)].reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class PooledSlopes:
    """Slopes of one family and quantity on several corpora, drawn towards their mean.

    slopes (C,): as fitted alone; pooled (C,): drawn in; mean: of the family; between: SD of the
    true slopes over corpora; residual_sd: about the lines, one for all corpora, with `free`
    degrees of freedom; variance (C,): of each pooled slope.
    """

    slopes: np.ndarray
    pooled: np.ndarray
    mean: float
    between: float
    residual_sd: float
    free: int
    variance: np.ndarray


def pool_slopes(curves: Sequence[Curve]) -> PooledSlopes:
    """Partial pooling: slope_c ~ N(mean, between^2), each seen with its least-squares error.

    One residual SD for all corpora; between^2 by DerSimonian and Laird (which is REML where all
    corpora have the same S, as here), then the best linear predictor of each slope. It takes
    residuals for independent over corpora; those of one model are not quite, so the degrees of
    freedom are the most there can be. Raises InputError for fewer than two curves, and as
    `fit_power_law`.
    """
    if len(curves) < 2:
        raise InputError("to pool slopes takes at least two corpora")
    fits = [fit_power_law(one.S, one.loss, labels=one.models) for one in curves]
    slopes = np.array([fit.slope for fit in fits])
    free = sum(fit.n - 2 for fit in fits)
    spread = sum(fit.residual_sd**2 * (fit.n - 2) for fit in fits) / free
    seen = spread / np.array([fit.sum_squares_log_S for fit in fits])
    weight = 1 / seen
    centre = weight @ slopes / weight.sum()
    q = weight @ (slopes - centre) ** 2
    scale = weight.sum() - (weight @ weight) / weight.sum()
    between = max(0.0, float((q - (len(fits) - 1)) / scale))
    weight = 1 / (seen + between)
    mean = float(weight @ slopes / weight.sum())
    own = between / (between + seen)  # how much of its own slope a corpus keeps
    pooled = own * slopes + (1 - own) * mean
    variance = own * seen + (1 - own) ** 2 / weight.sum()
    return PooledSlopes(slopes, pooled, mean, math.sqrt(between), math.sqrt(spread), free, variance)


def held_out_pooled(curves: Iterable[Curve], level: float = 0.95) -> pd.DataFrame:
    """`held_out` with each family's slopes pooled over its corpora, for families of few models.

    Columns: as `held_out`, and free (degrees of freedom of the interval). A family on one corpus
    alone is left out. The t interval adds the scatter of a new model, that of the cell's mean and
    that of the pooled slope.
    """
    groups: dict[tuple[str, str], list[Curve]] = {}
    for curve in curves:
        if np.unique(curve.S).size > MIN_POINTS:
            groups.setdefault((curve.family, curve.quantity), []).append(curve)
    rows = []
    for group in groups.values():
        if len(group) < 2:
            continue
        smaller = [without_largest(curve) for curve in group]
        pool = pool_slopes(smaller)
        t = stdtrit(pool.free, (1 + level) / 2)
        for place, (curve, rest) in enumerate(zip(group, smaller, strict=True)):
            away = np.log(curve.S[-1]) - np.log(rest.S).mean()
            centre = np.log(rest.loss).mean() + pool.pooled[place] * away
            spread = pool.residual_sd**2 * (1 + 1 / rest.S.size) + away**2 * pool.variance[place]
            half = t * math.sqrt(spread)
            ends = tuple(np.exp([centre, centre - half, centre + half]).tolist())
            rows.append(_held_row(curve, rest, -1, ends) | {"free": pool.free})
    return pd.DataFrame(rows, columns=[*_HELD, "free"])


def held_out_all(curves: Iterable[Curve], level: float = 0.95) -> pd.DataFrame:
    """`held_out` of curves of LEAST points or more, `held_out_pooled` of those of one less.

    Columns: as `held_out`, and pooled (whether the slope was).
    """
    every = list(curves)
    alone = held_out(every, level)
    alone = alone[alone["n"] >= LEAST - 1].assign(pooled=False)
    few = [curve for curve in every if np.unique(curve.S).size == LEAST - 1]
    pooled = held_out_pooled(few, level).assign(pooled=True)
    parts = [part[[*_HELD, "pooled"]] for part in (pooled, alone) if len(part)]
    if not parts:
        return alone
    both = pd.concat(parts, ignore_index=True)
    place = {corpus: i for i, corpus in enumerate(dict.fromkeys(c.corpus for c in every))}
    return both.sort_values("corpus", key=lambda s: s.map(place), kind="stable", ignore_index=True)


@dataclass(frozen=True, eq=False)
class Predictions:
    """table: one row a (curve, size). refused: a line for each law that could not be fitted."""

    table: pd.DataFrame
    refused: tuple[str, ...]


def predict_sizes(
    curves: Iterable[Curve], sizes: Sequence[float], level: float = 0.95
) -> Predictions:
    """What each law predicts for ONE new model of each size, in non-embedding parameters.

    Columns: corpus, family, quantity, n, S, decades (outside the measured sizes: positive beyond
    the largest, negative below the smallest, 0 between), loss, loss_low, loss_high (prediction
    interval), RBP, RBP_low, RBP_high (exp of minus the loss; missing for CE). Raises InputError
    for a size that is not positive and finite, and for a level not between 0 and 1.
    """
    for size in sizes:
        if not (math.isfinite(size) and size > 0):
            raise InputError(f"a size must be a positive number of parameters, not {size:g}")
    rows, refused = [], []
    for curve in curves:
        try:
            fit = fit_power_law(curve.S, curve.loss, labels=curve.models)
        except InputError as error:
            refused.append(f"{curve.family}, {curve.corpus}, {curve.quantity}: {error}")
            continue
        for size in sizes:
            line = fit.predict(size, level=level)
            beyond = max(size / fit.S_max, 1) * min(size / fit.S_min, 1)
            row = {"corpus": curve.corpus, "family": curve.family, "quantity": curve.quantity}
            row |= {"n": fit.n, "S": float(size), "decades": math.log10(beyond)}
            row |= {"loss": line.loss, "loss_low": line.low, "loss_high": line.high}
            if curve.quantity != "CE":  # a larger loss is a smaller RBP: the ends change places
                row |= {"RBP": math.exp(-line.loss), "RBP_low": math.exp(-line.high)}
                row |= {"RBP_high": math.exp(-line.low)}
            rows.append(row)
    names = ["corpus", "family", "quantity", "n", "S", "decades", "loss", "loss_low", "loss_high"]
    names += ["RBP", "RBP_low", "RBP_high"]
    return Predictions(pd.DataFrame(rows, columns=names), tuple(refused))
