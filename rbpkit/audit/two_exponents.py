"""Section 5.2 and Appendix C audited: is the rank lognormal, and what does that say of the laws?

The paper fits a lognormal to the ranks >= 2 and puts its mu and sigma into Appendix C's closed
form, which gives a CE and a -log RBP_1 ("simulated", Figure 8b). `two_laws` computes both halves;
here they are judged.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np
import pandas as pd

from rbpkit import paper, theory, two_laws
from rbpkit.audit.rankmodels import (
    CANDIDATES,
    CLAIM_K,
    LOGNORMAL,
    PARAMETERS,
    RankLaw,
    bin_scores,
    fit_law,
)
from rbpkit.audit.verdicts import Finding
from rbpkit.fit import fit_power_law
from rbpkit.rankdist import lognormal_probability
from rbpkit.summary import Summary

WITHIN = 0.02  # how near a lognormal is to be to RBP_k at CLAIM_K
EQUAL = 1e-6  # nats a token: scores that differ by less are one
_ERRORS = [f"error_{k}" for k in CLAIM_K]


def simulated_laws(measured: Iterable[Summary] = ()) -> pd.DataFrame:
    """The paper's recipe for the ten published Pythias and every summary, a row a model.

    Columns: source, corpus, family, model, S, CE, neg_log_rbp1, simulated_CE,
    simulated_neg_log_rbp1 (nats), mu, sigma, ratio (mu / sigma), surplus_CE (simulated less
    measured), factor_1 (simulated over measured -log RBP_1) and rest (of Eq. 26: CE + log p_1 over
    CE by the closed form, the share that the paper calls negligible). A model whose ranks have no
    most likely lognormal is left out.
    """
    printed = two_laws.published_laws().assign(source="published", corpus="Wiki", family="Pythia")
    own = two_laws.lognormals(measured, k_mins=(2,)).table
    parts = [printed, own.assign(source="pocket")] if len(own) else [printed]
    table = pd.concat(parts, ignore_index=True)
    table["surplus_CE"] = table["simulated_CE"] - table["CE"]
    table["factor_1"] = table["simulated_neg_log_rbp1"] / table["neg_log_rbp1"]
    mu, sigma = table["mu"].to_numpy(), table["sigma"].to_numpy()
    table["rest"] = theory.fraction_approx(mu, sigma) / theory.entropy_approx(mu, sigma)
    order = ["source", "corpus", "family", *printed.columns.drop(["source", "corpus", "family"])]
    return table[[*order, "surplus_CE", "factor_1", "rest"]]


def simulated_cells(laws: pd.DataFrame) -> pd.DataFrame:
    """Exponents and lines of `simulated_laws`, a row a (source, corpus, family) of 3 sizes or more.

    Columns: source, corpus, family, n; alpha_CE and alpha_1 as measured, simulated_alpha_CE and
    simulated_alpha_1; quotient (simulated alpha_1 over alpha_CE); R2_S and R2_log_S of mu / sigma.
    """
    rows = []
    for cell, models in laws.groupby(["source", "corpus", "family"], sort=False):
        if models["S"].nunique() < 3:
            continue
        S = models["S"].to_numpy(dtype=float)
        row = dict(zip(("source", "corpus", "family"), cell, strict=True)) | {"n": len(models)}
        for prefix in ("", "simulated_"):
            for name, series in (("CE", "CE"), ("1", "neg_log_rbp1")):
                row[f"{prefix}alpha_{name}"] = fit_power_law(S, models[prefix + series]).alpha
        row["quotient"] = row["simulated_alpha_1"] / row["simulated_alpha_CE"]
        for name, x in (("R2_S", S), ("R2_log_S", np.log(S))):
            row[name] = np.corrcoef(x, models["ratio"])[0, 1] ** 2
        rows.append(row)
    return pd.DataFrame(rows)


def findings_simulated(laws: pd.DataFrame) -> list[Finding]:
    """lognormal-gives-ce, lognormal-exponents-agree, log-c-dominates and mu-over-sigma-linear.

    laws: `simulated_laws`. Medians over models, or over cells of one corpus and family; no interval
    is given: the models share text, and one published cell has no spread.
    """
    found = []
    cells = simulated_cells(laws)
    for source, models in laws.groupby("source", sort=False):
        own = cells[cells["source"] == source] if len(cells) else cells
        share = models["simulated_CE"] / models["CE"]
        note = f"{_span(share)}; simulated CE is the measured {_span(models['surplus_CE'], '+')} "
        note += f"nats, simulated -log RBP_1 {_span(models['factor_1'])} times the measured"
        about = {"source": source, "n": len(models), "of": "models"}
        found.append(Finding("lognormal-gives-ce", value=float(share.median()), note=note, **about))
        rest = models["rest"]
        last = models.loc[models["S"].idxmax()]
        dropped = last["rest"] * last["simulated_CE"]
        note = f"{_span(rest)}; {last['model']}: {dropped:.2f} of {last['simulated_CE']:.2f} nats"
        found.append(Finding("log-c-dominates", value=float(rest.median()), note=note, **about))
        if not len(own):
            continue
        about = {"source": source, "n": len(own), "of": "cells (corpus, family)"}
        for claim, column, note in (
            (
                "lognormal-exponents-agree",
                "quotient",
                f"{_span(own['quotient'])}; simulated alpha_1 "
                f"{_span(own['simulated_alpha_1'], d=3)}, alpha_CE "
                f"{_span(own['simulated_alpha_CE'], d=3)}",
            ),
            ("mu-over-sigma-linear", "R2_S", f"{_span(own['R2_S'])}; on ln S "),
        ):
            if column == "R2_S":
                note += _span(own["R2_log_S"], d=3)
            value = own[column]
            low, high = {"quotient": (0.9, 1.1), "R2_S": (0.97, 1.0)}[column]
            fits = own[value.between(low, high)]
            when = "in " + ", ".join(f"{r.corpus}/{r.family}" for r in fits.itertuples())
            when = when if len(fits) else f"in no single cell of {len(own)}"
            found.append(Finding(claim, value=float(value.median()), when=when, note=note, **about))
    return found


def _span(values: pd.Series, sign: str = "", d: int = 2) -> str:
    low, high = (f"{value:{sign}.{d}f}" for value in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def published_models() -> pd.DataFrame:
    """Every candidate on Figure 8c's bins (ranks >= 2, four Pythias on Wiki), IN-SAMPLE; 28 rows.

    Columns: model, candidate, parameters, at_limit, tokens (of rank >= 2, from the inferred count),
    score and behind as in `rank_models_table`, and more_AIC (AIC less the lowest of the model).
    Between laws of two parameters an in-sample score is as fair as a held-out one but for 2/tokens.
    """
    return _published_models().copy()


@cache
def _published_models() -> pd.DataFrame:
    V_of = paper.models().set_index("model")["vocab_rows"]
    loss = two_laws.published_laws().set_index("model")["neg_log_rbp1"]
    counted = paper.token_counts().query("dataset == 'Wiki' and family == 'Pythia'")["tokens"]
    rows = []
    for model, bins in paper.rank_density().groupby("model", sort=False):
        lo, hi, mass = (bins[name].to_numpy() for name in ("bin_lo", "bin_hi", "mass"))
        tokens = round(counted.iloc[0] * (1 - np.exp(-loss[model])))
        for name in CANDIDATES:
            law = fit_law(name, lo, hi, mass, int(V_of[model]), 2)
            score = mass @ bin_scores(law.log_p, lo - 2, hi - 2) / mass.sum()
            rows.append((model, name, PARAMETERS[name], law.at_limit, tokens, score))
    names = ["model", "candidate", "parameters", "at_limit", "tokens", "score"]
    table = pd.DataFrame(rows, columns=names)
    table["behind"] = table.groupby("model")["score"].transform("max") - table["score"]
    aic = 2 * table["parameters"] - 2 * table["tokens"] * table["score"]
    return table.assign(more_AIC=aic - aic.groupby(table["model"]).transform("min"))


def published_errors() -> pd.DataFrame:
    """RBP_k of the lognormals of Figure 8c less the published RBP_k; four Pythias, 12 rows.

    fit: "as printed" (ranks >= 2, rounded, no upper end) and drawn on to rank 1, cut at V; and the
    most likely one of either form once rank 1 is put before the bins. Columns: model, fit,
    at_limit, error_1, error_10, error_100.
    """
    return _published_errors().copy()


@cache
def _published_errors() -> pd.DataFrame:
    V_of = paper.models().set_index("model")["vocab_rows"]
    printed = paper.lognormal_params().set_index("model")
    points = paper.rbp_by_size().query("dataset == 'Wiki' and family == 'Pythia'")
    rbp_of = points.pivot(index="model", columns="k", values="rbp")
    rows = []
    for model, bins in paper.rank_density().groupby("model", sort=False):
        V, rbp = int(V_of[model]), rbp_of.loc[model, list(CLAIM_K)].to_numpy()
        mu, sigma = printed.loc[model, ["mu", "sigma"]].astype(float)
        p = lognormal_probability(np.arange(1, V + 1), mu, sigma, V, form="rounded")
        laws = {"as printed": RankLaw("", 1, V, (mu, sigma), np.log(np.maximum(p, 1e-300)))}
        lo, hi = np.append(1, bins["bin_lo"]), np.append(2, bins["bin_hi"])
        mass = np.append(rbp[0], bins["mass"] * (1 - rbp[0]))
        laws |= {f"all ranks, {form}": fit_law(form, lo, hi, mass, V, 1) for form in LOGNORMAL}
        for fit, law in laws.items():
            rows.append((model, fit, law.at_limit, *(law.rbp(np.array(CLAIM_K)) - rbp)))
    return pd.DataFrame(rows, columns=["model", "fit", "at_limit", *_ERRORS])


def wins(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Lognormal against the other laws of two parameters, by `keys` (a row a model).

    Columns: lead (score of the lognormal, the better of its two forms, less that of the best other;
    nats a token), other (which that is) and wins (lead >= 0; equal to 1e-6 is equal).
    """
    two = table[table["parameters"] == 2]
    own = two["candidate"].isin(LOGNORMAL)
    best = two[own].groupby(keys, sort=False)["score"].max()
    rest = two.loc[two[~own].groupby(keys, sort=False)["score"].idxmax()].set_index(keys)
    found = pd.DataFrame({"lead": best - rest["score"], "other": rest["candidate"]})
    return found.assign(wins=found["lead"] > -EQUAL).reset_index()


