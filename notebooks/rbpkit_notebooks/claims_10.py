"""The table of claims of notebook 10 (Appendix B of the ICLR version)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from IPython.display import Markdown

from rbpkit import paper
from rbpkit_notebooks.claims import Claim, claims_table

ACCURATE = Claim(
    words="The fits are highly accurate (all R2 ≥ 0.99)",
    where="Appendix B (ICLR), Table 1",
    test="least squares of log(-log RBP_k) on log k, k from 1 to 100; 64 of 96 lines recomputed",
)
STEEPER = Claim(
    words="the slopes with respect to k are considerably steeper than those with respect to model"
    " size S",
    where="Appendix B (ICLR), Table 1",
    test="each slope in log k over the family's steepest slope in log S, k = 1, 10, 100",
)
TRADE = Claim(
    words=r"$\Delta S/S \approx -(\alpha_k/\alpha_S)\, \Delta k/k$",
    where="Appendix B (ICLR)",
    test="how many times larger a model must be to gain what doubling k gains: one number for all"
    " k?",
    main=False,
)


def claims(
    lines: pd.DataFrame,
    pythia_worth: pd.Series,
    lowest_R2: float,
    measured: pd.DataFrame,
    lines_of: Callable[[pd.DataFrame], pd.DataFrame],
    rates_of: Callable[[pd.DataFrame], pd.DataFrame],
    records_dir: str,
    figures_dir: str,
) -> Markdown:
    """The claims of Appendix B (ICLR).

    - lines: printed ones; lowest_R2: of lognormals' lines
    - measured: losses of the measured models; lines_of, rates_of: the notebook's functions of them
    """
    table1 = paper.table1().query("k in ['1', '10', '100']")
    steepest = table1.groupby(["dataset", "family"]).slope.min()
    pairs = pd.MultiIndex.from_frame(lines[["corpus", "family"]])
    ratio = lines.slope / steepest.reindex(pairs).to_numpy()
    first, last = pythia_worth.iloc[0], pythia_worth.iloc[2]
    pocket = dict.fromkeys(("R2", "steeper", "worth"), "not measured")
    if len(measured):
        pocket["R2"] = f"R2 at least {lines_of(measured).R2.min():.3f}"
    # A family with fewer sizes has no exponent in S
    three_sizes = measured.groupby(["corpus", "family"])["S"].transform("nunique") >= 3
    if three_sizes.any():
        rates = rates_of(measured[three_sizes])
        own = rates.beta / (rates.alpha + rates.gamma * np.log(100))
        pocket["steeper"] = f"beta is {own.min():.1f} to {own.max():.1f} times alpha at k = 100"
        median = rates[pythia_worth.index].median()
        pocket["worth"] = f"median {median.iloc[0]:.0f} at k = 1, {median.iloc[2]:.1f} at k = 50"
    results = {
        ACCURATE: (
            f"R2 at least {lines.r2.min():.3f}; a lognormal, which is no power law,"
            f" has at least {lowest_R2:.3f}",
            pocket["R2"],
            "holds" if lines.r2.min() >= 0.99 else "does not hold",
        ),
        STEEPER: (
            f"{ratio.min():.1f} to {ratio.max():.1f} times as steep",
            pocket["steeper"],
            "holds" if ratio.min() > 1 else "holds in part",
        ),
        TRADE: (
            f"exact for small steps; Pythia's median {first:.0f} at k = 1, {last:.1f} at k = 50",
            pocket["worth"],
            "holds in part",
        ),
    }
    return claims_table("10", results, records_dir, figures_dir)
