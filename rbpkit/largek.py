"""RBP_k where k nears V (Section 4.3): counts of missed tokens, and what chance does to a fit.

A token is missed at k where R > k. At k = 20,000 a model misses a few hundred tokens of a corpus
or a few dozen, so the counts themselves say how much of the scatter around a line is chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import betaincinv

from rbpkit import paper
from rbpkit.curves import Curve, Measured, fits, ladder
from rbpkit.errors import InputError
from rbpkit.fit import MIN_POINTS, fit_power_law
from rbpkit.sources import Curves, MeasuredCurves, measured_curves

PAPER_V = 50_304  # Pythia's V up to 2.8B; of the paper's models only Qwen's is far from it
DRAWS = 10_000
# Published values carry six decimals: half a unit of the last, and a little for binary fractions.
HALF_DIGIT = 0.5e-6 * 1.01


def k_at_share(k: int, V: int, of: int = PAPER_V) -> int:
    """The k that is the same share of V as `k` is of `of`: k V / of, to the nearest whole number.

    Halves go up, and a share below one token becomes k = 1, so that RBP_k is defined.
    Raises InputError unless all three are whole numbers of at least 1.
    """
    for name, value in (("k", k), ("V", V), ("of", of)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise InputError(f"{name} must be a whole number of at least 1, not {value!r}")
    return max(1, (2 * int(k) * int(V) + int(of)) // (2 * int(of)))


def curves_at_share(
    measured: Iterable[Measured], corpora: Sequence[str], families: Sequence[str], k: int
) -> MeasuredCurves:
    """RBP against S at the share of V that `k` is of the paper's V, for corpora x families.

    One k a family, from the smallest V in it, so that a line's points share their k as the
    paper's do; the curve's quantity names it ("RBP_1628"). Raises InputError as `measured_curves`.
    """
    every = list(measured)
    found: Curves = {}
    missing: list[str] = []
    for family in families:
        V = min((one.manifest.V for one in every if one.manifest.family == family), default=PAPER_V)
        here = k_at_share(k, V)
        part = measured_curves(
            every, corpora, [family], lambda one, here=here: one.rbp(here), f"RBP_{here}"
        )
        found |= part.curves
        missing += part.missing
    ordered = {(c, f): found[c, f] for c in corpora for f in families if (c, f) in found}
    return MeasuredCurves(ordered, tuple(missing))


@dataclass(frozen=True, eq=False)
class Misses:
    """How many of `tokens` (n,) scored tokens each model of `curve` ranked past k: `missed` (n,).

    Both int64, in the order of the curve's S. 1 - RBP_k = missed / tokens.
    """

    curve: Curve
    tokens: np.ndarray
    missed: np.ndarray

    @classmethod
    def of(cls, curve: Curve, tokens: np.ndarray | Sequence[int]) -> Misses:
        """The counts behind the RBP of a curve, given its tokens.

        Raises InputError where a value is no multiple of 1 / tokens to six decimals.
        """
        tokens = np.asarray(tokens, dtype=np.int64)
        if tokens.shape != curve.value.shape or (tokens.size and tokens.min() < 1):
            raise InputError(
                f"{_name(curve)}: give one count of tokens, at least 1, for each model"
            )
        exact = (1 - curve.value) * tokens
        missed = np.rint(exact)
        wrong = np.flatnonzero(np.abs(exact - missed) > np.minimum(HALF_DIGIT * tokens, 0.5))
        if wrong.size:
            worst = int(wrong[0])
            raise InputError(
                f"{_name(curve)}: {curve.value[worst]:.6f} of {curve.models[worst]} is no share of"
                f" {tokens[worst]} tokens; give the tokens that were scored"
            )
        return cls(curve, tokens, missed.astype(np.int64))

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Ends (n,), (n,) of an exact binomial interval (Clopper and Pearson) of missed / tokens.

        It takes tokens for independent, which those of one document are not quite.
        """
        tail, x, n = (1 - level) / 2, self.missed, self.tokens
        low = np.where(x > 0, betaincinv(np.maximum(x, 1), n - x + 1, tail), 0.0)
        high = np.where(x < n, betaincinv(x + 1, np.maximum(n - x, 1), 1 - tail), 1.0)
        return low, high

    def ends_z(self) -> float:
        """z of the largest model's share of misses less the smallest's (two-proportion test).

        Positive where the largest misses more. Both are scored on the same tokens; the test
        leaves that out and is the cautious one for it: of two counts a and b at most a + b tokens
        can be missed by one model and not the other, and z is (b - a) over the root of that.
        nan where neither misses any token.
        """
        first, last = self.missed[[0, -1]]
        m, n = self.tokens[[0, -1]]
        pooled = (first + last) / (m + n)
        if pooled in (0, 1):
            return float("nan")
        return float((last / n - first / m) / np.sqrt(pooled * (1 - pooled) * (1 / m + 1 / n)))


