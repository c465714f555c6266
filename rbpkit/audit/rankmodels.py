"""Section 5.2 audited: is the rank lognormal, and does any simple law give both RBP_k and CE?

CANDIDATES are laws over the ranks k_min..V, each divided by its own sum there, so that none is
punished for mass beyond V. Those with k_min = 1 and with k_min = 2 describe different things (all
ranks; ranks given that the first choice was wrong): never compare their scores with one another.

A law is fitted to the documents of even number and scored on those of odd number. With some 5e4
tokens a goodness-of-fit test rejects every law of two parameters, so none is given: a score says
which law is nearer, an error in RBP_k how near.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import gammaln, log_ndtr, logsumexp

from rbpkit.audit.resampling import DRAWS, document_weights, interval
from rbpkit.errors import InputError
from rbpkit.records import Records
from rbpkit.summary import document_index

ERROR_K = (1, 2, 5, 10, 50, 100, 1000)
CLAIM_K = (1, 10, 100)  # of the claim that the lognormal gives RBP_k
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


def _log_mass(at: Array, step: Array) -> Array:
    """log(e^-at - e^-(at + step))."""
    return -at + np.log(-np.expm1(-step))


def _weibull(k: Array, k_min: int, t: Array) -> Array:
    # S(x) = exp(-b (x^c - 1) / c): a Weibull of shape c whose limit c -> 0 is a power law.
    b, c = np.exp(t)
    low, high = (b * np.expm1(c * np.log(x)) / c for x in (k - 0.5, k + 0.5))
    return _log_mass(low, high - low)


def _negative_binomial(k: Array, k_min: int, t: Array) -> Array:
    r, rate = np.exp(t)
    return gammaln(k - k_min + r) - gammaln(k - k_min + 1) - rate * (k - k_min)


def _lognormal(k: Array, k_min: int, t: Array) -> Array:
    b, sigma = t[0], np.exp(min(t[1], 2 * FLAT))
    return -(1 + b) * np.log(k) - (np.log(k) / sigma) ** 2 / 2


def _rounded_lognormal(k: Array, k_min: int, t: Array) -> Array:
    b, sigma = t[0], np.exp(min(t[1], 2 * FLAT))
    low, high = (np.log(x) / sigma + b * sigma for x in (k - 0.5, k + 0.5))
    below = low <= 0  # each from the tail that is the smaller, so that no digits are lost
    near, far = np.where(below, high, -low), np.where(below, low, -high)
    return log_ndtr(near) + np.log(-np.expm1(log_ndtr(far) - log_ndtr(near)))


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
    if name not in CANDIDATES:
        raise InputError(f"no candidate {name!r}; there are {', '.join(CANDIDATES)}")
    lo, hi, counts = (np.asarray(a) for a in (lo, hi, counts))
    if not (lo.size and lo[0] >= k_min and hi[-1] <= V + 1 and (counts > 0).all()):
        raise InputError(f"bins must hold positive counts of ranks from k_min = {k_min} to V = {V}")
    candidate = CANDIDATES[name]
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
    with behind_low and behind_high (95%, document bootstrap of the scored half, fits held fixed),
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
        _, index = document_index(records.document[inside & ~even])
        if not scored.size or index[-1] < 1:
            raise InputError("held-out scores need at least two documents in each half")
        values, counts = np.unique(rank[inside & even], return_counts=True)
        laws = [fit_law(name, values, values + 1, counts, V, k_min) for name in CANDIDATES]
        sums = np.stack([np.bincount(index, law.log_p[scored - k_min]) for law in laws], axis=1)
        weights = document_weights(len(sums), DRAWS)
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
    rows = []
    for name in CANDIDATES:
        law = fit_law(name, values, values + 1, counts, records.manifest.V, 1)
        errors = law.rbp(np.array(CLAIM_K)) - records.rbp(np.array(CLAIM_K))
        row = {"candidate": name, "parameters": PARAMETERS[name], "at_limit": law.at_limit}
        row |= {"entropy": law.entropy(), "CE": records.ce()}
        rows.append(row | {f"error_{k}": e for k, e in zip(CLAIM_K, errors, strict=True)})
    return pd.DataFrame(rows)


TABLES = {"rank_models": rank_models_table, "rank_levels": rank_levels_table}
