"""The table of claims of notebook 08 (Section 5.2)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.stats import linregress

from rbpkit.fit import fit_power_law
from rbpkit.summary import Summary
from rbpkit_pocket.companions.claims import Claim, claims_table, span
from rbpkit_pocket.findings.other_laws import best_score

IDENTICAL = Claim(
    words="when k = 1, the decay exponents of cross-entropy (absolute-based) and"
    " \N{MINUS SIGN} log p1 (relative-based) are nearly identical",
    where="Section 5.2, Figure 8a",
    test="alpha_1 within 10% of alpha_CE",
)
LOGNORMAL = Claim(
    words="our hypothesis is that the rank distribution follows a lognormal distribution",
    where="Section 5.2, Figure 8c",
    test="lead of another law with two parameters (Weibull), ranks >= 2, same cuts, in sample",
)
SIMILAR = Claim(
    words="Simulated results: CE and \N{MINUS SIGN} log RBPk show similar scaling patterns",
    where="Figure 8b",
    test="simulated alpha_1 / alpha_CE; levels",
)
GREEDY = Claim(
    words="if RBP1 is 30%, it means that greedy sampling works for 30% cases. Yet this cannot be"
    " deduced from the cross-entropy value.",
    where="Section 3.2",
    test="in principle: CE >= ln 2 excludes no RBP_1; in practice: a parabola in log CE, within"
    " one text",
)
LINEAR = Claim(
    words="approximately linear in S",
    where="Section 5.2, ICLR version (withdrawn on arXiv)",
    test="R2 of mu / sigma",
    main=False,
)


def claims(
    laws: pd.DataFrame,
    pairs: pd.DataFrame,
    within: dict[float, int],
    scores: pd.DataFrame,
    off_CE: float,
    R2: dict[str, float],
    points: pd.DataFrame,
    fits: pd.DataFrame,
    summaries: Iterable[Summary],
    records_dir: str,
    figures_dir: str,
) -> Markdown:
    """The claims of Section 5.2.

    - laws: Figures 8a and 8b; pairs: both exponents by text and family, Figure 8a's first
    - within: how many pairs of Table 1 are within 10% and 20%
    - scores: of three laws (`scores_of_laws`); R2: of mu / sigma on S and on ln S
    - off_CE: how far -log RBP_1 is from a parabola in log CE
    - points, fits, summaries: of the measured models
    """
    eight = pairs.iloc[0]
    identical = "does not hold"
    if abs(eight["ratio"] - 1) <= 0.1:
        identical = "holds" if within[0.1] > 21 else "holds in part"
    lead = (scores - scores.loc["lognormal"]).loc["Weibull"]
    cut = (scores["k"] - scores["k + 1/2"]).loc["lognormal"]  # what the place of the cut is worth
    simulated = _simulated_ratio(laws)
    ratios, in_ln_S = _of_families(fits)
    here = points[points["source"] == "measured"].groupby("corpus")
    off_here = [_off_parabola(models) for _, models in here if len(models) > 3]
    results = {
        IDENTICAL: (
            f"Figure 8a: {eight['alpha_1']:.3f} and {eight['alpha_CE']:.3f}, yes;"
            f" Table 1: {within[0.1]} of 24 cells, {within[0.2]} within 20%",
            f"alpha_1 / alpha_CE {span(pairs[pairs['source'] == 'measured']['ratio'])}",
            identical,
        ),
        LOGNORMAL: (
            f"{span(lead, '.4f')} nats per token; the place of the cut is worth"
            f" {span(cut, '.4f')}; rank 1 is not in the fit",
            f"largest model of each text: {span(_leads(fits, summaries), '.3f')}",
            "holds in part" if lead.max() < 0.01 else "does not hold",
        ),
        SIMILAR: (
            f"both are power laws; ratio {simulated:.2f} (measured"
            f" {eight['ratio']:.2f}); CE too high by {_too_high(laws)}",
            f"ratio {span(ratios)}; CE too high by {_too_high(fits)}",
            "holds" if abs(simulated - 1) <= 0.1 else "holds in part",
        ),
        GREEDY: (
            f"in principle open for {(laws['CE'] >= np.log(2)).sum()} of 10; in"
            f" practice -log RBP_1 follows to {off_CE:.1%}",
            f"all families of a text together: to {span(off_here, '.1%')}"
            if off_here
            else "not measured",
            "holds in part",
        ),
        LINEAR: (
            f"{R2['S']:.2f} on S, {R2['ln S']:.3f} on ln S",
            f"on ln S: {span(in_ln_S)}",
            "holds" if R2["S"] > 0.9 else "does not hold",
        ),
    }
    return claims_table("08", results, records_dir, figures_dir)


def _off_parabola(models: pd.DataFrame) -> float:
    x, y = np.log(models["CE"]), np.log(models["neg_log_rbp1"])
    return float(np.abs(y - np.polyval(np.polyfit(x, y, 2), x)).max())


def _simulated_ratio(models: pd.DataFrame) -> float:
    """The exponent of simulated -log p_1 over that of simulated CE."""
    of_CE = fit_power_law(models["S"], models["simulated_CE"]).alpha
    return fit_power_law(models["S"], models["simulated_neg_log_rbp1"]).alpha / of_CE


def _too_high(models: pd.DataFrame) -> str:
    """By how much simulated CE is above the measured one."""
    return f"{span(models['simulated_CE'] - models['CE'])} nats"


def _of_families(fits: pd.DataFrame) -> tuple[list[float], list[float]]:
    """Of each family: simulated alpha_1 / alpha_CE, and R2 of mu / sigma on ln S."""
    ratios, R2 = [], []
    for _, models in fits.groupby(["corpus", "family"], sort=False):
        if models["S"].nunique() >= 3:
            ratios.append(_simulated_ratio(models))
            R2.append(float(linregress(np.log(models["S"]), models["ratio"]).rvalue ** 2))
    return ratios, R2


def _leads(fits: pd.DataFrame, summaries: Iterable[Summary]) -> list[float]:
    """How far the Weibull is ahead of the lognormal for the largest model of each text, nats."""
    if fits.empty:
        return []
    named = {(one.manifest.corpus, one.manifest.model): one for one in summaries}
    leads = []
    for row in fits.loc[fits.groupby("corpus", sort=False)["S"].idxmax()].itertuples():
        one = named[row.corpus, row.model]
        bins = _in_bins(one)
        weibull = best_score("Weibull", bins, one.manifest.V)
        leads.append(weibull - best_score("lognormal", bins, one.manifest.V))
    return leads


def _in_bins(summary: Summary) -> pd.DataFrame:
    """A histogram of ranks from 2 on, in bins of about a tenth of a decade."""
    ranks = summary.ranks
    end = ranks.values[-1] + 1
    edges = np.geomspace(2, end, 2 + int(10 * np.log10(end)))
    edges = np.unique(np.concatenate(([1], np.round(edges).astype(int))))
    counts = np.histogram(ranks.values, edges, weights=ranks.counts)[0]
    mass = counts / ranks.total
    bins = pd.DataFrame({"bin_lo": edges[:-1], "bin_hi": edges[1:], "mass": mass})
    return bins[(counts > 0) & (bins["bin_lo"] > 1)].reset_index(drop=True)
