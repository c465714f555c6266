"""Three reasons why rank losses lie on one line in cross-entropy, and seven questions on them.

`docs/margins.md`, three reasons for one axis, has the words; here are its predictors and what is
counted. Everything is computed from tables of bins (`entropy_bins`). Notation: h the entropy of a
prediction, y_k = ln(-ln RBP_k), M_k the mean probability of a model's own k most likely tokens.
Errors are differences of y_k.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from rbpkit.fit import root_mean_square as root_mean_square  # notebook 21 calls it from here
from rbpkit_pocket.families import SHAPES, V, model_name

BINS = 36
KS = (1, 2, 5, 10, 50, 100)  # of a table of bins
LEVELS = (1, 10, 100)
KNOWN_TEXTS = ("prose", "code", "qa", "readme", "humaneval")
POOLED_TEXTS = ("prose", "code", "qa")
MODELS = {
    model_name(family, shape): family
    for family in ("GPT2", "OPT", "Pythia", "Qwen")
    for shape in SHAPES[family]
}
"""The 25 models -> their families."""
KAPPA = 0.613
SMALLEST = "gpt2-w32-l2"
LEAST_TOKENS = 30
BEYOND = 0.05
"""How far beyond the ln CE of the 25 models a run is still judged."""

Curve = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Job:
    """One model on one text: sums over the bins of h that hold tokens, in rising order.

    - bins: (b,) their numbers, from 0.
    - n, entropy, nll: (b,).
    - hits, mass: k -> (b,).
    """

    model: str
    text: str
    bins: np.ndarray
    n: np.ndarray
    entropy: np.ndarray
    nll: np.ndarray
    hits: dict[int, np.ndarray]
    mass: dict[int, np.ndarray]

    @property
    def h(self) -> np.ndarray:
        """The mean entropy in each bin, nats."""
        return self.entropy / self.n

    def mean(self, of_bins: np.ndarray) -> float:
        """The mean over tokens of a number that is known for each bin."""
        return float(self.n @ of_bins / self.n.sum())

    def total(self, sums: np.ndarray) -> float:
        """The mean over tokens of what is summed in each bin."""
        return float(sums.sum() / self.n.sum())

    @property
    def CE(self) -> float:
        """Mean negative log-likelihood, nats."""
        return self.total(self.nll)

    def y(self, k: int) -> float:
        """ln(-ln RBP_k)."""
        return log_loss(self.total(self.hits[k]))


def log_loss(share: float) -> float:
    """ln(-ln share)."""
    return float(np.log(-np.log(share)))


def jobs_of(table: pd.DataFrame) -> dict[tuple[str, str], Job]:
    """(model, text) -> its job, the halves of the documents together. One temperature a job."""
    sums = table.drop(columns=["half", "T"]).groupby(["model", "text", "bin"]).sum()
    jobs = {}
    for (model, text), rows in sums.groupby(level=["model", "text"], sort=False):
        columns = {name: rows[name].to_numpy() for name in rows}
        hits = {k: columns[f"hits_{k}"] for k in KS}
        mass = {k: columns[f"mass_{k}"] for k in KS}
        bins = rows.index.get_level_values("bin").to_numpy()
        about = (bins, columns["n"], columns["entropy"], columns["nll"])
        jobs[model, text] = Job(model, text, *about, hits, mass)
    return jobs


# --- curves over the entropy -----------------------------------------------------------------


def curve_over_entropy(jobs: Sequence[Job], sums: Sequence[np.ndarray]) -> Curve:
    """The mean of something at an entropy, pooled over jobs; linear between the means of bins.

    sums: for each job the sum in each of its bins.
    A bin with fewer than 30 tokens is joined to the one above it, the last to the one below.
    Beyond its ends the curve is constant.
    """
    pooled = np.zeros((3, BINS))
    for job, of_job in zip(jobs, sums, strict=True):
        pooled[:, job.bins] += [job.n, job.entropy, of_job]
    groups: list[np.ndarray] = []
    waiting = np.zeros(3)
    for of_bin in pooled.T:
        waiting = waiting + of_bin
        if waiting[0] >= LEAST_TOKENS:
            groups.append(waiting)
            waiting = np.zeros(3)
    groups[-1] = groups[-1] + waiting
    n, entropy, total = np.stack(groups, axis=1)
    return lambda h: np.interp(h, entropy / n, total / n)


def hit_curves(jobs: Sequence[Job]) -> dict[int, Curve]:
    """G_k(h): the hit rate at rank k, given h."""
    return _of_each_k(jobs, [job.hits for job in jobs])


def mass_curves(jobs: Sequence[Job]) -> dict[int, Curve]:
    """The models' own mass on their k most likely tokens, given h."""
    return _of_each_k(jobs, [job.mass for job in jobs])


