"""A straight line, a floor or a bend: which do the points of a law take?

    line    log loss = a - alpha log S
    floor   loss = L_inf + A S^-alpha, 0 <= L_inf below the smallest loss
    bend    log loss = a - alpha log S + c (log S)^2

All three by least squares of log loss. With fewer than `LEAST` points they are not set against
each other: the range of L_inf and of c that the points leave open says what they can tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import least_squares
from scipy.special import fdtri, stdtrit

from rbpkit.errors import InputError
from rbpkit.fit import Curve, fit_power_law

LEAST = 8  # AICc's last term is 40 / (n - 5) for four parameters: below 8 it decides by itself
WINS = 2.0
TIE = 1e-6  # errors and sums of squares that differ by a smaller share are equal
# Floors that are tried, as shares of the smallest loss; denser where the curve turns steep.
_SHARES = np.concatenate((np.linspace(0, 0.9, 46), 1 - np.geomspace(0.09, 0.001, 15)))


@dataclass(frozen=True, eq=False)
class Floor:
    """loss = L_inf + exp(u - alpha (log S - centre)). rss: residual sum of squares of log loss."""

    L_inf: float
    u: float
    alpha: float
    centre: float
    rss: float

    def predict(self, S: np.ndarray | float) -> np.ndarray:
        """The loss at S, in its shape."""
        return self.L_inf + np.exp(self.u - self.alpha * (np.log(S) - self.centre))


def fit_floor(S: np.ndarray, loss: np.ndarray) -> Floor:
    """The least-squares floor, from the best of many starts; L_inf = 0 where none is better.

    S, loss: (n,), n >= 4, positive. L_inf is in [0, 0.999 of the smallest loss]. Better means by
    more than a share of TIE in rss. Raises InputError for fewer points.
    """
    return _search(S, loss)[0]


def _search(S: np.ndarray, loss: np.ndarray) -> tuple[Floor, np.ndarray]:
    """The floor, and the rss at each of `_SHARES`."""
    x, y = _logs(S, loss)
    least, centre = loss.min(), float(np.log(S).mean())
    shares, starts = [], []
    slope = -(x @ y) / (x @ x)
    at = np.array([y.mean(), slope])  # of the power law; then the solution at the last share
    for share in _SHARES:
        found = least_squares(_residuals, at, _jacobian, method="lm", args=(share * least, x, y))
        at = found.x
        shares.append(2 * found.cost)
        starts.append(at)
    rss = np.array(shares)
    best = int(rss.argmin())
    free = least_squares(
        lambda p: _residuals(p[1:], p[0] * least, x, y),
        [min(max(_SHARES[best], 1e-3), 0.998), *starts[best]],
        bounds=([0, -np.inf, -np.inf], [0.999, np.inf, np.inf]),
        x_scale=[0.1, 1, 0.1],
        xtol=1e-12,
        ftol=1e-14,
        gtol=1e-14,
    )
    share, u, alpha = free.x
    value = min(2 * free.cost, rss[best])
    if value < 2 * free.cost:
        share, (u, alpha) = _SHARES[best], starts[best]
    if rss[0] <= value * (1 + TIE):
        share, value, (u, alpha) = 0.0, rss[0], starts[0]
    return Floor(float(share * least), float(u), float(alpha), centre, float(value)), rss


def _residuals(at: np.ndarray, level: float, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return y - np.log(level + np.exp(np.clip(at[0] - at[1] * x, -700, 700)))


def _jacobian(at: np.ndarray, level: float, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    part = np.exp(np.clip(at[0] - at[1] * x, -700, 700))
    share = part / (level + part)
    return np.stack([-share, share * x], axis=1)


def _range(floor: Floor, rss: np.ndarray, loss: np.ndarray, level: float) -> tuple[float, float]:
    """The floors that the points leave open, as shares of the smallest loss: (low, high).

    Those whose rss is at most the least one times 1 + F / (n - 3), F the quantile of F(1, n - 3)
    at `level`. low is 0 where the power law itself is among them; high is inf where a floor just
    below the smallest loss is (unbounded).
    """
    free = loss.size - 3
    limit = min(rss.min(), floor.rss) * (1 + fdtri(1, free, level) / free)
    open_ = np.flatnonzero(rss <= limit)
    if not open_.size:  # narrower than the grid
        return floor.L_inf / loss.min(), floor.L_inf / loss.min()
    low, high = float(_SHARES[open_[0]]), float(_SHARES[open_[-1]])
    return low, (math.inf if open_[-1] == _SHARES.size - 1 else high)


def fit_bend(S: np.ndarray, loss: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The parabola: coefficients (3,) on 1, z, z^2, rss, and the standard error of the last.

    z = log S - mean of log S. The last coefficient is c: positive where gains slacken as S grows.
    Raises InputError for fewer than four points.
    """
    x, y = _logs(S, loss)
    found, covariance = np.polyfit(x, y, 2, cov=True)
    rss = float(((y - np.polyval(found, x)) ** 2).sum())
    return found[::-1], rss, math.sqrt(covariance[0, 0])


