"""The law: points over the models of a family, and the straight line through their logarithms.

-log RBP_k ~ S^-alpha (Sections 4.1 to 4.3 of arXiv 2510.20387) and CE ~ S^-alpha (Section 5.2)
are ordinary least squares of log loss on log S, logarithms natural. The paper prints slope and R2.
We add what tells how sure they are: standard errors, t intervals, an interval for a new model, and
a note on what a line cannot be trusted for. A `Curve` is made of anything that is `Measured`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit
from scipy.stats import linregress

from rbpkit.errors import InputError
from rbpkit.manifest import Manifest
from rbpkit.names import run_and_step
from rbpkit.summary import Summary

Array = NDArray[np.float64]
Interval = tuple[float, float]

# Two points leave no residual, so no R2 below 1 and no interval: nothing the data could refute.
MIN_POINTS = 3

# Logarithms that differ by less are equal up to rounding, and R2 would be that of the rounding.
_ROUNDING = 2e-15

FEW_MODELS = 5  # fewer hardly show that a line is straight
FEW_UNITS = 15  # a 95% bootstrap interval of 2, 3, 5, 8 documents covers 52, 76, 84, 88%


def root_mean_square(values: ArrayLike) -> float:
    """sqrt(mean(values^2)) over all elements, in the unit of the values."""
    squares = np.asarray(values, dtype=np.float64) ** 2
    return float(np.sqrt(np.mean(squares)))


def minus_log(share: ArrayLike) -> Array:
    """-log of shares: 0 if one is 1, infinite if it is 0 (no fit takes either)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return 0.0 - np.log(np.asarray(share, dtype=np.float64))  # not -0 for a share of 1


# -- the line ---------------------------------------------------------------------------------


class Prediction(NamedTuple):
    """What a fit says of models of size S: floats if S was one number, else arrays of its shape.

    - loss: exp(intercept) * S^slope, in the unit of the fitted loss (-log RBP_k has none, CE is in
      nats). By least squares in logs this is the median of the losses to be expected, not the mean.
    - low, high: ends of the prediction interval for the loss of ONE new model of that size.

    RBP_k itself is exp(-loss), and its ends change places.
    """

    loss: float | Array
    low: float | Array
    high: float | Array


@dataclass(frozen=True)
class PowerLawFit:
    """log loss = intercept + slope * log S, by least squares on n points; logarithms natural.

    - slope: d log loss / d log S; no unit, the same in any base of logarithm. alpha = -slope.
    - intercept: log loss at S = 1 (far outside the data: do not read it as a model).
    - r2: 1 - residual / total sum of squares, both of log loss.
    - slope_se: the standard error of the slope, by n - 2 degrees of freedom.
    - residual_sd: sqrt(residual sum of squares / (n - 2)), in log units: 0.01 is 1% of the loss.
    - mean_log_S, sum_squares_log_S: mean of log S, and sum of (log S - mean)^2; for `predict`.
    - S_min, S_max: the range that was fitted; beyond it a prediction is an extrapolation.

    The intervals take the residuals for independent and normal with one spread. Models of one
    family are scored on the same text, so sampling noise is shared and they are a guide, no more.
    """

    slope: float
    intercept: float
    r2: float
    n: int
    slope_se: float
    residual_sd: float
    mean_log_S: float
    sum_squares_log_S: float
    S_min: float
    S_max: float

    @property
    def slope_interval(self) -> Interval:
        """Student's t interval of the slope at 95%, low end first."""
        half = _t_quantile(self.n, 0.95) * self.slope_se
        return self.slope - half, self.slope + half

    @property
    def alpha(self) -> float:
        """The exponent of loss ~ S^-alpha: positive when larger models do better."""
        return -self.slope

    @property
    def alpha_interval(self) -> Interval:
        """The t interval of alpha at 95%, low end first."""
        low, high = self.slope_interval
        return -high, -low

    def predict(self, S: ArrayLike, *, level: float = 0.95) -> Prediction:
        """The loss of a new model of each size, with a t interval from the fit's own residuals.

        S: one positive number or an array of any shape. level: coverage of the interval.
        Raises InputError if an S is not positive and finite, or level is not between 0 and 1.
        """
        sizes = np.asarray(S, dtype=np.float64)[()]  # [()] makes one number a number again
        if not np.all((sizes > 0) & (sizes < np.inf)):
            raise InputError(f"predict: a size must be a positive, finite number, not {sizes}")
        log_S = np.log(sizes)
        log_loss = self.intercept + self.slope * log_S
        # A new model's own scatter (the 1), and that of the line, which grows away from the data.
        leverage = 1 / self.n + (log_S - self.mean_log_S) ** 2 / self.sum_squares_log_S
        half = _t_quantile(self.n, level) * self.residual_sd * np.sqrt(1 + leverage)
        return Prediction(np.exp(log_loss), np.exp(log_loss - half), np.exp(log_loss + half))


