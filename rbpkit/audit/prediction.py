"""Does the law foretell a larger model? The largest is held out, the line is that of the others.

The interval is that of ONE new model of the family on the same documents: Student's t from the
scatter of the smaller models about their line, which it takes to go on. Cells share models: those
of one family err together, so a share of cells has no interval of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from rbpkit import paper
from rbpkit.audit.verdicts import Claim, Finding, load_claims
from rbpkit.curves import Curve, Measured, ce_curve, rbp_curve
from rbpkit.errors import InputError
from rbpkit.fit import MIN_POINTS, fit_power_law

KS = (1, 10, 50, 100)
LEAST = 5  # points of a cell that is judged: below, the line through the rest has 1 degree at most


def published_losses(ks: Sequence[int] = KS) -> list[Curve]:
    """-log RBP_k of every family on the four plotted corpora, and CE where the paper has points.

    CE: Pythia on Wiki (Figure 8a) and GPT2 on Wiki (the authors' numbers). Raises InputError for
    a k that is in no figure.
    """
    curves = [
        Curve.of_published(paper.points(corpus, family, k))
        for k in ks
        for corpus in paper.PLOTTED_CORPORA
        for family in paper.FAMILIES
    ]
    pythia = paper.ce_and_rbp1().query("kind == 'empirical' and series == 'CE'")
    gpt2 = paper.gpt2_wiki_metrics().query("k == 1").rename(columns={"ce": "value"})
    for family, table in (("Pythia", pythia), ("GPT2", gpt2)):
        rows = table.sort_values("S")
        S, value = rows["S"].to_numpy(dtype=float), rows["value"].to_numpy()
        curves.append(Curve("Wiki", family, "CE", tuple(rows["model"]), S, value))
    return curves


def measured_losses(measured: Iterable[Measured], ks: Sequence[int] = KS) -> list[Curve]:
    """CE and -log RBP_k of every (corpus, family) there is. InputError as `curves.points`."""
    every = list(measured)
    pairs = dict.fromkeys((one.manifest.corpus, one.manifest.family) for one in every)
    return [
        curve
        for pair in pairs
        for curve in (ce_curve(every, *pair), *(rbp_curve(every, k, *pair) for k in ks))
    ]


def without_largest(curve: Curve) -> Curve:
    """The curve less its largest S, however many models share it."""
    keep = curve.S < curve.S.max()
    models = tuple(model for model, kept in zip(curve.models, keep, strict=True) if kept)
    return Curve(
        curve.corpus, curve.family, curve.quantity, models, curve.S[keep], curve.value[keep]
    )


_HELD = ["corpus", "family", "quantity", "n", "model", "S", "decades", "measured", "predicted"]
_HELD += ["error", "low", "high", "inside", "above"]


def held_out(curves: Iterable[Curve], level: float = 0.95) -> pd.DataFrame:
    """The largest model of each curve of at least four points, foretold by the smaller ones.

    Columns: corpus, family, quantity, n (points fitted), model and S (of the largest), decades
    (that it lies beyond the largest fitted), measured and predicted (the loss: -log RBP_k, or CE
    in nats), error (predicted / measured - 1: negative where the law promised too much), low,
    high (prediction interval of the loss), inside (measured is in it), above (measured is above
    the line: worse than foretold). A curve of fewer points is left out; a line needs three.
    """
    rows = []
    for curve in curves:
        smaller = without_largest(curve)
        if smaller.S.size < MIN_POINTS:
            continue
        fit = fit_power_law(smaller.S, smaller.loss, labels=smaller.models)
        told = fit.predict(curve.S[-1], level=level)
        row = _held_row(curve, told.loss, told.low, told.high)
        rows.append(row | {"n": fit.n})
    return pd.DataFrame(rows, columns=_HELD)


def _held_row(curve: Curve, predicted: float, low: float, high: float) -> dict[str, object]:
    seen = float(curve.loss[-1])
    return {
        **{"corpus": curve.corpus, "family": curve.family, "quantity": curve.quantity},
        **{"model": curve.models[-1], "S": curve.S[-1], "measured": seen, "predicted": predicted},
        "decades": math.log10(curve.S[-1] / curve.S[curve.S < curve.S[-1]].max()),
        "error": predicted / seen - 1,
        **{"low": low, "high": high, "inside": low <= seen <= high, "above": seen > predicted},
    }


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
            row = _held_row(curve, *np.exp([centre, centre - half, centre + half]).tolist())
            rows.append(row | {"n": rest.S.size, "free": pool.free})
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
    """What each law foretells for ONE new model of each size, in non-embedding parameters.

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
            told = fit.predict(size, level=level)
            beyond = max(size / fit.S_max, 1) * min(size / fit.S_min, 1)
            row = {"corpus": curve.corpus, "family": curve.family, "quantity": curve.quantity}
            row |= {"n": fit.n, "S": float(size), "decades": math.log10(beyond)}
            row |= {"loss": told.loss, "loss_low": told.low, "loss_high": told.high}
            if curve.quantity != "CE":  # a larger loss is a smaller RBP: the ends change places
                row |= {"RBP": math.exp(-told.loss), "RBP_low": math.exp(-told.high)}
                row |= {"RBP_high": math.exp(-told.low)}
            rows.append(row)
    names = ["corpus", "family", "quantity", "n", "S", "decades", "loss", "loss_low", "loss_high"]
    names += ["RBP", "RBP_low", "RBP_high"]
    return Predictions(pd.DataFrame(rows, columns=names), tuple(refused))


def findings_prediction(measured: Iterable[Measured] = ()) -> list[Finding]:
    """`predicts-larger` and `predicts-without-bias` on both sources, of -log RBP_k.

    Cells of at least five points, k = 1, 10, 50, 100. A source without such cells has no finding.
    """
    found = []
    sources = {"published": published_losses(), "pocket": measured_losses(measured)}
    for source, curves in sources.items():
        curves = [curve for curve in curves if curve.quantity != "CE"]
        told = held_out_all(curves)
        cells, few = told[~told["pooled"]], told[told["pooled"]]
        if cells.empty:
            continue
        n, error = len(cells), 100 * cells["error"]
        about = f"{len(cells.drop_duplicates(['family', 'model']))} models are held out, so {n}"
        about += f" cells are not {n} trials; predicted less measured loss {error.min():.1f}% to"
        about += f" {error.max():.1f}%, median {error.median():.1f}%"
        for name, test in (("predicts-larger", "inside"), ("predicts-without-bias", "above")):
            share, note = float(cells[test].mean()), f"{_by_family(cells, test)}; {about}"
            if len(few):
                note += f"; families of {LEAST - 1}, slopes pooled: {_by_family(few, test)}"
            bad = cells[~cells[test]]
            each = bad["family"] + " on " + bad["corpus"] + ", k = " + bad["quantity"].str[4:]
            when, more = placed(name, share, "; ".join(each))
            if test == "above":
                count = f"{cells[test].sum()} of {n} losses are above the line"
                when, more = when and f"a bias of {error.median():.1f}% is allowed: {count}", ""
            found.append(Finding(name, source, share, n, "cells", when=when, note=note + more))
    return found


@cache
def _claims() -> dict[str, Claim]:
    return load_claims()


def placed(name: str, value: float, exceptions: str) -> tuple[str, str]:
    """(when, note) of a finding: "all but" the exceptions where its claim needs a condition.

    Elsewhere they end its note.
    """
    claim = _claims()[name]
    holds = claim.holds[0] <= value <= claim.holds[1]
    needed = not holds and claim.partly[0] <= value <= claim.partly[1]
    if needed:
        return f"all but {exceptions}", ""
    return "", f"; exceptions: {exceptions}" if exceptions else ""


def _by_family(cells: pd.DataFrame, test: str) -> str:
    parts = [
        f"{family} {group[test].sum()} of {len(group)}"
        for family, group in cells.groupby("family", sort=False)
    ]
    return f"{test}: " + ", ".join(parts)
