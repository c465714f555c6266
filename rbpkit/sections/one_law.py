"""One law for RBP_k(S) at every k, and how calibrated the models are (notebook 17).

A `Law` gives the whole distribution of ranks, F(k) = mass(k) / mass(V), from a few parameters, each
a polynomial in z = ln(S / S_unit). The laws are fitted to RBP_k itself by least squares, since the
question is how far off a user would be in RBP_k.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import least_squares
from scipy.special import erfcx, expit, gammainc, ndtr, zeta

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.stats.bootstrap import DRAWS, interval, resample_weights, sampling_units
from rbpkit.summary import Summary

MARGIN = 0.01  # of RBP_k; a law holds where its largest error is no more. Set before any fit.
HALVES_SEED = 15
# To the end of flat valleys: a looser stop would lie where the processor's rounding leads.
STOP = {"ftol": 1e-13, "xtol": 1e-13, "gtol": 1e-13, "max_nfev": 4000}
SAME = 1e-6  # relative difference of two costs that the rounding alone may bring about
Array = NDArray[np.float64]

# -- laws for RBP_k(S) ------------------------------------------------------------------------


@dataclass(frozen=True)
class Law:
    """mass(k, t): Pr(R <= k) but for a factor, t the parameters; degrees: of each in z = ln S."""

    mass: Callable[[Array, Sequence[Array]], Array]
    degrees: tuple[int, ...]
    starts: tuple[tuple[float, ...], ...]

    @property
    def numbers(self) -> int:
        return sum(self.degrees) + len(self.degrees)


def _power(k: Array, t: Sequence[Array]) -> Array:
    u = np.log(k)
    level = sum(coefficient * u**power for power, coefficient in enumerate(t))
    return np.exp(-np.exp(level))


def _lognormal(k: Array, m: Array, s: Array) -> Array:
    return ndtr((np.log(k + 0.5) - m) / np.exp(s))


def _zipf_mandelbrot(k: Array, t: Sequence[Array]) -> Array:
    s, first = 1 + np.exp(t[0]), np.exp(t[1])  # first = 1 + q: q may be negative
    return zeta(s, first) - zeta(s, k + first)


def _mass_and_lognormal(k: Array, t: Sequence[Array]) -> Array:
    # By the slope b = (ln 1.5 - mu) / sigma^2 and c = 1 / sigma: where the fit goes to a power
    # of k, c -> 0 and mu -> -inf, they stay finite, and nothing cancels.
    b, c = t[0], np.exp(np.maximum(t[1], -20.0))
    away = np.log((k + 0.5) / 1.5)
    above, above_1 = (erfcx((b / c + c * u) / np.sqrt(2)) for u in (away, 0.0))
    return 1 - (1 - expit(t[2])) * above / above_1 * np.exp(-b * away - (c * away) ** 2 / 2)


def _mass_and_weibull(k: Array, t: Sequence[Array]) -> Array:
    return -np.expm1(-np.exp(t[0]) - np.exp(t[1]) * np.expm1(t[2] * np.log(k)) / t[2])


def _mixture(k: Array, t: Sequence[Array]) -> Array:
    hard = expit(t[0])
    return hard * _lognormal(k, t[1], t[2]) + (1 - hard) * _lognormal(k, t[3], t[4])


_POWER_START = (-0.2, -0.4, -0.03, 0.0)
LAWS = {
    "discrete Weibull, c const": Law(
        lambda k, t: -np.expm1(-t[0] * k ** t[1]), (1, 0), ((0.6, 0.3),)
    ),
    "discrete Weibull": Law(lambda k, t: -np.expm1(-t[0] * k ** t[1]), (1, 1), ((0.6, 0.3),)),
    "lognormal, rounded": Law(lambda k, t: _lognormal(k, *t), (1, 1), ((1.0, 1.0),)),
    "log-logistic": Law(lambda k, t: expit(t[0] + t[1] * np.log(k)), (1, 1), ((0.3, 0.6),)),
    "Zipf-Mandelbrot": Law(_zipf_mandelbrot, (1, 1), ((-0.7, 0.0), (-2.0, -0.5))),
    "Burr": Law(
        lambda k, t: -np.expm1(-np.exp(t[2]) * np.log1p(np.exp(t[0]) * k ** np.exp(t[1]))),
        (1, 1, 1),
        ((0.0, -0.3, -0.3), (-2.0, -1.0, 2.0)),
    ),
    "generalised gamma": Law(
        lambda k, t: gammainc(np.exp(t[2]), np.exp(t[0]) * k ** np.exp(t[1])),
        (1, 1, 1),
        ((-0.6, -1.2, 0.0), (0.5, -2.0, 1.5)),
    ),
    "mass at 1 + Weibull": Law(_mass_and_weibull, (1, 1, 1), ((-0.6, -1.0, 0.3),)),
    "mass at 1 + lognormal": Law(_mass_and_lognormal, (1, 0, 1), ((-0.2, -1.0, -0.3),)),
    "two lognormals, share moves": Law(_mixture, (1, 0, 0, 0, 0), ((-0.3, 2.5, 0.5, -1.0, 0.3),)),
    "two lognormals": Law(_mixture, (1, 1, 0, 1, 0), ((-0.3, 2.5, 0.5, -1.0, 0.3),)),
    "power of S and of k": Law(_power, (1, 0), (_POWER_START[:2],)),
    "power, with product": Law(_power, (1, 1), (_POWER_START[:2],)),
    "power of S, cubic in ln k": Law(_power, (1, 1, 0, 0), (_POWER_START,)),
    "bent power of S, cubic in ln k": Law(_power, (2, 1, 0, 0), (_POWER_START,)),
}
"""The contest. The last four are -log RBP_k = exp(a(k)) S^-alpha(k): the paper's law in S, with
alpha(k) constant or linear in ln k and a(k) a line or a cubic in ln k (and a parabola in ln S)."""
WINNER = "power of S, cubic in ln k"
LINES = "a line in S at each k"  # the paper's: 2 numbers for every k


@dataclass(frozen=True, eq=False)
class Fitted:
    """A law with its numbers: `values`, by parameter and rising degree; z = ln(S / S_unit)."""

    name: str
    V: int
    S_unit: float
    values: Array

    def rbp(self, k: ArrayLike, S: ArrayLike) -> Array:
        """RBP_k = mass(k) / mass(V) of models of size S; k and S broadcast."""
        k, S = np.broadcast_arrays(np.asarray(k, float), np.asarray(S, float))
        return _rbp(LAWS[self.name], k, np.log(S / self.S_unit), self.V, self.values)

    def exponents(self, ks: ArrayLike, S: ArrayLike) -> Array:
        """alpha at each k (K,): least squares of log(-log RBP_k) on log S at the sizes S (n,)."""
        S = np.asarray(S, float)
        x = np.log(S) - np.log(S).mean()
        with np.errstate(divide="ignore"):
            loss = -np.log(self.rbp(np.asarray(ks)[:, None], S[None]))
        return -(np.log(loss) @ x) / (x @ x)


def _rbp(law: Law, k: Array, z: Array, V: int, values: Array) -> Array:
    t, at = [], 0
    for degree in law.degrees:
        t.append(sum(values[at + power] * z**power for power in range(degree + 1)))
        at += degree + 1
    with np.errstate(all="ignore"):  # a trial far off is nan, and is not taken
        return law.mass(k, t) / law.mass(np.full_like(k, V), t)


def fit_law(
    name: str, k: ArrayLike, S: ArrayLike, rbp: ArrayLike, V: int, like: Fitted | None = None
) -> Fitted:
    """The law `name` by least squares of RBP_k over points k, S, rbp (m,) each, ranks 1..V.

    like: another fit of the same law that all parameters but the first are taken from.
    Of minima that are equally good (SAME) the one of the first start.

    Raises InputError for an unknown name, unequal lengths, rbp outside [0, 1], and fewer than
    three sizes or fewer points than numbers.
    """
    if name not in LAWS:
        raise InputError(f"no law {name!r}; there are {', '.join(LAWS)}")
    law = LAWS[name]
    k, S, rbp = (np.asarray(values, dtype=np.float64) for values in (k, S, rbp))
    if not (k.shape == S.shape == rbp.shape and k.ndim == 1):
        raise InputError("k, S and rbp must have one length")
    if not (((rbp >= 0) & (rbp <= 1)).all() and (k >= 1).all() and (S > 0).all()):
        raise InputError("RBP_k must lie in [0, 1], k be at least 1 and S positive")
    if np.unique(S).size < 3 or k.size < law.numbers:
        raise InputError(f"{name}: needs three sizes and {law.numbers} points")
    unit = float(np.exp(np.log(S).mean()))
    z, best = np.log(S / unit), None

    free = law.numbers if like is None else law.degrees[0] + 1
    rest = np.empty(0) if like is None else like.values[free:]

    def off(values: Array) -> Array:
        values = np.concatenate([values, rest])
        return np.clip(np.nan_to_num(_rbp(law, k, z, V, values) - rbp, nan=9.0), -9.0, 9.0)

    for start in law.starts:
        first = [one for v, d in zip(start, law.degrees, strict=True) for one in (v, *[0.0] * d)]
        found = least_squares(off, first[:free], jac="3-point", x_scale="jac", **STOP)
        if best is None or found.cost < (1 - SAME) * best.cost:
            best = found
    return Fitted(name, V, unit, np.concatenate([best.x, rest]))


# -- the contest ------------------------------------------------------------------------------

_LADDER = ["source", "corpus", "family"]


def published_law_points() -> pd.DataFrame:
    """Every RBP_k the paper plots, by source, corpus, family, model, S, k, V: rbp; other is NaN.

    Figures 3 to 5 (all models) and 9 (four models, eleven k); of Pythia on Wiki also Figure 7's
    windows of one token (k to 10,000).
    """
    windows = paper.emergence().query("N == 1").assign(family="Pythia").rename(columns={"p": "rbp"})
    tables = (paper.rbp_by_size(), paper.rbp_by_k(), windows)
    columns = ["dataset", "family", "model", "S", "k", "rbp"]
    every = pd.concat([table[columns] for table in tables]).rename(columns={"dataset": "corpus"})
    every = every.drop_duplicates(["corpus", "family", "model", "k"])
    V = paper.vocabularies().groupby("family")["V"].max()
    every = every.assign(source="published", V=every["family"].map(V), other=np.nan)
    return every.sort_values([*_LADDER, "S", "k"], ignore_index=True)


def halves(corpus: str, documents: ArrayLike, tokens: ArrayLike, seed: int = HALVES_SEED) -> Array:
    """(D,) bool: the documents of the first half; whole units (`sampling_units`), about half of
    the tokens, drawn with `seed`. InputError where there is one unit only."""
    units = sampling_units(corpus, np.asarray(documents))
    count = int(units.max(initial=-1)) + 1
    if count < 2:
        raise InputError(f"{corpus}: one document or module cannot be halved")
    order = np.random.default_rng(seed).permutation(count)
    upto = np.cumsum(np.bincount(units, np.asarray(tokens))[order])
    first = max(1, int(np.searchsorted(upto, upto[-1] / 2)))
    return np.isin(units, order[:first])


def measured_law_points(summaries: Iterable[Summary]) -> pd.DataFrame:
    """As `published_law_points`, of every k of the summaries' grid: rbp on one half of the
    documents (`halves`), other on the rest."""
    rows = []
    for one in summaries:
        about = one.manifest
        half = halves(about.corpus, one.document, one.document_tokens)
        shares = [
            one.document_hits[part].sum(axis=0) / one.document_tokens[part].sum()
            for part in (half, ~half)
        ]
        name = ("pocket", about.corpus, about.family, about.model, about.S)
        cells = zip(one.k_grid.tolist(), *shares, strict=True)
        rows += [(*name, k, about.V, a, b) for k, a, b in cells]
    columns = [*_LADDER, "model", "S", "k", "V", "rbp", "other"]
    return pd.DataFrame(rows, columns=columns).sort_values([*_LADDER, "S", "k"], ignore_index=True)


def contest(points: pd.DataFrame, names: Sequence[str] = tuple(LAWS)) -> pd.DataFrame:
    """Each law, fitted to one half of the documents, all sizes but the largest and every second k.

    A row a ladder and law: source, corpus, family, law, numbers, n (points fitted), and the largest
    |RBP_k - RBP_k of the law|: fitted (on those points), held k (same text and sizes), size (the
    largest model, every k), documents (the other half, smaller sizes), all (other half, largest
    model), and text: |RBP_k of one half - of the other|, which no law can be below on average.
    worst: of fitted, held k and size; worst_k: where. LINES has its own line at each k.
    """
    rows = []
    for about, ladder in points.groupby(_LADDER, sort=False):
        k, S = ladder["k"].to_numpy(float), ladder["S"].to_numpy(float)
        rbp, other = ladder["rbp"].to_numpy(), ladder["other"].to_numpy()
        grid = np.unique(k)
        even = np.isin(k, grid[::2]) | (k == grid[-1])
        large = S == S.max()
        seen = even & ~large
        V = int(ladder["V"].iloc[0])
        for name in (*names, LINES):
            if name == LINES:
                law, numbers, fitted = _lines(k, S, rbp, large), 2 * grid.size, ~large
            else:
                law = fit_law(name, k[seen], S[seen], rbp[seen], V).rbp(k, S)
                numbers, fitted = LAWS[name].numbers, seen
            off, away = np.abs(law - rbp), np.abs(law - other)
            row = dict(zip(_LADDER, about, strict=True)) | {"law": name, "numbers": numbers}
            row |= {"n": int(fitted.sum()), "fitted": off[fitted].max()}
            row |= {"held k": off[~even & ~large].max(), "size": off[large].max()}
            row |= {"documents": away[~large].max(), "all": away[large].max()}
            row |= {"text": np.abs(rbp - other).max()}
            rows.append(row | {"worst": off.max(), "worst_k": int(k[off.argmax()])})
    return pd.DataFrame(rows)


def _lines(k: Array, S: Array, rbp: Array, large: NDArray[np.bool_]) -> Array:
    found = rbp.copy()
    for one in np.unique(k):
        at = k == one
        known = at & ~large & (rbp < 1)
        if np.unique(S[known]).size >= 3 and np.unique(rbp[known]).size > 1:
            found[at] = np.exp(-fit_power_law(S[known], -np.log(rbp[known])).predict(S[at]).loss)
    return found


# -- calibration ------------------------------------------------------------------------------


def calibration(summaries: Iterable[Summary], draws: int = DRAWS) -> pd.DataFrame:
    """RBP_1 against E[p_max], and CE against E[H]: equal for a calibrated model.

    A row a summary that has them: corpus, family, model, dtype, S, RBP_1, p_max, gap_1 = RBP_1 -
    p_max, gap_1_low, gap_1_high, CE, entropy (nats), gap_CE = CE - entropy, gap_CE_low,
    gap_CE_high. Intervals: 95%, bootstrap of the text. Summaries without p_max are left out.
    """
    rows = []
    for one in summaries:
        if one.document_p_max is None:
            continue
        about = one.manifest
        weights = resample_weights(sampling_units(about.corpus, one.document), draws)
        tokens = weights @ one.document_tokens
        hits = one.document_hits[:, np.searchsorted(one.k_grid, 1)]
        row = {"corpus": about.corpus, "family": about.family, "model": about.model}
        row |= {"dtype": about.dtype, "S": about.S}
        pairs = {
            ("1", "RBP_1", "p_max"): (hits, one.document_p_max),
            ("CE", "CE", "entropy"): (one.document_nll, one.document_entropy),
        }
        for (name, *both), sums in pairs.items():
            row |= {label: s.sum() / one.tokens for label, s in zip(both, sums, strict=True)}
            low, high = interval(weights @ (sums[0] - sums[1]) / tokens)
            row |= {f"gap_{name}": row[both[0]] - row[both[1]]}
            row |= {f"gap_{name}_low": low, f"gap_{name}_high": high}
        rows.append(row)
    return pd.DataFrame(rows)