def within(table: pd.DataFrame, keys: list[str]) -> pd.Series:
    """Is one of the rows of a model within WITHIN of RBP_k at every k of CLAIM_K? By `keys`."""
    near = (table[_ERRORS].abs() <= WITHIN).all(axis=1)
    return near.groupby([table[key] for key in keys], sort=False).any()


def findings_rank_models(
    models: pd.DataFrame | None = None, levels: pd.DataFrame | None = None
) -> list[Finding]:
    """ranks-are-lognormal and lognormal-gives-rbp; models, levels: the tables of all jobs, if any.

    The first over ranks >= 2, as in Figure 8c; the second with rank 1 in the fit, which is the
    kinder reading. In both the lognormal is the better of its two forms.
    """
    printed, errors = wins(published_models(), ["model"]), published_errors()
    again = errors[errors["fit"] != "as printed"]
    near = within(again, ["model"])
    off = errors.groupby("fit", sort=False)["error_1"]
    found = [
        Finding(
            "ranks-are-lognormal",
            "published",
            float(printed["wins"].mean()),
            len(printed),
            "models",
            when=_which(printed, "model"),
            note=f"in-sample, ranks >= 2; {_lead(printed)}",
        ),
        Finding(
            "lognormal-gives-rbp",
            "published",
            float(near.mean()),
            len(near),
            "models",
            when=", ".join(near.index[near]),
            note=f"RBP_1 off by {off.min().iloc[1:].min():.3f} to {off.max().iloc[1:].max():.3f} "
            f"with rank 1 in the fit; by {off.min().iloc[0]:.3f} to {off.max().iloc[0]:.3f} as "
            "printed",
        ),
    ]
    if models is not None and len(models):
        by_k_min = {k: wins(rows, ["corpus", "model"]) for k, rows in models.groupby("k_min")}
        held, with_1 = by_k_min[2], by_k_min[1]
        found.append(
            Finding(
                "ranks-are-lognormal",
                "pocket",
                float(held["wins"].mean()),
                len(held),
                "models x corpora",
                when=_which(held, "corpus"),
                note=f"held-out, ranks >= 2; {_lead(held)}; with rank 1: "
                f"{with_1['wins'].sum()} of {len(with_1)}",
            )
        )
    if levels is not None and len(levels):
        own = levels[levels["candidate"].isin(LOGNORMAL)]
        near = within(own, ["corpus", "model"])
        by_corpus = near.groupby(level="corpus").mean()
        found.append(
            Finding(
                "lognormal-gives-rbp",
                "pocket",
                float(near.mean()),
                len(near),
                "models x corpora",
                when="on " + ", ".join(f"{c} ({share:.0%})" for c, share in by_corpus.items()),
                note=f"RBP_1 off by {own['error_1'].min():.3f} to {own['error_1'].max():.3f}",
            )
        )
    return found


def _lead(table: pd.DataFrame) -> str:
    other = table["other"].value_counts()
    nearest, furthest = -table["lead"].max(), -table["lead"].min()
    return (
        f"behind the best other by {nearest:.4f} to {furthest:.4f} nats a token; the best other is "
        + ", ".join(f"{name} ({count})" for name, count in other.items())
    )


def _which(table: pd.DataFrame, key: str) -> str:
    share = table.groupby(key, sort=False)["wins"].mean()
    won = ", ".join(f"{name} ({value:.0%})" for name, value in share[share > 0].items())
    return f"on {won}" if won else "on none"