def fit_power_law(
    S: ArrayLike, loss: ArrayLike, *, labels: Sequence[str] | None = None
) -> PowerLawFit:
    """Least squares of log loss on log S: Figures 3 to 6, and Table 1 of the arXiv version.

    - S: (n,) non-embedding parameters, in any order.
    - loss: (n,) -log RBP_k (see `fit_rbp_law`) or CE in nats.
    - labels: (n,) names of the points, for error messages.

    Any other law loss ~ x^slope is the same regression with x in the place of S: the law in k of
    the ICLR version's Table 1 with k, the law in cross-entropy with CE.

    Raises InputError, never returns a number, for fewer than three points, unequal lengths, values
    that are not positive and finite, an S or a loss that is the same at all points.
    """
    S, loss = np.asarray(S, dtype=np.float64), np.asarray(loss, dtype=np.float64)
    names = [f"point {i}" for i in range(S.size)] if labels is None else list(labels)
    n = len(names)
    if not S.shape == loss.shape == (n,):
        shapes = f"{S.shape}, {loss.shape} and ({n},)"
        raise InputError(f"cannot fit: S, the loss and the labels are not of one length: {shapes}")
    if n < MIN_POINTS:
        raise InputError(
            f"cannot fit a power law to {n} point(s): two always lie on a line;"
            f" measure models of at least {MIN_POINTS} sizes"
        )
    for what, values in (("S", S), ("the loss", loss)):
        refused = np.flatnonzero(~((values > 0) & (values < np.inf)))
        if refused.size:
            point = refused[0]
            raise InputError(
                f"cannot fit: {what} is {values[point]:g} at {names[point]}; it must be positive"
                " and finite (an RBP_k of 1 gives a loss of 0, an RBP_k of 0 an infinite one);"
                " take another k or leave the point out"
            )
        logs = np.log(values)
        if np.allclose(logs, logs[0], rtol=_ROUNDING, atol=_ROUNDING):
            raise InputError(f"cannot fit: {what} is {values[0]:g} at all {n} points")
    log_S, log_loss = np.log(S), np.log(loss)
    line = linregress(log_S, log_loss)
    residuals = log_loss - line.intercept - line.slope * log_S
    return PowerLawFit(
        slope=float(line.slope),
        intercept=float(line.intercept),
        r2=float(line.rvalue**2),
        n=n,
        slope_se=float(line.stderr),
        residual_sd=float(np.linalg.norm(residuals) / np.sqrt(n - 2)),
        mean_log_S=float(log_S.mean()),
        sum_squares_log_S=float(n * log_S.var()),
        S_min=float(S.min()),
        S_max=float(S.max()),
    )


def fit_rbp_law(
    S: ArrayLike, rbp: ArrayLike, *, labels: Sequence[str] | None = None
) -> PowerLawFit:
    """The law -log RBP_k ~ S^-alpha (Sections 4.1 to 4.3): `fit_power_law` of -log RBP_k.

    S: (n,) non-embedding parameters. rbp: (n,) RBP_k = Pr(R <= k), each strictly between 0 and 1:
    a 0 or a 1 has no place on the line (its loss is infinite or zero) and is refused by name, never
    clipped. labels and the other errors are as in `fit_power_law`.
    """
    return fit_power_law(S, minus_log(rbp), labels=labels)


