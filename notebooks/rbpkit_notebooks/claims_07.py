"""The table of claims of notebook 07 (Section 5.1)."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from IPython.display import Markdown

from rbpkit import paper
from rbpkit_notebooks.claims import Claim, claims_table, counted, span, verdict_of
from rbpkit_notebooks.windows import MIN_RUNS

Law = Callable[[pd.DataFrame], tuple[float, float, float]]
"""alpha, C and R2 of -log p = C S^-alpha through a series."""


CLOSE = Claim(
    words="The fitted power-law curves align closely with empirical data",
    where="Figure 7",
    test=r"$(k, N)$ series of $-\log p_{N,k}$, $N > 1$ and without a zero,"
    r" with $R^2 \ge 0.97$",
)
SHARPENS = Claim(
    words="The sequence length N acts as an amplifier: larger N sharpens the transition, creating"
    " the observed sudden 'knee' in performance",
    where="Section 5.1",
    test="how much p grows from the smallest to the largest model at k = 100, for N = 1, 10, 100;"
    " decades of S from 10% to 90%, for N = 1 and 10",
)
INDEPENDENT = Claim(
    words="Assuming independence and stationarity across positions",
    where="Section 5.1, Eq. 6 (assumed, not claimed)",
    test="effective number of tokens of a window of ten; 10 if independent",
)
PROPORTIONAL = Claim(
    words=r"$-\log p_{N,k} \propto N \cdot S^{-\alpha}$",
    where="Figure 7",
    test="at how many k the printed exponent differs by at most 0.01 from the exponent of single"
    " tokens. (The paper fits each of its nine N, with 1e-12 in place of zeros, and prints the mean"
    " of the nine exponents.)",
    main=False,
)
SIGMOIDAL = Claim(
    words="inherently sigmoidal",
    where="Section 5.1, of the curve of success",
    test="Eq. 8 has an S-shape in ln S; (k, N) series that go from under 10% to over 90%",
    main=False,
)


def claims(
    published: pd.DataFrame,
    series: pd.DataFrame,
    ten: pd.Series,
    measured: pd.DataFrame,
    fit_law: Law,
    records_dir: str,
    figures_dir: str,
) -> Markdown:
    """The claims of Section 5.1. ten: effective tokens of windows of ten."""
    # The length of the measured windows that is nearest to ten
    N = min(measured.N.unique(), key=lambda N: abs(N - 10), default=10)
    long = series[series.N > 1]
    straight = long.R2 >= 0.97
    width = series.pivot(index="k", columns="N", values="decades")
    narrower = width[10] < width[1]
    gain = _gains(published)
    single = series[series.N == 1].set_index("k").alpha
    printed = paper.emergence_fits().set_index("k").alpha_printed
    off = abs(_mean_of_nine(published, fit_law) - printed).max()
    near = abs(printed - single) <= 0.01
    straight_here, ratios = _measured_series(measured, N, fit_law)
    gap = measured[(measured.N == N) & (measured.runs_low >= MIN_RUNS) & (measured.p < 1)]
    results = {
        CLOSE: (
            counted(straight),
            counted(straight_here),
            verdict_of(straight),
        ),
        SHARPENS: (
            ", ".join(f"{times:.1f}-fold" for times in gain)
            + f"; decades: {width[1][100]:.1f} and {width[10][100]:.1f} at k = 100,"
            f" {width[1][2500]:.1f} and {width[10][2500]:.1f} at k = 2500",
            f"decades for N = {N} over those for N = 1: " + span(1 / ratio for ratio in ratios),
            verdict_of([gain.is_monotonic_increasing, *narrower]),
        ),
        INDEPENDENT: (
            f"{span(ten, '.1f')}, median {ten.median():.1f}",
            f"{span(gap.effective, '.1f')} of {N}",
            "holds" if abs(ten.median() - 10) <= 1 else "does not hold",
        ),
        PROPORTIONAL: (
            f"{counted(near)}; the mean of nine differs from the printed one by at most {off:.4f}",
            "nothing is printed for these",
            "holds in part" if near.any() else "does not hold",
        ),
        SIGMOIDAL: (
            counted(_from_10_to_90(published)),
            counted(_from_10_to_90(measured)),
            "holds in part",
        ),
    }
    return claims_table("07", results, records_dir, figures_dir)


def _gains(published: pd.DataFrame) -> pd.Series:
    """At k = 100, p of the largest model over p of the smallest, for N = 1, 10 and 100."""
    at_100 = published[published.k == 100].sort_values("S").groupby("N").p
    return (at_100.last() / at_100.first()).loc[[1, 10, 100]]


def _from_10_to_90(points: pd.DataFrame) -> pd.Series:
    """Whether p goes from under 10% to over 90%, for each series."""
    span = points.groupby(["corpus", "family", "k", "N"])["p"].agg(["min", "max"])
    return (span["min"] < 0.1) & (span["max"] > 0.9)


def _mean_of_nine(published: pd.DataFrame, fit_law: Law) -> pd.Series:
    """For each k the mean exponent of nine fits, as the paper makes them: zeros set to 1e-12."""
    exponents = {}
    for name, points in published.assign(p=published.p.clip(lower=1e-12)).groupby(["k", "N"]):
        exponents[name] = fit_law(points)[0] if points.p.max() > 1e-12 else 0
    return pd.Series(exponents).groupby(level=0).mean()


def _measured_series(
    measured: pd.DataFrame, N: int, fit_law: Law
) -> tuple[list[bool], list[float]]:
    """Whether R2 is at least 0.97, for each series; alpha at N over that at 1, for each k."""
    straight, ratios = [], []
    for _, table in measured.groupby(["corpus", "family", "k"]):
        fits = {}
        for length, points in table.groupby("N"):
            sound = (points.runs_low >= MIN_RUNS) & (points.p < 1)
            if points.S.nunique() > 2 and sound.all():
                fits[length] = fit_law(points)
                if length > 1:
                    straight.append(fits[length][2] >= 0.97)
        if {1, N} <= set(fits):
            ratios.append(fits[N][0] / fits[1][0])
    return straight, ratios
