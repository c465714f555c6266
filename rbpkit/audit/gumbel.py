"""Does emergence sharpen? Eq. 8 as what it is, a Gumbel distribution function of ln S.

p_{N,k} = exp(-N c S^-alpha): N moves its knee by ln N / alpha and leaves its shape; how many
decades of S it takes to climb depends on alpha alone. Exponents are those of -log RBP_k (N = 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rbpkit import emergence, paper
from rbpkit.audit.resampling import DRAWS, document_weights, interval
from rbpkit.audit.verdicts import Finding
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law, fit_rbp_law
from rbpkit.summary import Summary

LN10 = np.log(10)
SUDDEN_K = 100  # the k of the claim: of Table 1's, Eq. 8 climbs faster the larger k
WITHIN = 0.005  # of a printed exponent


# -- Eq. 8 -------------------------------------------------------------------------------------


def knee(N: ArrayLike, c: float, alpha: float, p: float = 0.5) -> NDArray[np.float64]:
    """log10 S at which Eq. 8 passes p (`emergence.knee`, in decades)."""
    return emergence.knee(N, c, alpha, p) / LN10


def shift_decades(N: ArrayLike, alpha: ArrayLike) -> NDArray[np.float64]:
    """By how many decades of S a window of N tokens lags one token: log10 N / alpha."""
    return np.log10(N) / np.asarray(alpha, dtype=np.float64)


def width_decades(alpha: ArrayLike, low: float = 0.1, high: float = 0.9) -> NDArray[np.float64]:
    """Decades of S in which Eq. 8 climbs from low to high: 1.34 / alpha for 10 to 90%, at every N.

    inf where alpha is not positive: it does not climb.
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.where(alpha > 0, emergence.width(1.0, low, high) / LN10 / alpha.clip(0), np.inf)


# -- published ---------------------------------------------------------------------------------


def published_shapes(ks: Sequence[int] = (1, 10, 100), N: int = 100) -> pd.DataFrame:
    """Eq. 8 for Figure 7 (ten Pythias on Wiki): what k does, by alpha, and what N does.

    Columns: k, alpha, alpha_low, alpha_high (t interval, n = 10), width (decades, 10 to 90%),
    shift (decades that N moves it), knee_1 and knee_N (log10 S at p = 1/2), largest (log10 S of
    the largest model), p (Eq. 7 for the largest model at N).
    """
    table = emergence.published_windows().table
    rows = []
    for k in ks:
        fit = emergence.line(table, k)
        c, alpha = float(np.exp(fit.intercept)), fit.alpha
        ones = table[(table["k"] == k) & (table["N"] == 1)]
        rows.append(
            {
                "k": k,
                "alpha": alpha,
                "alpha_low": fit.alpha_interval[0],
                "alpha_high": fit.alpha_interval[1],
                "width": float(width_decades(alpha)),
                "shift": float(shift_decades(N, alpha)),
                "knee_1": float(knee(1, c, alpha)),
                "knee_N": float(knee(N, c, alpha)),
                "largest": float(np.log10(fit.S_max)),
                "p": float(emergence.independent(ones["p"].max(), N)),
            }
        )
    return pd.DataFrame(rows)


def exponent_shifts(
    table: pd.DataFrame, Ns: Sequence[int] = (2, 5, 10), ks: Sequence[int] | None = None
) -> pd.DataFrame:
    """Does N leave the exponent, as Eq. 8 says? alpha of -log p_{N,k} less that at N = 1.

    table: `emergence.Windows.table`. Columns: corpus, family, k, N, n, alpha_1, alpha_N,
    difference, low, high (its 95% t interval: the regression of log p_{N,k} / log p_{1,k} on S,
    which takes out what is common to both). Left out: series with a share of 0 or 1.
    """
    rows = []
    for (corpus, family, k), part in table.groupby(["corpus", "family", "k"], sort=False):
        for N in Ns:
            some = part[part["N"] == N].sort_values("S")
            if ks is not None and k not in ks:
                continue
            try:
                both = [emergence.line(part, k, n) for n in (1, N)]
                ratio = fit_power_law(some["S"], some["effective"], labels=list(some["model"]))
            except InputError:
                continue
            alphas = [fit.alpha for fit in both]
            found = (*alphas, ratio.alpha, *ratio.alpha_interval)
            rows.append((corpus, family, k, N, ratio.n, *found))
    names = "corpus family k N n alpha_1 alpha_N difference low high".split()
    return pd.DataFrame(rows, columns=names)


def table1_widths(k: int = SUDDEN_K) -> pd.DataFrame:
    """Corpus, family, alpha (Table 1's, three decimals), width (decades): 24 rows for one k."""
    table = paper.table1()
    rows = table[table["k"] == str(k)].rename(columns={"dataset": "corpus"})
    found = rows.assign(alpha=-rows["slope"])[["corpus", "family", "alpha"]]
    return found.assign(width=width_decades(found["alpha"])).reset_index(drop=True)


# -- pocket ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Widths:
    """table: corpus, family, n, alpha, alpha_low, alpha_high, width, width_low, width_high
    (decades); median: of the widths, with low and high. The intervals are bootstraps over documents
    (95%, for these models). missing: a line for each ladder that gives no exponent.
    """

    table: pd.DataFrame
    median: float
    low: float
    high: float
    missing: tuple[str, ...] = ()


