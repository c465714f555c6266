"""Rules that give p_{N,k} from shorter windows: fitted at N <= 2, judged at longer N.

A chain that remembers one token, a power of N as the number of independent tokens, chances that
stay for a whole document. Each takes the dependence it sees in pairs and says how it goes on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rbpkit.errors import InputError

# Fewer separate runs of hits than this are too few to judge a rule by.
MIN_RUNS = 5
# p and RBP^N must differ by this factor: else there is nothing to explain.
MIN_GAP = 1.1
JUDGED = (5, 10, 20)
RULES = {
    "markov": "chain of pairs",
    "power": "N^b tokens",
    "mixture": "fixed chance, from pairs",
    "documents": "fixed chance, from documents",
    "shuffled": "documents shuffled",
}
"""Columns of `predictions`, in plain words. The first three take p_1 and p_2, the others p_1 and
how hits differ from document to document. Order in a document makes short ones differ, too: part
of what the last two explain there is order."""


def power_tokens(p_1: ArrayLike, p_2: ArrayLike, N: ArrayLike) -> NDArray[np.float64]:
    """p_{N,k} if N tokens count for N^b independent ones, with b from p_2: exp(N^b log p_1).

    A rule 1 + c (N - 1) in place of N^b would be the chain of pairs (`emergence.markov`) itself:
    RBP_k^c is then p_2 / p_1. p_1 and p_2 in (0, 1).
    """
    log_1 = np.log(np.asarray(p_1, dtype=np.float64))
    b = np.log2(np.log(p_2) / log_1)
    return np.exp(log_1 * np.asarray(N, dtype=np.float64) ** b)


def fixed_chance(p_1: ArrayLike, p_2: ArrayLike, N: ArrayLike) -> NDArray[np.float64]:
    """p_{N,k} = E[theta^N] for a chance theta that is beta distributed and stays for the window.

    E[theta] = p_1, E[theta^2] = p_2 (the beta-binomial's moments). With rho = (p_2 - p_1^2) /
    (p_1 (1 - p_1)) it is the product over i < N of (p_1 (1 - rho) + i rho) / (1 - rho + i rho):
    p_1^N at rho = 0. NaN for rho < 0, which no chance gives. Shapes broadcast.
    """
    p_1, p_2, N = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (p_1, p_2, N)))
    rho = (p_2 - p_1**2) / (p_1 * (1 - p_1))
    rho = np.where(rho < 0, np.nan, rho)
    product = np.ones(rho.shape)
    for i in range(int(N.max(initial=0))):
        product = np.where(
            i < N, product * (p_1 * (1 - rho) + i * rho) / (1 - rho + i * rho), product
        )
    return product


def predictions(table: pd.DataFrame) -> pd.DataFrame:
    """`emergence.Windows.table` (with N = 1 and 2) and the columns of RULES that it lacks.

    documents: the beta of single tokens: p_1, and the shuffled share at N = 2 for p_2; NaN where
    no counts by document are known (published). InputError for a table without N = 2.
    """
    keys = ["corpus", "family", "model", "k"]
    pairs = table.loc[table["N"] == 2, [*keys, "shuffled"]]
    if len(table) and not len(pairs):
        raise InputError("the rules are fitted at N = 2, which this table lacks")
    table = table.merge(pairs, on=keys, how="left", suffixes=("", "_2"))
    p_1, p_2, N = (table[name].to_numpy() for name in ("p_1", "p_2", "N"))
    with np.errstate(divide="ignore", invalid="ignore"):  # no hit at all, or no pair known: NaN
        table["power"] = power_tokens(p_1, p_2, N)
        table["mixture"] = fixed_chance(p_1, p_2, N)
        table["documents"] = fixed_chance(p_1, table["shuffled_2"].to_numpy(), N)
    return table.drop(columns="shuffled_2")


def judged(table: pd.DataFrame, Ns: Sequence[int] = JUDGED) -> pd.DataFrame:
    """How far each rule of `predictions` gets: a row for each (model, k, N) and rule.

    Columns: corpus, family, model, S, k, N, rule, predicted, p, factor = predicted / p (1 is
    right), way = log(predicted / RBP^N) / log(p / RBP^N) (0: no better than Eq. 6; 1: right; above
    1: too many). Left out: what cannot be predicted, fewer than MIN_RUNS separate runs of hits,
    and shares within MIN_GAP of Eq. 6.
    """
    enough = table["N"].isin(Ns) & (table["runs_low"] >= MIN_RUNS)
    enough &= table["p"] > MIN_GAP * table["independent"]
    about = ["corpus", "family", "model", "S", "k", "N", "p", "independent"]
    names = dict(id_vars=about, value_vars=list(RULES), var_name="rule", value_name="predicted")
    long = table[enough].melt(**names)
    long = long[long["predicted"] > 0].copy()
    long["factor"] = long["predicted"] / long["p"]
    gap = np.log(long["p"] / long["independent"])
    long["way"] = np.log(long["predicted"] / long["independent"]) / gap
    return long.drop(columns="independent").reset_index(drop=True)


def medians(judgements: pd.DataFrame, by: Sequence[str] = ("N",)) -> pd.DataFrame:
    """Medians of `judged` by rule and `by`: rule, by, cells, factor, way, low, high, closest.

    low, high: least and greatest way. closest: in how many of the cells no other rule has a factor
    nearer to 1 (in logarithms).
    """
    one = judgements.assign(error=np.log(judgements["factor"]).abs())
    cell = ["corpus", "family", "model", "k", "N"]
    one["closest"] = one["error"] == one.groupby(cell)["error"].transform("min")
    one["rule"] = pd.Categorical(one["rule"], list(RULES), ordered=True)
    groups = one.groupby(["rule", *by], observed=True, sort=True)
    found = groups.agg(
        cells=("way", "size"),
        factor=("factor", "median"),
        way=("way", "median"),
        low=("way", "min"),
        high=("way", "max"),
        closest=("closest", "sum"),
    ).reset_index()
    return found.astype({"rule": str})