def _t_quantile(n: int, level: float) -> float:
    """Half-width, in standard errors, of a two-sided interval with n - 2 degrees of freedom."""
    if not 0 < level < 1:
        raise InputError(f"level must be a number between 0 and 1, such as 0.95, not {level!r}")
    return float(stdtrit(n - 2, (1 + level) / 2))


# -- curves: a quantity of the models of a family ---------------------------------------------


class Measured(Protocol):
    """One model on one corpus, as a curve needs it: `Summary` and `Totals` are such."""

    @property
    def manifest(self) -> Manifest: ...
    def rbp(self, k: int) -> float: ...
    def ce(self) -> float: ...


M = TypeVar("M", bound=Measured)


@dataclass(frozen=True, eq=False)
class Curve:
    """One quantity of the models of a family on a corpus, by rising size.

    - quantity: its name: "RBP_10", or "CE" (nats).
    - models: n names.
    - S: (n,) non-embedding parameters, ascending; of a law in CE the models' CE in nats.
    - value: (n,) the quantity at each S.
    - tokens: (n,) how many each model scored; units: of the documents. None if not known.
    """

    corpus: str
    family: str
    quantity: str
    models: tuple[str, ...]
    S: Array
    value: Array
    tokens: Array | None = None
    units: int | None = None

    @property
    def loss(self) -> Array:
        """What falls as a power of S: CE itself, else -log of the share (inf if it is 0)."""
        return self.value if self.quantity == "CE" else minus_log(self.value)

    def doubts(self, fit: PowerLawFit) -> str:
        """Why the law that was fitted to it may not be trusted, in a few words, or ""."""
        low, high = fit.alpha_interval
        notes = []
        if low <= 0 <= high:
            notes.append("alpha may be 0")
        elif self.tokens is not None and self.quantity != "CE":
            needed = misses_needed(fit.slope, self.S)
            # Half a miss in the place of none: the harmonic mean stays finite.
            misses = np.maximum((1 - self.value) * self.tokens, 0.5)
            mean = 1 / np.mean(1 / misses)
            if mean < needed:
                notes.append(f"few misses ({mean:,.0f} of {needed:,.0f})")
        if fit.n < FEW_MODELS:
            notes.append(f"few models ({fit.n})")
        if self.units is not None and few_units(self.units):
            notes.append(few_units(self.units))
        return "; ".join(notes)


def misses_needed(alpha: float, S: ArrayLike, r2: float = 0.9) -> float:
    """Misses of each model below which sampling alone brings R2 of the line under `r2`.

    A line of slope -alpha at the sizes S (n,) explains alpha^2 sum (ln S - mean)^2; n models with
    m misses each leave about (n - 2) / m, tokens taken for independent. So
    m = (n - 2) r2 / ((1 - r2) alpha^2 sum (ln S - mean)^2).
    """
    log_S = np.log(np.asarray(S, dtype=np.float64))
    explained = alpha**2 * log_S.size * log_S.var()
    return float((log_S.size - 2) * r2 / ((1 - r2) * explained))


def few_units(units: int) -> str:
    """A note if intervals for other documents rest on too few documents (or units), else ""."""
    return f"few documents or units ({units})" if units < FEW_UNITS else ""


def curve_of(measured: Iterable[Measured], k: int | None) -> Curve:
    """RBP_k of the models of one family on one corpus (Figures 3 to 5); CE if k is None (8a).

    Raises InputError if there are several families or corpora, if one model is there twice or at
    several steps of its training, if the models did not score the same tokens (another text,
    another length, another tokenizer), and for k < 1.
    """
    groups = grouped(measured, "corpus", "family")
    if len(groups) != 1:
        there = "; ".join(" / ".join(pair) for pair in groups) or "nothing"
        raise InputError(f"a curve is of one family on one corpus; there is {there}")
    [((corpus, family), models)] = groups.items()
    check_same_tokens(models, f"{family} on {corpus}")
    check_one_step(models)
    models.sort(key=_size_and_name)
    value = [model.ce() if k is None else model.rbp(k) for model in models]
    units = [np.unique(one.document_units).size for one in models if isinstance(one, Summary)]
    return Curve(
        corpus=corpus,
        family=family,
        quantity="CE" if k is None else f"RBP_{k}",
        models=tuple(model.manifest.model for model in models),
        S=np.array([model.manifest.S for model in models], dtype=np.float64),
        value=np.array(value, dtype=np.float64),
        tokens=np.array([model.manifest.tokens for model in models]),
        units=min(units, default=None),
    )


