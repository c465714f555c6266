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
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import least_squares

from rbpkit.errors import InputError

FORMS = ("size", "product", "sum", "sum+floor")  # each has one parameter more
KAPLAN = "kaplan"
# Where the sums start: exponents of S and T, and the share of the smallest loss that is floor.
_STARTS = ((0.3, 0.3, 0.3), (0.2, 0.8, 0.1), (0.6, 0.3, 0.6))


@dataclass(frozen=True)
class JointFit:
    """log L = log of `form`, fitted to n points.

    A, a, B, b, E: as in the module's formulas, with S and T in units of S_unit and T_unit (their
    geometric means in the data: A is then a loss, not a number of thirty digits). B and E are 0,
    and b is 0, where the form has none; the product's B is 0 and its b the exponent of T.
    rms: root mean square of the residuals of log L; 0.01 is 1% of the loss.
    """

    form: str
    A: float
    a: float
    B: float
    b: float
    E: float
    S_unit: float
    T_unit: float
    rms: float
    n: int

    def predict(self, S: ArrayLike, T: ArrayLike) -> NDArray[np.float64]:
        """The loss of models of size S trained on T tokens; S and T broadcast."""
        s = np.asarray(S, dtype=np.float64) / self.S_unit
        t = np.asarray(T, dtype=np.float64) / self.T_unit
        if self.form in ("size", "product"):
            return self.A * s**-self.a * t**-self.b
        if self.form == KAPLAN:
            parts = (self.A * s**-self.a) ** (1 / self.b) + self.B ** (1 / self.b) / t
            return parts**self.b
        return self.A * s**-self.a + self.B * t**-self.b + self.E


def fit_joint(S: ArrayLike, T: ArrayLike, loss: ArrayLike, form: str = "sum") -> JointFit:
    """Least squares of log loss on the logarithm of `form` (one of `FORMS`, or `KAPLAN`).

    S: (n,) non-embedding parameters. T: (n,) training tokens. loss: (n,). All positive and finite.
    InputError for another form, unequal lengths, values that are not positive, fewer points than
    parameters and one, and for sizes (or tokens, where the form has them) that are all equal.
    """
    if form not in (*FORMS, KAPLAN):
        raise InputError(f"no form {form!r}: there are {', '.join(FORMS)}, {KAPLAN}")
    S, T, L = (np.asarray(values, dtype=np.float64) for values in (S, T, loss))
    if not (S.ndim == 1 and S.shape == T.shape == L.shape):
        raise InputError(f"S, T and loss must pair up, not {S.shape}, {T.shape}, {L.shape}")
    for values, name in ((S, "S"), (T, "T"), (L, "loss")):
        if not (np.isfinite(values) & (values > 0)).all():
            raise InputError(f"every {name} must be positive and finite; leave other points out")
    free = 4 if form == KAPLAN else 2 + FORMS.index(form)
    if L.size <= free:
        raise InputError(f"{form} has {free} parameters: {L.size} point(s) are too few")
    for values, name in ((S, "S"), (T, "T"))[: 1 if form == "size" else 2]:
        if np.ptp(np.log(values)) < 1e-9:
            raise InputError(f"{name} is the same at all points: {form} cannot be fitted")
    s, t, y = np.log(S), np.log(T), np.log(L)
    s_unit, t_unit = s.mean(), t.mean()
    s, t = s - s_unit, t - t_unit
    if form in ("size", "product"):
        design = np.stack([np.ones_like(s), -s, -t][:free], axis=1)
        found = np.linalg.lstsq(design, y, rcond=None)[0]
        rms = float(np.sqrt(np.mean((design @ found - y) ** 2)))
        parts = (np.exp(found[0]), found[1], 0.0, *found[2:], *[0.0] * (4 - free), 0.0)[:5]
    else:
        p, rms = _best_of(s, t, y, form)
        parts = (np.exp(p[0]), p[1], np.exp(p[2]), p[3], np.exp(p[4]) if len(p) > 4 else 0.0)
    A, a, B, b, E = map(float, parts)
    return JointFit(
        form, A, a, B, b, E, float(np.exp(s_unit)), float(np.exp(t_unit)), rms, int(L.size)
    )


