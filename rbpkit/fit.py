"""The law: points over the models of a family, and the straight line through their logarithms.

-log RBP_k ~ S^-alpha (Sections 4.1 to 4.3 of arXiv 2510.20387) and CE ~ S^-alpha (Section 5.2)
are ordinary least squares of log loss on log S, logarithms natural. The paper prints slope and R2.
We add what tells how sure they are: standard errors, t intervals, and an interval for a new model.
A `Curve` is made of anything that is `Measured`: summaries, records, totals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit
from scipy.stats import linregress

from rbpkit.errors import InputError, reason
from rbpkit.manifest import Manifest
from rbpkit.names import run_and_step
from rbpkit.resolution import doubts
from rbpkit.summary import DEFAULT_KS, Summary

Array = NDArray[np.float64]
Interval = tuple[float, float]

# Two points leave no residual, so no R2 below 1 and no interval: nothing the data could refute.
MIN_POINTS = 3

# Logarithms that differ by less are equal up to rounding, and R2 would be that of the rounding.
_ROUNDING = 2e-15


def root_mean_square(values: ArrayLike) -> float:
    """sqrt(mean(values^2)) over all elements, in the unit of the values."""
    squares = np.asarray(values, dtype=np.float64) ** 2
    return float(np.sqrt(np.mean(squares)))


def minus_log(share: Array) -> Array:
    """-log of shares: 0 if one is 1, infinite if it is 0 (no fit takes either)."""
    with np.errstate(divide="ignore"):
        return 0.0 - np.log(share)  # not -log: 0 and not -0 for a share of 1


# -- the line ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prediction:
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
    - slope_interval: Student's t interval of the slope, which covers at `level`.
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
    level: float
    slope_se: float
    slope_interval: Interval
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
        if level is None:
            level = self.level
        sizes = np.asarray(S, dtype=np.float64)[()]  # [()] makes one number a number again
        if not np.all((sizes > 0) & (sizes < np.inf)):
            raise InputError("predict: every S must be a positive, finite parameter count")
        log_S = np.log(sizes)
        log_loss = self.intercept + self.slope * log_S
        # A new model's own scatter (the 1), and that of the line, which grows away from the data.
        leverage = 1 / self.n + (log_S - self.mean_log_S) ** 2 / self.sum_squares_log_S
        half = _t_quantile(self.n, level) * self.residual_sd * np.sqrt(1 + leverage)
        return Prediction(np.exp(log_loss), np.exp(log_loss - half), np.exp(log_loss + half))


def fit_power_law(
    S: ArrayLike, loss: ArrayLike, *, level: float = 0.95, labels: Sequence[str] | None = None
) -> PowerLawFit:
    """Least squares of log loss on log S: Figures 3 to 6, and Table 1 of the arXiv version.

    - S: (n,) non-embedding parameters, in any order.
    - loss: (n,) -log RBP_k (see `fit_rbp_law`) or CE in nats.
    - level: coverage of the intervals.
    - labels: (n,) names of the points, for error messages.

    Any other law loss ~ x^slope is the same regression with x in the place of S: the law in k of
    the ICLR version's Table 1 with k, the law in cross-entropy with CE.

    Raises InputError, never returns a number, for fewer than three points, unequal lengths, values
    that are not positive and finite, an S or a loss that is the same at all points, a bad level.
    """
    rule = (
        "be positive and finite (an RBP_k of 1 gives 0, an RBP_k of 0 gives infinity);"
        " take another k or leave the point out"
    )
    return _fit_line(*_as_points(S, "the loss", loss, np.inf, rule, labels), level)


def fit_rbp_law(
    S: ArrayLike, rbp: ArrayLike, *, level: float = 0.95, labels: Sequence[str] | None = None
) -> PowerLawFit:
    """The law -log RBP_k ~ S^-alpha (Sections 4.1 to 4.3): `fit_power_law` of -log RBP_k.

    S: (n,) non-embedding parameters. rbp: (n,) RBP_k = Pr(R <= k), each strictly between 0 and 1.
    level, labels and the errors are as in `fit_power_law`; an RBP_k of 0 or 1 has no place on the
    line (its loss is infinite or zero) and is refused by name, never clipped.
    """
    rule = "lie between 0 and 1, both excluded; take another k or leave the point out"
    S, rbp = _as_points(S, "RBP_k", rbp, 1, rule, labels)
    return _fit_line(S, minus_log(rbp), level)


def _as_points(
    S: ArrayLike,
    name: str,
    values: ArrayLike,
    most: float,
    rule: str,
    labels: Sequence[str] | None,
) -> tuple[Array, Array]:
    """S and the values, (n,) float64, each between 0 and `most`; InputError names the first bad."""
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
    rule_of_S = "be a positive, finite parameter count"
    for what, array, limit, must in (("S", S, np.inf, rule_of_S), (name, values, most, rule)):
        refused = np.flatnonzero(~((array > 0) & (array < limit)))
        if refused.size:
            point = refused[0]
            label = "" if labels is None else f" ({list(labels)[point]})"
            raise InputError(
                f"cannot fit: {what} is {array[point]:g} at point {point}{label}; it must {must}"
            )
    return S, values


def _fit_line(S: Array, loss: Array, level: float) -> PowerLawFit:
    """S, loss: (n,) positive and finite. InputError if all S or losses are equal."""
    log_S, log_loss = np.log(S), np.log(loss)
    if _all_equal(log_S):
        raise InputError(
            f"cannot fit: S is {S[0]:g} at all {S.size} points; give models of different sizes"
        )
    if _all_equal(log_loss):
        raise InputError(
            f"cannot fit: the loss is {loss[0]:g} at all {S.size} points;"
            " R2 is not defined; take another k or more scored tokens"
        )
    line = linregress(log_S, log_loss)
    slope, intercept, slope_se = float(line.slope), float(line.intercept), float(line.stderr)
    half = _t_quantile(S.size, level) * slope_se
    residuals = log_loss - intercept - slope * log_S
    return PowerLawFit(
        slope=slope,
        intercept=intercept,
        r2=float(line.rvalue**2),
        n=S.size,
        level=level,
        slope_se=slope_se,
        slope_interval=(slope - half, slope + half),
        residual_sd=float(np.linalg.norm(residuals) / np.sqrt(S.size - 2)),
        mean_log_S=float(log_S.mean()),
        sum_squares_log_S=float(S.size * log_S.var()),
        S_min=float(S.min()),
        S_max=float(S.max()),
    )


def _all_equal(logs: Array) -> bool:
    return np.allclose(logs, logs[0], rtol=_ROUNDING, atol=_ROUNDING)


def _t_quantile(n: int, level: float) -> float:
    """Half-width, in standard errors, of a two-sided interval with n - 2 degrees of freedom."""
    if not 0 < level < 1:
        raise InputError(f"level must be a number between 0 and 1, such as 0.95, not {level!r}")
    return float(stdtrit(n - 2, (1 + level) / 2))


# -- curves: a quantity of the models of a family ---------------------------------------------


class Measured(Protocol):
    """One model on one corpus, as a curve needs it: `Summary`, `Records` and `Totals` are such."""

    @property
    def manifest(self) -> Manifest: ...
    def rbp(self, k: int, ties: str = "pessimistic") -> float: ...
    def ce(self) -> float: ...


M = TypeVar("M", bound=Measured)


@dataclass(frozen=True, eq=False)
class Curve:
    """One quantity of the models of a family on a corpus, by rising size.

    - quantity: its name: "RBP_10", "CE" (nats), "p_{5,10}".
    - models: n names.
    - S: (n,) non-embedding parameters, ascending.
    - value: (n,) the quantity at each S.
    - figure: where the paper plots it, if it does.
    - tokens: (n,) how many each model scored; units: of the documents. None if not known.
    - in_ce: whether S holds the models' CE in nats (`curves_in_ce`), with which the loss rises.
    """

    corpus: str
    family: str
    quantity: str
    models: tuple[str, ...]
    S: np.ndarray
    value: np.ndarray
    figure: str = ""
    tokens: np.ndarray | None = None
    units: int | None = None
    in_ce: bool = False

    @property
    def title(self) -> str:
        """Family, corpus and quantity, as messages name the curve."""
        return f"{self.family}, {self.corpus}, {self.quantity}"

    @property
    def loss(self) -> np.ndarray:
        """What falls as a power of S: CE itself, else -log of the share (inf if it is 0)."""
        if self.quantity == "CE":
            return self.value
        return minus_log(self.value)

    def doubts(self, fit: PowerLawFit) -> str:
        """Why the law that was fitted to it may not be trusted, in a few words, or ""."""
        misses = None
        if self.tokens is not None and self.quantity.startswith("RBP_"):
            misses = (1 - self.value) * self.tokens
        exponent = fit.slope_interval if self.in_ce else fit.alpha_interval
        return doubts(self.S, exponent, misses, self.units)


def curve_of(
    measured: Iterable[M],
    corpus: str | None,
    family: str | None,
    quantity: Callable[[M], float],
    name: str,
) -> Curve:
    """`quantity` of each model of `family` on `corpus`, ascending in S; called `name`.

    None means the only corpus or family there is. Raises InputError if nothing matches, if
    several do and one was asked for, if one model was measured twice, if there are several
    checkpoints of one training run, and if the models did not score the same tokens: of different
    text (fingerprint), cut at different lengths, or by different tokenizers.
    """
    measured = list(measured)
    pairs = sorted({corpus_and_family(model) for model in measured})
    matching = [pair for pair in pairs if corpus in (None, pair[0]) and family in (None, pair[1])]
    if len(matching) != 1:
        problem = "name one corpus and one family" if matching else "nothing was measured"
        offered = "; ".join(" / ".join(pair) for pair in pairs) or "nothing at all"
        raise InputError(
            f"{problem} for corpus {corpus or 'any'}, family {family or 'any'};"
            f" there is (corpus / family): {offered}"
        )
    [(corpus, family)] = matching
    chosen = models_of(measured, corpus, family)
    check_same_tokens(chosen, f"{family} on {corpus}")
    _check_one_checkpoint(model.manifest for model in chosen)
    names = tuple(model.manifest.model for model in chosen)
    repeated = sorted({model for model in names if names.count(model) > 1})
    if repeated:
        raise InputError(f"measured more than once on {corpus}: {', '.join(repeated)}")
    S = [model.manifest.S for model in chosen]
    return _curve(chosen, corpus, family, name, S, [quantity(model) for model in chosen])


def _curve(
    models: Sequence[Measured],
    corpus: str,
    family: str,
    name: str,
    S: Sequence[float],
    value: Sequence[float],
    in_ce: bool = False,
) -> Curve:
    """The curve of these models, which are in the order of S."""
    units = [np.unique(one.document_units).size for one in models if isinstance(one, Summary)]
    return Curve(
        corpus=corpus,
        family=family,
        quantity=name,
        models=tuple(model.manifest.model for model in models),
        S=np.array(S, dtype=np.float64),
        value=np.array(value, dtype=np.float64),
        tokens=np.array([model.manifest.tokens for model in models]),
        units=min(units, default=None),
        in_ce=in_ce,
    )


def corpus_and_family(model: Measured) -> tuple[str, str]:
    """What the models of one curve have in common."""
    return model.manifest.corpus, model.manifest.family


def models_of(measured: Iterable[M], corpus: str, family: str) -> list[M]:
    """What was measured of one family on one corpus, ascending in S; empty if nothing was."""
    chosen = [model for model in measured if corpus_and_family(model) == (corpus, family)]
    return sorted(chosen, key=lambda model: (model.manifest.S, model.manifest.model))


def check_same_tokens(models: Iterable[Measured], who: str) -> None:
    """InputError, which begins with `who`, if models of one line did not score the same tokens."""
    models = list(models)
    for setting in ("fingerprint", "max_length", "stride"):
        values = sorted({getattr(model.manifest, setting) for model in models}, key=str)
        if len(values) > 1:
            words = [str(value)[:15] for value in values]
            raise InputError(
                f"{who}: its models were measured with different {setting}"
                f" ({' and '.join(words)}); measure them alike, or choose some, as"
                f" --where {setting}={words[0]}"
            )
    found = tokenizers(models)
    if len(found) > 1:
        groups = []
        for tokenizer, same in found.items():
            groups.append(f"{tokenizer} ({', '.join(model.manifest.model for model in same)})")
        raise InputError(
            f"{who}: its models scored different tokens of one text, as their tokenizers differ:"
            f" {' and '.join(groups)}; choose those of one (--model), or take a line for each"
            " (--by-tokenizer, in Python fit.by_tokenizer(summaries))"
        )


def tokenizers(models: Iterable[M]) -> dict[str, list[M]]:
    """Models on one text by what they scored: a name of the tokenizer -> its models.

    The same tokens at the same places are one tokenizer, whatever V is padded to. The name is V
    and the first digits of `targets`; if these are not known, V and the number of tokens decide.
    """
    found: dict[str, list[M]] = {}
    names: dict[object, str] = {}
    for model in models:
        manifest = model.manifest
        scored = manifest.targets or (manifest.V, manifest.tokens)
        digits = manifest.targets[:6] or str(manifest.tokens)
        name = names.setdefault(scored, f"V{manifest.V}-{digits}")
        found.setdefault(name, []).append(model)
    return found


def by_tokenizer(summaries: Iterable[Summary]) -> list[Summary]:
    """The summaries, with a text that several tokenizers cut as a corpus for each of them.

    Such a corpus is called "NAME V2048-1f3a9c". Raises InputError for a corpus that was measured
    with several fingerprints, lengths or strides.
    """
    summaries = list(summaries)
    found = []
    for corpus in sorted({one.manifest.corpus for one in summaries}):
        of_corpus = [one for one in summaries if one.manifest.corpus == corpus]
        groups = tokenizers(of_corpus)
        for tokenizer, same in groups.items():
            check_same_tokens(same, corpus)
            label = {"corpus": f"{corpus} {tokenizer}"} if len(groups) > 1 else {}
            for one in same:
                found.append(replace(one, manifest=one.manifest.model_copy(update=label)))
    return found


def _check_one_checkpoint(manifests: Iterable[Manifest]) -> None:
    """InputError for a training run with several checkpoints of one S."""
    steps: dict[tuple[str, float], set[int]] = {}
    for manifest in manifests:
        if of_run := run_and_step(manifest.model):
            run, step = of_run
            steps.setdefault((run, manifest.S), set()).add(step)
    for (run, _), known in steps.items():
        if len(known) > 1:
            listed = ", ".join(map(str, sorted(known)))
            raise InputError(
                f"{run} has several checkpoints: {listed}; choose one of each run, as --checkpoint"
                f" last or --checkpoint {max(known)} (in Python: load_summaries(folder,"
                ' checkpoint="last"))'
            )


def family_lines(measured: Iterable[Measured]) -> list[str]:
    """For each family and corpus a line that says how many models there are; if few, which.

    Raises InputError for two models of one S in a family: no single line in S goes through models
    of two recipes, or through several checkpoints of one run.
    """
    measured = list(measured)
    lines = []
    for corpus, family in sorted({corpus_and_family(model) for model in measured}):
        group = f"{family} on {corpus}"
        manifests = [model.manifest for model in models_of(measured, corpus, family)]
        _check_one_checkpoint(manifests)
        for smaller, larger in pairwise(manifests):
            if smaller.S == larger.S:
                raise InputError(
                    f"{group}: {smaller.model} and {larger.model} both have S = {larger.S:,}; if"
                    " they are of two recipes, give those of one another family (rbpkit measure"
                    " --family NAME; what is done is not measured again), or fit one --family"
                )
        which = f" ({', '.join(one.model for one in manifests)})" if len(manifests) <= 8 else ""
        plural = "" if len(manifests) == 1 else "s"
        lines.append(f"{group}: {len(manifests)} model{plural}{which}")
    return lines


def rbp_curve(
    measured: Iterable[Measured], k: int, corpus: str | None = None, family: str | None = None
) -> Curve:
    """RBP_k against S (Figures 3 to 5). InputError as `curve_of`, and for k < 1."""
    return curve_of(measured, corpus, family, lambda model: model.rbp(k), f"RBP_{k}")


def ce_curve(
    measured: Iterable[Measured], corpus: str | None = None, family: str | None = None
) -> Curve:
    """CE in nats against S (Figure 8a). InputError as `curve_of`."""
    return curve_of(measured, corpus, family, lambda model: model.ce(), "CE")


def curves_of_all(measured: Iterable[Measured], ks: Sequence[int]) -> list[Curve]:
    """CE and RBP_k of every (corpus, family) that was measured. InputError as `curve_of`."""
    measured = list(measured)
    curves = []
    for corpus, family in sorted({corpus_and_family(model) for model in measured}):
        curves.append(ce_curve(measured, corpus, family))
        for k in ks:
            curves.append(rbp_curve(measured, k, corpus, family))
    return curves


def curves_in_ce(measured: Iterable[Measured], ks: Sequence[int]) -> list[Curve]:
    """RBP_k of all models of a text against their CE (nats) in the place of S, ascending.

    A law in CE is -log RBP_k ~ CE^eps_k, and its slope is eps_k. Its models may be of any family,
    and checkpoints of one run. Raises InputError if the models of a text did not score the same
    tokens.
    """
    measured = list(measured)
    curves = []
    for corpus in sorted({model.manifest.corpus for model in measured}):
        models = [model for model in measured if model.manifest.corpus == corpus]
        check_same_tokens(models, corpus)
        models.sort(key=lambda model: model.ce())
        CE = [model.ce() for model in models]
        for k in ks:
            rbp = [model.rbp(k) for model in models]
            curves.append(_curve(models, corpus, "all", f"RBP_{k}", CE, rbp, in_ce=True))
    return curves


# -- tables of fits ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fits:
    """Fitted laws as a table, and one line for each that could not be fitted.

    Columns of `fit_curves` and `fit_all`:

    - corpus, family, quantity, n (points)
    - slope, and low and high, its t interval at 95%
    - intercept: log loss at S = 1
    - R2: of log loss
    - note: why the law may not be trusted (`resolution.doubts`), or ""
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
            refused.append(f"{curve.title}: {error}")
            continue
        low, high = fit.slope_interval
        about = (curve.corpus, curve.family, curve.quantity)
        numbers = (fit.n, fit.slope, low, high, fit.intercept, fit.r2)
        rows.append((*about, *numbers, curve.doubts(fit)))
    columns = "corpus family quantity n slope low high intercept R2 note".split()
    return Fits(pd.DataFrame(rows, columns=columns), tuple(refused))


def fit_all(measured: Iterable[Measured], ks: Sequence[int] = DEFAULT_KS) -> Fits:
    """Fit CE and -log RBP_k against S for every family and corpus that was measured.

    Raises InputError when nothing was measured, when one model was measured twice, and for k < 1.
    """
    curves = curves_of_all(measured, ks)
    if not curves:
        raise InputError("no measured model to fit")
    return fit_curves(curves)
