"""Is the rank lognormal (Section 5.2), and does a simple law give both RBP_k and CE (Appendix C)?

CANDIDATES are laws over the ranks k_min..V, each divided by its own sum there, so that none is
punished for mass beyond V. Those with k_min = 1 and with k_min = 2 describe different things (all
ranks; ranks given that the first choice was wrong): never compare their scores with one another.

A law is fitted to the documents of even number and scored on those of odd number. With some 5e4
tokens a goodness-of-fit test rejects every law of two parameters, so none is given: a score says
which law is nearer, an error in RBP_k how near.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial, wraps

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import gammaln

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.plots import FAMILY_INK, ink_of, style
from rbpkit.records import Records
from rbpkit.stats.bootstrap import interval, resample_weights, sampling_units
from rbpkit.stats.rank_laws import (
    FLAT,
    LOGNORMAL,
    LOGNORMAL_STARTS,
    LogMass,
    closed_form,
    fit_rank_law,
    lognormal_log_p,
    lognormals,
    published_laws,
    rank_log_p,
)
from rbpkit.summary import Summary, document_index

ERROR_K = (1, 2, 5, 10, 50, 100, 1000)
CLAIM_K = (1, 10, 100)
_ERRORS = [f"error_{k}" for k in CLAIM_K]
Array = np.ndarray


@dataclass(frozen=True)
class Candidate:
    """A law over ranks: `log_mass` as in `stats.rank_laws`, and where a search starts."""

    log_mass: LogMass
    starts: tuple[tuple[float, ...], ...]


def _by_weight(log_weight: Callable) -> LogMass:
    """Of a log weight of the ranks above k_min, k - k_min: that of a cell's middle, times width."""
    return lambda lo, hi, t: log_weight((lo + hi - 1) / 2 - lo[0], t) + np.log(hi - lo)


def _weibull(lo: Array, hi: Array, t: Array, cut: float = 0.5) -> Array:
    # S(x) = exp(-b (x^c - 1) / c): a Weibull of shape c whose limit c -> 0 is a power law.
    b, c = np.exp(t)
    low, high = (b * np.expm1(c * np.log(x - cut)) / c for x in (lo, hi))
    return -low + np.log(-np.expm1(low - high))


def _negative_binomial(above: Array, t: Array) -> Array:
    r, rate = np.exp(t)
    return gammaln(above + r) - gammaln(above + 1) - rate * above


# By their parameters as searched; positive ones are logarithms, but a lognormal's b.
CANDIDATES = {
    "lognormal, discrete": Candidate(LOGNORMAL["discrete"], LOGNORMAL_STARTS),
    "lognormal, rounded": Candidate(LOGNORMAL["rounded"], LOGNORMAL_STARTS),
    # exp(-(k - m)^2 / 2 s^2), m well below k_min if need be: geometric as 1/s -> 0
    "normal": Candidate(
        _by_weight(lambda above, t: -t[0] * above / 100 - (np.exp(t[1]) * above) ** 2 / 2),
        ((0.5, -9.0), (0.0, -7.0)),
    ),
    "power law": Candidate(
        lambda lo, hi, t: np.log(hi - lo) - t[0] * np.log((lo + hi - 1) / 2), ((1.0,),)
    ),
    "Zipf-Mandelbrot": Candidate(
        _by_weight(lambda above, t: -t[0] * np.log(above + np.exp(t[1]))), ((1.1, 0.0), (1.5, 2.0))
    ),
    "Weibull": Candidate(_weibull, ((-1.0, -2.0), (-0.5, -1.0))),
    "negative binomial": Candidate(_by_weight(_negative_binomial), ((-1.5, -6.0), (-0.5, -5.0))),
}
PARAMETERS = {name: len(one.starts[0]) for name, one in CANDIDATES.items()}
FORMS = ("lognormal, discrete", "lognormal, rounded")


@dataclass(frozen=True, eq=False)
class RankLaw:
    """A fitted candidate over k_min..V.

    log_p: (V - k_min + 1,) its log probabilities. score: mean log probability of what it was fitted
    to. at_limit: the likelihood rises without end to sigma = infinity (lognormal) or to shape 0
    (Weibull): log_p is then that limit's, a power law, the most that the law can reach.
    """

    name: str
    k_min: int
    V: int
    log_p: Array
    score: float = np.nan
    at_limit: bool = False

    def rbp(self, k: Array, rbp_1: float = 0.0) -> Array:
        """Pr(R <= k) by the law; with k_min = 2 the share rbp_1 of rank 1 has to be given."""
        upto = np.concatenate(([0.0], np.cumsum(np.exp(self.log_p))))
        inside = upto[np.clip(np.asarray(k) - self.k_min + 1, 0, self.V - self.k_min + 1)]
        return inside if self.k_min == 1 else rbp_1 + (1 - rbp_1) * inside

    def entropy(self) -> float:
        """-sum p ln p over k_min..V, nats."""
        return float(-(np.exp(self.log_p) * self.log_p).sum())