def measured_widths(
    summaries: Iterable[Summary], k: int = SUDDEN_K, draws: int = DRAWS, seed: int = 0
) -> Widths:
    """The width of Eq. 8 for every ladder that was measured, and the median over ladders.

    All models of a corpus take the same draws of documents. InputError for a k that is not on the
    summaries' grid, for models of a ladder that saw other documents, and where no ladder is left.
    """
    ladders: dict[tuple[str, str], list[Summary]] = {}
    for one in sorted(summaries, key=lambda one: one.manifest.S):
        ladders.setdefault((one.manifest.corpus, one.manifest.family), []).append(one)
    rows, widths, missing = [], [], []
    weights: dict[int, np.ndarray] = {}
    for (corpus, family), models in sorted(ladders.items()):
        rbp = np.array([one.rbp(k) for one in models])
        S = np.array([one.manifest.S for one in models], dtype=np.float64)
        try:
            fit = fit_rbp_law(S, rbp, labels=[one.manifest.model for one in models])
        except InputError as error:
            missing.append(f"no exponent: {family} on {corpus}, k = {k}: {error}")
            continue
        D = models[0].document.size
        if D not in weights:
            weights[D] = document_weights(D, draws, seed).astype(np.float64)
        alpha = _alphas(S, _resampled(models, k, weights[D]))
        widths.append(width_decades(alpha))
        ends = interval(alpha)
        width_ends = (float(width_decades(end)) for end in reversed(ends))
        width = float(width_decades(fit.alpha))
        rows.append((corpus, family, fit.n, fit.alpha, *ends, width, *width_ends))
    if not rows:
        raise InputError("; ".join(missing) or f"nothing was measured at k = {k}")
    names = "corpus family n alpha alpha_low alpha_high width width_low width_high".split()
    table = pd.DataFrame(rows, columns=names)
    low, high = interval(np.median(widths, axis=0))
    return Widths(table, float(table["width"].median()), low, high, tuple(missing))


def _resampled(models: Sequence[Summary], k: int, weights: np.ndarray) -> np.ndarray:
    """RBP_k of each model in each draw of documents, (draws, models)."""
    first, shares = models[0], []
    for one in models:
        name = f"{one.manifest.model} on {one.manifest.corpus}"
        if not np.array_equal(one.document, first.document):
            raise InputError(f"{name} has other documents than {first.manifest.model}")
        (column,) = np.nonzero(one.k_grid == k)
        if not column.size:
            raise InputError(f"{name}: k = {k} is not counted by document (see k_grid)")
        shares.append(weights @ one.document_hits[:, column[0]] / (weights @ one.document_tokens))
    return np.stack(shares, axis=1)


def _alphas(S: np.ndarray, rbp: np.ndarray) -> np.ndarray:
    """alpha of each row of rbp (draws, models), least squares as `fit_rbp_law`."""
    x = np.log(S) - np.log(S).mean()
    return -(np.log(-np.log(rbp)) @ x) / (x @ x)


# -- findings ----------------------------------------------------------------------------------


def findings_gumbel(summaries: Iterable[Summary]) -> list[Finding]:
    """emergence-is-sudden on both sources, figure-7-exponents on the published one."""
    return [*_sudden(summaries), _figure_7()]


def _sudden(summaries: Iterable[Summary]) -> list[Finding]:
    printed = table1_widths()
    name = "emergence-is-sudden"
    found = [
        Finding(
            claim=name,
            source="published",
            value=float(printed["width"].median()),
            n=len(printed),
            of="(corpus, family) of Table 1",
            when=f"alpha_100 is at least {float(width_decades(1.0)) / 2:.2f}",
            note=_range(printed["width"]),
        )
    ]
    try:
        ours = measured_widths(summaries)
    except InputError:  # no ladder, nothing to say
        return found
    ends = (ours.low, ours.high)
    if not np.isfinite(ends).all():
        ends = (None, None)
    note = _range(ours.table["width"]) + "; interval: documents resampled, these models"
    found.append(
        Finding(
            claim=name,
            source="pocket",
            value=ours.median,
            n=len(ours.table),
            of="(corpus, family)",
            low=ends[0],
            high=ends[1],
            when=found[0].when,
            note=note,
        )
    )
    return found


def _range(widths: pd.Series) -> str:
    return f"from {widths.min():.1f} to {widths.max():.1f} decades"


def _figure_7() -> Finding:
    printed = emergence.annotations(emergence.published_windows().table)
    ones = emergence.fits_by_window(emergence.published_windows().table).query("N == 1")
    alpha = ones.set_index("k")["alpha"].loc[printed["k"]].to_numpy()
    off = np.abs(alpha - printed["alpha_printed"].to_numpy())
    means = np.abs(printed["alpha"] - printed["alpha_printed"]) <= WITHIN
    right = ", ".join(f"{k}" for k in printed["k"][off <= WITHIN])
    return Finding(
        claim="figure-7-exponents",
        source="published",
        value=float((off <= WITHIN).mean()),
        n=len(off),
        of="k",
        when=f"k = {right}" if right else "",
        note=(
            f"off by {off.min():.3f} to {off.max():.3f}; the mean over all N, zeros raised to "
            f"1e-12, gives {means.sum()} of {len(off)}"
        ),
    )
