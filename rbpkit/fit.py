"""The law: points over the models of a family, and the straight line through their logs.

-log RBP_k ~ S^-alpha (Sections 4.1 to 4.3 of arXiv 2510.20387) and CE ~ S^-alpha (Section 5.2)
are ordinary least squares of log loss on log S, logarithms natural. The paper prints slope and R2;
we add what tells how sure they are: standard errors, t intervals, and an interval for a new model.
A `Curve` is made of `Summary` or `Records`: anything with `manifest`, `rbp`, `ce` and `success`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from rbpkit.errors import InputError
from rbpkit.files.manifest import Manifest
from rbpkit.summary import DEFAULT_KS

Interval = tuple[float, float]

# Two points leave no residual, so no R2 below 1 and no interval: nothing the data could refute.
MIN_POINTS = 3
# Logs that differ by no more than this many roundings count as equal: their R2 would be noise.
EQUAL_ULPS = 8


@dataclass(frozen=True)
class Prediction:
    """What a fit says of models of size S: floats if S was one number, else arrays of its shape.

    loss: exp(intercept) * S^slope, in the unit of the fitted loss (-log RBP_k: no unit; CE: nats).
        Least squares in logs makes it the median of the losses to be expected, not their mean.
    low, high: ends of the prediction interval for the loss of ONE new model of that size.
    level: the interval's coverage. RBP_k itself is exp(-loss), and its ends change places.
    """

    S: float | NDArray[np.float64]
    loss: float | NDArray[np.float64]
    low: float | NDArray[np.float64]
    high: float | NDArray[np.float64]
    level: float


@dataclass(frozen=True)
class PowerLawFit:
    """log loss = intercept + slope * log S, by least squares on n points; logs natural.

    slope: d log loss / d log S; no unit, the same in any base of logarithm. alpha = -slope.
    intercept: log loss where S = 1 (far outside the data: do not read it as a model).
    r2: 1 - residual / total sum of squares, both of log loss.
    slope_se, intercept_se: standard errors, by n - 2 degrees of freedom.
    slope_interval, intercept_interval: Student's t intervals that cover at `level`.
    residual_sd: sqrt(residual sum of squares / (n - 2)), in log units: 0.01 is 1% of the loss.
    mean_log_S, sum_squares_log_S: mean of log S, and the sum of (log S - mean)^2; for `predict`.
    S_min, S_max: the range that was fitted; beyond it a prediction is an extrapolation.

    The intervals take the residuals for independent and normal with one spread. Models of one
    family are scored on the same text, so sampling noise is shared and they are a guide, no more.
    """

    slope: float
    intercept: float
    r2: float
    n: int
    level: float
    slope_se: float
    intercept_se: float
    slope_interval: Interval
    intercept_interval: Interval
    residual_sd: float
    mean_log_S: float
    sum_squares_log_S: float
    S_min: float
    S_max: float

    @property
    def alpha(self) -> float:
        """The exponent of loss ~ S^-alpha: positive when larger models do better."""
        return -self.slope

    @property
    def alpha_interval(self) -> Interval:
        """The t interval of alpha, low end first."""
        low, high = self.slope_interval
        return -high, -low

    def predict(self, S: ArrayLike, *, level: float | None = None) -> Prediction:
        """The loss of a new model of each size, with a t interval from the fit's own residuals.

        S: one positive number or an array of any shape. level: coverage, the fit's own by default.
        Raises InputError if an S is not positive and finite, or level is not between 0 and 1.
        """
        level = self.level if level is None else _checked_level(level)
        sizes = _numbers(S, "S")
        if not np.all(np.isfinite(sizes) & (sizes > 0)):
            raise InputError("predict: every S must be a positive, finite parameter count")
        x = np.log(sizes)
        centre = self.intercept + self.slope * x
        # A new model's own scatter (the 1), and that of the line, which grows away from the data.
        leverage = 1 / self.n + (x - self.mean_log_S) ** 2 / self.sum_squares_log_S
        half = _t_quantile(self.n, level) * self.residual_sd * np.sqrt(1 + leverage)
        values = (sizes, np.exp(centre), np.exp(centre - half), np.exp(centre + half))
        if sizes.ndim == 0:
            values = tuple(float(value) for value in values)
        return Prediction(*values, level=level)


def fit_power_law(
    S: ArrayLike,
    loss: ArrayLike,
    *,
    level: float = 0.95,
    labels: Sequence[str] | None = None,
) -> PowerLawFit:
    """Least squares of log loss on log S: Figures 3 to 6, and Table 1 of the arXiv version.

    S: (n,) non-embedding parameters, in any order. loss: (n,) -log RBP_k (see `fit_rbp_law`) or CE
    in nats. level: coverage of the intervals. labels: (n,) names of the points for error messages.
    The law in k (Table 1 of the ICLR version) is the same regression with k in the place of S.

    Raises InputError, never returns a number, for fewer than three points, unequal lengths, values
    that are not positive and finite, an S or a loss that is the same at all points, a bad level.
    """
    level = _checked_level(level)
    sizes, losses = _paired(S, loss, "loss", labels)
    _refuse(~(losses > 0) | ~np.isfinite(losses), _bad_loss, losses, labels)
    return _ols(sizes, losses, level)


def fit_rbp_law(
    S: ArrayLike,
    rbp: ArrayLike,
    *,
    level: float = 0.95,
    labels: Sequence[str] | None = None,
) -> PowerLawFit:
    """The law -log RBP_k ~ S^-alpha (Sections 4.1 to 4.3): `fit_power_law` of -log RBP_k.

    S: (n,) non-embedding parameters. rbp: (n,) RBP_k = Pr(R <= k), each strictly between 0 and 1.
    level, labels and the errors are as in `fit_power_law`; an RBP_k of 0 or 1 has no place on the
    line (its loss is infinite or zero) and is refused by name, never clipped.
    """
    sizes, rates = _paired(S, rbp, "RBP_k", labels)
    _refuse(~((rates >= 0) & (rates <= 1)), _bad_rbp, rates, labels)
    return fit_power_law(sizes, minus_log(rates), level=level, labels=labels)


def minus_log(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """-log of shares: 0 where one is 1, infinite where it is 0 (no fit takes either)."""
    with np.errstate(divide="ignore"):
        return 0.0 - np.log(share)  # not -log: 0 and not -0 for a share of 1


def _ols(S: NDArray[np.float64], loss: NDArray[np.float64], level: float) -> PowerLawFit:
    x, y = np.log(S), np.log(loss)
    if _all_equal(x):
        raise InputError(
            f"cannot fit: S is {S[0]:g} at all {S.size} points; give models of different sizes"
        )
    if _all_equal(y):
        raise InputError(
            f"cannot fit: the loss is {loss[0]:g} at all {loss.size} points, so there is nothing to"
            " explain and R2 is not defined; take another k, or more scored tokens"
        )
    n = x.size
    mean_x, mean_y = x.mean(), y.mean()
    dx, dy = x - mean_x, y - mean_y  # centred first: log S near 20 would cost digits in S^2 sums
    sxx = dx @ dx
    slope = dx @ dy / sxx
    residual = dy - slope * dx
    residual_ss = residual @ residual
    intercept = mean_y - slope * mean_x
    sd = np.sqrt(residual_ss / (n - 2))
    slope_se = sd / np.sqrt(sxx)
    intercept_se = sd * np.sqrt(1 / n + mean_x**2 / sxx)
    t = _t_quantile(n, level)
    return PowerLawFit(
        slope=float(slope),
        intercept=float(intercept),
        r2=float(1 - residual_ss / (dy @ dy)),
        n=n,
        level=level,
        slope_se=float(slope_se),
        intercept_se=float(intercept_se),
        slope_interval=(float(slope - t * slope_se), float(slope + t * slope_se)),
        intercept_interval=(
            float(intercept - t * intercept_se),
            float(intercept + t * intercept_se),
        ),
        residual_sd=float(sd),
        mean_log_S=float(mean_x),
        sum_squares_log_S=float(sxx),
        S_min=float(S.min()),
        S_max=float(S.max()),
    )


def _t_quantile(n: int, level: float) -> float:
    """Half-width, in standard errors, of a two-sided interval with n - 2 degrees of freedom."""
    return float(stdtrit(n - 2, (1 + level) / 2))


def _all_equal(logs: NDArray[np.float64]) -> bool:
    rounding = np.finfo(float).eps * max(1.0, float(np.abs(logs).max()))
    return float(np.ptp(logs)) <= EQUAL_ULPS * rounding


# -- curves: a quantity of the models of a family ---------------------------------------------


class Measured(Protocol):
    """What a curve is made of: a `Summary` or `Records`."""

    manifest: Manifest

    def rbp(self, k: int, ties: str = "pessimistic") -> float: ...
    def ce(self) -> float: ...
    def success(self, N: int, k: int) -> float: ...


@dataclass(frozen=True, eq=False)
class Curve:
    """`value` (n,) of `quantity` at `S` (n,) non-embedding parameters, ascending, by `models`.

    `quantity` is its name: "RBP_10", "CE" (nats), "p_{5,10}". `figure`: where the paper plots it.
    """

    corpus: str
    family: str
    quantity: str
    models: tuple[str, ...]
    S: np.ndarray
    value: np.ndarray
    figure: str = ""

    @property
    def loss(self) -> np.ndarray:
        """What falls as a power of S: CE itself, else -log of the share (inf where it is 0)."""
        if self.quantity == "CE":
            return self.value
        return minus_log(self.value)


def curve_of(
    measured: Iterable[Measured],
    corpus: str | None,
    family: str | None,
    quantity: Callable[[Measured], float],
    name: str | None = None,
) -> Curve:
    """`quantity` of each model of `family` on `corpus`, ascending in S; called `name`.

    None stands for the only corpus or family there is. InputError when nothing matches, when
    several do where one was to be, when one model was measured twice, and when the models were
    measured on different text (fingerprint) or truncated at different lengths.
    """
    every = list(measured)
    chosen = [
        one
        for one in every
        if corpus in (None, one.manifest.corpus) and family in (None, one.manifest.family)
    ]
    found = sorted({(one.manifest.corpus, one.manifest.family) for one in chosen})
    if len(found) == 1:
        for setting in ("fingerprint", "max_length"):
            if len({getattr(one.manifest, setting) for one in chosen}) > 1:
                raise InputError(
                    f"{found[0][1]} on {found[0][0]}: its models were measured with different"
                    f" {setting}; measure them alike (--documents, --seed, --max-length), or into"
                    " folders of their own"
                )
    if len(found) != 1:
        there = sorted({(one.manifest.corpus, one.manifest.family) for one in every})
        listed = "; ".join(f"{c} / {f}" for c, f in there) or "nothing at all"
        fault = "name one corpus and one family" if found else "nothing was measured"
        raise InputError(
            f"{fault} for corpus {corpus or 'any'}, family {family or 'any'}; "
            f"there is (corpus / family): {listed}"
        )
    chosen.sort(key=lambda one: (one.manifest.S, one.manifest.model))
    models = tuple(one.manifest.model for one in chosen)
    twice = sorted({model for model in models if models.count(model) > 1})
    if twice:
        raise InputError(f"measured more than once on {found[0][0]}: {', '.join(twice)}")
    return Curve(
        corpus=found[0][0],
        family=found[0][1],
        quantity=name or getattr(quantity, "__name__", "quantity"),
        models=models,
        S=np.array([one.manifest.S for one in chosen], dtype=np.float64),
        value=np.array([quantity(one) for one in chosen], dtype=np.float64),
    )


def rbp_curve(
    measured: Iterable[Measured],
    k: int,
    corpus: str | None = None,
    family: str | None = None,
    ties: str = "pessimistic",
) -> Curve:
    """RBP_k against S (Figures 3 to 5). InputError as `curve_of`, and for k < 1."""
    return curve_of(measured, corpus, family, lambda one: one.rbp(k, ties), f"RBP_{k}")


def ce_curve(
    measured: Iterable[Measured], corpus: str | None = None, family: str | None = None
) -> Curve:
    """CE in nats against S (Figure 8a). InputError as `curve_of`."""
    return curve_of(measured, corpus, family, lambda one: one.ce(), "CE")


@dataclass(frozen=True, eq=False)
class Fits:
    """Fitted laws as a table, and one line for each that could not be fitted.

    Columns: corpus, family, quantity, n, slope, low, high (t interval of the slope, 95%),
    intercept (log loss at S = 1), R2.
    """

    table: pd.DataFrame
    refused: tuple[str, ...]


def fit_curves(curves: Iterable[Curve]) -> Fits:
    """Fit log loss on log S for each curve: the paper's Table 1, with intervals."""
    rows, refused = [], []
    for curve in curves:
        try:
            fit = fit_power_law(curve.S, curve.loss, labels=curve.models)
        except InputError as error:
            refused.append(f"{curve.family}, {curve.corpus}, {curve.quantity}: {error}")
            continue
        low, high = fit.slope_interval
        rows.append(
            (
                *(curve.corpus, curve.family, curve.quantity, fit.n),
                *(fit.slope, low, high, fit.intercept, fit.r2),
            )
        )
    names = ["corpus", "family", "quantity", "n", "slope", "low", "high", "intercept", "R2"]
    return Fits(pd.DataFrame(rows, columns=names), tuple(refused))