def fit_law(name: str, lo: Array, hi: Array, counts: Array, V: int, k_min: int) -> RankLaw:
    """The candidate `name` that makes the counts most likely; as `stats.rank_laws.fit_rank_law`."""
    if name not in CANDIDATES:
        raise InputError(f"no candidate {name!r}; there are {', '.join(CANDIDATES)}")
    one = CANDIDATES[name]
    t, score = fit_rank_law(one.log_mass, one.starts, lo, hi, counts, V, k_min)
    flat = t[-1] > FLAT if name in FORMS else name == "Weibull" and t[-1] < -FLAT
    return RankLaw(name, k_min, V, rank_log_p(one.log_mass, t, V, k_min), score, bool(flat))


def rank_models_table(records: Records) -> pd.DataFrame:
    """Every candidate fitted to the even documents of a job and scored on the odd; 14 rows.

    Columns: k_min, candidate, parameters, at_limit, fitted and scored (tokens), score (mean log
    probability of a scored token, nats), behind (score of the best of this k_min less this one's)
    with behind_low and behind_high (95%, bootstrap of the scored half, fits held fixed),
    error (largest |RBP_k - RBP_k of the law| over ERROR_K on the scored half) and error_k (where).
    With k_min = 2 the law's rank 1 is RBP_1 of the fitted half. InputError for under 4 documents.
    """
    rank, V = records.rank(), records.manifest.V
    even = records.document % 2 == 0
    ks = np.array([k for k in ERROR_K if k < V])
    rbp = np.array([(rank[~even] <= k).mean() for k in ks])
    rows = []
    for k_min in (1, 2):
        inside = rank >= k_min
        scored = rank[inside & ~even]
        numbers, index = document_index(records.document[inside & ~even])
        if not scored.size or index[-1] < 1:
            raise InputError("held-out scores need at least two documents in each half")
        values, counts = np.unique(rank[inside & even], return_counts=True)
        laws = [fit_law(name, values, values + 1, counts, V, k_min) for name in CANDIDATES]
        sums = np.stack([np.bincount(index, law.log_p[scored - k_min]) for law in laws], axis=1)
        weights = resample_weights(sampling_units(records.manifest.corpus, numbers))
        scores = sums.sum(0) / scored.size
        best = int(scores.argmax())
        lags = weights @ (sums[:, [best]] - sums) / (weights @ np.bincount(index))[:, None]
        for place, law in enumerate(laws):
            off = np.abs(law.rbp(ks, float((rank[even] == 1).mean())) - rbp)
            low, high = interval(lags[:, place])
            row = (k_min, law.name, PARAMETERS[law.name], law.at_limit, counts.sum(), scored.size)
            row += (scores[place], scores[best] - scores[place], low, high)
            rows.append((*row, off.max(), ks[off.argmax()]))
    names = "k_min candidate parameters at_limit fitted scored score behind behind_low behind_high"
    return pd.DataFrame(rows, columns=[*names.split(), "error", "error_k"])


def rank_levels_table(records: Records) -> pd.DataFrame:
    """Every candidate fitted to all ranks of a job (k_min = 1): what it says of RBP_k and of CE.

    Columns: candidate, parameters, at_limit, entropy (of the law, nats; Appendix C's CE), CE (as
    measured), error_1, error_10, error_100 (RBP_k of the law less the measured). 7 rows.
    """
    values, counts = np.unique(records.rank(), return_counts=True)
    rows, ks = [], np.array(CLAIM_K)
    for name in CANDIDATES:
        law = fit_law(name, values, values + 1, counts, records.manifest.V, 1)
        about = (name, PARAMETERS[name], law.at_limit, law.entropy(), records.ce())
        rows.append((*about, *(law.rbp(ks) - records.rbp(ks))))
    names = ["candidate", "parameters", "at_limit", "entropy", "CE", *_ERRORS]
    return pd.DataFrame(rows, columns=names)


# -- what the lognormal says of the two laws -----------------------------------------------------

EQUAL = 1e-6  # nats a token: scores that differ by less are one