def published_misses(curve: Curve) -> Misses:
    """The counts behind a published curve, by `paper.token_counts` (inferred from the digits)."""
    table = paper.token_counts()
    row = table[(table["dataset"] == curve.corpus) & (table["family"] == curve.family)]
    if row.empty:
        raise InputError(f"{_name(curve)}: the number of its tokens is not known")
    return Misses.of(curve, np.full(curve.value.size, row["tokens"].iloc[0]))


def measured_misses(measured: Iterable[Measured], curve: Curve) -> Misses:
    """The counts behind a curve that was measured, by the tokens of the manifests."""
    there = ladder(measured, curve.corpus, curve.family)
    tokens = {one.manifest.model: one.manifest.tokens for one in there}
    lost = [model for model in curve.models if model not in tokens]
    if lost:
        raise InputError(f"{_name(curve)}: not measured: {', '.join(lost)}")
    return Misses.of(curve, [tokens[model] for model in curve.models])


@dataclass(frozen=True)
class NoiseOnly:
    """R2 of fits to points that lie on the fitted line but for chance, and the R2 that was seen.

    seen: R2 of the fit. median, low, high: of the simulated R2, with its 2.5% and 97.5% ends.
    below: share of simulated R2 that are smaller than `seen`. draws: how many simulated fits;
    unfit: drawn sets that no line can be fitted to (a model without a miss, or all equal).
    """

    seen: float
    median: float
    low: float
    high: float
    below: float
    draws: int
    unfit: int


def noise_only(misses: Misses, *, draws: int = DRAWS, seed: int = 0) -> NoiseOnly:
    """What R2 sampling noise alone would leave: the law taken for exact, the counts drawn again.

    Assumes that every model lies on the fitted line, and that its misses are binomial: tokens
    independent of one another, and models of one another. The models share their text, which
    moves their points together and scatters them less than this; tokens of one document are
    alike, which scatters them more. Raises InputError where the curve itself cannot be fitted,
    for draws < 1, and where no drawn set can be fitted.
    """
    if draws < 1:
        raise InputError(f"draws must be at least 1, not {draws}")
    curve, tokens = misses.curve, misses.tokens
    fitted = fit_power_law(curve.S, curve.loss, labels=curve.models)
    share = -np.expm1(-fitted.predict(curve.S).loss)  # 1 - RBP_k on the line
    drawn = np.random.default_rng(seed).binomial(tokens, share, (draws, tokens.size))
    fit_for = ((drawn > 0) & (drawn < tokens)).all(axis=1)
    r2 = _r2_of_rows(np.log(curve.S), np.log(-np.log1p(-drawn[fit_for] / tokens)))
    r2 = r2[np.isfinite(r2)]
    if not r2.size:
        raise InputError(f"{_name(curve)}: no drawn set of counts can be fitted; score more tokens")
    low, median, high = np.quantile(r2, [0.025, 0.5, 0.975])
    return NoiseOnly(
        seen=fitted.r2,
        median=float(median),
        low=float(low),
        high=float(high),
        below=float(np.mean(r2 < fitted.r2)),
        draws=int(r2.size),
        unfit=int(draws - r2.size),
    )