def fit_all(measured: Iterable[Measured], ks: Sequence[int] = DEFAULT_KS) -> Fits:
    """Fit CE and -log RBP_k against S for every family and corpus that was measured.

    InputError when nothing was measured, when one model was measured twice, and for k < 1.
    """
    every = list(measured)
    groups = sorted({(one.manifest.corpus, one.manifest.family) for one in every})
    if not groups:
        raise InputError("no measured model to fit")
    return fit_curves(
        curve
        for corpus, family in groups
        for curve in (
            ce_curve(every, corpus, family),
            *(rbp_curve(every, k, corpus, family) for k in ks),
        )
    )


# -- what is refused --------------------------------------------------------------------------


def _checked_level(level: float) -> float:
    if not (isinstance(level, int | float | np.number) and 0 < level < 1):
        raise InputError(f"level must be a number between 0 and 1, such as 0.95, not {level!r}")
    return float(level)


def _numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        try:
            if array.dtype.kind != "O":  # text, booleans and complex numbers would be converted
                raise TypeError
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{name} must be real numbers, not {array.dtype}") from None
    return array.astype(np.float64)


def _paired(
    S: ArrayLike, values: ArrayLike, name: str, labels: Sequence[str] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both sequences as float64, checked for all that does not depend on what `values` are."""
    sizes, others = _numbers(S, "S"), _numbers(values, name)
    for array, what in ((sizes, "S"), (others, name)):
        if array.ndim != 1:
            raise InputError(f"{what} must have one dimension, not shape {array.shape}")
    if sizes.size != others.size:
        raise InputError(f"S has {sizes.size} points and {name} has {others.size}; pair them")
    if labels is not None and len(labels) != sizes.size:
        raise InputError(f"there are {sizes.size} points and {len(labels)} labels; pair them")
    if sizes.size < MIN_POINTS:
        raise InputError(
            f"cannot fit a power law to {sizes.size} point(s): two always lie on a line;"
            f" measure models of at least {MIN_POINTS} sizes"
        )
    _refuse(~(sizes > 0) | ~np.isfinite(sizes), _bad_size, sizes, labels)
    return sizes, others


def _refuse(bad: NDArray[np.bool_], reason, values, labels: Sequence[str] | None) -> None:
    """Raise for the first bad point, by index (from 0) and label, and say how many follow."""
    where = np.flatnonzero(bad)
    if where.size == 0:
        return
    first = int(where[0])
    point = f"point {first}" + ("" if labels is None else f" ({list(labels)[first]})")
    more = f" ({where.size - 1} more point(s) like it)" if where.size > 1 else ""
    raise InputError(f"cannot fit: {reason(float(values[first]), point)}{more}")


def _bad_size(value: float, point: str) -> str:
    return f"S is {value:g} at {point}; it must be a positive, finite parameter count"


def _bad_loss(value: float, point: str) -> str:
    if value == 0:
        why = "an RBP_k of 1 (every rank within k); take a smaller k or leave the point out"
    elif value == np.inf:
        why = "an RBP_k of 0 (no rank within k); take a larger k or more tokens, or leave it out"
    else:
        why = "it must be positive and finite; measure it again or leave the point out"
    return f"the loss is {value:g} at {point}: {why}"


def _bad_rbp(value: float, point: str) -> str:
    return f"RBP_k is {value:g} at {point}: it is a probability; give RBP_k, not -log RBP_k"
