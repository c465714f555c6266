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
from scipy.special import fdtri, stdtrit

from rbpkit.audit.prediction import placed, published_losses, without_largest
from rbpkit.audit.verdicts import Finding
from rbpkit.curves import Curve
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law

LEAST = 8  # AICc's last term is 40 / (n - 5) for four parameters: below 8 it decides by itself
WINS = 2.0
# Floors that are tried, as shares of the smallest loss; denser where the curve turns steep.
_SHARES = np.concatenate((np.linspace(0, 0.9, 46), 1 - np.geomspace(0.09, 0.001, 15)))
_ROUNDS = 25


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
    """The least-squares floor: every share of `_SHARES` is a start, the best is refined.

    S, loss: (n,), n >= 4, positive. The bound on L_inf is [0, 0.999 of the smallest loss], so the
    power law itself (L_inf = 0) is among them. Raises InputError for fewer points.
    """
    return _search(S, loss)[0]


def _search(S: np.ndarray, loss: np.ndarray) -> tuple[Floor, np.ndarray]:
    """The floor, and the rss at each of `_SHARES`."""
    x, y = _logs(S, loss)
    levels = _SHARES * loss.min()
    rss = _profile(x, y, levels)[0]
    fine, fine_rss = levels, rss
    for _ in range(3):  # each closes in on the best by a factor of 20
        best = int(fine_rss.argmin())
        low, high = fine[max(best - 1, 0)], fine[min(best + 1, fine.size - 1)]
        fine = np.append(np.linspace(low, high, 41), fine[best])
        fine_rss, us, alphas = _profile(x, y, fine)
    best = int(fine_rss.argmin())
    level, u, alpha, least = fine[best], us[best], alphas[best], fine_rss[best]
    centre = float(np.log(S).mean())
    return Floor(float(level), float(u), float(alpha), centre, float(least)), rss


