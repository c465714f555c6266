"""A loss as a function of size and training tokens: size alone, product, sum, and two more.

    size        L = A S^-a
    product     L = A S^-a T^-b
    sum         L = A S^-a + B T^-b
    sum+floor   L = A S^-a + B T^-b + E
    kaplan      L = ((A S^-a)^(1/b) + (B T^-b)^(1/b))^b

L is -log RBP_k, -log of an accuracy, or CE. All are fitted to log L, so that the residual of a
small loss counts as much as that of a large one. The sum with a floor is the form of Hoffmann et
al. (2022, arXiv 2203.15556); the last is Eq. 1.5 of Kaplan et al. (2020, arXiv 2001.08361).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from rbpkit.fit import Array, fit_power_law, root_mean_square

FORMS = ("size", "product", "sum", "sum+floor")
KAPLAN = "kaplan"
# Where the sums start: exponents of S and T, and the share of the smallest loss that is floor.
_STARTS = ((0.3, 0.3, 0.3), (0.2, 0.8, 0.1), (0.6, 0.3, 0.6))


@dataclass(frozen=True)
class JointFit:
    """log L = log of `form`, fitted to n points.

    - A, a, B, b, E: as in the module's formulas, with S and T in units of S_unit and T_unit. Those
      are their geometric means in the data, so that A is a loss and not a number of thirty digits.
      What the form does not have is 0; the product has no B, and its b is the exponent of T.
    - rms: root mean square of the residuals of log L; 0.01 is 1% of the loss.
    """

    form: str
    S_unit: float
    T_unit: float
    n: int
    A: float
    a: float
    B: float
    b: float
    E: float
    rms: float

    def predict(self, S: ArrayLike, T: ArrayLike) -> Array:
        """The loss of models of size S trained on T tokens; S and T broadcast."""
        s = np.asarray(S, dtype=np.float64) / self.S_unit
        t = np.asarray(T, dtype=np.float64) / self.T_unit
        if self.form in ("size", "product"):
            return self.A * s**-self.a * t**-self.b
        if self.form == KAPLAN:
            of_size = (self.A * s**-self.a) ** (1 / self.b)
            of_tokens = self.B ** (1 / self.b) / t  # (B t^-b)^(1/b)
            return (of_size + of_tokens) ** self.b
        return self.A * s**-self.a + self.B * t**-self.b + self.E


def fit_joint(S: ArrayLike, T: ArrayLike, loss: ArrayLike, form: str = "sum") -> JointFit:
    """Least squares of log loss on the logarithm of `form` (one of `FORMS`, or `KAPLAN`).

    S: (n,) non-embedding parameters. T: (n,) training tokens. loss: (n,). All positive, of more
    points than the form has parameters, and not all of one S or, if the form has it, of one T.
    """
    log_S, log_T, log_loss = (np.log(np.asarray(one, dtype=np.float64)) for one in (S, T, loss))
    log_S_unit, log_T_unit = log_S.mean(), log_T.mean()
    s, t = log_S - log_S_unit, log_T - log_T_unit
    fit = _fit_plane if form in ("size", "product") else _fit_sum
    units = float(np.exp(log_S_unit)), float(np.exp(log_T_unit))
    return JointFit(form, *units, log_loss.size, *fit(s, t, log_loss, form))


Solution = tuple[float, float, float, float, float, float]  # A, a, B, b, E, rms


def _fit_plane(s: Array, t: Array, log_loss: Array, form: str) -> Solution:
    """log L = log A - a s - b t, whose b is 0 for the form "size"."""
    columns = [np.ones_like(s), -s]
    if form == "product":
        columns.append(-t)
    design = np.stack(columns, axis=1)
    solution = np.linalg.lstsq(design, log_loss, rcond=None)[0]
    rms = root_mean_square(design @ solution - log_loss)
    A, a = float(np.exp(solution[0])), float(solution[1])
    b = float(solution[2]) if form == "product" else 0.0
    return A, a, 0.0, b, 0.0, rms


def _fit_sum(s: Array, t: Array, log_loss: Array, form: str) -> Solution:
    """The best solution over all starts.

    The parameters of the search are p = (log A, a, log B, b), and log E for "sum+floor".
    """
    curve = _log_kaplan if form == KAPLAN else _log_sum
    has_floor = form == "sum+floor"
    mean, smallest = log_loss.mean(), log_loss.min()
    # Bounded, so that exponents do not change sign, and a floor that is not there tends to zero.
    lower = [-20.0, 0.0, -20.0, 1e-3 if form == KAPLAN else 0.0]
    upper = [20.0, 5.0, 20.0, 5.0]
    if has_floor:
        lower.append(smallest - 12.0)
        upper.append(smallest)

    solutions = []
    for a, b, floor_share in _STARTS:
        start = [mean - 0.7, a, mean - 1.4, b]
        if has_floor:
            start.append(smallest + np.log(floor_share))
        solution = least_squares(
            lambda p: curve(p, s, t)[0] - log_loss,
            start,
            lambda p: curve(p, s, t)[1],
            bounds=(lower, upper),
            method="dogbox",
            xtol=1e-10,
            ftol=1e-10,
        )
        solutions.append(solution)
    # Rounded, so that the first start is taken of those that end in the same minimum.
    best = min(solutions, key=lambda solution: round(root_mean_square(solution.fun), 12))
    log_A, a, log_B, b = best.x[:4].tolist()
    A, B = float(np.exp(log_A)), float(np.exp(log_B))
    E = float(np.exp(best.x[4])) if has_floor else 0.0
    return A, a, B, b, E, root_mean_square(best.fun)


def _log_sum(p: Array, s: Array, t: Array) -> tuple[Array, Array]:
    """log of A e^(-a s) + B e^(-b t) [+ E], (n,), and its derivatives by p, (n, 4 or 5)."""
    log_parts = [p[0] - p[1] * s, p[2] - p[3] * t]
    if len(p) > 4:
        log_parts.append(np.full_like(s, p[4]))
    stacked = np.stack(log_parts)
    total = np.logaddexp.reduce(stacked, axis=0)
    share = np.exp(stacked - total)  # of each part in the sum
    columns = [share[0], -share[0] * s, share[1], -share[1] * t, *share[2:]]
    return total, np.stack(columns, axis=1)


def _log_kaplan(p: Array, s: Array, t: Array) -> tuple[Array, Array]:
    """The same of Kaplan's form at p = (log A, a, log B, b)."""
    log_A, a, log_B, b = p
    of_size = (log_A - a * s) / b
    of_tokens = log_B / b - t
    inner = np.logaddexp(of_size, of_tokens)
    share_of_size = np.exp(of_size - inner)
    share_of_tokens = 1 - share_of_size
    by_b = inner - share_of_size * of_size - share_of_tokens * (of_tokens + t)
    columns = [share_of_size, -share_of_size * s, share_of_tokens, by_b]
    return b * inner, np.stack(columns, axis=1)


