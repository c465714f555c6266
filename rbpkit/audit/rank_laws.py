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
from functools import cache, wraps

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.optimize import minimize
from scipy.special import erfcx, gammaln, logsumexp

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.plots import FAMILY_INK, ink_of, style
from rbpkit.records import Records
from rbpkit.sections import c_derivation, s5_2_lognormal
from rbpkit.sections.s5_2_rank_fits import lognormal_probability
from rbpkit.stats.bootstrap import interval, resample_weights, sampling_units
from rbpkit.summary import Summary, document_index

ERROR_K = (1, 2, 5, 10, 50, 100, 1000)
CLAIM_K = (1, 10, 100)
_ERRORS = [f"error_{k}" for k in CLAIM_K]
FLAT = np.log(100)  # of log sigma, or of -log of a Weibull's shape: beyond it, a power law
Array = np.ndarray


@dataclass(frozen=True)
class Candidate:
    """A law over ranks: log_weight(k, k_min, parameters), not normalised; where a search starts."""

    log_weight: Callable[[Array, int, Array], Array]
    starts: tuple[tuple[float, ...], ...]

    @property
    def parameters(self) -> int:
        return len(self.starts[0])


def _exponential_mass(at: Array, step: Array) -> Array:
    """log(e^-at - e^-(at + step))."""
    return -at + np.log(-np.expm1(-step))


def _weibull(k: Array, k_min: int, t: Array) -> Array:
    # S(x) = exp(-b (x^c - 1) / c): a Weibull of shape c whose limit c -> 0 is a power law.
    b, c = np.exp(t)
    low, high = (b * np.expm1(c * np.log(x)) / c for x in (k - 0.5, k + 0.5))
    return _exponential_mass(low, high - low)


def _negative_binomial(k: Array, k_min: int, t: Array) -> Array:
    r, rate = np.exp(t)
    return gammaln(k - k_min + r) - gammaln(k - k_min + 1) - rate * (k - k_min)


def _lognormal(k: Array, k_min: int, t: Array) -> Array:
    b, sigma = t[0], np.exp(min(t[1], 2 * FLAT))
    return -(1 + b) * np.log(k) - (np.log(k) / sigma) ** 2 / 2


def _rounded_lognormal(k: Array, k_min: int, t: Array) -> Array:
    # log(Q(z(k - 1/2)) - Q(z(k + 1/2))), Q the upper tail of the normal, z(x) = ln x / sigma +
    # b sigma; from the side where Q is small, and without exp(-(b sigma)^2 / 2), which is common
    # to all k and would leave no digits where sigma is large.
    b, sigma = t[0], np.exp(min(t[1], 2 * FLAT))
    low, high = np.log(k - 0.5), np.log(k + 0.5)
    side = np.where(np.log(k) / sigma + b * sigma > 0, 1, -1)
    tail_low, tail_high = (erfcx(side * (u / sigma + b * sigma) / np.sqrt(2)) for u in (low, high))
    fall_low, fall_high = (b * u + (u / sigma) ** 2 / 2 for u in (low, high))
    return -fall_low + np.log(side * (tail_low - tail_high * np.exp(fall_low - fall_high)))


# By their parameters as searched. A lognormal has b = -mu / sigma^2 and log sigma: the likelihood
# may rise without end with sigma, and then b stays finite. Positive ones of others are logarithms.
CANDIDATES = {
    "lognormal, discrete": Candidate(_lognormal, ((0.3, 1.5), (-0.5, 0.5))),
    "lognormal, rounded": Candidate(_rounded_lognormal, ((0.3, 1.5), (-0.5, 0.5))),
    # exp(-(k - m)^2 / 2 s^2), m well below k_min if need be: geometric as 1/s -> 0
    "normal": Candidate(
        lambda k, k_min, t: -t[0] * (k - k_min) / 100 - (np.exp(t[1]) * (k - k_min)) ** 2 / 2,
        ((0.5, -9.0), (0.0, -7.0)),
    ),
    "power law": Candidate(lambda k, k_min, t: -t[0] * np.log(k), ((1.0,),)),
    "Zipf-Mandelbrot": Candidate(
        lambda k, k_min, t: -t[0] * np.log(k - k_min + np.exp(t[1])), ((1.1, 0.0), (1.5, 2.0))
    ),
    "Weibull": Candidate(_weibull, ((-1.0, -2.0), (-0.5, -1.0))),
    "negative binomial": Candidate(_negative_binomial, ((-1.5, -6.0), (-0.5, -5.0))),
}
SHIFTED = "Weibull, half a rank on"  # a rank k for (k - 1, k]: not among those that are compared
_SHIFTED_WEIBULL = Candidate(
    lambda k, k_min, t: _weibull(k - 0.5, k_min, t), CANDIDATES["Weibull"].starts
)
PARAMETERS = {name: one.parameters for name, one in CANDIDATES.items()}
LOGNORMAL = ("lognormal, discrete", "lognormal, rounded")