def aicc(rss: float, n: int, parameters: int) -> float:
    """Akaike's criterion with its correction for small n; `parameters` counts the spread too."""
    return n * math.log(rss / n) + 2 * parameters * n / (n - parameters - 1)


def shape_table(curves: Iterable[Curve], level: float = 0.95) -> pd.DataFrame:
    """What the points of each curve of at least four sizes say of floor and bend.

    Columns: corpus, family, quantity, n; floor, floor_low, floor_high (L_inf as a share of the
    smallest loss: best, and what the points leave open, see `_range`); bend, bend_low, bend_high (c
    and its t interval); floor_wins, bend_wins (AICc of the line less theirs: 2 or more is a win);
    error_line, error_floor, error_bend (predicted / measured - 1 of the largest model, held out).
    The last five are missing below LEAST points.
    """
    rows = []
    for curve in curves:
        S, loss = np.asarray(curve.S, dtype=float), curve.loss
        n = S.size
        if np.unique(S).size < 4:
            continue
        line = fit_power_law(S, loss, labels=curve.models)
        floor, rss = _search(S, loss)
        low, high = _range(floor, rss, loss, level)
        (_, _, c), bend_rss, c_se = fit_bend(S, loss)
        half = float(stdtrit(n - 3, (1 + level) / 2)) * c_se
        row = {"corpus": curve.corpus, "family": curve.family, "quantity": curve.quantity, "n": n}
        row |= {"floor": floor.L_inf / loss.min(), "floor_low": low, "floor_high": high}
        row |= {"bend": c, "bend_low": c - half, "bend_high": c + half}
        names = ("floor_wins", "bend_wins", "error_line", "error_floor", "error_bend")
        row |= dict.fromkeys(names, math.nan)
        if n >= LEAST:
            plain = aicc(line.residual_sd**2 * (n - 2), n, 3)
            row["floor_wins"] = plain - aicc(floor.rss, n, 4)
            row["bend_wins"] = plain - aicc(bend_rss, n, 4)
            row |= _held_out(curve)
        rows.append(row)
    return pd.DataFrame(rows)


def _held_out(curve: Curve) -> dict[str, float]:
    keep, top, seen = curve.S < curve.S.max(), curve.S[-1], curve.loss[-1]
    S, loss = np.asarray(curve.S, dtype=float)[keep], curve.loss[keep]
    z = np.log(top) - np.log(S).mean()
    bend = np.exp(fit_bend(S, loss)[0] @ [1, z, z**2])
    return {
        "error_line": float(fit_power_law(S, loss).predict(top).loss / seen - 1),
        "error_floor": float(fit_floor(S, loss).predict(top) / seen - 1),
        "error_bend": float(bend / seen - 1),
    }


def describe(row: pd.Series, margin: float = WINS) -> str:
    """In words, what one row of `shape_table` says; `margin` of AICc makes a win."""
    if row["n"] >= LEAST:
        wins = {"a floor": row["floor_wins"], "a bend": row["bend_wins"]}
        best = max(wins, key=wins.get)
        return f"{best} wins" if wins[best] >= margin else "neither wins"
    straight = row["floor_low"] == 0 and row["bend_low"] <= 0 <= row["bend_high"]
    return "these points cannot tell" if straight else "not straight, by too few points"


def _logs(S: np.ndarray, loss: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log S about its mean, and log loss."""
    if np.unique(S).size < 4:
        raise InputError(f"a floor or a bend takes four sizes, there are {np.unique(S).size}")
    x = np.log(S)
    return x - x.mean(), np.log(loss)