def simulated_laws(measured: Iterable[Summary] = ()) -> pd.DataFrame:
    """The paper's recipe for the ten published Pythias and every summary, a row a model.

    Columns: source, corpus, family, model, S, CE, neg_log_rbp1, simulated_CE,
    simulated_neg_log_rbp1 (nats), mu, sigma, ratio (mu / sigma), surplus_CE (simulated less
    measured), factor_1 (simulated over measured -log RBP_1) and rest (of Eq. 26: CE + log p_1 over
    CE by the closed form, the share that the paper calls negligible). A model whose ranks have no
    most likely lognormal is left out.
    """
    printed = published_laws().assign(source="published", corpus="Wiki", family="Pythia")
    own = lognormals(measured)[0]
    parts = [printed, own.assign(source="pocket")] if len(own) else [printed]
    table = pd.concat(parts, ignore_index=True)
    table["surplus_CE"] = table["simulated_CE"] - table["CE"]
    table["factor_1"] = table["simulated_neg_log_rbp1"] / table["neg_log_rbp1"]
    closed = closed_form(table["mu"], table["sigma"])
    table["rest"] = closed.fraction / closed.CE
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


def _once(compute: Callable):
    """A table that takes seconds is computed once; each caller gets a copy of its own."""
    kept = cache(compute)
    return wraps(compute)(lambda: kept().copy())


@_once
def published_models() -> pd.DataFrame:
    """Every candidate on Figure 8c's bins (ranks >= 2, four Pythias on Wiki), IN-SAMPLE; 28 rows.

    Columns: model, candidate, parameters, at_limit, tokens (of rank >= 2, from the inferred count),
    score and behind as in `rank_models_table`, and more_AIC (AIC less the lowest of the model).
    Between laws of two parameters an in-sample score is as fair as a held-out one but for 2/tokens.
    """
    loss = published_laws().set_index("model")["neg_log_rbp1"]
    counted = paper.token_counts().query("dataset == 'Wiki' and family == 'Pythia'")["tokens"]
    rows = []
    for model, V, bins in _figure_8c():
        tokens = round(counted.iloc[0] * (1 - np.exp(-loss[model])))
        for name in CANDIDATES:
            law = fit_law(name, *bins.T, V, 2)
            rows.append((model, name, PARAMETERS[name], law.at_limit, tokens, law.score))
    names = ["model", "candidate", "parameters", "at_limit", "tokens", "score"]
    table = pd.DataFrame(rows, columns=names)
    table["behind"] = table.groupby("model")["score"].transform("max") - table["score"]
    aic = 2 * table["parameters"] - 2 * table["tokens"] * table["score"]
    return table.assign(more_AIC=aic - aic.groupby(table["model"]).transform("min"))


def _figure_8c() -> Iterator[tuple[str, int, Array]]:
    """The four Pythias of Figure 8c: model, V, and (n, 3) lo, hi and mass of its bins."""
    V_of = paper.models().set_index("model")["vocab_rows"]
    for model, bins in paper.rank_density().groupby("model", sort=False):
        yield model, int(V_of[model]), bins[["bin_lo", "bin_hi", "mass"]].to_numpy()


@_once
def published_errors() -> pd.DataFrame:
    """RBP_k of the lognormals of Figure 8c less the published RBP_k; four Pythias, 12 rows.

    fit: "as printed" (ranks >= 2, rounded, no upper end) and drawn on to rank 1, cut at V; and the
    most likely one of either form once rank 1 is put before the bins. Columns: model, fit,
    at_limit, error_1, error_10, error_100.
    """
    printed = paper.lognormal_params().set_index("model")
    points = paper.rbp_by_size().query("dataset == 'Wiki' and family == 'Pythia'")
    rbp_of = points.pivot(index="model", columns="k", values="rbp")
    rows = []
    for model, V, bins in _figure_8c():
        rbp = rbp_of.loc[model, list(CLAIM_K)].to_numpy()
        mu, sigma = printed.loc[model, ["mu", "sigma"]].astype(float)
        laws = {"as printed": RankLaw("", 1, V, lognormal_log_p(mu, sigma, V, form="rounded"))}
        every = np.vstack(([1, 2, rbp[0]], bins * [1, 1, 1 - rbp[0]]))
        laws |= {f"all ranks, {form}": fit_law(form, *every.T, V, 1) for form in FORMS}
        for fit, law in laws.items():
            rows.append((model, fit, law.at_limit, *(law.rbp(np.array(CLAIM_K)) - rbp)))
    return pd.DataFrame(rows, columns=["model", "fit", "at_limit", *_ERRORS])