def leave_out(
    S: ArrayLike, T: ArrayLike, loss: ArrayLike, held: ArrayLike, forms: Sequence[str] = FORMS
) -> dict[str, Array]:
    """form -> log(predicted loss / loss) at the points of `held` (a mask), fitted to the rest."""
    S = np.asarray(S, dtype=np.float64)
    T = np.asarray(T, dtype=np.float64)
    loss = np.asarray(loss, dtype=np.float64)
    out = np.asarray(held, dtype=bool)
    errors = {}
    for form in forms:
        fitted = fit_joint(S[~out], T[~out], loss[~out], form)
        predicted = fitted.predict(S[out], T[out])
        errors[form] = np.log(predicted / loss[out])
    return errors


def held_out_sets(
    S: np.ndarray, T: np.ndarray, loss: np.ndarray, large: float = 1e6
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Three tests of a law in size and tokens: name -> (keep, out, copied).

    S, T, loss: (n,), sorted by T and then S; every S below `large` at every T, the larger ones at
    the largest T only.

    - keep: (n,) bool, the models of a test
    - out: (n,) bool, those of them that the others are to predict
    - copied: what a copy predicts for those, the loss of the next smaller size or of half the
      tokens
    """
    small = S < large
    longest = T == T.max()
    second, largest = np.unique(S[small])[-2:]
    of_largest, of_second = S == largest, S == second
    half_as_long = T == T.max() / 2
    out_and_copied = {
        "largest size": (of_largest, loss[of_second]),
        "longest training": (small & longest, loss[half_as_long]),
        "two larger": (~small, loss[of_largest & longest]),
    }
    sets = {}
    for name, (out, copied) in out_and_copied.items():
        keep = small | out
        sets[name] = keep, out, copied
    return sets


def held_out_errors(models: pd.DataFrame, forms: Sequence[str]) -> pd.Series:
    """By how much the laws miss the models of three tests, in percent of the loss.

    - models: columns corpus, quantity, S, T, loss (`ablations.size_and_tokens`)
    - returns: the root mean square of log(predicted / measured), times 100; index: held out
      (`held_out_sets`), form, corpus, quantity. Further forms are "no change", a copy of the next
      smaller loss, and "line in S", a power law in S through the models of the same T.
    """
    rows = {}
    for (corpus, quantity), part in models.groupby(["corpus", "quantity"]):
        part = part.sort_values(["T", "S"])
        S, T, loss = (part[column].to_numpy(float) for column in ("S", "T", "loss"))
        for held, (keep, out, copied) in held_out_sets(S, T, loss).items():
            errors = {"no change": np.log(copied / loss[out])}
            if held != "longest training":
                errors["line in S"] = np.log(_by_line(S, T, loss, keep, out) / loss[out])
            errors |= leave_out(S[keep], T[keep], loss[keep], out[keep], forms)
            for form, error in errors.items():
                rows[held, form, corpus, quantity] = 100 * root_mean_square(error)
    return pd.Series(rows).rename_axis(["held out", "form", "corpus", "quantity"])


def _by_line(S: Array, T: Array, loss: Array, keep: np.ndarray, out: np.ndarray) -> Array:
    """The loss of each held-out model, by a power law in S through the kept ones of its T."""
    predicted = []
    for size, tokens in zip(S[out], T[out], strict=True):
        seen = keep & ~out & (T == tokens)
        predicted.append(float(fit_power_law(S[seen], loss[seen]).predict(size).loss))
    return np.array(predicted)