def curves_of_all(measured: Iterable[Measured], ks: Sequence[int | None]) -> list[Curve]:
    """RBP_k of every (corpus, family) that was measured; CE if k is None. Errors as `curve_of`."""
    curves = []
    for models in grouped(measured, "corpus", "family").values():
        curves += [curve_of(models, k) for k in ks]
    return curves


def relabelled(summary: Summary, **labels: object) -> Summary:
    """The summary with other values in its manifest, such as S, corpus or family."""
    return replace(summary, manifest=summary.manifest.model_copy(update=labels))


def in_ce(summaries: Iterable[Summary]) -> list[Summary]:
    """The summaries as one family, "all", with the CE of each (nats) in the place of its S.

    A law in CE is -log RBP_k ~ CE^eps_k, and its slope is eps_k. Its models may be of any family,
    and checkpoints of one run.
    """
    return [relabelled(one, family="all", S=one.ce()) for one in summaries]


# -- which models are on one line -------------------------------------------------------------


def _size_and_name(model: Measured) -> tuple[float, str]:
    return model.manifest.S, model.manifest.model


def models_of(measured: Iterable[M], corpus: str, family: str) -> list[M]:
    """What was measured of one family on one corpus, ascending in S; empty if nothing was."""
    groups = grouped(measured, "corpus", "family")
    return sorted(groups.get((corpus, family), ()), key=_size_and_name)


def grouped(measured: Iterable[M], *settings: str) -> dict[tuple[str, ...], list[M]]:
    """What was measured, by settings of its manifest, in their order."""
    groups: dict[tuple[str, ...], list[M]] = {}
    for model in measured:
        values = tuple(getattr(model.manifest, setting) for setting in settings)
        groups.setdefault(values, []).append(model)
    return dict(sorted(groups.items()))


def check_same_tokens(models: Sequence[Measured], who: str) -> None:
    """InputError, which begins with `who`, if models of one line did not score the same tokens."""
    for setting in ("fingerprint", "max_length", "stride"):
        values = sorted({str(getattr(model.manifest, setting)) for model in models})
        if len(values) > 1:
            words = " and ".join(value[:15] for value in values)
            raise InputError(
                f"{who}: its models were measured with different {setting} ({words}); choose those"
                f" of one, as --where {setting}={values[0][:15]}"
            )
    found = tokenizers(models)
    if len(found) > 1:
        raise InputError(
            f"{who}: its models scored different tokens of one text, as their tokenizers differ"
            f" ({' and '.join(found)}); choose those of one (--model), or take a line for each"
            " (--by-tokenizer, in Python fit.by_tokenizer(summaries))"
        )


def tokenizers(models: Iterable[M]) -> dict[str, list[M]]:
    """Models on one text by what they scored: a name of the tokenizer -> its models.

    The same tokens at the same places are one tokenizer, whatever V is padded to. The name is V
    and the first digits of `targets`; if these are not known, V and the number of tokens decide.
    """
    groups: dict[object, list[M]] = {}
    for model in models:
        manifest = model.manifest
        scored = manifest.targets or (manifest.V, manifest.tokens)
        groups.setdefault(scored, []).append(model)
    found = {}
    for same in groups.values():
        manifest = same[0].manifest
        digits = manifest.targets[:6] or str(manifest.tokens)
        found[f"V{manifest.V}-{digits}"] = same
    return found


