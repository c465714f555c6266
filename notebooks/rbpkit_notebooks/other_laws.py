"""Other laws of two parameters for ranks of 2 and more, next to the lognormal of Section 5.2."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, ndtr

from rbpkit import paper
from rbpkit.fit import Array

UPPER_TAIL: dict[str, Callable[[Array], Array]] = {
    "lognormal": lambda z: ndtr(-z),
    "Weibull": lambda z: np.exp(-np.exp(z)),
    "log-logistic": lambda z: expit(-z),
}
"""Share of ranks above, as a function of z = location + scale * ln rank."""


def likeliest(law: str, bins: pd.DataFrame, V: int, cut: float = 0.5) -> tuple[float, pd.Series]:
    """The highest mean log probability of a rank from 2 to V that a law reaches, nats.

    And the share of each bin by the law that reaches it.

    - law: of `UPPER_TAIL`; bins: `bin_lo`, `bin_hi` (not included) and `mass` of each
    - cut: rank k begins at k - cut
    """
    tail = UPPER_TAIL[law]
    lower, upper, mass = bins[["bin_lo", "bin_hi", "mass"]].to_numpy(float).T
    share = mass / mass.sum()
    begins, ends = np.log(lower - cut), np.log(upper - cut)
    first, last = np.log(2 - cut), np.log(V + 1 - cut)

    def masses(t: Array) -> Array:
        location, scale = t[0], np.exp(t[1])
        inside = tail(location + scale * begins) - tail(location + scale * ends)
        whole = tail(location + scale * first) - tail(location + scale * last)
        return inside / whole

    def loss(t: Array) -> float:
        return -share @ np.log(masses(t))

    settings = {"xatol": 1e-6, "fatol": 1e-10, "maxiter": 2000}
    starts = ((-1.0, -1.0), (1.0, -1.5))
    with np.errstate(all="ignore"):
        found = [minimize(loss, t, method="Nelder-Mead", options=settings) for t in starts]
        best = min(found, key=lambda one: one.fun)
        return -float(best.fun), pd.Series(masses(best.x), bins.index)


def scores_of_laws() -> pd.DataFrame:
    """Scores on the bars of Figure 8c: a row for each law, columns (cut, model)."""
    V = paper.table("models").set_index("model")["vocab_rows"]
    columns = {}
    for name, cut in (("k + 1/2", 0.5), ("k", 1.0)):
        for model in paper.table("lognormal_params")["model"]:
            bins = paper.table("rank_density").query("model == @model")
            scores = {law: likeliest(law, bins, V[model], cut)[0] for law in UPPER_TAIL}
            columns[name, model] = scores
    return pd.DataFrame(columns)


def times_counted(law: str) -> pd.Series:
    """The share of each bar of Figure 8c by a law that was fitted to all of them, over its own."""
    V = paper.table("models").set_index("model")["vocab_rows"]
    ratios = []
    for model, bins in paper.table("rank_density").groupby("model"):
        _, masses = likeliest(law, bins, V[model])
        ratios.append(masses / bins["mass"])
    return pd.concat(ratios)