def lognormal_lead(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Lognormal against the other laws of two parameters, by `keys` (a row a model).

    Columns: lead (score of the lognormal, the better of its two forms, less that of the best other;
    nats a token) and other (which that is). Scores within EQUAL are equal.
    """
    two = table[table["parameters"] == 2]
    own = two["candidate"].isin(FORMS)
    best = two[own].groupby(keys, sort=False)["score"].max()
    rest = two.loc[two[~own].groupby(keys, sort=False)["score"].idxmax()].set_index(keys)
    return pd.DataFrame({"lead": best - rest["score"], "other": rest["candidate"]}).reset_index()


@_once
def rounding_shift() -> pd.Series:
    """How much Figure 8c's score of the Weibull depends on how it is rounded, (4,) nats a token.

    The mean log probability, ranks >= 2, of the best Weibull with the rank k for (k - 1, k], less
    that for (k - 1/2, k + 1/2], by model and in absolute value. A lead that is smaller than this
    is a matter of rounding.
    """
    found = {}
    starts = CANDIDATES["Weibull"].starts
    for model, V, bins in _figure_8c():
        scores = [
            fit_rank_law(partial(_weibull, cut=cut), starts, *bins.T, V, 2)[1] for cut in (0.5, 1)
        ]
        found[model] = abs(scores[1] - scores[0])
    return pd.Series(found)


# -- figure --------------------------------------------------------------------------------------

SHOWN = 1e-5  # nats a token: scores nearer to the best than this are drawn here
EDGE = {"markeredgecolor": "white", "markeredgewidth": 0.5}


def figure_rank_laws(published: pd.DataFrame, pocket: pd.DataFrame | None) -> Figure:
    """How far each candidate is behind the best, and its largest error in RBP_k.

    published: `published_models`. pocket: the table "rank_models" of all jobs; None
    or empty: the published stand alone.
    """
    points = rank_law_points(published, pocket)
    panels = (
        ("behind", 2, "nats a token behind the best law\n(log score, ranks $\\geq 2$)"),
        ("error", 1, "largest error in RBP$_k$, $k$ = 1 to 1,000\n(held out, rank 1 in the fit)"),
    )
    panels = [one for one in panels if len(points[points["quantity"] == one[0]])]
    names = list(CANDIDATES)
    with style():
        figure, grid = plt.subplots(
            1, len(panels), figsize=(5.4 * len(panels), 3.9), sharey=True, squeeze=False
        )
        for axes, (quantity, _, label) in zip(grid[0], panels, strict=True):
            rows = points[points["quantity"] == quantity]
            groups = [g for g in ("published", *FAMILY_INK) if g in set(rows["group"])]
            groups += sorted(set(rows["group"]) - set(groups))
            for place, group in enumerate(groups):
                of = rows[rows["group"] == group]
                ink = ink_of(group)
                star = group == "published"
                height = (place - (len(groups) - 1) / 2) * 0.15
                axes.plot(
                    np.maximum(of["value"], SHOWN),
                    [names.index(name) - height for name in of["candidate"]],
                    "*" if star else ink.marker,
                    color="black" if star else ink.colour,
                    markersize=8 if star else 4,
                    label="published: Pythia, Wiki (in-sample)" if star else group,
                    linestyle="none",
                    **EDGE,
                )
            axes.set(xscale="log", xlabel=label)
            axes.set_yticks(range(len(names)), names)
            axes.set_ylim(len(names) - 0.5, -0.5)
        grid[0, 0].set_xlim(left=SHOWN / 1.6)
        if panels[0][0] == "behind":
            ticks = [SHOWN, 1e-4, 1e-3, 1e-2, 1e-1, 1]
            grid[0, 0].set_xticks(ticks, ["best", *(f"{tick:g}" for tick in ticks[1:])])
        if panels[-1][0] == "error":
            ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
            grid[0, -1].set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            grid[0, -1].minorticks_off()
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.tight_layout(rect=(0, 0, 1, 0.92))
        figure.legend(
            handles, labels, loc="upper center", ncols=len(labels), handletextpad=0.1, frameon=False
        )
    return figure


def rank_law_points(published: pd.DataFrame, pocket: pd.DataFrame | None) -> pd.DataFrame:
    """The points of `figure_rank_laws`: group, corpus, model, candidate, quantity, value."""
    parts = [published.assign(group="published", corpus="Wiki", quantity="behind", k_min=2)]
    if pocket is not None and len(pocket):
        own = pocket.assign(group=pocket["family"])
        parts.append(own[own["k_min"] == 2].assign(quantity="behind"))
        parts.append(own[own["k_min"] == 1].assign(quantity="error", behind=own["error"]))
    table = pd.concat(parts, ignore_index=True).rename(columns={"behind": "value"})
    return table[["group", "corpus", "model", "candidate", "quantity", "value"]]


TABLES = {"rank_models": rank_models_table, "rank_levels": rank_levels_table}
"""Tables of one job's records: name -> function."""