def by_tokenizer(summaries: Iterable[Summary]) -> list[Summary]:
    """The summaries, with a text that several tokenizers cut as a corpus for each of them.

    Such a corpus is called "NAME V2048-1f3a9c".
    """
    found = []
    for (corpus,), of_corpus in grouped(summaries, "corpus").items():
        groups = tokenizers(of_corpus)
        for tokenizer, same in groups.items():
            label = f"{corpus} {tokenizer}" if len(groups) > 1 else corpus
            found += [relabelled(one, corpus=label) for one in same]
    return found


def check_one_step(models: Iterable[Measured]) -> None:
    """InputError for a model that is there twice, and for several checkpoints of a run at one S."""
    of_runs: dict[tuple[str, float], list[str]] = {}
    for model in models:
        name, S = model.manifest.model, model.manifest.S
        run, _ = run_and_step(name) or (name, 0)
        of_runs.setdefault((run, S), []).append(name)
    for names in of_runs.values():
        if len(names) > 1:
            raise InputError(
                f"{', '.join(names)}: are of one run, which has one place on a line; choose, as by"
                ' --checkpoint last (in Python: load_summaries(folder, checkpoint="last"))'
            )


# -- tables of fits ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fits:
    """Fitted laws as a table, and one line for each that could not be fitted."""

    table: pd.DataFrame
    refused: list[str]


def with_lines(curves: Iterable[Curve]) -> tuple[list[tuple[Curve, PowerLawFit]], list[str]]:
    """The curves that have a line, each with it, and why the others have none."""
    fitted, refused = [], []
    for curve in curves:
        try:
            fitted.append((curve, fit_power_law(curve.S, curve.loss, labels=curve.models)))
        except InputError as error:
            refused.append(f"{curve.family}, {curve.corpus}, {curve.quantity}: {error}")
    return fitted, refused


def fit_curves(curves: Iterable[Curve]) -> Fits:
    """Fit log loss on log S for each curve: the paper's Table 1, with intervals.

    The table's columns:

    - corpus, family, quantity, n (points)
    - slope, and low and high, its t interval at 95%
    - intercept: log loss at S = 1
    - R2: of log loss
    - note: why the law may not be trusted (`Curve.doubts`), or ""
    """
    fitted, refused = with_lines(curves)
    rows = []
    for curve, fit in fitted:
        about = (curve.corpus, curve.family, curve.quantity)
        numbers = (fit.n, fit.slope, *fit.slope_interval, fit.intercept, fit.r2)
        rows.append((*about, *numbers, curve.doubts(fit)))
    columns = "corpus family quantity n slope low high intercept R2 note".split()
    return Fits(pd.DataFrame(rows, columns=columns), refused)


def predict_sizes(curves: Iterable[Curve], sizes: Sequence[float], level: float = 0.95) -> Fits:
    """What each law predicts for ONE new model of each size, in non-embedding parameters.

    Of a law in CE (`in_ce`) the sizes are losses in nats a token.

    The table's columns, one row for each curve and size:

    - corpus, family, quantity, n (points of the fit), S
    - decades: how far S is outside the measured sizes; positive beyond the largest, negative below
      the smallest, 0 between
    - loss, loss_low, loss_high: with the prediction interval
    - RBP, RBP_low, RBP_high: exp of minus the loss; missing for CE
    - note: why the law is in doubt, or ""

    Raises InputError for a size that is not positive and finite, and for a level not between 0
    and 1.
    """
    fitted, refused = with_lines(curves)
    rows = []
    for curve, fit in fitted:
        for size in sizes:
            predicted = fit.predict(size, level=level)
            nearest = np.clip(size, fit.S_min, fit.S_max)  # of the measured range
            decades = np.log10(size) - np.log10(nearest)
            # A larger loss is a smaller RBP, so the ends change places.
            rbp = np.exp(-np.array([predicted.loss, predicted.high, predicted.low]))
            if curve.quantity == "CE":
                rbp = np.full(3, np.nan)
            about = (curve.corpus, curve.family, curve.quantity, fit.n, float(size), decades)
            rows.append((*about, *predicted, *rbp, curve.doubts(fit)))
    columns = "corpus family quantity n S decades loss loss_low loss_high".split()
    columns += "RBP RBP_low RBP_high note".split()
    return Fits(pd.DataFrame(rows, columns=columns), refused)
