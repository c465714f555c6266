"""The law: points over the models of a family, and the straight line through their logs.

-log RBP_k ~ S^-alpha (Sections 4.1 to 4.3 of arXiv 2510.20387) and CE ~ S^-alpha (Section 5.2)
are ordinary least squares of log loss on log S, logarithms natural. The paper prints slope and R2.
We add what tells how sure they are: standard errors, t intervals, and an interval for a new model.
A `Curve` is made of `Summary` or `Records`: anything with `manifest`, `rbp`, `ce` and `success`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit
from scipy.stats import linregress

from rbpkit.errors import InputError, reason
from rbpkit.files.manifest import Manifest
from rbpkit.summary import DEFAULT_KS

Interval = tuple[float, float]

# Two points leave no residual, so no R2 below 1 and no interval: nothing the data could refute.
MIN_POINTS = 3

# What a point may hold: above 0 and below this, in words.
_ALLOWED = {
    "S": (np.inf, "be a positive, finite parameter count"),
    "RBP_k": (1, "lie between 0 and 1, both excluded; take another k or leave the point out"),
    "the loss": (
        np.inf,
        "be positive and finite (an RBP_k of 1 gives 0, an RBP_k of 0 gives infinity);"
        " take another k or leave the point out",
    ),
}


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
    intercept: log loss at S = 1 (far outside the data: do not read it as a model).
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
        level = self.level if level is None else level
        S = np.asarray(S, dtype=np.float64)[()]
        if not np.all((S > 0) & (S < np.inf)):
            raise InputError("predict: every S must be a positive, finite parameter count")
        x = np.log(S)
        centre = self.intercept + self.slope * x
        # A new model's own scatter (the 1), and that of the line, which grows away from the data.
        leverage = 1 / self.n + (x - self.mean_log_S) ** 2 / self.sum_squares_log_S
        half = _t_quantile(self.n, level) * self.residual_sd * np.sqrt(1 + leverage)
        return Prediction(S, np.exp(centre), np.exp(centre - half), np.exp(centre + half), level)


def fit_power_law(
    S: ArrayLike, loss: ArrayLike, *, level: float = 0.95, labels: Sequence[str] | None = None
) -> PowerLawFit:
    """Least squares of log loss on log S: Figures 3 to 6, and Table 1 of the arXiv version.

    S: (n,) non-embedding parameters, in any order. loss: (n,) -log RBP_k (see `fit_rbp_law`) or CE
    in nats. level: coverage of the intervals. labels: (n,) names of the points for error messages.
    The law in k (Table 1 of the ICLR version) is the same regression with k in the place of S.

    Raises InputError, never returns a number, for fewer than three points, unequal lengths, values
    that are not positive and finite, an S or a loss that is the same at all points, a bad level.
    """
    S, loss = _points(S, "the loss", loss, labels)
    x, y = np.log(S), np.log(loss)
    for what, values, logs, way_out in (
        ("S", S, x, "give models of different sizes"),
        ("the loss", loss, y, "R2 is not defined; take another k or more scored tokens"),
    ):
        if np.allclose(logs, logs[0], rtol=2e-15, atol=2e-15):  # R2 would be that of rounding
            raise InputError(
                f"cannot fit: {what} is {values[0]:g} at all {S.size} points; {way_out}"
            )
    line = linregress(x, y)
    slope, intercept = float(line.slope), float(line.intercept)
    slope_se, intercept_se = float(line.stderr), float(line.intercept_stderr)
    t = _t_quantile(S.size, level)
    return PowerLawFit(
        slope=slope,
        intercept=intercept,
        r2=float(line.rvalue**2),
        n=S.size,
        level=level,
        slope_se=slope_se,
        intercept_se=intercept_se,
        slope_interval=(slope - t * slope_se, slope + t * slope_se),
        intercept_interval=(intercept - t * intercept_se, intercept + t * intercept_se),
        residual_sd=float(np.linalg.norm(y - intercept - slope * x) / np.sqrt(S.size - 2)),
        mean_log_S=float(x.mean()),
        sum_squares_log_S=float(S.size * x.var()),
        S_min=float(S.min()),
        S_max=float(S.max()),
    )


def fit_rbp_law(
    S: ArrayLike, rbp: ArrayLike, *, level: float = 0.95, labels: Sequence[str] | None = None
) -> PowerLawFit:
    """The law -log RBP_k ~ S^-alpha (Sections 4.1 to 4.3): `fit_power_law` of -log RBP_k.

    S: (n,) non-embedding parameters. rbp: (n,) RBP_k = Pr(R <= k), each strictly between 0 and 1.
    level, labels and the errors are as in `fit_power_law`; an RBP_k of 0 or 1 has no place on the
    line (its loss is infinite or zero) and is refused by name, never clipped.
    """
    S, rbp = _points(S, "RBP_k", rbp, labels)
    return fit_power_law(S, minus_log(rbp), level=level)


def minus_log(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """-log of shares: 0 if one is 1, infinite if it is 0 (no fit takes either)."""
    with np.errstate(divide="ignore"):
        return 0.0 - np.log(share)  # not -log: 0 and not -0 for a share of 1


def _points(
    S: ArrayLike, name: str, values: ArrayLike, labels: Sequence[str] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """S and the values as float64, or InputError that names the first point with no place."""
    with reason(f"cannot fit: S and {name} must be numbers"):
        S, values = np.asarray(S, dtype=np.float64), np.asarray(values, dtype=np.float64)
    n = S.size if labels is None else len(labels)
    if not S.shape == values.shape == (n,):
        raise InputError(
            f"cannot fit: S, {name} and the labels must be lists of one length,"
            f" not of shape {S.shape}, {values.shape} and ({n},)"
        )
    if n < MIN_POINTS:
        raise InputError(
            f"cannot fit a power law to {n} point(s): two always lie on a line;"
            f" measure models of at least {MIN_POINTS} sizes"
        )
    for what, array in (("S", S), (name, values)):
        below, rule = _ALLOWED[what]
        bad = np.flatnonzero(~((array > 0) & (array < below)))
        if bad.size:
            label = "" if labels is None else f" ({list(labels)[bad[0]]})"
            raise InputError(
                f"cannot fit: {what} is {array[bad[0]]:g} at point {bad[0]}{label}; it must {rule}"
            )
    return S, values


def _t_quantile(n: int, level: float) -> float:
    """Half-width, in standard errors, of a two-sided interval with n - 2 degrees of freedom."""
    if not 0 < level < 1:
        raise InputError(f"level must be a number between 0 and 1, such as 0.95, not {level!r}")
    return float(stdtrit(n - 2, (1 + level) / 2))


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
        """What falls as a power of S: CE itself, else -log of the share (inf if it is 0)."""
        if self.quantity == "CE":
            return self.value
        return minus_log(self.value)


def curve_of(
    measured: Iterable[Measured],
    corpus: str | None,
    family: str | None,
    quantity: Callable[[Measured], float],
    name: str,
) -> Curve:
    """`quantity` of each model of `family` on `corpus`, ascending in S; called `name`.

    None means the only corpus or family there is. InputError if nothing matches, if
    several do and one was asked for, if one model was measured twice, and if the models were
    measured on different text (fingerprint) or truncated at different lengths.
    """
    every = list(measured)
    chosen = [
        one
        for one in every
        if corpus in (None, one.manifest.corpus) and family in (None, one.manifest.family)
    ]
    found = sorted({(one.manifest.corpus, one.manifest.family) for one in chosen})
    if len(found) != 1:
        there = sorted({(one.manifest.corpus, one.manifest.family) for one in every})
        raise InputError(
            f"{'name one corpus and one family' if found else 'nothing was measured'}"
            f" for corpus {corpus or 'any'}, family {family or 'any'}; there is (corpus / family):"
            f" {'; '.join(map(' / '.join, there)) or 'nothing at all'}"
        )
    [(corpus, family)] = found
    for setting in ("fingerprint", "max_length", "stride"):
        values = sorted({getattr(one.manifest, setting) for one in chosen}, key=str)
        if len(values) > 1:
            there = " and ".join(str(value)[:15] for value in values)
            raise InputError(
                f"{family} on {corpus}: its models were measured with different {setting}"
                f" ({there}); measure them alike, or choose one (--{setting.replace('_', '-')})"
            )
    chosen.sort(key=lambda one: (one.manifest.S, one.manifest.model))
    models = tuple(one.manifest.model for one in chosen)
    if twice := sorted({model for model in models if models.count(model) > 1}):
        raise InputError(f"measured more than once on {corpus}: {', '.join(twice)}")
    return Curve(
        corpus=corpus,
        family=family,
        quantity=name,
        models=models,
        S=np.array([one.manifest.S for one in chosen], dtype=np.float64),
        value=np.array([quantity(one) for one in chosen], dtype=np.float64),
    )


def family_lines(measured: Iterable[Measured]) -> list[str]:
    """For each family and corpus a line that says how many models there are; if few, which.

    InputError for two models of one S in a family: recipes that no one line in S goes through.
    """
    groups: dict[str, list[Manifest]] = {}
    for one in sorted((one.manifest for one in measured), key=lambda m: (m.corpus, m.family, m.S)):
        groups.setdefault(f"{one.family} on {one.corpus}", []).append(one)
    lines = []
    for group, models in groups.items():
        for one, other in pairwise(models):
            if one.S == other.S:
                raise InputError(
                    f"{group}: {one.model} and {other.model} both have S = {one.S:,}; if they are"
                    " of two recipes, give those of one another family (rbpkit measure --family"
                    " NAME; what is done is not measured again), or fit one --family"
                )
        names = [one.model for one in models]
        which = f" ({', '.join(names)})" if len(names) <= 8 else ""
        lines.append(f"{group}: {len(names)} model{'s' * (len(names) > 1)}{which}")
    return lines


def rbp_curve(
    measured: Iterable[Measured], k: int, corpus: str | None = None, family: str | None = None
) -> Curve:
    """RBP_k against S (Figures 3 to 5). InputError as `curve_of`, and for k < 1."""
    return curve_of(measured, corpus, family, lambda one: one.rbp(k), f"RBP_{k}")


def ce_curve(
    measured: Iterable[Measured], corpus: str | None = None, family: str | None = None
) -> Curve:
    """CE in nats against S (Figure 8a). InputError as `curve_of`."""
    return curve_of(measured, corpus, family, lambda one: one.ce(), "CE")


@dataclass(frozen=True, eq=False)
class Fits:
    """Fitted laws as a table, and one line for each that could not be fitted.

    Columns of `fit_curves` and `fit_all`: corpus, family, quantity, n, slope, low, high (t interval
    of the slope, 95%), intercept (log loss at S = 1), R2.
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
        about = (curve.corpus, curve.family, curve.quantity)
        rows.append((*about, fit.n, fit.slope, *fit.slope_interval, fit.intercept, fit.r2))
    names = ["corpus", "family", "quantity", "n", "slope", "low", "high", "intercept", "R2"]
    return Fits(pd.DataFrame(rows, columns=names), tuple(refused))


def curves_of_all(measured: Iterable[Measured], ks: Sequence[int]) -> list[Curve]:
    """CE and -log RBP_k of every (corpus, family) there is, sorted. InputError as `curve_of`."""
    every = list(measured)
    return [
        curve
        for pair in sorted({(one.manifest.corpus, one.manifest.family) for one in every})
        for curve in (ce_curve(every, *pair), *(rbp_curve(every, k, *pair) for k in ks))
    ]


def fit_all(measured: Iterable[Measured], ks: Sequence[int] = DEFAULT_KS) -> Fits:
    """Fit CE and -log RBP_k against S for every family and corpus that was measured.

    InputError when nothing was measured, when one model was measured twice, and for k < 1.
    """
    curves = curves_of_all(measured, ks)
    if not curves:
        raise InputError("no measured model to fit")
    return fit_curves(curves)
