"""The table of claims of notebook 08 (Section 5.2)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.stats import linregress

from rbpkit import paper
from rbpkit.fit import fit_power_law
from rbpkit.summary import Summary
from rbpkit_notebooks.claims import Claim, claims_table, span
from rbpkit_notebooks.other_laws import best_score
from rbpkit_notebooks.rank_laws import off_parabola

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
    scores: pd.DataFrame,
    fits: pd.DataFrame,
    summaries: Iterable[Summary],
    records_dir: str,
    figures_dir: str,
) -> Markdown:
    """The claims of Section 5.2.

    - laws: Figures 8a and 8b (`published_laws`); scores: of three laws (`scores_of_laws`)
    - fits, summaries: of the measured models
    """
    of_1, of_CE = _exponents(laws)
    slopes = paper.table1().set_index(["k", "dataset", "family"])["slope"]
    off = abs(slopes["1"] / slopes["CE"] - 1)  # of Table 1
    near = (off <= 0.1).sum()
    identical = "does not hold"
    if abs(of_1 / of_CE - 1) <= 0.1:
        identical = "holds" if near > 21 else "holds in part"
    simulated_1, simulated_CE = _exponents(laws, "simulated_")
    simulated = simulated_1 / simulated_CE
    off_CE = off_parabola(laws["CE"], laws["neg_log_rbp1"])
    R2, R2_of_log = _R2(laws["S"], laws["ratio"]), _R2(np.log(laws["S"]), laws["ratio"])
    fits = fits.reindex(columns=["corpus", "family", *laws.columns])  # for a table without rows
    fits = fits[fits["neg_log_rbp1"] < np.inf]
    own = _of_families(fits)
    off_here = [
        off_parabola(models["CE"], models["neg_log_rbp1"])
        for _, models in fits.groupby("corpus")
        if len(models) > 3
    ]
    results = {
        IDENTICAL: (
            f"Figure 8a: {of_1:.3f} and {of_CE:.3f}, yes;"
            f" Table 1: {near} of 24 cells, {(off <= 0.2).sum()} within 20%",
            f"alpha_1 / alpha_CE {span(own['measured'])}",
            identical,
        ),
        LOGNORMAL: _lognormal(scores, _leads(fits, summaries)),
        SIMILAR: (
            f"both are power laws; ratio {simulated:.2f} (measured"
            f" {of_1 / of_CE:.2f}); CE too high by {_too_high(laws)}",
            f"ratio {span(own['simulated'])}; CE too high by {_too_high(fits)}",
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
            f"{R2:.2f} on S, {R2_of_log:.3f} on ln S",
            f"on ln S: {span(own['R2'])}",
            "holds" if R2 > 0.9 else "does not hold",
        ),
    }
    return claims_table("08", results, records_dir, figures_dir)


def _exponents(models: pd.DataFrame, kind: str = "") -> tuple[float, float]:
    """The exponents of -log RBP_1 and of CE, as measured or `simulated_`."""
    of_1 = fit_power_law(models["S"], models[f"{kind}neg_log_rbp1"]).alpha
    return of_1, fit_power_law(models["S"], models[f"{kind}CE"]).alpha


def _lognormal(scores: pd.DataFrame, leads: list[float]) -> tuple[str, str, str]:
    """The row of the lognormal. leads: how far the Weibull is ahead for measured models, nats."""
    lead = (scores - scores.loc["lognormal"]).loc["Weibull"]
    cut = (scores["k"] - scores["k + 1/2"]).loc["lognormal"]  # what the place of the cut is worth
    return (
        f"{span(lead, '.4f')} nats per token; the place of the cut is worth"
        f" {span(cut, '.4f')}; rank 1 is not in the fit",
        f"largest model of each text: {span(leads, '.3f')}",
        "holds in part" if lead.max() < 0.01 else "does not hold",
    )


def _R2(x: pd.Series, y: pd.Series) -> float:
    return float(linregress(x, y).rvalue ** 2)


def _too_high(models: pd.DataFrame) -> str:
    """By how much simulated CE is above the measured one."""
    return f"{span(models['simulated_CE'] - models['CE'])} nats"


def _of_families(fits: pd.DataFrame) -> pd.DataFrame:
    """Of each family: alpha_1 / alpha_CE, measured and simulated; R2 of mu / sigma on ln S."""
    rows = []
    for _, models in fits.groupby(["corpus", "family"], sort=False):
        if models["S"].nunique() >= 3:
            of_1, of_CE = _exponents(models)
            simulated_1, simulated_CE = _exponents(models, "simulated_")
            R2 = _R2(np.log(models["S"]), models["ratio"])
            rows.append((of_1 / of_CE, simulated_1 / simulated_CE, R2))
    return pd.DataFrame(rows, columns=["measured", "simulated", "R2"])


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