def _profile(
    x: np.ndarray, y: np.ndarray, levels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Least squares of y on log(L + exp(u - alpha x)) at each fixed L: rss, u, alpha, all (G,).

    Damped Gauss-Newton steps for all L at once; a step that does not lower rss is not taken.
    """
    rest = np.log(np.exp(y)[None, :] - levels[:, None])
    dx = x - x.mean()
    alpha = -(rest @ dx) / (dx @ dx)
    u = rest.mean(axis=1) + alpha * x.mean()

    def at(u: np.ndarray, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        part = np.exp(np.clip(u[:, None] - alpha[:, None] * x, -700, 700))
        whole = levels[:, None] + part
        return y - np.log(whole), part / whole

    residual, share = at(u, alpha)
    rss, damping = (residual**2).sum(axis=1), np.full(levels.size, 1e-4)
    for _ in range(_ROUNDS):
        a, b, c = (share**2).sum(1), -(share**2) @ x, (share**2) @ x**2
        down, across = (share * residual).sum(1), -(share * residual) @ x
        a, c = a * (1 + damping), c * (1 + damping)
        det = a * c - b * b
        step_u, step_alpha = (c * down - b * across) / det, (a * across - b * down) / det
        new_residual, new_share = at(u + step_u, alpha + step_alpha)
        new_rss = (new_residual**2).sum(axis=1)
        better = new_rss < rss
        u = np.where(better, u + step_u, u)
        alpha = np.where(better, alpha + step_alpha, alpha)
        rss = np.where(better, new_rss, rss)
        residual = np.where(better[:, None], new_residual, residual)
        share = np.where(better[:, None], new_share, share)
        damping = np.where(better, damping / 10, damping * 10)
        if (np.abs(step_u) + np.abs(step_alpha) < 1e-7).all():
            break
    return rss, u, alpha


def floor_range(S: np.ndarray, loss: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The floors that the points leave open, as shares of the smallest loss: (low, high).

    Those whose rss is at most the least one times 1 + F / (n - 3), F the quantile of F(1, n - 3)
    at `level`. low is 0 where the power law itself is among them; high is inf where a floor just
    below the smallest loss is (unbounded). Raises InputError for fewer than four points.
    """
    return _range(*_search(S, loss), loss, level)


def _range(floor: Floor, rss: np.ndarray, loss: np.ndarray, level: float) -> tuple[float, float]:
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
    design = np.stack([np.ones_like(x), x, x**2], axis=1)
    found = np.linalg.lstsq(design, y, rcond=None)[0]
    rss = float(((y - design @ found) ** 2).sum())
    spread = rss / (x.size - 3) * np.linalg.inv(design.T @ design)[2, 2]
    return found, rss, math.sqrt(spread)


def aicc(rss: float, n: int, parameters: int) -> float:
    """Akaike's criterion with its correction for small n; `parameters` counts the spread too."""
    return n * math.log(rss / n) + 2 * parameters * n / (n - parameters - 1)


def shape_table(curves: Iterable[Curve], level: float = 0.95) -> pd.DataFrame:
    """What the points of each curve of at least four sizes say of floor and bend.

    Columns: corpus, family, quantity, n; floor, floor_low, floor_high (L_inf as a share of the
    smallest loss: best, and what is left open, as `floor_range`); bend, bend_low, bend_high (c
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
    rest, top, seen = without_largest(curve), curve.S[-1], curve.loss[-1]
    S = np.asarray(rest.S, dtype=float)
    z = np.log(top) - np.log(S).mean()
    bend = np.exp(fit_bend(S, rest.loss)[0] @ [1, z, z**2])
    return {
        "error_line": float(fit_power_law(S, rest.loss).predict(top).loss / seen - 1),
        "error_floor": float(fit_floor(S, rest.loss).predict(top) / seen - 1),
        "error_bend": float(bend / seen - 1),
    }


def told(row: pd.Series) -> str:
    """In words, what one row of `shape_table` says."""
    if row["n"] >= LEAST:
        wins = {"a floor": row["floor_wins"], "a bend": row["bend_wins"]}
        best = max(wins, key=wins.get)
        return f"{best} wins" if wins[best] >= WINS else "neither wins"
    straight = row["floor_low"] == 0 and row["bend_low"] <= 0 <= row["bend_high"]
    return "these points cannot tell" if straight else "not straight, by too few points"


def findings_shape() -> list[Finding]:
    """`no-floor`, of the published cells with at least LEAST points (k = 1, 10, 50, 100).

    No pocket ladder has that many models, so there is no finding on them.
    """
    curves = [one for one in published_losses() if one.quantity != "CE" and one.S.size >= LEAST]
    table = shape_table(curves)
    said = table.apply(told, axis=1)
    good = said == "neither wins"
    families = ", ".join(table["family"].unique())
    where = [
        f"{corpus} (k = {', '.join(cells['quantity'].str[4:])})"
        for corpus, cells in table[~good].groupby("corpus", sort=False)
    ]
    share = float(good.mean())
    when, more = placed("no-floor", share, "; ".join(where))
    better = (table["error_bend"].abs() < table["error_line"].abs()).sum()
    note = (
        f"{families} only, n = {table['n'].min()}: no other family has {LEAST} models; c above 0"
        f" in {(table['bend'] > 0).sum()} of {len(table)} cells, surely (95% t) in"
        f" {(table['bend_low'] > 0).sum()}; held out, the largest model is nearer to the bend in"
        f" {better} and to the floor in"
        f" {(table['error_floor'].abs() < table['error_line'].abs()).sum()}"
    )
    return [
        Finding(
            "no-floor", "published", good.mean(), len(table), "cells", when=when, note=note + more
        )
    ]


def _logs(S: np.ndarray, loss: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log S about its mean, and log loss."""
    if np.unique(S).size < 4:
        raise InputError(f"a floor or a bend takes four sizes, there are {np.unique(S).size}")
    x = np.log(S)
    return x - x.mean(), np.log(loss)