@dataclass(frozen=True, eq=False)
class RankLaw:
    """A fitted candidate over k_min..V.

    log_p: (V - k_min + 1,) its log probabilities. values: its parameters as searched. at_limit:
    the likelihood rises without end to sigma = infinity (lognormal) or to shape 0 (Weibull): log_p
    is then that limit's, a power law, the most that the law can reach.
    """

    name: str
    k_min: int
    V: int
    values: tuple[float, ...]
    log_p: Array
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
    """The candidate `name` that makes the counts most likely.

    lo, hi, counts: (n,) each; a bin holds the ranks lo <= R < hi (hi = lo + 1: an exact rank), all
    from k_min to V; counts may be shares. Raises InputError for an unknown name or bad bins.
    """
    candidate = _SHIFTED_WEIBULL if name == SHIFTED else CANDIDATES.get(name)
    if candidate is None:
        raise InputError(f"no candidate {name!r}; there are {', '.join(CANDIDATES)}")
    lo, hi, counts = (np.asarray(a) for a in (lo, hi, counts))
    if not (lo.size and lo[0] >= k_min and hi[-1] <= V + 1 and (counts > 0).all()):
        raise InputError(f"bins must hold positive counts of ranks from k_min = {k_min} to V = {V}")
    edges = _cells(lo, hi, V, k_min)
    middle, log_width = (edges[:-1] + edges[1:] - 1) / 2, np.log(np.diff(edges))
    first, last = (np.searchsorted(edges, k, side="right") - 1 for k in (lo, hi - 1))
    share = counts / counts.sum()

    def loss(t: Array) -> float:
        with np.errstate(all="ignore"):  # a trial far off is nan or inf, and is not taken
            weight = candidate.log_weight(middle, k_min, t) + log_width
            value = -share @ bin_scores(weight - logsumexp(weight), first, last + 1)
        return value if np.isfinite(value) else 1e9

    options = {"xatol": 1e-6, "fatol": 1e-10, "maxiter": 600}
    found = [minimize(loss, s, method="Nelder-Mead", options=options) for s in candidate.starts]
    best = min(found, key=lambda one: one.fun).x
    log_p = candidate.log_weight(np.arange(k_min, V + 1.0), k_min, best)
    log_p -= logsumexp(log_p)
    flat = best[-1] > FLAT if name in LOGNORMAL else name == "Weibull" and best[-1] < -FLAT
    return RankLaw(name, k_min, V, tuple(map(float, best)), log_p, bool(flat))


def _cells(lo: Array, hi: Array, V: int, k_min: int) -> Array:
    """Edges from k_min to V + 1 of the cells that a search sums over: exact ranks, then 0.5% wide.

    The law at a cell's middle times its width is off by some 1e-5 of its mass. Bins that are wider
    than cells keep their edges. What a fit returns is normalised over every single rank.
    """
    fine = np.floor(np.geomspace(1, V + 1, 1 + int(200 * np.log(V + 1)))).astype(int)
    fine = np.unique(np.concatenate((fine[fine > k_min], [k_min, V + 1])))
    return fine if (hi - lo == 1).all() else np.unique(np.concatenate((fine, lo, hi)))


