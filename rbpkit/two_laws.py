"""The numbers behind Figure 8 (Section 5.2): two laws, and the lognormal over ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rbpkit import paper, theory
from rbpkit.curves import Curve
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.rankdist import LognormalFit, fit_lognormal, fit_lognormal_bins, lognormal_probability
from rbpkit.sources import Curves
from rbpkit.summary import Histogram, Summary

BINS_A_DECADE = 10  # as wide as those of Figure 8c


def published_laws() -> pd.DataFrame:
    """Figures 8a and 8b, ten Pythias on Wiki by rising S, one row each.

    Columns: model, S, CE (nats) and neg_log_rbp1 as measured by the paper, simulated_CE and
    simulated_neg_log_rbp1 of 8b, and mu, sigma, ratio (mu / sigma): 8b inverted by Appendix C.
    """
    table = paper.ce_and_rbp1()
    names = {"empirical": "", "simulated": "simulated_"}
    table["column"] = table["kind"].map(names) + table["series"]
    wide = table.pivot(index=["S", "model"], columns="column", values="value").reset_index()
    wide.columns.name = None
    mu, sigma = theory.invert(wide["simulated_CE"], wide["simulated_neg_log_rbp1"])
    order = ["model", "S", "CE", "neg_log_rbp1", "simulated_CE", "simulated_neg_log_rbp1"]
    return wide[order].assign(mu=mu, sigma=sigma, ratio=mu / sigma)


def law_curves(table: pd.DataFrame, prefix: str = "") -> tuple[Curve, Curve]:
    """CE and RBP_1 of `published_laws` as curves; prefix "simulated_" for those of Figure 8b."""
    models, S = tuple(table["model"]), table["S"].to_numpy(dtype=float)
    ce = table[prefix + "CE"].to_numpy()
    rbp = np.exp(-table[prefix + "neg_log_rbp1"].to_numpy())
    return tuple(
        Curve("Wiki", "Pythia", quantity, models, S, value)
        for quantity, value in (("CE", ce), ("RBP_1", rbp))
    )


def published_exponents() -> pd.DataFrame:
    """alpha_CE and alpha_1 of Table 1, 24 rows: corpus, family, alpha_CE, alpha_1, difference.

    difference is alpha_1 - alpha_CE; R2_CE and R2_1 are those of the two fits.
    """
    table = paper.table1()
    rows = table[table["k"].isin(["CE", "1"])]
    wide = rows.pivot(index=["dataset", "family"], columns="k", values=["slope", "r2"])
    found = pd.DataFrame(index=wide.index)
    found["alpha_CE"], found["alpha_1"] = -wide["slope", "CE"], -wide["slope", "1"]
    found["difference"] = found["alpha_1"] - found["alpha_CE"]
    found["R2_CE"], found["R2_1"] = wide["r2", "CE"], wide["r2", "1"]
    return found.reset_index().rename(columns={"dataset": "corpus"})


def exponents(ce: Curves, rbp: Curves) -> pd.DataFrame:
    """As `published_exponents`, of curves, with 95% intervals (_low, _high) of all three.

    Both laws are of the same models, so the difference is fitted as one: CE / -log RBP_1 falls as
    S to the alpha_1 - alpha_CE. A pair that is in one of the two only is left out.
    """
    rows = []
    for corpus, family in [pair for pair in ce if pair in rbp]:
        one, other = ce[corpus, family], rbp[corpus, family]
        row = {"corpus": corpus, "family": family, "n": len(one.S)}
        losses = {"alpha_CE": one.loss, "alpha_1": other.loss, "difference": other.loss / one.loss}
        for name, loss in losses.items():
            fit = fit_power_law(one.S, loss, labels=one.models)
            row |= {name: fit.alpha, f"{name}_low": fit.alpha_interval[0]}
            row |= {f"{name}_high": fit.alpha_interval[1]}
            if name != "difference":
                row[name.replace("alpha", "R2")] = fit.r2
        rows.append(row)
    return pd.DataFrame(rows)


def in_order(
    measured: Iterable[Summary], corpora: Sequence[str], families: Sequence[str]
) -> list[Summary]:
    """Those of these corpora and families, in this order, and by rising S."""
    asked = [(corpus, family) for corpus in corpora for family in families]
    places = {pair: place for place, pair in enumerate(asked)}
    about = [(one.manifest, one) for one in measured]
    chosen = [(m, one) for m, one in about if (m.corpus, m.family) in places]
    chosen.sort(key=lambda pair: (places[pair[0].corpus, pair[0].family], pair[0].S))
    return [one for _, one in chosen]


@dataclass(frozen=True, eq=False)
class Lognormals:
    """The lognormals of `lognormals`, one a row, and a line for each that does not exist."""

    table: pd.DataFrame
    refused: tuple[str, ...]


def lognormals(
    measured: Iterable[Summary], k_mins: Sequence[int] = (1, 2), form: str = "rounded"
) -> Lognormals:
    """A lognormal for the ranks of each model on each corpus, from each k_min, and what it says.

    form "rounded" has no upper end, as in `powerlaw`; "discrete" ends at V. Columns: corpus,
    family, model, S, k_min, mu, mu_se, sigma, sigma_se, ratio (mu / sigma); as measured CE and
    entropy (of the ranks; both nats) and neg_log_rbp1; as the fit has it over all of 1..V,
    fitted_entropy and fitted_neg_log_p1; as Figure 8b has it, by Appendix C's closed form from mu
    and sigma, simulated_CE and simulated_neg_log_rbp1.
    """
    rows, refused = [], []
    for one in measured:
        about = one.manifest
        share = one.ranks.counts / one.ranks.total
        for k_min in k_mins:
            V = about.V if form == "discrete" else None
            try:
                fit = fit_lognormal(one.ranks, V, k_min=k_min, form=form)
            except InputError as error:
                refused.append(f"{about.model} on {about.corpus}, k_min = {k_min}: {error}")
                continue
            every = np.arange(1, about.V + 1)
            p = lognormal_probability(every, fit.mu, fit.sigma, about.V, form=form)
            p = p[p > 0]
            row = {"corpus": about.corpus, "family": about.family, "model": about.model}
            row |= {"S": about.S, "k_min": k_min, "mu": fit.mu, "mu_se": fit.mu_se}
            row |= {"sigma": fit.sigma, "sigma_se": fit.sigma_se, "ratio": fit.mu / fit.sigma}
            row |= {"CE": one.ce(), "entropy": -(share * np.log(share)).sum()}
            with np.errstate(divide="ignore"):  # inf where no token is first
                row |= {"neg_log_rbp1": -np.log(one.rbp(1))}
            row |= {"fitted_entropy": -(p * np.log(p)).sum()}
            row |= {"fitted_neg_log_p1": -np.log(p[0])}
            row |= {"simulated_CE": theory.entropy_approx(fit.mu, fit.sigma)}
            row |= {"simulated_neg_log_rbp1": theory.neg_log_p1_approx(fit.mu, fit.sigma)}
            rows.append(row)
    return Lognormals(pd.DataFrame(rows), tuple(refused))


def density(ranks: Histogram, mu: float, sigma: float) -> pd.DataFrame:
    """Ranks in bins as `paper.rank_density` has them, with rank 1 as a bin of its own in front.

    Columns: bin_lo, bin_hi, mass (share of all ranks >= 2, so rank 1 has RBP_1 / (1 - RBP_1)).
    Bins without a rank are left out. mu, sigma: see `with_lognormal`, which is applied.
    """
    end = ranks.values[-1] + 1
    edges = np.geomspace(2, end, 2 + int(BINS_A_DECADE * np.log10(end)))
    edges = np.unique(np.concatenate(([1], np.round(edges).astype(int))))
    counts = np.histogram(ranks.values, edges, weights=ranks.counts)[0]
    bins = pd.DataFrame({"bin_lo": edges[:-1], "bin_hi": edges[1:]})
    bins["mass"] = counts / (ranks.total - ranks.at_most(1))
    return with_lognormal(bins[counts > 0], mu, sigma)


def largest_densities(
    measured: Sequence[Summary], fitted: pd.DataFrame
) -> list[tuple[str, pd.DataFrame]]:
    """`density` of the largest model of each corpus, with the title of its panel.

    fitted: rows of `Lognormals.table` at k_min = 2; a model that is not in it is passed over.
    """
    if fitted.empty:
        return []
    known = fitted.set_index(["corpus", "model"])
    largest: dict[str, Summary] = {}
    for one in measured:
        about = one.manifest
        if (about.corpus, about.model) in known.index:
            best = largest.setdefault(about.corpus, one)
            largest[about.corpus] = one if about.S > best.manifest.S else best
    found = []
    for corpus, one in largest.items():
        row = known.loc[(corpus, one.manifest.model)]
        title = f"measured: {corpus.removeprefix('pocket:')}\n{one.manifest.model}"
        found.append((title, density(one.ranks, row["mu"], row["sigma"])))
    return found


def published_density(model: str, rbp1: float, mu: float, sigma: float) -> pd.DataFrame:
    """`density` of one of the four Pythias of Figure 8c; rank 1 is from RBP_1 of Figure 8a."""
    bins = paper.rank_density().query("model == @model")[["bin_lo", "bin_hi", "mass"]]
    first = pd.DataFrame({"bin_lo": [1], "bin_hi": [2], "mass": [rbp1 / (1 - rbp1)]})
    return with_lognormal(pd.concat([first, bins]), mu, sigma)


def printed_lognormals() -> pd.DataFrame:
    """Which form of the lognormal has the mu and sigma that Figure 8c prints? Four Pythias.

    Columns: model, mu and sigma as printed, then of three fits to the figure's own bins (ranks
    >= 2): of the rounded form without an upper end, of the same up to V, of the discrete up to V.
    """
    rows = []
    for _, printed in _eight_c().iterrows():
        row = {"model": printed["model"], "mu": printed["mu"], "sigma": printed["sigma"]}
        for name, form, V in (
            ("rounded", "rounded", None),
            ("rounded to V", "rounded", printed["V"]),
            ("discrete to V", "discrete", printed["V"]),
        ):
            fit = _of_bins(printed["model"], form, V)
            row |= {f"mu, {name}": fit.mu, f"sigma, {name}": fit.sigma}
        rows.append(row)
    return pd.DataFrame(rows)


def published_levels() -> pd.DataFrame:
    """From what the paper measured to what it simulates, in steps; the four Pythias of Figure 8c.

    Columns: model; CE, entropy_at_most (of the ranks, as if they were even within a bin, which
    can only raise it), fitted_entropy (of the printed lognormal over 1..V, rounded, as it was
    fitted), simulated_CE (of 8b); all in nats; and neg_log_rbp1, fitted_neg_log_p1,
    simulated_neg_log_rbp1 alike.
    """
    laws = published_laws().set_index("model")
    rows = []
    for _, printed in _eight_c().iterrows():
        law = laws.loc[printed["model"]]
        rbp1 = np.exp(-law["neg_log_rbp1"])
        bins = published_density(printed["model"], rbp1, printed["mu"], printed["sigma"])
        share = bins["mass"] * (1 - rbp1)
        width = bins["bin_hi"] - bins["bin_lo"]
        settings = {"V": printed["V"], "form": "rounded"}
        every = np.arange(1, printed["V"] + 1)
        p = lognormal_probability(every, printed["mu"], printed["sigma"], **settings)
        row = {"model": printed["model"], "CE": law["CE"]}
        row |= {"entropy_at_most": -(share * np.log(share / width)).sum()}
        row |= {"fitted_entropy": -(p * np.log(p)).sum(), "simulated_CE": law["simulated_CE"]}
        row |= {"neg_log_rbp1": law["neg_log_rbp1"], "fitted_neg_log_p1": -np.log(p[0])}
        rows.append(row | {"simulated_neg_log_rbp1": law["simulated_neg_log_rbp1"]})
    return pd.DataFrame(rows)


def published_refusals() -> int:
    """How many of Figure 8c's four have no most likely discrete lognormal over all of 1..V."""
    laws = published_laws().set_index("model")["neg_log_rbp1"]
    refused = 0
    for _, printed in _eight_c().iterrows():
        model, V = printed["model"], printed["V"]
        bins = published_density(model, np.exp(-laws[model]), printed["mu"], printed["sigma"])
        try:
            fit_lognormal_bins(bins["bin_lo"], bins["bin_hi"], bins["mass"], V, k_min=1)
        except InputError:
            refused += 1
    return refused


def _eight_c() -> pd.DataFrame:
    """What Figure 8c prints, and V of each model."""
    rows_of = paper.models().set_index("model")["vocab_rows"]
    printed = paper.lognormal_params()
    return printed.assign(V=[int(rows_of[model]) for model in printed["model"]])


def _of_bins(model: str, form: str, V: int | None) -> LognormalFit:
    bins = paper.rank_density().query("model == @model")
    return fit_lognormal_bins(bins["bin_lo"], bins["bin_hi"], bins["mass"], V, form=form)


def with_lognormal(bins: pd.DataFrame, mu: float, sigma: float) -> pd.DataFrame:
    """With `fitted`, the mass that the rounded lognormal over ranks >= 2 has in each bin.

    On rank 1 it is the extension of the same curve. Divide by the bin's width for a density.
    """
    top = int(bins["bin_hi"].max())
    p = lognormal_probability(np.arange(1, top), mu, sigma, None, form="rounded")
    below = lognormal_probability(1, mu, sigma, None, form="rounded")
    upto = np.concatenate(([0.0, 0.0], np.cumsum(p))) / (1 - below)
    fitted = upto[bins["bin_hi"]] - upto[bins["bin_lo"]]
    return bins.assign(fitted=fitted).reset_index(drop=True)