def _of_each_k(jobs: Sequence[Job], sums: Sequence[dict[int, np.ndarray]]) -> dict[int, Curve]:
    curves = {}
    for k in KS:
        curves[k] = curve_over_entropy(jobs, [of_job[k] for of_job in sums])
    return curves


def loss_curve(jobs: Sequence[Job]) -> Curve:
    """C(h): the mean nll, given h."""
    return curve_over_entropy(jobs, [job.nll for job in jobs])


# --- predictors ------------------------------------------------------------------------------


def parabola(x: np.ndarray, y: np.ndarray, degree: int = 2) -> Curve:
    """Predictor A: least squares of y on x, x^2; beyond the range of x goes its tangent."""
    polynomial = np.polynomial.Polynomial.fit(x, y, degree)
    slope = polynomial.deriv()
    low, high = x.min(), x.max()

    def predicted(at: np.ndarray) -> np.ndarray:
        inside = np.clip(at, low, high)
        return polynomial(inside) + slope(inside) * (at - inside)

    return predicted


def own_mass(job: Job, k: int) -> float:
    """Predictor B: ln(-ln M_k)."""
    return log_loss(job.total(job.mass[k]))


def by_entropy(job: Job, curve: Curve, scale: float = 1.0) -> float:
    """Predictors C and Q: ln(-ln) of the mean of a curve over the model's own entropies."""
    return log_loss(job.mean(curve(scale * job.h)))


def scale_to_loss(histogram: Job, loss: Curve, CE: float) -> float:
    """lambda such that the mean of C(lambda h) over these entropies is CE."""
    return brentq(lambda scale: histogram.mean(loss(scale * histogram.h)) - CE, 0.2, 5.0)


def by_other(
    job: Job, others: Iterable[Job], loss: Curve, curves: dict[int, Curve]
) -> dict[int, float]:
    """Predictor F: as C, with the entropies of the other model of the nearest CE, scaled to CE."""
    nearest = min(others, key=lambda other: abs(np.log(other.CE / job.CE)))
    scale = scale_to_loss(nearest, loss, job.CE)
    return {k: by_entropy(nearest, curve, scale) for k, curve in curves.items()}


@cache
def _zipf_table() -> tuple[np.ndarray, np.ndarray]:
    """Entropies from the smallest to the largest, and for each the mass of the first 1, 2 ..."""
    log_r = np.log(np.arange(1, V + 1))
    exponents = np.concatenate([np.linspace(12, 2, 4001), np.linspace(2, 0, 4001)[1:]])
    entropies, masses = [], []
    for s in exponents:
        p = np.exp(-s * log_r)
        p /= p.sum()
        entropies.append(-(p * np.log(p)).sum())
        masses.append(p[: max(KS)].cumsum())
    return np.array(entropies), np.stack(masses)


def zipf_mass(h: np.ndarray, k: int) -> np.ndarray:
    """Z_k(h): the mass of the first k ranks under p_r ~ r^-s, r = 1 ... V, whose entropy is h."""
    entropies, masses = _zipf_table()
    return np.interp(h, entropies, masses[:, k - 1])


def by_zipf(job: Job, k: int) -> float:
    """Predictor D: ln(-ln) of the mean of Z_k over the model's own entropies."""
    return log_loss(job.mean(zipf_mass(job.h, k)))


def by_odds(job: Job, smallest: Job, k: int) -> float:
    """Predictor L: logit RBP_k = a - 0.613 CE, a from one model."""
    share = smallest.total(smallest.hits[k])
    logit = np.log(share / (1 - share)) - KAPPA * (job.CE - smallest.CE)
    return log_loss(1 / (1 + np.exp(-logit)))


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Least squares of y on x."""
    return float(np.polyfit(x, y, 1)[0])


def exponents(jobs: Sequence[Job], y: Callable[[Job, int], float]) -> dict[int, float]:
    """eps_k: the slope of y_k, measured or predicted, on ln CE."""
    log_CE = [np.log(job.CE) for job in jobs]
    slopes = {}
    for k in KS:
        slopes[k] = slope(log_CE, [y(job, k) for job in jobs])
    return slopes


def kappas(jobs: Sequence[Job]) -> dict[int, float]:
    """kappa_k: by how much logit RBP_k falls per nat of CE."""
    result = {}
    for k in KS:
        share = np.array([job.total(job.hits[k]) for job in jobs])
        result[k] = -slope([job.CE for job in jobs], np.log(share / (1 - share)))
    return result
