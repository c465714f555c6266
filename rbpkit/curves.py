"""Points over the models of one family on one corpus: what the paper's figures plot against S.

Works on `Summary` and `Records` alike: anything with `manifest`, `rbp`, `ce` and `success`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.files.manifest import Manifest
from rbpkit.fit import fit_power_law
from rbpkit.paper import Points
from rbpkit.summary import DEFAULT_KS


class Measured(Protocol):
    """What a curve is made of: a `Summary` or `Records`."""

    manifest: Manifest

    def rbp(self, k: int, ties: str = "pessimistic") -> float: ...
    def ce(self) -> float: ...
    def success(self, N: int, k: int) -> float: ...


@dataclass(frozen=True, eq=False)
class Curve:
    """`value` (n,) of `quantity` at `S` (n,) non-embedding parameters, ascending, by `models`.

    `quantity` is its name: "RBP_10", "CE" (nats), "p_{5,10}".
    """

    corpus: str
    family: str
    quantity: str
    models: tuple[str, ...]
    S: np.ndarray
    value: np.ndarray

    @classmethod
    def of_published(cls, points: Points) -> Curve:
        """The curve of points that the paper prints."""
        quantity = f"RBP_{points.k}"
        return cls(points.dataset, points.family, quantity, points.models, points.S, points.rbp)

    @property
    def loss(self) -> np.ndarray:
        """What falls as a power of S: CE itself, else -log of the share (inf where it is 0)."""
        if self.quantity == "CE":
            return self.value
        with np.errstate(divide="ignore"):  # the fit refuses such a point, and names it
            return np.abs(np.log(self.value))  # abs: 0 and not -0 for a share of 1


def ladder(measured: Iterable[Measured], corpus: str, family: str) -> list[Measured]:
    """What was measured of one family on one corpus, ascending in S; empty where nothing was."""
    chosen = [
        one for one in measured if (one.manifest.corpus, one.manifest.family) == (corpus, family)
    ]
    return sorted(chosen, key=_by_size)


def _by_size(one: Measured) -> tuple[int, str]:
    return one.manifest.S, one.manifest.model


def points(
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
    chosen.sort(key=_by_size)
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
    """RBP_k against S (Figures 3 to 5). InputError as `points`, and for k < 1."""
    return points(measured, corpus, family, lambda one: one.rbp(k, ties), f"RBP_{k}")


def ce_curve(
    measured: Iterable[Measured], corpus: str | None = None, family: str | None = None
) -> Curve:
    """CE in nats against S (Figure 8a). InputError as `points`."""
    return points(measured, corpus, family, lambda one: one.ce(), "CE")


def success_curve(
    measured: Iterable[Measured],
    N: int,
    k: int,
    corpus: str | None = None,
    family: str | None = None,
) -> Curve:
    """p_{N,k} against S (Figure 7). InputError as `points`, and as `Summary.success`."""
    name = f"p_{{{N},{k}}}"
    return points(measured, corpus, family, lambda one: one.success(N, k), name)


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


def fits(measured: Iterable[Measured], ks: Sequence[int] = DEFAULT_KS) -> Fits:
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


# -- both sources in one form -----------------------------------------------------------------

Curves = dict[tuple[str, str], Curve]
"""(corpus, family) -> its curve, in the order in which they are to be shown."""


def published_curves(k: int) -> Curves:
    """RBP_k against S as the paper plots it (Figures 3 to 5, and 9), by (corpus, family).

    What it does not plot at this k is left out. Raises InputError for a k that is in no figure.
    """
    found: Curves = {}
    for corpus in paper.PLOTTED_CORPORA:
        for family in paper.FAMILIES:
            try:
                found[corpus, family] = Curve.of_published(paper.points(corpus, family, k))
            except InputError as error:
                refusal = error
    if not found:
        raise refusal
    return found


@dataclass(frozen=True)
class MeasuredCurves:
    """What was measured of what was asked for.

    curves: (corpus, family) -> curve, each with points enough for a fit. missing: a line for each
    (corpus, family) that is not there or that no line can be fitted to, with the reason.
    """

    curves: Curves
    missing: tuple[str, ...]


def measured_curves(
    measured: Iterable[Measured],
    corpora: Sequence[str],
    families: Sequence[str],
    quantity: Callable[[Measured], float],
    name: str,
) -> MeasuredCurves:
    """The curves of `quantity` (called `name`: "RBP_10", "CE") for corpora x families.

    Raises InputError as `curves.points` does, but for what was not measured.
    """
    every = list(measured)
    there = {(one.manifest.corpus, one.manifest.family) for one in every}
    curves: Curves = {}
    missing = []
    for corpus in corpora:
        for family in families:
            if (corpus, family) not in there:
                missing.append(f"not measured: {family} on {corpus}")
                continue
            curve = points(every, corpus, family, quantity, name)
            try:
                fit_power_law(curve.S, curve.loss, labels=curve.models)
            except InputError as error:
                missing.append(f"no fit: {family}, {corpus}, {name}: {error}")
            else:
                curves[corpus, family] = curve
    return MeasuredCurves(curves, tuple(missing))


def panels(curves: Curves) -> list[list[Curve]]:
    """The curves as `plots.law_panels` takes them: a list a corpus, of a curve a family."""
    corpora = dict.fromkeys(corpus for corpus, _ in curves)
    return [[curve for (c, _), curve in curves.items() if c == corpus] for corpus in corpora]