def _r2_of_rows(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """R2 (m,) of the least squares line of each row of y (m, n) on x (n,); nan for equal values."""
    dx, dy = x - x.mean(), y - y.mean(axis=1, keepdims=True)
    total = (dy**2).sum(axis=1)
    equal = np.ptp(y, axis=1) == 0
    explained = (dy @ dx) ** 2 / (dx @ dx)
    return np.where(equal, np.nan, explained / np.where(equal, 1, total))


def noise_table(every: Iterable[Misses], *, draws: int = DRAWS, seed: int = 0) -> pd.DataFrame:
    """`noise_only` of each, a row each: corpus, family, quantity, n, misses (of the models, by S),
    R2 seen, noise median, noise low, noise high, seen above (share of draws below it).
    """
    rows = []
    for one in every:
        result, curve = noise_only(one, draws=draws, seed=seed), one.curve
        misses = " ".join(map(str, one.missed))
        rows.append(
            (
                *(curve.corpus, curve.family, curve.quantity, curve.S.size, misses, result.seen),
                *(result.median, result.low, result.high, result.below),
            )
        )
    names = ["corpus", "family", "quantity", "n", "misses", "R2 seen", "noise median"]
    names += ["noise low", "noise high", "seen above"]
    return pd.DataFrame(rows, columns=names)


def k_grid(V: int) -> tuple[int, ...]:
    """The k of Figure 6 for an output matrix of V rows, up to 30,000's share of V.

    The paper's own k, and the shares of V that they are of the paper's, less those that come
    within 5% of one of its k. Raises InputError for V < 1.
    """
    published = paper.fit_by_k()["k"].dropna().unique()
    shares = {k_at_share(k, V) for k in published}
    own = {int(k) for k in published if k <= max(shares)}
    near = {share for share in shares for k in own if abs(share / k - 1) < 0.05}
    return tuple(sorted(own | shares - near))


@dataclass(frozen=True, eq=False)
class FitsByK:
    """Slope and R2 at each k (Figure 6), and of CE.

    table: corpus, family, quantity ("RBP_10", "CE"), V (smallest of the family), k (missing for
    CE), n, slope, low, high (t interval, 95%), R2. left_out: a line for each (corpus, family)
    that was not measured or has too few models, and one for each k that no line can be fitted to
    (where RBP_k is 1).
    """

    table: pd.DataFrame
    left_out: tuple[str, ...]


def fits_by_k(
    measured: Iterable[Measured], corpora: Sequence[str], families: Sequence[str]
) -> FitsByK:
    """Fit log(-log RBP_k) on log S for every k of `k_grid`, and log CE, for corpora x families.

    Raises InputError as `curves.fits`.
    """
    every = list(measured)
    parts, left_out = [], []
    for corpus in corpora:
        for family in families:
            chosen = ladder(every, corpus, family)
            if len(chosen) < MIN_POINTS:
                told = f"too few models ({len(chosen)})" if chosen else "not measured"
                left_out.append(f"{told}: {family} on {corpus}")
                continue
            V = min(one.manifest.V for one in chosen)
            result = fits(chosen, k_grid(V))
            k = result.table["quantity"].str.removeprefix("RBP_").replace("CE", None)
            parts.append(result.table.assign(V=V, k=k.astype("Int64")))
            left_out += [f"no fit: {line}" for line in result.refused]
    text = dict.fromkeys(("corpus", "family", "quantity"), "object")
    number = dict.fromkeys(("slope", "low", "high", "R2"), "float64")
    types = {**text, "V": "int64", "k": "Int64", "n": "int64", **number}
    table = pd.concat(parts) if parts else pd.DataFrame(columns=list(types))
    return FitsByK(table[list(types)].astype(types).reset_index(drop=True), tuple(left_out))


def _name(curve: Curve) -> str:
    return f"{curve.family}, {curve.corpus}, {curve.quantity}"