def bin_scores(log_p: Array, lo: Array, hi: Array) -> Array:
    """log of the mass in bins of places lo <= i < hi of `log_p`, (n,)."""
    if (hi - lo == 1).all():
        return log_p[lo]
    ends = np.stack([lo, hi], axis=1).ravel()
    mass = np.add.reduceat(np.append(np.exp(log_p), 0.0), ends)[::2]
    return np.log(np.maximum(mass, 1e-300))


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
    printed = s5_2_lognormal.published_laws().assign(
        source="published", corpus="Wiki", family="Pythia"
    )
    own = s5_2_lognormal.lognormals(measured, k_mins=(2,))[0]
    parts = [printed, own.assign(source="pocket")] if len(own) else [printed]
    table = pd.concat(parts, ignore_index=True)
    table["surplus_CE"] = table["simulated_CE"] - table["CE"]
    table["factor_1"] = table["simulated_neg_log_rbp1"] / table["neg_log_rbp1"]
    mu, sigma = table["mu"].to_numpy(), table["sigma"].to_numpy()
    table["rest"] = c_derivation.fraction_approx(mu, sigma) / c_derivation.entropy_approx(mu, sigma)
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
    loss = s5_2_lognormal.published_laws().set_index("model")["neg_log_rbp1"]
    counted = paper.token_counts().query("dataset == 'Wiki' and family == 'Pythia'")["tokens"]
    rows = []
    for model, V, bins in _figure_8c():
        tokens = round(counted.iloc[0] * (1 - np.exp(-loss[model])))
        for name in CANDIDATES:
            law, score = _fit_and_score(name, bins, V)
            rows.append((model, name, PARAMETERS[name], law.at_limit, tokens, score))
    names = ["model", "candidate", "parameters", "at_limit", "tokens", "score"]
    table = pd.DataFrame(rows, columns=names)
    table["behind"] = table.groupby("model")["score"].transform("max") - table["score"]
    aic = 2 * table["parameters"] - 2 * table["tokens"] * table["score"]
    return table.assign(more_AIC=aic - aic.groupby(table["model"]).transform("min"))


def _figure_8c() -> Iterator[tuple[str, int, pd.DataFrame]]:
    """The four Pythias of Figure 8c: model, V, and the bins of its ranks >= 2."""
    V_of = paper.models().set_index("model")["vocab_rows"]
    for model, bins in paper.rank_density().groupby("model", sort=False):
        yield model, int(V_of[model]), bins


def _fit_and_score(name: str, bins: pd.DataFrame, V: int) -> tuple[RankLaw, float]:
    """A candidate fitted to bins of ranks >= 2, and its mean log probability on them."""
    lo, hi, mass = (bins[column].to_numpy() for column in ("bin_lo", "bin_hi", "mass"))
    law = fit_law(name, lo, hi, mass, V, 2)
    return law, mass @ bin_scores(law.log_p, lo - 2, hi - 2) / mass.sum()


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
        p = lognormal_probability(np.arange(1, V + 1), mu, sigma, V, form="rounded")
        laws = {"as printed": RankLaw("", 1, V, (mu, sigma), np.log(np.maximum(p, 1e-300)))}
        lo, hi = np.append(1, bins["bin_lo"]), np.append(2, bins["bin_hi"])
        mass = np.append(rbp[0], bins["mass"] * (1 - rbp[0]))
        laws |= {f"all ranks, {form}": fit_law(form, lo, hi, mass, V, 1) for form in LOGNORMAL}
        for fit, law in laws.items():
            rows.append((model, fit, law.at_limit, *(law.rbp(np.array(CLAIM_K)) - rbp)))
    return pd.DataFrame(rows, columns=["model", "fit", "at_limit", *_ERRORS])


def lognormal_lead(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Lognormal against the other laws of two parameters, by `keys` (a row a model).

    Columns: lead (score of the lognormal, the better of its two forms, less that of the best other;
    nats a token) and other (which that is). Scores within EQUAL are equal.
    """
    two = table[table["parameters"] == 2]
    own = two["candidate"].isin(LOGNORMAL)
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
    for model, V, bins in _figure_8c():
        (_, one), (_, other) = (_fit_and_score(name, bins, V) for name in ("Weibull", SHIFTED))
        found[model] = abs(other - one)
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