def _log_sum(p: NDArray, s: NDArray, t: NDArray) -> tuple[NDArray, NDArray]:
    """log loss of the sums at p = (log A, a, log B, b[, log E]), and its derivatives."""
    parts = [p[0] - p[1] * s, p[2] - p[3] * t]
    if len(p) > 4:
        parts.append(np.full_like(s, p[4]))
    logs = np.stack(parts)
    total = np.logaddexp.reduce(logs, axis=0)
    share = np.exp(logs - total)
    columns = [share[0], -share[0] * s, share[1], -share[1] * t, *share[2:]]
    return total, np.stack(columns, axis=1)


def _log_kaplan(p: NDArray, s: NDArray, t: NDArray) -> tuple[NDArray, NDArray]:
    """The same of Kaplan's form at p = (log A, a, log B, b)."""
    of_size, of_tokens = (p[0] - p[1] * s) / p[3], p[2] / p[3] - t
    inner = np.logaddexp(of_size, of_tokens)
    size = np.exp(of_size - inner)
    tokens = 1 - size
    by_b = inner - size * of_size - tokens * (of_tokens + t)
    return p[3] * inner, np.stack([size, -size * s, tokens, by_b], axis=1)


def _best_of(s: NDArray, t: NDArray, y: NDArray, form: str) -> tuple[list[float], float]:
    """(log A, a, log B, b[, log E]) of least squares over all starts, and the residuals' rms."""
    curve, floor = _log_kaplan if form == KAPLAN else _log_sum, form == "sum+floor"
    least = y.min()
    # bounded: exponents may not change sign, and a floor that is not there tends to zero
    lower = [-20.0, 0.0, -20.0, 1e-3 if form == KAPLAN else 0.0] + [least - 12.0] * floor
    upper = [20.0, 5.0, 20.0, 5.0] + [least] * floor
    found = [
        least_squares(
            lambda p: curve(p, s, t)[0] - y,
            [y.mean() - 0.7, a, y.mean() - 1.4, b] + [least + np.log(low)] * floor,
            lambda p: curve(p, s, t)[1],
            bounds=(lower, upper),
            method="dogbox",
            xtol=1e-10,
            ftol=1e-10,
        )
        for a, b, low in _STARTS
    ]
    rms = [float(np.sqrt(np.mean(one.fun**2))) for one in found]
    best = min(range(len(found)), key=lambda i: round(rms[i], 12))
    return found[best].x.tolist(), rms[best]


def leave_out(
    S: ArrayLike, T: ArrayLike, loss: ArrayLike, held: ArrayLike, forms: Sequence[str] = FORMS
) -> dict[str, NDArray[np.float64]]:
    """form -> log(predicted loss / loss) at the points of `held` (a mask), fitted to the rest."""
    S, T, L = (np.asarray(values, dtype=np.float64) for values in (S, T, loss))
    out = np.asarray(held, dtype=bool)
    errors = {}
    for form in forms:
        fitted = fit_joint(S[~out], T[~out], L[~out], form)
        errors[form] = np.log(fitted.predict(S[out], T[out]) / L[out])
    return errors


def held_out_sets(
    S: np.ndarray, T: np.ndarray, loss: np.ndarray, large: float = 1e6
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Three tests of a law in size and tokens: name -> (keep, out, copied).

    S, T, loss (n,), sorted by T and then S; every S below `large` at every T, the larger ones at
    the largest T only. keep (n,) bool: the models of a test; out (n,) bool: those of them that the
    others are to predict. copied: what a copy predicts for them, the loss of the next smaller size
    or of half the tokens.
    """
    small, last = S < large, T == T.max()
    second, largest = np.unique(S[small])[-2:]
    held_out = {
        "largest size": (S == largest, loss[S == second]),
        "longest training": (small & last, loss[T == T.max() / 2]),
        "two larger": (~small, loss[(S == largest) & last]),
    }
    return {name: (small | out, out, copied) for name, (out, copied) in held_out.items()}
